//! The long-term bound of the flight: reduced by excessive loss while probing, raised otherwise
//! (draft, sections 5.3.3.9 and 5.5.10.2).

use super::super::fast_min_max::larger;
use super::Bbr3State;
use super::phase::Bbr3Phase;
use super::sample::Sample;
use crate::tcp::delivery_rate::LossSample;

/// Phase of the feedback on the last bandwidth probe (BBR.ack_phase).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Feedback {
    #[default]
    None,
    Refilling,
    Starting,
    Probing,
    Stopping,
}

#[derive(Clone, Copy, Debug)]
pub struct LongTerm {
    /// BBR.inflight_longterm.
    pub inflight_longterm: f64,
    pub feedback: Feedback,
    /// is_bw_probe_sample: losses belong to a probe that has not been evaluated.
    pub probing: bool,
    /// prev_probe_too_high and prev_probe_precautionary.
    pub too_high: bool,
    pub precautionary: bool,
    /// Growth: deliveries since the last step, deliveries per step, and rounds of doubling.
    acked: f64,
    acked_per_step: f64,
    rounds: u32,
}

impl Default for LongTerm {
    fn default() -> Self {
        LongTerm {
            inflight_longterm: f64::INFINITY,
            feedback: Feedback::None,
            probing: false,
            too_high: false,
            precautionary: false,
            acked: 0.0,
            acked_per_step: f64::INFINITY,
            rounds: 0,
        }
    }
}

/// Doublings after which the growth rate is constant.
const MAX_DOUBLINGS: u32 = 30;

impl LongTerm {
    pub fn restart_growth(&mut self) {
        (self.acked, self.rounds) = (0.0, 0);
    }
    pub fn stop_growth(&mut self) {
        self.acked_per_step = f64::INFINITY;
    }

    /// RaiseInflightLongtermSlope: 1, 2, 4, .. segments per round.
    pub fn raise_slope(&mut self, cwnd: f64) {
        let growth = libm::exp2(f64::from(self.rounds));
        self.rounds = (self.rounds + 1).min(MAX_DOUBLINGS);
        self.acked_per_step = (cwnd / growth).max(1.0);
    }

    /// ProbeInflightLongtermUpward, for a flow that uses the whole bound.
    pub fn grow(&mut self, acked: f64, cwnd: f64, round_started: bool) {
        self.acked += acked;
        if self.acked >= self.acked_per_step {
            let steps = libm::floor(self.acked / self.acked_per_step);
            self.acked -= steps * self.acked_per_step;
            self.inflight_longterm += steps;
        }
        if round_started {
            self.raise_slope(cwnd);
        }
    }

    /// InflightWithHeadroom: the bound less the share of other flows.
    pub fn with_headroom(&self, headroom: f64, min_cwnd: f64) -> f64 {
        if self.inflight_longterm.is_finite() {
            larger(self.inflight_longterm - larger(headroom * self.inflight_longterm, 1.0), min_cwnd)
        } else {
            f64::INFINITY
        }
    }
}

/// InflightAtLoss: the flight at which the loss rate crossed the threshold. When the segment was
/// sent, `in_flight` segments were in flight, `lost` of them lost, itself included in both.
pub fn in_flight_at_loss(threshold: f64, in_flight: f64, lost: f64) -> f64 {
    let before = in_flight - 1.0;
    before + (threshold * before - (lost - 1.0)) / (1.0 - threshold)
}

impl Bbr3State {
    /// IsInflightTooHigh.
    pub(super) fn too_much_lost(&self, lost: f64, tx_in_flight: f64) -> bool {
        lost > tx_in_flight * self.p.loss_threshold
    }

    /// HandleLostPacket.
    pub(super) fn handle_loss(&mut self, loss: &LossSample) {
        let (lost, tx_in_flight) = (loss.lost as f64, f64::from(loss.tx_in_flight));
        if self.long.probing && self.too_much_lost(lost, tx_in_flight) {
            let at = in_flight_at_loss(self.p.loss_threshold, tx_in_flight, lost);
            self.handle_inflight_too_high(at, loss.app_limited);
        }
    }

    /// HandleInflightTooHigh: once per probe.
    pub(super) fn handle_inflight_too_high(&mut self, in_flight: f64, app_limited: bool) {
        self.long.too_high = true;
        self.long.probing = false;
        if !app_limited {
            self.long.inflight_longterm = in_flight.max(self.target_in_flight() * self.p.beta).max(self.p.min_cwnd);
        }
        if self.phase == Bbr3Phase::Up {
            self.undo.left = Some(Bbr3Phase::Up);
            self.start_down(self.now);
        }
    }

    /// AdaptLongTermModel. Returns whether it has set the next phase.
    pub(super) fn adapt_long_term(&mut self, sample: &Sample) -> bool {
        let round = self.max_bw.round_started();
        if self.long.feedback == Feedback::Starting && round {
            self.long.feedback = Feedback::Probing;
        }
        if self.long.feedback == Feedback::Stopping && round {
            self.long.probing = false;
            self.long.feedback = Feedback::None;
            if self.phase.probes_bandwidth() {
                if !sample.app_limited {
                    self.max_bw.next_cycle();
                }
                if self.long.precautionary && !self.long.too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.long.inflight_longterm.is_finite() && !self.too_much_lost(sample.lost, sample.tx_in_flight) {
            self.long.inflight_longterm = larger(self.long.inflight_longterm, sample.tx_in_flight);
            if self.phase == Bbr3Phase::Up && self.fills_window() && self.cwnd >= self.long.inflight_longterm {
                self.long.grow(sample.newly_acked, self.cwnd, round);
            }
        }
        false
    }
}
