//! The TCP of a flow: every setting of a host stack, and its translation into the core's
//! `TcpConfig`.

use super::nullable;
use super::tcp_enums::{
    EcnPackets, Frto, IdleRestart, MetricsCache, NewRenoExit, Push, RtoFloor, RtoRestart, WindowGrowth, WindowRule,
    WindowValidation,
};
use ackclock_core::Span;
use ackclock_core::tcp::{self, RecoveryKind, SlowStart, TcpConfig, Variant};
use serde::Deserialize;

/// Windows are in segments, sizes in bytes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tcp {
    pub variant: String,
    /// Digest of a user's congestion control, so that equal plans are equal runs. Not used by the
    /// engine.
    #[serde(default)]
    pub variant_digest: Option<String>,
    pub recovery: String,
    pub slow_start: String,
    /// Absent: 0, as in RFC 9438.
    #[serde(default)]
    pub first_climb: f64,
    pub segment: u32,
    pub header: u32,
    /// Null: no limit.
    #[serde(deserialize_with = "nullable")]
    pub send_buffer: Option<u64>,
    /// Maximum window; with `receive_tuning` the limit of the buffer, of which the window is a
    /// share.
    pub receive_buffer: u32,
    /// Null or absent: no autotuning.
    #[serde(default)]
    pub send_tuning: Option<SendTuning>,
    #[serde(default)]
    pub receive_tuning: Option<ReceiveTuning>,
    pub window_rule: WindowRule,
    /// Null: every segment is acknowledged.
    #[serde(deserialize_with = "nullable")]
    pub delayed_ack: Option<DelayedAck>,
    /// Null or absent: no ACK congestion control.
    #[serde(default)]
    pub ack_congestion_control: Option<AckControl>,
    /// Absent: marks for dupthresh duplicates on thinned ACKs are ignored.
    #[serde(default)]
    pub dupack_marking: bool,
    /// Maximum segments of a burst; null or absent: no limit but the window.
    #[serde(default)]
    pub max_burst: Option<u32>,
    /// Segments acknowledged at once at the start and after a duplicate (Linux quickack).
    #[serde(default)]
    pub quick_acks: u32,
    /// A host that answers with data starts to delay its ACKs (Linux pingpong mode); absent: off.
    #[serde(default)]
    pub ping_pong: bool,
    /// Null or absent: each out-of-order segment is acknowledged.
    #[serde(default)]
    pub sack_compression: Option<SackCompression>,
    pub initial_window: f64,
    /// Null: slow start lasts until the first loss.
    #[serde(deserialize_with = "nullable")]
    pub initial_ssthresh: Option<f64>,
    pub rto_initial_ps: u64,
    pub rto_min_ps: u64,
    pub rto_max_ps: u64,
    pub rto_tick_ps: u64,
    pub rto_floor: RtoFloor,
    /// Absent: ACKs of new data restart the timer.
    #[serde(default)]
    pub rto_restart: RtoRestart,
    /// Path metrics inherited from earlier connections of the same hosts; absent: none.
    #[serde(default)]
    pub metrics_cache: MetricsCache,
    pub sack: bool,
    /// D-SACK (RFC 2883); absent: off.
    #[serde(default)]
    pub dsack: bool,
    /// Undo of a window reduction by D-SACK (RFC 3708), Eifel (RFC 3522) or F-RTO (RFC 5682);
    /// absent: off.
    #[serde(default)]
    pub undo: bool,
    /// RTT samples from SACKed segments; absent: from cumulative ACKs only.
    #[serde(default)]
    pub sack_rtt: bool,
    #[serde(default)]
    pub eifel: bool,
    #[serde(default)]
    pub frto: Frto,
    /// The window after an idle time; absent: unchanged.
    #[serde(default)]
    pub idle_restart: IdleRestart,
    /// Handling of an unused window; absent: unchanged.
    #[serde(default)]
    pub window_validation: WindowValidation,
    /// Vegas's fine-grained retransmission timer.
    #[serde(default)]
    pub fine_timer: bool,
    pub timestamps: bool,
    pub timestamp_bytes: u32,
    pub sack_base_bytes: u32,
    pub sack_block_bytes: u32,
    pub syn_option_bytes: u32,
    pub window_scaling: bool,
    /// False, true (RFC 3168) or "accecn" (RFC 9768).
    pub ecn: Ecn,
    #[serde(default)]
    pub ecn_packets: EcnPackets,
    /// Window factor on ECN feedback; null or absent: that of the variant.
    #[serde(default)]
    pub ecn_beta: Option<f64>,
    pub pacing: bool,
    /// TSO autosizing of paced chunks; null or absent: chunks of one segment.
    #[serde(default)]
    pub tso: Option<Tso>,
    /// Segments with PSH; absent: each.
    #[serde(default)]
    pub push: Push,
    /// TCP small queues; null or absent: no limit of a connection's bytes in its first hop.
    #[serde(default)]
    pub tsq: Option<Tso>,
    pub byte_counting: u32,
    pub dupack_threshold: u32,
    pub newreno_exit: NewRenoExit,
    pub limited_transmit: bool,
    pub immediate_ack_on_fill: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayedAck {
    pub segments: u32,
    pub timer_ps: u64,
    /// Maximum ACKs an RTT (TACK); null or absent: no limit.
    #[serde(default)]
    pub per_rtt: Option<f64>,
    /// An ACK is sent at once when all data is read and a segment of it had PSH; absent: off.
    #[serde(default)]
    pub push: bool,
}

/// ACK congestion control (RFC 5690): delays ACKs up to `max` segments or the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckControl {
    pub max: u32,
    pub timer_ps: u64,
    pub option_bytes: u16,
}

/// Bytes that the pacing rate sends in `time_ps`, between `segments` and `max`: the size of a paced
/// chunk, or the limit of TCP small queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tso {
    pub segments: u32,
    pub time_ps: u64,
    #[serde(rename = "most")]
    pub max: u32,
}

impl Tso {
    fn bounds(self) -> tcp::TsoAutosize {
        tcp::TsoAutosize { min_segments: self.segments, time: Span(self.time_ps), max_bytes: self.max }
    }
}

/// A send buffer of twice the window, from `start` to `limit`; a segment occupies `overhead` beyond
/// its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendTuning {
    pub start: u64,
    pub limit: u64,
    pub overhead: u32,
}

/// A receive buffer that grows from `start` to `receive_buffer`; `share` of it is advertised, at
/// first at most `opening`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveTuning {
    pub start: u32,
    pub share: f64,
    pub opening: u32,
    /// Absent: twice the bytes read in an RTT.
    #[serde(default)]
    pub growth: WindowGrowth,
    /// Bytes that a segment occupies beyond its payload, which determine the share; null or absent:
    /// `share` is fixed.
    #[serde(default)]
    pub overhead: Option<u32>,
}

/// SACK compression: up to `segments`, `share` of the RTT and `longest_ps`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SackCompression {
    pub segments: u32,
    pub share: f64,
    pub longest_ps: u64,
}

/// Off, RFC 3168, or `accecn` (RFC 9768).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "ecn is true, false or \"accecn\"")]
pub enum Ecn {
    Flag(bool),
    Name(EcnName),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnName {
    Accecn,
}

/// Prefix of the name of a user's congestion control.
const USER_PREFIX: &str = "python:";

impl Tcp {
    /// The variant is a user's: the caller must add it to the plan.
    pub fn is_user(&self) -> bool {
        self.variant.starts_with(USER_PREFIX)
    }

    /// The core's configuration, or the error in the plan.
    pub fn config(&self) -> Result<TcpConfig, String> {
        // `build` adds the user's variant.
        let name = if self.is_user() { Variant::Reno.name() } else { &self.variant };
        let variant = Variant::from_name(name).ok_or_else(|| format!("there is no TCP variant '{name}'"))?;
        let recovery =
            RecoveryKind::from_name(&self.recovery).ok_or_else(|| format!("there is no recovery '{}'", self.recovery))?;
        let slow_start =
            SlowStart::from_name(&self.slow_start).ok_or_else(|| format!("there is no slow start '{}'", self.slow_start))?;
        let ecn = match self.ecn {
            Ecn::Flag(false) => tcp::EcnMode::Off,
            Ecn::Flag(true) => tcp::EcnMode::Classic,
            Ecn::Name(EcnName::Accecn) => tcp::EcnMode::Accurate,
        };
        let receive_tuning = self.receive_tuning.map(|t| tcp::ReceiveTuning {
            start: t.start,
            limit: self.receive_buffer,
            share: t.share,
            opening: t.opening,
            growth: t.growth.into(),
            overhead: t.overhead,
        });
        Ok(TcpConfig {
            variant,
            user: None,
            slow_start,
            first_climb: self.first_climb,
            recovery,
            segment: self.segment,
            header: self.header,
            send_buffer: self.send_buffer.unwrap_or(u64::MAX),
            receive_buffer: receive_tuning.map_or(self.receive_buffer, |t| t.largest_window(self.segment)),
            send_tuning: self.send_tuning.map(|t| tcp::SendTuning { start: t.start, limit: t.limit, overhead: t.overhead }),
            receive_tuning,
            window_rule: self.window_rule.into(),
            delayed_ack: self.delayed_ack.map(|d| tcp::DelayedAck {
                segments: d.segments,
                timer: Span(d.timer_ps),
                push: d.push,
            }),
            acks_per_rtt: self.delayed_ack.and_then(|d| d.per_rtt),
            ack_control: self.ack_congestion_control.map(|c| tcp::AckCongestionControlConfig {
                max: c.max,
                timer: Span(c.timer_ps),
                option_bytes: c.option_bytes,
            }),
            dupack_marking: self.dupack_marking,
            max_burst: self.max_burst,
            quick_acks: self.quick_acks,
            ping_pong: self.ping_pong,
            sack_compression: self.sack_compression.map(|c| tcp::SackCompression {
                segments: c.segments,
                share: c.share,
                longest: Span(c.longest_ps),
            }),
            initial_window: self.initial_window,
            initial_ssthresh: self.initial_ssthresh.unwrap_or(f64::INFINITY),
            rto: self.rto(),
            metrics_cache: self.metrics_cache.into(),
            sack: self.sack,
            dsack: self.dsack,
            undo: self.undo,
            sack_rtt: self.sack_rtt,
            eifel: self.eifel,
            frto: self.frto.into(),
            idle_restart: self.idle_restart.into(),
            window_validation: self.window_validation.into(),
            fine_timer: self.fine_timer,
            timestamps: self.timestamps,
            timestamp_bytes: self.timestamp_bytes,
            sack_base_bytes: self.sack_base_bytes,
            sack_block_bytes: self.sack_block_bytes,
            syn_option_bytes: self.syn_option_bytes,
            window_scaling: self.window_scaling,
            ecn,
            ecn_packets: self.ecn_packets.into(),
            ecn_beta: self.ecn_beta,
            pacing: self.pacing,
            tso: self.tso.map(Tso::bounds),
            push: self.push.into(),
            tsq: self.tsq.map(Tso::bounds),
            byte_counting: self.byte_counting,
            dupack_threshold: self.dupack_threshold,
            newreno_exit: self.newreno_exit.into(),
            limited_transmit: self.limited_transmit,
            immediate_ack_on_fill: self.immediate_ack_on_fill,
        })
    }

    fn rto(&self) -> tcp::RtoConfig {
        let [initial, min, max, tick] = [self.rto_initial_ps, self.rto_min_ps, self.rto_max_ps, self.rto_tick_ps].map(Span);
        tcp::RtoConfig { initial, min, max, tick, floor: self.rto_floor.into(), restart: self.rto_restart.into() }
    }
}
