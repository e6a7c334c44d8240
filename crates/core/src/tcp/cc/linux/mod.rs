//! The congestion controls as Linux computes them: windows in whole segments, growth counted per
//! ACK, times in ticks (jiffies) or microseconds, everything rounded as the kernel's integers are.
//!
//! [`LinuxCc`] holds the window and does what `tcp_input.c` does around a control
//! (`struct tcp_congestion_ops`); a control is one file here and implements [`LinuxControl`]. The
//! algorithms of the papers and RFCs are in the folder above: hosts without the rule
//! `integer-controls` use those.

mod bic;
mod cubic;
mod dctcp;
mod high_speed;
mod htcp;
mod hybla;
mod hystart;
mod illinois;
mod lp;
mod reno;
mod scalable;
mod vegas;
mod vegas_rtt;
mod veno;
mod westwood;
mod window;
mod yeah;

pub use window::LinuxWindow;

use super::slow_start::SlowStart;
use super::{Ack, AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnAgreement, EcnResponse, Variant};
use crate::tcp::config::TcpConfig;
use crate::tcp::info::CaState;
use crate::tcp::linux_rules::LinuxRule;
use crate::units::{Span, Time};

pub type LinuxReno = LinuxCc<reno::RenoControl>;
pub type LinuxCubic = LinuxCc<cubic::CubicControl>;
pub type LinuxBic = LinuxCc<bic::BicControl>;
pub type LinuxVegas = LinuxCc<vegas::VegasControl>;
pub type LinuxVeno = LinuxCc<veno::VenoControl>;
pub type LinuxWestwood = LinuxCc<westwood::WestwoodControl>;
pub type LinuxHtcp = LinuxCc<htcp::HtcpControl>;
pub type LinuxHybla = LinuxCc<hybla::HyblaControl>;
pub type LinuxIllinois = LinuxCc<illinois::IllinoisControl>;
pub type LinuxScalable = LinuxCc<scalable::ScalableControl>;
pub type LinuxHighSpeed = LinuxCc<high_speed::HighSpeedControl>;
pub type LinuxYeah = LinuxCc<yeah::YeahControl>;
pub type LinuxLp = LinuxCc<lp::LpControl>;
pub type LinuxDctcp = LinuxCc<dctcp::DctcpControl>;

/// The kernel's clocks: `jiffies`, and the microseconds of `tcp_mstamp`.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    tick: Span,
    hz: u64,
}

/// Picoseconds of a microsecond.
const MICROSECOND: u64 = 1_000_000;

impl Clock {
    /// `tick`: 1/HZ.
    pub fn new(tick: Span) -> Clock {
        let tick = tick.max(Span::from_us(1));
        Clock { tick, hz: (Span::from_secs(1).0 / tick.0).max(1) }
    }

    /// Ticks per second (HZ).
    pub fn hz(self) -> u64 {
        self.hz
    }

    /// `tcp_jiffies32`, without its wrap.
    pub fn jiffies(self, now: Time) -> u64 {
        now.0 / self.tick.0
    }

    /// `usecs_to_jiffies()`: rounded up.
    pub fn jiffies_of(self, us: u64) -> u64 {
        us.saturating_mul(MICROSECOND).div_ceil(self.tick.0)
    }
}

/// Whole microseconds.
pub fn micros(span: Span) -> u64 {
    span.0 / MICROSECOND
}

/// An ACK, or a change of state, as a control gets it.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    pub ack: &'a Ack,
    pub clock: Clock,
    /// `icsk_ca_state` before this ACK.
    pub state: CaState,
}

impl Event<'_> {
    pub fn jiffies(&self) -> u64 {
        self.clock.jiffies(self.ack.now)
    }

    /// `ack_sample.rtt_us`; None where the kernel's is negative.
    pub fn rtt_us(&self) -> Option<u64> {
        self.ack.rtt.map(micros)
    }

    /// `after(ack, end)` for a count of segments.
    pub fn is_after(&self, end: u64) -> bool {
        self.ack.acked_total > end
    }
}

/// A reduction of the window.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    pub now: Time,
    pub clock: Clock,
    pub signal: CongestionSignal,
    /// The window that the sender's rules have Reno halve, in segments: cwnd, or FlightSize.
    pub flight: u32,
}

impl Cut {
    /// `tcp_reno_ssthresh()`.
    pub fn half(&self) -> u32 {
        (self.flight >> 1).max(MIN_WINDOW)
    }
}

/// The minimum of ssthresh in segments.
pub const MIN_WINDOW: u32 = 2;

/// `segments * share / whole`, rounded down.
fn share_of(segments: u32, share: u32, whole: u32) -> u32 {
    (u64::from(segments) * u64::from(share) / u64::from(whole)).min(u64::from(u32::MAX)) as u32
}

/// A congestion control, as `struct tcp_congestion_ops` divides it.
pub trait LinuxControl: Clone + std::fmt::Debug {
    /// `init`, when the handshake is complete.
    fn init(&mut self, _window: &mut LinuxWindow, _event: &Event<'_>) {}
    /// `pkts_acked`, and what a control does in `in_ack_event`: every ACK, before losses are
    /// detected.
    fn pkts_acked(&mut self, _window: &mut LinuxWindow, _event: &Event<'_>) {}
    /// `cong_avoid`: the window may grow.
    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>);
    /// `ssthresh`: the window after a reduction.
    fn ssthresh(&mut self, window: &LinuxWindow, cut: &Cut) -> u32;
    /// `set_state`, before `event.state` becomes `state`.
    fn set_state(&mut self, _window: &mut LinuxWindow, _state: CaState, _event: &Event<'_>) {}
    /// `CA_EVENT_TX_START`: data is sent with nothing in flight, `idle` ticks after the last.
    fn tx_start(&mut self, _window: &LinuxWindow, _now: u64, _idle: u64) {}
    /// `CA_EVENT_COMPLETE_CWR`: a recovery or CWR has ended.
    fn complete_cwr(&mut self, _window: &mut LinuxWindow) {}
    /// The control's part of `undo_cwnd`.
    fn undo(&mut self) {}
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::Cut
    }
    fn on_ecn_negotiated(&mut self, _agreement: &EcnAgreement) {}
    fn on_marks(&mut self, _ack: &Ack) {}
}

/// The state before the last reduction (`prior_cwnd`, `prior_ssthresh`).
#[derive(Clone, Copy, Debug)]
struct Prior {
    cwnd: u32,
    ssthresh: u32,
}

/// A congestion control of Linux, with its window.
#[derive(Clone, Debug)]
pub struct LinuxCc<C> {
    window: LinuxWindow,
    control: C,
    state: CaState,
    clock: Clock,
    prior: Prior,
    /// The last reduction has not ended yet.
    reducing: bool,
}

impl<C: LinuxControl> LinuxCc<C> {
    fn new(control: C, window: LinuxWindow, clock: Clock) -> LinuxCc<C> {
        let prior = Prior { cwnd: window.cwnd, ssthresh: window.ssthresh };
        LinuxCc { window, control, state: CaState::Open, clock, prior, reducing: false }
    }

    #[inline]
    fn grow(&mut self, ack: &Ack) {
        let event = Event { ack, clock: self.clock, state: self.state };
        self.control.cong_avoid(&mut self.window, &event);
    }
}

impl<C: LinuxControl> CongestionControl for LinuxCc<C> {
    fn follows_state(&self) -> bool {
        true
    }

    fn on_established(&mut self, ack: &Ack) {
        let event = Event { ack, clock: self.clock, state: self.state };
        self.control.init(&mut self.window, &event);
    }

    #[inline]
    fn on_acked(&mut self, ack: &Ack) {
        let event = Event { ack, clock: self.clock, state: self.state };
        self.control.pkts_acked(&mut self.window, &event);
    }

    // inline(never): `AnyCc::on_ack` then only jumps, whatever the control.
    #[inline(never)]
    fn on_ack(&mut self, ack: &Ack) {
        self.grow(ack);
    }

    #[inline]
    fn on_clean_ack(&mut self, ack: &Ack) {
        self.on_acked(ack);
        self.grow(ack);
    }

    fn on_state(&mut self, state: CaState, ack: &Ack) {
        let event = Event { ack, clock: self.clock, state: self.state };
        self.control.set_state(&mut self.window, state, &event);
        self.state = state;
    }

    fn on_transmit_start(&mut self, now: Time, last: Time) {
        let now = self.clock.jiffies(now);
        self.control.tx_start(&self.window, now, now - self.clock.jiffies(last));
    }

    /// `tcp_init_cwnd_reduction()`, `tcp_enter_loss()`.
    fn on_congestion(&mut self, congestion: &Congestion) {
        let Congestion { now, signal, flight } = *congestion;
        let w = &mut self.window;
        self.prior = Prior { cwnd: w.cwnd, ssthresh: w.current_ssthresh() };
        let flight = flight.clamp(0.0, f64::from(u32::MAX)) as u32;
        w.ssthresh = self.control.ssthresh(w, &Cut { now, clock: self.clock, signal, flight });
        w.count = 0;
        w.cwnd = if signal == CongestionSignal::Timeout { 1 } else { w.ssthresh };
        self.reducing = signal != CongestionSignal::Timeout;
    }

    fn on_recovered(&mut self, _now: Time, cwnd: f64) {
        self.window.set_cwnd(cwnd);
        if std::mem::take(&mut self.reducing) && self.window.cwnd > 1 {
            self.control.complete_cwr(&mut self.window);
        }
    }

    fn set_cwnd(&mut self, _now: Time, cwnd: f64) {
        self.window.set_cwnd(cwnd);
    }

    fn on_restart(&mut self, _now: Time, window: CongestionWindow) {
        self.window.restart(window);
    }

    /// `tcp_undo_cwnd_reduction()`: the window is at least that before the reduction, and ssthresh at
    /// least three quarters of it. What the control has learnt at the loss stays.
    fn undo(&mut self) -> bool {
        self.control.undo();
        self.window.cwnd = self.window.cwnd.max(self.prior.cwnd);
        self.window.ssthresh = self.window.ssthresh.max(self.prior.ssthresh);
        self.reducing = false;
        true
    }

    fn ecn_response(&self) -> EcnResponse {
        self.control.ecn_response()
    }
    fn on_ecn_negotiated(&mut self, agreement: &EcnAgreement) {
        self.control.on_ecn_negotiated(agreement);
    }
    fn on_marks(&mut self, ack: &Ack) {
        self.control.on_marks(ack);
    }

    #[inline]
    fn cwnd(&self) -> f64 {
        f64::from(self.window.cwnd)
    }
    #[inline]
    fn ssthresh(&self) -> f64 {
        if self.window.ssthresh == u32::MAX { f64::INFINITY } else { f64::from(self.window.ssthresh) }
    }
}

impl Variant {
    /// The control in the kernel's integers, where the host follows that rule and Linux has it. The
    /// historical and published forms of a control stay as their names say.
    pub fn build_linux(self, window: CongestionWindow, config: &TcpConfig) -> Option<AnyCc> {
        if !config.linux_rules.has(LinuxRule::IntegerControls) {
            return None;
        }
        let clock = Clock::new(config.rto_tick);
        let start = LinuxWindow::new(window, config.slow_start);
        fn with<C: LinuxControl>(control: C, window: LinuxWindow, clock: Clock) -> LinuxCc<C> {
            LinuxCc::new(control, window, clock)
        }
        Some(match self {
            Variant::Reno | Variant::NewReno => AnyCc::LinuxReno(with(reno::RenoControl::default(), start, clock)),
            Variant::Cubic => {
                let hystart = matches!(config.slow_start, SlowStart::Hystart(_));
                let first_count = if config.first_climb > 0.0 { (1.0 / config.first_climb) as u32 } else { u32::MAX };
                let rfc_alpha = !config.linux_rules.has(LinuxRule::CubicRenoRate);
                let control = cubic::CubicControl::new(hystart, first_count, rfc_alpha);
                let start = if hystart { LinuxWindow::new(window, LinuxWindow::CLASSIC) } else { start };
                AnyCc::LinuxCubic(with(control, start, clock))
            }
            Variant::Bic => AnyCc::LinuxBic(with(bic::BicControl::default(), start, clock)),
            Variant::Vegas => AnyCc::LinuxVegas(with(vegas::VegasControl::default(), start, clock)),
            Variant::Veno => AnyCc::LinuxVeno(with(veno::VenoControl::default(), start, clock)),
            Variant::WestwoodPlus => AnyCc::LinuxWestwood(with(westwood::WestwoodControl::new(config.segment), start, clock)),
            Variant::Htcp => AnyCc::LinuxHtcp(with(htcp::HtcpControl::default(), start, clock)),
            Variant::Hybla => AnyCc::LinuxHybla(with(hybla::HyblaControl::default(), start, clock)),
            Variant::Illinois => AnyCc::LinuxIllinois(with(illinois::IllinoisControl::default(), start, clock)),
            Variant::Scalable => AnyCc::LinuxScalable(with(scalable::ScalableControl, start, clock)),
            Variant::HighSpeed => AnyCc::LinuxHighSpeed(with(high_speed::HighSpeedControl::default(), start, clock)),
            Variant::Yeah => AnyCc::LinuxYeah(with(yeah::YeahControl::default(), start, clock)),
            Variant::Lp => AnyCc::LinuxLp(with(lp::LpControl::default(), start, clock)),
            Variant::Dctcp => AnyCc::LinuxDctcp(with(dctcp::DctcpControl::default(), start, clock)),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests;
