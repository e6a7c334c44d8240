//! Tunnels in UDP: GTP-U, VXLAN, Geneve, GRE, L2TPv2. A port alone shows none: any program may use it. A
//! datagram is a tunnel's if its header is valid, and if what follows begins as a packet does whose length
//! fits the datagram; all others are flows of their own.

use super::ip::IpHeader;
use super::layers::{Layer, Layers, Tunnel};
use super::link::{self, NetworkProtocol};
use super::{Skip, gre, u16_at};

const UDP_HEADER: usize = 8;
const L2TP: u16 = 1701;
const GTP_U: u16 = 2152;
const GRE_IN_UDP: u16 = 4754;
const VXLAN: u16 = 4789;
/// Port of Linux's VXLAN before the assignment, and its default.
const VXLAN_OF_LINUX: u16 = 8472;
const GENEVE: u16 = 6081;

/// Content of a tunnel's datagram.
enum Content {
    Ip(usize),
    Ethernet(usize),
    Ppp(usize),
    /// A GRE header.
    Gre(usize),
    /// EtherType, offset after the tunnel's header.
    Type(u16, usize),
}

/// The network header in a datagram that is a tunnel's; none for all other datagrams.
#[inline]
pub fn payload(bytes: &[u8], ip: &IpHeader, layers: &mut Layers) -> Result<Option<(NetworkProtocol, usize)>, Skip> {
    let Some((source, destination)) = u16_at(bytes, ip.tcp_at).zip(u16_at(bytes, ip.tcp_at + 2)) else { return Ok(None) };
    let port = if source == L2TP { L2TP } else { destination };
    if !matches!(port, L2TP | GTP_U | GRE_IN_UDP | VXLAN | VXLAN_OF_LINUX | GENEVE) {
        return Ok(None);
    }
    inner(bytes, ip, port, layers)
}

#[cold]
#[inline(never)]
fn inner(bytes: &[u8], ip: &IpHeader, port: u16, layers: &mut Layers) -> Result<Option<(NetworkProtocol, usize)>, Skip> {
    let at = ip.tcp_at + UDP_HEADER;
    // A first fragment does not end where its datagram does.
    let end = ip.fragment.is_none().then(|| ip.tcp_at + ip.tcp_len as usize);
    // Ethernet's padding is no part of the datagram.
    let bytes = &bytes[..end.unwrap_or(bytes.len()).min(bytes.len())];
    let wire_len = end.map(|end| end.saturating_sub(at));
    let found = match port {
        GTP_U => gtp_u(bytes, at, wire_len).map(|content| (Tunnel::GtpU, content)),
        VXLAN | VXLAN_OF_LINUX => vxlan(bytes, at).map(|content| (Tunnel::Vxlan, content)),
        GENEVE => geneve(bytes, at).map(|content| (Tunnel::Geneve, content)),
        L2TP => l2tp(bytes, at, wire_len).map(|content| (Tunnel::L2tp, content)),
        _ => gre_in_udp(bytes, at).map(|content| (Tunnel::GreInUdp, content)),
    };
    let Some((tunnel, content)) = found else { return Ok(None) };
    let outer = layers.list().len();
    if !matches!(content, Content::Gre(_)) {
        layers.add(Layer::Tunnel(tunnel), at);
    }
    let network = match content {
        Content::Ip(at) => Ok((NetworkProtocol::EitherIp, at)),
        Content::Ethernet(at) => link::ethernet(bytes, at, layers),
        Content::Ppp(at) => link::ppp_protocol(bytes, at, layers),
        Content::Gre(at) => gre::payload(bytes, at, tunnel, layers),
        Content::Type(kind, at) => link::by_ethertype(bytes, Some(kind), at, layers),
    };
    let is_tunnel = match network {
        Ok((network, inner)) => is_packet(bytes, network, inner, end),
        // A known protocol that is not decoded, such as ARP, or a header that was cut off.
        Err(Skip::CutOff) => true,
        Err(_) => layers.ended_at.is_some_and(|protocol| protocol.is_control()),
    };
    if is_tunnel {
        return network.map(Some);
    }
    layers.truncate(outer);
    Ok(None)
}

/// Whether an IP packet at `at` fits before the end of the datagram, as far as it was captured.
fn is_packet(bytes: &[u8], network: NetworkProtocol, at: usize, end: Option<usize>) -> bool {
    let Some(&first) = bytes.get(at) else { return true };
    let is_v4 = match (network, first >> 4) {
        (NetworkProtocol::Ipv4 | NetworkProtocol::EitherIp, 4) => true,
        (NetworkProtocol::Ipv6 | NetworkProtocol::EitherIp, 6) => false,
        _ => return false,
    };
    let len = if is_v4 { u16_at(bytes, at + 2) } else { u16_at(bytes, at + 4).map(|len| len.saturating_add(40)) };
    // The length of a super-segment may be zero.
    (!is_v4 || first & 15 >= 5) && len.zip(end).is_none_or(|(len, end)| at + usize::from(len) <= end)
}

/// GTP-U (3GPP TS 29.281, section 5): version 1, protocol type 1, message G-PDU; with one of the flags E, S
/// and PN four more bytes, of which the last is the type of the first extension header.
fn gtp_u(bytes: &[u8], at: usize, wire_len: Option<usize>) -> Option<Content> {
    const G_PDU: u8 = 255;
    let header: &[u8; 8] = bytes.get(at..)?.first_chunk()?;
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if header[0] & 0xf8 != 0x30 || header[1] != G_PDU || wire_len.is_some_and(|wire_len| len + 8 > wire_len) {
        return None;
    }
    if header[0] & 7 == 0 {
        return Some(Content::Ip(at + 8));
    }
    let (mut inner, end) = (at + 12, at + 8 + len);
    let mut next = if header[0] & 4 != 0 { *bytes.get(at + 11)? } else { 0 };
    // Lengths are in units of four bytes; the last byte is the type of the next header.
    while next != 0 {
        let len = usize::from(*bytes.get(inner)?) * 4;
        if len == 0 || inner + len > end {
            return None;
        }
        next = *bytes.get(inner + len - 1)?;
        inner += len;
    }
    Some(Content::Ip(inner))
}

/// VXLAN (RFC 7348, section 5): the flag I, a VNI, zeros; or with a group policy
/// (draft-smith-vxlan-group-policy).
fn vxlan(bytes: &[u8], at: usize) -> Option<Content> {
    let header: &[u8; 8] = bytes.get(at..)?.first_chunk()?;
    let is_plain = header[..4] == [8, 0, 0, 0];
    let has_policy = header[0] == 0x88 && header[1] & !0x48 == 0;
    ((is_plain || has_policy) && header[7] == 0).then_some(Content::Ethernet(at + 8))
}

/// Geneve (RFC 8926, section 3.4): version 0, options in four-byte words.
fn geneve(bytes: &[u8], at: usize) -> Option<Content> {
    let header: &[u8; 8] = bytes.get(at..)?.first_chunk()?;
    if header[0] >> 6 != 0 || header[1] & 0x3f != 0 || header[7] != 0 {
        return None;
    }
    let inner = at + 8 + usize::from(header[0] & 0x3f) * 4;
    match u16::from_be_bytes([header[2], header[3]]) {
        0x6558 => Some(Content::Ethernet(inner)),
        kind => Some(Content::Type(kind, inner)),
    }
}

/// GRE in UDP (RFC 8086): a header without reserved bits.
fn gre_in_udp(bytes: &[u8], at: usize) -> Option<Content> {
    u16_at(bytes, at).filter(|&flags| gre::is_plain(flags)).map(|_| Content::Gre(at))
}

/// L2TPv2 (RFC 2661, section 3.1): a data message of version 2, then PPP with or without address and
/// control.
fn l2tp(bytes: &[u8], at: usize, wire_len: Option<usize>) -> Option<Content> {
    const CONTROL: u16 = 0x8000;
    const LENGTH: u16 = 0x4000;
    const SEQUENCE: u16 = 0x0800;
    const OFFSET: u16 = 0x0200;
    const PRIORITY: u16 = 0x0100;
    let flags = u16_at(bytes, at)?;
    if flags & !(LENGTH | SEQUENCE | OFFSET | PRIORITY) != 2 || flags & CONTROL != 0 {
        return None;
    }
    let mut inner = at + 2;
    if flags & LENGTH != 0 {
        let len = usize::from(u16_at(bytes, inner)?);
        if wire_len.is_some_and(|wire_len| len != wire_len) {
            return None;
        }
        inner += 2;
    }
    inner += 4;
    if flags & SEQUENCE != 0 {
        inner += 4;
    }
    if flags & OFFSET != 0 {
        inner += 2 + usize::from(u16_at(bytes, inner)?);
    }
    let has_address = bytes.get(inner..inner + 2) == Some(&[0xff, 3]);
    Some(Content::Ppp(if has_address { inner + 2 } else { inner }))
}
