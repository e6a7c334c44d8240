//! Link-layer headers: position and protocol of the network header.

use super::{Skip, u16_at};
use ackclock_pcap::read::{LinkType, Record};

/// Protocol of a network header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NetworkProtocol {
    Ipv4,
    Ipv6,
    /// IPv4 or IPv6 by the version field.
    EitherIp,
}

/// Maximum number of nested tags or labels.
const MAX_TAGS: usize = 16;

const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
const PPP_MPLS: u16 = 0x0281;

/// Protocol and offset of a record's network header.
#[inline]
pub fn network_header(record: &Record<'_>) -> Result<(NetworkProtocol, usize), Skip> {
    let bytes = record.bytes;
    match record.link {
        LinkType(1) => ethernet(bytes, 0),
        LinkType(12 | 14 | 101) => Ok((NetworkProtocol::EitherIp, 0)),
        LinkType(228) => Ok((NetworkProtocol::Ipv4, 0)),
        LinkType(229) => Ok((NetworkProtocol::Ipv6, 0)),
        LinkType(113) => by_ethertype(bytes, u16_at(bytes, 14), 16),
        LinkType(276) => by_ethertype(bytes, u16_at(bytes, 0), 20),
        LinkType(0 | 108) => loopback(bytes),
        LinkType(9 | 50 | 104 | 204) => ppp(bytes, record.link),
        LinkType(51) => pppoe(bytes, 0),
        LinkType(219) => mpls(bytes, 0),
        _ => Err(Skip::UnknownLink),
    }
}

/// Ethernet (IEEE 802.3): addresses, then an EtherType, or a length followed by LLC.
#[inline]
pub fn ethernet(bytes: &[u8], at: usize) -> Result<(NetworkProtocol, usize), Skip> {
    let kind = u16_at(bytes, at + 12);
    if kind == Some(0x0800) {
        return Ok((NetworkProtocol::Ipv4, at + 14));
    }
    by_ethertype(bytes, kind, at + 14)
}

/// Protocol by EtherType, through VLAN tags (802.1Q, 802.1ad), MPLS and PPPoE. `at` is the offset
/// after the EtherType.
pub fn by_ethertype(bytes: &[u8], kind: Option<u16>, at: usize) -> Result<(NetworkProtocol, usize), Skip> {
    let (mut kind, mut at) = (kind, at);
    for _ in 0..MAX_TAGS {
        match kind.ok_or(Skip::CutOff)? {
            0x0800 => return Ok((NetworkProtocol::Ipv4, at)),
            0x86dd => return Ok((NetworkProtocol::Ipv6, at)),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => (kind, at) = (u16_at(bytes, at + 2), at + 4),
            0x8847 | 0x8848 => return mpls(bytes, at),
            0x8864 => return pppoe(bytes, at),
            // An 802.3 length: only SNAP (LLC AA AA 03) carries IP.
            0..=1500 => match bytes.get(at..at + 6) {
                Some([0xaa, 0xaa, 3, 0, 0, 0]) => (kind, at) = (u16_at(bytes, at + 6), at + 8),
                Some(_) => return Err(Skip::NotIp),
                None => return Err(Skip::CutOff),
            },
            _ => return Err(Skip::NotIp),
        }
    }
    Err(Skip::Nested)
}

/// MPLS label stack (RFC 3032). The payload has no type field: IP by its version field, or an
/// Ethernet pseudowire after a control word of zeros (RFC 4448).
fn mpls(bytes: &[u8], at: usize) -> Result<(NetworkProtocol, usize), Skip> {
    let mut at = at;
    for _ in 0..MAX_TAGS {
        let bottom = bytes.get(at + 2).ok_or(Skip::CutOff)? & 1 == 1;
        at += 4;
        if bottom {
            return match bytes.get(at).ok_or(Skip::CutOff)? >> 4 {
                4 => Ok((NetworkProtocol::Ipv4, at)),
                6 => Ok((NetworkProtocol::Ipv6, at)),
                0 if bytes.get(at..at + 2) == Some(&[0, 0]) => ethernet(bytes, at + 4),
                _ => Err(Skip::NotIp),
            };
        }
    }
    Err(Skip::Nested)
}

/// PPPoE session packet (RFC 2516): six bytes, then PPP without framing.
fn pppoe(bytes: &[u8], at: usize) -> Result<(NetworkProtocol, usize), Skip> {
    match bytes.get(at..at + 2) {
        None => Err(Skip::CutOff),
        Some(&[0x11, 0]) => ppp_protocol(bytes, at + 6),
        // Discovery.
        Some(&[0x11, _]) => Err(Skip::NotIp),
        Some(_) => Err(Skip::BadLink),
    }
}

/// PPP: with a direction byte (link type 204), with or without HDLC address and control; or Cisco
/// HDLC.
fn ppp(bytes: &[u8], link: LinkType) -> Result<(NetworkProtocol, usize), Skip> {
    let at = usize::from(link == LinkType(204));
    match bytes.get(at..at + 2).ok_or(Skip::CutOff)? {
        [0xff, 0x03] => ppp_protocol(bytes, at + 2),
        [0x0f | 0x8f, 0] => by_ethertype(bytes, u16_at(bytes, at + 2), at + 4),
        _ => ppp_protocol(bytes, at),
    }
}

/// PPP protocol field, which may be compressed to one byte (RFC 1661, section 6.5).
fn ppp_protocol(bytes: &[u8], at: usize) -> Result<(NetworkProtocol, usize), Skip> {
    let first = *bytes.get(at).ok_or(Skip::CutOff)?;
    let (protocol, at) =
        if first & 1 == 1 { (u16::from(first), at + 1) } else { (u16_at(bytes, at).ok_or(Skip::CutOff)?, at + 2) };
    match protocol {
        PPP_IPV4 => Ok((NetworkProtocol::Ipv4, at)),
        PPP_IPV6 => Ok((NetworkProtocol::Ipv6, at)),
        PPP_MPLS => mpls(bytes, at),
        _ => Err(Skip::NotIp),
    }
}

/// BSD loopback: the address family in four bytes, in the capturing host's order (NULL) or big
/// endian (LOOP). AF_INET6 differs between systems.
fn loopback(bytes: &[u8]) -> Result<(NetworkProtocol, usize), Skip> {
    let raw = bytes.get(..4).ok_or(Skip::CutOff)?;
    let family = u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    match family {
        2 => Ok((NetworkProtocol::Ipv4, 4)),
        10 | 24 | 28 | 30 => Ok((NetworkProtocol::Ipv6, 4)),
        _ => Err(Skip::NotIp),
    }
}
