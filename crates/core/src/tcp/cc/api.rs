//! The interface of a congestion control: what it gets, what it answers, and the lower limits of
//! its window.

use crate::packet::Timestamps;
use crate::tcp::delivery_rate::{LossSample, RateSample};
use crate::tcp::info::CaState;
use crate::units::{Span, Time};

/// An ACK as a congestion control gets it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    pub now: Time,
    /// Segments of growth: 1, or the segments covered up to the host's byte-counting limit (RFC
    /// 3465).
    pub growth_credit: f64,
    /// Segments that the ACK number newly acknowledges.
    pub acked: u32,
    /// Segments newly reported as delivered, by ACK number or SACK; set for `on_delivery` and
    /// `on_marks`.
    pub delivered: u32,
    /// Segments marked lost since the last ACK; set for `on_delivery`.
    pub lost: u32,
    /// Segments in flight after the ACK.
    pub in_flight: u32,
    /// RTT sample of the newest segment acknowledged that was sent once (Karn), SRTT, and minimum
    /// RTT.
    pub rtt: Option<Span>,
    pub srtt: Option<Span>,
    pub min_rtt: Option<Span>,
    /// cwnd limited the sender, so the window may grow (RFC 7661).
    pub cwnd_limited: bool,
    /// A fast recovery, or the repair after an RTO, is in progress.
    pub recovering: bool,
    /// Segments acknowledged and segments sent since the connection began, each counted once; they
    /// define rounds.
    pub acked_total: u64,
    pub sent: u64,
    /// Segments newly reported as marked; set for `on_marks`.
    pub marked: f64,
    /// Delivery rate sample; set for `on_delivery`.
    pub rate: Option<RateSample>,
    /// The timestamps option of the segment; set for `on_acked`.
    pub timestamps: Option<Timestamps>,
    /// The earliest time at which a paced sender sends the next segment; set for `on_delivery`.
    pub next_departure: Time,
}

/// A signal of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// A loss, by duplicate ACKs or SACKs.
    Duplicates,
    /// The RTO has expired.
    Timeout,
    /// The receiver echoed a mark (RFC 3168).
    Ecn,
}

#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    pub now: Time,
    pub signal: CongestionSignal,
    /// FlightSize of RFC 5681, in segments.
    pub flight: f64,
}

/// The response of a congestion control to ECN marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnResponse {
    /// A mark reduces the window like a loss (RFC 3168).
    Cut,
    /// Marks are counted; the window is reduced by their share, and does not grow in the RTT after
    /// a reduction (RFC 8257).
    Share,
    /// Marks are counted; packets are sent as ECT(1) for frequent marks, and the window goes on
    /// growing (RFC 9331). Reductions are at least `spacing` apart.
    Scalable { spacing: Span },
}

/// The result of ECN negotiation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnAgreement {
    /// ECN was negotiated.
    pub echoed: bool,
    /// AccECN was negotiated (RFC 9768).
    pub accurate: bool,
    /// Share of the window that a mark leaves, if not that of a loss (RFC 8511).
    pub beta: Option<f64>,
}

/// Phase of a congestion control.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    SlowStart,
    CongestionAvoidance,
}

/// A congestion control algorithm.
pub trait CongestionControl {
    /// New data was acknowledged outside a recovery, so the window may grow.
    fn on_ack(&mut self, ack: &Ack);
    /// The response to ECN marks.
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::Cut
    }
    /// ECN was negotiated, or not.
    fn on_ecn_negotiated(&mut self, _agreement: &EcnAgreement) {}
    /// ECN feedback of an ACK, before any reduction for it: every ACK, if marks are counted.
    fn on_marks(&mut self, _ack: &Ack) {}
    /// Whether `on_established`, `on_acked`, `on_state` and `on_transmit_start` are called, with which
    /// a control of Linux follows what the kernel's does.
    fn follows_state(&self) -> bool {
        false
    }
    /// The handshake is complete; `ack` has its RTT.
    fn on_established(&mut self, _ack: &Ack) {}
    /// Every ACK, in recovery or not, before losses are detected on it (`pkts_acked`).
    fn on_acked(&mut self, _ack: &Ack) {}
    /// An ACK of a connection in state Open that acknowledges new data without SACK: `on_acked` and
    /// `on_ack` at once.
    fn on_clean_ack(&mut self, ack: &Ack) {
        self.on_acked(ack);
        self.on_ack(ack);
    }
    /// The state of the recovery has changed, or an RTO has expired (again).
    fn on_state(&mut self, _state: CaState, _ack: &Ack) {}
    /// Data is sent with nothing in flight, the last before it at `last`.
    fn on_transmit_start(&mut self, _now: Time, _last: Time) {}
    /// Whether `on_delivery` is called; the sender then keeps a record of each segment in flight.
    fn wants_delivery_rate(&self) -> bool {
        false
    }
    /// Segments were delivered or lost: every such ACK, in recovery or not, before `on_ack`.
    fn on_delivery(&mut self, _ack: &Ack) {}
    /// A segment was marked lost: each one, before the next `on_delivery`. Called with delivery
    /// rates only.
    fn on_loss(&mut self, _now: Time, _loss: &LossSample) {}
    /// Reduces the window: sets `ssthresh`, and `cwnd` to the target of the recovery (1 after an
    /// RTO).
    fn on_congestion(&mut self, congestion: &Congestion);
    /// A recovery ends, or moderates the window: cwnd becomes `cwnd`.
    fn on_recovered(&mut self, now: Time, cwnd: f64);
    /// Linux's recovery sets cwnd, from ACK to ACK of a reduction and after an RTO.
    fn set_cwnd(&mut self, now: Time, cwnd: f64) {
        self.on_recovered(now, cwnd);
    }
    /// The window was not used and becomes `window` (RFC 5681, section 4.1; RFC 2861).
    fn on_restart(&mut self, now: Time, window: CongestionWindow) {
        self.on_recovered(now, window.cwnd);
    }
    /// Sending restarts after `idle` with nothing in flight.
    fn on_idle(&mut self, _now: Time, _idle: Span) {}
    /// The last reduction was spurious. Returns true if the algorithm has reverted it and keeps
    /// later measurements; otherwise the sender restores the copy that it saved before the
    /// reduction.
    fn undo(&mut self) -> bool {
        false
    }
    /// Its window applies in a recovery too, instead of proportional rate reduction (Linux's
    /// `cong_control`).
    fn controls_recovery(&self) -> bool {
        false
    }
    fn cwnd(&self) -> f64;
    fn ssthresh(&self) -> f64;
    /// Segments per second, if it paces itself.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// The minimum of the window under rate halving (Linux 2.6's `min_cwnd`, by default ssthresh).
    fn halving_floor(&self) -> f64 {
        self.ssthresh()
    }
    fn phase(&self) -> Phase {
        if self.cwnd() < self.ssthresh() { Phase::SlowStart } else { Phase::CongestionAvoidance }
    }
}

/// cwnd and ssthresh of a window-based algorithm, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionWindow {
    pub cwnd: f64,
    pub ssthresh: f64,
}

/// RFC 5681, equation (4), and section 3.1: ssthresh is at least two segments; an RTO leaves one.
pub const MIN_SSTHRESH: f64 = 2.0;
pub const LOSS_WINDOW: f64 = 1.0;

impl CongestionWindow {
    /// Sets ssthresh, and cwnd to it, or to the loss window after an RTO.
    pub fn cut_to(&mut self, ssthresh: f64, signal: CongestionSignal) {
        self.ssthresh = ssthresh.max(MIN_SSTHRESH);
        self.cwnd = if signal == CongestionSignal::Timeout { LOSS_WINDOW } else { self.ssthresh };
    }
}

/// Methods of every window-based algorithm without further state.
macro_rules! window_methods {
    () => {
        fn on_recovered(&mut self, _now: $crate::units::Time, cwnd: f64) {
            self.window.cwnd = cwnd;
        }
        fn set_cwnd(&mut self, _now: $crate::units::Time, cwnd: f64) {
            self.window.cwnd = cwnd;
        }
        fn on_restart(&mut self, _now: $crate::units::Time, window: $crate::tcp::cc::CongestionWindow) {
            self.window = window;
        }
        fn cwnd(&self) -> f64 {
            self.window.cwnd
        }
        fn ssthresh(&self) -> f64 {
            self.window.ssthresh
        }
    };
}
pub(super) use window_methods;
