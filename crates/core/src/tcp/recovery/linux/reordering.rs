//! How far segments have overtaken each other (`tp->reordering`): dupthresh grows with it, and once
//! any was seen RACK waits and SACKs alone raise cwnd.

/// `tcp_max_reordering`.
const MAX_REORDERING: u32 = 300;

#[derive(Clone, Copy, Debug)]
pub struct Reordering {
    /// In segments; tcp_reordering at first.
    pub metric: u32,
    /// `tp->reord_seen`.
    pub seen: bool,
}

impl Reordering {
    pub fn new(metric: u32) -> Reordering {
        Reordering { metric, seen: false }
    }

    /// `tcp_check_sack_reordering()`: data from `low` on arrived behind what ends at `fack`.
    pub fn check_sack(&mut self, low: u64, fack: u64, segment: u32) {
        if low >= fack {
            return;
        }
        let metric = (fack - low).div_ceil(u64::from(segment.max(1)));
        if metric > u64::from(self.metric) {
            self.metric = u32::try_from(metric).unwrap_or(u32::MAX).min(MAX_REORDERING);
        }
        self.seen = true;
    }

    /// `tcp_check_reno_reordering()`: more duplicate ACKs than holes among `segments`.
    pub fn set_without_sack(&mut self, segments: u32) {
        *self = Reordering { metric: segments.min(MAX_REORDERING), seen: true };
    }
}
