//! A queue with its arena and counters.
#![allow(dead_code, reason = "each test program uses a part of this")]

use ackclock_core::element::{Handoff, PacketCounts};
use ackclock_core::packet::{Arena, Body, Ecn, Flags, Kind, Packet, Segment};
use ackclock_core::queue::Queue;
use ackclock_core::{Output, Time};

pub struct Bench {
    pub arena: Arena,
    pub counts: PacketCounts,
    handoffs: Vec<Handoff>,
    next_id: u64,
}

impl Bench {
    pub fn new() -> Bench {
        Bench { arena: Arena::default(), counts: PacketCounts::default(), handoffs: Vec::new(), next_id: 1 << 40 }
    }

    pub fn packet(&mut self, id: u64, flow: u32, len: u16, kind: Kind, ecn: Ecn) -> Packet {
        let segment = Segment { ecn, flags: Flags::ACK, payload: u32::from(kind.has(Kind::DATA)), ..Segment::default() };
        let body = self.arena.insert(Body::Segment(segment));
        Packet { id, body, flow, len, wire_len: len, ecn, class: 0, kind }
    }

    pub fn data(&mut self, id: u64, flow: u32, ecn: Ecn) -> Packet {
        self.packet(id, flow, 1000, Kind::TCP.with(Kind::DATA), ecn)
    }

    /// A pure ACK.
    pub fn ack(&mut self, id: u64, flow: u32, segment: Segment) -> Packet {
        let body = self.arena.insert(Body::Segment(Segment { flags: segment.flags.with(Flags::ACK), ..segment }));
        let kind = Kind::TCP.with(Kind::PURE_ACK);
        Packet { id, body, flow, len: 40, wire_len: 40, ecn: segment.ecn, class: 0, kind }
    }

    pub fn fill(&mut self, queue: &mut impl Queue, now: Time, packets: u64, ecn: Ecn) {
        for id in 0..packets {
            let packet = self.data(id, 0, ecn);
            queue.enqueue(now, packet, &mut self.out());
        }
    }

    pub fn out(&mut self) -> Output<'_> {
        Output::new(&mut self.arena, &mut self.counts, &mut self.handoffs, &mut self.next_id)
    }

    /// A packet has left; releases its body.
    pub fn end(&mut self, packet: Option<Packet>) {
        if let Some(packet) = packet {
            self.arena.release(packet.body);
        }
    }
}
