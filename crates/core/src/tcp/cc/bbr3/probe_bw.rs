//! ProbeBW: the cycle DOWN, CRUISE, REFILL, UP (draft, section 5.3.3).

use super::super::fast_min_max::smaller;
use super::Bbr3State;
use super::long_term::Feedback;
use super::phase::Bbr3Phase;
use super::sample::Sample;
use crate::units::{Span, Time};

/// The time of the next bandwidth probe.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProbeWait {
    /// Start of the cycle.
    since: Time,
    length: Span,
    /// rounds_since_probe_up.
    pub rounds: u64,
}

impl ProbeWait {
    /// PickProbeWait: derived from the time, so that flows do not probe together and runs are
    /// reproducible.
    fn pick(p: &super::Bbr3Config, now: Time) -> ProbeWait {
        let drawn = mixed(now.0);
        let share = (drawn >> 11) as f64 / (1_u64 << 53) as f64;
        let spread = Span::from_secs_f64(p.probe_wait_spread.as_secs() * share);
        ProbeWait { since: now, length: p.probe_wait + spread, rounds: drawn & 1 }
    }
}

/// The finisher of splitmix64.
fn mixed(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

impl Bbr3State {
    /// StartProbeBW_DOWN, also EnterProbeBW.
    pub(super) fn start_down(&mut self, now: Time) {
        self.short.reset_signals();
        self.long.stop_growth();
        self.wait = ProbeWait::pick(&self.p, now);
        self.long.feedback = Feedback::Stopping;
        self.max_bw.begin_round();
        self.phase = Bbr3Phase::Down;
    }

    /// StartProbeBW_REFILL: the short-term bounds are reset.
    pub(super) fn start_refill(&mut self) {
        self.short.bounds = super::short_term::Bounds::NONE;
        self.long.restart_growth();
        self.long.precautionary = false;
        self.long.feedback = Feedback::Refilling;
        self.max_bw.begin_round();
        self.phase = Bbr3Phase::Refill;
    }

    fn start_up(&mut self, sample: &Sample) {
        self.long.probing = true;
        self.long.feedback = Feedback::Starting;
        self.max_bw.begin_round();
        self.pipe.search_from(sample.rate);
        self.long.raise_slope(self.cwnd);
        self.phase = Bbr3Phase::Up;
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn cycle(&mut self, sample: &Sample) {
        if !self.pipe.reached() || self.adapt_long_term(sample) {
            return;
        }
        let ends_up = self.phase == Bbr3Phase::Up && self.is_time_to_go_down(sample);
        match self.phase {
            Bbr3Phase::Down | Bbr3Phase::Cruise if self.is_time_to_probe(sample.now) => self.start_refill(),
            Bbr3Phase::Down if self.is_time_to_cruise(sample) => self.phase = Bbr3Phase::Cruise,
            Bbr3Phase::Refill if self.max_bw.round_started() => self.start_up(sample),
            Bbr3Phase::Up if ends_up => {
                self.long.too_high = false;
                self.start_down(sample.now);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW (section 5.3.3.8): after the wait, or after the rounds that Reno would take
    /// to fill its window.
    fn is_time_to_probe(&self, now: Time) -> bool {
        let rounds = smaller(self.target_in_flight(), self.p.reno_rounds);
        now > self.wait.since + self.wait.length || self.wait.rounds as f64 >= rounds
    }

    /// IsTimeToCruise: the queue is empty and the headroom is free.
    fn is_time_to_cruise(&self, sample: &Sample) -> bool {
        let room = self.long.with_headroom(self.p.headroom, self.p.min_cwnd);
        sample.in_flight <= room && sample.in_flight <= self.budget(self.max_bw.max_rate(), 1.0)
    }

    /// IsTimeToGoDown: a probe after one that went too high stops at the bound of that one; others
    /// stop when the rate no longer grows.
    fn is_time_to_go_down(&mut self, sample: &Sample) -> bool {
        if self.long.too_high && sample.in_flight >= self.long.inflight_longterm {
            self.long.precautionary = true;
            return true;
        }
        if self.fills_window() && self.cwnd >= self.long.inflight_longterm {
            // The bound limits the rate, not the path.
            self.pipe.search_from(sample.rate);
            return false;
        }
        self.pipe.now()
    }
}
