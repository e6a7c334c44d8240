//! BBR version 1 (Cardwell, Cheng, Gunn, Yeganeh and Jacobson, "BBR: congestion-based congestion
//! control", ACM Queue 14(5), 2016; draft-cardwell-iccrg-bbr-congestion-control-00), with the
//! numbers of Linux 5 and 6: it sends at the delivery rate and keeps about two BDP in flight.

mod cycle;
mod long_term;
mod model;
mod window;

use super::app_limited_mask::AppLimitedMask;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, LOSS_WINDOW, Phase};
use crate::tcp::delivery_rate::LossSample;
use crate::tcp::info::CaState;
use crate::tcp::linux_rules::{LinuxRule, LinuxRules};
use crate::units::{Span, Time};
use cycle::Cycle;
use long_term::{LongTermBandwidth, LongTermSample, in_flight_at_departure};
use model::Model;
use window::BbrCwnd;

/// The draft's constants, and Linux's where they differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BbrConfig {
    /// 2/ln 2: the minimum gain that doubles the rate per round (draft, section 4.1.1).
    pub high_gain: f64,
    /// Flight outside Startup, in BDP (section 4.2.3).
    pub cwnd_gain: f64,
    /// Gains of the probing cycle (section 4.3.4).
    pub cycle: [f64; 8],
    /// The pipe is full when the rate has grown by less than this factor in `full_rounds` rounds
    /// (section 4.3.2).
    pub full_growth: f64,
    pub full_rounds: u32,
    /// Lifetime of a minimum RTT, and duration of ProbeRTT (section 4.3.5).
    pub min_rtt_window: Span,
    pub probe_rtt: Span,
    /// Flight in ProbeRTT, and minimum window (section 4.2.3).
    pub min_cwnd: f64,
    /// Pacing margin below the estimate (Linux: 1 %).
    pub margin: f64,
}

impl BbrConfig {
    pub const LINUX: BbrConfig = BbrConfig {
        high_gain: 2885.0 / 1000.0,
        cwnd_gain: 2.0,
        cycle: [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
        full_growth: 1.25,
        full_rounds: 3,
        min_rtt_window: Span::from_secs(10),
        probe_rtt: Span::from_ms(200),
        min_cwnd: 4.0,
        margin: 0.01,
    };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BbrMode {
    Startup,
    Drain,
    ProbeBw,
    ProbeRtt,
}

/// Boxed: larger than every window-based variant.
#[derive(Clone, Debug)]
pub struct Bbr(Box<BbrState>);

#[derive(Clone, Debug)]
struct BbrState {
    p: BbrConfig,
    mode: BbrMode,
    model: Model,
    cycle: Cycle,
    cwnd: BbrCwnd,
    pacing_gain: f64,
    cwnd_gain: f64,
    pacing_rate: f64,
    /// An RTT sample has set the first pacing rate.
    has_rtt: bool,
    probe_rtt_done: Option<Time>,
    probe_rtt_round_done: bool,
    /// Delivery rate samples of ProbeRTT are application-limited.
    app_limited_mask: AppLimitedMask,
    /// Where the host has Linux's detection of policers.
    long_term: Option<LongTermBandwidth>,
    /// Time of the last delivery.
    delivered_at: Time,
    /// The flight at the next departure decides on phases (Linux).
    at_departure: bool,
}

/// RTT before the first sample: Linux paces the initial window over 1 ms.
const FIRST_RTT: Span = Span::from_ms(1);

impl Bbr {
    pub fn new(p: BbrConfig, window: CongestionWindow) -> Bbr {
        Bbr(Box::new(BbrState {
            p,
            mode: BbrMode::Startup,
            model: Model::default(),
            cycle: Cycle::default(),
            cwnd: BbrCwnd::new(window.cwnd),
            pacing_gain: p.high_gain,
            cwnd_gain: p.high_gain,
            pacing_rate: p.high_gain * window.cwnd / FIRST_RTT.as_secs(),
            has_rtt: false,
            probe_rtt_done: None,
            probe_rtt_round_done: false,
            app_limited_mask: AppLimitedMask::default(),
            long_term: None,
            delivered_at: Time::ZERO,
            at_departure: false,
        }))
    }

    /// The handshake has an RTT: the initial window is paced over it (Linux,
    /// `bbr_init_pacing_rate_from_rtt()`).
    pub fn on_handshake_rtt(&mut self, rtt: Span) {
        let state = &mut *self.0;
        state.has_rtt = true;
        state.pacing_rate = state.p.high_gain * state.cwnd.cwnd() / rtt.as_secs().max(1e-6) * (1.0 - state.p.margin);
    }

    /// Linux's rules for BBR; `segment` is the payload of a segment in bytes.
    pub fn with_linux_rules(mut self, rules: LinuxRules, segment: u32) -> Bbr {
        self.0.long_term = rules.has(LinuxRule::BbrLongTermBandwidth).then(|| LongTermBandwidth::new(segment));
        self.0.at_departure = rules.has(LinuxRule::BbrFlightAtDeparture);
        self
    }
}

impl BbrState {
    fn on_delivery(&mut self, mut ack: Ack) {
        if let Some(rate) = &mut ack.rate {
            rate.app_limited |= self.app_limited_mask.covers(rate.prior_delivered);
        }
        let ack = &ack;
        if ack.delivered > 0 {
            self.delivered_at = ack.now;
        }
        let policed = self.long_term.as_ref().and_then(LongTermBandwidth::rate);
        self.model.update(&self.p, ack, self.cwnd.cwnd(), policed);
        self.sample_long_term(ack);
        if self.mode == BbrMode::ProbeBw {
            let gain = if self.policed_rate().is_some() { 1.0 } else { self.cycle.gain(&self.p) };
            let target = self.target(gain.max(1.0));
            let before = self.in_flight(ack, f64::from(ack.in_flight) + f64::from(ack.delivered));
            if self.cycle.is_over(gain, &self.model, ack, before, target) {
                self.cycle.advance(ack.now);
            }
        }
        if self.mode == BbrMode::Startup && self.model.full(&self.p) {
            self.mode = BbrMode::Drain;
        }
        if self.mode == BbrMode::Drain && self.in_flight(ack, f64::from(ack.in_flight)) <= self.target(1.0) {
            self.enter_probe_bw(ack.now);
        }
        self.check_probe_rtt(ack);
        self.set_gains();
        self.set_pacing_rate(ack);
        if self.cwnd.is_entering() {
            // Packet conservation lasts a whole round, so a round starts now (draft, section
            // 4.2.3.4; `bbr_set_cwnd_to_recover_or_restore()`).
            self.model.begin_round();
        }
        let extra = if self.model.full(&self.p) { self.model.extra_acked() } else { 0.0 };
        let target = self.policed_target().unwrap_or_else(|| self.target(self.cwnd_gain)) + extra;
        self.cwnd.update(&self.p, ack, &self.model, target, self.mode == BbrMode::ProbeRtt);
    }

    /// The rate of a policer, while it is in use.
    fn policed_rate(&self) -> Option<f64> {
        self.long_term.as_ref()?.rate()
    }

    /// Segments per second: `bbr_bw()`.
    fn bandwidth(&self) -> f64 {
        self.policed_rate().unwrap_or_else(|| self.model.bandwidth())
    }

    /// The window at the rate of a policer.
    fn policed_target(&self) -> Option<f64> {
        let bdp = self.policed_rate()? * self.model.min_rtt()?.as_secs();
        let probing = self.mode == BbrMode::ProbeBw && self.cycle.is_up();
        Some(window::quantized(self.cwnd_gain * bdp, self.pacing_rate, probing))
    }

    /// `bbr_lt_bw_sampling()`, at an ACK with a delivery rate.
    fn sample_long_term(&mut self, ack: &Ack) {
        let Some(rate) = ack.rate.filter(|rate| rate.rate(ack.min_rtt).is_some()) else { return };
        let sample = LongTermSample {
            now: ack.now,
            delivered: rate.total,
            losses: ack.lost > 0,
            round_started: self.model.round_started(),
            app_limited: rate.app_limited,
            probes: self.mode == BbrMode::ProbeBw,
        };
        if self.long_term.as_mut().is_some_and(|long_term| long_term.sample(&sample)) {
            self.enter_probe_bw(ack.now);
        }
    }

    /// Segments in flight, or those at the next departure.
    fn in_flight(&self, ack: &Ack, now: f64) -> f64 {
        if !self.at_departure {
            return now;
        }
        let burst = if self.pacing_gain > 1.0 { window::burst(self.pacing_rate) } else { 0.0 };
        in_flight_at_departure(ack, now, self.bandwidth(), burst)
    }

    /// Draft, section 4.2.3.2: BDP times gain, plus quantization.
    fn target(&self, gain: f64) -> f64 {
        let probing = self.mode == BbrMode::ProbeBw && self.cycle.is_up();
        self.model.bdp().map_or(self.cwnd.first(), |bdp| window::quantized(gain * bdp, self.pacing_rate, probing))
    }

    fn enter_probe_bw(&mut self, now: Time) {
        self.mode = BbrMode::ProbeBw;
        self.cycle.begin(now);
    }

    /// Section 4.3.5: an expired minimum RTT starts ProbeRTT, which drains the queue.
    fn check_probe_rtt(&mut self, ack: &Ack) {
        if self.model.min_rtt_expired() && self.mode != BbrMode::ProbeRtt {
            self.mode = BbrMode::ProbeRtt;
            self.cwnd.save(ack.recovering);
            self.probe_rtt_done = None;
        }
        if self.mode != BbrMode::ProbeRtt {
            return;
        }
        self.app_limited_mask.extend(self.model.delivered(), ack.in_flight);
        match self.probe_rtt_done {
            None if f64::from(ack.in_flight) <= self.p.min_cwnd => {
                self.probe_rtt_done = Some(ack.now + self.p.probe_rtt);
                self.probe_rtt_round_done = false;
                self.model.begin_round();
            }
            None => {}
            Some(done) => {
                self.probe_rtt_round_done |= self.model.round_started();
                if self.probe_rtt_round_done && ack.now >= done {
                    self.model.renew_min_rtt(ack.now);
                    self.cwnd.restore();
                    self.leave_probe_rtt(ack.now);
                }
            }
        }
    }

    fn leave_probe_rtt(&mut self, now: Time) {
        if self.model.full(&self.p) {
            self.enter_probe_bw(now);
        } else {
            self.mode = BbrMode::Startup;
        }
    }

    fn set_gains(&mut self) {
        let p = &self.p;
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            BbrMode::Startup => (p.high_gain, p.high_gain),
            BbrMode::Drain => (1.0 / p.high_gain, p.high_gain),
            BbrMode::ProbeBw if self.policed_rate().is_some() => (1.0, p.cwnd_gain),
            BbrMode::ProbeBw => (self.cycle.gain(p), p.cwnd_gain),
            BbrMode::ProbeRtt => (1.0, 1.0),
        };
    }

    /// Section 4.2.1: the rate does not fall until the pipe is full.
    fn set_pacing_rate(&mut self, ack: &Ack) {
        if let (false, Some(srtt)) = (self.has_rtt, ack.srtt) {
            self.has_rtt = true;
            self.pacing_rate = self.p.high_gain * self.cwnd.cwnd() / srtt.as_secs().max(1e-6);
        }
        let bandwidth = self.bandwidth();
        let rate = self.pacing_gain * bandwidth * (1.0 - self.p.margin);
        if bandwidth > 0.0 && (self.model.full(&self.p) || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }
}

impl CongestionControl for Bbr {
    fn follows_state(&self) -> bool {
        self.0.long_term.is_some()
    }

    /// An RTO ends a round with a loss (`bbr_set_state()`).
    fn on_state(&mut self, state: CaState, ack: &Ack) {
        let bbr = &mut *self.0;
        let sample = LongTermSample {
            now: bbr.delivered_at,
            delivered: bbr.model.delivered(),
            losses: true,
            round_started: true,
            app_limited: false,
            probes: bbr.mode == BbrMode::ProbeBw,
        };
        if let (CaState::Loss, Some(long_term)) = (state, &mut bbr.long_term)
            && long_term.sample(&sample)
        {
            bbr.enter_probe_bw(ack.now);
        }
    }

    fn on_loss(&mut self, _now: Time, _loss: &LossSample) {
        if let Some(long_term) = &mut self.0.long_term {
            long_term.on_loss();
        }
    }

    fn wants_delivery_rate(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.0.on_delivery(*ack);
    }

    /// `on_delivery` does everything.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// Loss does not reduce the rate; during a recovery the window follows deliveries (section
    /// 4.2.3.4).
    fn on_congestion(&mut self, congestion: &Congestion) {
        // Version 1 ignores marks: Linux conserves packets in a recovery only.
        if congestion.signal == CongestionSignal::Ecn {
            return;
        }
        let state = &mut *self.0;
        state.cwnd.save(false);
        if congestion.signal == CongestionSignal::Timeout {
            state.cwnd.set(LOSS_WINDOW);
            state.model.reset_full_pipe();
        } else {
            state.cwnd.conserve();
        }
    }

    /// A lost SYN leaves one segment; `on_delivery` detects the end of a recovery.
    fn on_recovered(&mut self, _now: Time, cwnd: f64) {
        if cwnd <= LOSS_WINDOW {
            self.0.cwnd.set(LOSS_WINDOW);
        }
    }

    fn on_idle(&mut self, now: Time, _idle: Span) {
        let state = &mut *self.0;
        state.model.restart(now);
        if state.mode == BbrMode::ProbeBw && state.model.bandwidth() > 0.0 {
            state.pacing_rate = state.bandwidth() * (1.0 - state.p.margin);
        }
    }

    /// Linux's `undo_cwnd`: the window is restored at the end of the recovery, and the search for
    /// growth restarts.
    fn undo(&mut self) -> bool {
        let state = &mut *self.0;
        state.model.restart_full_pipe_search();
        if let Some(long_term) = &mut state.long_term {
            long_term.reset(state.delivered_at, state.model.delivered());
        }
        true
    }
    fn controls_recovery(&self) -> bool {
        true
    }

    fn cwnd(&self) -> f64 {
        self.0.cwnd.cwnd()
    }
    fn ssthresh(&self) -> f64 {
        f64::INFINITY
    }
    fn pacing_rate(&self) -> Option<f64> {
        Some(self.0.pacing_rate)
    }
    fn halving_floor(&self) -> f64 {
        self.cwnd()
    }
    fn phase(&self) -> Phase {
        if self.0.mode == BbrMode::Startup { Phase::SlowStart } else { Phase::CongestionAvoidance }
    }
}

#[cfg(test)]
mod tests;
