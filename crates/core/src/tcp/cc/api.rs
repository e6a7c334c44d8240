//! What a congestion control is told and asked, and what it keeps at least.

use crate::tcp::delivery_rate::{LossSample, RateSample};
use crate::units::{Span, Time};

/// What an ACK says.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    pub now: Time,
    /// Segments of growth it earns: 1, or the segments it covers up to the host's byte-counting limit (RFC 3465).
    pub growth_credit: f64,
    /// Segments it took off the board.
    pub acked: u32,
    /// Segments of which it is the first to say that they arrived, by its number or by SACK; known to `on_delivery` only.
    pub delivered: u32,
    /// Segments taken for lost since the last ACK; known to `on_delivery` only.
    pub lost: u32,
    /// Segments in flight after it.
    pub in_flight: u32,
    /// This ACK's sample, of the newest segment it acknowledges that was sent once (Karn); the smoothed and smallest so far.
    pub rtt: Option<Span>,
    pub srtt: Option<Span>,
    pub min_rtt: Option<Span>,
    /// The window was what held the sender back, so there is reason to grow it (RFC 7661).
    pub cwnd_limited: bool,
    /// A recovery, or what follows a timeout, is in force.
    pub recovering: bool,
    /// Segments acknowledged, and segments sent once or more, since the connection began: what rounds are counted by.
    pub acked_total: u64,
    pub sent: u64,
    /// Segments that it newly reports as marked; known to `on_marks` only.
    pub marked: f64,
    /// How fast segments arrive; known to `on_delivery` only.
    pub rate: Option<RateSample>,
}

/// What tells of congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionSignal {
    /// Duplicate ACKs or SACKs show a loss.
    Duplicates,
    /// The retransmission timer went off.
    Timeout,
    /// The receiver echoed a mark (RFC 3168).
    Ecn,
}

#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    pub now: Time,
    pub signal: CongestionSignal,
    /// FlightSize of RFC 5681 in segments, as the recovery counts it.
    pub flight: f64,
}

/// What a congestion control makes of marks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnResponse {
    /// One is a cut, as a loss is (RFC 3168).
    Cut,
    /// It counts them, cuts by their share, and does not grow in the round trip after a cut (RFC 8257).
    Share,
    /// It counts them, asks the network for many small ones by ECT(1), and goes on growing (RFC 9331); cuts lie so far apart at least.
    Scalable { spacing: Span },
}

/// What the two ends have agreed on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EcnAgreement {
    /// Marks are echoed at all.
    pub echoed: bool,
    /// They are counted (RFC 9768).
    pub accurate: bool,
    /// What a mark leaves of the window, where it is not what a loss leaves (RFC 8511).
    pub beta: Option<f64>,
}

/// Where in its cycle an algorithm is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    SlowStart,
    CongestionAvoidance,
}

/// A congestion control.
pub trait CongestionControl {
    /// New data was acknowledged and no recovery is in force, so the window may grow.
    fn on_ack(&mut self, ack: &Ack);
    /// What it makes of marks.
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::Cut
    }
    /// Both ends have agreed on ECN, or on none.
    fn on_ecn_negotiated(&mut self, _agreement: &EcnAgreement) {}
    /// What an ACK says of marks, before any cut for them: every ACK, if it counts them.
    fn on_marks(&mut self, _ack: &Ack) {}
    /// Whether it wants `on_delivery`, for which the sender keeps a note of each segment in flight.
    fn wants_delivery_rate(&self) -> bool {
        false
    }
    /// Segments arrived or were lost: every ACK that says so, in recovery or not, before `on_ack`.
    fn on_delivery(&mut self, _ack: &Ack) {}
    /// A segment was taken for lost, for each, and before the next `on_delivery`; told to those that watch deliveries.
    fn on_loss(&mut self, _now: Time, _loss: &LossSample) {}
    /// Cut the window: sets `ssthresh`, and `cwnd` to where the recovery is to bring it (1 after a timeout).
    fn on_congestion(&mut self, congestion: &Congestion);
    /// A recovery is over (or has moderated the window) and leaves it here.
    fn on_recovered(&mut self, now: Time, cwnd: f64);
    /// The window has not been used and is set to what is still trusted of it (RFC 5681, section 4.1; RFC 2861).
    fn on_restart(&mut self, now: Time, window: CongestionWindow) {
        self.on_recovered(now, window.cwnd);
    }
    /// Sending begins again after `idle` without anything in flight.
    fn on_idle(&mut self, _now: Time, _idle: Span) {}
    /// The last cut was for nothing. True if it has taken back what that loss changed and keeps what it has learned since; otherwise
    /// the sender puts the copy in its place that it made before the cut.
    fn undo(&mut self) -> bool {
        false
    }
    /// Whether its window holds in a recovery too, so that no proportional reduction is laid over it (Linux's `cong_control`).
    fn controls_recovery(&self) -> bool {
        false
    }
    fn cwnd(&self) -> f64;
    fn ssthresh(&self) -> f64;
    /// Segments a second, if it paces itself.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// How low rate-halving may bring the window (Linux 2.6's `min_cwnd`, which is the threshold where a variant gives none).
    fn halving_floor(&self) -> f64 {
        self.ssthresh()
    }
    fn phase(&self) -> Phase {
        if self.cwnd() < self.ssthresh() { Phase::SlowStart } else { Phase::CongestionAvoidance }
    }
}

/// cwnd and ssthresh: what every window-based algorithm keeps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CongestionWindow {
    pub cwnd: f64,
    pub ssthresh: f64,
}

/// RFC 5681, equation (4), and section 3.1: no cut goes below two segments, a timeout leaves one.
pub const MIN_SSTHRESH: f64 = 2.0;
pub const LOSS_WINDOW: f64 = 1.0;

impl CongestionWindow {
    /// Sets the threshold and goes there, or to the loss window after a timeout.
    pub fn cut_to(&mut self, ssthresh: f64, signal: CongestionSignal) {
        self.ssthresh = ssthresh.max(MIN_SSTHRESH);
        self.cwnd = if signal == CongestionSignal::Timeout { LOSS_WINDOW } else { self.ssthresh };
    }
}

/// What every window-based algorithm without further state answers alike.
macro_rules! window_methods {
    () => {
        fn on_recovered(&mut self, _now: $crate::units::Time, cwnd: f64) {
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
