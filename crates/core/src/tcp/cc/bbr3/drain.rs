//! Drain: the queue of Startup empties (draft, section 5.3.2).

use super::Bbr3State;
use super::phase::Bbr3Phase;
use super::sample::Sample;

impl Bbr3State {
    pub(super) fn enter_drain(&mut self) {
        self.phase = Bbr3Phase::Drain;
        self.drain_since = self.max_bw.rounds();
    }

    /// CheckDrainDone.
    pub(super) fn check_drain(&mut self, sample: &Sample) {
        if self.phase != Bbr3Phase::Drain {
            return;
        }
        let empty = sample.in_flight <= self.budget(self.rate(), 1.0);
        if empty || self.max_bw.rounds() > self.drain_since + self.p.drain_rounds {
            self.start_down(sample.now);
        }
    }
}
