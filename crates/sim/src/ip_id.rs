//! The IP identification of captured packets: each sender counts up its own, as hosts do, and a copy that the network makes keeps its original's.

use ackclock_core::network::EndpointId;
use ackclock_core::packet::{Body, BodyId, Packet};
use std::collections::BTreeMap;

/// What was numbered, by where its body lies.
#[derive(Debug, Default)]
pub struct IpIds {
    /// By endpoint: the number of its next packet, less where it begins.
    next: Vec<u16>,
    given: BTreeMap<BodyId, Given>,
}

#[derive(Debug, Clone, Copy)]
struct Given {
    packet: u64,
    flow: u32,
    /// Of the body: places of bodies are used again.
    said: (u64, u64),
    number: u16,
}

/// Endpoints begin at numbers far apart (the golden ratio's share of the range).
const APART: u32 = 40_503;

impl IpIds {
    /// An endpoint hands a packet to the network.
    pub fn sent(&mut self, by: EndpointId, packet: &Packet, body: &Body) -> u16 {
        let place = by.0 as usize;
        if self.next.len() <= place {
            self.next.resize(place + 1, 0);
        }
        let number = self.next[place].wrapping_add(by.0.wrapping_mul(APART) as u16);
        self.next[place] = self.next[place].wrapping_add(1);
        self.given.insert(packet.body, Given { packet: packet.id, flow: packet.flow, said: said(body), number });
        number
    }

    /// A packet arrives. One that the network made up has a number of its own.
    pub fn received(&self, packet: &Packet, body: &Body) -> u16 {
        let is_it = |given: &&Given| given.packet == packet.id || given.flow == packet.flow && given.said == said(body);
        self.given.get(&packet.body).filter(is_it).map_or(packet.id as u16, |given| given.number)
    }
}

fn said(body: &Body) -> (u64, u64) {
    match body {
        Body::Segment(segment) => (segment.seq, segment.ack),
        Body::Datagram(datagram) => (datagram.number, datagram.sent.0),
        Body::Raw(_) => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::{Arena, Ecn, Kind, Segment};

    #[test]
    fn a_sender_counts_up_and_a_copy_keeps_its_number() {
        let mut arena = Arena::default();
        let mut packet = |id: u64, seq: u64| {
            let body = Body::Segment(Segment { seq, ..Segment::default() });
            let place = arena.insert(body.clone());
            (Packet { id, body: place, flow: 0, len: 40, wire_len: 40, ecn: Ecn::NotEct, class: 0, kind: Kind::TCP }, body)
        };
        let ((a, first), (b, second), (c, made_up)) = (packet(7, 0), packet(9, 100), packet(11, 200));
        let mut numbers = IpIds::default();
        let one = numbers.sent(EndpointId(0), &a, &first);
        assert_eq!(numbers.sent(EndpointId(0), &b, &second), one.wrapping_add(1));
        assert_eq!(numbers.received(&a, &first), one);
        assert_eq!(numbers.received(&Packet { id: 10, ..a }, &first), one);
        assert_eq!(numbers.received(&c, &made_up), 11);
        // What lies now where a numbered one lay.
        assert_eq!(numbers.received(&Packet { id: 12, ..a }, &made_up), 12);
    }
}
