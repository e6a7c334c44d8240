//! ProbeBW: a cycle of eight phases, each one minimum RTT long (draft, section 4.3.4).

use super::model::Model;
use super::{Ack, BbrConfig};
use crate::units::Time;

#[derive(Clone, Copy, Debug, Default)]
pub struct Cycle {
    phase: usize,
    since: Time,
}

impl Cycle {
    /// Starts the cycle in any phase but the draining one, so that flows do not probe together. The
    /// time selects the phase, so runs are reproducible.
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

    /// Section 4.3.4.3: the probing phase lasts until `target` is in flight or a loss occurs, the
    /// draining phase until at most `target` is in flight. `target` is gain*BDP (1*BDP for the
    /// draining phase), plus the quantization of the window (Linux's `bbr_inflight()`), which
    /// dominates if the BDP is a few segments. `before` is the flight before the ACK.
    pub fn is_over(&self, gain: f64, model: &Model, ack: &Ack, before: f64, target: f64) -> bool {
        let Some(min_rtt) = model.min_rtt() else { return false };
        let full_length = ack.now - self.since > min_rtt;
        if gain > 1.0 {
            full_length && (ack.lost > 0 || before >= target)
        } else if gain < 1.0 {
            full_length || before <= target
        } else {
            full_length
        }
    }
}
