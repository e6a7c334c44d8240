//! How loss is found and repaired. A recovery owns the window from the moment it begins until it ends; the congestion control only
//! says to what the window is cut (ADR: variant and recovery are independent).

mod classic;
mod cwr;
mod fack;
mod newreno;
mod prr;
mod rack;
mod rack_reo_wnd;
mod rate_halving;
mod sack;
mod tlp;

pub use classic::Classic;
pub use cwr::Cwr;
pub use fack::Fack;
pub use newreno::NewReno;
pub use prr::Prr;
pub use rack::Rack;
pub use rate_halving::RateHalving;
pub use sack::Sack;

use super::cc::{AnyCc, Congestion, CongestionControl, CongestionSignal};
use super::config::NewRenoExit;
use super::rtt::RttEstimator;
use super::scoreboard::{Index, Scoreboard};
use super::stats::SenderStats;
use crate::units::{Span, Time};

/// RFC 3042: at most two segments beyond the window.
const LIMITED_TRANSMIT: u32 = 2;

/// What an ACK said, after the board took it in.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckInfo {
    /// The ACK number moved.
    pub advanced: bool,
    /// Segments taken off the board.
    pub acked: u32,
    /// Those of them that had been SACKed before.
    pub sacked_before: u32,
    /// Segments newly reported by SACK.
    pub sacked: u32,
    /// A duplicate ACK: of RFC 5681, section 2, or any that brings new SACK information (RFC 6675).
    pub duplicate: bool,
    /// It stands for as many duplicates as call for a fast retransmit (`asymmetry`, sender adaptation).
    pub dupthresh_reached: bool,
    /// It reports a segment that arrived twice (RFC 2883).
    pub dsack: bool,
    /// The round trip by its timestamp echo.
    pub echo: Option<Span>,
    /// The first segment has waited so long that this duplicate need not be the third (Vegas).
    pub fine_timer_expired: bool,
}

impl AckInfo {
    /// DeliveredData of RFC 9937, section 6, in segments.
    pub fn delivered(&self) -> u32 {
        self.acked - self.sacked_before + self.sacked
    }
}

/// What a recovery may see and do.
pub struct RecoveryContext<'a> {
    pub now: Time,
    pub scoreboard: &'a mut Scoreboard,
    pub cc: &'a mut AnyCc,
    pub stats: &'a mut SenderStats,
    /// First byte not acknowledged.
    pub una: u64,
    /// First byte never sent.
    pub next: u64,
    /// Duplicate ACKs that signal a loss.
    pub threshold: u32,
    pub newreno_exit: NewRenoExit,
    pub limited_transmit: bool,
    pub rtt: &'a RttEstimator,
    /// When the retransmission timer goes off.
    pub rto_at: Time,
    /// When the recovery wants `on_timer`.
    pub timer: &'a mut Time,
    /// Reduces the window for the recovery.
    pub window_cut: &'a mut dyn WindowCut,
    /// The window has been cut for a mark in this flight: a loss in it is no reason for a second cut (RFC 3168, section 6.1.2).
    pub already_reduced: bool,
}

impl RecoveryContext<'_> {
    /// FlightSize of RFC 5681, section 3.2, step 2: what limited transmit has sent beyond the window does not count.
    fn flight(&self) -> f64 {
        f64::from(self.scoreboard.len()).min(libm::floor(self.cc.cwnd()))
    }

    /// Reduces the window for a loss and counts the reduction.
    pub fn cut(&mut self, signal: CongestionSignal, flight: f64) {
        if self.already_reduced {
            return;
        }
        self.stats.window_cuts += 1;
        let congestion = Congestion { now: self.now, signal, flight };
        let outstanding = (self.una, self.next);
        self.window_cut.cut_for_loss(self.cc, &congestion, outstanding, self.stats.retransmitted_segments);
    }
}

/// What a sender does around a reduction of its window: it saves state for an undo, and applies RFC 7661.
pub trait WindowCut {
    /// `outstanding`: snd.una and snd.nxt; `retransmitted`: segments retransmitted since the connection began.
    fn cut_for_loss(&mut self, cc: &mut AnyCc, congestion: &Congestion, outstanding: (u64, u64), retransmitted: u64);
    fn cut_for_mark(&mut self, cc: &mut AnyCc, congestion: &Congestion);
}

/// A segment to send again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resend {
    /// Whatever the window says: the fast retransmission itself.
    Now(Index),
    /// When the window has room.
    IfRoom(Index),
}

/// A way to repair loss.
pub trait Recovery {
    /// Takes an ACK in; says whether the congestion control may grow the window on it.
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool;
    /// A clean ACK: new data up to `una`, no SACK information, nothing on the board SACKed or lost. True if that is all it needs to hear,
    /// and it is not active; then the congestion control may grow the window. Most ACKs are such.
    #[inline]
    fn on_clean_ack(&mut self, _una: u64) -> bool {
        false
    }
    /// The retransmission timer went off; the board has been marked and the window cut.
    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>);
    /// The time it asked for has come; says whether the retransmission timer starts anew.
    fn on_timer(&mut self, _repair: &mut RecoveryContext<'_>) -> bool {
        false
    }
    /// It was for nothing: the window is the congestion control's again, and what is still marked in this window is no reason for a cut.
    fn abandon(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.on_timeout(ctx);
    }
    /// Whether it wants `on_sent`.
    fn wants_sends(&self) -> bool {
        false
    }
    /// A segment has gone out, `again` or for the first time.
    fn on_sent(&mut self, _index: Index, _again: bool, _repair: &mut RecoveryContext<'_>) {}
    /// Segments that may be in flight now.
    fn window(&self, cc: &AnyCc) -> f64;
    /// Segments that count as in flight.
    fn in_flight(&self, scoreboard: &Scoreboard) -> u32 {
        scoreboard.in_flight()
    }
    /// What to send again next, if anything.
    fn next_resend(&mut self, scoreboard: &mut Scoreboard) -> Option<Resend>;
    /// What to send again when there is nothing new to send (RFC 6675, NextSeg rules 3 and 4).
    fn next_rescue(&mut self, _board: &mut Scoreboard) -> Option<Index> {
        None
    }
    /// In fast recovery.
    fn active(&self) -> bool;
    /// A timeout now finds the threshold already set for this window's losses.
    fn holds_threshold(&self) -> bool {
        false
    }
    /// Whether an ACK that advances restarts the retransmission timer.
    fn restarts_timer(&self) -> bool {
        true
    }
    /// The window to report: what the recovery has cut it to, without the inflation that only counts departures.
    fn reported_window(&self, cc: &AnyCc) -> f64 {
        cc.cwnd()
    }
}

impl RecoveryKind {
    /// It is blind without SACK.
    pub fn needs_sack(self) -> bool {
        !matches!(self, RecoveryKind::Classic | RecoveryKind::NewReno)
    }
}

macro_rules! recoveries {
    ($($kind:ident => $name:literal, $summary:literal, $source:literal;)*) => {
        /// The recoveries by name.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum RecoveryKind { $($kind),* }

        impl RecoveryKind {
            pub const ALL: &'static [RecoveryKind] = &[$(RecoveryKind::$kind),*];

            pub fn name(self) -> &'static str { match self { $(RecoveryKind::$kind => $name),* } }
            pub fn summary(self) -> &'static str { match self { $(RecoveryKind::$kind => $summary),* } }
            pub fn source(self) -> &'static str { match self { $(RecoveryKind::$kind => $source),* } }

            pub fn from_name(name: &str) -> Option<RecoveryKind> {
                Self::ALL.iter().copied().find(|k| k.name() == name)
            }
            pub fn build(self) -> AnyRecovery {
                match self { $(RecoveryKind::$kind => AnyRecovery::$kind($kind::default())),* }
            }
        }

        #[derive(Clone, Debug)]
        pub enum AnyRecovery { $($kind($kind)),* }

        impl Recovery for AnyRecovery {
            #[inline]
            fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
                match self { $(AnyRecovery::$kind(r) => r.on_ack(ack, ctx)),* }
            }
            #[inline]
            fn on_clean_ack(&mut self, una: u64) -> bool { match self { $(AnyRecovery::$kind(r) => r.on_clean_ack(una)),* } }
            fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
                match self { $(AnyRecovery::$kind(r) => r.on_timeout(ctx)),* }
            }
            fn on_timer(&mut self, ctx: &mut RecoveryContext<'_>) -> bool {
                match self { $(AnyRecovery::$kind(r) => r.on_timer(ctx)),* }
            }
            fn abandon(&mut self, ctx: &mut RecoveryContext<'_>) {
                match self { $(AnyRecovery::$kind(r) => r.abandon(ctx)),* }
            }
            #[inline]
            fn wants_sends(&self) -> bool { match self { $(AnyRecovery::$kind(r) => r.wants_sends()),* } }
            fn on_sent(&mut self, index: Index, retransmission: bool, ctx: &mut RecoveryContext<'_>) {
                match self { $(AnyRecovery::$kind(r) => r.on_sent(index, retransmission, ctx)),* }
            }
            #[inline]
            fn window(&self, cc: &AnyCc) -> f64 { match self { $(AnyRecovery::$kind(r) => r.window(cc)),* } }
            #[inline]
            fn in_flight(&self, scoreboard: &Scoreboard) -> u32 { match self { $(AnyRecovery::$kind(r) => r.in_flight(scoreboard)),* } }
            fn next_resend(&mut self, scoreboard: &mut Scoreboard) -> Option<Resend> {
                match self { $(AnyRecovery::$kind(r) => r.next_resend(scoreboard)),* }
            }
            fn next_rescue(&mut self, scoreboard: &mut Scoreboard) -> Option<Index> {
                match self { $(AnyRecovery::$kind(r) => r.next_rescue(scoreboard)),* }
            }
            #[inline]
            fn active(&self) -> bool { match self { $(AnyRecovery::$kind(r) => r.active()),* } }
            fn holds_threshold(&self) -> bool { match self { $(AnyRecovery::$kind(r) => r.holds_threshold()),* } }
            #[inline]
            fn restarts_timer(&self) -> bool { match self { $(AnyRecovery::$kind(r) => r.restarts_timer()),* } }
            fn reported_window(&self, cc: &AnyCc) -> f64 { match self { $(AnyRecovery::$kind(r) => r.reported_window(cc)),* } }
        }
    };
}

recoveries! {
    Classic => "classic", "Reno: fast retransmit and fast recovery, left at the first ACK of new data", "RFC 5681, section 3.2";
    NewReno => "newreno", "stays until every loss of the window is repaired, one a round trip, without SACK", "RFC 6582";
    Sack => "sack", "resends what the SACK scoreboard shows to be lost, keeping the pipe at the new window", "RFC 6675";
    Fack => "fack", "the forward-most SACK says what has left; the window is halved at once", "Mathis and Mahdavi 1996";
    Prr => "prr", "RFC 6675's losses; the window falls in proportion to what arrives", "RFC 9937, RFC 6937";
    Rack => "rack", "time tells what is lost, a probe calls for the tlp's ACK; today's default", "RFC 8985, RFC 9937";
    RateHalving => "rate-halving", "Linux 2.6: FACK, and the window falls by one on every second ACK", "Mathis, Semke and Mahdavi 1999, Linux 2.6";
}
