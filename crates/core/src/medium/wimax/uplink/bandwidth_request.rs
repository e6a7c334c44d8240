//! What one station has asked for, as it knows it and as the base station does.

use super::super::contention::Backoff;
use std::collections::VecDeque;

/// What one station has asked for.
#[derive(Clone, Debug, Default)]
pub struct BandwidthRequests {
    /// Requests that the base station has heard and may grant from a frame on: (frame, bytes, in place of all before).
    pub received: VecDeque<(u64, u64, bool)>,
    /// What the base station still owes.
    pub demand: u64,
    /// Bytes of packets here that some request was for.
    pub requested: u64,
    pub backoff: Backoff,
    /// When a request in vain is given up, as a frame.
    pub timer: Option<u64>,
    pub listed: bool,
}

impl BandwidthRequests {
    pub fn outstanding(&self) -> u64 {
        self.demand + self.received.iter().map(|&(_, bytes, _)| bytes).sum::<u64>()
    }

    /// A request reaches the base station.
    pub fn request(&mut self, from: u64, bytes: u64, aggregate: bool) {
        if aggregate {
            self.received.clear();
            self.requested = 0;
        }
        self.received.push_back((from, bytes, aggregate));
        self.requested += bytes;
    }

    /// The base station comes to `frame`.
    pub fn receive(&mut self, frame: u64) {
        while let Some(&(_, bytes, aggregate)) = self.received.front().filter(|&&(from, ..)| from <= frame) {
            self.demand = if aggregate { bytes } else { self.demand + bytes };
            self.received.pop_front();
        }
    }
}
