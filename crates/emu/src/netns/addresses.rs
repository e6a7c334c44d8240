//! IP addresses of the server and the clients of an emulation, from shared address space
//! (100.64.0.0/10, RFC 6598) and unique local IPv6 (RFC 4193). A nested emulation uses the next
//! subnet.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Maximum number of clients of an emulation.
pub const MAX_CLIENTS: u32 = 65_000;

#[derive(Debug, Clone, Copy)]
pub struct Addresses {
    /// Nesting depth of the emulation in others.
    pub depth: u8,
}

impl Addresses {
    pub const PREFIX_V4: u8 = 15;
    pub const PREFIX_V6: u8 = 96;

    fn v4(self, host: u32) -> Ipv4Addr {
        let network = u32::from(Ipv4Addr::new(100, 64, 0, 0)) | u32::from(self.depth & 31) << 17;
        Ipv4Addr::from(network + host)
    }

    fn v6(self, host: u32) -> Ipv6Addr {
        Ipv6Addr::new(0xfd5c, 0xacc1, 0x0c, u16::from(self.depth), 0, 0, (host >> 16) as u16, host as u16)
    }

    /// The IPv4 subnet of all addresses, as ADDRESS/PREFIX.
    pub fn subnet(self) -> String {
        format!("{}/{}", self.v4(0), Self::PREFIX_V4)
    }

    pub fn server(self) -> (Ipv4Addr, Ipv6Addr) {
        (self.v4(1), self.v6(1))
    }

    pub fn client(self, number: u32) -> (Ipv4Addr, Ipv6Addr) {
        (self.v4(number + 2), self.v6(number + 2))
    }

    /// Whether an IP packet has a unicast destination. Multicast is local to the host's interface
    /// (neighbour discovery) and does not cross the link.
    pub fn is_unicast(packet: &[u8]) -> bool {
        match packet.first().map(|b| b >> 4) {
            Some(4) => packet.get(16).is_some_and(|first| *first < 224),
            Some(6) => packet.get(24).is_some_and(|first| *first != 0xff),
            _ => false,
        }
    }

    /// The client to which an IP packet is addressed; none for other destinations.
    pub fn client_of(self, packet: &[u8]) -> Option<u32> {
        let host = match packet.first()? >> 4 {
            4 => u32::from_be_bytes(packet.get(16..20)?.try_into().ok()?).wrapping_sub(u32::from(self.v4(0))),
            6 => {
                let address = u128::from_be_bytes(packet.get(24..40)?.try_into().ok()?);
                u32::try_from(address.wrapping_sub(u128::from(self.v6(0)))).ok()?
            }
            _ => return None,
        };
        host.checked_sub(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn client_is_found_by_the_packets_destination_address() {
        let addresses = Addresses { depth: 3 };
        for number in [0, 1, 99, 64_999] {
            let (v4, v6) = addresses.client(number);
            let mut packet = vec![0x45; 20];
            packet[16..20].copy_from_slice(&v4.octets());
            assert_eq!(addresses.client_of(&packet), Some(number));
            let mut packet = vec![0x60; 40];
            packet[24..40].copy_from_slice(&v6.octets());
            assert_eq!(addresses.client_of(&packet), Some(number));
        }
        assert_eq!(addresses.client_of(&[0x45; 3]), None);
        assert_ne!(addresses.client(0), Addresses { depth: 4 }.client(0));
    }
}
