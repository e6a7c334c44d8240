//! Active queue management, packet by packet and against closed forms.

use crate::common::{Driver, TCP_ACK, TCP_DATA, traffic, travel};
use crate::queue_bench::Bench;
use ackclock_core::link::{Framing, RateLink};
use ackclock_core::packet::Ecn;
use ackclock_core::queue::{
    AnyQueue, AqmSignal, Cake, CakeConfig, Candidates, CoDel, CoDelConfig, CoDelParameters, DropTail, DropTailConfig, DualPi2,
    DualPi2Config, FqCoDel, FqCoDelConfig, Limit, Order, Pie, PieConfig, Queue, QueueUnit, Red, RedConfig, RedDraw,
};
use ackclock_core::rng::Rng;
use ackclock_core::{DropReason, Rate, Span, Time};
use proptest::prelude::*;

const MS: fn(u64) -> Span = Span::from_ms;

fn at(ms: u64) -> Time {
    Time::ZERO + MS(ms)
}

fn red(max_p: f64, signal: AqmSignal) -> RedConfig {
    RedConfig {
        limit: Limit::packets(100),
        amount: QueueUnit::Packets,
        min: 5.0,
        max: 15.0,
        // The average equals the queue length.
        weight: 1.0,
        max_p,
        gentle: false,
        wait: false,
        draw: RedDraw::Packet,
        signal,
        candidates: Candidates::All,
        mean_packet: 1000,
        service: MS(1),
        order: Order::Arrival,
    }
}

fn control(signal: AqmSignal) -> CoDelParameters {
    CoDelParameters { target: MS(5), interval: MS(100), mtu: 1500, signal }
}

fn codel(signal: AqmSignal) -> CoDel {
    CoDel::new(CoDelConfig { limit: Limit::packets(1000), control: control(signal), order: Order::Arrival })
}

fn fq(limit: u64, quantum: u32) -> FqCoDel {
    let settings =
        FqCoDelConfig { control: control(AqmSignal::Mark), flows: 1024, quantum, limit, memory: 1 << 25, order: Order::Arrival };
    FqCoDel::new(settings, Rng::for_element(1, "fq"))
}

fn cake(limit: u64) -> CakeConfig {
    CakeConfig {
        control: control(AqmSignal::Mark),
        flows: 1024,
        quantum: 1514,
        limit,
        memory: 1 << 25,
        hosts: true,
        packet_time: Span::ZERO,
        order: Order::Arrival,
    }
}

fn pie() -> PieConfig {
    PieConfig {
        limit: Limit::packets(1000),
        target: MS(15),
        update: MS(15),
        alpha: 0.125,
        beta: 1.25,
        burst: MS(150),
        signal: AqmSignal::Drop,
        mark_up_to: 0.1,
        mean_packet: 1000,
        order: Order::Arrival,
    }
}

fn dual() -> DualPi2Config {
    DualPi2Config {
        limit: Limit::packets(1000),
        target: MS(15),
        update: MS(16),
        alpha: 0.16,
        beta: 3.2,
        coupling: 2.0,
        step: MS(1),
        overload: 0.25,
        classic_share: 0.1,
    }
}

#[test]
fn red_marks_the_share_of_its_formula() {
    // Ten packets are queued, and each arrival is followed by a departure, so the average is 10:
    // p_b = 0.1 * (10 - 5) / (15 - 5). Spread evenly over 1 .. 1/p_b, the mean gap between signals
    // is (1/p_b + 1) / 2 packets.
    for (max_p, weight) in [(0.1, 1.0), (0.4, 1.0), (0.1, 0.002)] {
        let mut bench = Bench::new();
        let mut queue = Red::new(RedConfig { weight, ..red(max_p, AqmSignal::Mark) }, Rng::for_element(7, "red"));
        bench.fill(&mut queue, at(0), 10, Ecn::Ect0);
        for n in 0..200_000 {
            let packet = bench.data(n, 0, Ecn::Ect0);
            queue.enqueue(at(1 + n), packet, &mut bench.out());
            let gone = queue.dequeue(at(1 + n), &mut bench.out());
            bench.end(gone.map(|(_, p)| p));
        }
        let base = max_p * 0.5;
        let gap = (1.0 / base + 1.0) / 2.0;
        let (got, want) = (bench.counts.marked as f64, 200_000.0 / gap);
        // With a small weight the average needs a few thousand packets to converge.
        let slack = if weight < 1.0 { 0.03 } else { 0.01 };
        assert!((got / want - 1.0).abs() < slack, "max_p {max_p}, weight {weight}: {got} marks, {want} wanted");
    }
}

#[test]
fn red_in_bytes_marks_short_packets_less_often() {
    let mut bench = Bench::new();
    let bytes = RedConfig { amount: QueueUnit::Bytes, min: 1_000.0, max: 11_000.0, ..red(0.1, AqmSignal::Mark) };
    let mut queue = Red::new(bytes, Rng::for_element(7, "red"));
    bench.fill(&mut queue, at(0), 10, Ecn::NotEct);
    let mut marked = [0u32; 2];
    for n in 0..100_000u64 {
        let short = n % 2 == 1;
        let packet = bench.packet(n, 0, if short { 40 } else { 1000 }, TCP_DATA, Ecn::Ect0);
        let before = bench.counts.marked;
        queue.enqueue(at(1 + n), packet, &mut bench.out());
        marked[usize::from(short)] += (bench.counts.marked - before) as u32;
        while queue.packets() > 10 {
            let gone = queue.dequeue(at(1 + n), &mut bench.out());
            bench.end(gone.map(|(_, p)| p));
        }
    }
    let share = f64::from(marked[1]) / f64::from(marked[0]);
    // The base probability is proportional to the length; spreading favours long packets slightly
    // more.
    assert!((0.01..0.05).contains(&share), "40 bytes against 1000: {marked:?}");
}

#[test]
fn red_for_data_only_passes_every_ack() {
    let mut bench = Bench::new();
    let mut queue = Red::new(RedConfig { candidates: Candidates::Data, ..red(1.0, AqmSignal::Drop) }, Rng::for_element(7, "red"));
    bench.fill(&mut queue, at(0), 20, Ecn::NotEct);
    let (ack, data) = (bench.packet(1, 0, 40, TCP_ACK, Ecn::NotEct), bench.data(2, 0, Ecn::NotEct));
    let before = queue.packets();
    queue.enqueue(at(1), ack, &mut bench.out());
    assert_eq!(queue.packets(), before + 1);
    queue.enqueue(at(1), data, &mut bench.out());
    assert_eq!((queue.packets(), bench.counts.dropped[DropReason::Early as usize] > 0), (before + 1, true));
}

/// A queue whose departing packet has always waited for `delay`. Returns the times of its signals.
fn signals_of(mut queue: impl Queue, delay: Span, packets: u64, ecn: Ecn) -> Vec<f64> {
    let mut bench = Bench::new();
    let mut times = Vec::new();
    for n in 0..packets {
        let packet = bench.data(n, 0, ecn);
        queue.enqueue(at(n), packet, &mut bench.out());
        if at(n) < Time::ZERO + delay {
            continue;
        }
        let before = bench.counts.drops() + bench.counts.marked;
        let gone = queue.dequeue(at(n), &mut bench.out());
        bench.end(gone.map(|(_, p)| p));
        for _ in before..bench.counts.drops() + bench.counts.marked {
            times.push(n as f64);
        }
    }
    times
}

#[test]
fn codel_signals_after_an_interval_then_by_the_control_law() {
    // A standing queue of 50 ms, a packet each millisecond. Marks have no effect on the load, so
    // the control law runs undisturbed.
    let times = signals_of(codel(AqmSignal::Mark), MS(50), 600, Ecn::Ect0);
    // Above the target from the first packet, at 50 ms; the first signal is an interval later.
    let mut expected = vec![150.0];
    let mut next = 150.0;
    for count in 1..20u32 {
        next += 100.0 / f64::from(count).sqrt();
        if next < 600.0 {
            expected.push(next.ceil());
        }
    }
    assert_eq!(times, expected);
}

#[test]
fn codel_does_not_signal_below_the_target_or_for_a_single_packet() {
    assert!(signals_of(codel(AqmSignal::Drop), MS(4), 2000, Ecn::NotEct).is_empty());
    let mut bench = Bench::new();
    let mut queue = codel(AqmSignal::Drop);
    for n in 0..50 {
        let packet = bench.data(n, 0, Ecn::NotEct);
        queue.enqueue(at(100 * n), packet, &mut bench.out());
        let gone = queue.dequeue(at(100 * n + 90), &mut bench.out());
        assert!(gone.is_some(), "it waited 90 ms, but no packet is queued behind it");
        bench.end(gone.map(|(_, p)| p));
    }
    assert_eq!(bench.counts.drops(), 0);
}

#[test]
fn codel_drops_packets_that_are_not_ecn_capable() {
    let dropped = signals_of(codel(AqmSignal::Mark), MS(50), 400, Ecn::NotEct);
    assert_eq!(dropped[0], 150.0);
    assert!(dropped.len() > 3);
}

#[test]
fn fq_codel_gives_every_flow_the_same_bytes() {
    // Flow 0 sends 1500-byte packets, flow 1 of 300 bytes, flow 2 of 700, all backlogged: DRR is
    // fair to a quantum and a packet.
    let mut bench = Bench::new();
    let mut queue = fq(1_000_000, 1514);
    let sizes = [1500u16, 300, 700];
    for (flow, len) in (0..).zip(sizes) {
        for n in 0..1_500_000 / u64::from(len) {
            let packet = bench.packet(n, flow, len, TCP_DATA, Ecn::Ect0);
            queue.enqueue(at(0), packet, &mut bench.out());
        }
    }
    let mut sent = [0i64; 3];
    for _ in 0..3000 {
        let (_, packet) = queue.dequeue(at(0), &mut bench.out()).expect("all are backlogged");
        sent[packet.flow as usize] += i64::from(packet.len);
        bench.end(Some(packet));
        let spread = sent.iter().max().unwrap() - sent.iter().min().unwrap();
        assert!(spread <= 2 * (1514 + 1500), "{sent:?}");
    }
}

#[test]
fn fq_codel_serves_a_new_flow_first() {
    let mut bench = Bench::new();
    let mut queue = fq(10_000, 1514);
    for n in 0..100 {
        let packet = bench.data(n, 1, Ecn::NotEct);
        queue.enqueue(at(0), packet, &mut bench.out());
    }
    for _ in 0..4 {
        let gone = queue.dequeue(at(0), &mut bench.out());
        bench.end(gone.map(|(_, p)| p));
    }
    let sparse = bench.data(1000, 2, Ecn::NotEct);
    queue.enqueue(at(1), sparse, &mut bench.out());
    assert_eq!(queue.dequeue(at(1), &mut bench.out()).map(|(_, p)| p.flow), Some(2));
}

#[test]
fn fq_codel_drops_from_the_head_of_the_longest_fifo_when_full() {
    let mut bench = Bench::new();
    let mut queue = fq(100, 1514);
    for n in 0..99 {
        let packet = bench.data(n, 1, Ecn::NotEct);
        queue.enqueue(at(0), packet, &mut bench.out());
    }
    for n in 200..202 {
        let packet = bench.data(n, 2, Ecn::NotEct);
        queue.enqueue(at(0), packet, &mut bench.out());
    }
    assert_eq!(bench.counts.dropped[DropReason::QueueFull as usize], 49, "half of the 99");
    assert_eq!(queue.packets(), 52);
    let mut left = Vec::new();
    while let Some((_, packet)) = queue.dequeue(at(0), &mut bench.out()) {
        left.push(packet.id);
        bench.end(Some(packet));
    }
    assert_eq!(left.iter().filter(|&&id| id < 100).min(), Some(&49), "the oldest went");
}

#[test]
fn cake_separates_eight_flows_of_one_set() {
    // Eight FIFOs are one set: eight flows have one each, whatever their hashes, so that each sends
    // once in eight rounds.
    let mut bench = Bench::new();
    let mut queue = Cake::new(CakeConfig { flows: 8, quantum: 1000, ..cake(10_000) }, Rng::for_element(1, "cake"));
    for n in 0..80 {
        let packet = bench.data(n, n as u32 % 8, Ecn::NotEct);
        queue.enqueue(at(0), packet, &mut bench.out());
    }
    for round in 0..10 {
        let mut seen = [false; 8];
        for _ in 0..8 {
            let (_, packet) = queue.dequeue(at(0), &mut bench.out()).expect("all are backlogged");
            seen[packet.flow as usize] = true;
            bench.end(Some(packet));
        }
        assert_eq!(seen, [true; 8], "round {round}");
    }
}

#[test]
fn cake_drops_from_the_longest_fifo_then_by_blue_when_full() {
    let mut bench = Bench::new();
    let mut queue = Cake::new(cake(100), Rng::for_element(1, "cake"));
    let other = bench.data(5000, 2, Ecn::NotEct);
    queue.enqueue(at(0), other, &mut bench.out());
    // An unresponsive flow: three arrivals per departure, one departure per millisecond.
    for n in 0..3000 {
        let packet = bench.data(n, 1, Ecn::Ect0);
        queue.enqueue(at(n / 3), packet, &mut bench.out());
        if n % 3 == 2 {
            let gone = queue.dequeue(at(n / 3), &mut bench.out());
            bench.end(gone.map(|(_, p)| p));
        }
        assert!(queue.packets() <= 100);
    }
    // BLUE rises by 1/256 per target delay of 5 ms: to at most 200/256 in a second.
    let (full, early) = (bench.counts.dropped[DropReason::QueueFull as usize], bench.counts.dropped[DropReason::Early as usize]);
    assert!(early > 100, "{early} by BLUE");
    assert!(full + early > 1800 && full > 100, "{full} for want of room");
}

/// Høiland-Jørgensen, Täht and Morton (2018), section III: a target of 1.5 packets at a low rate, the interval
/// longer by as much, and at least twice the target.
#[test]
fn cake_target_is_the_time_of_one_and_a_half_packets_when_the_rate_is_low() {
    for (kbps, target, interval) in [(10_000, 5000, 100_000), (1000, 18_000, 113_000), (100, 180_000, 360_000)] {
        let control = cake(100).at_rate(Some(Rate::from_bps(kbps * 1000))).control;
        assert_eq!((control.target, control.interval), (Span::from_us(target), Span::from_us(interval)), "{kbps}");
    }
}

#[test]
fn pie_keeps_the_delay_near_its_target_under_overload() {
    // 1.25 packets arrive and 1 departs per millisecond: the drop probability must be 1 - 1/1.25 =
    // 0.2.
    let mut bench = Bench::new();
    let mut queue = Pie::new(pie(), Rng::for_element(3, "pie"));
    let (mut waits, mut drops_before) = (Vec::new(), 0);
    for n in 0..60_000u64 {
        for extra in 0..1 + u64::from(n % 4 == 0) {
            let packet = bench.data(2 * n + extra, 0, Ecn::NotEct);
            queue.enqueue(at(n), packet, &mut bench.out());
        }
        if let Some((since, packet)) = queue.dequeue(at(n), &mut bench.out()) {
            waits.push((at(n) - since).as_millis());
            bench.end(Some(packet));
        }
        if n == 30_000 {
            drops_before = bench.counts.drops();
            waits.clear();
        }
    }
    let share = (bench.counts.drops() - drops_before) as f64 / (30_000.0 * 1.25);
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!((share - 0.2).abs() < 0.01, "{share}");
    assert!((mean - 15.0).abs() < 2.0, "{mean} ms");
}

#[test]
fn dualpi2_serves_l4s_first_without_starving_classic() {
    let mut bench = Bench::new();
    let mut queue = DualPi2::new(dual());
    for n in 0..400 {
        let packet = bench.data(n, 0, if n % 2 == 0 { Ecn::Ect1 } else { Ecn::Ect0 });
        queue.enqueue(at(0), packet, &mut bench.out());
    }
    let mut classic = 0;
    for n in 0..100 {
        let (_, packet) = queue.dequeue(at(0), &mut bench.out()).unwrap();
        classic += u32::from(packet.id % 2 == 1);
        assert!(n > 0 || packet.id == 0, "L4S first");
        bench.end(Some(packet));
    }
    assert!((9..=11).contains(&classic), "a tenth of the bytes: {classic}");
}

#[test]
fn dualpi2_marks_l4s_packets_above_the_step_only() {
    for (waited, marked) in [(Span(MS(1).0 - 1), 0), (MS(1), 9)] {
        let mut bench = Bench::new();
        let mut queue = DualPi2::new(dual());
        bench.fill(&mut queue, at(0), 10, Ecn::Ect1);
        while let Some((_, packet)) = queue.dequeue(Time::ZERO + waited, &mut bench.out()) {
            bench.end(Some(packet));
        }
        // A recurrence above 1 selects from the second packet on.
        assert_eq!(bench.counts.marked, marked, "{waited:?}");
    }
}

// finding("L10")
#[test]
fn dualpi2_does_not_signal_when_less_than_two_frames_wait() {
    for ecn in [Ecn::Ect0, Ecn::NotEct, Ecn::Ect1] {
        let mut bench = Bench::new();
        let mut queue = DualPi2::new(dual());
        // 100 ms of classic queue make p' about 0.4.
        bench.fill(&mut queue, at(0), 100, Ecn::Ect0);
        for ms in 1..=100 {
            let gone = queue.dequeue(at(ms), &mut bench.out());
            bench.end(gone.map(|(_, p)| p));
        }
        assert!(queue.packets() == 0 && queue.classic_probability() > 0.05, "{}", queue.classic_probability());
        let before = bench.counts.marked + bench.counts.drops();
        for n in 0..200 {
            // Passes the idle link, or waits with two others of 1000 bytes.
            let packet = bench.data(1000 + n, 0, ecn);
            let gone = queue.pass(at(100), packet, &mut bench.out());
            bench.end(gone);
            bench.fill(&mut queue, at(100), 3, ecn);
            for _ in 0..3 {
                let gone = queue.dequeue(at(100), &mut bench.out());
                bench.end(gone.map(|(_, p)| p));
            }
        }
        assert_eq!(bench.counts.marked + bench.counts.drops() - before, 0, "{ecn:?}");
    }
}

/// One queue of every kind, small enough to overflow.
fn kinds(limit: u64, signal: AqmSignal) -> Vec<AnyQueue> {
    let room = Limit::packets(limit);
    let rng = || Rng::for_element(5, "queue");
    vec![
        DropTail::new(room).into(),
        DropTail::new(DropTailConfig { order: Order::AcksFirst, ..room.into() }).into(),
        Red::new(RedConfig { limit: room, min: 1.0, max: 4.0, weight: 0.1, ..red(0.3, signal) }, rng()).into(),
        CoDel::new(CoDelConfig { limit: room, control: control(signal), order: Order::Arrival }).into(),
        FqCoDel::new(
            FqCoDelConfig { control: control(signal), flows: 3, quantum: 300, limit, memory: 6000, order: Order::Arrival },
            rng(),
        )
        .into(),
        Cake::new(CakeConfig { control: control(signal), flows: 3, quantum: 300, limit, memory: 6000, ..cake(limit) }, rng())
            .into(),
        Pie::new(PieConfig { limit: room, burst: Span::ZERO, signal, ..pie() }, rng()).into(),
        DualPi2::new(DualPi2Config { limit: room, ..dual() }).into(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The driver asserts conservation after every call, and that no body leaks.
    #[test]
    fn every_queue_keeps_the_element_contract_before_a_rate_link(traffic in traffic(80), limit in 1u64..20, mark in any::<bool>(), seed in 0u64..1000) {
        let signal = if mark { AqmSignal::Mark } else { AqmSignal::Drop };
        for kind in 0..kinds(limit, signal).len() {
            let link = || RateLink::new(Rate::from_bps(800_000), Framing::None, kinds(limit, signal).swap_remove(kind));
            let steps = travel(link(), &traffic, Driver::Steps);
            let restless = travel(link(), &traffic, Driver::Restless { seed });
            prop_assert_eq!(steps.times(), restless.times(), "kind {}", kind);
            prop_assert_eq!(steps.counts, restless.counts, "kind {}", kind);
            prop_assert_eq!(steps.held, 0, "kind {}", kind);
        }
    }

    #[test]
    fn every_queue_is_fifo_within_a_flow(
        steps in prop::collection::vec((0u32..4, 0u64..30, any::<bool>(), 40u16..1500), 1..150), limit in 1u64..30,
    ) {
        for mut queue in kinds(limit, AqmSignal::Drop) {
            let mut bench = Bench::new();
            let mut now = 0;
            let mut last = [None; 4];
            for (id, &(flow, gap, goes, len)) in (0..).zip(&steps) {
                now += gap;
                let packet = bench.packet(id, flow, len, TCP_DATA, Ecn::NotEct);
                queue.enqueue(at(now), packet, &mut bench.out());
                if goes && let Some((since, packet)) = queue.dequeue(at(now), &mut bench.out()) {
                    prop_assert!(since <= at(now));
                    prop_assert!(last[packet.flow as usize] < Some(packet.id), "{:?}", queue);
                    last[packet.flow as usize] = Some(packet.id);
                    bench.end(Some(packet));
                }
                let held = bench.arena.live() as u64;
                prop_assert_eq!(queue.packets(), held, "{:?}", queue);
            }
        }
    }
}
