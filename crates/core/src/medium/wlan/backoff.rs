//! Back-off of one DCF station (IEEE 802.11-2012, clause 9.3.4.3), without an event per slot.
//!
//! The counter is `slots` at the time `from`, when the medium has been idle for an interframe
//! space, and decrements at the end of each full idle slot. It freezes when the medium becomes
//! busy: an incomplete slot does not count, nor does the slot in which another station starts. It
//! resumes an interframe space after the medium becomes idle.

use super::WlanConfig;
use crate::rng::Rng;
use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug)]
pub struct DcfBackoff {
    /// `None`: no back-off pending.
    slots: Option<u32>,
    from: Time,
    /// Contention window; doubles after each failure.
    cw: u32,
}

impl DcfBackoff {
    pub fn new(config: &WlanConfig) -> DcfBackoff {
        DcfBackoff { slots: None, from: Time::ZERO, cw: config.cw[0] }
    }

    pub fn draw(&mut self, rng: &mut Rng) {
        let n = u64::from(self.cw) + 1;
        self.slots = Some(((rng.uniform() * n as f64) as u64).min(n - 1) as u32);
    }

    /// A frame was delivered or dropped.
    pub fn reset(&mut self, config: &WlanConfig) {
        self.cw = config.cw[0];
    }

    /// 31, 63, .., 1023.
    pub fn widen(&mut self, config: &WlanConfig) {
        self.cw = (2 * self.cw + 1).min(config.cw[1]);
    }

    /// Starts or resumes counting at `from`.
    pub fn resume(&mut self, from: Time) {
        self.from = from;
    }

    /// Start of transmission for a frame available at `ready`, if the medium stays idle.
    pub fn sends_at(&self, ready: Time, slot: Span) -> Time {
        let counted = self.slots.map_or(Time::ZERO, |slots| self.from + slot.saturating_mul(u64::from(slots)));
        counted.max(ready)
    }

    /// The medium becomes busy.
    pub fn freeze(&mut self, now: Time, slot: Span) {
        if let Some(slots) = self.slots
            && now > self.from
        {
            let passed = (now - self.from).0 / slot.0.max(1);
            self.slots = u64::from(slots).checked_sub(passed).filter(|&left| left > 0).map(|left| left as u32);
        }
    }

    pub fn is_over(&self) -> bool {
        self.slots.is_none()
    }
}
