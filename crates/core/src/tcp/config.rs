//! Configuration of a host's TCP. Host stacks are data: the Python front end reads them from files
//! and sets every field.

use super::ack_congestion_control::AckCongestionControlConfig;
use super::autotune::{ReceiveTuning, SendTuning};
use super::cc::slow_start::{ClassicSlowStart, SlowStart};
use super::cc::{UserVariant, Variant};
use super::ecn::{AccEcnOption, EcnMode, EcnPackets};
use super::linux_rules::{LinuxRule, LinuxRules};
use super::metrics_cache::MetricsCache;
use super::recovery::RecoveryKind;
use super::sack_compression::SackCompression;
use super::tso::TsoAutosize;
use crate::config_form::{infinite, is_default, nullable, or_null, unlimited, whole, whole_or_null};
use crate::host::ProcessingJitter;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// The configuration of one TCP endpoint, with the keys of a plan (docs/inside/plan.md). Windows
/// are in segments, sizes in bytes. A plan may leave out a field with `default`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TcpConfig {
    /// The congestion control.
    pub variant: Variant,
    /// A congestion control in Python, in place of `variant`.
    #[serde(default, rename = "user_variant", skip_serializing_if = "Option::is_none")]
    pub user: Option<UserVariant>,
    /// Slow start, for variants without one of their own.
    pub slow_start: SlowStart,
    /// Minimum growth per RTT before `cubic`'s first loss, as a share of cwnd: 0 in RFC 9438.
    #[serde(default, skip_serializing_if = "is_default")]
    pub first_climb: f64,
    /// Loss detection and recovery.
    pub recovery: RecoveryKind,
    /// Payload of a full segment.
    pub segment: u32,
    /// IP and TCP header without options.
    pub header: u32,
    /// Maximum of bytes sent and not acknowledged; `u64::MAX`: no limit.
    #[serde(deserialize_with = "unlimited", serialize_with = "or_null")]
    pub send_buffer: u64,
    /// Maximum of the advertised window.
    pub receive_buffer: u32,
    /// None: the buffer has a fixed size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_tuning: Option<SendTuning>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_tuning: Option<ReceiveTuning>,
    pub window_rule: WindowRule,
    /// None: every segment is acknowledged.
    #[serde(deserialize_with = "nullable")]
    pub delayed_ack: Option<DelayedAck>,
    /// ACK congestion control, in place of `delayed_ack`; needs timestamps and `ecn`.
    #[serde(default, rename = "ack_congestion_control", skip_serializing_if = "Option::is_none")]
    pub ack_control: Option<AckCongestionControlConfig>,
    /// A thinned ACK that represents dupthresh duplicates triggers a fast retransmit; used with ACK
    /// congestion control.
    #[serde(default)]
    pub dupack_marking: bool,
    /// Maximum of segments sent back to back; the next follow a part of an RTT later (`asymmetry`,
    /// sender adaptation). 1 paces at cwnd/srtt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_burst: Option<u32>,
    /// A sender that paces by cwnd/srtt takes the srtt of a clock with this tick; zero: the RTO's.
    #[serde(default, rename = "pacing_tick_ps", skip_serializing_if = "is_default")]
    pub pacing_tick: Span,
    /// Segments acknowledged one by one at the start, and after a duplicate segment.
    #[serde(default)]
    pub quick_acks: u32,
    /// Ping-pong mode: a host that answers with data delays its ACKs, quick ACKs included, as the
    /// data carries them.
    #[serde(default)]
    pub ping_pong: bool,
    /// None: every out-of-order segment is acknowledged.
    #[serde(default)]
    pub sack_compression: Option<SackCompression>,
    /// Segments that arrive within this time from the first reach TCP together and are one ACK
    /// decision. None: each by itself.
    #[serde(default, rename = "gro_ps", skip_serializing_if = "Option::is_none")]
    pub gro: Option<Span>,
    /// The time from a packet's arrival until TCP processes it. None: at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub processing_jitter: Option<ProcessingJitter>,
    /// In segments.
    #[serde(serialize_with = "whole")]
    pub initial_window: f64,
    /// In segments; infinity: slow start runs to the first loss.
    #[serde(deserialize_with = "infinite", serialize_with = "whole_or_null")]
    pub initial_ssthresh: f64,
    #[serde(rename = "rto_initial_ps")]
    pub rto_initial: Span,
    /// Retransmissions of a SYN before their interval doubles (tcp_syn_linear_timeouts of
    /// ip-sysctl.rst).
    #[serde(default, skip_serializing_if = "is_default")]
    pub syn_linear_timeouts: u32,
    #[serde(rename = "rto_min_ps")]
    pub rto_min: Span,
    #[serde(rename = "rto_max_ps")]
    pub rto_max: Span,
    /// Clock granularity G (RFC 6298).
    #[serde(rename = "rto_tick_ps")]
    pub rto_tick: Span,
    /// What `rto_min` applies to.
    pub rto_floor: RtoFloor,
    #[serde(default)]
    pub rto_restart: RtoRestart,
    /// What a connection reuses from earlier ones to the same peer.
    #[serde(default)]
    pub metrics_cache: MetricsCache,
    pub sack: bool,
    /// Report duplicate segments (RFC 2883).
    #[serde(default)]
    pub dsack: bool,
    /// Undo a reduction that D-SACKs show to be spurious (RFC 3708).
    #[serde(default)]
    pub undo: bool,
    /// SACKed segments give RTT samples, and a congestion control gets theirs, and that of the
    /// timestamp echo behind a retransmission; otherwise only an advancing ACK number gives samples.
    #[serde(default)]
    pub sack_rtt: bool,
    /// Undo by timestamp echo (Eifel detection, RFC 3522).
    #[serde(default)]
    pub eifel: bool,
    /// Undo by F-RTO (RFC 5682).
    #[serde(default)]
    pub frto: FrtoKind,
    /// cwnd after an idle period.
    #[serde(default)]
    pub idle_restart: IdleRestart,
    /// Validation of a window that is not used.
    #[serde(default)]
    pub window_validation: WindowValidation,
    /// cwnd counts as full for the window of data in which it was, and slow start continues up to
    /// twice the segments outstanding although nothing fills cwnd: Linux since 3.16
    /// (`tcp_is_cwnd_limited()`). Otherwise cwnd grows only while it is full.
    #[serde(default, skip_serializing_if = "is_default")]
    pub app_limited_growth: bool,
    /// Vegas's fine-grained retransmission (Brakmo and Peterson 1995, section 3.1).
    #[serde(default)]
    pub fine_timer: bool,
    pub timestamps: bool,
    /// Bytes of the timestamps option in a header; 12 in a real stack, 0 in ns-2.
    pub timestamp_bytes: u32,
    /// Bytes of a SACK option beside its blocks; 4 with padding, 0 in ns-2.
    pub sack_base_bytes: u32,
    pub sack_block_bytes: u32,
    pub syn_option_bytes: u32,
    pub window_scaling: bool,
    pub ecn: EcnMode,
    #[serde(default, skip_serializing_if = "is_default")]
    pub ecn_packets: EcnPackets,
    #[serde(default, skip_serializing_if = "is_default")]
    pub accecn_option: AccEcnOption,
    /// Share of the window that a mark leaves, for variants that RFC 8511 (ABE) changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ecn_beta: Option<f64>,
    /// Pace the window over the RTT, for variants that do not pace themselves.
    pub pacing: bool,
    /// Size of the bursts of a paced sender (TSO autosizing); None: segment by segment.
    #[serde(default)]
    pub tso: Option<TsoAutosize>,
    /// This part of the window is worth a burst of its own, which is not deferred
    /// (`tcp_tso_win_divisor` of ip-sysctl.rst).
    #[serde(default = "tso_win_divisor")]
    pub tso_win_divisor: u32,
    /// Which segments carry PSH.
    #[serde(default, skip_serializing_if = "is_default")]
    pub push: Push,
    /// TCP small queues: limit of the bytes in the host's queue, computed like a TSO burst; None:
    /// no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tsq: Option<TsoAutosize>,
    /// Maximum growth per ACK, in segments; 0 counts ACKs (before RFC 3465).
    pub byte_counting: u32,
    pub dupack_threshold: u32,
    pub newreno_exit: NewRenoExit,
    /// RFC 3042: a segment of new data on each of the first two duplicate ACKs.
    pub limited_transmit: bool,
    /// The tail loss probe of recovery `rack` (RFC 8985, section 7).
    #[serde(default = "yes")]
    pub tail_loss_probe: bool,
    /// RFC 5681, section 4.2: an ACK at once when a segment fills a gap.
    pub immediate_ack_on_fill: bool,
    /// Search for the path MTU without routers' reports (RFC 4821).
    #[serde(default, skip_serializing_if = "is_default")]
    pub mtu_probing: MtuProbing,
    /// Where the host differs from the RFCs as Linux does.
    #[serde(default)]
    pub linux_rules: LinuxRules,
}

/// Delayed ACKs (RFC 1122, section 4.2.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    /// At least one ACK per this many full segments.
    pub segments: u32,
    /// Maximum delay.
    #[serde(rename = "timer_ps")]
    pub timer: Span,
    /// Maximum of ACKs per RTT for in-order data (TACK); `timer` limits the delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_rtt: Option<f64>,
    /// An ACK at once when the application has read all data and a segment carried PSH, outside
    /// ping-pong mode: Linux (`tcp_cleanup_rbuf()`; for full segments since 6.6, "fix delayed ACKs
    /// for MSS boundary condition").
    #[serde(default, skip_serializing_if = "is_default")]
    pub push: bool,
}

impl DelayedAck {
    /// RFC 1122 alone: no limit by the RTT, and PSH has no effect.
    pub fn new(segments: u32, timer: Span) -> DelayedAck {
        DelayedAck { segments, timer, per_rtt: None, push: false }
    }
}

/// Which segments of data carry PSH (RFC 9293, section 3.9.1.2, leaves the choice to the sender).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Push {
    /// Every segment.
    #[default]
    Every,
    /// The last segment of the written data, and the last of each burst of two or more segments:
    /// Linux since 5.5 ("force a PSH flag on TSO packets"). A burst is what windows and `tso` allow
    /// at once.
    Chunks,
}

/// RFC 6298, with the parameters in which stacks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    pub initial: Span,
    pub min: Span,
    pub max: Span,
    /// Clock granularity G.
    pub tick: Span,
    /// What `min` applies to.
    pub floor: RtoFloor,
    /// The deviation is Linux's, not that of RFC 6298.
    pub linux_deviation: bool,
}

/// What restarts the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RtoRestart {
    /// ACKs of new data (RFC 6298, 5.3).
    #[default]
    Advance,
    /// As `Advance`, and the retransmission that starts a fast recovery: ns-2's Sack1 (RFC 6675,
    /// section 6, allows it for every retransmission).
    Recovery,
    /// As `Advance`, and every retransmission of the oldest segment: Linux.
    Head,
    /// As `Head`, and a SACK of a segment sent before the oldest one was last sent: newer Linux. A
    /// SACK of later data does not restart the timer, so a lost retransmission times out.
    HeadAndSack,
    /// Every ACK, duplicates too: ns-2's TCP-Linux. No RTO expires while ACKs arrive, so a recovery
    /// that does not detect lost retransmissions stalls.
    EveryAck,
}

impl RtoRestart {
    /// Every retransmission of the oldest segment restarts the timer.
    #[inline]
    pub fn by_head(self) -> bool {
        matches!(self, Self::Head | Self::HeadAndSack)
    }
}

/// `Timeout`: the minimum applies to the RTO (RFC 6298). `Variance`: it applies to the variance
/// term, so the RTO is at least SRTT + minimum (Linux).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RtoFloor {
    Timeout,
    Variance,
}

/// NewReno's cwnd at the end of a recovery (RFC 6582, section 3.2, step 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum NewRenoExit {
    /// Option 1: min(ssthresh, flight + 1), without a burst.
    Flight,
    /// Option 2: ssthresh, as in ns-2.
    Threshold,
}

/// The form of F-RTO (RFC 5682).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FrtoKind {
    #[default]
    Off,
    /// Section 2.1: by ACK numbers alone.
    Basic,
    /// Section 3.1: with SACK; `Basic` if SACK was not negotiated.
    Sack,
}

/// cwnd after an idle period longer than the RTO.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum IdleRestart {
    /// Unchanged.
    #[default]
    Off,
    /// The initial window (RFC 5681, section 4.1).
    Restart,
    /// Halved for each RTO (RFC 2861, section 3.1, as in Linux).
    Decay,
}

/// cwnd while the application does not fill it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WindowValidation {
    /// Unchanged.
    #[default]
    Off,
    /// Reduced after each RTO (RFC 2861, section 3.2; Linux).
    Rfc2861,
    /// Kept for minutes, also over idle periods; a loss reduces what was in use (RFC 7661).
    Rfc7661,
}

/// The values of `tcp_mtu_probing` (ip-sysctl.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MtuProbing {
    /// 0: a router's report is needed.
    #[default]
    Off,
    /// 1: from the detection of a black hole on.
    BlackHole,
    /// 2: from the start, which has segments of 1024 bytes.
    Always,
}

/// What the advertised window limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum WindowRule {
    /// Sequence space above snd.una, out-of-order data included (RFC 9293): a loss soon stalls the
    /// sender.
    Sequence,
    /// The flight, as ns-2's `window_` does: the receiver stores any amount of out-of-order data.
    InFlight,
}

fn yes() -> bool {
    true
}

/// A third.
fn tso_win_divisor() -> u32 {
    3
}

impl TcpConfig {
    /// The parameters of the RTO estimator.
    pub fn rto(&self) -> RtoConfig {
        let TcpConfig { rto_initial: initial, rto_min: min, rto_max: max, rto_tick: tick, rto_floor: floor, .. } = *self;
        let linux_deviation = self.linux_rules.has(LinuxRule::RttDeviation);
        RtoConfig { initial, min, max, tick, floor, linux_deviation }
    }

    /// Name of the variant, or of the congestion control in its place.
    pub fn variant_name(&self) -> &str {
        self.user.as_ref().map_or_else(|| self.variant.name(), UserVariant::name)
    }

    /// The configuration for endpoints. A plan has the size of an autotuned receive buffer in
    /// `receive_buffer`; endpoints have its maximum window there.
    pub fn resolved(mut self) -> TcpConfig {
        if let Some(tuning) = &mut self.receive_tuning {
            tuning.limit = self.receive_buffer;
            self.receive_buffer = tuning.largest_window(self.segment);
        }
        self
    }

    /// IP length of a segment with this payload and these options.
    pub fn wire_len(&self, payload: u32, timestamps: bool, sack_blocks: u32) -> u16 {
        let timestamp_len = if timestamps { self.timestamp_bytes } else { 0 };
        let sack = if sack_blocks > 0 { self.sack_base_bytes + sack_blocks * self.sack_block_bytes } else { 0 };
        u16::try_from(self.header + timestamp_len + sack + payload).unwrap_or(u16::MAX)
    }

    /// The MSS option, which includes the bytes of other options (RFC 6691).
    pub fn own_mss(&self) -> u32 {
        self.segment + if self.timestamps { self.timestamp_bytes } else { 0 }
    }

    /// Maximum of SACK blocks: three beside timestamps, else four (RFC 2018, section 3).
    pub fn max_sack_blocks(&self) -> usize {
        if self.timestamps { 3 } else { 4 }
    }

    /// RFC 7323, section 2.3: the smallest scale with which 16 bits can advertise the whole buffer;
    /// of a tuned buffer its limit (Linux, `tcp_select_initial_window()`: tcp_rmem\[2\]).
    pub fn window_scale(&self) -> Option<u8> {
        let buffer = self.receive_tuning.map_or(self.receive_buffer, |tuning| tuning.limit.max(self.receive_buffer));
        self.window_scaling.then(|| (0..14).find(|s| buffer >> s <= 0xFFFF).unwrap_or(14))
    }
}

impl Default for TcpConfig {
    /// ns-2's stack, which the oracles use: options take no bytes, and growth counts ACKs.
    fn default() -> TcpConfig {
        TcpConfig {
            variant: Variant::Reno,
            user: None,
            slow_start: SlowStart::Classic(ClassicSlowStart),
            first_climb: 0.0,
            recovery: RecoveryKind::Sack,
            segment: 1024,
            header: 40,
            send_buffer: u64::MAX,
            receive_buffer: 1 << 20,
            send_tuning: None,
            receive_tuning: None,
            window_rule: WindowRule::InFlight,
            delayed_ack: None,
            ack_control: None,
            dupack_marking: false,
            max_burst: None,
            pacing_tick: Span::ZERO,
            quick_acks: 0,
            ping_pong: false,
            sack_compression: None,
            gro: None,
            processing_jitter: None,
            initial_window: 2.0,
            initial_ssthresh: f64::INFINITY,
            rto_initial: Span::from_secs(3),
            syn_linear_timeouts: 0,
            rto_min: Span::from_ms(200),
            rto_max: Span::from_secs(60),
            rto_tick: Span::from_ms(1),
            rto_floor: RtoFloor::Timeout,
            rto_restart: RtoRestart::Advance,
            metrics_cache: MetricsCache::Off,
            sack: true,
            dsack: false,
            undo: false,
            sack_rtt: false,
            eifel: false,
            frto: FrtoKind::Off,
            idle_restart: IdleRestart::Off,
            window_validation: WindowValidation::Off,
            app_limited_growth: false,
            fine_timer: false,
            timestamps: true,
            timestamp_bytes: 0,
            sack_base_bytes: 0,
            sack_block_bytes: 8,
            syn_option_bytes: 0,
            window_scaling: true,
            ecn: EcnMode::Off,
            ecn_packets: EcnPackets::Data,
            accecn_option: AccEcnOption::Changes,
            ecn_beta: None,
            pacing: false,
            tso: None,
            tso_win_divisor: tso_win_divisor(),
            push: Push::Every,
            tsq: None,
            byte_counting: 0,
            dupack_threshold: 3,
            newreno_exit: NewRenoExit::Threshold,
            limited_transmit: false,
            tail_loss_probe: true,
            immediate_ack_on_fill: true,
            mtu_probing: MtuProbing::Off,
            linux_rules: LinuxRules::default(),
        }
    }
}
