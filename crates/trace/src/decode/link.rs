//! Link layers: where the network header starts, and of which protocol it is.

use super::{Skip, half};
use ackclock_pcap::read::{LinkType, Record};

/// The network protocol, as far as we read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    Ipv4,
    Ipv6,
    /// Told by the first four bits.
    EitherIp,
}

/// Tags and labels inside one another: more is damage.
const MAX_TAGS: usize = 16;

const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_MPLS: u16 = 0x0281;

/// The network protocol of a record and where its header starts.
#[inline]
pub fn network(record: &Record<'_>) -> Result<(Network, usize), Skip> {
    let bytes = record.bytes;
    match record.link {
        LinkType(1) => ethernet(bytes, 0),
        LinkType(12 | 14 | 101) => Ok((Network::EitherIp, 0)),
        LinkType(228) => Ok((Network::Ipv4, 0)),
        LinkType(229) => Ok((Network::Ipv6, 0)),
        LinkType(113) => by_type(bytes, half(bytes, 14), 16),
        LinkType(276) => by_type(bytes, half(bytes, 0), 20),
        LinkType(0 | 108) => loopback(bytes),
        LinkType(9 | 50 | 104 | 204) => ppp(bytes, record.link),
        LinkType(51) => pppoe(bytes, 0),
        LinkType(219) => mpls(bytes, 0),
        _ => Err(Skip::UnknownLink),
    }
}

/// IEEE 802.3: addresses, then a type, or a length with LLC behind it.
#[inline]
pub fn ethernet(bytes: &[u8], at: usize) -> Result<(Network, usize), Skip> {
    let kind = half(bytes, at + 12);
    if kind == Some(0x0800) {
        return Ok((Network::Ipv4, at + 14));
    }
    by_type(bytes, kind, at + 14)
}

/// By EtherType, through VLAN tags (802.1Q, 802.1ad), MPLS and PPPoE; `at` is what follows the type.
pub fn by_type(bytes: &[u8], kind: Option<u16>, at: usize) -> Result<(Network, usize), Skip> {
    let (mut kind, mut at) = (kind, at);
    for _ in 0..MAX_TAGS {
        match kind.ok_or(Skip::CutOff)? {
            0x0800 => return Ok((Network::Ipv4, at)),
            0x86dd => return Ok((Network::Ipv6, at)),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => (kind, at) = (half(bytes, at + 2), at + 4),
            0x8847 | 0x8848 => return mpls(bytes, at),
            0x8864 => return pppoe(bytes, at),
            // A length: only SNAP (LLC AA AA 03, five bytes of SNAP) can hold IP.
            0..=1500 => match bytes.get(at..at + 6) {
                Some([0xaa, 0xaa, 3, 0, 0, 0]) => (kind, at) = (half(bytes, at + 6), at + 8),
                Some(_) => return Err(Skip::NotIp),
                None => return Err(Skip::CutOff),
            },
            _ => return Err(Skip::NotIp),
        }
    }
    Err(Skip::Nested)
}

/// Labels of four bytes up to the one with the bottom bit (RFC 3032). What follows is not said: IP by its first bits, or
/// an Ethernet pseudowire behind a control word of zeros (RFC 4448).
fn mpls(bytes: &[u8], at: usize) -> Result<(Network, usize), Skip> {
    let mut at = at;
    for _ in 0..MAX_TAGS {
        let bottom = bytes.get(at + 2).ok_or(Skip::CutOff)? & 1 == 1;
        at += 4;
        if bottom {
            return match bytes.get(at).ok_or(Skip::CutOff)? >> 4 {
                4 => Ok((Network::Ipv4, at)),
                6 => Ok((Network::Ipv6, at)),
                0 if bytes.get(at..at + 2) == Some(&[0, 0]) => ethernet(bytes, at + 4),
                _ => Err(Skip::NotIp),
            };
        }
    }
    Err(Skip::Nested)
}

/// A session packet (RFC 2516): six bytes, then PPP without framing.
fn pppoe(bytes: &[u8], at: usize) -> Result<(Network, usize), Skip> {
    match bytes.get(at..at + 2) {
        None => Err(Skip::CutOff),
        Some(&[0x11, 0]) => ppp_protocol(bytes, at + 6),
        // Discovery.
        Some(&[0x11, _]) => Err(Skip::NotIp),
        Some(_) => Err(Skip::BadLink),
    }
}

/// PPP in its link types: with a direction byte (204), with or without HDLC's address and control; or Cisco's HDLC.
fn ppp(bytes: &[u8], link: LinkType) -> Result<(Network, usize), Skip> {
    let at = usize::from(link == LinkType(204));
    match bytes.get(at..at + 2).ok_or(Skip::CutOff)? {
        [0xff, 0x03] => ppp_protocol(bytes, at + 2),
        [0x0f | 0x8f, 0] => by_type(bytes, half(bytes, at + 2), at + 4),
        _ => ppp_protocol(bytes, at),
    }
}

/// The protocol field, which may be cut to one byte (RFC 1661, section 6.5).
fn ppp_protocol(bytes: &[u8], at: usize) -> Result<(Network, usize), Skip> {
    let first = *bytes.get(at).ok_or(Skip::CutOff)?;
    let (protocol, at) = if first & 1 == 1 { (u16::from(first), at + 1) } else { (half(bytes, at).ok_or(Skip::CutOff)?, at + 2) };
    match protocol {
        PPP_IPV4 => Ok((Network::Ipv4, at)),
        PPP_IPV6 => Ok((Network::Ipv6, at)),
        PPP_MPLS => mpls(bytes, at),
        _ => Err(Skip::NotIp),
    }
}

/// BSD loopback: the address family in four bytes, of the capturing host's order (NULL) or big endian (LOOP). IPv6 has
/// a number of its own on each system.
fn loopback(bytes: &[u8]) -> Result<(Network, usize), Skip> {
    let raw = bytes.get(..4).ok_or(Skip::CutOff)?;
    let family = u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    match family {
        2 => Ok((Network::Ipv4, 4)),
        10 | 24 | 28 | 30 => Ok((Network::Ipv6, 4)),
        _ => Err(Skip::NotIp),
    }
}
