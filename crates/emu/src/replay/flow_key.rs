//! The flow of a packet: addresses, ports and protocol, the same in both directions.

const ICMP: u8 = 1;
const TCP: u8 = 6;
const UDP: u8 = 17;
const IPV6_HEADER: usize = 40;

/// A digest of the flow, and its protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct FlowKey {
    digest: u64,
    protocol: Protocol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    Tcp,
    Udp,
    Other,
}

/// The number of protocols.
pub const PROTOCOLS: usize = 3;

impl FlowKey {
    pub const NONE: FlowKey = FlowKey { digest: 0, protocol: Protocol::Other };

    /// The flow of an IP packet. All fragments of a datagram after the first belong to the flow of
    /// their addresses.
    pub fn of(packet: &[u8]) -> FlowKey {
        let byte = |at: usize| packet.get(at).copied().unwrap_or(0);
        let (protocol, from, to, header, is_fragment) = match byte(0) >> 4 {
            4 => (byte(9), 12..16, 16..20, usize::from(byte(0) & 15) * 4, byte(6) & 0x1f != 0 || byte(7) != 0),
            _ => (byte(6), 8..24, 24..40, IPV6_HEADER, false),
        };
        let has_ports = matches!(protocol, TCP | UDP) && !is_fragment;
        let host = |address: std::ops::Range<usize>, port: usize| {
            let port = if has_ports { port..port + 2 } else { 0..0 };
            digest(packet.get(address).unwrap_or_default().iter().chain(packet.get(port).unwrap_or_default()))
        };
        // A sum does not depend on the order of both hosts.
        let digest = host(from, header).wrapping_add(host(to, header + 2)).wrapping_add(u64::from(protocol.max(ICMP)));
        let protocol = match protocol {
            TCP => Protocol::Tcp,
            UDP => Protocol::Udp,
            _ => Protocol::Other,
        };
        FlowKey { digest, protocol }
    }

    pub fn protocol(self) -> Protocol {
        self.protocol
    }
}

/// FNV-1a.
fn digest<'a>(bytes: impl Iterator<Item = &'a u8>) -> u64 {
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(protocol: u8, from: (u8, u16), to: (u8, u16)) -> Vec<u8> {
        let mut packet = vec![0; 28];
        (packet[0], packet[9]) = (0x45, protocol);
        packet[12..16].copy_from_slice(&[100, 64, 0, from.0]);
        packet[16..20].copy_from_slice(&[100, 64, 0, to.0]);
        packet[20..22].copy_from_slice(&from.1.to_be_bytes());
        packet[22..24].copy_from_slice(&to.1.to_be_bytes());
        packet
    }

    // finding("L9")
    #[test]
    fn flow_is_the_same_in_both_directions_and_differs_by_port_and_protocol() {
        let of = |protocol, from, to| FlowKey::of(&packet(protocol, from, to));
        let flow = of(TCP, (1, 80), (2, 4000));
        assert_eq!(flow, of(TCP, (2, 4000), (1, 80)));
        assert_ne!(flow, of(TCP, (1, 80), (2, 4001)));
        assert_ne!(flow, of(TCP, (2, 80), (1, 4000)));
        assert_ne!(flow, of(UDP, (1, 80), (2, 4000)));
        // An echo and its reply have different types and codes.
        assert_eq!(of(ICMP, (1, 0x0800), (2, 7)), of(ICMP, (2, 0), (1, 9)));
        assert_eq!(FlowKey::of(&[]).protocol(), Protocol::Other);
    }
}
