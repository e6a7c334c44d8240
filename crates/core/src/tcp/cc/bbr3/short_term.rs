//! The short-term model: deliveries of the last rounds, if they had losses (draft, section
//! 5.5.10.3).

use super::super::fast_min_max::larger;
use super::config::Bbr3Config;
use super::sample::Sample;

/// BBR.bw_shortterm and BBR.inflight_shortterm; infinite without a bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    pub rate: f64,
    pub in_flight: f64,
}

impl Bounds {
    pub const NONE: Bounds = Bounds { rate: f64::INFINITY, in_flight: f64::INFINITY };

    /// The larger of each bound.
    pub fn max(self, other: Bounds) -> Bounds {
        Bounds { rate: self.rate.max(other.rate), in_flight: self.in_flight.max(other.in_flight) }
    }
}

#[derive(Clone, Debug)]
pub struct ShortTerm {
    pub bounds: Bounds,
    /// bw_latest and inflight_latest: the maxima of this round.
    latest: Bounds,
    /// A loss or a mark occurred in this round.
    lossy: bool,
    /// Gaps of this round (separate lost ranges), and the last segment of the newest.
    gaps: u32,
    last_lost: Option<u64>,
    round_at: u64,
    round_started: bool,
}

impl Default for ShortTerm {
    fn default() -> Self {
        let latest = Bounds { rate: 0.0, in_flight: 0.0 };
        ShortTerm { bounds: Bounds::NONE, latest, lossy: false, gaps: 0, last_lost: None, round_at: 0, round_started: false }
    }
}

impl ShortTerm {
    /// UpdateLatestDeliverySignals, at the start of an ACK.
    pub fn update_latest(&mut self, sample: &Sample) {
        self.latest.rate = larger(self.latest.rate, sample.rate);
        self.latest.in_flight = larger(self.latest.in_flight, sample.delivered);
        self.round_started = sample.prior_delivered >= self.round_at;
        if self.round_started {
            self.round_at = sample.total;
        }
    }

    /// AdvanceLatestDeliverySignals, at the end of an ACK.
    pub fn advance(&mut self, sample: &Sample) {
        if self.round_started {
            self.latest = Bounds { rate: sample.rate, in_flight: sample.delivered };
        }
    }

    /// NoteLoss. Returns whether this is the first loss of the round, which then lasts until a
    /// segment sent from now on is delivered.
    pub fn note_loss(&mut self, segment: u64, delivered: u64) -> bool {
        self.gaps += u32::from(self.last_lost.is_none_or(|last| segment != last + 1));
        self.last_lost = Some(segment);
        self.note_mark(delivered)
    }

    /// NoteLoss for a mark (section 2 of the draft leaves ECN undefined; here a mark counts as a
    /// loss).
    pub fn note_mark(&mut self, delivered: u64) -> bool {
        let first = !self.lossy;
        if first {
            self.round_at = delivered;
        }
        self.lossy = true;
        first
    }

    /// AdaptLowerBoundsFromCongestion, once per round: `max_rate` and `cwnd` are bounds from the
    /// first loss of a cycle on.
    pub fn adapt(&mut self, p: &Bbr3Config, max_rate: f64, cwnd: f64) {
        if !self.lossy {
            return;
        }
        let first = |bound: f64, start: f64| if bound.is_finite() { bound } else { start };
        let Bounds { rate, in_flight } = self.bounds;
        self.bounds = Bounds {
            rate: self.latest.rate.max(p.beta * first(rate, max_rate)),
            in_flight: self.latest.in_flight.max(p.beta * first(in_flight, cwnd)),
        };
    }

    /// A round ends: its losses have been handled.
    pub fn reset_losses(&mut self) {
        (self.lossy, self.gaps, self.last_lost) = (false, 0, None);
    }

    /// ResetCongestionSignals.
    pub fn reset_signals(&mut self) {
        self.reset_losses();
        self.latest = Bounds { rate: 0.0, in_flight: 0.0 };
    }

    pub fn round_started(&self) -> bool {
        self.round_started
    }
    pub fn gaps(&self) -> u32 {
        self.gaps
    }
    pub fn latest_in_flight(&self) -> f64 {
        self.latest.in_flight
    }
}
