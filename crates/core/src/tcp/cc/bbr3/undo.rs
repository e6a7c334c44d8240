//! Undo of a spurious loss (draft, section 5.5.11).

use super::Bbr3State;
use super::phase::Bbr3Phase;
use super::short_term::Bounds;

/// State before the first loss of a round, and the phase that a loss ended.
#[derive(Clone, Copy, Debug)]
pub struct LossUndo {
    short: Bounds,
    inflight_longterm: f64,
    pub left: Option<Bbr3Phase>,
}

impl Default for LossUndo {
    fn default() -> Self {
        LossUndo { short: Bounds { rate: 0.0, in_flight: 0.0 }, inflight_longterm: 0.0, left: None }
    }
}

impl Bbr3State {
    /// SaveStateUponLoss.
    pub(super) fn save(&mut self) {
        self.save_cwnd();
        self.undo = LossUndo { short: self.short.bounds, inflight_longterm: self.long.inflight_longterm, left: None };
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn undo(&mut self) {
        self.restore_cwnd();
        self.recovering = false;
        self.short.reset_losses();
        self.pipe.search_from(0.0);
        self.short.bounds = self.short.bounds.max(self.undo.short);
        self.long.inflight_longterm = self.long.inflight_longterm.max(self.undo.inflight_longterm);
        match self.undo.left.take() {
            Some(Bbr3Phase::Startup) if self.phase != Bbr3Phase::Startup => {
                self.pipe.set_reached(false);
                if self.phase != Bbr3Phase::ProbeRtt {
                    self.phase = Bbr3Phase::Startup;
                }
            }
            Some(Bbr3Phase::Up) if self.phase != Bbr3Phase::Up && self.phase != Bbr3Phase::ProbeRtt => self.start_refill(),
            _ => {}
        }
    }
}
