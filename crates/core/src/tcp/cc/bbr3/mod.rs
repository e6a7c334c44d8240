//! BBR version 3 (draft-ietf-ccwg-bbr-06): it sends at the delivery rate like version 1, and also
//! learns the flight at which more than 2 % is lost, leaves headroom below it for other flows, and
//! reduces its rate after losses between probes.

mod config;
mod control;
mod drain;
mod full_pipe;
mod long_term;
mod max_bw;
mod phase;
mod probe_bw;
mod probe_rtt;
mod sample;
mod short_term;
mod startup;
mod undo;

pub use config::Bbr3Config;

use super::app_limited_mask::AppLimitedMask;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, LOSS_WINDOW};
use crate::tcp::delivery_rate::LossSample;
use crate::units::{Span, Time};
use full_pipe::FullPipe;
use long_term::LongTerm;
use max_bw::MaxBw;
use phase::Bbr3Phase;
use probe_bw::ProbeWait;
use probe_rtt::{Ending, MinRtt};
use sample::Sample;
use short_term::ShortTerm;
use undo::LossUndo;

/// Boxed: larger than every window-based variant.
#[derive(Clone, Debug)]
pub struct Bbr3(Box<Bbr3State>);

#[derive(Clone, Debug)]
struct Bbr3State {
    p: Bbr3Config,
    phase: Bbr3Phase,
    max_bw: MaxBw,
    pipe: FullPipe,
    min_rtt: MinRtt,
    short: ShortTerm,
    long: LongTerm,
    undo: LossUndo,
    wait: ProbeWait,
    ending: Ending,
    app_limited_mask: AppLimitedMask,
    drain_since: u64,
    now: Time,
    cwnd: f64,
    /// The initial window, and the window to restore.
    first: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    /// An RTT sample has set the first pacing rate.
    has_rtt: bool,
    recovering: bool,
    /// The round in which fast recovery started.
    recovery_round: Option<u64>,
    idle_restart: bool,
    /// C.is_cwnd_limited: the window was full in this round, and in the previous one.
    full_window: [bool; 2],
}

/// RTT before the first sample: the initial window is paced over 1 ms (section 5.6.2).
const FIRST_RTT: Span = Span::from_ms(1);

impl Bbr3 {
    pub fn new(p: Bbr3Config, window: CongestionWindow) -> Bbr3 {
        Bbr3(Box::new(Bbr3State {
            p,
            phase: Bbr3Phase::Startup,
            max_bw: MaxBw::default(),
            pipe: FullPipe::default(),
            min_rtt: MinRtt::default(),
            short: ShortTerm::default(),
            long: LongTerm::default(),
            undo: LossUndo::default(),
            wait: ProbeWait::default(),
            ending: Ending::default(),
            app_limited_mask: AppLimitedMask::default(),
            drain_since: 0,
            now: Time::ZERO,
            cwnd: window.cwnd,
            first: window.cwnd,
            prior_cwnd: 0.0,
            pacing_rate: p.startup_pacing * window.cwnd / FIRST_RTT.as_secs(),
            has_rtt: false,
            recovering: false,
            recovery_round: None,
            idle_restart: false,
            full_window: [false; 2],
        }))
    }
}

impl Bbr3State {
    /// UpdateOnACK (section 5.2.3).
    fn on_delivery(&mut self, ack: &Ack) {
        self.now = ack.now;
        self.update_recovery(ack.recovering);
        self.set_first_rate(ack);
        let Some(mut sample) = Sample::of(ack) else { return };
        sample.app_limited |= self.app_limited_mask.covers(sample.prior_delivered);
        self.update_model(&sample);
        self.pace(self.phase.pacing_gain(&self.p));
        self.set_cwnd(&sample);
    }

    /// UpdateModelAndState.
    fn update_model(&mut self, sample: &Sample) {
        self.short.update_latest(sample);
        if self.max_bw.update(sample) {
            self.wait.rounds += 1;
        }
        self.update_window_use(sample);
        if self.short.round_started() && !self.phase.accelerates() {
            self.short.adapt(&self.p, self.max_bw.max_rate(), self.cwnd);
        }
        self.max_bw.update_aggregation(sample, self.rate(), self.cwnd);
        self.pipe.check(&self.p, sample, self.max_bw.round_started());
        self.check_startup(sample);
        if self.short.round_started() {
            self.short.reset_losses();
        }
        self.check_drain(sample);
        self.cycle(sample);
        self.update_min_rtt(sample);
        self.check_probe_rtt(sample);
        self.short.advance(sample);
    }

    /// Whether the window was full before this ACK.
    fn update_window_use(&mut self, sample: &Sample) {
        if self.max_bw.round_started() {
            self.full_window = [self.full_window[1], false];
        }
        self.full_window[1] |= sample.in_flight + sample.newly_acked + sample.newly_lost + 1.0 > self.cwnd;
    }
    fn fills_window(&self) -> bool {
        self.full_window[0] || self.full_window[1]
    }

    /// End of a recovery: the window before it, limited by the model (section 5.6.4.4).
    fn update_recovery(&mut self, recovering: bool) {
        if self.recovering && !recovering {
            self.recovering = false;
            self.recovery_round = None;
            self.restore_cwnd();
        }
    }

    /// InitPacingRate, at the first RTT sample (section 5.6.2).
    fn set_first_rate(&mut self, ack: &Ack) {
        if let (false, Some(srtt)) = (self.has_rtt, ack.srtt) {
            self.has_rtt = true;
            self.pacing_rate = self.p.startup_pacing * self.first / srtt.as_secs().max(1e-6);
        }
    }
}

impl CongestionControl for Bbr3 {
    fn wants_delivery_rate(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.0.on_delivery(ack);
    }

    fn on_loss(&mut self, now: Time, loss: &LossSample) {
        let state = &mut *self.0;
        state.now = now;
        if state.short.note_loss(loss.segment, loss.total) {
            state.save();
        }
        state.handle_loss(loss);
    }

    /// `on_delivery` does everything.
    fn on_ack(&mut self, _ack: &Ack) {}

    /// `on_loss` handles each loss; this handles the start of a recovery (section 5.6.4.4). A mark
    /// sets the short-term bounds like a loss, and ends a probe: the draft does not define it.
    fn on_congestion(&mut self, congestion: &Congestion) {
        let state = &mut *self.0;
        state.now = congestion.now;
        match congestion.signal {
            CongestionSignal::Ecn => {
                if state.short.note_mark(state.max_bw.delivered()) {
                    state.save();
                }
                if state.long.probing {
                    state.handle_inflight_too_high(congestion.flight, false);
                }
            }
            CongestionSignal::Duplicates => {
                state.save();
                state.recovering = true;
                state.recovery_round = Some(state.max_bw.rounds());
            }
            CongestionSignal::Timeout => {
                state.save();
                state.recovering = true;
                state.cwnd = LOSS_WINDOW;
            }
        }
    }

    /// A lost SYN leaves one segment; `on_delivery` detects the end of a recovery.
    fn on_recovered(&mut self, _now: Time, cwnd: f64) {
        if cwnd <= LOSS_WINDOW {
            self.0.cwnd = LOSS_WINDOW;
        }
    }

    /// HandleRestartFromIdle (section 5.4.1).
    fn on_idle(&mut self, now: Time, _idle: Span) {
        let state = &mut *self.0;
        state.now = now;
        state.idle_restart = true;
        state.max_bw.restart_aggregation(now);
        if state.phase.probes_bandwidth() {
            state.pace(1.0);
        }
    }

    fn undo(&mut self) -> bool {
        self.0.undo();
        true
    }
    fn controls_recovery(&self) -> bool {
        true
    }
    fn cwnd(&self) -> f64 {
        self.0.cwnd
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
    fn phase(&self) -> super::Phase {
        if self.0.phase == Bbr3Phase::Startup { super::Phase::SlowStart } else { super::Phase::CongestionAvoidance }
    }
}

#[cfg(test)]
mod tests;
