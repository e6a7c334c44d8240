//! IPv4 and IPv6 down to TCP, through extension headers and tunnels.

use super::link::{self, Network};
use super::{Skip, half};
use ackclock_pcap::checksum::is_valid;
use ackclock_pcap::read::Record;

/// What is needed of the IP headers around a TCP segment.
#[derive(Debug, Clone, Copy)]
pub struct Ip {
    pub source: u128,
    pub destination: u128,
    /// Identification of IPv4; none for IPv6.
    pub id: Option<u16>,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// The two bits of RFC 3168.
    pub ecn: u8,
    pub bad_checksum: bool,
    /// Length of the datagram, headers included.
    pub total_len: u32,
    /// Where TCP starts in the record, and how many bytes of TCP the datagram has, or this piece of it.
    pub tcp_at: usize,
    pub tcp_len: u32,
    pub piece: Option<Place>,
}

/// Where a fragment belongs in its datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// Identification: equal in all pieces.
    pub id: u32,
    /// Bytes of the datagram's payload before this piece.
    pub offset: u32,
    /// More follow.
    pub more: bool,
}

/// Tunnels and extension headers inside one another: more is damage.
const MAX_HEADERS: usize = 16;
/// What an IPv4 address has before it in its IPv6-mapped form.
pub const MAPPED: u128 = 0xffff << 32;

const HOP_BY_HOP: u8 = 0;
const IPV4: u8 = 4;
const TCP: u8 = 6;
const IPV6: u8 = 41;
const GRE: u8 = 47;

/// The innermost datagram with TCP in it.
#[inline]
pub fn transport(record: &Record<'_>, network: Network, at: usize) -> Result<Ip, Skip> {
    let (mut network, mut at) = (network, at);
    for _ in 0..MAX_HEADERS {
        let (ip, next) = match network {
            Network::Ipv4 => v4(record, at)?,
            Network::Ipv6 => v6(record, at)?,
            Network::EitherIp => match record.bytes.get(at).ok_or(Skip::CutOff)? >> 4 {
                4 => v4(record, at)?,
                6 => v6(record, at)?,
                _ => return Err(Skip::NotIp),
            },
        };
        // A tunnel's first piece has the inner headers, which say how long the whole is; what is inside the others cannot be told.
        if next != TCP && ip.piece.is_some_and(|piece| piece.offset > 0) {
            return Err(Skip::Fragment);
        }
        (network, at) = match next {
            TCP => return Ok(ip),
            IPV4 => (Network::Ipv4, ip.tcp_at),
            IPV6 => (Network::Ipv6, ip.tcp_at),
            GRE => gre(record.bytes, ip.tcp_at)?,
            _ => return Err(Skip::NotTcp),
        };
    }
    Err(Skip::Nested)
}

/// RFC 791. Returns the protocol inside beside the header.
#[inline]
fn v4(record: &Record<'_>, at: usize) -> Result<(Ip, u8), Skip> {
    let header: &[u8; 20] = record.bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
    let header_len = usize::from(header[0] & 15) * 4;
    if header[0] >> 4 != 4 || header_len < 20 {
        return Err(Skip::BadIpv4);
    }
    let on_wire = record.original_len.saturating_sub(at as u32);
    // Zero: a super-segment that the network card was to cut up; its length is the frame's.
    let total_len = match u16::from_be_bytes([header[2], header[3]]) {
        0 => on_wire,
        said => u32::from(said),
    };
    if total_len < header_len as u32 {
        return Err(Skip::BadIpv4);
    }
    let id = u16::from_be_bytes([header[4], header[5]]);
    let piece = Place {
        id: u32::from(id),
        offset: u32::from(u16::from_be_bytes([header[6] & 0x1f, header[7]])) * 8,
        more: header[6] & 0x20 != 0,
    };
    let word = |i: usize| u128::from(u32::from_be_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]));
    let ip = Ip {
        source: MAPPED | word(12),
        destination: MAPPED | word(16),
        id: Some(id),
        ttl: header[8],
        ecn: header[1] & 3,
        bad_checksum: record.bytes.get(at..at + header_len).is_some_and(|header| !is_valid(0, header)),
        total_len,
        tcp_at: at + header_len,
        tcp_len: total_len - header_len as u32,
        piece: (piece.more || piece.offset > 0).then_some(piece),
    };
    Ok((ip, header[9]))
}

/// RFC 8200, through its extension headers.
fn v6(record: &Record<'_>, at: usize) -> Result<(Ip, u8), Skip> {
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
    let mut piece = None;
    for _ in 0..MAX_HEADERS {
        let len = match next {
            // Hop-by-hop, routing, destination, mobility, HIP, shim6: a length in words of eight bytes beyond the first.
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
                piece = place(bytes, inner)?;
                8
            }
            // Authentication: in words of four bytes beyond the first two.
            51 => (u32::from(*bytes.get(inner + 1).ok_or(Skip::CutOff)?) + 2) * 4,
            _ => break,
        };
        next = *bytes.get(inner).ok_or(Skip::CutOff)?;
        inner += len as usize;
        headers += len;
        // What follows in a later piece is no header.
        if piece.is_some_and(|piece| piece.offset > 0) {
            break;
        }
    }
    if headers > payload {
        return Err(Skip::BadIpv6);
    }
    let ip = Ip {
        source: address(8),
        destination: address(24),
        id: None,
        ttl: header[7],
        ecn: header[1] >> 4 & 3,
        bad_checksum: false,
        total_len: payload.saturating_add(40),
        tcp_at: inner,
        tcp_len: payload - headers,
        piece,
    };
    Ok((ip, next))
}

/// A fragment header (RFC 8200, section 4.5). One that is the whole datagram is none (RFC 6946).
fn place(bytes: &[u8], at: usize) -> Result<Option<Place>, Skip> {
    let header: &[u8; 8] = bytes.get(at..).and_then(|b| b.first_chunk()).ok_or(Skip::CutOff)?;
    let field = u16::from_be_bytes([header[2], header[3]]);
    let id = u32::from_be_bytes([header[4], header[5], header[6], header[7]]);
    let piece = Place { id, offset: u32::from(field & !7), more: field & 1 == 1 };
    Ok((piece.more || piece.offset > 0).then_some(piece))
}

/// The length of a jumbogram (RFC 2675, section 2), from the hop-by-hop options.
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

/// Generic routing encapsulation (RFC 2784, 2890): flags say which optional words are there.
fn gre(bytes: &[u8], at: usize) -> Result<(Network, usize), Skip> {
    let flags = half(bytes, at).ok_or(Skip::CutOff)?;
    // Version 1 is PPTP's, which carries PPP in pieces.
    if flags & 7 != 0 {
        return Err(Skip::NotTcp);
    }
    let words = [0x8000, 0x2000, 0x1000].into_iter().filter(|bit| flags & bit != 0).count();
    let (kind, inner) = (half(bytes, at + 2), at + 4 + 4 * words);
    match kind {
        Some(0x6558) => link::ethernet(bytes, inner),
        kind => link::by_type(bytes, kind, inner),
    }
}
