//! The keys of [tcp], each also allowed in a [[flow]]; the host stack has their defaults.

use super::acks::{AckControl, DelayedAck, SackCompression};
use super::bursts::{ProcessingJitter, Tso, Tsq};
use super::names::{HostName, LinuxRuleNames, SlowStartName, VariantName};
use super::switch::Switch;
use super::values::{CacheRule, GroTime, InitialSsthresh, ReceiveBuffer, SegmentOverhead, SendBuffer, SizeWithin, Timer};
use crate::value::Value;
use crate::values::{Bytes, Count, Duration, Size, Time};
use crate::{Keys, table};
use ackclock_core::tcp::config::{
    FrtoKind, IdleRestart, MtuProbing, NewRenoExit, Push, RtoFloor, RtoRestart, WindowRule, WindowValidation,
};
use ackclock_core::tcp::{AccEcnOption, EcnMode, EcnPackets, RecoveryKind, WindowGrowth};

/// The TCP keys of a file; None for an absent key. Sizes in bytes, times in ps, windows in segments.
#[derive(Clone, Debug, Default, PartialEq, Keys)]
#[keys(absent = "the host's", merge)]
pub struct TcpKeys {
    /// Host stack: it has the default of every key below.
    #[key(example = "linux-6", absent = "linux-6")]
    pub host: Option<HostName>,
    /// Congestion control: how the window moves. A class of your own is `python:module.Class`.
    #[key(example = "cubic")]
    pub variant: Option<VariantName>,
    /// How loss is detected and repaired.
    #[key(example = "rack")]
    pub recovery: Option<RecoveryKind>,
    /// Slow start.
    #[key(example = "hystart")]
    pub slow_start: Option<SlowStartName>,
    /// Minimum growth of `cubic` in an RTT before its first loss, as a share of the window.
    #[key(example = 0.05, unit = "share", min = 0, max = 1, allowed = "a share from 0 to 1")]
    pub first_climb: Option<f64>,
    /// Payload of a full segment.
    #[key(example = "1448 B", max = 65415, allowed = "a segment of at most 65415 B")]
    pub segment: Option<SizeWithin>,
    /// IP and TCP headers without options.
    #[key(example = "40 B")]
    pub header: Option<Bytes>,
    /// Send buffer: a fixed size, `tuned`, `unlimited`, or `auto`, the host's rule.
    #[key(example = "256 KiB")]
    pub send_buffer: Option<SendBuffer>,
    /// Receive buffer: a fixed size, which is advertised in full, `tuned`, or `auto`, the host's
    /// rule.
    #[key(example = "256 KiB")]
    pub receive_buffer: Option<ReceiveBuffer>,
    /// Size at which a tuned receive buffer starts.
    #[key(example = "128 KiB", max = 1_073_725_440, allowed = "at most 1073725440 B (RFC 7323, section 2.3)")]
    pub receive_start: Option<SizeWithin>,
    /// Maximum of a tuned receive buffer (`tcp_rmem[2]`).
    #[key(example = "6 MiB", max = 1_073_725_440, allowed = "at most 1073725440 B (RFC 7323, section 2.3)")]
    pub receive_limit: Option<SizeWithin>,
    /// Share of a tuned receive buffer that is advertised.
    #[key(example = 0.5, unit = "share", above = 0, max = 1, allowed = "a share above 0, at most 1")]
    pub window_share: Option<f64>,
    /// Window that a tuned receive buffer advertises first.
    #[key(example = "65535 B", max = 1_073_725_440, allowed = "at most 1073725440 B (RFC 7323, section 2.3)")]
    pub receive_opening: Option<SizeWithin>,
    /// Growth of a tuned receive buffer: `double` (Linux 2.6), `lead` (3.12 to 6.15), `near` (since
    /// 6.16).
    #[key(example = "near")]
    pub receive_growth: Option<WindowGrowth>,
    /// Memory of a received segment beside its payload, from which the advertised share follows;
    /// false: `window_share` stays.
    #[key(example = "856 B")]
    pub receive_overhead: Option<SegmentOverhead>,
    /// Size at which a tuned send buffer starts.
    #[key(example = "87040 B")]
    pub send_start: Option<Bytes>,
    /// Maximum of a tuned send buffer (`tcp_wmem[2]`).
    #[key(example = "4 MiB")]
    pub send_limit: Option<Bytes>,
    /// Memory of a segment in the send buffer beside its payload.
    #[key(example = "856 B")]
    pub send_overhead: Option<Size>,
    /// The receive window limits sequence numbers (RFC 9293), or the amount in flight (ns-2).
    #[key(example = "sequence")]
    pub window_rule: Option<WindowRule>,
    /// Delayed ACKs: false, true (the host's rule), or a table.
    #[key(example = table!("segments" => 2, "timer" => "40 ms"), unit = "choice or table")]
    pub delayed_ack: Option<Switch<DelayedAck>>,
    /// ACK congestion control: a receiver that thins its ACKs in response to marks. Needs timestamps
    /// and ecn = true.
    #[key(example = table!("max" => 25), unit = "choice or table", absent = false)]
    pub ack_congestion_control: Option<Switch<AckControl>>,
    /// One ACK with the mark of an ACK filter counts as `dupack_threshold` duplicates, with the
    /// recoveries classic and newreno.
    #[key(example = true, absent = false)]
    pub dupack_marking: Option<bool>,
    /// Segments that leave back to back; the next ones are spaced by the RTT over the window.
    #[key(example = 3, unit = "segments", absent = "no limit")]
    pub max_burst: Option<Count>,
    /// Tick of the clock that measures the RTT by which `max_burst` and `pacing` space segments:
    /// samples are whole ticks, at least one.
    #[key(example = "100 ms", absent = "the RTT of the retransmission timeout")]
    pub pacing_tick: Option<Duration>,
    /// Segments that are acknowledged one by one at the start, and after a duplicate.
    #[key(example = 16, unit = "segments", min = 0, allowed = "a number of segments, 0 or more")]
    pub quick_acks: Option<Count>,
    /// A host that answers delays its ACKs at once, and piggybacks them.
    #[key(example = true)]
    pub ping_pong: Option<bool>,
    /// While segments arrive out of order, one SACK for several; or false.
    #[key(example = table!("segments" => 44, "share" => 0.05, "longest" => "1 ms"))]
    pub sack_compression: Option<Switch<SackCompression>>,
    /// Contiguous segments that arrive within this time from the first are merged and are one ACK
    /// decision; false: each by itself.
    #[key(example = "20 us", absent = false)]
    pub gro: Option<GroTime>,
    /// Time from a packet's arrival at the host until TCP processes it, in order; false: at once.
    #[key(example = table!("p50" => "20 us", "p99" => "80 us"), absent = "the host's, or false")]
    pub processing_jitter: Option<Switch<ProcessingJitter>>,
    /// Window at the start.
    #[key(example = 10, unit = "segments")]
    pub initial_window: Option<Count>,
    /// Slow start threshold at the start.
    #[key(example = 64)]
    pub initial_ssthresh: Option<InitialSsthresh>,
    /// Retransmission timeout before the first RTT sample.
    #[key(example = "1 s")]
    pub rto_initial: Option<Timer>,
    /// SYNs before their interval doubles.
    #[key(example = 4, unit = "SYNs", min = 0, allowed = "a number of SYNs, 0 or more")]
    pub syn_linear_timeouts: Option<Count>,
    /// Minimum retransmission timeout, at most `rto_max`; `rto_floor` says of what.
    #[key(example = "200 ms")]
    pub rto_min: Option<Timer>,
    /// Maximum retransmission timeout.
    #[key(example = "120 s")]
    pub rto_max: Option<Timer>,
    /// Granularity of the retransmission timeout.
    #[key(example = "1 ms")]
    pub rto_tick: Option<Duration>,
    /// What `rto_min` bounds: the whole timeout (RFC 6298), or its variance term (Linux).
    #[key(example = "variance")]
    pub rto_floor: Option<RtoFloor>,
    /// Events that restart the retransmission timer beside ACKs of new data.
    #[key(example = "head-and-sack")]
    pub rto_restart: Option<RtoRestart>,
    /// What a connection takes over from ended ones of its path: false, true (the host's rule), the
    /// RTT, or the threshold, too.
    #[key(example = "rtt")]
    pub metrics_cache: Option<CacheRule>,
    /// Selective acknowledgements (RFC 2018).
    #[key(example = true)]
    pub sack: Option<bool>,
    /// The receiver reports segments that arrive twice (RFC 2883).
    #[key(example = true)]
    pub dsack: Option<bool>,
    /// A reduction is undone when D-SACKs show that it was spurious (RFC 3708).
    #[key(example = true)]
    pub undo: Option<bool>,
    /// A newly SACKed segment gives an RTT sample where the ACK number does not advance, and the
    /// congestion control the RTT of the last one; behind a retransmission it gets that of the
    /// timestamp echo.
    #[key(example = true)]
    pub sack_rtt: Option<bool>,
    /// A reduction is undone when a timestamp shows that it was spurious (RFC 3522).
    #[key(example = true)]
    pub eifel: Option<bool>,
    /// F-RTO after a timeout (RFC 5682): off, by ACK numbers, or by SACK.
    #[key(example = "sack")]
    pub frto: Option<FrtoKind>,
    /// The window after a pause: as before, the initial one (RFC 5681), or halved for each timeout
    /// (RFC 2861).
    #[key(example = "decay")]
    pub idle_restart: Option<IdleRestart>,
    /// A window that the application does not use: kept, or reduced by RFC 2861 or RFC 7661.
    #[key(example = "rfc2861")]
    pub window_validation: Option<WindowValidation>,
    /// Linux's rule for whether the window is the limit: in slow start it grows to twice what is in
    /// flight.
    #[key(example = true)]
    pub app_limited_growth: Option<bool>,
    /// The paper's own retransmission rule of Vegas.
    #[key(example = false)]
    pub fine_timer: Option<bool>,
    /// TCP timestamps (RFC 7323).
    #[key(example = true)]
    pub timestamps: Option<bool>,
    /// Bytes of the timestamp option in a segment.
    #[key(example = "12 B")]
    pub timestamp_bytes: Option<Size>,
    /// Bytes of the SACK option without blocks.
    #[key(example = "4 B")]
    pub sack_base_bytes: Option<Size>,
    /// Bytes of a SACK block.
    #[key(example = "8 B")]
    pub sack_block_bytes: Option<Size>,
    /// Bytes of options in a SYN.
    #[key(example = "20 B")]
    pub syn_option_bytes: Option<Size>,
    /// Window scaling (RFC 7323); without it a window has at most 65535 B.
    #[key(example = true)]
    pub window_scaling: Option<bool>,
    /// Explicit congestion notification: false, true (RFC 3168), or `accecn` (RFC 9768).
    #[key(example = true)]
    pub ecn: Option<EcnMode>,
    /// ECN-capable packets: new data; with AccECN all of an established connection; or the handshake,
    /// too.
    #[key(example = "data")]
    pub ecn_packets: Option<EcnPackets>,
    /// Segments with AccECN's option: none, where a counter has changed, or every one.
    #[key(example = "changes")]
    pub accecn_option: Option<AccEcnOption>,
    /// Factor of the window at a mark, of reno, newreno and cubic (RFC 8511).
    #[key(
        example = 0.85,
        unit = "factor",
        absent = "as after a loss",
        above = 0,
        below = 1,
        allowed = "a share above 0 and below 1"
    )]
    pub ecn_beta: Option<f64>,
    /// Segments are spread over the RTT. BBR and Prague always pace.
    #[key(example = true)]
    pub pacing: Option<bool>,
    /// Bursts of a paced sender; or false: single segments.
    #[key(example = table!("segments" => 2, "time" => "1 ms", "max" => "64 KiB"))]
    pub tso: Option<Switch<Tso>>,
    /// A burst of 1/n of the window leaves without waiting for a larger one (`tcp_tso_win_divisor`).
    #[key(example = 3, unit = "divisor", absent = 3)]
    pub tso_win_divisor: Option<Count>,
    /// PSH on every segment, or on the last one of each chunk.
    #[key(example = "chunks")]
    pub push: Option<Push>,
    /// TCP small queues: how much of the sender's data waits in the queue of its first hop; false: no
    /// limit.
    #[key(example = true, unit = "table or flag", absent = false)]
    pub tsq: Option<Switch<Tsq>>,
    /// Segments by which an ACK lets the window grow at most (RFC 3465); 0 counts ACKs.
    #[key(example = 2, unit = "segments", min = 0, allowed = "a number of segments, 0 or more (0 counts ACKs)")]
    pub byte_counting: Option<Count>,
    /// Duplicate ACKs that signal a loss.
    #[key(example = 3, unit = "ACKs")]
    pub dupack_threshold: Option<Count>,
    /// The window at the end of a NewReno recovery (RFC 6582, section 3.2, step 3): by the flight, or
    /// the threshold.
    #[key(example = "flight")]
    pub newreno_exit: Option<NewRenoExit>,
    /// The first two duplicate ACKs release new segments (RFC 3042).
    #[key(example = true)]
    pub limited_transmit: Option<bool>,
    /// RACK's tail loss probe (RFC 8985).
    #[key(example = true, absent = true)]
    pub tail_loss_probe: Option<bool>,
    /// A segment that fills a gap is acknowledged at once.
    #[key(example = true)]
    pub immediate_ack_on_fill: Option<bool>,
    /// Search for the path MTU without routers' reports (RFC 4821; `tcp_mtu_probing` 0, 1, 2): never, after
    /// a black hole is detected, or from the start.
    #[key(example = "black-hole", absent = "off")]
    pub mtu_probing: Option<MtuProbing>,
    /// The rules in which the host differs from the RFCs as Linux does: all (true), none, or a list
    /// of names.
    #[key(example = vec![Value::from("integer-controls")])]
    pub linux_rules: Option<LinuxRuleNames>,
    /// Maximum random delay of each packet in the sending host.
    #[key(example = "100 us", absent = "a share of a packet's time at the slowest hop")]
    pub overhead: Option<Time>,
}

/// The TCP keys of both ends, and those of the server or of the client alone, which override them.
#[derive(Clone, Debug, Default, PartialEq, Keys)]
pub struct TcpEnds {
    #[key(flatten)]
    pub both: TcpKeys,
    /// Keys of the server alone, over those of both ends: who sends downloads, and its congestion
    /// control.
    #[key(example = table!("host" => "linux-6"), absent = "as both ends")]
    pub server: Option<TcpKeys>,
    /// Keys of the client alone, over those of both ends: for downloads the receiver's, such as
    /// delayed ACKs, buffer and SACK.
    #[key(example = table!("host" => "windows-xp"), absent = "as both ends")]
    pub client: Option<TcpKeys>,
}

/// An end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    Server,
    Client,
}

impl End {
    pub const BOTH: [End; 2] = [End::Server, End::Client];

    pub fn name(self) -> &'static str {
        if self == End::Server { "server" } else { "client" }
    }
}

impl TcpEnds {
    /// The tables of an end, weakest first; None: those of both ends.
    pub fn at(&self, end: Option<End>) -> impl Iterator<Item = &TcpKeys> {
        [Some(&self.both), end.and_then(|end| self.own(end))].into_iter().flatten()
    }

    /// The keys of an end alone.
    pub fn own(&self, end: End) -> Option<&TcpKeys> {
        match end {
            End::Server => self.server.as_ref(),
            End::Client => self.client.as_ref(),
        }
    }
}
