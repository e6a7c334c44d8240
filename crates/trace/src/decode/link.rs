//! Link-layer headers: position and protocol of the network header.

use super::layers::{Layer, Layers, Tunnel};
use super::protocol::Protocol;
use super::{Skip, u16_at, wifi};
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
pub fn network_header(record: &Record<'_>, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let bytes = record.bytes;
    match record.link {
        LinkType(1) => ethernet(bytes, 0, layers),
        LinkType(12 | 14 | 101) => Ok((NetworkProtocol::EitherIp, 0)),
        LinkType(228) => Ok((NetworkProtocol::Ipv4, 0)),
        LinkType(229) => Ok((NetworkProtocol::Ipv6, 0)),
        LinkType(113) => by_ethertype(bytes, u16_at(bytes, 14), 16, layers),
        LinkType(276) => by_ethertype(bytes, u16_at(bytes, 0), 20, layers),
        LinkType(0 | 108) => loopback(bytes, layers),
        LinkType(9 | 50 | 104 | 204) => ppp(bytes, record.link, layers),
        LinkType(51) => pppoe(bytes, 0, layers),
        LinkType(219) => mpls(bytes, 0, layers),
        LinkType(100 | 106) => llc(bytes, 0, layers),
        LinkType(105) => wifi::frame(bytes, 0, false, layers),
        LinkType(119 | 163) => wifi::prism(bytes, layers),
        LinkType(127) => wifi::radiotap(bytes, layers),
        LinkType(192) => wifi::ppi(bytes, layers),
        LinkType(239) => nflog(bytes, layers),
        LinkType(other) => Err(layers.end(Protocol::Link(other), 0, Skip::UnknownLink)),
    }
}

/// Ethernet (IEEE 802.3): addresses, then an EtherType, or a length followed by LLC.
#[inline]
pub fn ethernet(bytes: &[u8], at: usize, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    layers.add(Layer::Ethernet, at);
    let kind = u16_at(bytes, at + 12);
    if kind == Some(0x0800) {
        return Ok((NetworkProtocol::Ipv4, at + 14));
    }
    by_ethertype(bytes, kind, at + 14, layers)
}

/// Protocol by EtherType, through VLAN tags (802.1Q, 802.1ad), a backbone's frame (802.1ah), MPLS and
/// PPPoE. `at` is the offset after the EtherType.
pub fn by_ethertype(bytes: &[u8], kind: Option<u16>, at: usize, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let (mut kind, mut at) = (kind, at);
    for _ in 0..MAX_TAGS {
        match kind.ok_or(Skip::CutOff)? {
            0x0800 => return Ok((NetworkProtocol::Ipv4, at)),
            0x86dd => return Ok((NetworkProtocol::Ipv6, at)),
            0x8100 | 0x88a8 | 0x9100 | 0x9200 => (kind, at) = (u16_at(bytes, at + 2), at + 4),
            // The I-TAG: four bytes, then the customer's frame with its addresses.
            0x88e7 => {
                layers.add(Layer::Ethernet, at + 4);
                (kind, at) = (u16_at(bytes, at + 16), at + 18);
            }
            0x8847 | 0x8848 => return mpls(bytes, at, layers),
            0x8864 => return pppoe(bytes, at, layers),
            // An 802.3 length.
            0..=1500 => match llc_protocol(bytes, at, layers)? {
                LlcPayload::EtherType(inner, after) => (kind, at) = (Some(inner), after),
                LlcPayload::Network(network, after) => return Ok((network, after)),
            },
            other => return Err(layers.end(Protocol::EtherType(other), at, Skip::NotIp)),
        }
    }
    Err(Skip::Nested)
}

/// The network header after LLC.
pub fn llc(bytes: &[u8], at: usize, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    match llc_protocol(bytes, at, layers)? {
        LlcPayload::EtherType(kind, after) => by_ethertype(bytes, Some(kind), after, layers),
        LlcPayload::Network(network, after) => Ok((network, after)),
    }
}

/// What follows LLC, and its offset.
enum LlcPayload {
    EtherType(u16, usize),
    Network(NetworkProtocol, usize),
}

/// LLC (IEEE 802.2): IP by its own access point, by SNAP (RFC 1042) or by a network layer protocol identifier
/// (RFC 2684, section 5.2).
fn llc_protocol(bytes: &[u8], at: usize, layers: &mut Layers) -> Result<LlcPayload, Skip> {
    let header: &[u8; 3] = bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
    match header {
        [0xaa, 0xaa, 3] => {
            let snap: &[u8; 5] = bytes.get(at + 3..).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
            let kind = u16::from_be_bytes([snap[3], snap[4]]);
            match snap[..3] {
                // RFC 1042, and the bridges' tunnel of 802.1H.
                [0, 0, 0 | 0xf8] => Ok(LlcPayload::EtherType(kind, at + 8)),
                // Bridged Ethernet over ATM, after two bytes of padding (RFC 2684, section 5.2).
                [0, 0x80, 0xc2] if matches!(kind, 1 | 7) => {
                    let (network, after) = ethernet(bytes, at + 10, layers)?;
                    Ok(LlcPayload::Network(network, after))
                }
                [a, b, c] => {
                    let organization = u32::from_be_bytes([0, a, b, c]);
                    Err(layers.end(Protocol::Snap(organization, kind), at + 8, Skip::NotIp))
                }
                _ => Err(Skip::CutOff),
            }
        }
        [6, 6, 3] => Ok(LlcPayload::Network(NetworkProtocol::Ipv4, at + 3)),
        [0xfe, 0xfe, 3] => match bytes.get(at + 3).ok_or(Skip::CutOff)? {
            0xcc => Ok(LlcPayload::Network(NetworkProtocol::Ipv4, at + 4)),
            0x8e => Ok(LlcPayload::Network(NetworkProtocol::Ipv6, at + 4)),
            0xcf => {
                let (network, after) = ppp_protocol(bytes, at + 4, layers)?;
                Ok(LlcPayload::Network(network, after))
            }
            _ => Err(layers.end(Protocol::Llc(0xfe), at + 4, Skip::NotIp)),
        },
        [point, ..] => Err(layers.end(Protocol::Llc(*point), at + 3, Skip::NotIp)),
    }
}

/// MPLS label stack (RFC 3032). The payload has no type field: IP by its version field, or an
/// Ethernet pseudowire after a control word of zeros (RFC 4448).
fn mpls(bytes: &[u8], at: usize, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let mut at = at;
    for _ in 0..MAX_TAGS {
        let bottom = bytes.get(at + 2).ok_or(Skip::CutOff)? & 1 == 1;
        at += 4;
        if bottom {
            return match bytes.get(at).ok_or(Skip::CutOff)? >> 4 {
                4 => Ok((NetworkProtocol::Ipv4, at)),
                6 => Ok((NetworkProtocol::Ipv6, at)),
                0 if bytes.get(at..at + 2) == Some(&[0, 0]) => ethernet(bytes, at + 4, layers),
                _ => Err(layers.end(Protocol::Mpls, at + 2, Skip::NotIp)),
            };
        }
    }
    Err(Skip::Nested)
}

/// PPPoE session packet (RFC 2516): six bytes, then PPP without framing.
fn pppoe(bytes: &[u8], at: usize, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    match bytes.get(at..at + 2) {
        None => Err(Skip::CutOff),
        Some(&[0x11, 0]) => {
            layers.add(Layer::Tunnel(Tunnel::Pppoe), at);
            ppp_protocol(bytes, at + 6, layers)
        }
        Some(&[0x11, _]) => Err(layers.end(Protocol::EtherType(0x8863), at + 2, Skip::NotIp)),
        Some(_) => Err(Skip::BadLink),
    }
}

/// PPP: with a direction byte (link type 204), with or without HDLC address and control; or Cisco
/// HDLC.
fn ppp(bytes: &[u8], link: LinkType, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let at = usize::from(link == LinkType(204));
    match bytes.get(at..at + 2).ok_or(Skip::CutOff)? {
        [0xff, 0x03] => ppp_protocol(bytes, at + 2, layers),
        [0x0f | 0x8f, 0] => by_ethertype(bytes, u16_at(bytes, at + 2), at + 4, layers),
        _ => ppp_protocol(bytes, at, layers),
    }
}

/// PPP protocol field, which may be compressed to one byte (RFC 1661, section 6.5).
pub fn ppp_protocol(bytes: &[u8], at: usize, layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let first = *bytes.get(at).ok_or(Skip::CutOff)?;
    let (protocol, at) =
        if first & 1 == 1 { (u16::from(first), at + 1) } else { (u16_at(bytes, at).ok_or(Skip::CutOff)?, at + 2) };
    match protocol {
        PPP_IPV4 => Ok((NetworkProtocol::Ipv4, at)),
        PPP_IPV6 => Ok((NetworkProtocol::Ipv6, at)),
        PPP_MPLS => mpls(bytes, at, layers),
        other => Err(layers.end(Protocol::Ppp(other), at, Skip::NotIp)),
    }
}

/// BSD loopback: the address family in four bytes, in the capturing host's order (NULL) or big
/// endian (LOOP). AF_INET6 differs between systems.
fn loopback(bytes: &[u8], layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    let raw = bytes.get(..4).ok_or(Skip::CutOff)?;
    let family = u32::from_le_bytes([raw[0], raw[1], raw[2], raw[3]]);
    let family = if family > 0xffff { family.swap_bytes() } else { family };
    match family {
        2 => Ok((NetworkProtocol::Ipv4, 4)),
        10 | 24 | 28 | 30 => Ok((NetworkProtocol::Ipv6, 4)),
        other => Err(layers.end(Protocol::Family(other), 4, Skip::NotIp)),
    }
}

/// NFLOG: family, version, number of the group, then fields with length and type in the order of the host,
/// padded to four bytes. One of them is the packet.
fn nflog(bytes: &[u8], layers: &mut Layers) -> Result<(NetworkProtocol, usize), Skip> {
    const PAYLOAD: u16 = 9;
    let family = *bytes.first().ok_or(Skip::CutOff)?;
    let network = match family {
        2 => NetworkProtocol::Ipv4,
        10 => NetworkProtocol::Ipv6,
        _ => return Err(layers.end(Protocol::Family(family.into()), 4, Skip::NotIp)),
    };
    let first = u16_at(bytes, 4).ok_or(Skip::CutOff)?;
    // Lengths are at least four: a field that reads as a long one is of the other order.
    let is_big = first < first.swap_bytes();
    let half = |at: usize| u16_at(bytes, at).map(|value| if is_big { value } else { value.swap_bytes() });
    let mut at = 4;
    loop {
        let (len, kind) = half(at).zip(half(at + 2)).ok_or(Skip::CutOff)?;
        if len < 4 {
            return Err(Skip::BadLink);
        }
        if kind & 0x7fff == PAYLOAD {
            return Ok((network, at + 4));
        }
        at += usize::from(len).next_multiple_of(4);
    }
}
