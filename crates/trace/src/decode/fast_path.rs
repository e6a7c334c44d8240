//! Fast path of the decoder: TCP over unfragmented IPv4 without options, directly after Ethernet, a
//! Linux cooked header or no link header. All fields are at fixed offsets, so that one length check
//! suffices. All other packets and malformed ones are left to [`super::decode`].

use super::{Flags, Key, Options, Segment};
use ackclock_pcap::checksum::{fold, sum};
use ackclock_pcap::read::{LinkType, Record};

const HEADERS: usize = 40;

/// The IPv4 datagram of a packet, by its link-layer protocol field.
#[inline(always)]
fn datagram<'a>(record: &Record<'a>) -> Option<&'a [u8]> {
    if record.link == LinkType(1) {
        let (header, datagram) = record.bytes.split_first_chunk::<14>()?;
        return (header[12..] == [8, 0]).then_some(datagram);
    }
    datagram_of_other_link(record)
}

#[inline(never)]
fn datagram_of_other_link<'a>(record: &Record<'a>) -> Option<&'a [u8]> {
    let (kind, at) = match record.link {
        LinkType(101) => return Some(record.bytes),
        LinkType(113) => (14, 16),
        LinkType(276) => (0, 20),
        _ => return None,
    };
    let (header, datagram) = record.bytes.split_at_checked(at)?;
    (header[kind..kind + 2] == [8, 0]).then_some(datagram)
}

/// The version, header length and fragment fields of the first word, and the protocol of the second.
const FIXED: [u64; 2] = [0xff00_0000_0000_3fff, 0x00ff_0000_0000_0000];
/// Their values: IPv4 without options, no fragment; TCP.
const FORM: [u64; 2] = [0x4500_0000_0000_0000, 0x0006_0000_0000_0000];

/// The [`Key::mix`] of a packet of this form, whose lengths are not checked.
#[inline(always)]
pub fn mix(record: &Record<'_>) -> Option<u64> {
    let (words, _) = datagram(record)?.first_chunk::<24>()?.as_chunks::<8>();
    let &[w0, w1, w2] = words.first_chunk()?;
    let [w0, w1, w2] = [w0, w1, w2].map(u64::from_be_bytes);
    let has_form = w0 & FIXED[0] == FORM[0] && w1 & FIXED[1] == FORM[1];
    has_form.then(|| Key::mix_v4([w1 as u32, (w2 >> 32) as u32], [(w2 >> 16) as u16, w2 as u16]))
}

/// The segment of a packet of this form; none for all others. Both headers are read as five 8-byte
/// words.
#[inline(always)]
pub fn segment<'a>(record: &Record<'a>) -> Option<Segment<'a>> {
    let bytes = datagram(record)?;
    let (words, _) = bytes.first_chunk::<HEADERS>()?.as_chunks::<8>();
    let &[w0, w1, w2, w3, w4] = words.first_chunk()?;
    let [w0, w1, w2, w3, w4] = [w0, w1, w2, w3, w4].map(u64::from_be_bytes);
    let total = (w0 >> 32 & 0xffff) as usize;
    let tcp_header = (w4 >> 60) as usize * 4;
    let ends = 20 + tcp_header;
    if w0 & FIXED[0] != FORM[0] || w1 & FIXED[1] != FORM[1] || tcp_header < 20 || total < ends {
        return None;
    }
    let captured = &bytes[..bytes.len().min(total)];
    // One's complement sums can be taken eight bytes at a time with end-around carry (RFC 1071,
    // section 2).
    let bad_ip = fold(add_with_carry(add_with_carry(w0, w1), w2 >> 32)) != 0xffff;
    let bad_tcp = captured.len() == total && {
        let pseudo = (w1 & 0xffff_ffff) + 6 + total as u64 - 20;
        let fixed = add_with_carry(add_with_carry(add_with_carry(w2, w3), w4), pseudo);
        fold(add_with_carry(fixed, sum_of_rest(&captured[HEADERS..]))) != 0xffff
    };
    let (key, from) = Key::v4([w1 as u32, (w2 >> 32) as u32], [(w2 >> 16) as u16, w2 as u16]);
    let mut options = Options::of(&captured[HEADERS..ends.min(captured.len())]);
    options.malformed &= captured.len() >= ends;
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
        captured: &captured[ends.min(captured.len())..],
    })
}

#[inline(always)]
fn add_with_carry(a: u64, b: u64) -> u64 {
    let (sum, over) = a.overflowing_add(b);
    sum + u64::from(over)
}

/// The checksum of the bytes after the fixed headers: mostly none, or timestamps.
#[inline(always)]
fn sum_of_rest(rest: &[u8]) -> u64 {
    match rest {
        [] => 0,
        &[a, b, c, d, e, f, g, h, i, j, k, l] => {
            add_with_carry(u64::from_be_bytes([a, b, c, d, e, f, g, h]), u64::from(u32::from_be_bytes([i, j, k, l])))
        }
        // A folded sum in native byte order may be swapped.
        _ => u64::from(u16::from_be(fold(sum(rest)) as u16)),
    }
}
