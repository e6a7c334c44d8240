//! Flow key: the two endpoints, in an order that does not depend on the packet's direction.

use super::EndpointAddress;
use super::ip::V4_MAPPED;
use crate::compact::{Compact, Reader, Writer};

/// One end of a flow, by the order of the endpoints in the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    Low,
    High,
}

impl Compact for Side {
    fn encode(&self, to: &mut Writer) {
        to.bit(*self == Side::High);
    }

    fn decode(from: &mut Reader<'_>) -> Side {
        if from.bit() { Side::High } else { Side::Low }
    }
}

impl Side {
    #[inline]
    pub fn other(self) -> Side {
        match self {
            Side::Low => Side::High,
            Side::High => Side::Low,
        }
    }
}

/// Addresses and ports of both ends. An IPv4 key takes 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    V4(KeyV4),
    V6(KeyV6),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyV4 {
    ip: [u32; 2],
    ports: [u16; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyV6 {
    /// Upper and lower half of each address: `u128` would be aligned to 16 bytes.
    ip: [[u64; 2]; 2],
    ports: [u16; 2],
}

/// Maximum length of an encoded key.
const ENCODED_LEN: usize = 1 + 2 * (16 + 2);

#[inline(always)]
fn ordered<T: Copy>([first, second]: [T; 2], swapped: bool) -> [T; 2] {
    if swapped { [second, first] } else { [first, second] }
}

impl Key {
    /// The key of a packet between IPv4 addresses (source first), and the end that sent it.
    #[inline(always)]
    pub fn v4(ip: [u32; 2], ports: [u16; 2]) -> (Key, Side) {
        let [source, destination] = [0, 1].map(|i| u64::from(ip[i]) << 16 | u64::from(ports[i]));
        let swapped = source > destination;
        let key = Key::V4(KeyV4 { ip: ordered(ip, swapped), ports: ordered(ports, swapped) });
        (key, if swapped { Side::High } else { Side::Low })
    }

    /// A sum over both ends, the same for both directions.
    #[inline(always)]
    pub fn mix_v4(ip: [u32; 2], ports: [u16; 2]) -> u64 {
        let [source, destination] = [0, 1].map(|i| u64::from(ip[i]) << 16 | u64::from(ports[i]));
        source + destination
    }

    /// [`Key::mix_v4`]; of IPv6 addresses any number.
    pub fn mix(&self) -> u64 {
        match self {
            Key::V4(four) => Key::mix_v4(four.ip, four.ports),
            Key::V6(_) => 0,
        }
    }

    /// The key of a packet between any addresses (source first), and the end that sent it.
    pub fn of(ip: [u128; 2], ports: [u16; 2]) -> (Key, Side) {
        if ip.iter().all(|ip| ip >> 32 == V4_MAPPED >> 32) {
            return Key::v4(ip.map(|ip| ip as u32), ports);
        }
        let swapped = (ip[0], ports[0]) > (ip[1], ports[1]);
        let ip = ordered(ip, swapped).map(|ip| [(ip >> 64) as u64, ip as u64]);
        (Key::V6(KeyV6 { ip, ports: ordered(ports, swapped) }), if swapped { Side::High } else { Side::Low })
    }

    pub fn endpoint(&self, side: Side) -> EndpointAddress {
        let side = side as usize;
        match self {
            Key::V4(four) => EndpointAddress { ip: V4_MAPPED | u128::from(four.ip[side]), port: four.ports[side] },
            Key::V6(six) => {
                let [upper, lower] = six.ip[side];
                EndpointAddress { ip: u128::from(upper) << 64 | u128::from(lower), port: six.ports[side] }
            }
        }
    }

    /// The prefix of a frozen flow and its length: a flag for IPv4, addresses, ports.
    pub(crate) fn encode(&self) -> ([u8; ENCODED_LEN], usize) {
        let (mut encoded, mut n) = ([0; ENCODED_LEN], 1);
        let mut add = |bytes: &[u8]| {
            encoded[n..n + bytes.len()].copy_from_slice(bytes);
            n += bytes.len();
        };
        let ports = match self {
            Key::V4(four) => {
                four.ip.iter().for_each(|ip| add(&ip.to_le_bytes()));
                four.ports
            }
            Key::V6(six) => {
                six.ip.iter().flatten().for_each(|half| add(&half.to_le_bytes()));
                six.ports
            }
        };
        ports.iter().for_each(|port| add(&port.to_le_bytes()));
        encoded[0] = u8::from(matches!(self, Key::V4(_)));
        (encoded, n)
    }

    /// True if `bytes` is a frozen flow with this key.
    #[inline(never)]
    pub fn is_prefix_of(&self, bytes: &[u8]) -> bool {
        let (encoded, n) = self.encode();
        bytes.starts_with(&encoded[..n])
    }

    /// The key at the front of a frozen flow, and the bytes after it.
    pub(crate) fn decode(bytes: &[u8]) -> (Key, &[u8]) {
        let is_v4 = bytes.first() == Some(&1);
        let mut rest = bytes.get(1..).unwrap_or_default();
        let mut number = |n: usize| {
            let (number, after) = rest.split_at_checked(n).unwrap_or_default();
            rest = after;
            number.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
        };
        let key = if is_v4 {
            let ip = [number(4) as u32, number(4) as u32];
            Key::V4(KeyV4 { ip, ports: [number(2) as u16, number(2) as u16] })
        } else {
            let ip = [[number(8), number(8)], [number(8), number(8)]];
            Key::V6(KeyV6 { ip, ports: [number(2) as u16, number(2) as u16] })
        };
        (key, rest)
    }

    /// Hash of the key: folded 64 x 64 bit multiplications, as in wyhash. The seed protects against
    /// collisions chosen by a sender of packets.
    #[inline(always)]
    pub fn hash(&self, seed: u64) -> u32 {
        let mixed = match self {
            Key::V4(KeyV4 { ip, ports }) => {
                fold((u64::from(ip[0]) | u64::from(ip[1]) << 32) ^ seed, (u64::from(ports[0]) | u64::from(ports[1]) << 16) ^ ODD)
            }
            Key::V6(six) => six.mix(seed),
        };
        (fold(mixed ^ ODD, seed) >> 32) as u32
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl KeyV6 {
    #[inline(never)]
    fn mix(&self, seed: u64) -> u64 {
        let [[a_upper, a], [b_upper, b]] = self.ip;
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        fold(a ^ seed, b.rotate_left(32) ^ ports ^ ODD) ^ fold(a_upper ^ ODD, b_upper ^ seed)
    }
}

/// A key in 16 bytes: an IPv6 key is boxed.
#[derive(Debug)]
pub enum BoxedKey {
    V4(KeyV4),
    V6(Box<KeyV6>),
}

const _: () = assert!(size_of::<BoxedKey>() == 16);

impl BoxedKey {
    pub fn of(key: Key) -> BoxedKey {
        match key {
            Key::V4(four) => BoxedKey::V4(four),
            Key::V6(six) => BoxedKey::V6(Box::new(six)),
        }
    }

    pub fn key(&self) -> Key {
        match self {
            BoxedKey::V4(four) => Key::V4(*four),
            BoxedKey::V6(six) => Key::V6(**six),
        }
    }

    #[inline(always)]
    pub fn is(&self, other: &Key) -> bool {
        match (self, other) {
            (BoxedKey::V4(four), Key::V4(other)) => four == other,
            (BoxedKey::V6(six), Key::V6(other)) => **six == *other,
            _ => false,
        }
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        if let BoxedKey::V6(_) = self { size_of::<KeyV6>() } else { 0 }
    }
}
