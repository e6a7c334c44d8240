//! Startup: the rate doubles per round until the pipe is full (draft, section 5.3.1).

use super::Bbr3State;
use super::phase::Bbr3Phase;
use super::sample::Sample;

impl Bbr3State {
    /// CheckStartupDone.
    pub(super) fn check_startup(&mut self, sample: &Sample) {
        if self.phase != Bbr3Phase::Startup {
            return;
        }
        if self.loses_too_much(sample) {
            self.undo.left = Some(Bbr3Phase::Startup);
            self.pipe.set_reached(true);
            self.long.inflight_longterm = self.bdp().unwrap_or(self.first).max(self.short.latest_in_flight());
        }
        if self.pipe.reached() {
            self.enter_drain();
        }
    }

    /// CheckStartupHighLoss (section 5.3.1.3): a full round in recovery, with a loss rate above the
    /// threshold, in enough gaps to exclude a single burst.
    fn loses_too_much(&self, sample: &Sample) -> bool {
        let whole_round = self.recovery_round.is_some_and(|begun| self.max_bw.rounds() > begun);
        !self.pipe.reached()
            && self.short.round_started()
            && whole_round
            && self.short.gaps() >= self.p.startup_gaps
            && self.too_much_lost(sample.lost, sample.tx_in_flight)
    }
}
