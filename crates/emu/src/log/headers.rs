//! The captured length of a packet: its headers, and at most one byte of payload.

const IPV4: u8 = 4;
const IPV6: u8 = 6;
const IPV6_HEADER: usize = 40;
const FRAGMENT_HEADER: usize = 8;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// IP protocol numbers (IANA), an IPv6 header's "next header" among them.
const HOP_BY_HOP: u8 = 0;
const TCP: u8 = 6;
const UDP: u8 = 17;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const DESTINATION_OPTIONS: u8 = 60;
/// Captured bytes of protocols other than TCP and UDP: as many as an ICMP error quotes of a packet
/// (RFC 792). Of an ICMP message they are type, code, checksum and the next word.
const OTHER_PROTOCOL: usize = 8;
/// Captured bytes of TCP and UDP payload: the first byte of a QUIC packet has the spin bit (RFC
/// 9000, section 17.4).
const PAYLOAD: usize = 1;

/// Captured length of an IP packet: the IP header with options and extension headers, then the TCP
/// or UDP header and one byte of payload, 8 bytes of another protocol, or nothing of a fragment
/// after the first. At most the packet's length.
pub fn header_len(packet: &[u8]) -> usize {
    let len = match ip_payload(packet) {
        IpPayload::Transport { protocol, at, .. } => at + transport_len(protocol, packet.get(at..).unwrap_or_default()),
        IpPayload::LaterFragment(at) => at,
        IpPayload::Unknown => OTHER_PROTOCOL,
    };
    len.min(packet.len())
}

/// Offset of the payload of a UDP datagram that is no fragment.
pub fn udp_payload(packet: &[u8]) -> Option<usize> {
    match ip_payload(packet) {
        IpPayload::Transport { protocol: UDP, at, is_fragment: false } => Some(at + UDP_HEADER).filter(|&at| at < packet.len()),
        _ => None,
    }
}

/// What follows the IP header and its extensions, and where.
enum IpPayload {
    Transport { protocol: u8, at: usize, is_fragment: bool },
    LaterFragment(usize),
    Unknown,
}

fn ip_payload(packet: &[u8]) -> IpPayload {
    match packet.first().map(|first| first >> 4) {
        Some(IPV4) => {
            let at = usize::from(packet[0] & 15) * 4;
            let field = u16::from_be_bytes([byte(packet, 6), byte(packet, 7)]);
            if field & 0x1fff > 0 {
                return IpPayload::LaterFragment(at);
            }
            IpPayload::Transport { protocol: byte(packet, 9), at, is_fragment: field & 0x2000 != 0 }
        }
        Some(IPV6) => ipv6_payload(packet),
        _ => IpPayload::Unknown,
    }
}

fn ipv6_payload(packet: &[u8]) -> IpPayload {
    let (mut next, mut at, mut is_fragment) = (byte(packet, 6), IPV6_HEADER, false);
    while at < packet.len() {
        let header = &packet[at..];
        match next {
            HOP_BY_HOP | ROUTING | DESTINATION_OPTIONS => at += 8 * (usize::from(byte(header, 1)) + 1),
            FRAGMENT => {
                at += FRAGMENT_HEADER;
                let field = u16::from_be_bytes([byte(header, 2), byte(header, 3)]);
                // The offset is the upper 13 bits, the last bit says that more follow.
                if field >> 3 > 0 {
                    return IpPayload::LaterFragment(at);
                }
                is_fragment |= field & 1 == 1;
            }
            protocol => return IpPayload::Transport { protocol, at, is_fragment },
        }
        next = byte(header, 0);
    }
    IpPayload::LaterFragment(at)
}

fn transport_len(protocol: u8, header: &[u8]) -> usize {
    match protocol {
        // A data offset below 20 bytes is a malformed header.
        TCP => (usize::from(byte(header, 12) >> 4) * 4).max(TCP_HEADER) + PAYLOAD,
        UDP => UDP_HEADER + PAYLOAD,
        _ => OTHER_PROTOCOL,
    }
}

fn byte(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(protocol: u8, words: u8, fragment: u16, transport: &[u8]) -> Vec<u8> {
        let mut packet = vec![0; usize::from(words) * 4];
        packet[0] = 0x40 | words;
        packet[6..8].copy_from_slice(&fragment.to_be_bytes());
        packet[9] = protocol;
        packet.extend(transport);
        packet.extend([b'x'; 100]);
        packet
    }

    fn tcp(words: u8) -> Vec<u8> {
        let mut header = vec![0; usize::from(words) * 4];
        header[12] = words << 4;
        header
    }

    // finding("L7")
    #[test]
    fn captured_length_covers_headers_and_one_byte_of_payload() {
        assert_eq!(header_len(&ipv4(TCP, 5, 0x4000, &tcp(5))), 20 + 20 + 1);
        assert_eq!(header_len(&ipv4(TCP, 15, 0, &tcp(15))), 60 + 60 + 1);
        assert_eq!(header_len(&ipv4(UDP, 5, 0, &[0; 8])), 20 + 8 + 1);
        assert_eq!(header_len(&ipv4(1, 5, 0, &[8, 0])), 20 + 8);
        assert_eq!(header_len(&ipv4(TCP, 5, 0x2000, &tcp(8))), 20 + 32 + 1, "a first fragment");
        assert_eq!(header_len(&ipv4(UDP, 5, 0x2001, &[])), 20, "a later fragment has payload only");
        // A pure ACK has no payload.
        let ack = &ipv4(TCP, 5, 0, &tcp(8))[..52];
        assert_eq!(header_len(ack), 52);
    }

    // finding("L7")
    #[test]
    fn captured_length_covers_ipv6_extension_headers() {
        let packet = |next: u8, after: &[&[u8]]| {
            let mut packet = vec![0; IPV6_HEADER];
            (packet[0], packet[6]) = (0x60, next);
            after.iter().for_each(|part| packet.extend(*part));
            packet.extend([b'x'; 100]);
            packet
        };
        let options = [UDP, 1].into_iter().chain([0; 14]).collect::<Vec<u8>>();
        assert_eq!(header_len(&packet(UDP, &[&[0; 8]])), 40 + 8 + 1);
        assert_eq!(header_len(&packet(TCP, &[&tcp(8)])), 40 + 32 + 1);
        assert_eq!(header_len(&packet(HOP_BY_HOP, &[&options, &[0; 8]])), 40 + 16 + 8 + 1);
        assert_eq!(header_len(&packet(FRAGMENT, &[&[TCP, 0, 0, 1, 0, 0, 0, 0], &tcp(5)])), 40 + 8 + 20 + 1);
        assert_eq!(header_len(&packet(FRAGMENT, &[&[TCP, 0, 0, 9, 0, 0, 0, 0]])), 40 + 8);
    }

    #[test]
    fn udp_payload_is_that_of_whole_datagrams_only() {
        assert_eq!(udp_payload(&ipv4(UDP, 6, 0x4000, &[0; 8])), Some(24 + 8));
        assert_eq!(udp_payload(&ipv4(TCP, 5, 0, &tcp(5))), None);
        assert_eq!(udp_payload(&ipv4(UDP, 5, 0x2000, &[0; 8])), None, "a first fragment");
        assert_eq!(udp_payload(&ipv4(UDP, 5, 0, &[0; 8])[..28]), None, "a datagram without payload");
    }

    #[test]
    fn captured_length_is_at_most_the_packet_length_when_headers_are_truncated_or_malformed() {
        let packet = ipv4(TCP, 5, 0, &tcp(15));
        (0..packet.len()).for_each(|len| assert!(header_len(&packet[..len]) <= len));
        assert_eq!(header_len(&[0xff; 40]), 8);
        assert_eq!(header_len(&[]), 0);
        // An endless chain of extension headers.
        let mut endless = vec![0; 1500];
        endless[0] = 0x60;
        assert!(header_len(&endless) <= 1500);
    }
}
