//! The recovery of ns-2's Agent/TCP/Linux: Linux 2.6's rate halving as that agent does it, for
//! comparisons with ns-2 (`tcp-linux.cc` and `scoreboard1.cc` of ns-2.35).
//!
//! It differs from the kernel in four points: the flight does not fall below the variant's
//! `min_cwnd`; the window after a recovery is that minimum or ssthresh, whichever is more; a dubious
//! ACK limits no window; a retransmission that is lost after a timeout starts a recovery.

use super::{AckInfo, Recovery, RecoveryContext, Retransmit};
use crate::tcp::cc::{AnyCc, CongestionControl, CongestionSignal};
use crate::tcp::scoreboard::Scoreboard;

#[derive(Clone, Debug, Default)]
pub struct TcpLinux {
    state: State,
}

#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Open,
    Recovery(HalvedFlight),
    /// After a timeout, until data up to `recovery_point` is acknowledged.
    Loss {
        recovery_point: u64,
    },
}

/// A flight that is being halved, in segments.
#[derive(Clone, Copy, Debug)]
struct HalvedFlight {
    recovery_point: u64,
    /// snd_cwnd: the variant's `min_cwnd`.
    floor: u32,
    /// next_pkts_in_flight_: the flight that the next ACK may fill.
    next: u32,
    /// The flight that this ACK may fill.
    target: u32,
}

impl HalvedFlight {
    /// send_much(): each ACK fills the flight, and each segment sent lowers the next one's limit.
    fn on_ack(&mut self, in_flight: u32) {
        self.next = self.next.min(in_flight + 1);
        self.target = in_flight;
        while self.target < self.floor.max(self.next) {
            self.target += 1;
            self.next = self.next.min((self.target - 1).max(1));
        }
    }
}

/// The window after a recovery is at most this many segments above the flight.
const MAX_BURST: f64 = 3.0;

impl TcpLinux {
    fn enter(&mut self, ctx: &mut RecoveryContext<'_>) {
        let window = libm::floor(ctx.cc.cwnd());
        ctx.cut(CongestionSignal::Duplicates, window);
        ctx.stats.fast_retransmits += 1;
        let floor = libm::floor(ctx.cc.halving_floor()) as u32;
        let mut flight = HalvedFlight { recovery_point: ctx.next, floor, next: window as u32, target: 0 };
        flight.on_ack(ctx.scoreboard.in_flight());
        self.state = State::Recovery(flight);
    }

    /// Back to Open: the window is `window`, or ssthresh and at most three segments above the flight
    /// if that is more.
    fn leave(&mut self, window: f64, ctx: &mut RecoveryContext<'_>) {
        self.state = State::Open;
        ctx.cc.on_recovered(ctx.now, window.max(ctx.cc.ssthresh()));
        let max_cwnd = f64::from(ctx.scoreboard.in_flight()) + MAX_BURST;
        if window < ctx.cc.ssthresh() && ctx.cc.cwnd() > max_cwnd {
            ctx.cc.on_recovered(ctx.now, max_cwnd);
        }
    }
}

impl Recovery for TcpLinux {
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        let before = ctx.scoreboard.losses();
        if ctx.scoreboard.sacked_out() > 0 {
            // A segment is lost below `threshold` others: one more than in the kernel.
            ctx.scoreboard.mark_lost_below_forward_ack(ctx.threshold + 1);
            ctx.scoreboard.mark_lost_retransmissions();
        }
        let newly_lost = ctx.scoreboard.losses() > before && !ctx.scoreboard.is_empty();
        match &mut self.state {
            State::Recovery(flight) if ctx.una < flight.recovery_point => {
                flight.on_ack(ctx.scoreboard.in_flight());
                false
            }
            State::Recovery(flight) => {
                let floor = f64::from(flight.floor);
                self.leave(floor, ctx);
                false
            }
            State::Loss { recovery_point } if ctx.una >= *recovery_point => {
                let window = ctx.cc.cwnd();
                self.leave(window, ctx);
                false
            }
            State::Open | State::Loss { .. } if newly_lost => {
                self.enter(ctx);
                false
            }
            State::Open | State::Loss { .. } => ack.advanced,
        }
    }

    #[inline]
    fn on_clean_ack(&mut self, _una: u64) -> bool {
        matches!(self.state, State::Open)
    }

    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.state = State::Loss { recovery_point: ctx.next };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        if let State::Recovery(flight) = self.state { f64::from(flight.target) } else { cc.cwnd() }
    }

    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
        scoreboard.next_lost().map(Retransmit::IfRoom)
    }

    fn active(&self) -> bool {
        matches!(self.state, State::Recovery(_))
    }

    /// snd_cwnd: that of a timeout in a recovery, too.
    fn reported_window(&self, cc: &AnyCc) -> f64 {
        if let State::Recovery(flight) = self.state { f64::from(flight.floor) } else { cc.cwnd() }
    }
}
