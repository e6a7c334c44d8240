//! Parser of real IPv4 and IPv6 headers. No length field is trusted; no input panics.

use super::{Connection, TcpView};
use crate::packet::{Ecn, Flags, SackBlocks, Timestamps};

/// IP protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;

/// A parsed IP header and the range of its payload.
pub struct Ip {
    pub from: [u8; 16],
    pub to: [u8; 16],
    protocol: u8,
    ecn: Ecn,
    id: Option<u16>,
    /// A fragment: ports and flags may be in another one.
    fragment: bool,
    start: usize,
    end: usize,
}

impl Ip {
    pub fn read(bytes: &[u8]) -> Option<Ip> {
        match bytes.first()? >> 4 {
            4 => Ip::v4(bytes),
            6 => Ip::v6(bytes),
            _ => None,
        }
    }

    /// RFC 791, section 3.1.
    fn v4(bytes: &[u8]) -> Option<Ip> {
        let start = usize::from(bytes.first()? & 15) * 4;
        let end = usize::from(be16(bytes, 2)?);
        if start < 20 || end < start || end > bytes.len() {
            return None;
        }
        let mapped = |at: usize| -> Option<[u8; 16]> {
            let mut address = [0u8; 16];
            address[10..12].fill(0xFF);
            address[12..].copy_from_slice(bytes.get(at..at + 4)?);
            Some(address)
        };
        // More fragments, or a nonzero offset.
        let fragment = be16(bytes, 6)? & 0x3FFF != 0;
        let (protocol, ecn, id) = (bytes[9], ecn(bytes[1]), Some(be16(bytes, 4)?));
        Some(Ip { from: mapped(12)?, to: mapped(16)?, protocol, ecn, id, fragment, start, end })
    }

    /// RFC 8200, sections 3 and 4.
    fn v6(bytes: &[u8]) -> Option<Ip> {
        let end = 40 + usize::from(be16(bytes, 4)?);
        if end > bytes.len() {
            return None;
        }
        let address = |at: usize| bytes.get(at..at + 16)?.try_into().ok();
        let (mut protocol, mut start, mut fragment) = (*bytes.get(6)?, 40, false);
        // Hop-by-hop, routing and destination options carry their length; the fragment header has a
        // fixed one.
        while let 0 | 43 | 44 | 60 = protocol {
            if start + 8 > end {
                return None;
            }
            let length = if protocol == 44 { 8 } else { 8 * (usize::from(bytes[start + 1]) + 1) };
            fragment |= protocol == 44 && be16(bytes, start + 2)? & 0xFFF9 != 0;
            protocol = bytes[start];
            start += length;
        }
        let ecn = ecn(*bytes.get(1)? >> 4);
        (start <= end).then_some(Ip { from: address(8)?, to: address(24)?, protocol, ecn, id: None, fragment, start, end })
    }
}

/// Parses a TCP header (RFC 9293, section 3.1).
pub fn tcp(bytes: &[u8]) -> Option<TcpView> {
    let (ip, header) = locate(bytes)?;
    let word = |at: usize| Some(u32::from_be_bytes(bytes.get(header.start + at..header.start + at + 4)?.try_into().ok()?));
    let mut view = TcpView {
        connection: Connection::Real {
            from: ip.from,
            to: ip.to,
            ports: (be16(bytes, header.start)?, be16(bytes, header.start + 2)?),
        },
        seq: word(4)?,
        ack: word(8)?,
        payload: (ip.end - header.end) as u32,
        window: u32::from(be16(bytes, header.start + 14)?),
        flags: Flags(be16(bytes, header.start + 12)? & 0x01FF),
        sack: SackBlocks::default(),
        timestamps: None,
        other_options: false,
        reserved: bytes[header.start + 12] & 14,
        ecn: ip.ecn,
        ip_id: ip.id,
    };
    let options_valid = options(bytes, &header, |at, kind, value| match (kind, value.len()) {
        (SACK, 8 | 16 | 24 | 32) => blocks(value).for_each(|(start, end)| view.sack.push(u64::from(start), u64::from(end))),
        (TIMESTAMPS, 8) => {
            view.timestamps = be32(bytes, at + 2).zip(be32(bytes, at + 6)).map(|(value, echo)| Timestamps { value, echo })
        }
        (MSS, 2) | (3, 1) | (4, 0) => {}
        _ => view.other_options = true,
    });
    options_valid.map(|()| view)
}

pub const MSS: u8 = 2;
pub const SACK: u8 = 5;
pub const TIMESTAMPS: u8 = 8;

/// Byte range of a TCP header.
pub struct Header {
    pub start: usize,
    pub end: usize,
}

/// Range of the TCP header of an unfragmented packet.
pub fn locate(bytes: &[u8]) -> Option<(Ip, Header)> {
    let ip = Ip::read(bytes)?;
    if ip.protocol != TCP || ip.fragment || ip.start + 20 > ip.end {
        return None;
    }
    let end = ip.start + usize::from(bytes[ip.start + 12] >> 4) * 4;
    let header = Header { start: ip.start, end };
    (end >= ip.start + 20 && end <= ip.end).then_some((ip, header))
}

/// Calls `show` with offset, kind and value of each option. `None` if the lengths are inconsistent.
pub fn options(bytes: &[u8], header: &Header, mut show: impl FnMut(usize, u8, &[u8])) -> Option<()> {
    let mut at = header.start + 20;
    while at < header.end {
        match bytes[at] {
            0 => break,
            1 => at += 1,
            kind => {
                let length = usize::from(*bytes.get(at + 1).filter(|_| at + 1 < header.end)?);
                if length < 2 || at + length > header.end {
                    return None;
                }
                show(at, kind, &bytes[at + 2..at + length]);
                at += length;
            }
        }
    }
    Some(())
}

fn blocks(value: &[u8]) -> impl Iterator<Item = (u32, u32)> + '_ {
    value.chunks_exact(8).filter_map(|block| be32(block, 0).zip(be32(block, 4)))
}

/// IPv4 without "don't fragment".
pub fn may_fragment(bytes: &[u8]) -> bool {
    const DONT_FRAGMENT: u8 = 0x40;
    bytes.len() >= 20 && bytes[0] >> 4 == 4 && bytes[6] & DONT_FRAGMENT == 0
}

/// Flow key: addresses, protocol, and the ports if present.
pub fn flow(bytes: &[u8]) -> Option<[u8; 37]> {
    let ip = Ip::read(bytes)?;
    let mut flow = [0u8; 37];
    flow[..16].copy_from_slice(&ip.from);
    flow[16..32].copy_from_slice(&ip.to);
    flow[32] = ip.protocol;
    if matches!(ip.protocol, TCP | UDP) && !ip.fragment && ip.start + 4 <= ip.end {
        flow[33..].copy_from_slice(&bytes[ip.start..ip.start + 4]);
    }
    Some(flow)
}

fn ecn(field: u8) -> Ecn {
    [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(field & 3)]
}

pub fn be16(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
