//! The receiving half: reassembly, delayed ACKs, SACK blocks and the advertised window.

mod delayed_ack;
mod linux_acks;
mod linux_receive;
mod out_of_order;
mod window;

use super::ack_congestion_control::{AckCongestionControl, Tack};
use super::autotune::{RcvBufTuner, SocketMemory, WindowGrowth};
use super::config::{DelayedAck, TcpConfig, WindowRule};
use super::linux_rules::LinuxRule;
use super::ranges::RangeSet;
use super::sack_compression::SackCompressor;
use super::sender::STREAM_START;
use super::stats::ReceiverStats;
use super::timestamps::TimestampEcho;
use crate::packet::{Flags, Segment};
use crate::units::{Span, Time};
use linux_acks::LinuxAcks;
pub use linux_receive::LocalEnd;
use std::sync::Arc;

/// Fields of every segment come first, in four cache lines, of which a sender of data reads the first two:
/// with thousands of flows cache misses dominate.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Receiver {
    /// rcv.nxt.
    next: u64,
    /// First byte beyond the advertised window.
    advertised_edge: u64,
    ack_at: Time,
    ack_now: bool,
    /// A segment with PSH has arrived since the last ACK, and the host acknowledges PSH at once
    /// (Linux).
    psh_pending: bool,
    ack_on_psh: bool,
    /// Linux: the application reads all segments of an instant together (`reads_in_batches`);
    /// `app_behind`: it has not read them yet.
    reads_in_batches: bool,
    app_behind: bool,
    /// Data has arrived or has been read since the last advertised window.
    window_may_change: bool,
    window_scale: u8,
    /// See `advertise`.
    rounds_window_up: bool,
    /// ACKs are Linux's (`linux`).
    follows_linux: bool,
    /// Data was sent while an ACK was pending (Linux's ping-pong mode).
    pingpong: bool,
    /// SACK was negotiated.
    sack: bool,
    /// The last advertised window.
    advertised: u32,
    /// In-order segments since the last ACK.
    unacknowledged: u32,
    /// Segments still acknowledged one by one.
    quick_acks: u32,
    /// Sequence number of the peer's FIN, once known.
    fin: u64,
    tack: Option<Box<Tack>>,
    /// None: every out-of-order segment is acknowledged at once.
    sack_compressor: Option<Box<SackCompressor>>,
    out_of_order: RangeSet,
    /// Range of a duplicate segment since the last ACK, for a D-SACK (RFC 2883).
    duplicate_range: Option<(u64, u64)>,
    /// None: the buffer has a fixed size.
    tuner: Option<Box<RcvBufTuner>>,
    config: Arc<TcpConfig>,
    /// Out-of-order segments since the last in-order one.
    out_of_order_segments: u32,
    /// The host's rule, or the one that ACK congestion control sets.
    delayed_ack: Option<DelayedAck>,
    stats: ReceiverStats,
    ack_cc: Option<Box<AckCongestionControl>>,
    /// Bytes that the application had read before the batch.
    read_before_batch: u64,
    /// A byte of each block, the most recently changed block first (RFC 2018, section 4).
    recent: Vec<u64>,
    /// Where ACKs are Linux's.
    linux: LinuxAcks,
    /// None: the buffer does not count the memory of packets.
    memory: Option<Box<SocketMemory>>,
    /// The window of an ACK that is sent before the application reads.
    window_at_ack: Option<u32>,
    /// Bytes that the application has read.
    copied: u64,
    /// Bytes of a segment's headers, and the largest payload that is accepted.
    header_bytes: u32,
    own_mss: u32,
}

#[cfg(target_pointer_width = "64")]
const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Receiver, sack_compressor) <= 64 && offset_of!(Receiver, tuner) == 128);
    assert!(offset_of!(Receiver, stats) <= 192);
};

impl Receiver {
    pub fn new(config: Arc<TcpConfig>) -> Receiver {
        let unit = 1 << config.window_scale().unwrap_or(0);
        let linux = LinuxAcks::new(&config, STREAM_START);
        let own_mss = config.own_mss();
        let counts_memory = linux.is_on() && config.linux_rules.has(LinuxRule::ReceiveMemory);
        let tuning = config.receive_tuning;
        let memory = tuning
            .filter(|tuning| counts_memory && tuning.growth == WindowGrowth::Near)
            .map(|tuning| Box::new(SocketMemory::new(tuning, own_mss)));
        let tuner = tuning.filter(|_| memory.is_none()).map(|tuning| Box::new(RcvBufTuner::new(tuning, unit)));
        let window = match (&memory, &tuner) {
            (Some(memory), _) => u64::from(memory.initial_window(0)),
            (_, Some(tuner)) => tuner.rcv_ssthresh(),
            _ => u64::from(config.receive_buffer),
        };
        Receiver {
            follows_linux: linux.is_on(),
            linux,
            memory,
            window_at_ack: None,
            copied: 0,
            sack: true,
            header_bytes: config.header,
            own_mss,
            next: STREAM_START,
            out_of_order: RangeSet::default(),
            recent: Vec::new(),
            duplicate_range: None,
            fin: u64::MAX,
            unacknowledged: 0,
            delayed_ack: config.delayed_ack,
            out_of_order_segments: 0,
            ack_cc: config.ack_control.map(|ack_cc| Box::new(AckCongestionControl::new(ack_cc))),
            tack: config.delayed_ack.and_then(|rule| rule.per_rtt).map(|per_rtt| Box::new(Tack::new(per_rtt))),
            quick_acks: config.quick_acks,
            pingpong: false,
            sack_compressor: config.sack_compression.map(|rule| Box::new(SackCompressor::new(rule))),
            tuner,
            ack_at: Time::NEVER,
            ack_now: false,
            psh_pending: false,
            reads_in_batches: config.receive_tuning.is_some_and(|tuning| tuning.growth == WindowGrowth::Near),
            app_behind: false,
            window_may_change: true,
            advertised: 0,
            read_before_batch: 0,
            ack_on_psh: config.delayed_ack.is_some_and(|rule| rule.push),
            window_scale: 0,
            rounds_window_up: config.window_rule == WindowRule::Sequence,
            // The SYN advertises an unscaled window.
            advertised_edge: STREAM_START + window.min(0xFFFF),
            stats: ReceiverStats::default(),
            config,
        }
    }

    /// SACK was not negotiated: the peer counts duplicate ACKs, so every segment gets its own.
    pub fn do_without_sack(&mut self) {
        self.sack_compressor = None;
        self.sack = false;
    }

    /// The SYN with these options has been sent or is about to be: whole segments fit its window.
    pub fn on_syn_options(&mut self, option_bytes: u32) {
        if let Some(memory) = &self.memory {
            self.advertised_edge = STREAM_START + u64::from(memory.initial_window(option_bytes).min(0xFFFF));
        }
    }

    /// The handshake is complete; every segment has options of this many bytes.
    pub fn establish(&mut self, now: Time, option_bytes: u32) {
        self.header_bytes = self.config.header + option_bytes;
        self.advertised = self.first_window();
        if let Some(memory) = &mut self.memory {
            memory.establish(now, self.advertised);
        }
    }

    /// The peer's SYN has arrived again, with an ACK of ours: a duplicate, which Linux reports.
    pub fn on_second_syn(&mut self) {
        self.ack_now = true;
        if self.follows_linux && self.sack && self.config.dsack {
            self.duplicate_range = Some((STREAM_START - 1, STREAM_START));
        }
    }

    /// Unacceptable sequence numbers are answered as Linux does.
    #[inline]
    pub fn follows_linux(&self) -> bool {
        self.follows_linux
    }

    /// Window scaling was negotiated.
    pub fn scale_windows(&mut self, scale: u8) {
        self.window_may_change = true;
        self.window_scale = scale;
    }

    /// The window that the SYN advertised.
    pub fn first_window(&self) -> u32 {
        (self.advertised_edge - STREAM_START) as u32
    }
    pub fn next_expected(&self) -> u64 {
        self.next
    }
    #[inline]
    pub fn arrived(&self) -> u64 {
        self.next - STREAM_START - u64::from(self.peer_closed())
    }
    #[inline]
    pub fn peer_closed(&self) -> bool {
        self.next > self.fin
    }
    /// The peer has closed, and the segment begins behind its FIN.
    #[inline]
    pub fn is_beyond_fin(&self, segment: &Segment) -> bool {
        self.peer_closed() && segment.seq >= self.next
    }
    pub fn stats(&self) -> ReceiverStats {
        ReceiverStats { in_order_bytes: self.arrived(), ..self.stats }
    }
    #[inline]
    pub fn due(&self) -> Time {
        self.ack_at
    }

    /// The ACK rate depends on received segments.
    #[inline]
    pub fn adapts_acks(&self) -> bool {
        self.ack_cc.is_some() || self.tack.is_some()
    }

    /// Updates the ACK rate before data is processed. `clock` is our timestamp clock.
    #[inline(never)]
    pub fn adapt_acks(&mut self, segment: &Segment, clock: u32, rtt: Option<Span>) {
        if let (Some(tack), Some(rtt)) = (&mut self.tack, rtt) {
            tack.note_rtt(rtt);
        }
        if segment.payload > 0
            && let Some(ack_cc) = &mut self.ack_cc
        {
            self.delayed_ack = Some(ack_cc.on_data(segment, clock));
            self.ack_on_psh = false;
        }
    }

    /// A data segment was marked CE.
    pub fn count_ce(&mut self) {
        self.stats.marked_segments += 1;
    }

    /// An ACK for the data before the newest segment.
    pub fn earlier_ack(&mut self, seq: u64, ack: u64) -> Segment {
        self.stats.acks_sent += 1;
        let window = self.advertised_edge.saturating_sub(ack).min(0xFFFF_u64 << self.window_scale) >> self.window_scale
            << self.window_scale;
        Segment { seq, ack, flags: Flags::ACK, window: window as u32, ..Segment::default() }
    }

    /// A segment without payload or FIN, where ACKs are not Linux's.
    #[inline]
    pub fn on_pure_ack(&mut self, segment: &Segment) {
        // RFC 9293, section 3.10.7.4: an unacceptable segment, such as a window probe, is answered
        // with an ACK.
        self.ack_now |= segment.seq < self.next;
    }

    /// A segment with payload or FIN, where ACKs are not Linux's.
    #[inline]
    pub fn on_data(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        self.window_may_change = true;
        let expected = segment.seq == self.next && !segment.flags.has(Flags::FIN) && self.out_of_order.is_empty();
        if expected {
            self.accept(now, segment, segment.seq + u64::from(segment.payload), false);
        } else {
            self.take(now, segment);
        }
        if self.sack_compressor.is_some() || self.tuner.is_some() {
            self.tune(now, segment, echo);
        }
    }

    #[inline(never)]
    fn take(&mut self, now: Time, segment: &Segment) {
        let end = segment.seq.saturating_add(segment.seq_len());
        if segment.flags.has(Flags::FIN) && end > self.next {
            // The first FIN received is valid.
            self.fin = if self.fin == u64::MAX { end - 1 } else { self.fin };
        }
        if end <= self.next {
            self.stats.duplicates += 1;
            self.duplicate_range = self.config.dsack.then_some((segment.seq, end));
            self.ack_now = true;
            self.quick_acks = self.config.quick_acks;
            self.pingpong = false;
        } else if segment.seq > self.next {
            self.keep_out_of_order(now, segment, end);
        } else {
            let had_gap = !self.out_of_order.is_empty();
            self.note_duplicate_part(segment.seq, end);
            let end = self.filled_to(end);
            self.accept(now, segment, end, had_gap);
        }
    }

    /// Updates buffer autotuning and SACK compression with a data segment.
    #[inline(never)]
    fn tune(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        if segment.payload == 0 {
            return;
        }
        if let (Some(sack_compressor), Some(rtt)) = (&mut self.sack_compressor, echo.rtt()) {
            sack_compressor.on_rtt(rtt);
        }
        if let Some(tuner) = &mut self.tuner {
            tuner.on_data(now, echo, self.next, self.advertised_edge);
            tuner.on_out_of_order(self.out_of_order.last().map_or(0, |(_, end)| end - self.next));
        }
    }

    /// The segment fills the gap at rcv.nxt: rcv.nxt advances to `next`.
    #[inline]
    fn accept(&mut self, now: Time, segment: &Segment, next: u64, had_gap: bool) {
        self.stats.unique_ip_bytes += u64::from(segment.len);
        self.next = next;
        self.out_of_order_segments = 0;
        self.psh_pending |= self.ack_on_psh & segment.flags.has(Flags::PSH);
        let closed = self.peer_closed();
        if self.tuner.as_mut().is_some_and(|tuner| tuner.on_in_order(self.config.segment)) {
            // As in Linux (`icsk_ack.quick |= 1`): an odd count stays as it is.
            self.quick_acks |= 1;
        }
        if closed {
            // Nothing follows the FIN: Linux's tcp_fin() resets the SACK state.
            self.duplicate_range = None;
            self.stats.finished.get_or_insert(now);
        }
        self.schedule_ack(now, closed || (had_gap && self.config.immediate_ack_on_fill));
    }

    #[inline]
    pub fn wants_ack(&self) -> bool {
        self.ack_now
    }

    /// The next ACK represents enough duplicates for a fast retransmit.
    #[inline]
    pub fn marks_duplicates(&self) -> bool {
        self.ack_cc.is_some() && self.config.dupack_marking && self.out_of_order_segments >= self.config.dupack_threshold
    }

    /// Returns number and window of an ACK that is sent, alone or on data.
    #[inline]
    pub fn acknowledge(&mut self, now: Time, read: u64, on_data: bool) -> (u64, u32) {
        if let Some(tack) = &mut self.tack {
            tack.on_ack(now);
        }
        if self.follows_linux {
            return self.acknowledge_linux(now, read, on_data);
        }
        let window = self.advertise(read);
        self.finish_ack(window, on_data)
    }

    /// As `acknowledge`, where ACKs are Linux's.
    #[inline(never)]
    fn acknowledge_linux(&mut self, now: Time, read: u64, on_data: bool) -> (u64, u32) {
        self.linux.on_ack_sent(self.next);
        if on_data {
            self.linux.on_data_sent(now);
        }
        let window = if self.memory.is_some() { self.advertise_memory() } else { self.advertise(read) };
        self.finish_ack(window, on_data)
    }

    #[inline(always)]
    fn finish_ack(&mut self, window: u32, on_data: bool) -> (u64, u32) {
        if !on_data {
            self.stats.acks_sent += 1;
        } else if self.unacknowledged > 0 {
            self.pingpong = self.config.ping_pong;
        }
        if let Some(sack_compressor) = &mut self.sack_compressor {
            sack_compressor.on_ack_sent();
        }
        self.unacknowledged = 0;
        self.ack_at = Time::NEVER;
        (self.ack_now, self.psh_pending) = (false, false);
        (self.next, window)
    }
}
