//! Headers of a packet, and its endpoints.

use std::net::{IpAddr, SocketAddr};

/// Maximum length of an IPv4 header and a TCP header. Only headers are stored.
pub const MAX_HEADERS: usize = 120;
const V6_HEADER: usize = 40;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Length of a packet's headers, and its endpoints.
pub struct Headers {
    pub bytes: usize,
    pub source: SocketAddr,
    pub destination: SocketAddr,
}

/// Parses IP and TCP or UDP headers. None for other protocols, and for fragments other than the
/// first, which have no ports.
pub fn parse(packet: &[u8]) -> Option<Headers> {
    let (ip, protocol, source, destination): (usize, u8, IpAddr, IpAddr) = match packet.first()? >> 4 {
        4 if packet.len() >= 20 && u16::from_be_bytes([packet[6], packet[7]]) & 0x1fff == 0 => {
            let address = |at: usize| IpAddr::from(<[u8; 4]>::try_from(&packet[at..at + 4]).unwrap_or_default());
            (usize::from(packet[0] & 0xf) * 4, packet[9], address(12), address(16))
        }
        6 if packet.len() >= V6_HEADER => {
            let address = |at: usize| IpAddr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap_or_default());
            (V6_HEADER, packet[6], address(8), address(24))
        }
        _ => return None,
    };
    let more = packet.get(ip..)?;
    let transport = match protocol {
        TCP => usize::from(*more.get(12)? >> 4) * 4,
        UDP => 8,
        _ => return None,
    };
    let port = |at: usize| Some(u16::from_be_bytes([*more.get(at)?, *more.get(at + 1)?]));
    let (source, destination) = (SocketAddr::new(source, port(0)?), SocketAddr::new(destination, port(2)?));
    Some(Headers { bytes: (ip + transport).min(packet.len()), source, destination })
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    pub const PEER: [u8; 4] = [192, 0, 2, 7];

    pub fn packet(source: [u8; 4], destination: [u8; 4], ports: [u16; 2], options: usize) -> Vec<u8> {
        let mut out = vec![0; 20 + 20 + options + 1000];
        (out[0], out[9]) = (0x45, TCP);
        out[12..16].copy_from_slice(&source);
        out[16..20].copy_from_slice(&destination);
        out[20..22].copy_from_slice(&ports[0].to_be_bytes());
        out[22..24].copy_from_slice(&ports[1].to_be_bytes());
        out[32] = ((20 + options) as u8 / 4) << 4;
        out
    }

    #[test]
    fn headers_end_before_the_payload_when_a_segment_is_parsed() {
        let bytes = packet(PEER, [10, 0, 0, 1], [5000, 4862], 12);
        let headers = parse(&bytes[..MAX_HEADERS]).unwrap();
        assert_eq!(headers.bytes, 52);
        assert_eq!((headers.source.to_string(), headers.destination.port()), ("192.0.2.7:5000".to_owned(), 4862));
        let mut fragment = bytes.clone();
        fragment[7] = 1;
        assert!(parse(&fragment[..MAX_HEADERS]).is_none());
        let mut icmp = bytes;
        icmp[9] = 1;
        assert!(parse(&icmp[..MAX_HEADERS]).is_none());
    }

    proptest! {
        #[test]
        fn headers_end_within_the_packet_when_any_bytes_are_parsed(bytes in proptest::collection::vec(any::<u8>(), 0..MAX_HEADERS)) {
            prop_assert!(parse(&bytes).is_none_or(|headers| headers.bytes <= bytes.len()));
        }
    }
}
