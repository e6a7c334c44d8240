//! Drain: Startup's queue empties (draft, section 5.3.2).

use super::State;
use super::phase::Phase;
use super::sample::Sample;

impl State {
    pub(super) fn enter_drain(&mut self) {
        self.phase = Phase::Drain;
        self.drain_since = self.path.rounds();
    }

    /// CheckDrainDone.
    pub(super) fn check_drain(&mut self, sample: &Sample) {
        if self.phase != Phase::Drain {
            return;
        }
        let empty = sample.in_flight <= self.budget(self.rate(), 1.0);
        if empty || self.path.rounds() > self.drain_since + self.p.drain_rounds {
            self.start_down(sample.now);
        }
    }
}
