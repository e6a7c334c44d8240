//! Which flow a segment belongs to: its two ends, in an order that does not depend on the direction.

use super::Endpoint;
use super::ip::MAPPED;
use crate::stored::{Reader, Stored, Writer};

/// One of a flow's two ends, by address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    Low,
    High,
}

impl Stored for Side {
    fn put(&self, to: &mut Writer) {
        to.bit(*self == Side::High);
    }

    fn take(from: &mut Reader<'_>) -> Side {
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

/// IPv4's need 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    V4(Four),
    V6(Six),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Four {
    ip: [u32; 2],
    ports: [u16; 2],
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Six {
    /// Upper and lower half of each, which need no padding.
    ip: [[u64; 2]; 2],
    ports: [u16; 2],
}

/// Bytes of a key in front of a flow that is put by, at most.
const HEAD: usize = 1 + 2 * (16 + 2);

#[inline(always)]
fn in_order<T: Copy>([first, second]: [T; 2], turned: bool) -> [T; 2] {
    if turned { [second, first] } else { [first, second] }
}

impl Key {
    /// Of what goes between two addresses of IPv4, and which end sent it.
    #[inline(always)]
    pub fn v4(ip: [u32; 2], ports: [u16; 2]) -> (Key, Side) {
        let turned = (ip[0], ports[0]) > (ip[1], ports[1]);
        let key = Key::V4(Four { ip: in_order(ip, turned), ports: in_order(ports, turned) });
        (key, if turned { Side::High } else { Side::Low })
    }

    /// The same between any addresses.
    pub fn of(ip: [u128; 2], ports: [u16; 2]) -> (Key, Side) {
        if ip.iter().all(|ip| ip >> 32 == MAPPED >> 32) {
            return Key::v4(ip.map(|ip| ip as u32), ports);
        }
        let turned = (ip[0], ports[0]) > (ip[1], ports[1]);
        let ip = in_order(ip, turned).map(|ip| [(ip >> 64) as u64, ip as u64]);
        (Key::V6(Six { ip, ports: in_order(ports, turned) }), if turned { Side::High } else { Side::Low })
    }

    pub fn end(&self, side: Side) -> Endpoint {
        let side = side as usize;
        match self {
            Key::V4(four) => Endpoint { ip: MAPPED | u128::from(four.ip[side]), port: four.ports[side] },
            Key::V6(six) => {
                let [upper, lower] = six.ip[side];
                Endpoint { ip: u128::from(upper) << 64 | u128::from(lower), port: six.ports[side] }
            }
        }
    }

    /// The key in front of a flow that is put by: whether the addresses are IPv4's, addresses, ports.
    pub(crate) fn head(&self) -> ([u8; HEAD], usize) {
        let (mut head, mut n) = ([0; HEAD], 1);
        let mut add = |bytes: &[u8]| {
            head[n..n + bytes.len()].copy_from_slice(bytes);
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
        head[0] = u8::from(matches!(self, Key::V4(_)));
        (head, n)
    }

    /// What is put by is a flow with this key.
    #[inline(never)]
    pub fn is_head_of(&self, bytes: &[u8]) -> bool {
        let (head, n) = self.head();
        bytes.starts_with(&head[..n])
    }

    pub(crate) fn of_head(bytes: &[u8]) -> (Key, &[u8]) {
        let is_v4 = bytes.first() == Some(&1);
        let mut rest = bytes.get(1..).unwrap_or_default();
        let mut number = |n: usize| {
            let (number, behind) = rest.split_at_checked(n).unwrap_or_default();
            rest = behind;
            number.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
        };
        let key = if is_v4 {
            let ip = [number(4) as u32, number(4) as u32];
            Key::V4(Four { ip, ports: [number(2) as u16, number(2) as u16] })
        } else {
            let ip = [[number(8), number(8)], [number(8), number(8)]];
            Key::V6(Six { ip, ports: [number(2) as u16, number(2) as u16] })
        };
        (key, rest)
    }

    /// Spreads keys over 32 bits: multiplications of 64 by 64 bits whose halves are folded, as in wyhash. Who does not know the seed cannot choose
    /// addresses that fall together.
    #[inline(always)]
    pub fn hash(&self, seed: u64) -> u32 {
        let near = match self {
            Key::V4(Four { ip, ports }) => {
                fold((u64::from(ip[0]) | u64::from(ip[1]) << 32) ^ seed, (u64::from(ports[0]) | u64::from(ports[1]) << 16) ^ ODD)
            }
            Key::V6(six) => six.spread(seed),
        };
        (fold(near ^ ODD, seed) >> 32) as u32
    }
}

const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline(always)]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    product as u64 ^ (product >> 64) as u64
}

impl Six {
    #[inline(never)]
    fn spread(&self, seed: u64) -> u64 {
        let [[a_upper, a], [b_upper, b]] = self.ip;
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        fold(a ^ seed, b.rotate_left(32) ^ ports ^ ODD) ^ fold(a_upper ^ ODD, b_upper ^ seed)
    }
}

/// A key as a flow keeps it.
#[derive(Debug)]
pub enum Kept {
    V4(Four),
    V6(Box<Six>),
}

const _: () = assert!(size_of::<Kept>() == 16);

impl Kept {
    pub fn of(key: Key) -> Kept {
        match key {
            Key::V4(four) => Kept::V4(four),
            Key::V6(six) => Kept::V6(Box::new(six)),
        }
    }

    pub fn key(&self) -> Key {
        match self {
            Kept::V4(four) => Key::V4(*four),
            Kept::V6(six) => Key::V6(**six),
        }
    }

    #[inline(always)]
    pub fn is(&self, other: &Key) -> bool {
        match (self, other) {
            (Kept::V4(four), Key::V4(other)) => four == other,
            (Kept::V6(six), Key::V6(other)) => **six == *other,
            _ => false,
        }
    }

    /// Bytes held beside itself.
    pub fn memory(&self) -> usize {
        if let Kept::V6(_) = self { size_of::<Six>() } else { 0 }
    }
}
