//! Pacing rate and window (draft, section 5.6).

use super::super::fast_min_max::{larger, smaller};
use super::Bbr3State;
use super::phase::Bbr3Phase;
use super::sample::Sample;

/// Section 5.5.8: allowance for this many offload bursts.
const BURSTS: f64 = 3.0;
/// Section 5.6.3: a burst is what this many seconds carry, from two segments to 64 KB, here 44
/// segments.
const BURST_TIME: f64 = 1e-3;
const MIN_BURST: f64 = 2.0;
const MAX_BURST: f64 = 44.0;
/// Extra flight in ProbeBW_UP (section 5.6.4.2).
const PROBE_ROOM: f64 = 2.0;

impl Bbr3State {
    /// BBR.bw, in segments per second.
    pub(super) fn rate(&self) -> f64 {
        smaller(self.max_bw.max_rate(), self.short.bounds.rate)
    }

    /// BBR.bdp; None before the first rate and RTT samples.
    pub(super) fn bdp(&self) -> Option<f64> {
        Some(self.rate() * self.min_rtt.get()?.as_secs()).filter(|bdp| *bdp > 0.0)
    }

    fn bdp_times(&self, rate: f64, gain: f64) -> f64 {
        self.min_rtt.get().map_or(self.first, |rtt| gain * rate * rtt.as_secs())
    }

    /// QuantizationBudget: at least the offload bursts.
    fn quantized(&self, in_flight: f64) -> f64 {
        // The limits are whole numbers, so truncation may come last, by a cast, which is cheaper
        // than a floor.
        let chunk = f64::from((self.pacing_rate * BURST_TIME).clamp(MIN_BURST, MAX_BURST) as i32);
        let room = if self.phase == Bbr3Phase::Up { PROBE_ROOM } else { 0.0 };
        larger(larger(in_flight, BURSTS * chunk), self.p.min_cwnd) + room
    }

    /// Inflight(rate, gain).
    pub(super) fn budget(&self, rate: f64, gain: f64) -> f64 {
        self.quantized(self.bdp_times(rate, gain))
    }

    /// TargetInflight (section 5.3.3.8).
    pub(super) fn target_in_flight(&self) -> f64 {
        smaller(self.bdp().unwrap_or(self.first), self.cwnd)
    }

    /// ProbeRTTCwnd.
    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp_times(self.rate(), self.p.probe_rtt_cwnd_gain).max(self.p.min_cwnd)
    }

    /// SetPacingRateWithGain: the rate does not fall until the pipe is full.
    pub(super) fn pace(&mut self, gain: f64) {
        let rate = gain * self.rate() * (1.0 - self.p.margin);
        if rate > 0.0 && (self.pipe.reached() || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// SetCwnd.
    pub(super) fn set_cwnd(&mut self, sample: &Sample) {
        let extra = self.max_bw.extra_acked(self.pipe.reached());
        let max_inflight = self.quantized(self.bdp_times(self.rate(), self.phase.cwnd_gain(&self.p)) + extra);
        if self.pipe.reached() {
            self.cwnd = smaller(self.cwnd + sample.newly_acked, max_inflight);
        } else if self.cwnd < max_inflight || (self.max_bw.delivered() as f64) < self.first {
            self.cwnd += sample.newly_acked;
        }
        self.cwnd = larger(self.cwnd, self.p.min_cwnd);
        if self.phase == Bbr3Phase::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = smaller(self.cwnd, larger(self.bound(), self.p.min_cwnd));
    }

    /// BoundCwndForModel.
    fn bound(&self) -> f64 {
        let long = match self.phase {
            Bbr3Phase::Down | Bbr3Phase::Refill | Bbr3Phase::Up => self.long.inflight_longterm,
            Bbr3Phase::Cruise | Bbr3Phase::ProbeRtt => self.long.with_headroom(self.p.headroom, self.p.min_cwnd),
            Bbr3Phase::Startup | Bbr3Phase::Drain => f64::INFINITY,
        };
        smaller(long, self.short.bounds.in_flight)
    }

    /// SaveCwnd and RestoreCwnd (section 5.6.4.4): the window before a recovery or ProbeRTT.
    pub(super) fn save_cwnd(&mut self) {
        let touched = self.recovering || self.phase == Bbr3Phase::ProbeRtt;
        self.prior_cwnd = if touched { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }
    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
