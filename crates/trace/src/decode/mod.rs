//! From a captured record to the TCP segment in it: link layer, IP, TCP, options. Nothing here keeps state or copies payload.

mod ip;
mod key;
mod link;
mod options;
mod plain;
mod tcp;

pub use ip::{Ip, Place};
pub(crate) use key::Kept;
pub use key::{Key, Side};
pub use options::{Blocks, Options, Stamps, SynChoices};
pub use plain::key;
pub use tcp::{Flags, Segment};

use ackclock_pcap::read::{LinkType, Record};

/// An end of a flow; IPv4 addresses in their IPv6-mapped form (RFC 4291, section 2.5.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Endpoint {
    pub ip: u128,
    pub port: u16,
}

/// Why a record gave no TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Skip {
    /// Sound, and not for us.
    NotIp,
    NotTcp,
    /// A piece of a datagram that could not be put together.
    Fragment,
    UnknownLink,
    /// Cut by the capture before the TCP header ended.
    CutOff,
    /// Wrong in itself.
    BadLink,
    BadIpv4,
    BadIpv6,
    BadTcp,
    /// More headers inside one another than any network puts there.
    Nested,
}

impl Skip {
    pub const ALL: [Skip; 10] = [
        Skip::NotIp,
        Skip::NotTcp,
        Skip::Fragment,
        Skip::UnknownLink,
        Skip::CutOff,
        Skip::BadLink,
        Skip::BadIpv4,
        Skip::BadIpv6,
        Skip::BadTcp,
        Skip::Nested,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Skip::NotIp => "not_ip",
            Skip::NotTcp => "not_tcp",
            Skip::Fragment => "fragment",
            Skip::UnknownLink => "unknown_link_type",
            Skip::CutOff => "cut_off_header",
            Skip::BadLink => "bad_link_header",
            Skip::BadIpv4 => "bad_ipv4_header",
            Skip::BadIpv6 => "bad_ipv6_header",
            Skip::BadTcp => "bad_tcp_header",
            Skip::Nested => "nested_too_deep",
        }
    }

    /// True for packets that are wrong, as opposed to not ours.
    pub fn is_malformed(self) -> bool {
        !matches!(self, Skip::NotIp | Skip::NotTcp | Skip::Fragment | Skip::UnknownLink)
    }
}

/// What a record holds of TCP.
#[derive(Debug, Clone, Copy)]
pub enum Found<'a> {
    Segment(Segment<'a>),
    /// A piece of a datagram, and what was captured of its part of the TCP segment.
    Piece(Ip, &'a [u8]),
}

/// The segment of a record that is of the most common form; none says nothing of it.
#[inline]
pub fn plain<'a>(record: &Record<'a>) -> Option<Segment<'a>> {
    plain::segment(record)
}

/// Header by header, whatever they are.
#[inline(never)]
pub fn walk<'a>(record: &Record<'a>) -> Result<Found<'a>, Skip> {
    let (protocol, at) = link::network(record)?;
    let ip = ip::transport(record, protocol, at)?;
    if ip.piece.is_none() {
        return tcp::segment(record, &ip).map(Found::Segment);
    }
    let here = record.bytes.get(ip.tcp_at..).ok_or(Skip::CutOff)?;
    Ok(Found::Piece(ip, &here[..here.len().min(ip.tcp_len as usize)]))
}

/// The segment of a datagram put together: `ip` is the first piece's with the whole length, `head` the front of TCP.
pub fn whole<'a>(ip: &Ip, head: &'a [u8]) -> Result<Segment<'a>, Skip> {
    let record = Record { at: 0, link: LinkType(101), original_len: ip.total_len, bytes: head };
    tcp::segment(&record, &Ip { tcp_at: 0, ..*ip })
}

/// Two bytes, big endian; none beyond the end.
#[inline]
fn half(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Bytes near those of a plain packet, with some of them turned: where the short look has an answer it is the walk's.
        #[test]
        fn the_short_look_and_the_walk_agree(
            mut bytes in proptest::collection::vec(any::<u8>(), 34..90),
            (link, at, kind) in prop_oneof![Just((1u16, 14, Some(12))), Just((101, 0, None)), Just((113, 16, Some(14))), Just((276, 20, Some(0)))],
            turned in proptest::collection::vec((0usize..60, any::<u8>()), 0..3),
            total in 30u8..90,
            offset in 5u8..16,
        ) {
            bytes.resize(bytes.len().max(at + 34), 0);
            bytes[at..at + 12].copy_from_slice(&[0x45, 0, 0, total, 1, 2, 0x40, 0, 64, 6, 0, 0]);
            bytes[at + 32] = offset << 4;
            if let Some(kind) = kind {
                bytes[kind..kind + 2].copy_from_slice(&[8, 0]);
            }
            for (place, value) in turned {
                let place = place % bytes.len();
                bytes[place] = value;
            }
            let record = Record { at: 0, link: LinkType(link), original_len: bytes.len() as u32, bytes: &bytes };
            if let Some(short) = plain::segment(&record) {
                let Ok(Found::Segment(walked)) = walk(&record) else { panic!("the walk finds none") };
                prop_assert_eq!(format!("{short:?}"), format!("{walked:?}"));
            }
        }
    }
}
