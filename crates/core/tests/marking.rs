//! Congestion marks: who gets one, who counts them, and whom they do not reach.

use ackclock_core::element::{Event, Move, Tally};
use ackclock_core::packet::{Arena, Body, Datagram, Ecn, Kind, Packet, Segment};
use ackclock_core::queue::{DropFrom, DropTail, Limit, Queue, Threshold};
use ackclock_core::{Cause, Out, Span, Time};

/// A queue and all that it needs around it.
struct Bench {
    arena: Arena,
    tally: Tally,
    moves: Vec<Move>,
    next_id: u64,
}

impl Bench {
    fn new() -> Bench {
        Bench { arena: Arena::default(), tally: Tally::default(), moves: Vec::new(), next_id: 100 }
    }
    fn packet(&mut self, id: u64, ecn: Ecn) -> Packet {
        let body = self.arena.insert(Body::Segment(Segment { ecn, ..Segment::default() }));
        let (entered, kind) = (Time::ZERO, Kind::TCP.with(Kind::DATA));
        Packet { id, entered, body, flow: 0, len: 1000, wire_len: 1000, ecn, class: 0, kind }
    }
    fn out(&mut self) -> Out<'_> {
        Out::new(&mut self.arena, &mut self.tally, &mut self.moves, &mut self.next_id)
    }
}

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_ms(n)
}

#[test]
fn only_a_packet_of_a_sender_that_understands_it_is_marked() {
    for (ecn, marked, after, counted) in [
        (Ecn::NotEct, false, Ecn::NotEct, 0),
        (Ecn::Ect0, true, Ecn::Ce, 1),
        (Ecn::Ect1, true, Ecn::Ce, 1),
        (Ecn::Ce, true, Ecn::Ce, 0),
    ] {
        let mut bench = Bench::new();
        let mut packet = bench.packet(1, ecn);
        assert_eq!(bench.out().mark(&mut packet), marked, "{ecn:?}");
        assert_eq!((packet.ecn, bench.tally.marked), (after, counted), "{ecn:?}");
        assert!(matches!(bench.arena.get(packet.body), Body::Segment(s) if s.ecn == after), "{ecn:?}");
    }
}

#[test]
fn a_mark_on_one_packet_does_not_reach_its_twin() {
    let mut bench = Bench::new();
    let mut packet = bench.packet(1, Ecn::Ect0);
    let twin = bench.out().copy(packet);
    assert!(bench.out().mark(&mut packet));
    assert!(matches!(bench.arena.get(twin.body), Body::Segment(s) if s.ecn == Ecn::Ect0));
    assert_eq!(bench.arena.live(), 2);
    bench.arena.release(packet.body);
    bench.arena.release(twin.body);
    assert_eq!(bench.arena.live(), 0);
}

#[test]
fn real_bytes_are_marked_in_place_and_their_checksum_stays_right() {
    let mut v4 = vec![0x45, 0x02, 0, 40, 0x1c, 0x46, 0x40, 0, 64, 6, 0, 0, 172, 16, 10, 99, 172, 16, 10, 12];
    v4.resize(40, 0);
    let sum = !fold(&v4[..20]);
    v4[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut v6 = vec![0u8; 60];
    (v6[0], v6[1]) = (0x60, 0x20);
    for bytes in [v4, v6] {
        let mut bench = Bench::new();
        let body = bench.arena.insert(Body::Raw(bytes.into()));
        let mut packet = Packet { body, ..bench.packet(1, Ecn::Ect0) };
        assert!(bench.out().mark(&mut packet));
        let Body::Raw(bytes) = bench.arena.get(packet.body) else { panic!("still bytes") };
        if bytes[0] >> 4 == 4 {
            assert_eq!(bytes[1] & 3, 3);
            assert_eq!(fold(&bytes[..20]), 0xFFFF, "the header sums up to all ones");
        } else {
            assert_eq!(bytes[1] >> 4 & 3, 3);
        }
    }
}

/// The one's complement sum of RFC 1071.
fn fold(bytes: &[u8]) -> u16 {
    let mut sum: u32 = bytes.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], *w.get(1).unwrap_or(&0)]))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    sum as u16
}

#[test]
fn a_droptail_marks_what_comes_when_more_than_k_packets_or_bytes_wait() {
    for (threshold, marked) in [
        (Threshold::Packets(2), vec![false, false, false, true, true]),
        (Threshold::Packets(0), vec![false, true, true, true, true]),
        (Threshold::Bytes(2999), vec![false, false, false, true, true]),
        (Threshold::Bytes(3000), vec![false, false, false, false, true]),
    ] {
        let mut bench = Bench::new();
        let mut queue = DropTail::new(Limit::NONE).mark_beyond(Some(threshold));
        for id in 0..5 {
            let packet = bench.packet(id, Ecn::Ect0);
            queue.enqueue(ms(0), packet, &mut bench.out());
        }
        let mut got = Vec::new();
        while let Some((_, packet)) = queue.dequeue(ms(1), &mut bench.out()) {
            got.push(packet.ecn == Ecn::Ce);
        }
        assert_eq!(got, marked, "{threshold:?}");
        assert_eq!(bench.tally.marked, marked.iter().filter(|&&m| m).count() as u64);
    }
}

#[test]
fn by_time_a_droptail_marks_what_has_waited_longer() {
    let mut bench = Bench::new();
    let mut queue = DropTail::new(Limit::NONE).mark_beyond(Some(Threshold::Time(Span::from_ms(5))));
    for id in 0..3 {
        let packet = bench.packet(id, if id < 2 { Ecn::Ect1 } else { Ecn::NotEct });
        queue.enqueue(ms(0), packet, &mut bench.out());
    }
    let marks: Vec<bool> = [5, 6, 7].map(|t| queue.dequeue(ms(t), &mut bench.out()).unwrap().1.ecn == Ecn::Ce).into();
    assert_eq!(marks, [false, true, false], "at 5 ms not yet; the third does not understand it");
}

#[test]
fn a_full_queue_that_drops_from_the_front_keeps_the_newest() {
    let mut bench = Bench::new();
    let mut queue = DropTail::new(Limit::packets(2)).drop_from(DropFrom::Front);
    for id in 0..5 {
        let packet = bench.packet(id, Ecn::NotEct);
        queue.enqueue(ms(id), packet, &mut bench.out());
    }
    let left: Vec<u64> = std::iter::from_fn(|| queue.dequeue(ms(9), &mut bench.out())).map(|(_, p)| p.id).collect();
    assert_eq!(left, [3, 4]);
    assert_eq!(bench.tally.dropped[Cause::QueueFull as usize], 3);
}

#[test]
fn a_packet_that_could_never_fit_pushes_nobody_out() {
    let mut bench = Bench::new();
    let mut queue = DropTail::new(Limit::bytes(1500)).drop_from(DropFrom::Front);
    let small = bench.packet(0, Ecn::NotEct);
    queue.enqueue(ms(0), small, &mut bench.out());
    let large = Packet { len: 1501, ..bench.packet(1, Ecn::NotEct) };
    queue.enqueue(ms(0), large, &mut bench.out());
    assert_eq!((queue.packets(), bench.tally.drops()), (1, 1));
}

#[test]
fn probes_hear_of_marks() {
    let mut notes = Vec::new();
    struct Ear<'a>(&'a mut Vec<Event>);
    impl ackclock_core::probe::Probe for Ear<'_> {
        fn see(&mut self, _now: Time, _at: ackclock_core::NodeId, event: &Event) {
            self.0.push(*event);
        }
    }
    let queue = DropTail::new(Limit::NONE).mark_beyond(Some(Threshold::Packets(0)));
    let link = ackclock_core::link::RateLink::new(
        ackclock_core::Rate::from_bps(8_000),
        ackclock_core::link::Framing::None,
        ackclock_core::queue::AnyQueue::DropTail(queue),
    );
    let mut builder = ackclock_core::Network::builder();
    let node = builder.element(link);
    let mut network = builder.build();
    for id in 0..3 {
        let body = network.arena.insert(Body::Datagram(Datagram { number: id }));
        let packet = Packet {
            id,
            entered: Time::ZERO,
            body,
            flow: 0,
            len: 100,
            wire_len: 100,
            ecn: Ecn::Ect0,
            class: 0,
            kind: Kind::DATA,
        };
        network.inject(node, ackclock_core::Port(0), packet, &mut Ear(&mut notes));
    }
    assert_eq!(notes.iter().filter(|e| matches!(e, Event::Marked(p) if p.id == 2)).count(), 1);
    assert_eq!((notes.len(), network.tally(node).marked), (1, 1), "the first is being sent, the second finds nobody waiting");
}
