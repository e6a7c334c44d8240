//! A real packet as the network carries it.

use ackclock_core::endpoint::Outgoing;
use ackclock_core::packet::{Arena, Body, Ecn, Kind};

const TCP: u8 = 6;
const FLAGS_THAT_CONTROL: u8 = 0x07;

/// Puts the bytes into the arena; none for what is no IP packet.
pub fn outgoing(bytes: Box<[u8]>, arena: &mut Arena) -> Option<Outgoing> {
    let len = u16::try_from(bytes.len()).ok()?;
    let (ecn, kind) = match bytes.first()? >> 4 {
        4 => (bytes.get(1)? & 3, kind_v4(&bytes)),
        6 => (bytes.get(1)? >> 4 & 3, kind_v6(&bytes)),
        _ => return None,
    };
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(ecn)];
    Some(Outgoing { body: arena.insert(Body::Raw(bytes)), len, kind, ecn, last: true })
}

fn kind_v4(bytes: &[u8]) -> Kind {
    let header = usize::from(bytes[0] & 15) * 4;
    let fragment = u16::from_be_bytes([bytes.get(6).copied().unwrap_or(0), bytes.get(7).copied().unwrap_or(0)]) & 0x1fff;
    let total = usize::from(u16::from_be_bytes([bytes.get(2).copied().unwrap_or(0), bytes.get(3).copied().unwrap_or(0)]));
    if bytes.get(9) != Some(&TCP) || fragment != 0 {
        return Kind::DATA;
    }
    kind_tcp(bytes.get(header..total.min(bytes.len())).unwrap_or_default())
}

/// Extension headers hide a TCP header; such packets count as data.
fn kind_v6(bytes: &[u8]) -> Kind {
    if bytes.get(6) == Some(&TCP) { kind_tcp(bytes.get(40..).unwrap_or_default()) } else { Kind::DATA }
}

fn kind_tcp(segment: &[u8]) -> Kind {
    let (Some(offset), Some(flags)) = (segment.get(12), segment.get(13)) else { return Kind::DATA };
    let payload = segment.len().saturating_sub(usize::from(offset >> 4) * 4);
    let control = flags & FLAGS_THAT_CONTROL != 0;
    let mut kind = Kind::TCP;
    if payload > 0 {
        kind = kind.with(Kind::DATA);
    } else if !control {
        kind = kind.with(Kind::PURE_ACK);
    }
    if control { kind.with(Kind::CONTROL) } else { kind }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(flags: u8, payload: usize, dscp_ecn: u8) -> Box<[u8]> {
        let mut bytes = vec![0; 40 + payload];
        bytes[0] = 0x45;
        bytes[1] = dscp_ecn;
        bytes[2..4].copy_from_slice(&((40 + payload) as u16).to_be_bytes());
        bytes[9] = TCP;
        bytes[32] = 0x50;
        bytes[33] = flags;
        bytes.into()
    }

    #[test]
    fn a_packet_is_known_by_its_headers() {
        let mut arena = Arena::default();
        let mut of = |bytes| outgoing(bytes, &mut arena).map(|out| (out.len, out.kind, out.ecn));
        assert_eq!(of(segment(0x10, 0, 0)), Some((40, Kind::TCP.with(Kind::PURE_ACK), Ecn::NotEct)));
        assert_eq!(of(segment(0x18, 10, 2)), Some((50, Kind::TCP.with(Kind::DATA), Ecn::Ect0)));
        assert_eq!(of(segment(0x02, 0, 3)), Some((40, Kind::TCP.with(Kind::CONTROL), Ecn::Ce)));
        assert_eq!(of(Box::from([0x10])), None);
        assert_eq!(of(Box::default()), None);
    }
}
