//! Which flow a segment belongs to: its two ends, in an order that does not depend on the direction.

use crate::decode::{Endpoint, Segment};

/// One of a flow's two ends, by address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Side {
    Low,
    High,
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

    /// Spreads keys over 32 bits: a multiply and a fold for each word, as in FxHash and wyhash. Not proof against an attacker
    /// who chooses addresses; the table's probing then gets slow, never wrong.
    #[inline]
    pub fn hash(&self) -> u32 {
        const ODD: u64 = 0x9e37_79b9_7f4a_7c15;
        let ports = u64::from(self.ports[0]) << 16 | u64::from(self.ports[1]);
        let [[a_upper, a], [b_upper, b]] = self.ip;
        let mut sum = (a ^ b.rotate_left(32)).wrapping_mul(ODD);
        sum = (sum ^ sum >> 32 ^ ports).wrapping_mul(ODD);
        sum = (sum ^ sum >> 29 ^ a_upper ^ b_upper.rotate_left(21)).wrapping_mul(ODD);
        (sum >> 32) as u32
    }
}
