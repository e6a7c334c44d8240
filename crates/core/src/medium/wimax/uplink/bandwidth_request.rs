//! What one station has asked for, as it knows it and as the base station does.

use super::super::contention::Backoff;
use std::collections::VecDeque;

/// What one station has asked for.
#[derive(Clone, Debug, Default)]
pub struct BandwidthRequests {
    /// Requests that the base station has heard and may grant from a frame on: (frame, bytes, in place of all before).
    pub heard: VecDeque<(u64, u64, bool)>,
    /// What the base station still owes.
    pub owed: u64,
    /// Bytes of packets here that some request was for.
    pub covered: u64,
    pub backoff: Backoff,
    /// When a request in vain is given up, as a frame.
    pub timer: Option<u64>,
    pub listed: bool,
}

impl BandwidthRequests {
    pub fn outstanding(&self) -> u64 {
        self.owed + self.heard.iter().map(|&(_, bytes, _)| bytes).sum::<u64>()
    }

    /// A request reaches the base station.
    pub fn request(&mut self, from: u64, bytes: u64, instead: bool) {
        if instead {
            self.heard.clear();
            self.covered = 0;
        }
        self.heard.push_back((from, bytes, instead));
        self.covered += bytes;
    }

    /// The base station comes to `frame`.
    pub fn hear(&mut self, frame: u64) {
        while let Some(&(_, bytes, instead)) = self.heard.front().filter(|&&(from, ..)| from <= frame) {
            self.owed = if instead { bytes } else { self.owed + bytes };
            self.heard.pop_front();
        }
    }
}
