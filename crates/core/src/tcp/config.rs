//! What a host's TCP is made of. Host stacks are data: the front reads them from files and fills this in whole.

use super::ack_congestion_control::AckCongestionControlConfig;
use super::autotune::{ReceiveTuning, SendTuning};
use super::cc::slow_start::{Classic, SlowStart};
use super::cc::{UserVariant, Variant};
use super::ecn::{EcnMode, EcnPackets};
use super::metrics_cache::MetricsCache;
use super::recovery::RecoveryKind;
use super::sack_compression::SackCompression;
use super::tso::TsoAutosize;
use crate::units::Span;

/// One TCP's parameters. Windows are in segments, sizes in bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct TcpConfig {
    /// How the window moves.
    pub variant: Variant,
    /// A congestion control from outside, in the variant's place.
    pub user: Option<UserVariant>,
    /// How the window opens, for variants that have no way of their own.
    pub slow_start: SlowStart,
    /// The least growth a round trip before `cubic`'s first loss, as a share of its window: 0 in RFC 9438.
    pub first_climb: f64,
    /// How loss is repaired.
    pub recovery: RecoveryKind,
    /// Payload of a full segment.
    pub segment: u32,
    /// IP and TCP header without options.
    pub header: u32,
    /// Most bytes sent and not yet acknowledged; `u64::MAX`: no limit.
    pub send_buffer: u64,
    /// The most that is ever advertised.
    pub receive_buffer: u32,
    /// None: the buffers keep their sizes.
    pub send_tuning: Option<SendTuning>,
    pub receive_tuning: Option<ReceiveTuning>,
    pub window_rule: WindowRule,
    /// None acknowledges every segment.
    pub delayed_ack: Option<DelayedAck>,
    /// No more ACKs than this a round trip, for data that comes in order (TACK); the timer of the delayed ACK bounds the wait.
    pub acks_per_rtt: Option<f64>,
    /// Thins ACKs while they meet congestion, and counts for `delayed_ack`; needs timestamps and `ecn`.
    pub ack_control: Option<AckCongestionControlConfig>,
    /// A mark on an ACK that enough duplicates have been seen calls for a fast retransmit; ACK congestion control sets it.
    pub dupack_marking: bool,
    /// Segments sent back to back at most; the next go a part of a round trip later (`asymmetry`, sender adaptation). 1 paces at cwnd/srtt.
    pub max_burst: Option<u32>,
    /// Segments acknowledged one by one at the start, and again after data arrives twice.
    pub quick_acks: u32,
    /// A host that answers what it gets with data of its own delays its ACKs at once, quick ones or not: they ride on the answers.
    pub ping_pong: bool,
    /// None: each segment out of order gets its ACK.
    pub sack_compression: Option<SackCompression>,
    /// In segments.
    pub initial_window: f64,
    /// In segments; infinity: slow start runs to the first loss.
    pub initial_ssthresh: f64,
    pub rto: RtoConfig,
    /// What a connection takes over from those before it to the same peer.
    pub metrics_cache: MetricsCache,
    pub sack: bool,
    /// Report segments that arrive twice (RFC 2883).
    pub dsack: bool,
    /// Take back a cut that D-SACKs show to have been for nothing (RFC 3708).
    pub undo: bool,
    /// A SACK times a segment as an ACK number does; else only what moves the ACK number gives round trips.
    pub sack_rtt: bool,
    /// Likewise one that the echo of a timestamp does (Eifel detection, RFC 3522).
    pub eifel: bool,
    /// Likewise one that F-RTO does (RFC 5682).
    pub frto: FrtoKind,
    /// What a pause leaves of the window.
    pub idle_restart: IdleRestart,
    /// What becomes of a window that is not used.
    pub window_validation: WindowValidation,
    /// Vegas's retransmission by the time a segment left (Brakmo and Peterson 1995, section 3.1).
    pub fine_timer: bool,
    pub timestamps: bool,
    /// What the timestamps option costs on the wire; 12 in a real stack, 0 in ns-2.
    pub timestamp_bytes: u32,
    /// What a SACK option costs beside its blocks; 4 with its padding, 0 in ns-2.
    pub sack_base_bytes: u32,
    pub sack_block_bytes: u32,
    pub syn_option_bytes: u32,
    pub window_scaling: bool,
    pub ecn: EcnMode,
    pub ecn_packets: EcnPackets,
    /// What a mark leaves of the window, for variants whose answer to one RFC 8511 (ABE) changes.
    pub ecn_beta: Option<f64>,
    /// Spread a window over the round trip, for variants that do not pace themselves (they always do).
    pub pacing: bool,
    /// What is paced leaves in chunks; None: segment by segment.
    pub tso: Option<TsoAutosize>,
    /// Which segments ask for delivery at once (PSH).
    pub push: Push,
    /// TCP small queues: the most that waits in the host's own queue, in the words of a chunk; None: all that the windows allow.
    pub tsq: Option<TsoAutosize>,
    /// Most segments of growth that one ACK may earn; 0 counts ACKs (before RFC 3465).
    pub byte_counting: u32,
    pub dupack_threshold: u32,
    pub newreno_exit: NewRenoExit,
    /// RFC 3042: a new segment on each of the first two duplicate ACKs.
    pub limited_transmit: bool,
    /// RFC 5681, section 4.2: acknowledge at once when a segment fills a gap.
    pub immediate_ack_on_fill: bool,
}

/// RFC 1122, section 4.2.3.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DelayedAck {
    /// An ACK for this many full segments at the latest.
    pub segments: u32,
    /// And after this time at the latest.
    pub timer: Span,
    /// And at once when the application has read all there is and a segment with PSH was among it, outside ping-pong mode: Linux
    /// (`tcp_cleanup_rbuf()`; for full segments since 6.6, "fix delayed ACKs for MSS boundary condition").
    pub push: bool,
}

/// Which segments of data carry PSH (RFC 9293, section 3.9.1.2, leaves it to a sender that is not told).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Push {
    /// Each.
    Every,
    /// The last of all that has been written, and the last of each chunk of two segments or more, as Linux does since 5.5 ("force a
    /// PSH flag on TSO packets"). A chunk is what windows and `tso` let go at once.
    Chunks,
}

/// RFC 6298 with the parameters in which stacks differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RtoConfig {
    pub initial: Span,
    pub min: Span,
    pub max: Span,
    /// Clock granularity G.
    pub tick: Span,
    /// What the minimum bounds.
    pub floor: RtoFloor,
    pub restart: RtoRestart,
}

/// What starts the timer anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoRestart {
    /// ACKs of new data (RFC 6298, 5.3).
    Advance,
    /// Those, and the retransmission with which a fast recovery begins, as ns-2's Sack1 does (RFC 6675, section 6, allows it on each).
    Recovery,
    /// ACKs of new data, and each retransmission of the oldest segment, as Linux does: the answer to it gets a whole timeout.
    Head,
    /// Those, and a SACK of what left before the oldest segment last did, as Linux has done since its timer is kept while SACKs
    /// of older data come in; of younger data none, or a lost retransmission would never time out.
    HeadAndSack,
    /// All, duplicates too, as ns-2's TCP-Linux does: no timeout comes while ACKs do, so what finds no lost retransmission waits for ever.
    EveryAck,
}

impl RtoRestart {
    /// A retransmission of the oldest segment does.
    #[inline]
    pub fn by_head(self) -> bool {
        matches!(self, Self::Head | Self::HeadAndSack)
    }
}

/// The RFC bounds the timeout; Linux bounds the variance term, so its timeout is never below SRTT + minimum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RtoFloor {
    Timeout,
    Variance,
}

/// Where NewReno's window goes at the end of a recovery (RFC 6582, section 3.2, step 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NewRenoExit {
    /// Option 1: min(ssthresh, what is in flight + 1): no burst.
    Flight,
    /// Option 2: ssthresh, burst or not; what ns-2 does.
    Threshold,
}

/// The form of F-RTO (RFC 5682).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrtoKind {
    Off,
    /// Section 2.1: by ACK numbers alone.
    Basic,
    /// Section 3.1: with what SACK tells; `Basic` where the peer does no SACK.
    Sack,
}

/// What is left of the window when nothing has been sent for longer than a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleRestart {
    /// All of it.
    Off,
    /// The initial window (RFC 5681, section 4.1).
    Restart,
    /// Half for each timeout (RFC 2861, section 3.1, as in Linux).
    Decay,
}

/// What becomes of a window of which the application uses a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowValidation {
    /// It stays.
    Off,
    /// It shrinks with each timeout's time (RFC 2861, section 3.2; Linux).
    Rfc2861,
    /// It stays for minutes, also over a pause, and a loss cuts what was used of it (RFC 7661).
    Rfc7661,
}

/// What the advertised window bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowRule {
    /// Sequence space from the last byte acknowledged, out-of-order data included (RFC 9293): a loss soon stalls the sender.
    Sequence,
    /// What is in flight, as ns-2's `window_` does: its receivers hold any amount out of order.
    InFlight,
}

impl TcpConfig {
    /// IP length of a segment with this payload and these options.
    pub fn wire_len(&self, payload: u32, timestamps: bool, sack_blocks: u32) -> u16 {
        let timestamp_len = if timestamps { self.timestamp_bytes } else { 0 };
        let sack = if sack_blocks > 0 { self.sack_base_bytes + sack_blocks * self.sack_block_bytes } else { 0 };
        u16::try_from(self.header + timestamp_len + sack + payload).unwrap_or(u16::MAX)
    }

    /// Blocks that fit: three beside timestamps, else four (RFC 2018, section 3).
    pub fn max_sack_blocks(&self) -> usize {
        if self.timestamps { 3 } else { 4 }
    }

    /// RFC 7323: the smallest scale by which the whole buffer can be advertised in 16 bits.
    pub fn window_scale(&self) -> Option<u8> {
        self.window_scaling.then(|| (0..14).find(|s| self.receive_buffer >> s <= 0xFFFF).unwrap_or(14))
    }
}

impl Default for TcpConfig {
    /// ns-2's stack, which the oracles use: no option costs bytes, every ACK counts one.
    fn default() -> TcpConfig {
        TcpConfig {
            variant: Variant::Reno,
            user: None,
            slow_start: SlowStart::Classic(Classic),
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
            acks_per_rtt: None,
            ack_control: None,
            dupack_marking: false,
            max_burst: None,
            quick_acks: 0,
            ping_pong: false,
            sack_compression: None,
            initial_window: 2.0,
            initial_ssthresh: f64::INFINITY,
            rto: RtoConfig {
                initial: Span::from_secs(3),
                min: Span::from_ms(200),
                max: Span::from_secs(60),
                tick: Span::from_ms(1),
                floor: RtoFloor::Timeout,
                restart: RtoRestart::Advance,
            },
            metrics_cache: MetricsCache::Off,
            sack: true,
            dsack: false,
            undo: false,
            sack_rtt: false,
            eifel: false,
            frto: FrtoKind::Off,
            idle_restart: IdleRestart::Off,
            window_validation: WindowValidation::Off,
            fine_timer: false,
            timestamps: true,
            timestamp_bytes: 0,
            sack_base_bytes: 0,
            sack_block_bytes: 8,
            syn_option_bytes: 0,
            window_scaling: true,
            ecn: EcnMode::Off,
            ecn_packets: EcnPackets::Data,
            ecn_beta: None,
            pacing: false,
            tso: None,
            push: Push::Every,
            tsq: None,
            byte_counting: 0,
            dupack_threshold: 3,
            newreno_exit: NewRenoExit::Threshold,
            limited_transmit: false,
            immediate_ack_on_fill: true,
        }
    }
}
