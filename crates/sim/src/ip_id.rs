//! IP identification of captured packets: each sender has a counter, and a copy that the network
//! makes keeps the IP ID of its original.

use ackclock_core::network::EndpointId;
use ackclock_core::packet::{Body, BodyId, Packet};
use std::collections::BTreeMap;

/// IP IDs in use, by the packet's body.
#[derive(Debug, Default)]
pub struct IpIds {
    /// By endpoint: the number of packets sent.
    sent: Vec<u16>,
    assigned: BTreeMap<BodyId, Assigned>,
}

#[derive(Debug, Clone, Copy)]
struct Assigned {
    packet: u64,
    flow: u32,
    /// Fields of the body: body ids are reused.
    content: (u64, u64),
    ip_id: u16,
}

/// Distance between the first IP IDs of consecutive endpoints (2^16 over the golden ratio).
const FIRST_ID_STEP: u32 = 40_503;

impl IpIds {
    /// Assigns the IP ID of a packet that an endpoint sends.
    pub fn sent(&mut self, by: EndpointId, packet: &Packet, body: &Body) -> u16 {
        let endpoint = by.0 as usize;
        if self.sent.len() <= endpoint {
            self.sent.resize(endpoint + 1, 0);
        }
        let ip_id = self.sent[endpoint].wrapping_add(by.0.wrapping_mul(FIRST_ID_STEP) as u16);
        self.sent[endpoint] = self.sent[endpoint].wrapping_add(1);
        self.assigned.insert(packet.body, Assigned { packet: packet.id, flow: packet.flow, content: content(body), ip_id });
        ip_id
    }

    /// The IP ID of a packet that arrives. A packet that the network generated has one of its own.
    pub fn received(&self, packet: &Packet, body: &Body) -> u16 {
        let same = |assigned: &&Assigned| {
            assigned.packet == packet.id || assigned.flow == packet.flow && assigned.content == content(body)
        };
        self.assigned.get(&packet.body).filter(same).map_or(packet.id as u16, |assigned| assigned.ip_id)
    }
}

fn content(body: &Body) -> (u64, u64) {
    match body {
        Body::Segment(segment) => (segment.seq, segment.ack),
        Body::Datagram(datagram) => (datagram.number, datagram.sent.0),
        Body::TooBig(report) => (report.number, u64::from(report.mtu)),
        Body::Fragment(fragment) => (fragment.datagram, fragment.offset.into()),
        Body::Encapsulated(outer) => content(&outer.inner),
        Body::Raw(_) | Body::Udp(_) => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::packet::{Arena, Ecn, Kind, Segment};

    #[test]
    fn ip_id_increments_by_sender_and_stays_for_a_copy() {
        let mut arena = Arena::default();
        let mut packet = |id: u64, seq: u64| {
            let body = Body::Segment(Segment { seq, ..Segment::default() });
            let body_id = arena.insert(body.clone());
            (Packet { id, body: body_id, flow: 0, len: 40, wire_len: 40, ecn: Ecn::NotEct, class: 0, kind: Kind::TCP }, body)
        };
        let ((a, first), (b, second), (c, generated)) = (packet(7, 0), packet(9, 100), packet(11, 200));
        let mut ids = IpIds::default();
        let one = ids.sent(EndpointId(0), &a, &first);
        assert_eq!(ids.sent(EndpointId(0), &b, &second), one.wrapping_add(1));
        assert_eq!(ids.received(&a, &first), one);
        assert_eq!(ids.received(&Packet { id: 10, ..a }, &first), one);
        assert_eq!(ids.received(&c, &generated), 11);
        // A body id that is reused by another packet.
        assert_eq!(ids.received(&Packet { id: 12, ..a }, &generated), 12);
    }
}
