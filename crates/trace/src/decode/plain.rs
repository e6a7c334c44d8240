//! What nearly every packet is, without the general walk: IPv4 without options, not in pieces, straight behind Ethernet or at the front, and TCP.
//! Each field lies at a fixed place, so one look at the length does for all. What is not of that form, or wrong, is left to the walk.

use super::checksum::{folded, sum};
use super::ip::MAPPED;
use super::{Endpoint, Flags, Options, Segment};
use crate::read::{LinkType, Record};

const HEADERS: usize = 40;

/// Addresses and ports of a packet that is of that form as far as they need it: a look too short to say whether it is sound.
#[inline]
pub fn ends(record: &Record<'_>) -> Option<[Endpoint; 2]> {
    let bytes = match record.link {
        LinkType(1) if record.bytes.get(12..14)? == [8, 0] => &record.bytes[14..],
        LinkType(101) => record.bytes,
        _ => return None,
    };
    let h: &[u8; 24] = bytes.first_chunk()?;
    let word = |i: usize| u32::from_be_bytes([h[i], h[i + 1], h[i + 2], h[i + 3]]);
    if h[0] != 0x45 || h[9] != 6 || h[6] & 0x3f | h[7] != 0 {
        return None;
    }
    let end =
        |ip: usize, port: usize| Endpoint { ip: MAPPED | u128::from(word(ip)), port: u16::from_be_bytes([h[port], h[port + 1]]) };
    Some([end(12, 20), end(16, 22)])
}

/// The segment of such a packet; none if it is not of that form, which says nothing of whether it is sound.
#[inline(always)]
pub fn segment<'a>(record: &Record<'a>) -> Option<Segment<'a>> {
    let bytes = match record.link {
        LinkType(1) if record.bytes.get(12..14)? == [8, 0] => &record.bytes[14..],
        LinkType(101) => record.bytes,
        _ => return None,
    };
    let h: &[u8; HEADERS] = bytes.first_chunk()?;
    let half = |i: usize| u16::from_be_bytes([h[i], h[i + 1]]);
    let word = |i: usize| u32::from_be_bytes([h[i], h[i + 1], h[i + 2], h[i + 3]]);
    let total = usize::from(half(2));
    let tcp_header = usize::from(h[32] >> 4) * 4;
    let in_pieces = h[6] & 0x3f | h[7];
    if h[0] != 0x45 || h[9] != 6 || in_pieces != 0 || tcp_header < 20 || total < 20 + tcp_header {
        return None;
    }
    let here = &bytes[..bytes.len().min(total)];
    let ends = 20 + tcp_header;
    let bad_ip = folded(sum(&h[..20])) != 0xffff;
    let bad_tcp = here.len() == total && {
        let pseudo = sum(&h[12..20]) + u64::from(6u16.to_be()) + u64::from((total as u16 - 20).to_be());
        folded(pseudo + sum(&here[20..])) != 0xffff
    };
    let mut options = Options::of(&here[HEADERS..ends.min(here.len())]);
    options.broken &= here.len() >= ends;
    Some(Segment {
        source: Endpoint { ip: MAPPED | u128::from(word(12)), port: half(20) },
        destination: Endpoint { ip: MAPPED | u128::from(word(16)), port: half(22) },
        seq: word(24),
        ack: word(28),
        flags: Flags(h[33]),
        window: half(34),
        payload: (total - ends) as u32,
        ip_len: total as u32,
        ip_id: Some(half(4)),
        ttl: h[8],
        ecn: h[1] & 3,
        options,
        header_len: tcp_header as u8,
        bad_checksum: bad_ip || bad_tcp,
        captured: &here[ends.min(here.len())..],
    })
}
