//! Reports of routers that a packet was longer than the MTU: for a simulated packet a body of its own,
//! for a real one an ICMP message (RFC 792 with RFC 1191, section 4; RFC 4443, section 3.2).

use super::raw::be16;
use crate::packet::{Arena, Body, BodyId, Kind, Packet, TooBig};

/// A report has at most this IP length (RFC 1812, section 4.3.2.3), and passes where the packet did not.
const MAX_REPORT: usize = 576;
/// For IPv6 the minimum MTU: RFC 4443, section 2.4 (c).
const MAX_REPORT_V6: usize = 1280;
const IPV4: usize = 20;
const IPV6: usize = 40;
const ICMP: usize = 8;
const TTL: u8 = 64;
const PROTOCOL_ICMP: u8 = 1;
const PROTOCOL_ICMPV6: u8 = 58;
/// Types of ICMP that report an error (RFC 1812, section 4.3.2.7).
const ERRORS: [u8; 5] = [3, 4, 5, 11, 12];
/// Types of ICMPv6 below report an error (RFC 4443, section 2.1).
const FIRST_QUERY_V6: u8 = 128;

impl Arena {
    /// Body and IP length of the report about `packet`. None about a report, a later fragment or what is
    /// no IP packet (RFC 1812, section 4.3.2.7). The entry of a tunnel relays a report about a packet of
    /// the tunnel to the sender of the packet inside (RFC 2003, section 5.1).
    pub(crate) fn too_big(&mut self, packet: &Packet, mtu: u16) -> Option<(BodyId, u16)> {
        let (report, len) = report(self.get(packet.body), packet.len, packet.kind, mtu)?;
        Some((self.insert(report), len))
    }
}

fn report(body: &Body, len: u16, kind: Kind, mtu: u16) -> Option<(Body, u16)> {
    let number = match body {
        Body::Segment(segment) => segment.seq,
        Body::Datagram(datagram) => datagram.number,
        // A QUIC stack finds the MTU by its own probes (RFC 8899).
        Body::TooBig(_) | Body::Fragment(_) | Body::Udp(_) => return None,
        Body::Encapsulated(outer) => return report(&outer.inner, outer.len, outer.kind, outer.config.inner_mtu(mtu)),
        Body::Raw(bytes) => {
            let report = report_on(bytes, mtu)?;
            let len = report.len() as u16;
            return Some((Body::Raw(report.into()), len));
        }
    };
    let report_len = (IPV4 + ICMP + usize::from(len)).min(MAX_REPORT).min(usize::from(mtu)) as u16;
    Some((Body::TooBig(TooBig { mtu, number, len, tcp: kind.has(Kind::TCP) }), report_len))
}

/// The router has the address of the packet's destination: it is invisible but for its reports.
fn report_on(bytes: &[u8], mtu: u16) -> Option<Vec<u8>> {
    match bytes.first()? >> 4 {
        4 if bytes.len() >= IPV4 => report_v4(bytes, mtu),
        6 if bytes.len() >= IPV6 => report_v6(bytes, mtu),
        _ => None,
    }
}

fn report_v4(bytes: &[u8], mtu: u16) -> Option<Vec<u8>> {
    let later_fragment = be16(bytes, 6)? & 0x1FFF != 0;
    let kind = (bytes[9] == PROTOCOL_ICMP).then(|| bytes.get(usize::from(bytes[0] & 15) * 4)).flatten();
    if later_fragment || kind.is_some_and(|kind| ERRORS.contains(kind)) {
        return None;
    }
    let room = MAX_REPORT.min(usize::from(mtu)).saturating_sub(IPV4 + ICMP);
    let quoted = &bytes[..bytes.len().min(room)];
    let mut report = vec![0x45, 0xC0];
    report.extend(((IPV4 + ICMP + quoted.len()) as u16).to_be_bytes());
    report.extend([0, 0, 0, 0, TTL, PROTOCOL_ICMP, 0, 0]);
    report.extend(&bytes[16..20]);
    report.extend(&bytes[12..16]);
    let sum = checksum([&report[..]]);
    report[10..12].copy_from_slice(&sum);
    // Destination unreachable, fragmentation needed.
    report.extend([3, 4, 0, 0, 0, 0]);
    report.extend(mtu.to_be_bytes());
    report.extend(quoted);
    let sum = checksum([&report[IPV4..]]);
    report[IPV4 + 2..IPV4 + 4].copy_from_slice(&sum);
    Some(report)
}

fn report_v6(bytes: &[u8], mtu: u16) -> Option<Vec<u8>> {
    if bytes[6] == PROTOCOL_ICMPV6 && bytes.get(IPV6).is_none_or(|&kind| kind < FIRST_QUERY_V6) {
        return None;
    }
    let quoted = &bytes[..bytes.len().min(MAX_REPORT_V6 - IPV6 - ICMP)];
    let len = (ICMP + quoted.len()) as u16;
    let mut report = vec![0x60, 0, 0, 0];
    report.extend(len.to_be_bytes());
    report.extend([PROTOCOL_ICMPV6, TTL]);
    report.extend(&bytes[24..40]);
    report.extend(&bytes[8..24]);
    // Packet too big.
    report.extend([2, 0, 0, 0]);
    report.extend(u32::from(mtu).to_be_bytes());
    report.extend(quoted);
    let [high, low] = len.to_be_bytes();
    let pseudo = [0, 0, high, low, 0, 0, 0, PROTOCOL_ICMPV6];
    let sum = checksum([&report[8..], &pseudo[..]]);
    report[IPV6 + 2..IPV6 + 4].copy_from_slice(&sum);
    Some(report)
}

/// The Internet checksum (RFC 1071) of parts of even length; only the last one may be odd.
fn checksum<const N: usize>(parts: [&[u8]; N]) -> [u8; 2] {
    let words = parts.iter().flat_map(|part| part.chunks(2));
    let mut sum: u32 = words.map(|word| u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0))).sum();
    while sum > 0xFFFF {
        sum = (sum & 0xFFFF) + (sum >> 16);
    }
    (!(sum as u16)).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The checksum of what carries its checksum.
    const INTACT: [u8; 2] = [0, 0];

    fn segment(len: usize, offset: u16, protocol: u8) -> Vec<u8> {
        let mut bytes = vec![0; len];
        bytes[0] = 0x45;
        bytes[2..4].copy_from_slice(&(len as u16).to_be_bytes());
        bytes[6..8].copy_from_slice(&offset.to_be_bytes());
        bytes[9] = protocol;
        bytes[12..20].copy_from_slice(&[10, 0, 0, 1, 192, 0, 2, 1]);
        bytes
    }

    #[test]
    fn report_quotes_the_packet_and_goes_back_to_its_sender() {
        let packet = segment(1500, 0x4000, 6);
        let report = report_on(&packet, 1400).expect("a report");
        assert_eq!((report.len(), be16(&report, 2)), (576, Some(576)));
        assert_eq!(&report[12..20], &[192, 0, 2, 1, 10, 0, 0, 1]);
        assert_eq!((checksum([&report[..20]]), checksum([&report[20..]])), (INTACT, INTACT));
        assert_eq!((&report[20..22], be16(&report, 26), &report[28..]), (&[3, 4][..], Some(1400), &packet[..548]));
        assert_eq!(report_on(&segment(100, 0, 6), 1400).expect("short").len(), 128);
        assert_eq!(report_on(&segment(100, 0, 6), 68).expect("as long as the MTU").len(), 68);
    }

    #[test]
    fn report_has_a_checksum_over_the_pseudo_header_when_the_packet_is_ipv6() {
        let mut packet = vec![0; 1401];
        packet[0] = 0x60;
        packet[6] = 6;
        packet[8..40].copy_from_slice(&[7; 32]);
        packet[39] = 1;
        let report = report_on(&packet, 1300).expect("a report");
        assert_eq!((report.len(), &report[40..42], &report[44..48]), (1280, &[2, 0][..], &1300u32.to_be_bytes()[..]));
        assert_eq!((report[23], report[39]), (1, 7));
        assert_eq!(checksum([&report[8..], &[0, 0, 4, 216, 0, 0, 0, 58][..]]), INTACT);
    }

    #[test]
    fn no_report_is_made_when_the_packet_is_a_report_or_a_later_fragment() {
        assert_eq!(report_on(&segment(1500, 0x2001, 6), 1400), None);
        let mut error = segment(1500, 0, 1);
        error[20] = 3;
        assert_eq!(report_on(&error, 1400), None);
        assert!(report_on(&segment(1500, 0, 1), 1400).is_some(), "an echo reply");
        assert_eq!(report_on(&[0x45], 1400), None);
        assert_eq!(report_on(&[], 1400), None);
        assert!(report_on(&segment(1500, 0x2000, 6), 1400).is_some());
    }
}
