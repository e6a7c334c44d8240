//! Fragmentation by a router (RFC 791, section 3.2): each fragment has a header of its own, and all but
//! the last carry a multiple of 8 bytes.

use crate::element::{DropReason, Output};
use crate::packet::{Body, Fragment, Packet};

/// IP header without options.
const HEADER: u16 = 20;
/// Offsets count blocks of this many bytes.
const BLOCK: u16 = 8;
/// "More fragments", and the offset, of the field at byte 6.
const MORE: u16 = 0x2000;
const OFFSET: u16 = 0x1FFF;

/// The bodies and IP lengths of the fragments of `packet` that `mtu` allows.
pub fn fragments_of(packet: &Packet, body: &Body, mtu: u16) -> Vec<(Body, u16)> {
    match body {
        Body::Raw(bytes) => raw_fragments(bytes, mtu),
        Body::Fragment(of) => divide(of, mtu),
        body => {
            let (datagram, payload) = (packet.id, packet.len.saturating_sub(HEADER));
            let Packet { len, kind, .. } = *packet;
            divide(&Fragment { datagram, offset: 0, payload, last: true, len, kind, body: body.clone() }, mtu)
        }
    }
}

/// Payload of a fragment that is not the last.
fn room(mtu: u16, header: u16) -> u16 {
    (mtu.saturating_sub(header) / BLOCK).max(1) * BLOCK
}

fn divide(of: &Fragment, mtu: u16) -> Vec<(Body, u16)> {
    let room = room(mtu, HEADER);
    let piece = |at: u16| {
        let payload = room.min(of.payload - at);
        let last = of.last && at + payload == of.payload;
        let fragment = Fragment { offset: of.offset + at, payload, last, ..of.clone() };
        (Body::Fragment(Box::new(fragment)), payload + HEADER)
    };
    (0..of.payload).step_by(usize::from(room)).map(piece).collect()
}

/// Of a real packet of IPv4. Each fragment has its whole header, options included.
fn raw_fragments(bytes: &[u8], mtu: u16) -> Vec<(Body, u16)> {
    let header = usize::from(bytes[0] & 15) * 4;
    let field = u16::from_be_bytes([bytes[6], bytes[7]]);
    let (Some((head, payload)), room) = (bytes.split_at_checked(header), room(mtu, header as u16)) else { return Vec::new() };
    let count = payload.len().div_ceil(usize::from(room));
    let piece = |(number, payload): (usize, &[u8])| {
        let mut fragment = head.to_vec();
        let len = (header + payload.len()) as u16;
        let more = if number + 1 < count { MORE } else { field & MORE };
        let offset = (field & OFFSET) + number as u16 * (room / BLOCK);
        fragment[2..4].copy_from_slice(&len.to_be_bytes());
        fragment[6..8].copy_from_slice(&(offset | more).to_be_bytes());
        fragment[10..12].fill(0);
        let sum = header_checksum(&fragment);
        fragment[10..12].copy_from_slice(&sum.to_be_bytes());
        fragment.extend(payload);
        (Body::Raw(fragment.into()), len)
    };
    payload.chunks(usize::from(room)).enumerate().map(piece).collect()
}

/// RFC 791, section 3.1.
fn header_checksum(header: &[u8]) -> u16 {
    let mut sum: u32 = header.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    !(sum as u16)
}

/// Forwards a packet in fragments.
pub fn forward_in_fragments(packet: &Packet, mtu: u16, out: &mut Output<'_>) {
    let pieces = fragments_of(packet, out.arena.get(packet.body), mtu);
    if pieces.is_empty() {
        // A header that is longer than its packet.
        return out.drop(*packet, DropReason::TooBig);
    }
    out.forward_divided(packet, pieces);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Arena, Datagram, Ecn, Kind};

    fn packet(len: u16, arena: &mut Arena) -> Packet {
        let body = arena.insert(Body::Datagram(Datagram::default()));
        Packet { id: 7, body, flow: 0, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind: Kind::DATA }
    }

    fn parts(pieces: &[(Body, u16)]) -> Vec<(u16, u16, bool, u16)> {
        let part = |(body, len): &(Body, u16)| match body {
            Body::Fragment(fragment) => (fragment.offset, fragment.payload, fragment.last, *len),
            _ => panic!("a fragment"),
        };
        pieces.iter().map(part).collect()
    }

    #[test]
    fn datagram_is_divided_at_multiples_of_eight_bytes() {
        let mut arena = Arena::default();
        let packet = packet(1500, &mut arena);
        let body = arena.get(packet.body);
        // 1480 B of payload: 1380 is 172 * 8 + 4.
        assert_eq!(parts(&fragments_of(&packet, body, 1400)), [(0, 1376, false, 1396), (1376, 104, true, 124)]);
        assert_eq!(fragments_of(&packet, body, 68).len(), 31);
    }

    #[test]
    fn fragment_is_divided_again_on_a_smaller_hop() {
        let mut arena = Arena::default();
        let packet = packet(1500, &mut arena);
        let first = fragments_of(&packet, arena.get(packet.body), 1400).remove(0);
        let again = parts(&fragments_of(&packet, &first.0, 1000));
        assert_eq!(again, [(0, 976, false, 996), (976, 400, false, 420)]);
    }

    #[test]
    fn real_packet_is_divided_with_lengths_offsets_and_checksums() {
        let mut bytes = vec![0x45, 0, 5, 220, 1, 2, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        bytes.extend((0..1480u16).map(|at| at as u8));
        let pieces = raw_fragments(&bytes, 1400);
        let mut payload = Vec::new();
        for (number, (body, len)) in pieces.iter().enumerate() {
            let Body::Raw(fragment) = body else { panic!("bytes") };
            assert_eq!((fragment.len(), header_checksum(&fragment[..20])), (usize::from(*len), 0));
            let field = u16::from_be_bytes([fragment[6], fragment[7]]);
            assert_eq!(field, [MORE, 172][number]);
            payload.extend(&fragment[20..]);
        }
        assert_eq!((pieces.len(), &payload[..]), (2, &bytes[20..]));
    }
}
