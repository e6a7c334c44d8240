//! A flow's TCP: every key of a host stack, resolved, and its translation into the core's terms.

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
    /// Of a variant from outside: a digest of what it does, so that equal plans are equal runs. The engine does not read it.
    #[serde(default)]
    pub variant_digest: Option<String>,
    pub recovery: String,
    pub slow_start: String,
    /// Absent: 0, as in RFC 9438.
    #[serde(default)]
    pub first_climb: f64,
    pub segment: u32,
    pub header: u32,
    /// Null: as large as needed.
    #[serde(deserialize_with = "nullable")]
    pub send_buffer: Option<u64>,
    /// The largest window; where it is tuned, the limit of the buffer of which it is a share.
    pub receive_buffer: u32,
    /// Null or absent: the buffers keep their sizes.
    #[serde(default)]
    pub send_tuning: Option<SendTuning>,
    #[serde(default)]
    pub receive_tuning: Option<ReceiveTuning>,
    pub window_rule: WindowRule,
    /// Null: every segment is acknowledged.
    #[serde(deserialize_with = "nullable")]
    pub delayed_ack: Option<DelayedAck>,
    /// Null or absent: ACKs are as many as `delayed_ack` says.
    #[serde(default)]
    pub ack_congestion_control: Option<AckControl>,
    /// Absent: a mark on ACKs that enough duplicates have been seen means nothing.
    #[serde(default)]
    pub dupack_marking: bool,
    /// Segments sent back to back at most; null or absent: as many as the window allows.
    #[serde(default)]
    pub max_burst: Option<u32>,
    /// Segments acknowledged one by one at the start, and again after a duplicate.
    #[serde(default)]
    pub quick_acks: u32,
    /// A host that answers with data delays its ACKs at once; absent: it does not.
    #[serde(default)]
    pub ping_pong: bool,
    /// Null or absent: each segment out of order gets its ACK.
    #[serde(default)]
    pub sack_compression: Option<SackCompression>,
    pub initial_window: f64,
    /// Null: slow start runs to the first loss.
    #[serde(deserialize_with = "nullable")]
    pub initial_ssthresh: Option<f64>,
    pub rto_initial_ps: u64,
    pub rto_min_ps: u64,
    pub rto_max_ps: u64,
    pub rto_tick_ps: u64,
    pub rto_floor: RtoFloor,
    /// Absent: ACKs of new data start the timer anew.
    #[serde(default)]
    pub rto_restart: RtoRestart,
    /// What a connection takes over from those before it between the same hosts; absent: nothing.
    #[serde(default)]
    pub metrics_cache: MetricsCache,
    pub sack: bool,
    /// Absent: segments that arrive twice are not reported (RFC 2883).
    #[serde(default)]
    pub dsack: bool,
    /// Absent: no cut is taken back, by D-SACK (RFC 3708), by a timestamp's echo (RFC 3522) or by F-RTO (RFC 5682).
    #[serde(default)]
    pub undo: bool,
    /// Absent: only what moves the ACK number gives round trips.
    #[serde(default)]
    pub sack_rtt: bool,
    #[serde(default)]
    pub eifel: bool,
    #[serde(default)]
    pub frto: Frto,
    /// What a pause leaves of the window; absent: all of it.
    #[serde(default)]
    pub idle_restart: IdleRestart,
    /// What becomes of a window that is not used; absent: it stays.
    #[serde(default)]
    pub window_validation: WindowValidation,
    /// Vegas's retransmission by the time a segment left.
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
    /// Null or absent: a mark leaves what the variant says.
    #[serde(default)]
    pub ecn_beta: Option<f64>,
    pub pacing: bool,
    /// Null or absent: what is paced leaves segment by segment.
    #[serde(default)]
    pub tso: Option<Tso>,
    /// Which segments carry PSH; absent: each.
    #[serde(default)]
    pub push: Push,
    /// TCP small queues; null or absent: a connection bounds nothing of what waits in its first hop.
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
    /// No more ACKs than this a round trip (TACK); null or absent: no such bound.
    #[serde(default)]
    pub per_rtt: Option<f64>,
    /// At once, too, when all is read and a segment with PSH was among it; absent: not.
    #[serde(default)]
    pub push: bool,
}

/// A receiver that delays ACKs further while they meet congestion, for no more than `max` segments nor longer than the timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckControl {
    pub max: u32,
    pub timer_ps: u64,
    pub option_bytes: u16,
}

/// What the pace carries in a time, within bounds: a chunk of what is paced, or what may wait in a host's own queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tso {
    pub segments: u32,
    pub time_ps: u64,
    pub most: u32,
}

impl Tso {
    fn bounds(self) -> tcp::Tso {
        tcp::Tso { segments: self.segments, time: Span(self.time_ps), most: self.most }
    }
}

/// A send buffer of twice the window, from `start` to `limit`; each segment takes `overhead` beside its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SendTuning {
    pub start: u64,
    pub limit: u64,
    pub overhead: u32,
}

/// A receive buffer that grows from `start` to `receive_buffer`; `share` of it is advertised, at first no more than `opening`.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReceiveTuning {
    pub start: u32,
    pub share: f64,
    pub opening: u32,
    /// Absent: twice what was read in a round trip.
    #[serde(default)]
    pub growth: WindowGrowth,
    /// What a segment takes beside its payload, from which the share follows; null or absent: `share` stays.
    #[serde(default)]
    pub overhead: Option<u32>,
}

/// SACKs that wait: for `segments` of them, `share` of the round trip and `longest_ps` at most.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SackCompression {
    pub segments: u32,
    pub share: f64,
    pub longest_ps: u64,
}

/// Off, RFC 3168, or by its word RFC 9768.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "ecn is true, false or \"accecn\"")]
pub enum Ecn {
    Flag(bool),
    Word(EcnWord),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EcnWord {
    Accecn,
}

/// How the name of a congestion control from outside begins.
const USER: &str = "python:";

impl Tcp {
    /// The variant is not the engine's: who runs the plan must bring it.
    pub fn is_user(&self) -> bool {
        self.variant.starts_with(USER)
    }

    /// The core's configuration, or the key that cannot be.
    pub fn config(&self) -> Result<TcpConfig, String> {
        // What a variant from outside does is found when the network is built.
        let name = if self.is_user() { Variant::Reno.name() } else { &self.variant };
        let variant = Variant::from_name(name).ok_or_else(|| format!("there is no TCP variant '{name}'"))?;
        let recovery =
            RecoveryKind::from_name(&self.recovery).ok_or_else(|| format!("there is no recovery '{}'", self.recovery))?;
        let slow_start =
            SlowStart::from_name(&self.slow_start).ok_or_else(|| format!("there is no slow start '{}'", self.slow_start))?;
        let ecn = match self.ecn {
            Ecn::Flag(false) => tcp::EcnMode::Off,
            Ecn::Flag(true) => tcp::EcnMode::Classic,
            Ecn::Word(EcnWord::Accecn) => tcp::EcnMode::Accurate,
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
