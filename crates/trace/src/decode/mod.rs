//! Decoding of a captured record: link layer, tunnels, IP, TCP with its options, UDP. Stateless; does not
//! copy payload.

mod datagram;
mod fast_path;
mod gre;
mod ip;
mod key;
mod layers;
mod link;
mod options;
mod protocol;
mod tcp;
mod udp_tunnel;
mod wifi;

pub use datagram::Datagram;
pub use ip::{FragmentInfo, IpHeader};
pub(crate) use key::BoxedKey;
pub use key::{Key, Side};
pub use layers::{Layer, Layers, Tunnel};
pub use options::{Mptcp, Options, SackBlocks, SynOptions, Timestamps};
pub use protocol::{Protocol, WifiFrame};
pub use tcp::{Flags, Segment};

use ackclock_pcap::read::{LinkType, Record};
use ip::Transport;

/// Address and port of one end of a flow; IPv4 addresses in IPv6-mapped form (RFC 4291, section
/// 2.5.5.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndpointAddress {
    pub ip: u128,
    pub port: u16,
}

/// Why a record has no TCP segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Skip {
    NotIp,
    NotTcp,
    /// A fragment of a datagram that was not reassembled.
    Fragment,
    UnknownLink,
    /// The captured bytes end before the TCP header does.
    CutOff,
    BadLink,
    BadIpv4,
    BadIpv6,
    BadTcp,
    /// More nested headers than any network uses.
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

    /// Name in reports.
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

    /// True for malformed packets, false for valid packets without TCP.
    pub fn is_malformed(self) -> bool {
        !matches!(self, Skip::NotIp | Skip::NotTcp | Skip::Fragment | Skip::UnknownLink)
    }
}

/// The TCP or UDP content of a record.
#[derive(Debug, Clone, Copy)]
pub enum Decoded<'a> {
    Segment(Segment<'a>),
    Datagram(Datagram<'a>),
    /// A fragment of a datagram, and the captured bytes of its part of the TCP segment.
    Fragment(IpHeader, &'a [u8]),
}

/// The segment of a record in the most common form (see `fast_path`); none for all others, which
/// need [`decode`].
#[inline]
pub fn decode_fast<'a>(record: &Record<'a>) -> Option<Segment<'a>> {
    fast_path::segment(record)
}

/// The [`Key::mix`] of a record in the form of [`decode_fast`]; none for all others.
#[inline(always)]
pub fn fast_mix(record: &Record<'_>) -> Option<u64> {
    fast_path::mix(record)
}

/// Decodes any record, header by header; `layers` gets the headers before the segment or datagram.
#[inline(never)]
pub fn decode<'a>(record: &Record<'a>, layers: &mut Layers) -> Result<Decoded<'a>, Skip> {
    let (protocol, at) = link::network_header(record, layers)?;
    let (ip, transport) = ip::transport(record, protocol, at, layers)?;
    if transport == Transport::Udp {
        return datagram::datagram(record, &ip).map(Decoded::Datagram);
    }
    if ip.fragment.is_none() {
        return tcp::segment(record, &ip).map(Decoded::Segment);
    }
    let captured = record.bytes.get(ip.tcp_at..).ok_or(Skip::CutOff)?;
    Ok(Decoded::Fragment(ip, &captured[..captured.len().min(ip.tcp_len as usize)]))
}

/// The segment of a reassembled datagram: `ip` is the first fragment's with the total length,
/// `head` the first bytes of TCP.
pub fn reassembled<'a>(ip: &IpHeader, head: &'a [u8]) -> Result<Segment<'a>, Skip> {
    let record = Record { at: 0, link: LinkType(101), original_len: ip.total_len, bytes: head };
    tcp::segment(&record, &IpHeader { tcp_at: 0, ..*ip })
}

/// Two bytes, big endian; none past the end.
#[inline]
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..at + 2).map(|b| u16::from_be_bytes([b[0], b[1]]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Packets of the common form with up to two bytes changed.
        #[test]
        fn decode_fast_equals_decode_when_it_returns_a_segment(
            mut bytes in proptest::collection::vec(any::<u8>(), 34..90),
            (link, at, kind) in prop_oneof![Just((1u16, 14, Some(12))), Just((101, 0, None)), Just((113, 16, Some(14))), Just((276, 20, Some(0)))],
            changes in proptest::collection::vec((0usize..60, any::<u8>()), 0..3),
            total in 30u8..90,
            offset in 5u8..16,
        ) {
            bytes.resize(bytes.len().max(at + 34), 0);
            bytes[at..at + 12].copy_from_slice(&[0x45, 0, 0, total, 1, 2, 0x40, 0, 64, 6, 0, 0]);
            bytes[at + 32] = offset << 4;
            if let Some(kind) = kind {
                bytes[kind..kind + 2].copy_from_slice(&[8, 0]);
            }
            for (at, value) in changes {
                let at = at % bytes.len();
                bytes[at] = value;
            }
            let record = Record { at: 0, link: LinkType(link), original_len: bytes.len() as u32, bytes: &bytes };
            if let Some(fast) = decode_fast(&record) {
                let Ok(Decoded::Segment(full)) = decode(&record, &mut Layers::default()) else { panic!("decode finds no segment") };
                prop_assert_eq!(format!("{fast:?}"), format!("{full:?}"));
            }
        }
    }
}
