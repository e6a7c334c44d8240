//! Policers and shapers against closed forms, and against a link of the same rate.

use crate::common::{Arrival, Driver, arrivals, traffic, travel, travel_metered};
use ackclock_core::element::{DropReason, Element, Handoff, Output, PacketCounts, Port};
use ackclock_core::link::{
    Cells, Exceed, Framing, LinkLayer, Policer, PolicerConfig, RateLink, RateSchedule, RateScheduleConfig, Shaper, ShaperConfig,
};
use ackclock_core::network::AnyElement;
use ackclock_core::packet::{Arena, Body, Datagram, Ecn, Kind, Packet};
use ackclock_core::queue::{
    AnyQueue, AqmSignal, CakeConfig, CoDelConfig, CoDelParameters, DropTail, FqCoDelConfig, Limit, Order, PieConfig, QueueConfig,
};
use ackclock_core::rng::Rng;
use ackclock_core::units::{PS_PER_S, Rate, Span, Time};
use proptest::prelude::*;
use std::collections::VecDeque;

fn tail(limit: Limit) -> AnyQueue {
    AnyQueue::DropTail(DropTail::new(limit))
}

fn shaper(bps: u64, burst: Option<u64>) -> ShaperConfig {
    ShaperConfig { rate: Rate::from_bps(bps), burst, peak: None, framing: Framing::None }
}

fn policer(bps: u64, burst: u64) -> PolicerConfig {
    PolicerConfig { rate: Rate::from_bps(bps), burst, exceed: Exceed::Drop, framing: Framing::None }
}

fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![Just(8_000_000u64), Just(28_800), Just(9_999_991), 1_000u64..1_000_000_000]
}

/// Bits of a bucket times picoseconds of a second, by the definition: earned since the last packet that
/// passed, at most the burst.
fn earned(tokens: u128, since: Time, now: Time, bps: u64, burst: u64) -> u128 {
    let full = u128::from(burst) * 8 * u128::from(PS_PER_S);
    full.min(tokens + u128::from(now.0 - since.0) * u128::from(bps))
}

/// Which packets a policer passes, and when those of a shaper without a limit leave.
fn model(traffic: &[Arrival], bps: u64, burst: u64, waits: bool) -> Vec<(Time, u32)> {
    let (mut tokens, mut at) = (u128::from(burst) * 8 * u128::from(PS_PER_S), Time::ZERO);
    let mut left = Vec::new();
    for arrival in traffic {
        let price = u128::from(arrival.len) * 8 * u128::from(PS_PER_S);
        let mut now = arrival.at.max(at);
        tokens = earned(tokens, at, now, bps, burst);
        at = now;
        if tokens < price && waits && u64::from(arrival.len) <= burst {
            now = Time(now.0 + u64::try_from((price - tokens).div_ceil(u128::from(bps))).unwrap());
            tokens = earned(tokens, at, now, bps, burst);
            at = now;
        }
        if tokens >= price {
            tokens -= price;
            left.push((now, arrival.number));
        }
    }
    left
}

/// A shaper whose rate is set at given times.
struct SteppedShaper {
    shaper: Shaper,
    steps: VecDeque<(Time, Rate)>,
}

impl SteppedShaper {
    fn step(&mut self, now: Time) {
        while let Some((at, rate)) = self.steps.front().copied().filter(|(at, _)| *at <= now) {
            self.shaper.set_rate(at, rate);
            self.steps.pop_front();
        }
    }
}

impl Element for SteppedShaper {
    fn push(&mut self, now: Time, port: Port, packet: Packet, out: &mut Output<'_>) {
        self.step(now);
        self.shaper.push(now, port, packet, out);
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.step(now);
        self.shaper.wake(now, out);
    }

    fn due(&self) -> Time {
        self.steps.front().map_or(Time::NEVER, |(at, _)| *at).min(self.shaper.due())
    }

    fn occupancy(&self) -> u64 {
        self.shaper.occupancy()
    }
}

/// When the packets of a shaper without a limit leave, by the integral of its rate.
fn scheduled_model(traffic: &[Arrival], schedule: &RateSchedule, burst: u64) -> Vec<(Time, u32)> {
    let full = u128::from(burst) * 8 * u128::from(PS_PER_S);
    let (mut tokens, mut at, mut left) = (full, Time::ZERO, Vec::new());
    for arrival in traffic.iter().filter(|arrival| u64::from(arrival.len) <= burst) {
        let price = u128::from(arrival.len) * 8 * u128::from(PS_PER_S);
        let begin = arrival.at.max(at);
        let earned = |now: Time| full.min(tokens + schedule.work(now) - schedule.work(at));
        let (mut low, mut high) = (begin.0, begin.0 + (1 << 60));
        while low < high {
            let middle = low + (high - low) / 2;
            if earned(Time(middle)) < price { low = middle + 1 } else { high = middle }
        }
        (tokens, at) = (earned(Time(low)) - price, Time(low));
        left.push((at, arrival.number));
    }
    left
}

/// The kinds of queues, each small enough to drop.
fn queues() -> impl Strategy<Value = QueueConfig> {
    let control =
        || CoDelParameters { target: Span::from_ms(5), interval: Span::from_ms(20), mtu: 1514, signal: AqmSignal::Drop };
    let (limit, memory, flows, quantum, order) = (20, 20_000, 8, 1514, Order::default());
    prop_oneof![
        (0u64..10).prop_map(|packets| QueueConfig::DropTail(Limit::packets(packets).into())),
        Just(QueueConfig::CoDel(CoDelConfig { limit: Limit::packets(20), control: control(), order })),
        Just(QueueConfig::FqCoDel(FqCoDelConfig { control: control(), flows, quantum, limit, memory, order })),
        Just(QueueConfig::Cake(CakeConfig {
            control: control(),
            flows,
            quantum,
            limit,
            memory,
            hosts: false,
            packet_time: Span::ZERO,
            order,
        })),
        Just(QueueConfig::Pie(PieConfig {
            limit: Limit::packets(20),
            target: Span::from_ms(5),
            update: Span::from_ms(5),
            alpha: 0.125,
            beta: 1.25,
            burst: Span::ZERO,
            signal: AqmSignal::Drop,
            mark_up_to: 0.1,
            mean_packet: 1500,
            order,
        })),
    ]
}

/// `make qdisc-counts` writes the table; its Python test holds that packets which differ are within one
/// packet of the edge.
#[test]
fn policer_drops_the_packets_that_act_police_drops() {
    let table = include_str!("../../../../studies/qdisc_counts/policer.csv");
    let rows = table.lines().skip(1).map(|line| {
        let fields: Vec<u64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
        (Time(1000 * fields[0]), u16::try_from(fields[1]).expect("a packet"), fields[2] == 1)
    });
    let rows: Vec<_> = rows.collect();
    let traffic = arrivals(rows.iter().map(|&(at, size, _)| (at, size)));
    let left = travel(Policer::new(policer(10_000_000, 40_960)), &traffic, Driver::Steps).numbers();
    let other = (0..).zip(&rows).filter(|(number, row)| left.contains(number) != row.2).count();
    let drops = rows.iter().filter(|row| !row.2).count();
    assert!(other <= rows.len() / 100 && drops > rows.len() / 20, "{other} of {} differ, {drops} dropped", rows.len());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn policer_passes_the_packets_that_find_tokens(traffic in traffic(80), bps in rates(), burst in 1u64..20_000) {
        let left = travel(Policer::new(policer(bps, burst)), &traffic, Driver::Restless { seed: 1 });
        prop_assert_eq!(left.times(), model(&traffic, bps, burst, false));
        prop_assert_eq!(left.counts.drops(), left.counts.dropped[DropReason::Policed as usize]);
    }

    #[test]
    fn shaper_sends_each_packet_when_its_tokens_are_there(traffic in traffic(80), bps in rates(), burst in 1u64..20_000) {
        let left = travel(Shaper::new(shaper(bps, Some(burst)), tail(Limit::NONE)), &traffic, Driver::Restless { seed: 1 });
        prop_assert_eq!(left.times(), model(&traffic, bps, burst, true));
    }

    /// A change of the rate keeps the tokens, and moves the departure of a packet that waits.
    #[test]
    fn shaper_whose_rate_is_set_sends_by_the_integral_of_the_rate(
        traffic in traffic(80), bps in rates(), burst in 1u64..20_000,
        changes in prop::collection::vec((1u64..50_000_000_000, rates()), 1..8),
    ) {
        let mut steps = vec![(Span::ZERO, bps)];
        steps.extend(changes.iter().scan(0, |at, &(gap, bps)| { *at += gap; Some((Span(*at), bps)) }));
        let schedule = RateSchedule::new(&RateScheduleConfig { steps: steps.clone(), repeat: None, linear: false });
        let shaper = Shaper::new(shaper(bps, Some(burst)), tail(Limit::NONE));
        let steps = steps[1..].iter().map(|&(at, bps)| (Time::ZERO + at, Rate::from_bps(bps))).collect();
        let stepped = AnyElement::User(Box::new(SteppedShaper { shaper, steps }));
        prop_assert_eq!(travel(stepped, &traffic, Driver::Restless { seed: 1 }).times(), scheduled_model(&traffic, &schedule, burst));
    }

    /// With a burst of one packet a packet leaves when a link of the rate would begin to send it: the
    /// queue sees the same times, and drops the same packets. A rate whose bytes take whole
    /// picoseconds: a link rounds each packet's time, a bucket none.
    #[test]
    fn shaper_of_one_packet_is_a_link_whose_packets_leave_at_their_start(
        traffic in traffic(120), bps in prop::sample::select(vec![8_000_000u64, 1_000_000, 320_000, 100_000_000]), queue in queues(),
    ) {
        let build = || queue.build(Order::default(), None, Rng::for_element(1, "queue"));
        let rate = Rate::from_bps(bps);
        let link = travel(RateLink::new(rate, Framing::None, build()), &traffic, Driver::Steps);
        let shaped = travel(Shaper::new(shaper(bps, None), build()), &traffic, Driver::Restless { seed: 1 });
        let begin = |(at, packet): &(Time, Packet)| (Time(at.0 - rate.time_to_send(packet.len.into()).0), packet.flow);
        prop_assert_eq!(shaped.times(), link.left.iter().map(begin).collect::<Vec<_>>());
        prop_assert_eq!(shaped.counts.dropped, link.counts.dropped);
    }

    #[test]
    fn shaper_of_one_packet_is_as_busy_as_a_link(
        traffic in traffic(60), bps in prop::sample::select(vec![8_000_000u64, 320_000]), mut at in prop::collection::vec((0u64..300_000_000_000).prop_map(Time), 1..6),
    ) {
        at.sort();
        let limit = Limit::packets(5);
        let link = travel_metered(RateLink::new(Rate::from_bps(bps), Framing::None, tail(limit)), &traffic, Driver::Steps, &at);
        let shaped = travel_metered(Shaper::new(shaper(bps, None), tail(limit)), &traffic, Driver::Restless { seed: 2 }, &at);
        for ((t, a), b) in at.iter().zip(&link.readings).zip(&shaped.readings) {
            let figures = |meter: &ackclock_core::meter::LinkMeter| (meter.busy, meter.packet_time, meter.sent_bytes, meter.drops);
            prop_assert_eq!(a.0.as_ref().map(figures), b.0.as_ref().map(figures), "at {:?}", t);
            prop_assert_eq!(a.1, b.1, "sample at {:?}", t);
        }
    }

    /// No interval has more than the burst and the rate, and its peak.
    #[test]
    fn shaper_conforms_to_its_rate_burst_and_peak(
        traffic in traffic(80), bps in rates(), burst in 1500u64..20_000, factor in 1u64..10,
    ) {
        let peak = Some(Rate::from_bps(bps * factor));
        let left = travel(Shaper::new(ShaperConfig { peak, ..shaper(bps, Some(burst)) }, tail(Limit::NONE)), &traffic, Driver::Steps);
        prop_assert_eq!(left.left.len(), traffic.len());
        for (first, (from, _)) in left.left.iter().enumerate() {
            let (mut bits, mut before_last) = (0u128, 0u128);
            for (to, packet) in &left.left[first..] {
                before_last = before_last.max(bits);
                bits += u128::from(packet.len) * 8;
                let ps = u128::from(to.0 - from.0);
                let second = u128::from(PS_PER_S);
                prop_assert!(bits * second <= u128::from(burst) * 8 * second + u128::from(bps) * (ps + 1), "the bucket");
                prop_assert!(before_last * second <= u128::from(bps * factor) * (ps + 1), "the peak");
            }
        }
    }
}

#[test]
fn shaper_and_policer_count_the_framing() {
    let framing = Framing::LinkLayer(LinkLayer { cells: Cells::Atm, overhead: 32, mpu: 0 });
    // 20 packets at once: 32 cells each, 1696 B.
    let burst = arrivals((0..20).map(|_| (Time::ZERO, 1500)));
    let policed = travel(Policer::new(PolicerConfig { framing, ..policer(8_000, 10 * 1696) }), &burst, Driver::Steps);
    assert_eq!(policed.numbers(), (0..10).collect::<Vec<_>>());
    let shaped =
        travel(Shaper::new(ShaperConfig { framing, ..shaper(8_000_000, None) }, tail(Limit::NONE)), &burst, Driver::Steps);
    assert_eq!(shaped.left.last().map(|(at, _)| *at), Some(Time::ZERO + Span::from_us(19 * 1696)));
}

#[test]
fn shaper_drops_what_its_bucket_never_holds() {
    let traffic = arrivals([(Time::ZERO, 1500), (Time::ZERO, 1501), (Time::ZERO, 40)]);
    let left = travel(Shaper::new(shaper(1_000_000, Some(1500)), tail(Limit::NONE)), &traffic, Driver::Steps);
    assert_eq!((left.numbers(), left.counts.dropped[DropReason::Policed as usize]), (vec![0, 2], 1));
}

/// DOCSIS: 3044 B at the peak of the channel, then the subscribed rate.
#[test]
fn burst_leaves_at_the_peak_rate_then_packets_at_the_rate() {
    let config = ShaperConfig { peak: Some(Rate::from_bps(80_000_000)), ..shaper(8_000_000, Some(3000)) };
    let traffic = arrivals((0..4).map(|_| (Time::ZERO, 1000)));
    let left = travel(Shaper::new(config, tail(Limit::NONE)), &traffic, Driver::Steps);
    // A packet takes 100 us at the peak; after three of them the bucket has earned 200 us of 1000 B/ms.
    let at: Vec<Time> = left.left.iter().map(|(at, _)| *at).collect();
    assert_eq!(at, [0, 100, 200, 1000].map(|us| Time::ZERO + Span::from_us(us)));
}

/// One packet of this ECN codepoint to a policer without tokens: forwarded with which codepoint?
fn exceeding(ecn: Ecn, exceed: Exceed) -> Option<Ecn> {
    let (mut arena, mut counts, mut handoffs, mut next_id) =
        (Arena::default(), PacketCounts::default(), Vec::<Handoff>::new(), 0);
    let mut element = Policer::new(PolicerConfig { exceed, ..policer(8, 1) });
    let body = arena.insert(Body::Datagram(Datagram::default()));
    let packet = Packet { id: 1, body, flow: 0, len: 100, wire_len: 100, ecn, class: 0, kind: Kind::default() };
    let mut out = Output::new(&mut arena, &mut counts, &mut handoffs, &mut next_id);
    element.push(Time::ZERO, Port(0), packet, &mut out);
    assert_eq!(counts.forwarded + counts.dropped[DropReason::Policed as usize], 1);
    handoffs.first().map(|handoff| handoff.packet.ecn)
}

#[test]
fn policer_marks_ecn_capable_packets_and_drops_others_when_it_may_mark() {
    assert_eq!(exceeding(Ecn::Ect0, Exceed::Ce), Some(Ecn::Ce));
    assert_eq!(exceeding(Ecn::Ect1, Exceed::Ce), Some(Ecn::Ce));
    assert_eq!(exceeding(Ecn::NotEct, Exceed::Ce), None);
    assert_eq!(exceeding(Ecn::Ect0, Exceed::Drop), None);
}
