//! Taking back what a loss that was none has changed (draft, section 5.5.11).

use super::State;
use super::phase::Phase;
use super::short_term::Bounds;

/// What held before the first loss of a round, and the phase that a loss ended.
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    short: Bounds,
    most: f64,
    pub left: Option<Phase>,
}

impl Default for Undo {
    fn default() -> Self {
        Undo { short: Bounds { rate: 0.0, in_flight: 0.0 }, most: 0.0, left: None }
    }
}

impl State {
    /// SaveStateUponLoss.
    pub(super) fn save(&mut self) {
        self.save_cwnd();
        self.undo = Undo { short: self.short.bounds, most: self.long.most, left: None };
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn take_back(&mut self) {
        self.restore_cwnd();
        self.recovering = false;
        self.short.forget_losses();
        self.pipe.search_from(0.0);
        self.short.bounds = self.short.bounds.max(self.undo.short);
        self.long.most = self.long.most.max(self.undo.most);
        match self.undo.left.take() {
            Some(Phase::Startup) if self.phase != Phase::Startup => {
                self.pipe.set_reached(false);
                if self.phase != Phase::ProbeRtt {
                    self.phase = Phase::Startup;
                }
            }
            Some(Phase::Up) if self.phase != Phase::Up && self.phase != Phase::ProbeRtt => self.start_refill(),
            _ => {}
        }
    }
}
