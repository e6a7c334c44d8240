//! The sending half of a connection: what may be sent, and what an ACK means for it.
//!
//! [`Sender`] orchestrates in `ack` (slow path), `fast_path`, `send`, `limits` and `timers`. Each
//! mechanism keeps its state in a type of its own: [`SenderEcn`], [`Undo`] with
//! [`Frto`](frto::Frto), [`CwndValidation`], `CwndLimit`, `CwndUsage`, `FineTimer`, `TsoBurst` and `Tsq`.

mod ack;
mod cwnd_limit;
mod cwv;
mod ecn;
mod fast_path;
mod fine_timer;
mod frto;
mod idle_restart;
mod limits;
mod path_mtu;
mod psh;
mod send;
mod timers;
mod tso_packet;
mod tsq;
mod undo;
mod window_cut;
mod write_queue;

pub use cwv::CwndValidation;
pub use ecn::SenderEcn;
pub use undo::Undo;

use cwnd_limit::CwndLimit;
use fine_timer::FineTimer;
use idle_restart::CwndUsage;
pub use path_mtu::MIN_PATH_MTU;
use path_mtu::{PathMtuSearch, ReportedMtu};
use psh::TsoBurst;
use tso_packet::BurstInputs;
use tsq::Tsq;
use window_cut::SenderWindowCut;
use write_queue::WriteQueue;

use super::cc::{AnyCc, CongestionControl, CongestionWindow, EcnAgreement, EcnResponse};
use super::config::{Push, TcpConfig, WindowValidation};
use super::delivery_rate::DeliveryRateEstimator;
use super::ecn::{EcnCounts, EcnMode};
use super::info::CaState;
use super::linux_rules::LinuxRule;
use super::metrics_cache::{ConnectionOutcome, MetricsCache, SharedPathMetrics};
use super::pacer::Pacer;
use super::recovery::{AnyRecovery, Recovery, RecoveryKind};
use super::rtt::RttEstimator;
use super::scoreboard::{Acked, Index, Scoreboard};
use super::stats::{SendLimit, SenderSample, SenderStats};
use crate::packet::{RetransmitReason, Segment};
use crate::units::{Span, Time};
use std::sync::Arc;

/// The part of the stream that a segment carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    pub seq: u64,
    pub payload: u32,
    pub fin: bool,
    /// PSH is set.
    pub push: bool,
    pub retransmission: bool,
    pub reason: RetransmitReason,
}

/// Fields are in the order of use: a pure receiver touches only the first cache line, and a sender on the
/// fast path some twelve, whose places are checked below. With thousands of flows cache misses dominate.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Sender {
    /// snd.una.
    pub(super) una: u64,
    /// snd.nxt.
    next: u64,
    peer_window: u64,
    rto_at: Time,
    /// The timer of the recovery (RACK, TLP).
    recovery_timer: Time,
    /// The persist timer: next probe of a zero window.
    probe_at: Time,
    /// Payload of a full segment: the host's, or less if the peer's MSS is smaller.
    pub(super) segment: u32,
    pub(super) probes: u32,
    limit: SendLimit,
    /// The last ACK took the fast path (see `fast_path_ack`) and nothing has been lost or marked
    /// since: only windows, buffers, pacing and the application limit transmission.
    fast_path: bool,
    /// ACKs always take the slow path: besides recovery and congestion control, ECN, the fine timer,
    /// cwnd validation or TSQ process them, or RACK and delivery rates do.
    needs_slow_path: bool,
    /// Linux's packets divide what is sent (`writes`), and the persist timer is Linux's.
    in_packets: bool,
    persists: bool,
    /// A router has reported an MTU below `MIN_PATH_MTU`: the host sends without "don't fragment".
    may_be_divided: bool,
    /// The congestion control follows the state of the recovery, and the one that it knows.
    follows_state: bool,
    known_state: CaState,
    burst: TsoBurst,
    config: Arc<TcpConfig>,
    /// First byte beyond the peer's window.
    right_edge: u64,
    largest_window: u64,
    /// Sequence number of the segment that had the last window (SND.WL1 of RFC 9293).
    window_seq: u64,
    /// Maximum of bytes sent and not acknowledged, now.
    send_buffer: u64,
    /// The window from which on autotuning may grow the send buffer.
    tunes_from: f64,
    /// Sequence number of the FIN, once it has been sent; `NONE` before.
    fin: u64,
    last_send: Option<Time>,
    /// snd.nxt at the last RTO.
    pub(super) rto_recovery_point: u64,
    /// For congestion controls that use delivery rates.
    delivery_rate: Option<Box<DeliveryRateEstimator>>,
    /// None where the host does not probe.
    mtu_search: Option<Box<PathMtuSearch>>,
    window_cut: SenderWindowCut,
    pub(super) timeouts_in_a_row: u32,
    /// Doublings of the persist timer's interval.
    pub(super) probe_backoff: u32,
    pub(super) scoreboard: Scoreboard,
    /// None without ECN.
    ecn: Option<Box<SenderEcn>>,
    /// What waits, where Linux's packets divide it.
    writes: Option<Box<WriteQueue>>,
    pub(super) rtt: RttEstimator,
    /// The RTO has expired, and nothing has been sent since.
    timed_out: bool,
    /// What a router has reported, where the host forgets it.
    reported_mtu: Option<ReportedMtu>,
    /// RFC 2861, where the host uses it.
    usage: Option<CwndUsage>,
    /// Where slow start continues while the application does not fill cwnd.
    cwnd_limit: Option<CwndLimit>,
    /// None sends as soon as the window allows.
    pacer: Option<Pacer>,
    pub(super) recovery: AnyRecovery,
    /// End of the last segment that was not full.
    small_end: u64,
    pub(super) cc: AnyCc,
    /// Payload of a full segment when windows are large.
    full_segment: u32,
    /// Bytes of the SACK blocks in the segments that are sent now.
    block_bytes: u32,
    pub(super) stats: SenderStats,
    limit_since: Time,
    /// Where the host caches metrics of a path.
    path_metrics: Option<SharedPathMetrics>,
    /// The last size of a burst, and what it followed from.
    last_burst: (BurstInputs, u32),
    retransmit_burst: RetransmitBurst,
    /// Vegas's retransmission, where the host uses it.
    fine_timer: Option<FineTimer>,
    /// Scratch space for `report_losses`.
    lost: Vec<Index>,
    /// None where TSQ is off, or the host's queue does not report departures.
    tsq: Option<Tsq>,
}

/// What is read or written for each ACK and each segment begins a cache line, or ends in the one in which
/// it begins.
#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Sender, burst) == 64 && offset_of!(Sender, last_send) == 128);
    assert!(offset_of!(Sender, scoreboard) == 192 && Scoreboard::HOT_BYTES <= 64);
    assert!(offset_of!(Sender, rtt).is_multiple_of(64) && RttEstimator::HOT_BYTES <= 128);
    assert!(offset_of!(Sender, cc).is_multiple_of(64) && offset_of!(Sender, stats).is_multiple_of(64));
};

/// Retransmissions that leave as a packet.
#[derive(Clone, Copy, Debug, Default)]
struct RetransmitBurst {
    /// Sequence number of the next one, and the end of the packet.
    next: u64,
    end: u64,
    at: Time,
}

/// The first byte of the stream follows the SYN.
pub const STREAM_START: u64 = 1;
/// Beyond every sequence number.
const NONE: u64 = u64::MAX;

/// A variant that paces itself overrides the host's limit of bursts.
fn pacer(config: &TcpConfig, cc: &AnyCc) -> Option<Pacer> {
    let pacer =
        if config.pacing || cc.pacing_rate().is_some() { Some(Pacer::default()) } else { config.max_burst.map(Pacer::in_bursts) };
    pacer.map(|pacer| pacer.with_tick(config.pacing_tick))
}

impl Sender {
    pub fn new(config: Arc<TcpConfig>) -> Sender {
        let window = CongestionWindow { cwnd: config.initial_window, ssthresh: config.initial_ssthresh };
        let cc = match config.user.as_ref().and_then(|user| user.build(window)) {
            Some(user) => AnyCc::User(user),
            None => config.variant.build_linux(window, &config).unwrap_or_else(|| {
                let cc = config.variant.build(window, config.slow_start);
                let cc = if config.recovery == RecoveryKind::TcpLinux { cc.in_tcp_linux() } else { cc };
                cc.with_min_growth(config.first_climb).with_linux_rules(config.linux_rules, config.segment)
            }),
        };
        let in_packets = config.push == Push::Chunks && config.linux_rules.has(LinuxRule::TsoPackets);
        let mut recovery = config.recovery.build();
        if let Some(linux) = recovery.linux_mut() {
            linux.configure(&config);
        }
        // A variant that paces itself has its own model of the path.
        let paces = cc.pacing_rate().is_some();
        let follows_state = cc.follows_state();
        let mut scoreboard = Scoreboard::default();
        if cc.wants_delivery_rate() {
            scoreboard.log_losses();
        }
        let follows_linux = recovery.linux().is_some();
        if follows_linux {
            scoreboard.log_deliveries();
        }
        if cc.wants_delivery_rate() || (recovery.wants_sends() && !follows_linux) {
            scoreboard.note_arrivals();
        }
        let cwv = config.window_validation == WindowValidation::Rfc7661 && !paces;
        Sender {
            scoreboard,
            lost: Vec::new(),
            small_end: STREAM_START,
            rtt: RttEstimator::new(config.rto()),
            delivery_rate: cc.wants_delivery_rate().then(Box::default),
            window_cut: SenderWindowCut { cwv: cwv.then(Box::default), undo: Undo::new(&config).filter(|_| !follows_linux) },
            ecn: None,
            cwnd_limit: (config.app_limited_growth && !paces).then(CwndLimit::default),
            usage: (config.window_validation == WindowValidation::Rfc2861).then(CwndUsage::default),
            fine_timer: config.fine_timer.then(FineTimer::default),
            pacer: pacer(&config, &cc),
            burst: TsoBurst::default(),
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
            window_seq: 0,
            send_buffer: config.send_tuning.map_or(config.send_buffer, |tuning| tuning.payload(0.0, config.segment)),
            tunes_from: 0.0,
            rto_at: Time::NEVER,
            recovery_timer: Time::NEVER,
            probe_at: Time::NEVER,
            probes: 0,
            timeouts_in_a_row: 0,
            follows_state,
            known_state: CaState::Open,
            rto_recovery_point: 0,
            timed_out: false,
            tsq: None,
            limit: SendLimit::Application,
            limit_since: Time::ZERO,
            last_send: None,
            stats: SenderStats::default(),
            path_metrics: None,
            writes: in_packets.then(|| Box::new(WriteQueue::new(STREAM_START))),
            in_packets,
            persists: in_packets && config.linux_rules.has(LinuxRule::PersistTimer),
            last_burst: (BurstInputs::default(), 0),
            probe_backoff: 0,
            full_segment: config.segment,
            reported_mtu: None,
            may_be_divided: false,
            mtu_search: PathMtuSearch::new(config.mtu_probing).map(Box::new),
            block_bytes: 0,
            retransmit_burst: RetransmitBurst::default(),
            config,
        }
    }

    /// The peer's SYN: the payload of a full segment that both allow, and its initial window.
    pub fn on_peer_syn(&mut self, segment: u32, window: u64) {
        self.segment = segment;
        self.full_segment = segment;
        self.set_window(STREAM_START, window);
    }

    /// The handshake's last ACK is the first whose window counts for a listening Linux
    /// (`tcp_create_openreq_child()`). It has sequence number `seq` (`tcp_init_wl()`).
    pub fn on_last_handshake_ack(&mut self, seq: u64, window: u64) {
        if self.in_packets {
            self.largest_window = 0;
            self.window_seq = seq;
            self.set_window(STREAM_START, window);
        }
    }

    /// The handshake is complete. `syn_rtt` is None if the SYN was retransmitted (Karn); `restarts`:
    /// the window is then that of one segment.
    pub fn establish(&mut self, now: Time, syn_rtt: Option<Span>, syn_lost: bool, restarts: bool) {
        self.needs_slow_path = self.ecn.is_some() || self.fine_timer.is_some() || self.window_cut.cwv.is_some();
        self.needs_slow_path |= self.tsq.is_some() || (self.delivery_rate.is_some() && self.recovery.wants_sends());
        self.limit_since = now;
        if self.mtu_search.is_some() {
            self.start_mtu_search();
        }
        if let Some(rtt) = syn_rtt {
            self.on_rtt(rtt);
            self.rtt.note_min(rtt);
            if self.in_packets {
                self.cc.on_handshake_rtt(rtt);
            }
        }
        self.recall_path_metrics(now);
        if self.follows_state {
            let ack = self.cc_ack(now, &Acked::default(), syn_rtt);
            self.cc.on_established(&ack);
        }
        if restarts {
            // RFC 5681, section 3.1: one segment after a lost SYN.
            self.cc.on_recovered(now, 1.0);
        }
        if syn_lost {
            self.rtt.use_lost_syn_rto();
        }
    }

    /// SACK was not negotiated: NewReno replaces a recovery that needs it (RFC 6675, section 1);
    /// Linux's counts duplicate ACKs.
    pub fn do_without_sack(&mut self) {
        if let Some(linux) = self.recovery.linux_mut() {
            linux.do_without_sack();
        } else if self.config.recovery.uses_sack() {
            self.recovery = RecoveryKind::NewReno.build();
        }
        if let Some(undo) = &mut self.window_cut.undo {
            undo.frto.do_without_sack();
        }
    }

    /// The handshake has settled ECN.
    pub fn set_ecn_mode(&mut self, mode: EcnMode) {
        let agreement =
            EcnAgreement { echoed: mode != EcnMode::Off, accurate: mode == EcnMode::Accurate, beta: self.config.ecn_beta };
        self.cc.on_ecn_negotiated(&agreement);
        self.ecn = SenderEcn::new(mode, &self.cc, self.config.ecn_packets);
    }

    /// Every segment carries an option of this many bytes from here on.
    pub fn reserve_option(&mut self, bytes: u32) {
        self.segment = self.segment.saturating_sub(bytes).max(1);
        self.full_segment = self.full_segment.saturating_sub(bytes).max(1);
    }

    pub fn disable_ect(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.disable_ect();
        }
    }

    pub fn on_marked_syn_ack(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.on_marked_syn_ack();
        }
    }

    /// What the peer's ECN feedback has counted.
    pub fn ecn_delivered(&self) -> EcnCounts {
        self.ecn.as_ref().map_or_else(EcnCounts::default, |ecn| ecn.delivered())
    }

    /// The congestion control counts marks, so the peer must report for each segment whether it was
    /// marked.
    pub fn counts_marks(&self) -> bool {
        self.cc.ecn_response() != EcnResponse::Cut
    }

    /// Writes the ECN codepoint and CWR into an outgoing segment.
    pub fn write_ecn(&mut self, segment: &mut Segment) {
        if let Some(ecn) = &mut self.ecn {
            ecn.write(segment, self.config.ack_control.is_some());
        }
    }

    /// Shares the metrics of the path with other connections to the peer. Ignored by a host without
    /// a metrics cache.
    pub fn use_path_metrics(&mut self, path_metrics: SharedPathMetrics) {
        self.path_metrics = Some(path_metrics).filter(|_| self.config.metrics_cache != MetricsCache::Off);
    }

    /// Starts from the cached metrics of the path. A variant that paces itself has no ssthresh.
    fn recall_path_metrics(&mut self, now: Time) {
        let Some(shared) = &self.path_metrics else { return };
        let (metrics, cache, own) = (shared.metrics(), self.config.metrics_cache, self.config.initial_ssthresh);
        metrics.seed(cache, &mut self.rtt);
        let ssthresh = metrics.ssthresh_or(cache, own);
        if ssthresh != own && self.cc.pacing_rate().is_none() {
            self.cc.on_restart(now, CongestionWindow { cwnd: self.cc.cwnd(), ssthresh });
        }
    }

    /// Saves the metrics of the path when everything, FIN included, has been acknowledged.
    #[cold]
    fn save_path_metrics(&mut self) {
        let Some(shared) = self.path_metrics.take() else { return };
        let window = CongestionWindow { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        let open = !self.is_repairing();
        shared.update(&ConnectionOutcome { window, open, rtt: self.rtt.estimates() });
    }

    /// The host's queue reports from here on what leaves it ([`Self::on_host_dequeue`]); TSQ bounds
    /// what is in it.
    pub fn enable_tsq(&mut self) {
        if self.config.tsq.is_some() {
            self.tsq = Some(Tsq::default());
        }
    }

    /// `bytes` of the stream have left the host's queue, or were dropped there.
    pub fn on_host_dequeue(&mut self, bytes: u64) {
        if let Some(tsq) = &mut self.tsq {
            tsq.on_dequeued(bytes);
        }
    }

    /// Everything sent has been acknowledged.
    fn is_all_acked(&self) -> bool {
        self.una == self.next
    }

    /// A fast recovery, or the repair of what an RTO marked lost, is in progress.
    fn is_repairing(&self) -> bool {
        if let Some(linux) = self.recovery.linux() {
            return linux.ca_state() >= CaState::Recovery;
        }
        self.recovery.active() || self.una <= self.rto_recovery_point
    }

    pub fn next_seq(&self) -> u64 {
        self.next
    }

    /// Everything including the FIN has been acknowledged.
    pub fn finished(&self) -> bool {
        self.una > self.fin
    }

    /// Bytes of the stream that the peer has acknowledged.
    pub fn acknowledged(&self) -> u64 {
        self.una - STREAM_START - u64::from(self.finished())
    }

    /// The counters, with the open interval closed at `now`.
    pub fn stats(&self, now: Time) -> SenderStats {
        let mut stats = SenderStats { acked_bytes: self.acknowledged(), ..self.stats.clone() };
        let open = &mut stats.limited[self.limit as usize];
        *open = *open + (now - self.limit_since);
        if self.limit == SendLimit::ReceiveWindow {
            stats.limiting_window.extend(now);
        }
        stats
    }

    /// A measurement window begins: averages restart, counters continue.
    pub fn restart_meters(&mut self, now: Time) {
        self.stats.rtt = Default::default();
        self.stats.idle = Span::ZERO;
        self.stats.limited = Default::default();
        self.stats.limiting_window.restart(now);
        self.limit_since = now;
    }

    pub fn sample(&self) -> SenderSample {
        let bytes = f64::from(self.segment);
        SenderSample {
            cwnd_bytes: self.reported_window() * bytes,
            ssthresh_bytes: self.cc.ssthresh() * bytes,
            srtt_ms: self.rtt.srtt().map(Span::as_millis),
            flight_bytes: self.next - self.una,
            delivered_bytes: self.acknowledged(),
            retransmitted_segments: self.stats.retransmitted_segments,
        }
    }
}
