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
        let empty = sample.in_flight <= self.in_flight_for(1.0);
        if self.phase == Phase::Drain && (empty || self.path.rounds() > self.drain_since + self.p.drain_rounds) {
            self.start_down(sample.now);
        }
    }
}
