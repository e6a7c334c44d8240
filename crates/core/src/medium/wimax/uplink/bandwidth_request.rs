//! Bandwidth requests of one station, as known to the station and to the base station.

use super::super::contention::ContentionBackoff;
use super::nist::Contention;
use std::collections::VecDeque;

/// State of one station's requests.
#[derive(Clone, Debug, Default)]
pub struct BandwidthRequests {
    /// Requests received by the base station: (first frame of the grant, bytes, aggregate). An
    /// aggregate request replaces earlier ones.
    pub received: VecDeque<(u64, u64, bool)>,
    /// Bytes that the base station still has to grant.
    pub demand: u64,
    /// Bytes of the backlog that requests cover.
    pub requested: u64,
    pub backoff: ContentionBackoff,
    /// Frame in which the pending request times out.
    pub timer: Option<u64>,
    /// Contention by the rules of NIST's module, instead of `backoff` and `timer`.
    pub nist: Contention,
    pub listed: bool,
}

impl BandwidthRequests {
    pub fn outstanding(&self) -> u64 {
        self.demand + self.received.iter().map(|&(_, bytes, _)| bytes).sum::<u64>()
    }

    /// The base station receives a request.
    pub fn request(&mut self, from: u64, bytes: u64, aggregate: bool) {
        if aggregate {
            self.received.clear();
            self.requested = 0;
        }
        self.received.push_back((from, bytes, aggregate));
        self.requested += bytes;
    }

    /// The base station advances to `frame`.
    pub fn receive(&mut self, frame: u64) {
        while let Some(&(_, bytes, aggregate)) = self.received.front().filter(|&&(from, ..)| from <= frame) {
            self.demand = if aggregate { bytes } else { self.demand + bytes };
            self.received.pop_front();
        }
    }
}
