//! ProbeBW: a cycle of eight phases, each a smallest round trip long (draft, section 4.3.4).

use super::model::Model;
use super::{Ack, BbrConfig};
use crate::units::Time;

#[derive(Clone, Copy, Debug, Default)]
pub struct Cycle {
    phase: usize,
    since: Time,
}

impl Cycle {
    /// It begins anywhere but in the phase that drains, so that flows do not probe together. The instant picks the phase: same run,
    /// same phase.
    pub fn begin(&mut self, now: Time) {
        const PHASES: u64 = 8;
        let mixed = (now.0 ^ (now.0 >> 31)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33;
        self.phase = ((mixed % (PHASES - 1) + 2) % PHASES) as usize;
        self.since = now;
    }

    pub fn advance(&mut self, now: Time) {
        self.phase = (self.phase + 1) % 8;
        self.since = now;
    }

    pub fn gain(&self, p: &BbrConfig) -> f64 {
        p.cycle[self.phase]
    }

    pub fn is_up(&self) -> bool {
        self.phase == 0
    }

    /// Section 4.3.4.3: the phase that fills goes on until `target` is in flight or something is lost; the one that drains ends as soon
    /// as no more than `target` is. It is the phase's gain, or 1 for one that drains, times the product, and room for chunks as in the
    /// window (Linux's `bbr_inflight()`): where a product is few segments that room is most of the queue that stays.
    pub fn is_over(&self, p: &BbrConfig, model: &Model, ack: &Ack, target: f64) -> bool {
        let Some(min_rtt) = model.min_rtt() else { return false };
        let full_length = ack.now - self.since > min_rtt;
        let before = f64::from(ack.in_flight) + f64::from(ack.delivered);
        let gain = self.gain(p);
        if gain > 1.0 {
            full_length && (ack.lost > 0 || before >= target)
        } else if gain < 1.0 {
            full_length || before <= target
        } else {
            full_length
        }
    }
}
