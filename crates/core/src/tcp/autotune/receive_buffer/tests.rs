//! A receive buffer by hand-made arrivals.

use super::*;

const RTT: Span = Span::from_ms(100);
const TUNING: ReceiveTuning =
    ReceiveTuning { start: 40_000, limit: 400_000, share: 0.75, opening: 4000, growth: WindowGrowth::Double, overhead: None };

/// A tuner that has seen the round trip.
fn tuner() -> RcvBufTuner {
    let mut tuner = RcvBufTuner::new(TUNING, 1);
    tuner.on_data(Time::ZERO, TimestampEcho::aged(1, RTT), 1, 1);
    tuner.on_read(Time::ZERO, 0);
    tuner
}

fn after(rounds: u64) -> Time {
    Time::ZERO + RTT.saturating_mul(rounds)
}

#[test]
fn the_window_starts_at_the_buffers_share_and_opens_by_two_segments_each() {
    let mut tuner = tuner();
    assert_eq!((tuner.buffer(), tuner.rcv_ssthresh()), (30_000, 4000));
    assert!(tuner.on_in_order(1000));
    assert_eq!(tuner.rcv_ssthresh(), 6000);
    let opening = (0..100).filter(|_| tuner.on_in_order(1000)).count();
    assert_eq!((opening, tuner.rcv_ssthresh()), (12, 30_000));
}

/// 1448 B and 856 B of a segment: 0.628 of the buffer in place of half, 82,373 B of 128 KiB; 100 B and 856 B: less than was promised.
#[test]
fn the_first_segments_size_says_what_share_of_the_buffer_is_payload() {
    let tuning = ReceiveTuning { start: 131_072, limit: 262_144, share: 0.5, opening: 40_000, overhead: Some(856), ..TUNING };
    assert_eq!(tuning.largest_window(1448), 164_750);
    for (segment, buffer, limit) in [(1448, 82_375, 164_750), (100, 40_000, 40_000)] {
        let mut tuner = RcvBufTuner::new(tuning, 1);
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
    let mut tuner = RcvBufTuner::new(ReceiveTuning { growth: WindowGrowth::Lead, ..TUNING }, 1);
    tuner.on_in_order(1000);
    tuner.on_data(Time::ZERO, TimestampEcho::aged(1, RTT), 1, 1);
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
    let tuning =
        ReceiveTuning { start: 131_072, limit: 6 << 20, share: 0.5, opening: 65_535, growth: WindowGrowth::Lead, overhead: None };
    let mut tuner = RcvBufTuner::new(tuning, 1);
    tuner.on_in_order(1448);
    tuner.on_data(Time::ZERO, TimestampEcho::aged(1, RTT), 1, 1);
    tuner.on_read(Time::ZERO, 0);
    tuner.on_read(after(1), 10 * 1448);
    assert_eq!(tuner.buffer(), 65_536);
    tuner.on_read(after(2), 30 * 1448);
    // 2 * 20 * 1448 + 16 * 1448 = 81088, and twice as much more for twice as much read.
    assert_eq!(tuner.buffer(), 3 * 81_088);
}

/// As above without the cushion: 2 * 8000, and twice 16000 * 4000 / 4000 more; then what waits beyond a gap, over twice the most read.
#[test]
fn a_near_window_has_no_cushion_and_counts_what_waits_out_of_order() {
    let mut tuner = RcvBufTuner::new(ReceiveTuning { growth: WindowGrowth::Near, ..TUNING }, 1);
    tuner.on_in_order(1000);
    tuner.on_data(Time::ZERO, TimestampEcho::aged(1, RTT), 1, 1);
    tuner.on_read(Time::ZERO, 0);
    read_one_by_one(&mut tuner, after(1), 1..=4);
    read_one_by_one(&mut tuner, after(2), 5..=12);
    assert_eq!(tuner.buffer(), 48_000);
    tuner.on_out_of_order(30_000);
    assert_eq!(tuner.buffer(), 48_000);
    tuner.on_out_of_order(40_000);
    assert_eq!(tuner.buffer(), 56_000);
}

/// Segments of 1000, a millisecond apart, the last at `end`.
fn read_one_by_one(tuner: &mut RcvBufTuner, end: Time, segments: std::ops::RangeInclusive<u64>) {
    let last = *segments.end();
    segments.for_each(|n| tuner.on_read(Time(end.0 - Span::from_ms(last - n).0), 1000 * n));
}

/// The same 8000, but four of them at once: 5000 have been read when the first of the four is, and 3000 wait, which leaves 2000.
#[test]
fn a_near_window_is_measured_when_the_first_of_several_segments_has_been_read_without_those_that_wait() {
    let mut tuner = RcvBufTuner::new(ReceiveTuning { growth: WindowGrowth::Near, ..TUNING }, 1);
    tuner.on_in_order(1000);
    tuner.on_data(Time::ZERO, TimestampEcho::aged(1, RTT), 1, 1);
    tuner.on_read(Time::ZERO, 0);
    read_one_by_one(&mut tuner, after(1), 1..=4);
    read_one_by_one(&mut tuner, Time(after(2).0 - 1), 5..=8);
    tuner.on_read(after(2), 12_000);
    assert_eq!(tuner.buffer(), 30_000);
    assert_eq!(tuner.read_before, 9000, "the next round trip begins with what waited");
}

/// An ACK lets two segments go: the second waited for the first. A shorter round trip counts at once, a longer one by an eighth.
#[test]
fn a_near_windows_round_trip_is_the_least_timed_once_for_each_echo() {
    let mut trip = RoundTrip::default();
    for (timestamp, ms, expected) in [(1, 100, 100), (1, 60, 100), (2, 80, 80), (3, 160, 90), (4, 70, 70)] {
        trip.first_echo(Span::from_ms(ms), timestamp);
        assert_eq!(trip.time, Some(Span::from_ms(expected)), "{timestamp}");
    }
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
