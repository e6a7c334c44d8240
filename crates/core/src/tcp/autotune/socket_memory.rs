//! The receive buffer of a Linux socket, which counts the memory of packets and not their payload:
//! what may be advertised (`__tcp_select_window()`), how it grows with the first data
//! (`tcp_grow_window()`) and with the bytes read per RTT (`tcp_rcv_space_adjust()`).

use super::ReceiveTuning;
use super::round_trip::RoundTrip;
use crate::tcp::sender::STREAM_START;
use crate::tcp::timestamps::TimestampEcho;
use crate::units::Time;
use std::collections::VecDeque;

/// Windows per memory, in 256ths, before a full segment has shown the share of payload
/// (`TCP_DEFAULT_SCALING_RATIO`).
const FIRST_RATIO: u32 = 128;
const RATIO_ONE: u32 = 256;
/// Segments of the initial window (`TCP_INIT_CWND`): read per RTT before the first measurement.
const INITIAL_SEGMENTS: u32 = 10;
/// Segments by which the window grows per segment whose memory fits.
const GROWTH_SEGMENTS: u32 = 2;
/// Smaller segments do not open the window.
const SMALLEST_GROWTH: u32 = 128;

/// Bytes of a packet's memory beside its data: the structure, the shared part behind the data, and
/// room before the headers.
const STRUCTURE: u32 = 256;
const SHARED: u32 = 320;
const HEADROOM: u32 = 64;
/// Data and shared part of a small packet come from a cache of their own (`SKB_SMALL_HEAD_SIZE`, of a
/// kernel without wireless drivers).
const SMALL_PACKET: u32 = 576;
const CACHE_LINE: u32 = 64;

/// The memory of a packet of `bytes` with its headers, and what is free behind its data
/// (`skb->truesize`, `skb_tailroom()`): a linear packet in memory of a power of two.
fn packet_memory(bytes: u32) -> (u32, u32) {
    let used = HEADROOM + bytes;
    let with_shared = used.next_multiple_of(CACHE_LINE) + SHARED;
    let block = if with_shared <= SMALL_PACKET { SMALL_PACKET } else { with_shared.next_power_of_two() };
    (block + STRUCTURE, block - SHARED - used)
}

/// A packet that the application has not read, or one above a gap.
#[derive(Clone, Copy, Debug)]
struct HeldPacket {
    start: u64,
    end: u64,
    memory: u32,
    /// Free behind the data: a small segment that follows is copied there (`tcp_try_coalesce()`).
    room: u32,
}

impl HeldPacket {
    fn absorbs(&mut self, start: u64, end: u64) -> bool {
        let fits = start == self.end && end - start <= u64::from(self.room);
        if fits {
            self.room -= (end - start) as u32;
            self.end = end;
        }
        fits
    }
}

/// Sizes are in bytes; fields have the kernel's names.
#[derive(Clone, Debug)]
pub struct SocketMemory {
    /// `sk_rcvbuf`, and its maximum (`tcp_rmem[2]`).
    rcvbuf: u32,
    max: u32,
    /// `scaling_ratio`, in 256ths.
    ratio: u32,
    window_clamp: u32,
    rcv_ssthresh: u32,
    /// Payload of a full segment that this host accepts.
    advmss: u32,
    /// `sk_rmem_alloc`.
    held: u32,
    unread: VecDeque<HeldPacket>,
    out_of_order: Vec<HeldPacket>,
    rtt: RoundTrip,
    /// `rcvq_space`: maximum of bytes read per RTT, and the measurement in progress.
    space: u32,
    since: Time,
    read_before: u64,
    copied: u64,
}

impl SocketMemory {
    /// The buffer before the handshake. `advmss` is without options.
    pub fn new(tuning: ReceiveTuning, advmss: u32) -> SocketMemory {
        let mut memory = SocketMemory {
            rcvbuf: tuning.start,
            max: tuning.limit.max(tuning.start),
            ratio: FIRST_RATIO,
            window_clamp: u32::MAX,
            rcv_ssthresh: 0,
            advmss,
            held: 0,
            unread: VecDeque::new(),
            out_of_order: Vec::new(),
            rtt: RoundTrip::default(),
            space: 0,
            since: Time::ZERO,
            read_before: 0,
            copied: 0,
        };
        memory.rcv_ssthresh = memory.initial_window(0);
        memory
    }

    /// The window of the SYN in whole segments (`tcp_select_initial_window()`).
    pub fn initial_window(&self, option_bytes: u32) -> u32 {
        let (space, segment) = (self.window_of(self.rcvbuf), self.advmss.saturating_sub(option_bytes).max(1));
        if space > segment { space - space % segment } else { space }
    }

    /// The handshake is complete; `window` is that of the SYN (`tcp_init_buffer_space()`).
    pub fn establish(&mut self, now: Time, window: u32) {
        let full = self.window_of(self.rcvbuf);
        self.window_clamp = self.window_clamp.min(full);
        if self.window_clamp > 2 * self.advmss && self.window_clamp.saturating_add(self.advmss) > full {
            self.window_clamp = (2 * self.advmss).max(full - self.advmss);
        }
        self.rcv_ssthresh = window.min(self.window_clamp);
        self.space = self.rcv_ssthresh.min(window).min(INITIAL_SEGMENTS * self.advmss);
        self.since = now;
    }

    /// `tcp_win_from_space()`.
    fn window_of(&self, memory: u32) -> u32 {
        (u64::from(memory) * u64::from(self.ratio) / u64::from(RATIO_ONE)) as u32
    }

    /// `tcp_space_from_win()`.
    fn memory_of(&self, window: u64) -> u64 {
        window * u64::from(RATIO_ONE) / u64::from(self.ratio)
    }

    /// The memory of a packet with `len` bytes of payload, and the room behind them. One that was merged
    /// on arrival takes that of its segments.
    #[inline]
    fn packet(&self, len: u32, header: u32) -> (u32, u32) {
        if len <= self.advmss {
            return packet_memory(len + header);
        }
        let segments = len.div_ceil(self.advmss);
        (segments * packet_memory(len.div_ceil(segments) + header).0, 0)
    }

    fn free(&self) -> u32 {
        self.window_of(self.rcvbuf.saturating_sub(self.held))
    }

    pub fn window_clamp(&self) -> u32 {
        self.window_clamp
    }

    /// Nothing waits for the application, and nothing is above a gap.
    pub fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// The window for the present buffer; `segment` is the size of the peer's segments, `scale` the
    /// window's shift, `current` the last window. Returns also whether less than half is free, which
    /// ends quick ACKs (`__tcp_select_window()`).
    pub fn window(&self, segment: u32, scale: u8, current: u32) -> (u32, bool) {
        let allowed = self.window_of(self.rcvbuf);
        let full = self.window_clamp.min(allowed);
        let segment = segment.min(full);
        let unit = 1 << scale;
        let mut free = self.free();
        let short = free < full / 2;
        if short {
            free -= free % unit;
            if free < allowed / 16 || free < segment {
                return (0, true);
            }
        }
        let free = free.min(self.rcv_ssthresh);
        if scale > 0 {
            return (free.next_multiple_of(unit), short);
        }
        // Unscaled: whole segments.
        let window = if current.saturating_add(segment) <= free || current > free {
            free - free % segment.max(1)
        } else if segment == full && free > current.saturating_add(full / 2) {
            free
        } else {
            current
        };
        (window, short)
    }

    /// The first segment of a size shows the share of payload in a packet's memory
    /// (`tcp_measure_rcv_mss()`). `window` is the last one.
    #[cold]
    pub fn on_new_size(&mut self, len: u32, header: u32, window: u32) {
        let ratio = (len * RATIO_ONE / packet_memory(len + header).0).max(1);
        if ratio == self.ratio {
            return;
        }
        self.ratio = ratio;
        let (old, clamp) = (self.window_clamp, self.window_of(self.rcvbuf));
        self.window_clamp = clamp;
        if clamp < old {
            self.rcv_ssthresh = self.rcv_ssthresh.min(clamp);
        } else {
            self.rcv_ssthresh = self.rcv_ssthresh.max(window.min(clamp));
        }
        self.space = self.space.min(clamp);
    }

    /// A data segment arrived, before it is held. Only full segments give samples of the RTT.
    #[inline]
    pub fn on_echo(&mut self, echo: TimestampEcho, full: bool, next: u64) {
        if let Some(rtt) = echo.rtt().filter(|_| full) {
            self.rtt.first_echo(rtt, echo.value(), next > STREAM_START + self.copied);
        }
    }

    /// Data without timestamps: an RTT is the time that a window takes.
    #[inline]
    pub fn on_arrival(&mut self, now: Time, next: u64, edge: u64) {
        self.rtt.arrival(now, next, edge);
    }

    /// In-order data [start, end) waits for the application.
    #[inline]
    pub fn hold(&mut self, start: u64, end: u64, header: u32) {
        if self.unread.back_mut().is_some_and(|last| last.absorbs(start, end)) {
            return;
        }
        let (memory, room) = self.packet((end - start) as u32, header);
        self.held += memory;
        self.unread.push_back(HeldPacket { start, end, memory, room });
    }

    /// Data [start, end) is above a gap. `ahead` is what is above rcv.nxt: the buffer grows with it
    /// (`tcp_rcvbuf_grow()`).
    pub fn hold_out_of_order(&mut self, start: u64, end: u64, header: u32, ahead: u64) {
        let at = self.out_of_order.partition_point(|held| held.start <= start);
        let before = at.checked_sub(1).and_then(|before| self.out_of_order.get_mut(before));
        if before.is_some_and(|before| before.end >= end || before.absorbs(start, end)) {
            return self.grow_buffer(self.space, ahead);
        }
        let covered = self.out_of_order.iter().skip(at).take_while(|held| held.end <= end).count();
        self.held -= self.out_of_order.drain(at..at + covered).map(|held| held.memory).sum::<u32>();
        let (memory, room) = self.packet((end - start) as u32, header);
        self.held += memory;
        self.out_of_order.insert(at, HeldPacket { start, end, memory, room });
        self.grow_buffer(self.space, ahead);
    }

    /// rcv.nxt has advanced over data above a gap.
    pub fn fill_gap(&mut self, next: u64) {
        let filled = self.out_of_order.partition_point(|held| held.start < next);
        self.unread.extend(self.out_of_order.drain(..filled));
    }

    /// The FIN has arrived: what is beyond is dropped.
    pub fn drop_out_of_order(&mut self) {
        self.held -= self.out_of_order.drain(..).map(|held| held.memory).sum::<u32>();
    }

    /// The window opens with a segment of `len` bytes whose memory will fit. Returns whether it did
    /// (`tcp_grow_window()`).
    #[inline]
    pub fn open_window(&mut self, len: u32, header: u32, segment: u32) -> bool {
        let limit = self.window_clamp.min(self.free());
        if len < SMALLEST_GROWTH || limit <= self.rcv_ssthresh {
            return false;
        }
        let memory = self.packet(len, header).0;
        let growth = if self.window_of(memory) <= len {
            GROWTH_SEGMENTS * self.advmss
        } else {
            self.growth_of_small(len, memory, segment)
        };
        if growth == 0 {
            return false;
        }
        self.rcv_ssthresh += (limit - self.rcv_ssthresh).min(growth.max(GROWTH_SEGMENTS * len));
        true
    }

    /// A segment that takes more memory than its share opens small windows only
    /// (`__tcp_grow_window()`).
    #[cold]
    fn growth_of_small(&self, len: u32, memory: u32, segment: u32) -> u32 {
        let (mut memory, mut window) = (self.window_of(memory) / 2, self.window_of(self.max) / 2);
        while self.rcv_ssthresh <= window {
            if memory <= len {
                return GROWTH_SEGMENTS * segment;
            }
            (memory, window) = (memory / 2, window / 2);
        }
        0
    }

    /// The application has read `read` bytes in total of `arrived`, a packet after the other: what is
    /// measured is measured when the first has been read, and the others still wait.
    #[inline]
    pub fn on_read(&mut self, now: Time, read: u64, arrived: u64, ahead: u64) {
        self.copied = read;
        let edge = STREAM_START + read;
        let first_end = self.unread.front().map_or(edge, |first| first.end.min(edge));
        while let Some(first) = self.unread.front().filter(|first| first.end <= edge) {
            self.held -= first.memory;
            self.unread.pop_front();
        }
        if self.rtt.time().is_some_and(|rtt| now - self.since >= rtt) {
            self.measure(now, first_end - STREAM_START, arrived, ahead);
        }
    }

    /// Once per RTT the buffer grows with what was read in it, less what waits
    /// (`tcp_rcv_space_adjust()`).
    #[inline(never)]
    fn measure(&mut self, now: Time, read: u64, arrived: u64, ahead: u64) {
        let copied = (read - self.read_before).saturating_sub(arrived - read);
        if copied > u64::from(self.space) {
            self.grow_buffer(u32::try_from(copied).unwrap_or(u32::MAX), ahead);
        }
        (self.since, self.read_before) = (now, read);
    }

    /// Twice the bytes read, and twice the relative increase on top, so that a sender in slow start
    /// never waits (`tcp_rcvbuf_grow()`).
    fn grow_buffer(&mut self, space: u32, ahead: u64) {
        let before = self.space.max(1);
        self.space = space;
        let twice = 2 * u64::from(space);
        let more = twice * u64::from(space.saturating_sub(before)) / u64::from(before);
        let memory = self.memory_of(twice + 2 * more + ahead).min(u64::from(self.max)) as u32;
        if memory > self.rcvbuf {
            self.rcvbuf = memory;
            self.window_clamp = self.window_of(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::autotune::WindowGrowth;
    use crate::units::Span;

    const TUNING: ReceiveTuning = ReceiveTuning {
        start: 131_072,
        limit: 6 << 20,
        share: 0.625,
        opening: 65_535,
        growth: WindowGrowth::Near,
        overhead: None,
    };

    fn established() -> SocketMemory {
        let mut memory = SocketMemory::new(TUNING, 1460);
        memory.establish(Time::ZERO, memory.initial_window(0));
        memory
    }

    #[test]
    fn packet_takes_a_power_of_two_and_its_structure() {
        for (bytes, memory) in [(41, 832), (192, 832), (193, 1280), (1040, 2304), (1500, 2304), (9000, 16_640)] {
            assert_eq!(packet_memory(bytes).0, memory, "{bytes}");
        }
    }

    #[test]
    fn first_window_is_whole_segments_of_half_the_buffer() {
        let memory = SocketMemory::new(TUNING, 1460);
        assert_eq!((memory.initial_window(0), memory.initial_window(12)), (64_240, 65_160));
    }

    #[test]
    fn window_follows_from_what_is_free_when_a_segment_has_shown_the_share() {
        let mut memory = established();
        memory.on_new_size(1000, 40, 64_240);
        memory.hold(1, 1001, 40);
        // (131072 - 2304) * 111 / 256, in units of 128.
        assert_eq!(memory.window(1000, 7, 64_240), (55_936, false));
        memory.on_read(Time::ZERO, 1000, 1000, 0);
        assert!(memory.is_empty());
        assert_eq!(memory.window(1000, 7, 64_240), (56_832, false));
    }

    #[test]
    fn window_closes_when_less_than_a_segment_is_free() {
        let mut memory = established();
        memory.on_new_size(1000, 40, 64_240);
        for n in 0..56 {
            memory.hold(1000 * n + 1, 1000 * n + 1001, 40);
        }
        assert_eq!(memory.window(1000, 7, 64_240), (0, true));
    }

    #[test]
    fn small_segment_takes_the_room_behind_the_last_packet() {
        let mut memory = established();
        memory.hold(1, 1001, 40);
        memory.hold(1001, 1101, 40);
        assert_eq!(memory.held, 2304);
        // Room for 624 bytes less 100; not next to the last packet, it takes memory of its own.
        memory.hold(1101, 1700, 40);
        assert_eq!(memory.held, 2304 + 1280);
    }

    #[test]
    fn duplicate_above_a_gap_takes_no_memory() {
        let mut memory = established();
        memory.hold_out_of_order(1001, 2001, 40, 2000);
        memory.hold_out_of_order(2001, 3001, 40, 3000);
        memory.hold_out_of_order(1001, 2001, 40, 3000);
        assert_eq!(memory.held, 2 * 2304);
        memory.hold(1, 1001, 40);
        memory.fill_gap(3001);
        memory.on_read(Time::ZERO, 3000, 3000, 0);
        assert!(memory.is_empty());
    }

    #[test]
    fn merged_packet_takes_the_memory_of_its_segments() {
        let memory = established();
        assert_eq!(memory.packet(3 * 1448, 52).0, 3 * 2304);
    }

    #[test]
    fn bytes_that_wait_behind_the_first_read_packet_do_not_count() {
        let mut memory = established();
        let rtt = Span::from_ms(100);
        memory.on_new_size(1448, 52, 65_160);
        memory.on_echo(TimestampEcho::aged(1, rtt), true, 1);
        memory.on_read(Time::ZERO + rtt, 14_480, 14_480, 0);
        for n in 10..30 {
            memory.hold(1448 * n + 1, 1448 * (n + 1) + 1, 52);
        }
        memory.on_read(Time::ZERO + rtt + rtt, 30 * 1448, 30 * 1448, 0);
        assert_eq!(memory.rcvbuf, 131_072, "one segment read, 19 wait");
        assert!(memory.is_empty());
        assert_eq!(memory.read_before, 11 * 1448, "the other 19 belong to the next RTT");
    }

    #[test]
    fn buffer_grows_to_twice_the_bytes_read_in_an_rtt() {
        let mut memory = established();
        let rtt = Span::from_ms(100);
        memory.on_new_size(1448, 52, 65_160);
        memory.on_echo(TimestampEcho::aged(1, rtt), true, 1);
        memory.on_read(Time::ZERO + rtt, 14_600, 14_600, 0);
        assert_eq!(memory.rcvbuf, 131_072, "no more than the initial window");
        memory.on_read(Time::ZERO + rtt + rtt, 14_600 + 58_400, 14_600 + 58_400, 0);
        // 2 * 58400 and 2 * 2 * 58400 * 43800 / 14600 of window, 256/160 of it in memory.
        assert_eq!(memory.rcvbuf, (58_400 * 2 + 58_400 * 2 * 3 * 2) * 256 / 160);
    }
}
