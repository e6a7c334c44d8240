//! What nearly every packet is, without the general walk: IPv4 without options, not in pieces, straight behind Ethernet, Linux's cooked headers or at
//! the front, and TCP. Each field lies at a fixed place, so one look at the length does for all. What is not of that form, or wrong, is left to the walk.

use super::{Flags, Key, Options, Segment};
use ackclock_pcap::checksum::{fold, sum};
use ackclock_pcap::read::{LinkType, Record};

const HEADERS: usize = 40;

/// The datagram of a packet that is IPv4's by what its link says.
#[inline(always)]
fn datagram<'a>(record: &Record<'a>) -> Option<&'a [u8]> {
    if record.link == LinkType(1) {
        let (header, datagram) = record.bytes.split_first_chunk::<14>()?;
        return (header[12..] == [8, 0]).then_some(datagram);
    }
    behind_other(record)
}

#[inline(never)]
fn behind_other<'a>(record: &Record<'a>) -> Option<&'a [u8]> {
    let (kind, at) = match record.link {
        LinkType(101) => return Some(record.bytes),
        LinkType(113) => (14, 16),
        LinkType(276) => (0, 20),
        _ => return None,
    };
    let (header, datagram) = record.bytes.split_at_checked(at)?;
    (header[kind..kind + 2] == [8, 0]).then_some(datagram)
}

/// The flow of a packet that is of that form as far as that needs it: a look too short to say whether it is sound.
#[inline]
pub fn key(record: &Record<'_>) -> Option<Key> {
    let h: &[u8; 24] = datagram(record)?.first_chunk()?;
    let word = |i: usize| u32::from_be_bytes([h[i], h[i + 1], h[i + 2], h[i + 3]]);
    if h[0] != 0x45 || h[9] != 6 || h[6] & 0x3f | h[7] != 0 {
        return None;
    }
    let half = |i: usize| u16::from_be_bytes([h[i], h[i + 1]]);
    Some(Key::v4([word(12), word(16)], [half(20), half(22)]).0)
}

/// The segment of such a packet; none if it is not of that form, which says nothing of whether it is sound. Both headers are five words of eight bytes;
/// fields are cut out of those.
#[inline(never)]
pub fn segment<'a>(record: &Record<'a>) -> Option<Segment<'a>> {
    let bytes = datagram(record)?;
    let (words, _) = bytes.first_chunk::<HEADERS>()?.as_chunks::<8>();
    let &[w0, w1, w2, w3, w4] = words.first_chunk()?;
    let [w0, w1, w2, w3, w4] = [w0, w1, w2, w3, w4].map(u64::from_be_bytes);
    let total = (w0 >> 32 & 0xffff) as usize;
    let tcp_header = (w4 >> 60) as usize * 4;
    let ends = 20 + tcp_header;
    if w0 >> 56 != 0x45 || w1 >> 48 & 0xff != 6 || w0 & 0x3fff != 0 || tcp_header < 20 || total < ends {
        return None;
    }
    let here = &bytes[..bytes.len().min(total)];
    // Carries come back in, in whatever word they arise: one's complement sums can be taken eight bytes at a time (RFC 1071, section 2).
    let bad_ip = fold(carried(carried(w0, w1), w2 >> 32)) != 0xffff;
    let bad_tcp = here.len() == total && {
        let pseudo = (w1 & 0xffff_ffff) + 6 + total as u64 - 20;
        let fixed = carried(carried(carried(w2, w3), w4), pseudo);
        fold(carried(fixed, behind(&here[HEADERS..]))) != 0xffff
    };
    let (key, from) = Key::v4([w1 as u32, (w2 >> 32) as u32], [(w2 >> 16) as u16, w2 as u16]);
    let mut options = Options::of(&here[HEADERS..ends.min(here.len())]);
    options.broken &= here.len() >= ends;
    Some(Segment {
        key,
        from,
        seq: (w3 >> 32) as u32,
        ack: w3 as u32,
        flags: Flags((w4 >> 48) as u8),
        window: (w4 >> 32) as u16,
        payload: (total - ends) as u32,
        ip_len: total as u32,
        ip_id: Some((w0 >> 16) as u16),
        ttl: (w1 >> 56) as u8,
        ecn: (w0 >> 48) as u8 & 3,
        options,
        header_len: tcp_header as u8,
        bad_checksum: bad_ip || bad_tcp,
        captured: &here[ends.min(here.len())..],
    })
}

#[inline(always)]
fn carried(a: u64, b: u64) -> u64 {
    let (sum, over) = a.overflowing_add(b);
    sum + u64::from(over)
}

/// The sum of what follows the fixed headers: mostly nothing or time stamps.
#[inline(always)]
fn behind(rest: &[u8]) -> u64 {
    match rest {
        [] => 0,
        &[a, b, c, d, e, f, g, h, i, j, k, l] => {
            carried(u64::from_be_bytes([a, b, c, d, e, f, g, h]), u64::from(u32::from_be_bytes([i, j, k, l])))
        }
        // In the machine's order: what is folded may be turned.
        _ => u64::from(u16::from_be(fold(sum(rest)) as u16)),
    }
}
