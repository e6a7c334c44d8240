//! Conversion of a real host's IP packet to a packet of the network.

use ackclock_core::endpoint::Outgoing;
use ackclock_core::packet::{Arena, Body, Ecn, Kind};
use ackclock_core::view::TcpView;

/// Puts the bytes of an IP packet into the arena. None if they are no IP packet.
pub fn from_bytes(bytes: Box<[u8]>, arena: &mut Arena) -> Option<Outgoing> {
    let len = u16::try_from(bytes.len()).ok()?;
    let ecn = match bytes.first()? >> 4 {
        4 => bytes.get(1)? & 3,
        6 => bytes.get(1)? >> 4 & 3,
        _ => return None,
    };
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ecn)];
    // Protocols other than TCP, and TCP fragments after the first, count as data.
    let kind = TcpView::of_bytes(&bytes).map_or(Kind::DATA, |view| view.kind());
    Some(Outgoing { body: arena.insert(Body::Raw(bytes)), len, kind, ecn, no_more: true })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(flags: u8, payload: usize, dscp_ecn: u8) -> Box<[u8]> {
        let mut bytes = vec![0; 40 + payload];
        bytes[0] = 0x45;
        bytes[1] = dscp_ecn;
        bytes[2..4].copy_from_slice(&((40 + payload) as u16).to_be_bytes());
        bytes[9] = 6;
        bytes[32] = 0x50;
        bytes[33] = flags;
        bytes.into()
    }

    #[test]
    fn packet_gets_kind_and_ecn_of_its_headers() {
        let mut arena = Arena::default();
        let mut converted = |bytes| from_bytes(bytes, &mut arena).map(|out| (out.len, out.kind, out.ecn));
        assert_eq!(converted(segment(0x10, 0, 0)), Some((40, Kind::TCP.with(Kind::PURE_ACK), Ecn::NotEct)));
        assert_eq!(converted(segment(0x18, 10, 2)), Some((50, Kind::TCP.with(Kind::DATA), Ecn::Ect0)));
        assert_eq!(converted(segment(0x02, 0, 3)), Some((40, Kind::TCP.with(Kind::CONTROL), Ecn::Ce)));
        assert_eq!(converted(Box::from([0x10])), None);
        assert_eq!(converted(Box::default()), None);
    }
}
