//! Links, packet by packet.

use crate::common::{Arrival, Driver, Journey, TCP_ACK, TCP_SYN, arrivals, travel, travel_metered};
use ackclock_core::link::{Framing, FusedLink, RateLink, TraceError, TraceLink};
use ackclock_core::queue::{AnyQueue, DropTail, Limit};
use ackclock_core::units::{Rate, Span, Time};

fn at_us(us: u64) -> Time {
    Time::ZERO + Span::from_us(us)
}

fn tail(limit: Limit) -> AnyQueue {
    AnyQueue::DropTail(DropTail::new(limit))
}

/// Packets of these lengths at these times in microseconds.
fn at(us_and_len: &[(u64, u16)]) -> Vec<Arrival> {
    arrivals(us_and_len.iter().map(|&(us, len)| (at_us(us), len)))
}

fn left_us(journey: &Journey) -> Vec<(u64, u32)> {
    journey.left.iter().map(|(at, p)| (at.0 / 1_000_000, p.flow)).collect()
}

fn trace(times_ms: &[u64], limit: Limit) -> TraceLink {
    TraceLink::new(times_ms.into(), Framing::None, tail(limit)).unwrap()
}

#[test]
fn packet_in_transmission_does_not_count_against_the_limit() {
    // 8 Mb/s: a byte takes a microsecond.
    let burst = at(&[(0, 1000), (0, 1000), (0, 1000), (0, 1000)]);
    for (limit, passes) in [
        (Limit::packets(0), vec![0]),
        (Limit::packets(1), vec![0, 1]),
        (Limit::packets(2), vec![0, 1, 2]),
        (Limit::bytes(0), vec![0]),
        (Limit::bytes(999), vec![0]),
        (Limit::bytes(1000), vec![0, 1]),
        (Limit::bytes(2999), vec![0, 1, 2]),
        (Limit { packets: 2, bytes: 1000 }, vec![0, 1]),
        (Limit::NONE, vec![0, 1, 2, 3]),
    ] {
        let link = RateLink::new(Rate::from_bps(8_000_000), Framing::None, tail(limit));
        let wire = FusedLink::new(Some(Rate::from_bps(8_000_000)), Span::ZERO, limit, Framing::None);
        assert_eq!(travel(link, &burst, Driver::Steps).numbers(), passes, "{limit:?}");
        assert_eq!(travel(wire, &burst, Driver::Steps).numbers(), passes, "{limit:?}");
    }
}

#[test]
fn arrival_uses_the_place_freed_at_the_same_instant() {
    let traffic = at(&[(0, 1000), (0, 1000), (999, 1000), (1000, 1000)]);
    let link = RateLink::new(Rate::from_bps(8_000_000), Framing::None, tail(Limit::packets(1)));
    assert_eq!(left_us(&travel(link, &traffic, Driver::Restless { seed: 1 })), [(1000, 0), (2000, 1), (3000, 3)]);
}

#[test]
fn header_compression_shortens_the_transmission_and_not_the_packet() {
    // 9.6 kb/s: 6 bytes in 5 ms, instead of 33.3 ms for 40 bytes.
    let ack = |number, us, kind| Arrival { at: at_us(us), number, len: 40, kind };
    let traffic = [ack(0, 0, TCP_SYN), ack(1, 100_000, TCP_ACK), ack(2, 100_000, TCP_ACK)];
    let link = RateLink::new(Rate::from_bps(9_600), Framing::Cslip, tail(Limit::NONE));
    let journey = travel_metered(link, &traffic, Driver::Steps, &[at_us(200_000)]);
    assert_eq!(left_us(&journey), [(33_333, 0), (105_000, 1), (110_000, 2)]);
    assert!(journey.left.iter().all(|(_, p)| p.len == 40 && p.wire_len == 40));
    assert_eq!(journey.readings[0].0.as_ref().unwrap().sent_bytes, 40 + 6 + 6);
}

#[test]
fn fused_link_without_rate_adds_only_its_delay() {
    let wire = FusedLink::new(None, Span::from_ms(3), Limit::packets(0), Framing::None);
    assert_eq!(left_us(&travel(wire, &at(&[(0, 1500), (0, 1500), (5, 40)]), Driver::Steps)), [(3000, 0), (3000, 1), (3005, 2)]);
}

#[test]
fn trace_link_sends_at_its_opportunities() {
    for (what, times_ms, traffic, expected) in [
        ("a packet waits for the next opportunity", &[3, 7][..], at(&[(100, 1500)]), vec![(3000, 0)]),
        (
            "the list repeats with its last time as the period",
            &[3, 7],
            at(&[(7500, 1500), (7500, 1500)]),
            vec![(10_000, 0), (14_000, 1)],
        ),
        (
            "an opportunity at 0 follows the last of the round before",
            &[0, 5],
            at(&[(4000, 1500), (4000, 1500)]),
            vec![(5000, 0), (5000, 1)],
        ),
        (
            "small packets share an opportunity",
            &[2],
            at(&[(0, 500), (0, 500), (0, 500), (0, 500)]),
            vec![(2000, 0), (2000, 1), (2000, 2), (4000, 3)],
        ),
        ("a packet may span opportunities", &[2], at(&[(0, 1000), (0, 1000), (0, 1000)]), vec![(2000, 0), (4000, 1), (4000, 2)]),
        (
            "equal times are several opportunities",
            &[2, 2],
            at(&[(0, 1500), (0, 1500), (0, 1500)]),
            vec![(2000, 0), (2000, 1), (4000, 2)],
        ),
        ("an opportunity at the arrival's instant is gone", &[2], at(&[(2000, 40)]), vec![(4000, 0)]),
        (
            "what a packet leaves of an opportunity is gone",
            &[2],
            at(&[(0, 40), (2000, 40), (2000, 1500)]),
            vec![(2000, 0), (4000, 1), (6000, 2)],
        ),
        (
            "opportunities are lost while the queue is empty",
            &[1],
            at(&[(50_500, 1500), (50_500, 1500)]),
            vec![(51_000, 0), (52_000, 1)],
        ),
    ] {
        assert_eq!(left_us(&travel(trace(times_ms, Limit::NONE), &traffic, Driver::Steps)), expected, "{what}");
        assert_eq!(left_us(&travel(trace(times_ms, Limit::NONE), &traffic, Driver::Restless { seed: 1 })), expected, "{what}");
    }
}

#[test]
fn trace_link_queue_delay_ends_with_the_first_byte() {
    // The first packet is in transmission from 2 ms on and no longer queued; before that it is.
    let traffic = at(&[(0, 1600), (0, 1500), (2500, 1500), (2500, 1500)]);
    assert_eq!(travel(trace(&[2], Limit::packets(1)), &traffic, Driver::Steps).numbers(), [0, 2]);
    assert_eq!(travel(trace(&[2], Limit::packets(0)), &traffic, Driver::Steps).numbers(), [0; 0]);
}

#[test]
fn trace_link_utilization_is_sent_over_offered_bytes() {
    // 10 opportunities in the first 11 ms (the one at 11 ms excluded); 1500 + 750 bytes are sent.
    let traffic = at(&[(2500, 1500), (5500, 750), (20_000, 1500)]);
    let journey =
        travel_metered(trace(&[1], Limit::NONE), &traffic, Driver::Steps, &[at_us(11_000), at_us(21_000), at_us(31_000)]);
    let meters: Vec<_> = journey.readings.iter().map(|(meter, _)| meter.as_ref().unwrap()).collect();
    let offered: Vec<_> = meters.iter().map(|m| (m.sent_bytes, m.offered_bytes)).collect();
    assert_eq!(offered, [(2250, Some(15_000)), (0, Some(15_000)), (1500, Some(15_000))]);
    assert!((meters[0].utilization(at_us(11_000)) - 0.15).abs() < 1e-12);
    assert!((meters[0].queue_delay.mean().unwrap() - 0.5e-3).abs() < 1e-9);
    let delivered: Vec<_> = journey.readings.iter().map(|(_, sample)| sample.unwrap().delivered_bytes).collect();
    assert_eq!(delivered, [2250, 2250, 3750], "a series counts from the start of the run");
}

// finding("U6")
#[test]
fn trace_link_offers_the_opportunities_from_its_start_on() {
    // Opportunities at 2, 3 and 10 ms, from 3 ms on: the one at 3 ms is past, the next ones are
    // 7, 9 and 10 ms later.
    let link = trace(&[2, 3, 10], Limit::NONE).starting_at(Span::from_ms(3));
    let traffic = at(&[(0, 1500), (0, 1500), (0, 1500), (0, 1500)]);
    let journey = travel_metered(link, &traffic, Driver::Steps, &[at_us(9_500)]);
    assert_eq!(left_us(&journey), [(7000, 0), (9000, 1), (10_000, 2), (17_000, 3)]);
    // The opportunity at 3 ms of the recording counts as the others of the first instant do.
    assert_eq!(journey.readings[0].0.as_ref().unwrap().offered_bytes, Some(4500));
}

#[test]
fn trace_link_skips_a_long_idle_time_at_once() {
    // A hundred days of 1 ms opportunities: stepping through them would take minutes.
    let day_us = 86_400_000_000;
    let traffic = at(&[(0, 1500), (100 * day_us + 300, 1500)]);
    assert_eq!(left_us(&travel(trace(&[1, 2, 3], Limit::NONE), &traffic, Driver::Steps)), [(1000, 0), (100 * day_us + 1000, 1)]);
}

#[test]
fn trace_link_rejects_unsorted_or_empty_opportunities() {
    let refused = |times_ms: &[u64]| TraceLink::new(times_ms.into(), Framing::None, tail(Limit::NONE)).err();
    assert_eq!(refused(&[]), Some(TraceError::Empty));
    assert_eq!(refused(&[0, 0]), Some(TraceError::NoPeriod));
    assert_eq!(refused(&[1, 5, 4]), Some(TraceError::Unsorted { line: 3 }));
    assert_eq!(refused(&[0, 1]), None);
    // Times out of range are never due.
    let far = TraceLink::new([u64::MAX].into(), Framing::None, tail(Limit::NONE)).unwrap();
    assert_eq!(travel(far, &at(&[(5, 40)]), Driver::Steps).held, 1);
}
