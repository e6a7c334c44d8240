//! Which flow a segment belongs to: its two ends, in an order that does not depend on the direction.

use crate::decode::{Endpoint, Segment};
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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Upper and lower half of each, which need no padding.
    ip: [[u64; 2]; 2],
    ports: [u16; 2],
}

/// Bytes of a key in front of a flow that is put by, at most.
const HEAD: usize = 1 + 2 * (16 + 2);

#[inline]
fn halves(ip: u128) -> [u64; 2] {
    [(ip >> 64) as u64, ip as u64]
}

impl Key {
    /// The flow of a segment, and which end sent it.
    #[inline]
    pub fn of(segment: &Segment<'_>) -> (Key, Side) {
        let (s, d) = (segment.source, segment.destination);
        if s.ip < d.ip || s.ip == d.ip && s.port <= d.port {
            (Key { ip: [halves(s.ip), halves(d.ip)], ports: [s.port, d.port] }, Side::Low)
        } else {
            (Key { ip: [halves(d.ip), halves(s.ip)], ports: [d.port, s.port] }, Side::High)
        }
    }

    pub fn end(&self, side: Side) -> Endpoint {
        let [upper, lower] = self.ip[side as usize];
        Endpoint { ip: u128::from(upper) << 64 | u128::from(lower), port: self.ports[side as usize] }
    }

    /// The key in front of a flow that is put by: whether the addresses are IPv4's, addresses, ports.
    pub(super) fn head(&self) -> ([u8; HEAD], usize) {
        let (mut head, mut n) = ([0; HEAD], 1);
        let is_v4 = self.ip.iter().all(|[upper, lower]| *upper == 0 && lower >> 32 == 0xffff);
        head[0] = u8::from(is_v4);
        let mut add = |bytes: &[u8]| {
            head[n..n + bytes.len()].copy_from_slice(bytes);
            n += bytes.len();
        };
        for [upper, lower] in self.ip {
            if is_v4 {
                add(&(lower as u32).to_le_bytes());
            } else {
                add(&upper.to_le_bytes());
                add(&lower.to_le_bytes());
            }
        }
        self.ports.iter().for_each(|port| add(&port.to_le_bytes()));
        (head, n)
    }

    /// What is put by is a flow with this key.
    pub fn is_head_of(&self, bytes: &[u8]) -> bool {
        let (head, n) = self.head();
        bytes.starts_with(&head[..n])
    }

    pub(super) fn of_head(bytes: &[u8]) -> (Key, &[u8]) {
        let is_v4 = bytes.first() == Some(&1);
        let mut rest = bytes.get(1..).unwrap_or_default();
        let mut number = |n: usize| {
            let (number, behind) = rest.split_at_checked(n).unwrap_or_default();
            rest = behind;
            number.iter().rev().fold(0, |sum, &byte| sum << 8 | u64::from(byte))
        };
        let mut address = || if is_v4 { [0, 0xffff << 32 | number(4)] } else { [number(8), number(8)] };
        let ip = [address(), address()];
        let ports = [number(2) as u16, number(2) as u16];
        (Key { ip, ports }, rest)
    }

    /// Spreads keys over 32 bits: multiplications of 64 by 64 bits whose halves are folded, as in wyhash. Who does not know the seed cannot choose
    /// addresses that fall together.
    #[inline]
    pub fn hash(&self, seed: u64) -> u32 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let fold = |a: u64, b: u64| {
            let product = u128::from(a) * u128::from(b);
            product as u64 ^ (product >> 64) as u64
        };
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        let [[a_upper, a], [b_upper, b]] = self.ip;
        let near = fold(a ^ seed, b.rotate_left(32) ^ ports ^ ODD);
        let far = fold(a_upper ^ ODD, b_upper ^ seed);
        (fold(near ^ ODD, far ^ seed) >> 32) as u32
    }
}
