//! How socket buffers grow by themselves, as in Linux since 2.6: the receiver's with what the application reads in a round trip
//! (dynamic right-sizing, Fisk and Feng 2001), the sender's with its window (Semke, Mahdavi and Mathis 1998).

use crate::units::{Span, Time};

/// A receive buffer that grows. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReceiveTuning {
    /// The buffer at the start.
    pub start: u32,
    /// The most it grows to.
    pub limit: u32,
    /// The part of the buffer that is advertised: the rest is for headers and bookkeeping.
    pub share: f64,
    /// The window at the start; it opens by two segments for each that arrives in order, as far as the buffer allows.
    pub opening: u32,
    pub growth: WindowGrowth,
    /// What a segment takes in the buffer beside its payload: the first says what share of it windows may promise (Linux since 6.5).
    /// None: `share` stays.
    pub overhead: Option<u32>,
}

/// How far a receive buffer grows with what the application has read in a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowGrowth {
    /// Twice that (Linux 2.6; Fisk and Feng 2001).
    Double,
    /// Only when it is more than ever before: twice that and 16 segments, and twice over by as much as it is more, so that a sender in
    /// slow start never waits (Linux since 3.12).
    Lead,
}

impl ReceiveTuning {
    /// What a buffer of this size lets the receiver advertise: a byte at least, or nothing would ever come.
    pub fn window(&self, buffer: u32) -> u32 {
        ((f64::from(buffer) * self.share) as u32).max(1)
    }

    /// The share of the buffer that is payload when it is full of segments with so much.
    pub fn by_size(&self, segment: u32) -> ReceiveTuning {
        let share =
            self.overhead.map_or(self.share, |overhead| f64::from(segment) / f64::from(segment.saturating_add(overhead).max(1)));
        ReceiveTuning { share, ..*self }
    }

    /// The largest window that it will ever come to.
    pub fn largest_window(&self, segment: u32) -> u32 {
        self.window(self.limit).max(self.by_size(segment).window(self.limit))
    }
}

/// A send buffer that grows. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendTuning {
    pub start: u64,
    pub limit: u64,
    /// What a segment takes in the buffer beside its payload.
    pub overhead: u32,
}

impl SendTuning {
    /// Payload that a buffer holds which has grown to twice this window (in segments): the window itself and its successor.
    pub fn payload(&self, cwnd: f64, segment: u32) -> u64 {
        let each = u64::from(segment + self.overhead);
        let wanted = (2.0 * libm::floor(cwnd)) as u64 * each;
        // The last segment may start while there is any room, as a kernel that counts before it copies lets it.
        wanted.clamp(self.start, self.limit.max(self.start)).div_ceil(each) * u64::from(segment)
    }
}

/// Gains of the round-trip estimate by timestamps: 1/8, as for SRTT.
const RTT_GAIN: u64 = 8;
/// By how many segments the window opens for one that arrives.
const OPENING_SEGMENTS: u64 = 2;
/// Segments that `Lead` leaves for what arrives before the growth is seen.
const LEAD_SEGMENTS: u64 = 16;
/// And segments that count as read before there was a measurement: an initial window (RFC 6928), or the opening where that is less.
const LEAD_START: u64 = 10;

/// A receive buffer at work.
#[derive(Clone, Debug)]
pub struct WindowTuner {
    /// The window that the buffer allows, and the most it may ever allow.
    buffer: u64,
    limit: u64,
    /// How far the window has opened (the kernel's `rcv_ssthresh`).
    opened: u64,
    rtt: RoundTrip,
    /// Start of the measurement under way, and what the application had read then.
    since: Option<Time>,
    read_before: u64,
    growth: WindowGrowth,
    /// The most that was read in a round trip, and the size of what arrives: what `Lead` goes by.
    most_read: u64,
    segment: u64,
    tuning: ReceiveTuning,
}

/// The round trip as a receiver can see it.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrip {
    time: Option<Span>,
    by_echo: bool,
    /// When the window of the measurement under way began, and its end.
    window: Option<(Time, u64)>,
}

impl RoundTrip {
    /// A data segment's timestamp echoes the ACK that allowed it: smoothed, as it includes the sender's own waits.
    fn echo(&mut self, rtt: Span) {
        let old = self.time.filter(|_| self.by_echo).unwrap_or(rtt);
        self.by_echo = true;
        self.time = Some(Span(old.0 - old.0 / RTT_GAIN + rtt.0 / RTT_GAIN));
    }

    /// Without timestamps: what lies beyond a window's edge was sent after a later ACK, so it takes a round trip; the fastest counts.
    fn arrival(&mut self, now: Time, next: u64, edge: u64) {
        if let Some((since, end)) = self.window {
            if next <= end {
                return;
            }
            let took = now - since;
            self.time = Some(self.time.map_or(took, |least| least.min(took)));
        }
        self.window = Some((now, edge));
    }
}

impl WindowTuner {
    /// `unit` is the smallest window that can be said, given the scale: less would be said as none.
    pub fn new(tuning: ReceiveTuning, unit: u64) -> WindowTuner {
        let buffer = u64::from(tuning.window(tuning.start)).max(unit);
        WindowTuner {
            buffer,
            limit: u64::from(tuning.window(tuning.limit)).max(buffer),
            opened: u64::from(tuning.opening).clamp(unit, buffer),
            growth: tuning.growth,
            most_read: u64::from(tuning.opening).clamp(unit, buffer),
            segment: 0,
            tuning,
            rtt: RoundTrip::default(),
            since: None,
            read_before: 0,
        }
    }

    /// The window that the buffer has room for when it is empty.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }
    /// The most to advertise now.
    pub fn opened(&self) -> u64 {
        self.opened
    }

    /// Data came. `next` is the first byte missing, `edge` that of the window last advertised.
    pub fn on_data(&mut self, now: Time, echo_rtt: Option<Span>, next: u64, edge: u64) {
        match echo_rtt {
            Some(rtt) => self.rtt.echo(rtt),
            None if !self.rtt.by_echo => self.rtt.arrival(now, next, edge),
            None => {}
        }
    }

    /// A segment came in order. Whether it opened the window: Linux then acknowledges it at once (`tcp_grow_window()`, in 2.6 and in 6
    /// alike), so that the sender soon hears of the room.
    pub fn on_in_order(&mut self, segment: u32) -> bool {
        if self.segment == 0 {
            self.segment = u64::from(segment);
            self.most_read = self.most_read.min(LEAD_START * self.segment);
            self.see_size(segment);
        }
        let before = self.opened;
        self.opened = (before + OPENING_SEGMENTS * u64::from(segment)).min(self.buffer.max(before));
        self.opened > before
    }

    /// The first segment shows how much of the buffer is payload (`scaling_ratio`). What has been promised stands.
    fn see_size(&mut self, segment: u32) {
        if self.tuning.overhead.is_some() {
            let sized = self.tuning.by_size(segment);
            self.buffer = u64::from(sized.window(sized.start)).max(self.opened);
            self.limit = u64::from(sized.window(sized.limit)).max(self.buffer);
        }
    }

    /// The buffer that goes with what was read in a round trip.
    fn wanted(&mut self, copied: u64) -> u64 {
        match self.growth {
            WindowGrowth::Double => 2 * copied,
            WindowGrowth::Lead if copied <= self.most_read => 0,
            WindowGrowth::Lead => {
                let wanted = 2 * copied + LEAD_SEGMENTS * self.segment;
                let more = u128::from(wanted) * u128::from(copied - self.most_read) / u128::from(self.most_read.max(1));
                self.most_read = copied;
                wanted.saturating_add(u64::try_from(2 * more).unwrap_or(u64::MAX))
            }
        }
    }

    /// The application has read so much in all: once a round trip, the buffer grows with what was read in it.
    pub fn on_read(&mut self, now: Time, read: u64) {
        let Some(since) = self.since else {
            (self.since, self.read_before) = (Some(now), read);
            return;
        };
        if self.rtt.time.is_none_or(|rtt| now - since < rtt) {
            return;
        }
        let wanted = self.wanted(read - self.read_before);
        self.buffer = self.buffer.max(wanted.min(self.limit));
        (self.since, self.read_before) = (Some(now), read);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Span = Span::from_ms(100);
    const TUNING: ReceiveTuning =
        ReceiveTuning { start: 40_000, limit: 400_000, share: 0.75, opening: 4000, growth: WindowGrowth::Double, overhead: None };

    /// A tuner that has seen the round trip.
    fn tuner() -> WindowTuner {
        let mut tuner = WindowTuner::new(TUNING, 1);
        tuner.on_data(Time::ZERO, Some(RTT), 1, 1);
        tuner.on_read(Time::ZERO, 0);
        tuner
    }

    fn after(rounds: u64) -> Time {
        Time::ZERO + RTT.saturating_mul(rounds)
    }

    #[test]
    fn the_window_starts_at_the_buffers_share_and_opens_by_two_segments_each() {
        let mut tuner = tuner();
        assert_eq!((tuner.buffer(), tuner.opened()), (30_000, 4000));
        assert!(tuner.on_in_order(1000));
        assert_eq!(tuner.opened(), 6000);
        let opening = (0..100).filter(|_| tuner.on_in_order(1000)).count();
        assert_eq!((opening, tuner.opened()), (12, 30_000));
    }

    /// 1448 B and 856 B of a segment: 0.628 of the buffer in place of half, 82,373 B of 128 KiB; 100 B and 856 B: less than was promised.
    #[test]
    fn the_first_segments_size_says_what_share_of_the_buffer_is_payload() {
        let tuning = ReceiveTuning { start: 131_072, limit: 262_144, share: 0.5, opening: 40_000, overhead: Some(856), ..TUNING };
        assert_eq!(tuning.largest_window(1448), 164_750);
        for (segment, buffer, limit) in [(1448, 82_375, 164_750), (100, 40_000, 40_000)] {
            let mut tuner = WindowTuner::new(tuning, 1);
            assert_eq!(tuner.buffer(), 65_536);
            tuner.on_in_order(segment);
            assert_eq!((tuner.buffer, tuner.limit), (buffer, limit), "{segment}");
        }
    }

    #[test]
    fn a_reader_that_takes_a_window_a_round_trip_doubles_it_up_to_the_limit() {
        let mut tuner = tuner();
        let mut read = 0;
        for (round, expected) in [(1, 60_000), (2, 120_000), (3, 240_000), (4, 300_000), (5, 300_000)] {
            read += tuner.buffer();
            tuner.on_read(after(round), read);
            assert_eq!(tuner.buffer(), expected, "round {round}");
        }
    }

    /// Opening 4000, segments of 1000: a round trip of 4000 or less grows nothing; 8000 is twice as much as ever, so
    /// 2 * 8000 + 16000 = 32000, and twice 32000 * 4000 / 4000 more: 96000.
    #[test]
    fn a_leading_window_grows_by_what_is_more_than_before() {
        let mut tuner = WindowTuner::new(ReceiveTuning { growth: WindowGrowth::Lead, ..TUNING }, 1);
        tuner.on_in_order(1000);
        tuner.on_data(Time::ZERO, Some(RTT), 1, 1);
        tuner.on_read(Time::ZERO, 0);
        tuner.on_read(after(1), 4000);
        assert_eq!(tuner.buffer(), 30_000);
        tuner.on_read(after(2), 12_000);
        assert_eq!(tuner.buffer(), 96_000);
        tuner.on_read(after(3), 20_000);
        assert_eq!(tuner.buffer(), 96_000);
        // 12000: 2 * 12000 + 16000 = 40000, and twice 40000 * 4000 / 8000, which is less than there is.
        tuner.on_read(after(4), 32_000);
        assert_eq!(tuner.buffer(), 96_000);
    }

    /// The opening is the whole first buffer, as in Linux 6, and still the first full window read makes it grow.
    #[test]
    fn a_leading_window_grows_beyond_its_opening() {
        let tuning = ReceiveTuning {
            start: 131_072,
            limit: 6 << 20,
            share: 0.5,
            opening: 65_535,
            growth: WindowGrowth::Lead,
            overhead: None,
        };
        let mut tuner = WindowTuner::new(tuning, 1);
        tuner.on_in_order(1448);
        tuner.on_data(Time::ZERO, Some(RTT), 1, 1);
        tuner.on_read(Time::ZERO, 0);
        tuner.on_read(after(1), 10 * 1448);
        assert_eq!(tuner.buffer(), 65_536);
        tuner.on_read(after(2), 30 * 1448);
        // 2 * 20 * 1448 + 16 * 1448 = 81088, and twice as much more for twice as much read.
        assert_eq!(tuner.buffer(), 3 * 81_088);
    }

    #[test]
    fn a_reader_that_takes_half_a_window_or_nothing_leaves_it_as_it_is() {
        let mut tuner = tuner();
        tuner.on_read(after(1), 15_000);
        tuner.on_read(after(2), 15_000);
        assert_eq!(tuner.buffer(), 30_000);
    }

    #[test]
    fn it_never_shrinks_and_never_grows_within_a_round_trip() {
        let mut tuner = tuner();
        tuner.on_read(after(1), 50_000);
        assert_eq!(tuner.buffer(), 100_000);
        tuner.on_read(after(1) + Span::from_ms(99), 1_000_000);
        assert_eq!(tuner.buffer(), 100_000);
        tuner.on_read(after(2), 1_000_000);
        tuner.on_read(after(3), 1_000_001);
        assert_eq!(tuner.buffer(), 300_000);
    }

    #[test]
    fn without_timestamps_the_fastest_window_is_the_round_trip() {
        let mut trip = RoundTrip::default();
        trip.arrival(Time::ZERO, 1, 5001);
        trip.arrival(after(1), 5001, 9001);
        assert_eq!(trip.time, None);
        trip.arrival(after(2), 5002, 9001);
        assert_eq!(trip.time, Some(RTT.saturating_mul(2)));
        trip.arrival(after(3), 9002, 20_001);
        trip.arrival(after(6), 20_002, 30_001);
        assert_eq!(trip.time, Some(RTT));
    }

    #[test]
    fn timestamps_are_smoothed_by_an_eighth() {
        let mut trip = RoundTrip::default();
        trip.echo(Span::from_ms(80));
        trip.echo(Span::from_ms(160));
        assert_eq!(trip.time, Some(Span::from_ms(90)));
    }

    #[test]
    fn the_send_buffer_is_twice_the_window_between_its_bounds() {
        let tuning = SendTuning { start: 16_384, limit: 131_072, overhead: 400 };
        // 16384 / 1400 = 11.7: the twelfth segment still begins.
        assert_eq!(tuning.payload(2.0, 1000), 12_000);
        assert_eq!(tuning.payload(10.9, 1000), 20_000);
        assert_eq!(tuning.payload(20.0, 1000), 40_000);
        // 131072 / 1400 = 93.6
        assert_eq!(tuning.payload(1000.0, 1000), 94_000);
    }
}
