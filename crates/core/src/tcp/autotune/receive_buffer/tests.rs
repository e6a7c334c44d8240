//! Receive buffer autotuning with arrivals set by hand.

use super::*;
use crate::units::Span;

const RTT: Span = Span::from_ms(100);
const TUNING: ReceiveTuning =
    ReceiveTuning { start: 40_000, limit: 400_000, share: 0.75, opening: 4000, growth: WindowGrowth::Double, overhead: None };

/// A tuner with an RTT sample.
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
fn window_starts_at_the_opening_and_grows_by_two_segments_per_segment() {
    let mut tuner = tuner();
    assert_eq!((tuner.buffer(), tuner.rcv_ssthresh()), (30_000, 4000));
    assert!(tuner.on_in_order(1000));
    assert_eq!(tuner.rcv_ssthresh(), 6000);
    let opening = (0..100).filter(|_| tuner.on_in_order(1000)).count();
    assert_eq!((opening, tuner.rcv_ssthresh()), (12, 30_000));
}

/// 1448 B and 856 B of overhead: 0.628 of the buffer instead of half, 82,373 B of 128 KiB. 100 B
/// and 856 B: less than the advertised window.
#[test]
fn payload_share_follows_from_the_first_segment() {
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
fn buffer_doubles_up_to_the_limit_when_a_window_is_read_per_rtt() {
    let mut tuner = tuner();
    let mut read = 0;
    for (round, expected) in [(1, 60_000), (2, 120_000), (3, 240_000), (4, 300_000), (5, 300_000)] {
        read += tuner.buffer();
        tuner.on_read(after(round), read);
        assert_eq!(tuner.buffer(), expected, "round {round}");
    }
}

/// Initial window 4000, segments of 1000: 4000 or less per RTT grows nothing; 8000 is twice the
/// maximum, so 2 * 8000 + 16000 = 32000, and twice 32000 * 4000 / 4000 on top: 96000.
#[test]
fn lead_grows_by_the_increase_over_the_maximum_read() {
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
    // 12000: 2 * 12000 + 16000 = 40000, and twice 40000 * 4000 / 8000, less than the buffer.
    tuner.on_read(after(4), 32_000);
    assert_eq!(tuner.buffer(), 96_000);
}

/// The initial window is the whole first buffer, as in Linux 6; the first full window read makes it
/// grow.
#[test]
fn lead_grows_beyond_the_opening() {
    let tuning =
        ReceiveTuning { start: 131_072, limit: 6 << 20, share: 0.5, opening: 65_535, growth: WindowGrowth::Lead, overhead: None };
    let mut tuner = RcvBufTuner::new(tuning, 1);
    tuner.on_in_order(1448);
    tuner.on_data(Time::ZERO, TimestampEcho::aged(1, RTT), 1, 1);
    tuner.on_read(Time::ZERO, 0);
    tuner.on_read(after(1), 10 * 1448);
    assert_eq!(tuner.buffer(), 65_536);
    tuner.on_read(after(2), 30 * 1448);
    // 2 * 20 * 1448 + 16 * 1448 = 81088, and twice the relative increase on top.
    assert_eq!(tuner.buffer(), 3 * 81_088);
}

/// As above without the 16 segments: 2 * 8000, and twice 16000 * 4000 / 4000; then out-of-order
/// data on top of twice the maximum read.
#[test]
fn near_adds_out_of_order_data_and_no_constant() {
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

/// Segments of 1000 bytes, a millisecond apart, the last at `end`.
fn read_one_by_one(tuner: &mut RcvBufTuner, end: Time, segments: std::ops::RangeInclusive<u64>) {
    let last = *segments.end();
    segments.for_each(|n| tuner.on_read(Time(end.0 - Span::from_ms(last - n).0), 1000 * n));
}

/// The same 8000, four segments of them at once: 5000 are read with the first of the four, and 3000
/// wait, which leaves 2000.
#[test]
fn near_measures_at_the_first_segment_of_a_batch() {
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

/// An ACK releases two segments: the second waited for the first. A smaller sample counts at once,
/// a larger one by an eighth.
#[test]
fn near_rtt_is_the_minimum_sampled_once_per_echo() {
    let mut trip = RoundTrip::default();
    for (timestamp, ms, expected) in [(1, 100, 100), (1, 60, 100), (2, 80, 80), (3, 160, 90), (4, 70, 70)] {
        trip.first_echo(Span::from_ms(ms), timestamp, false);
        assert_eq!(trip.time(), Some(Span::from_ms(expected)), "{timestamp}");
    }
}

/// Of two segments of one instant, which echo different ACKs, the second finds the first unread.
#[test]
fn near_rtt_rises_only_by_segments_that_find_no_unread_data() {
    let mut tuner = RcvBufTuner::new(ReceiveTuning { growth: WindowGrowth::Near, ..TUNING }, 1);
    let longer = |n: u32| TimestampEcho::aged(n, RTT + RTT);
    tuner.on_data(Time::ZERO, TimestampEcho::aged(1, RTT), 1001, 1);
    tuner.on_read(Time::ZERO, 1000);
    tuner.on_data(after(1), longer(2), 2001, 1);
    tuner.on_data(after(1), longer(3), 3001, 1);
    assert_eq!(tuner.rtt.time(), Some(Span(RTT.0 + RTT.0 / 8)), "the first of the two counts");
    tuner.on_read(after(1), 3000);
    tuner.on_data(after(2), TimestampEcho::aged(4, RTT), 4001, 1);
    tuner.on_data(after(2), TimestampEcho::aged(5, Span(RTT.0 / 2)), 5001, 1);
    assert_eq!(tuner.rtt.time(), Some(Span(RTT.0 / 2)), "a smaller sample counts at once");
}

#[test]
fn buffer_stays_when_at_most_half_a_window_is_read_per_rtt() {
    let mut tuner = tuner();
    tuner.on_read(after(1), 15_000);
    tuner.on_read(after(2), 15_000);
    assert_eq!(tuner.buffer(), 30_000);
}

#[test]
fn buffer_never_shrinks_and_never_grows_within_an_rtt() {
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
fn rtt_is_the_fastest_window_without_timestamps() {
    let mut trip = RoundTrip::default();
    trip.arrival(Time::ZERO, 1, 5001);
    trip.arrival(after(1), 5001, 9001);
    assert_eq!(trip.time(), None);
    trip.arrival(after(2), 5002, 9001);
    assert_eq!(trip.time(), Some(RTT.saturating_mul(2)));
    trip.arrival(after(3), 9002, 20_001);
    trip.arrival(after(6), 20_002, 30_001);
    assert_eq!(trip.time(), Some(RTT));
}

#[test]
fn rtt_by_timestamps_is_smoothed_by_an_eighth() {
    let mut trip = RoundTrip::default();
    trip.echo(Span::from_ms(80));
    trip.echo(Span::from_ms(160));
    assert_eq!(trip.time(), Some(Span::from_ms(90)));
}
