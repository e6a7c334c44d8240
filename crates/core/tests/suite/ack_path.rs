//! ACK filtering, scheduling and reconstruction: each rule by example, and invariants over random
//! streams, simulated and real.

use crate::queue_bench::Bench;
use ackclock_core::element::{Element, PacketCounts};
use ackclock_core::packet::{Arena, Body, Ecn, Flags, Kind, Packet, SackBlocks, Segment, Timestamps};
use ackclock_core::queue::ack::{
    AckAwareQueue, AckFilter, AckFilterConfig, AckReconstructor, AckReconstructorConfig, Duplicates, SackGuard, Survivor,
};
use ackclock_core::queue::{AnyQueue, DropTail, DropTailConfig, Limit, Order, Queue};
use ackclock_core::rng::Rng;
use ackclock_core::view::TcpEdit;
use ackclock_core::{DropReason, Output, Port, Span, Time};
use proptest::prelude::*;

fn filtered(settings: AckFilterConfig) -> AckAwareQueue {
    let tail: AnyQueue = DropTail::new(Limit::NONE).into();
    AckAwareQueue::new(tail).with_filter(AckFilter::new(settings, Rng::for_element(1, "filter")))
}

fn at(ms: u64) -> Time {
    Time::ZERO + Span::from_ms(ms)
}

/// Enqueues ACKs with these numbers; returns the remaining numbers in order.
fn left(settings: AckFilterConfig, acks: &[u64]) -> Vec<u64> {
    let mut bench = Bench::new();
    let mut queue = filtered(settings);
    for (id, &ack) in (0..).zip(acks) {
        let packet = bench.ack(id, 0, Segment { ack, window: 9000, ..Segment::default() });
        queue.enqueue(at(id), packet, &mut bench.out());
    }
    drain(&mut bench, &mut queue).into_iter().map(|(_, s)| s.ack).collect()
}

fn drain(bench: &mut Bench, queue: &mut AckAwareQueue) -> Vec<(u64, Segment)> {
    let mut left = Vec::new();
    while let Some((_, packet)) = queue.dequeue(at(1 << 20), &mut bench.out()) {
        let Body::Segment(segment) = bench.arena.get(packet.body) else { panic!("a segment") };
        left.push((packet.id, *segment));
        bench.end(Some(packet));
    }
    left
}

#[test]
fn ack_filter_keeps_the_acks_of_its_rule() {
    let safe = AckFilterConfig::SAFE;
    for (what, settings, acks, expected) in [
        // The first ACK of a connection counts as a change: the safe rule keeps it.
        ("safe", safe, vec![1, 2, 3, 4], vec![1, 4]),
        ("p1", AckFilterConfig::P1, vec![1, 2, 3, 4], vec![4]),
        ("cake", AckFilterConfig::CAKE, vec![1, 2, 3, 4, 5], vec![1, 5]),
        ("cake aggressive", AckFilterConfig::CAKE_AGGRESSIVE, vec![1, 2, 3, 4], vec![1, 4]),
        ("keep 3", AckFilterConfig { keep: 3, ..AckFilterConfig::P1 }, vec![1, 2, 3, 4, 5], vec![3, 4, 5]),
        ("from 3 waiting on", AckFilterConfig { occupancy: 3, ..AckFilterConfig::P1 }, vec![1, 2, 3, 4, 5], vec![4, 5]),
        ("never", AckFilterConfig { probability: 0.0, ..AckFilterConfig::P1 }, vec![1, 2, 3], vec![1, 2, 3]),
        ("duplicates stay", safe, vec![1, 2, 2, 2, 3], vec![1, 2, 2, 3]),
        ("p1 takes what lies below, duplicates too", AckFilterConfig::P1, vec![1, 2, 2, 2, 3], vec![3]),
        ("p1 keeps its own duplicates", AckFilterConfig::P1, vec![1, 2, 2, 2], vec![2, 2, 2]),
        ("an older one takes nothing", AckFilterConfig::P1, vec![4, 3], vec![4, 3]),
        ("32 bits wrap", AckFilterConfig::P1, vec![(1 << 32) - 1, 1 << 32], vec![1 << 32]),
    ] {
        assert_eq!(left(settings, &acks), expected, "{what}");
    }
}

#[test]
fn filter_with_a_sack_guard_keeps_an_ack_when_the_newer_one_does_not_cover_its_blocks() {
    let left = |settings, covers: bool| {
        let (mut bench, mut queue) = (Bench::new(), filtered(settings));
        for (id, ack, has_block) in [(0, 1000, false), (1, 2000, true), (2, 3000, covers)] {
            let mut sack = SackBlocks::default();
            if has_block {
                sack.push(5000, 6000);
            }
            let packet = bench.ack(id, 0, Segment { ack, sack, window: 9000, ..Segment::default() });
            queue.enqueue(at(id), packet, &mut bench.out());
        }
        drain(&mut bench, &mut queue).into_iter().map(|(_, s)| s.ack).collect::<Vec<_>>()
    };
    let guarded = AckFilterConfig { sack: SackGuard::Covered, ..AckFilterConfig::P1 };
    assert_eq!(left(guarded, false), [2000, 3000]);
    assert_eq!(left(guarded, true), [3000]);
    assert_eq!(left(AckFilterConfig::P1, false), [3000]);
}

#[test]
fn survivor_is_at_the_tail_or_at_the_index_of_the_oldest() {
    for (survivor, expected) in [(Survivor::Tail, vec![8, 9, 1]), (Survivor::Head, vec![1, 8, 9])] {
        let mut bench = Bench::new();
        let mut queue = filtered(AckFilterConfig { survivor, ..AckFilterConfig::P1 });
        let first = bench.ack(0, 0, Segment { ack: 10, ..Segment::default() });
        queue.enqueue(at(0), first, &mut bench.out());
        for id in [8, 9] {
            let data = bench.data(id, 1, Ecn::NotEct);
            queue.enqueue(at(0), data, &mut bench.out());
        }
        let second = bench.ack(1, 0, Segment { ack: 20, ..Segment::default() });
        queue.enqueue(at(1), second, &mut bench.out());
        let ids: Vec<u64> = drain(&mut bench, &mut queue).into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, expected, "{survivor:?}");
        assert_eq!(bench.counts.dropped[DropReason::AckFilter as usize], 1);
    }
}

#[test]
fn survivor_is_marked_after_three_removed_duplicates() {
    let settings = AckFilterConfig { duplicates: Duplicates::Mark, ..AckFilterConfig::P1 };
    for (acks, marked) in
        [(vec![1, 2, 2, 2], false), (vec![1, 2, 2, 2, 2], true), (vec![1, 2, 2, 2, 2, 2], true), (vec![1, 2, 2, 2, 2, 3], false)]
    {
        let mut bench = Bench::new();
        let mut queue = filtered(settings);
        for (id, &ack) in (0..).zip(&acks) {
            let packet = bench.ack(id, 0, Segment { ack, ..Segment::default() });
            queue.enqueue(at(id), packet, &mut bench.out());
        }
        let left = drain(&mut bench, &mut queue);
        assert_eq!((left.len(), left[0].1.dupacks_seen), (1, marked), "{acks:?}");
    }
}

#[test]
fn acks_first_keeps_the_order_within_each_kind() {
    let mut bench = Bench::new();
    let mut queue = DropTail::new(DropTailConfig { order: Order::AcksFirst, ..Limit::NONE.into() });
    for id in 0..6 {
        let packet = if id % 2 == 0 { bench.data(id, 0, Ecn::NotEct) } else { bench.ack(id, 1, Segment::default()) };
        queue.enqueue(at(0), packet, &mut bench.out());
    }
    let ids: Vec<u64> = std::iter::from_fn(|| queue.dequeue(at(1), &mut bench.out())).map(|(_, p)| p.id).collect();
    assert_eq!(ids, [1, 3, 5, 0, 2, 4]);
}

#[test]
fn ack_replaces_the_oldest_ack_when_the_queue_is_full() {
    let mut bench = Bench::new();
    let inner: AnyQueue = DropTail::new(Limit::packets(3)).into();
    let mut queue = AckAwareQueue::new(inner).drop_acks_from_front();
    let data = bench.data(0, 1, Ecn::NotEct);
    queue.enqueue(at(0), data, &mut bench.out());
    for id in 1..5 {
        let ack = bench.ack(id, 0, Segment { ack: id, ..Segment::default() });
        queue.enqueue(at(id), ack, &mut bench.out());
    }
    let ids: Vec<u64> = drain(&mut bench, &mut queue).into_iter().map(|(id, _)| id).collect();
    assert_eq!((ids, bench.counts.dropped[DropReason::QueueFull as usize]), (vec![0, 3, 4], 2));
}

#[test]
fn reconstruction_regenerates_evenly_spaced_acks() {
    let mut bench = Bench::new();
    let mut made = AckReconstructor::new(AckReconstructorConfig { every: 1000, within: Span::from_ms(100) });
    let mut handoffs = Vec::new();
    let mut next_id = 1 << 41;
    let mut counts = PacketCounts::default();
    let mut seen = Vec::new();
    // 5000 bytes in 50 ms: five ACKs, ten milliseconds apart; a gap of 250 ms is spread over at
    // most 100 ms.
    for (ms, ack) in [(0, 1000), (50, 6000), (300, 10_000)] {
        let packet = bench.ack(ms, 0, Segment { ack, window: 9000, ..Segment::default() });
        counts.pushed += 1;
        made.push(at(ms), Port(0), packet, &mut Output::new(&mut bench.arena, &mut counts, &mut handoffs, &mut next_id));
        while made.due() < at(if ms == 0 { 50 } else { 1000 }) {
            let due = made.due();
            let before = handoffs.len();
            made.wake(due, &mut Output::new(&mut bench.arena, &mut counts, &mut handoffs, &mut next_id));
            seen.extend(handoffs[before..].iter().map(|m| (due.as_secs() * 1e3, ack_of(&bench.arena, &m.packet))));
        }
        if ms < 300 {
            let at_once = handoffs.iter().map(|m| ack_of(&bench.arena, &m.packet)).collect::<Vec<_>>();
            assert!(!at_once.is_empty());
        }
    }
    assert_eq!(seen, [(60.0, 3000), (70.0, 4000), (80.0, 5000), (90.0, 6000), (325.0, 8000), (350.0, 9000), (375.0, 10_000)]);
    let all: Vec<u64> = handoffs.iter().map(|m| ack_of(&bench.arena, &m.packet)).collect();
    assert_eq!(all, [1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10_000]);
    assert_eq!((counts.created, counts.forwarded, made.occupancy()), (7, 10, 0));
}

fn ack_of(arena: &Arena, packet: &Packet) -> u64 {
    u64::from(arena.tcp(packet).expect("readable").ack)
}

/// A random pure ACK, or a packet that is none.
#[derive(Clone, Copy, Debug)]
struct TestAck {
    flow: u32,
    ack: u32,
    window: u16,
    sack: Option<(u32, u32)>,
    flags: Flags,
    payload: u8,
    dequeues: bool,
}

fn test_ack() -> impl Strategy<Value = TestAck> {
    let flags = prop_oneof![
        12 => Just(Flags::ACK),
        1 => Just(Flags::ACK.with(Flags::SYN)),
        1 => Just(Flags::ACK.with(Flags::FIN)),
        1 => Just(Flags::ACK.with(Flags::RST)),
        1 => Just(Flags::ACK.with(Flags::ECE)),
    ];
    let sack = prop_oneof![4 => Just(None), 1 => (0u32..40, 1u32..10).prop_map(|(start, len)| Some((start, start + len)))];
    let window = prop_oneof![6 => Just(1000u16), 1 => 0u16..3];
    let payload = prop_oneof![6 => Just(0u8), 1 => Just(1u8)];
    (0u32..2, 0u32..30, window, sack, flags, payload, any::<bool>()).prop_map(
        |(flow, ack, window, sack, flags, payload, dequeues)| TestAck { flow, ack, window, sack, flags, payload, dequeues },
    )
}

impl TestAck {
    fn segment(&self) -> Segment {
        let mut sack = SackBlocks::default();
        self.sack.into_iter().for_each(|(start, end)| sack.push(u64::from(start), u64::from(end)));
        let (ack, window, payload) = (u64::from(self.ack), u32::from(self.window), u32::from(self.payload));
        Segment { ack, window, payload, sack, flags: self.flags, ..Segment::default() }
    }

    /// As IPv4 bytes, without checksums.
    fn bytes(&self) -> Vec<u8> {
        let options = self.sack.map_or(0, |_| 12);
        let total = 40 + options + usize::from(self.payload);
        let mut b = vec![0u8; total];
        (b[0], b[9]) = (0x45, 6);
        b[2..4].copy_from_slice(&(total as u16).to_be_bytes());
        b[15] = self.flow as u8;
        b[28..32].copy_from_slice(&self.ack.to_be_bytes());
        b[32] = (((20 + options) / 4) << 4) as u8;
        b[33] = self.flags.0 as u8;
        b[34..36].copy_from_slice(&self.window.to_be_bytes());
        if let Some((start, end)) = self.sack {
            b[40..44].copy_from_slice(&[1, 1, 5, 10]);
            b[44..48].copy_from_slice(&start.to_be_bytes());
            b[48..52].copy_from_slice(&end.to_be_bytes());
        }
        b
    }
}

/// Which ACKs a filter must keep, since no other ACK has their information. Derived from the whole
/// stream, independently of the filter.
fn must_stay(stream: &[TestAck]) -> Vec<bool> {
    let mut last: [Option<TestAck>; 2] = [None; 2];
    let mut stays = Vec::new();
    for ack_packet in stream {
        let control = ack_packet.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST));
        if control || ack_packet.payload > 0 {
            stays.push(true);
            continue;
        }
        let before = last[ack_packet.flow as usize].replace(*ack_packet);
        stays.push(before.is_none_or(|before| {
            let new_block = ack_packet.sack.is_some_and(|(s, e)| before.sack.is_none_or(|(a, b)| s < a || e > b));
            before.window != ack_packet.window || new_block || ack_packet.ack <= before.ack || before.flags != ack_packet.flags
        }));
    }
    stays
}

/// Runs a stream through a filter; returns the numbers of the removed packets.
fn removed(stream: &[TestAck], settings: AckFilterConfig, raw: bool) -> Vec<usize> {
    let mut bench = Bench::new();
    let mut queue = filtered(settings);
    let mut dequeued = vec![false; stream.len()];
    for (id, ack_packet) in stream.iter().enumerate() {
        let segment = ack_packet.segment();
        let body = if raw { Body::Raw(ack_packet.bytes().into()) } else { Body::Segment(segment) };
        let body = bench.arena.insert(body);
        let len = 40;
        let packet = Packet {
            id: id as u64,
            body,
            flow: ack_packet.flow,
            len,
            wire_len: len,
            ecn: Ecn::NotEct,
            class: 0,
            kind: segment.kind(),
        };
        queue.enqueue(at(id as u64), packet, &mut bench.out());
        if ack_packet.dequeues
            && let Some((_, packet)) = queue.dequeue(at(id as u64), &mut bench.out())
        {
            dequeued[packet.id as usize] = true;
            bench.end(Some(packet));
        }
    }
    while let Some((_, packet)) = queue.dequeue(at(1 << 20), &mut bench.out()) {
        dequeued[packet.id as usize] = true;
        bench.end(Some(packet));
    }
    assert_eq!(bench.arena.live(), 0);
    dequeued.iter().enumerate().filter(|(_, dequeued)| !**dequeued).map(|(id, _)| id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn safe_filter_keeps_every_ack_with_new_information(
        stream in prop::collection::vec(test_ack(), 1..80), keep in 1u32..4, head in any::<bool>(), raw in any::<bool>(),
    ) {
        let survivor = if head { Survivor::Head } else { Survivor::Tail };
        let settings = AckFilterConfig { keep, survivor, ..AckFilterConfig::SAFE };
        let stays = must_stay(&stream);
        for id in removed(&stream, settings, raw) {
            prop_assert!(!stays[id], "number {} of {:?}", id, stream);
            let later = stream[id + 1..].iter().any(|s| s.flow == stream[id].flow && s.ack > stream[id].ack && s.window == stream[id].window);
            prop_assert!(later, "nothing later says what number {} ack_packet", id);
        }
    }

    #[test]
    fn filter_removes_only_pure_acks_and_treats_real_packets_alike(
        stream in prop::collection::vec(test_ack(), 1..80), rule in 0usize..4,
    ) {
        let settings = [AckFilterConfig::P1, AckFilterConfig::CAKE, AckFilterConfig::CAKE_AGGRESSIVE, AckFilterConfig::SAFE][rule];
        let simulated = removed(&stream, settings, false);
        prop_assert_eq!(&simulated, &removed(&stream, settings, true));
        for id in simulated {
            let ack_packet = stream[id];
            prop_assert!(ack_packet.payload == 0 && !ack_packet.flags.any(Flags::SYN.with(Flags::FIN).with(Flags::RST)));
        }
    }

    #[test]
    fn tcp_view_and_edit_do_not_panic_on_random_bytes(mut bytes in prop::collection::vec(any::<u8>(), 0..120), version in 0u8..3, protocol in any::<bool>()) {
        if let Some(first) = bytes.first_mut() {
            *first = [0x45, 0x60, *first][usize::from(version)];
        }
        if protocol && bytes.len() > 9 {
            (bytes[9], bytes[6]) = (6, if version == 1 { 6 } else { 0 });
            if version == 0 {
                let total = bytes.len() as u16;
                bytes[2..4].copy_from_slice(&total.to_be_bytes());
                bytes[7] = 0;
            }
        }
        let mut arena = Arena::default();
        let body = arena.insert(Body::Raw(bytes.into()));
        let packet = Packet { id: 0, body, flow: 0, len: 100, wire_len: 100, ecn: Ecn::Ect0, class: 0, kind: Kind::TCP };
        let before = arena.tcp(&packet);
        let _ = (arena.flow_hash(&packet, 1), arena.addresses(&packet));
        let timestamps = Timestamps { value: 1, echo: 2 };
        let edit = TcpEdit { ack: Some(7), window: Some(9), sack: Some(SackBlocks::default()), timestamps: Some(timestamps), dupacks_seen: true, mss: Some(100), ecn: Some(Ecn::Ce) };
        let body = arena.edit(body, &edit);
        let after = arena.tcp(&Packet { body, ..packet });
        prop_assert_eq!(before.is_some(), after.is_some());
        if let Some(after) = after {
            prop_assert_eq!((after.ack, after.window, after.ecn, after.reserved & 2), (7, 9, Ecn::Ce, 2));
            prop_assert!(after.sack.is_empty() && after.timestamps.is_none_or(|t| t == timestamps));
        }
    }

    #[test]
    fn edited_packet_keeps_a_valid_checksum(ack_packet in test_ack(), ack in any::<u32>(), window in any::<u16>(), seen in any::<bool>()) {
        let mut bytes = ack_packet.bytes();
        let sum = !segment_sum(&bytes);
        bytes[36..38].copy_from_slice(&sum.to_be_bytes());
        prop_assert_eq!(segment_sum(&bytes), 0xFFFF);
        let mut arena = Arena::default();
        let body = arena.insert(Body::Raw(bytes.into()));
        let edit = TcpEdit { ack: Some(ack), window: Some(u32::from(window)), dupacks_seen: seen, sack: Some(SackBlocks::default()), ..TcpEdit::NOTHING };
        let body = arena.edit(body, &edit);
        let Body::Raw(bytes) = arena.get(body) else { panic!("bytes") };
        prop_assert_eq!(segment_sum(bytes), 0xFFFF);
    }
}

/// Sum over pseudo-header and segment (RFC 9293, section 3.1).
fn segment_sum(bytes: &[u8]) -> u16 {
    let length = ((bytes.len() - 20) as u16).to_be_bytes();
    let words = [&bytes[12..20], &[0, 6], &length, &bytes[20..]].concat();
    let mut sum: u32 = words.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], *w.get(1).unwrap_or(&0)]))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}
