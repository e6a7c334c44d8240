//! Links against closed forms, against each other, and against a slow reference model.

use crate::common::{Arrival, Driver, arrivals, traffic, travel, travel_metered, travel_queue};
use ackclock_core::element::QueueId;
use ackclock_core::impairment::Delay;
use ackclock_core::link::{
    Cells, Framing, FusedLink, LinkConfig, LinkLayer, RateLink, RateSchedule, RateScheduleConfig, TraceLink,
};
use ackclock_core::meter::LinkMeter;
use ackclock_core::queue::{AnyQueue, DropTail, Limit};
use ackclock_core::units::{PS_PER_S, Rate, Span, Time};
use proptest::prelude::*;

fn tail(limit: Limit) -> AnyQueue {
    AnyQueue::DropTail(DropTail::new(limit))
}

fn rate_link(bps: u64, limit: Limit, framing: Framing) -> RateLink {
    RateLink::new(Rate::from_bps(bps), framing, tail(limit))
}

fn wire(bps: u64, delay: Span, limit: Limit, framing: Framing) -> FusedLink {
    FusedLink::new(Some(Rate::from_bps(bps)), delay, limit, framing)
}

fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![Just(8_000_000u64), Just(28_800), Just(9_999_991), Just(123_456_789), 1_000u64..10_000_000_000]
}

fn limits() -> impl Strategy<Value = Limit> {
    let both = |(packets, bytes)| Limit { packets, bytes };
    prop_oneof![
        Just(Limit::NONE),
        (0u64..10).prop_map(Limit::packets),
        (0u64..6000).prop_map(Limit::bytes),
        (0u64..10, 0u64..6000).prop_map(both)
    ]
}

fn framings() -> impl Strategy<Value = Framing> {
    let docsis = Framing::LinkLayer(LinkLayer { cells: Cells::None, overhead: 18, mpu: 64 });
    prop_oneof![Just(Framing::None), Just(Framing::Cslip), Just(docsis)]
}

/// To the nearest picosecond, calculated without `Rate`.
fn service(bps: u64, bytes: u16) -> u64 {
    let (ps, bps) = (u128::from(bytes) * 8 * u128::from(PS_PER_S), u128::from(bps));
    ((2 * ps + bps) / (2 * bps)) as u64
}

/// Lindley (1952): packet n departs at the maximum of A_k + S_k + .. + S_n over all k up to n.
/// Dropped packets are left out.
fn lindley(traffic: &[Arrival], bps: u64, limit: Limit) -> Vec<(Time, u32)> {
    let mut accepted: Vec<(Arrival, u64)> = Vec::new();
    for &arrival in traffic {
        let waiting =
            accepted.iter().filter(|(a, left)| left - service(bps, a.len) > arrival.at.0).map(|(a, _)| u64::from(a.len));
        let (packets, bytes) = waiting.fold((0, 0), |(n, sum), len| (n + 1, sum + len));
        let busy = accepted.last().is_some_and(|&(_, left)| left > arrival.at.0);
        if busy && (packets + 1 > limit.packets || bytes + u64::from(arrival.len) > limit.bytes) {
            continue;
        }
        let mut after = service(bps, arrival.len);
        let mut latest = arrival.at.0 + after;
        for (earlier, _) in accepted.iter().rev() {
            after += service(bps, earlier.len);
            latest = latest.max(earlier.at.0 + after);
        }
        accepted.push((arrival, latest));
    }
    accepted.into_iter().map(|(a, left)| (Time(left), a.number)).collect()
}

/// The meter's values in a form that can be compared exactly.
fn figures(meter: &LinkMeter) -> (u64, Span, u128, [u64; 3], Option<f64>) {
    let counts = [meter.sent_packets, meter.sent_bytes, meter.drops];
    (meter.queue_delay.count(), meter.busy, meter.packet_time, counts, meter.queue_delay.mean())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn droptail_and_fixed_rate_match_lindleys_recursion_exactly(traffic in traffic(60), bps in rates(), limit in limits()) {
        let left = travel(rate_link(bps, limit, Framing::None), &traffic, Driver::Steps);
        prop_assert_eq!(left.times(), lindley(&traffic, bps, limit));
    }

    #[test]
    fn fused_link_matches_a_rate_link_and_a_delay(
        traffic in traffic(100), bps in rates(), limit in limits(), framing in framings(), delay in (0u64..50_000_000_000).prop_map(Span),
    ) {
        let link = travel(rate_link(bps, limit, framing), &traffic, Driver::Steps);
        let far = travel(Delay::new(delay), &link.onward(), Driver::Steps);
        let wire = travel(wire(bps, delay, limit, framing), &traffic, Driver::Steps);
        prop_assert_eq!(wire.times(), far.times());
        prop_assert_eq!(wire.counts.dropped, link.counts.dropped);
    }

    #[test]
    fn fused_link_meter_matches_the_rate_link_at_any_time(
        traffic in traffic(100), bps in rates(), limit in limits(), framing in framings(),
        at in prop::collection::vec((0u64..300_000_000_000).prop_map(Time), 1..6), ends in prop::collection::vec(0usize..100, 1..6),
    ) {
        let plain = travel(rate_link(bps, limit, framing), &traffic, Driver::Steps).times();
        // Also at the instants at which one transmission ends and the next begins.
        let mut at: Vec<Time> = ends.into_iter().filter_map(|i| plain.get(i % plain.len().max(1))).map(|&(end, _)| end).chain(at).collect();
        at.sort();
        let link = travel_metered(rate_link(bps, limit, framing), &traffic, Driver::Steps, &at);
        let wire = travel_metered(wire(bps, Span::from_ms(7), limit, framing), &traffic, Driver::Steps, &at);
        for ((t, a), b) in at.iter().zip(&link.readings).zip(&wire.readings) {
            prop_assert_eq!(a.0.as_ref().map(figures), b.0.as_ref().map(figures), "meters at {:?}", t);
            prop_assert_eq!(a.1, b.1, "samples at {:?}", t);
        }
    }

    #[test]
    fn fused_links_match_consecutive_links(
        traffic in traffic(80), links in prop::collection::vec((rates(), limits(), framings(), 0u64..20_000_000_000), 2..4),
        mut at in prop::collection::vec((0u64..300_000_000_000).prop_map(Time), 1..6),
    ) {
        at.sort();
        let single = |&(bps, limit, framing, delay): &(u64, Limit, Framing, u64)| wire(bps, Span(delay), limit, framing);
        let joined = || links.iter().map(single).reduce(FusedLink::then).unwrap();
        let mut onward = traffic.clone();
        let mut drops = 0;
        for (i, link) in links.iter().enumerate() {
            let apart = travel_metered(single(link), &onward, Driver::Steps, &at);
            let place = QueueId { link: i as u32, station: 0 };
            let together = travel_queue(joined(), &traffic, Driver::Restless { seed: 3 }, &at, place);
            for ((t, a), b) in at.iter().zip(&apart.readings).zip(&together.readings) {
                prop_assert_eq!(a.0.as_ref().map(figures), b.0.as_ref().map(figures), "meter {} at {:?}", i, t);
                prop_assert_eq!(a.1, b.1, "sample {} at {:?}", i, t);
            }
            drops += apart.counts.drops();
            onward = apart.onward();
        }
        let far = travel(joined(), &traffic, Driver::Steps);
        prop_assert_eq!(far.onward(), onward);
        prop_assert_eq!(far.counts.drops(), drops);
    }

    #[test]
    fn stations_of_a_fused_link_match_separate_links(traffic in traffic(80), bps in rates(), limit in limits(), owners in prop::collection::vec(0u32..3, 80)) {
        let config = LinkConfig { rate: Some(Rate::from_bps(bps)), delay: Span::from_ms(2), limit, framing: Framing::None };
        let shared = travel(FusedLink::with_stations(config, 3, owners.clone().into()), &traffic, Driver::Steps);
        for owner in 0..3 {
            let of_owner = |number: u32| owners.get(number as usize) == Some(&owner);
            let own: Vec<Arrival> = traffic.iter().copied().filter(|a| of_owner(a.number)).collect();
            let alone = travel(wire(bps, Span::from_ms(2), limit, Framing::None), &own, Driver::Steps);
            let among: Vec<(Time, u32)> = shared.times().into_iter().filter(|&(_, number)| of_owner(number)).collect();
            prop_assert_eq!(among, alone.times());
        }
    }

    #[test]
    fn busy_time_and_queue_integral_match_the_closed_forms(traffic in traffic(60), bps in rates(), end in 1u64..400_000_000_000) {
        let readings = [Time(end / 2), Time(end)];
        let meters = travel_metered(wire(bps, Span::ZERO, Limit::NONE, Framing::None), &traffic, Driver::Steps, &readings).readings;
        let overlap = |from: u64, to: u64, (low, high): (u64, u64)| to.min(high).saturating_sub(from.max(low));
        for (i, window) in [(0, end / 2), (end / 2, end)].into_iter().enumerate() {
            let (mut busy, mut waited) = (0, 0);
            for (&(left, _), arrival) in lindley(&traffic, bps, Limit::NONE).iter().zip(&traffic) {
                let started = left.0 - service(bps, arrival.len);
                busy += overlap(started, left.0, window);
                waited += u128::from(overlap(arrival.at.0, started, window));
            }
            let meter = meters[i].0.as_ref().unwrap();
            prop_assert_eq!((meter.busy.0, meter.packet_time), (busy, waited));
            prop_assert!(meter.utilization(readings[i]) <= 1.0);
        }
    }

    /// A schedule that has one rate, and one whose steps all have it, are links of that rate.
    #[test]
    fn scheduled_link_of_one_rate_is_a_link_of_that_rate(
        traffic in traffic(60), bps in prop::sample::select(vec![8_000_000u64, 1_000_000, 320_000]), limit in limits(), linear in any::<bool>(),
        gaps in prop::collection::vec(1u64..50_000_000_000, 1..5),
    ) {
        let mut at = 0;
        let steps = gaps.iter().map(|gap| { at += gap; (Span(at - gap), bps) }).collect();
        let config = RateScheduleConfig { steps, repeat: Some(Span(at)), linear };
        let link = RateLink::new(RateSchedule::new(&config), Framing::None, tail(limit));
        let fixed = travel(rate_link(bps, limit, Framing::None), &traffic, Driver::Steps);
        prop_assert_eq!(travel(link, &traffic, Driver::Restless { seed: 1 }).times(), fixed.times());
    }

    #[test]
    fn trace_link_matches_the_slow_reference_model(times in trace(), traffic in traffic(60), limit in limits()) {
        let link = TraceLink::new(times.clone().into(), Framing::None, tail(limit)).unwrap();
        prop_assert_eq!(travel(link, &traffic, Driver::Restless { seed: 1 }).times(), slow_trace(&times, &traffic, limit));
    }

    // finding("U6")
    #[test]
    fn trace_link_from_a_start_matches_the_whole_link_when_traffic_is_late(times in trace(), traffic in traffic(60), limit in limits(), start in 0u64..11_000_000_000) {
        let start = Span(start % Span::from_ms(times[times.len() - 1]).0);
        let link = || TraceLink::new(times.clone().into(), Framing::None, tail(limit)).unwrap();
        let late: Vec<Arrival> = traffic.iter().map(|a| Arrival { at: a.at + start, ..*a }).collect();
        let early = |(at, number): (Time, u32)| (Time(at.0 - start.0), number);
        let whole = travel(link(), &late, Driver::Steps).times().into_iter().map(early).collect::<Vec<_>>();
        prop_assert_eq!(travel(link().starting_at(start), &traffic, Driver::Restless { seed: 1 }).times(), whole);
    }

    #[test]
    fn one_opportunity_per_millisecond_is_12_mbps(ms in prop::collection::vec(0u64..200, 1..100)) {
        let mut ms = ms;
        ms.sort();
        let traffic = arrivals(ms.into_iter().map(|ms| (Time::ZERO + Span::from_ms(ms), 1500)));
        let trace = TraceLink::new([1].into(), Framing::None, tail(Limit::NONE)).unwrap();
        let recorded = travel(trace, &traffic, Driver::Steps);
        prop_assert_eq!(recorded.times(), travel(rate_link(12_000_000, Limit::NONE, Framing::None), &traffic, Driver::Steps).times());
    }
}

fn trace() -> impl Strategy<Value = Vec<u64>> {
    (prop::collection::vec(0u64..12, 0..8), 1u64..12).prop_map(|(mut times, last)| {
        times.push(last);
        times.sort();
        times
    })
}

/// Steps through every millisecond and every opportunity.
fn slow_trace(times: &[u64], traffic: &[Arrival], limit: Limit) -> Vec<(Time, u32)> {
    let period = times[times.len() - 1];
    let mut opportunities =
        (0..).flat_map(|round| times.iter().map(move |ms| Time::ZERO + Span::from_ms(round * period + ms))).peekable();
    let (mut left, mut waiting, mut part) = (Vec::new(), std::collections::VecDeque::<Arrival>::new(), None::<(Arrival, u16)>);
    let mut coming = traffic.iter().copied().peekable();
    while coming.peek().is_some() || part.is_some() || !waiting.is_empty() {
        let opportunity = *opportunities.peek().unwrap();
        if let Some(arrival) = coming.next_if(|a| a.at < opportunity) {
            let bytes: u64 = waiting.iter().map(|a| u64::from(a.len)).sum();
            if (waiting.len() as u64) < limit.packets && bytes + u64::from(arrival.len) <= limit.bytes {
                waiting.push_back(arrival);
            }
            continue;
        }
        opportunities.next();
        let mut room = 1500;
        while let Some((packet, bytes)) = part.take().or_else(|| waiting.pop_front().map(|a| (a, a.len))) {
            if bytes > room {
                part = Some((packet, bytes - room));
                break;
            }
            room -= bytes;
            left.push((opportunity, packet.number));
            if room == 0 {
                break;
            }
        }
    }
    left
}
