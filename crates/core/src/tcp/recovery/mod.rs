//! Loss detection and recovery. A recovery sets the window from its start to its end; the
//! congestion control only sets the window after the reduction (variant and recovery are
//! independent).

mod classic;
mod cwr;
mod fack;
mod linux;
mod newreno;
mod prr;
mod rack;
mod rack_reo_wnd;
mod rate_halving;
mod sack;
mod tcp_linux;
mod tlp;

pub use classic::ClassicRecovery;
pub use cwr::Cwr;
pub use fack::Fack;
pub use linux::LinuxRecovery;
pub use newreno::NewReno;
pub use prr::Prr;
pub use rack::Rack;
pub use rate_halving::RateHalving;
pub use sack::Sack;
pub use tcp_linux::TcpLinux;

use super::cc::{AnyCc, Congestion, CongestionControl, CongestionSignal};
use super::config::NewRenoExit;
use super::rtt::RttEstimator;
use super::scoreboard::{Index, Scoreboard};
use super::stats::SenderStats;
use crate::config_form::named;
use crate::units::{Span, Time};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// RFC 3042: at most two segments beyond cwnd.
const LIMITED_TRANSMIT: u32 = 2;

/// An ACK after the scoreboard has processed it.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckInfo {
    /// snd.una advanced.
    pub advanced: bool,
    /// Segments that the ACK number newly acknowledges.
    pub acked: u32,
    /// The part of `acked` that had been SACKed before.
    pub sacked_before: u32,
    /// Segments newly reported by SACK.
    pub sacked: u32,
    /// A duplicate ACK by RFC 5681, section 2, or an ACK with new SACK information (RFC 6675).
    pub duplicate: bool,
    /// A thinned ACK that represents at least dupthresh duplicates (`asymmetry`, sender
    /// adaptation).
    pub dupthresh_reached: bool,
    /// The first SACK block is a D-SACK (RFC 2883).
    pub dsack: bool,
    /// RTT by the timestamp echo.
    pub echo: Option<Span>,
    /// RTT for the congestion control.
    pub rtt: Option<Span>,
    /// The fine-grained RTO of the first segment has passed, so the first duplicate ACK suffices
    /// (Vegas).
    pub fine_timer_expired: bool,
    /// For the recovery `linux`.
    pub linux: LinuxAck,
}

/// What Linux's recovery needs of an ACK beside the rest of `AckInfo`.
#[derive(Clone, Copy, Debug, Default)]
pub struct LinuxAck {
    /// FLAG_SND_UNA_ADVANCED.
    pub advanced: bool,
    /// The ACK number lies below snd.una: only its SACK blocks count.
    pub old: bool,
    /// Something was outstanding before the ACK.
    pub had_outstanding: bool,
    /// snd.una, the end of the highest SACKed segment, and the count of loss marks before the ACK.
    pub prior_una: u64,
    pub prior_fack: u64,
    pub losses_before: u64,
    /// TSecr; 0 without timestamps.
    pub echo_value: u32,
    /// FLAG_ECE.
    pub ece: bool,
    /// FLAG_NOT_DUP: it carries data, updates the window, or acknowledges data.
    pub not_duplicate: bool,
    /// Duplicate ACKs that it counts as.
    pub dupacks: u32,
    pub has_blocks: bool,
    /// The range of a D-SACK, and whether it lies in a segment that has been retransmitted.
    pub dsack_range: Option<(u64, u64)>,
    pub dsack_retransmitted: bool,
    /// FLAG_DSACKING_ACK and FLAG_DSACK_TLP.
    pub dsack: bool,
    pub dsack_of_probe: bool,
    /// A SACK gave an RTT sample of data sent before the oldest segment was last sent.
    pub timed_by_sack: bool,
}

impl LinuxAck {
    /// `tcp_tsopt_ecr_before()`.
    pub fn echoes_before(&self, timestamp: u32) -> bool {
        self.echo_value != 0 && (self.echo_value.wrapping_sub(timestamp) as i32) < 0
    }
}

impl AckInfo {
    /// DeliveredData of RFC 9937, section 6, in segments.
    pub fn delivered(&self) -> u32 {
        self.acked - self.sacked_before + self.sacked
    }
}

/// The sender's state that a recovery reads and changes.
pub struct RecoveryContext<'a> {
    pub now: Time,
    pub scoreboard: &'a mut Scoreboard,
    pub cc: &'a mut AnyCc,
    pub stats: &'a mut SenderStats,
    /// snd.una.
    pub una: u64,
    /// snd.nxt.
    pub next: u64,
    /// dupthresh.
    pub threshold: u32,
    pub newreno_exit: NewRenoExit,
    pub limited_transmit: bool,
    pub tail_loss_probe: bool,
    pub rtt: &'a RttEstimator,
    /// Expiry of the retransmission timer.
    pub rto_at: &'a mut Time,
    /// Payload of a full segment.
    pub segment: u32,
    /// Sequence number of a probe of the path MTU in flight.
    pub mtu_probe: Option<u64>,
    /// Time of the next `on_timer`.
    pub timer: &'a mut Time,
    /// Reduces the window for the recovery.
    pub window_cut: &'a mut dyn WindowCut,
    /// A mark has reduced the window in this flight: a loss does not reduce it again (RFC 3168,
    /// section 6.1.2).
    pub already_reduced: bool,
}

impl RecoveryContext<'_> {
    /// FlightSize of RFC 5681, section 3.2, step 2, without the segments of limited transmit.
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
        let outstanding = Outstanding { una: self.una, next: self.next, retrans_out: self.scoreboard.retrans_out() };
        self.window_cut.cut_for_loss(self.cc, &congestion, outstanding, self.stats.retransmitted_segments);
    }
}

/// The data outstanding at a window reduction.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    /// snd.una and snd.nxt.
    pub una: u64,
    pub next: u64,
    /// Retransmissions in flight, of an earlier reduction.
    pub retrans_out: u32,
}

/// The sender's side of a window reduction: saves state for an undo, and applies RFC 7661.
pub trait WindowCut {
    /// `retransmitted`: segments retransmitted since the connection began.
    fn cut_for_loss(&mut self, cc: &mut AnyCc, congestion: &Congestion, outstanding: Outstanding, retransmitted: u64);
    fn cut_for_mark(&mut self, cc: &mut AnyCc, congestion: &Congestion);
}

/// A retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retransmit {
    /// The fast retransmission itself: sent whatever the window.
    Now(Index),
    /// Sent when the window has room.
    IfRoom(Index),
}

/// A loss recovery algorithm.
pub trait Recovery {
    /// Processes an ACK. Returns whether the congestion control may grow the window on it.
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool;
    /// A clean ACK: new data up to `una`, no SACK information, nothing on the scoreboard SACKed or
    /// lost. Returns true if the recovery is inactive and has processed the ACK; then the
    /// congestion control may grow the window. One that `wants_sends` processes it in `on_ack`.
    #[inline]
    fn on_clean_ack(&mut self, _una: u64) -> bool {
        false
    }
    /// The RTO has expired: the scoreboard is marked lost and the window reduced.
    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>);
    /// Its timer has expired. Returns whether the retransmission timer restarts.
    fn on_timer(&mut self, _ctx: &mut RecoveryContext<'_>) -> bool {
        false
    }
    /// The last reduction was spurious: the congestion control sets the window again, and segments
    /// still marked lost in this window cause no reduction.
    fn abandon(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.on_timeout(ctx);
    }
    /// Whether `on_sent` is called.
    fn wants_sends(&self) -> bool {
        false
    }
    /// A segment was sent, for the first time or as a retransmission.
    fn on_sent(&mut self, _index: Index, _retransmission: bool, _ctx: &mut RecoveryContext<'_>) {}
    /// The window in force, in segments.
    fn window(&self, cc: &AnyCc) -> f64;
    /// Segments that count as in flight.
    fn in_flight(&self, scoreboard: &Scoreboard) -> u32 {
        scoreboard.in_flight()
    }
    /// The next retransmission, if any.
    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit>;
    /// The retransmission when there is no new data to send (RFC 6675, NextSeg rules 3 and 4).
    fn next_rescue(&mut self, _scoreboard: &mut Scoreboard) -> Option<Index> {
        None
    }
    /// A tail loss probe is due, and not yet sent.
    fn is_probing(&self) -> bool {
        false
    }
    /// Fast recovery is in progress.
    fn active(&self) -> bool;
    /// An RTO now does not set ssthresh again: it is set for the losses of this window.
    fn holds_threshold(&self) -> bool {
        false
    }
    /// Whether an ACK that advances restarts the retransmission timer.
    fn restarts_timer(&self) -> bool {
        true
    }
    /// The largest reordering seen, in segments, where it is measured.
    fn reordering(&self) -> Option<u32> {
        None
    }
    /// The window to report: without inflation by departures.
    fn reported_window(&self, cc: &AnyCc) -> f64 {
        cc.cwnd()
    }
}

impl AnyRecovery {
    /// Linux's state machine, if the host has it.
    #[inline]
    pub fn linux(&self) -> Option<&LinuxRecovery> {
        if let AnyRecovery::Linux(linux) = self { Some(linux) } else { None }
    }
    #[inline]
    pub fn linux_mut(&mut self) -> Option<&mut LinuxRecovery> {
        if let AnyRecovery::Linux(linux) = self { Some(linux) } else { None }
    }
}

impl RecoveryKind {
    /// The recovery reads SACK blocks.
    pub fn uses_sack(self) -> bool {
        !matches!(self, RecoveryKind::Classic | RecoveryKind::NewReno)
    }
}

macro_rules! recoveries {
    ($($kind:ident($recovery:ident) => $name:literal, $summary:literal, $source:literal;)*) => {
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
                match self { $(RecoveryKind::$kind => AnyRecovery::$kind($recovery::default())),* }
            }
        }

        #[derive(Clone, Debug)]
        pub enum AnyRecovery { $($kind($recovery)),* }

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
            // inline(always): the fast path asks for each segment.
            #[inline(always)]
            fn window(&self, cc: &AnyCc) -> f64 { match self { $(AnyRecovery::$kind(r) => r.window(cc)),* } }
            #[inline]
            fn in_flight(&self, scoreboard: &Scoreboard) -> u32 { match self { $(AnyRecovery::$kind(r) => r.in_flight(scoreboard)),* } }
            fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
                match self { $(AnyRecovery::$kind(r) => r.next_retransmit(scoreboard)),* }
            }
            fn next_rescue(&mut self, scoreboard: &mut Scoreboard) -> Option<Index> {
                match self { $(AnyRecovery::$kind(r) => r.next_rescue(scoreboard)),* }
            }
            fn is_probing(&self) -> bool { match self { $(AnyRecovery::$kind(r) => r.is_probing()),* } }
            #[inline]
            fn active(&self) -> bool { match self { $(AnyRecovery::$kind(r) => r.active()),* } }
            fn holds_threshold(&self) -> bool { match self { $(AnyRecovery::$kind(r) => r.holds_threshold()),* } }
            #[inline]
            fn restarts_timer(&self) -> bool { match self { $(AnyRecovery::$kind(r) => r.restarts_timer()),* } }
            fn reordering(&self) -> Option<u32> { match self { $(AnyRecovery::$kind(r) => r.reordering()),* } }
            fn reported_window(&self, cc: &AnyCc) -> f64 { match self { $(AnyRecovery::$kind(r) => r.reported_window(cc)),* } }
        }
    };
}

/// By its name.
impl Serialize for RecoveryKind {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.serialize_str(self.name())
    }
}

/// By its name.
impl<'de> Deserialize<'de> for RecoveryKind {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<RecoveryKind, D::Error> {
        named(from, "recovery", RecoveryKind::from_name)
    }
}

recoveries! {
    Classic(ClassicRecovery) => "classic", "Reno: fast retransmit and fast recovery, left at the first ACK of new data", "RFC 5681, section 3.2";
    NewReno(NewReno) => "newreno", "lasts until every loss of the window is repaired, one per RTT, without SACK", "RFC 6582";
    Sack(Sack) => "sack", "retransmits what the SACK scoreboard marks lost and keeps the pipe at the new window", "RFC 6675";
    Fack(Fack) => "fack", "the forward-most SACK shows what has left the network; the window is halved at once", "Mathis and Mahdavi 1996";
    Prr(Prr) => "prr", "losses by RFC 6675; the window falls in proportion to deliveries", "RFC 9937, RFC 6937";
    Rack(Rack) => "rack", "losses by time, and a probe for losses at the tail; today's default", "RFC 8985, RFC 9937";
    Linux(LinuxRecovery) => "linux", "Linux's state machine: RACK-TLP, PRR, F-RTO and undo, or duplicate ACKs without SACK", "Linux 6, tcp_fastretrans_alert(); RFC 8985, RFC 9937, RFC 5682";
    RateHalving(RateHalving) => "rate-halving", "Linux 2.6: FACK, and the window falls by one on every second ACK", "Mathis, Semke and Mahdavi 1999, Linux 2.6";
    TcpLinux(TcpLinux) => "tcp-linux", "rate-halving as ns-2's Agent/TCP/Linux does it: the flight keeps the variant's minimum", "ns-2 2.35, tcp-linux.cc";
}
