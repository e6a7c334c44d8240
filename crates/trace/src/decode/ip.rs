//! IPv4 and IPv6 headers, with extension headers and tunnels.

use super::layers::{Layer, Layers, Tunnel};
use super::link::NetworkProtocol;
use super::protocol::Protocol;
use super::{Skip, gre, udp_tunnel};
use ackclock_pcap::checksum::is_valid;
use ackclock_pcap::read::Record;

/// The innermost IP header of a TCP segment or a UDP datagram.
#[derive(Debug, Clone, Copy)]
pub struct IpHeader {
    pub source: u128,
    pub destination: u128,
    /// IPv4 identification; none for IPv6.
    pub id: Option<u16>,
    /// TTL, or hop limit.
    pub ttl: u8,
    /// ECN field (RFC 3168).
    pub ecn: u8,
    pub bad_checksum: bool,
    /// Length of the datagram, IP headers included.
    pub total_len: u32,
    /// Offset of TCP in the record.
    pub tcp_at: usize,
    /// Bytes of TCP in the datagram, or in this fragment.
    pub tcp_len: u32,
    pub fragment: Option<FragmentInfo>,
}

/// Position of a fragment in its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FragmentInfo {
    /// Identification, equal in all fragments.
    pub id: u32,
    /// Fragment offset in bytes.
    pub offset: u32,
    /// More fragments follow.
    pub more: bool,
}

/// Maximum number of nested tunnels, and of extension headers.
const MAX_HEADERS: usize = 16;
/// Prefix of an IPv6-mapped IPv4 address.
pub const V4_MAPPED: u128 = 0xffff << 32;

const HOP_BY_HOP: u8 = 0;
const IPV4: u8 = 4;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6: u8 = 41;
const GRE: u8 = 47;
const AUTHENTICATION: u8 = 51;

/// Protocol of the innermost IP header's payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Udp,
}

/// The innermost IP header, which has TCP or UDP as its payload.
#[inline]
pub fn transport(
    record: &Record<'_>,
    network: NetworkProtocol,
    at: usize,
    layers: &mut Layers,
) -> Result<(IpHeader, Transport), Skip> {
    let (mut network, mut at) = (network, at);
    for _ in 0..MAX_HEADERS {
        let is_v4 = match network {
            NetworkProtocol::Ipv4 => true,
            NetworkProtocol::Ipv6 => false,
            NetworkProtocol::EitherIp => match record.bytes.get(at).ok_or(Skip::CutOff)? >> 4 {
                4 => true,
                6 => false,
                version => return Err(layers.end(Protocol::IpVersion(version), at + 1, Skip::NotIp)),
            },
        };
        layers.add(if is_v4 { Layer::Ipv4 } else { Layer::Ipv6 }, at);
        let (mut ip, mut next) = if is_v4 { v4(record, at)? } else { v6(record, at)? };
        // Only the first fragment of a tunnel has the inner headers.
        if next != TCP && ip.fragment.is_some_and(|fragment| fragment.offset > 0) {
            return Err(Skip::Fragment);
        }
        layers.is_fragmented |= next != TCP && ip.fragment.is_some();
        if next == AUTHENTICATION {
            (ip, next) = after_authentication(record.bytes, ip)?;
        }
        (network, at) = match next {
            TCP => {
                layers.add(Layer::Tcp, ip.tcp_at);
                return Ok((ip, Transport::Tcp));
            }
            UDP => {
                layers.add(Layer::Udp, ip.tcp_at);
                match udp_tunnel::payload(record.bytes, &ip, layers)? {
                    Some(inner) => inner,
                    None => return Ok((ip, Transport::Udp)),
                }
            }
            IPV4 | IPV6 => {
                layers.add(Layer::Tunnel(Tunnel::IpInIp), ip.tcp_at);
                (if next == IPV4 { NetworkProtocol::Ipv4 } else { NetworkProtocol::Ipv6 }, ip.tcp_at)
            }
            GRE => gre::payload(record.bytes, ip.tcp_at, Tunnel::Gre, layers)?,
            other => return Err(layers.end(Protocol::Ip(other), ip.tcp_at, Skip::NotTcp)),
        };
    }
    Err(Skip::Nested)
}

/// The IP header as if there were no authentication header after it, and the protocol after that (RFC 4302):
/// its length is in 4-byte words beyond the first two.
fn after_authentication(bytes: &[u8], ip: IpHeader) -> Result<(IpHeader, u8), Skip> {
    let &[next, words] = bytes.get(ip.tcp_at..).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
    let len = (u32::from(words) + 2) * 4;
    let tcp_len = ip.tcp_len.checked_sub(len).ok_or(Skip::BadIpv4)?;
    Ok((IpHeader { tcp_at: ip.tcp_at + len as usize, tcp_len, ..ip }, next))
}

/// IPv4 (RFC 791): header and protocol.
#[inline]
fn v4(record: &Record<'_>, at: usize) -> Result<(IpHeader, u8), Skip> {
    let header: &[u8; 20] = record.bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
    let header_len = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_len < 20 {
        return Err(Skip::BadIpv4);
    }
    let on_wire = record.original_len.saturating_sub(at as u32);
    // A total length of zero is a TSO or GSO segment longer than 64 KB: use the length of the
    // frame.
    let total_len = match u16::from_be_bytes([header[2], header[3]]) {
        0 => on_wire,
        len => u32::from(len),
    };
    let padded = (total_len <= MIN_ETHERNET_PAYLOAD).then(|| pppoe_payload(record.bytes, at)).flatten();
    let total_len = padded.map_or(total_len, |len| total_len.min(len));
    if total_len < header_len as u32 {
        return Err(Skip::BadIpv4);
    }
    let id = u16::from_be_bytes([header[4], header[5]]);
    let fragment = FragmentInfo {
        id: u32::from(id),
        offset: u32::from(u16::from_be_bytes([header[6] & 0x1f, header[7]])) * 8,
        more: header[6] & 0x20 != 0,
    };
    let word = |i: usize| u128::from(u32::from_be_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]));
    let ip = IpHeader {
        source: V4_MAPPED | word(12),
        destination: V4_MAPPED | word(16),
        id: Some(id),
        ttl: header[8],
        ecn: header[1] & 3,
        bad_checksum: record.bytes.get(at..at + header_len).is_some_and(|header| !is_valid(0, header)),
        total_len,
        tcp_at: at + header_len,
        tcp_len: total_len - header_len as u32,
        fragment: (fragment.more || fragment.offset > 0).then_some(fragment),
    };
    Ok((ip, header[9]))
}

/// Shorter Ethernet frames are padded to this, bytes (IEEE 802.3).
const MIN_ETHERNET_PAYLOAD: u32 = 46;

/// Length of the IP packet at `at` by the PPPoE header before it (RFC 2516): some devices count the padding of
/// Ethernet frames in the total length.
fn pppoe_payload(bytes: &[u8], at: usize) -> Option<u32> {
    match bytes.get(at.checked_sub(8)?..at)? {
        [0x11, 0, _, _, high, low, 0, 0x21] => u32::from(u16::from_be_bytes([*high, *low])).checked_sub(2),
        _ => None,
    }
}

/// IPv6 (RFC 8200): header and the protocol after its extension headers.
fn v6(record: &Record<'_>, at: usize) -> Result<(IpHeader, u8), Skip> {
    let bytes = record.bytes;
    let header: &[u8; 40] = bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
    if header[0] >> 4 != 6 {
        return Err(Skip::BadIpv6);
    }
    let address = |i: usize| header[i..i + 16].iter().fold(0u128, |sum, &b| sum << 8 | u128::from(b));
    let on_wire = record.original_len.saturating_sub(at as u32 + 40);
    let mut payload = u32::from(u16::from_be_bytes([header[4], header[5]]));
    if payload == 0 {
        payload = on_wire;
    }
    let (mut next, mut inner, mut headers) = (header[6], at + 40, 0u32);
    let mut fragment = None;
    for _ in 0..MAX_HEADERS {
        let len = match next {
            // Hop-by-hop, routing, destination, mobility, HIP, shim6: length in 8-byte words beyond
            // the first.
            HOP_BY_HOP | 43 | 60 | 135 | 139 | 140 => {
                let len = (u32::from(*bytes.get(inner + 1).ok_or(Skip::CutOff)?) + 1) * 8;
                if next == HOP_BY_HOP
                    && let Some(jumbo) = jumbogram(bytes, inner, len as usize)
                {
                    payload = jumbo;
                }
                len
            }
            44 => {
                fragment = fragment_header(bytes, inner)?;
                8
            }
            // Length in 4-byte words beyond the first two.
            AUTHENTICATION => (u32::from(*bytes.get(inner + 1).ok_or(Skip::CutOff)?) + 2) * 4,
            _ => break,
        };
        next = *bytes.get(inner).ok_or(Skip::CutOff)?;
        inner += len as usize;
        headers += len;
        // A later fragment has no further headers.
        if fragment.is_some_and(|fragment| fragment.offset > 0) {
            break;
        }
    }
    if headers > payload {
        return Err(Skip::BadIpv6);
    }
    let ip = IpHeader {
        source: address(8),
        destination: address(24),
        id: None,
        ttl: header[7],
        ecn: header[1] >> 4 & 3,
        bad_checksum: false,
        total_len: payload.saturating_add(40),
        tcp_at: inner,
        tcp_len: payload - headers,
        fragment,
    };
    Ok((ip, next))
}

/// Fragment header (RFC 8200, section 4.5); none for an atomic fragment (RFC 6946).
fn fragment_header(bytes: &[u8], at: usize) -> Result<Option<FragmentInfo>, Skip> {
    let header: &[u8; 8] = bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
    let field = u16::from_be_bytes([header[2], header[3]]);
    let id = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let fragment = FragmentInfo { id, offset: u32::from(field & !7), more: field & 1 == 1 };
    Ok((fragment.more || fragment.offset > 0).then_some(fragment))
}

/// Length of a jumbogram (RFC 2675, section 2), from the hop-by-hop options.
fn jumbogram(bytes: &[u8], at: usize, len: usize) -> Option<u32> {
    let options = bytes.get(at + 2..at + len)?;
    let mut i = 0;
    while i < options.len() {
        match options[i] {
            0 => i += 1,
            0xc2 => {
                let value = options.get(i + 2..i + 6)?;
                return Some(u32::from_be_bytes([value[0], value[1], value[2], value[3]]));
            }
            _ => i += 2 + usize::from(*options.get(i + 1)?),
        }
    }
    None
}
