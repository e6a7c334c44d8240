//! What may be sent now, and what an ACK means for it: the sending half of a connection.

mod ack;
mod cwv;
mod ecn;
mod fast_path;
mod fine_timer;
mod frto;
mod idle_restart;
mod limits;
mod pace;
mod psh;
mod recall;
mod send;
mod timers;
mod tsq;
mod undo;

pub use cwv::CwndValidation;
pub use ecn::SenderEcn;
pub use undo::Undo;

use fine_timer::FineTimer;
use idle_restart::CwndUsage;

use super::cc::{AnyCc, CongestionControl, CongestionWindow};
use super::config::{TcpConfig, WindowValidation};
use super::delivery_rate::DeliveryRateEstimator;
use super::metrics_cache::SharedPathMetrics;
use super::pacer::Pacer;
use super::recovery::{AnyRecovery, Recovery, RecoveryKind};
use super::rtt::RttEstimator;
use super::scoreboard::{Index, Scoreboard};
use super::stats::{Limit, SenderSample, SenderStats};
use crate::packet::RetransmitReason;
use crate::units::{Span, Time};
use std::sync::Arc;

/// A piece of the stream to put into a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u64,
    pub payload: u32,
    pub fin: bool,
    /// It carries PSH.
    pub push: bool,
    pub retransmission: bool,
    pub reason: RetransmitReason,
}

/// In the order of use: an end that only receives needs the first cache line and no other, and one in its calm course not those after
/// the round-trip times.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Sender {
    /// First byte not acknowledged, and first byte never sent.
    una: u64,
    next: u64,
    peer_window: u64,
    rto_at: Time,
    /// When the recovery wants to be woken.
    repair_at: Time,
    /// When a closed window is probed next.
    probe_at: Time,
    /// Payload of a full segment: the host's, or less if the peer's MSS says so.
    segment: u32,
    probes: u32,
    limit: Limit,
    /// The last ACK was a clean one (see `take_clean_ack`) and nothing has been lost or marked since: only windows, buffers, the pace
    /// and the application decide what goes out.
    fast_path: bool,
    /// More than the recovery and the congestion control listens to every ACK: what takes cuts back, marks, early duplicates, pipeACK; or
    /// more decides what goes out: the host's own queue.
    needs_slow_path: bool,
    /// Segments of the chunk under way that go out with what has gone.
    tso_burst: u32,
    /// Segments that have gone of the chunk that PSH ends.
    psh_segments: u32,
    config: Arc<TcpConfig>,
    /// First byte that the peer's window does not allow.
    right_edge: u64,
    largest_window: u64,
    /// Most bytes sent and not yet acknowledged, now.
    send_buffer: u64,
    last_send: Option<Time>,
    /// Sequence number of the FIN, once it has been sent; `NONE` before.
    fin: u64,
    /// First byte that had not been sent at the last timeout.
    rto_recovery_point: u64,
    /// Kept for congestion controls that watch deliveries.
    delivery_rate: Option<Box<DeliveryRateEstimator>>,
    scoreboard: Scoreboard,
    recovery: AnyRecovery,
    cc: AnyCc,
    stats: SenderStats,
    rtt: RttEstimator,
    /// None sends as soon as the window allows.
    pacer: Option<Pacer>,
    timeouts_in_a_row: u32,
    /// Kept where a window that is not used shrinks.
    usage: Option<CwndUsage>,
    /// Kept where one that is not used is kept, but not trusted.
    cwv: Option<Box<CwndValidation>>,
    /// Kept where connections learn from those before them.
    path_metrics: Option<SharedPathMetrics>,
    /// Kept where a spurious cut is to be taken back.
    undo: Option<Box<Undo>>,
    /// None where marks are not echoed.
    ecn: Option<Box<SenderEcn>>,
    /// Kept where early duplicates may show a loss.
    fine_timer: Option<FineTimer>,
    limit_since: Time,
    /// Scratch space for `note_losses`.
    lost: Vec<Index>,
    /// Bytes of the stream in the host's own queue, where that is bounded and heard of.
    tsq_bytes: Option<u64>,
    /// The timer has gone off, and nothing has been sent since.
    timed_out: bool,
}

/// The first byte of the stream follows the SYN.
pub const STREAM_START: u64 = 1;
/// Beyond every sequence number.
const NONE: u64 = u64::MAX;

/// A variant that paces itself does so whatever the host says of bursts.
fn pacer(config: &TcpConfig, cc: &AnyCc) -> Option<Pacer> {
    if config.pacing || cc.pacing_rate().is_some() {
        return Some(Pacer::default());
    }
    config.max_burst.map(Pacer::in_bursts)
}

impl Sender {
    pub fn new(config: Arc<TcpConfig>) -> Sender {
        let window = CongestionWindow { cwnd: config.initial_window, ssthresh: config.initial_ssthresh };
        let cc = match &config.user {
            Some(user) => AnyCc::User(user.build(window)),
            None => config.variant.build(window, config.slow_start).climbing(config.first_climb),
        };
        let recovery = config.recovery.build();
        // A variant that paces itself has its own measure of the path.
        let paces = cc.pacing_rate().is_some();
        let mut scoreboard = Scoreboard::default();
        if cc.wants_delivery_rate() {
            scoreboard.log_losses();
        }
        if cc.wants_delivery_rate() || recovery.wants_sends() {
            scoreboard.note_arrivals();
        }
        Sender {
            scoreboard,
            lost: Vec::new(),
            rtt: RttEstimator::new(config.rto),
            delivery_rate: cc.wants_delivery_rate().then(Box::default),
            undo: Undo::new(&config),
            ecn: None,
            usage: (config.window_validation == WindowValidation::Rfc2861).then(CwndUsage::default),
            cwv: (config.window_validation == WindowValidation::Rfc7661 && !paces).then(Box::default),
            fine_timer: config.fine_timer.then(FineTimer::default),
            pacer: pacer(&config, &cc),
            tso_burst: 0,
            psh_segments: 0,
            cc,
            recovery,
            segment: config.segment,
            fast_path: false,
            needs_slow_path: true,
            una: STREAM_START,
            next: STREAM_START,
            fin: NONE,
            right_edge: STREAM_START,
            peer_window: 0,
            largest_window: 0,
            send_buffer: config.send_tuning.map_or(config.send_buffer, |tuning| tuning.payload(0.0, config.segment)),
            rto_at: Time::NEVER,
            repair_at: Time::NEVER,
            probe_at: Time::NEVER,
            probes: 0,
            timeouts_in_a_row: 0,
            rto_recovery_point: 0,
            timed_out: false,
            tsq_bytes: None,
            limit: Limit::Application,
            limit_since: Time::ZERO,
            last_send: None,
            stats: SenderStats::default(),
            path_metrics: None,
            config,
        }
    }

    /// The peer's SYN: the largest segment it takes and the window it starts with.
    pub fn on_peer_syn(&mut self, peer_segment: u32, window: u64) {
        self.segment = self.segment.min(peer_segment);
        self.set_window(STREAM_START, window);
    }

    /// The handshake is done; `syn_rtt` is none if the SYN was sent twice (Karn).
    pub fn establish(&mut self, now: Time, syn_rtt: Option<Span>, syn_lost: bool) {
        self.needs_slow_path = self.undo.is_some() || self.ecn.is_some() || self.fine_timer.is_some() || self.cwv.is_some();
        self.needs_slow_path |= self.tsq_bytes.is_some();
        self.limit_since = now;
        if let Some(rtt) = syn_rtt {
            self.rtt.sample(rtt);
        }
        self.recall_path_metrics(now);
        if syn_lost {
            // RFC 5681, section 3.1: one segment after a lost SYN.
            self.cc.on_recovered(now, 1.0);
            self.rtt.distrust_first();
        }
    }

    /// The peer does not do SACK: recoveries that live on it would be blind, so NewReno stands in (as RFC 6675, section 1, has it).
    pub fn do_without_sack(&mut self) {
        if self.config.recovery.needs_sack() {
            self.recovery = RecoveryKind::NewReno.build();
        }
        if let Some(undo) = &mut self.undo {
            undo.frto.do_without_sack();
        }
    }

    /// Everything sent has been acknowledged.
    fn is_all_acked(&self) -> bool {
        self.una == self.next
    }

    pub fn next_seq(&self) -> u64 {
        self.next
    }

    /// Everything including the FIN has been acknowledged.
    pub fn finished(&self) -> bool {
        self.una > self.fin
    }

    /// Payload acknowledged.
    fn acked_bytes(&self) -> u64 {
        self.una - STREAM_START - u64::from(self.finished())
    }

    /// Bytes of the stream that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        let fin = u64::from(self.finished());
        self.una - STREAM_START - fin
    }

    /// The counters, with the open interval closed at `now`.
    pub fn stats(&self, now: Time) -> SenderStats {
        let mut stats = SenderStats { acked_bytes: self.acked_bytes(), ..self.stats.clone() };
        let open = &mut stats.limited[self.limit as usize];
        *open = *open + (now - self.limit_since);
        stats
    }

    /// A measurement window begins: averages start anew, counters go on.
    pub fn restart_meters(&mut self, now: Time) {
        self.stats.rtt = Default::default();
        self.stats.idle = Span::ZERO;
        self.stats.limited = Default::default();
        self.limit_since = now;
    }

    pub fn sample(&self) -> SenderSample {
        let bytes = f64::from(self.segment);
        SenderSample {
            cwnd_bytes: self.reported_window() * bytes,
            ssthresh_bytes: self.cc.ssthresh() * bytes,
            srtt_ms: self.rtt.srtt().map(Span::as_millis),
            flight_bytes: self.next - self.una,
            delivered_bytes: self.acked_bytes(),
            retransmitted_segments: self.stats.retransmitted_segments,
        }
    }
}
