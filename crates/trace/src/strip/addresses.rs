//! Other addresses for a copy of a capture: a bijection under a key that is not kept, in which addresses of
//! one network stay in one network.

use ackclock_pcap::siphash::SipKey;
use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

/// The map, with what it has mapped so far.
pub struct AddressMap {
    key: SipKey,
    v4: HashMap<u32, u32>,
    v6: HashMap<u128, u128>,
}

/// Names of the bijections, so that none shows another.
const V4: u8 = 4;
const V6: u8 = 6;
const MAC: u8 = 48;
/// Bits of a MAC address that say what it is: group, locally administered.
const MAC_KIND: u8 = 3;

impl AddressMap {
    pub fn new(key: SipKey) -> AddressMap {
        AddressMap { key, v4: HashMap::new(), v6: HashMap::new() }
    }

    /// Loopback, multicast and broadcast addresses stay; private and link-local ones stay in their network;
    /// all others become addresses that are none of these.
    pub fn v4(&mut self, address: [u8; 4]) -> [u8; 4] {
        let address = u32::from_be_bytes(address);
        if let Some(known) = self.v4.get(&address) {
            return known.to_be_bytes();
        }
        let kept = kept_v4(address);
        // A walk along the cycle of a bijection ends at the first address of the same kind: one to one.
        let mut mapped = address;
        loop {
            mapped = self.prefix_preserving(V4, u128::from(mapped) << 96, kept, 32).wrapping_shr(96) as u32;
            if kept_v4(mapped) == kept {
                break;
            }
        }
        self.v4.insert(address, mapped);
        mapped.to_be_bytes()
    }

    /// As [`AddressMap::v4`]; global addresses stay global.
    pub fn v6(&mut self, address: [u8; 16]) -> [u8; 16] {
        let number = u128::from_be_bytes(address);
        if let Some(v4) = Ipv6Addr::from(number).to_ipv4_mapped() {
            return Ipv4Addr::from(self.v4(v4.octets())).to_ipv6_mapped().octets();
        }
        if let Some(known) = self.v6.get(&number) {
            return known.to_be_bytes();
        }
        let mapped = self.prefix_preserving(V6, number, kept_v6(number), 128);
        self.v6.insert(number, mapped);
        mapped.to_be_bytes()
    }

    /// Broadcast stays. Of others the bits for groups and local administration stay.
    pub fn mac(&self, address: [u8; 6]) -> [u8; 6] {
        if address == [0xff; 6] || address == [0; 6] {
            return address;
        }
        let mut input = [0; 7];
        input[0] = MAC;
        input[1..].copy_from_slice(&address);
        let hash = self.key.hash(&input);
        let mut mapped = [hash[0], hash[1], hash[2], hash[3], hash[4], hash[5]];
        mapped[0] = mapped[0] & !MAC_KIND | address[0] & MAC_KIND;
        mapped
    }

    /// Each bit after the first `kept` of `len` is changed or not by a keyed function of the bits before it
    /// (Xu, Fan, Ammar and Moon, "Prefix-preserving IP address anonymization", 2002). Addresses stand in the
    /// uppermost bits.
    fn prefix_preserving(&self, name: u8, address: u128, kept: u32, len: u32) -> u128 {
        let mut mapped = address;
        for bit in kept..len {
            let prefix = if bit == 0 { 0 } else { address >> (128 - bit) };
            let mut input = [0; 18];
            (input[0], input[1]) = (name, bit as u8);
            input[2..].copy_from_slice(&prefix.to_be_bytes());
            mapped ^= u128::from(self.key.hash(&input)[0] & 1) << (127 - bit);
        }
        mapped
    }
}

/// Bits at the front of an IPv4 address that stay, which are the kind of the address.
fn kept_v4(address: u32) -> u32 {
    let ip = Ipv4Addr::from(address);
    match ip.octets() {
        [0 | 127 | 224..=255, ..] => 32,
        [10, ..] => 8,
        [172, second, ..] if second >> 4 == 1 => 12,
        [192, 168, ..] | [169, 254, ..] => 16,
        [100, second, ..] if second >> 6 == 1 => 10,
        _ => 0,
    }
}

fn kept_v6(address: u128) -> u32 {
    match (address >> 112) as u16 {
        // Unspecified and loopback.
        0 if address <= 1 => 128,
        // Multicast: of a solicited node the last bits of its address (RFC 4291, section 2.7.1).
        0xff00.. => 104,
        // Link-local.
        0xfe80..=0xfebf => 64,
        // NAT64 (RFC 6052).
        0x0064 => 96,
        // Unique local.
        0xfc00..=0xfdff => 7,
        // Global.
        0x2000..=0x3fff => 3,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn map() -> AddressMap {
        AddressMap::new(SipKey::from_bytes([7; 16]))
    }

    #[test]
    fn addresses_are_mapped_one_to_one_and_networks_stay_together() {
        let mut map = map();
        let common = |a: u32, b: u32| (a ^ b).leading_zeros();
        let all: Vec<u32> = (0..2000u32).map(|i| u32::from_be_bytes([93, 184, (i >> 8) as u8, i as u8])).collect();
        let mapped: Vec<u32> = all.iter().map(|a| u32::from_be_bytes(map.v4(a.to_be_bytes()))).collect();
        assert_eq!(mapped.iter().collect::<HashSet<_>>().len(), all.len());
        assert!(all.iter().zip(&mapped).filter(|(a, b)| a == b).count() == 0);
        assert!(mapped.windows(2).zip(all.windows(2)).all(|(m, a)| common(m[0], m[1]) == common(a[0], a[1])));
        let six = |low: u16| Ipv6Addr::new(0x2001, 0xdb8, 1, 2, 3, 4, 5, low).octets();
        let (a, b) = (map.v6(six(1)), map.v6(six(2)));
        assert!(a[..15] == b[..15] && a[15] != b[15] && a[..8] != six(1)[..8] && a[0] >> 5 == 1);
    }

    #[test]
    fn kinds_of_addresses_stay() {
        let mut map = map();
        for kept in [[127, 0, 0, 1], [224, 0, 0, 251], [255; 4], [0; 4]] {
            assert_eq!(map.v4(kept), kept);
        }
        let kind = |a: [u8; 4]| kept_v4(u32::from_be_bytes(a));
        for address in
            [[10, 1, 2, 3], [172, 20, 1, 1], [192, 168, 1, 1], [169, 254, 9, 9], [100, 64, 0, 1], [8, 8, 8, 8], [192, 0, 2, 1]]
        {
            let mapped = map.v4(address);
            assert!(kind(mapped) == kind(address) && mapped != address, "{address:?} {mapped:?}");
        }
        assert_eq!(map.v6(Ipv6Addr::LOCALHOST.octets()), Ipv6Addr::LOCALHOST.octets());
        let mapped = map.v6(Ipv4Addr::new(8, 8, 8, 8).to_ipv6_mapped().octets());
        assert_eq!(mapped[12..], map.v4([8, 8, 8, 8]));
    }

    #[test]
    fn mac_addresses_keep_their_kind() {
        let map = map();
        assert_eq!(map.mac([0xff; 6]), [0xff; 6]);
        let mapped = map.mac([1, 0, 0x5e, 0, 0, 1]);
        assert!(mapped[0] & 3 == 1 && mapped != [1, 0, 0x5e, 0, 0, 1]);
        assert_eq!(mapped, map.mac([1, 0, 0x5e, 0, 0, 1]));
    }
}
