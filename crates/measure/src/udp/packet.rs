//! A datagram of a train: tag, number, time of sending; the rest is filler. 20 bytes, the size of a small voice frame.

use crate::Nanos;

pub const HEAD_BYTES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    pub tag: u64,
    pub number: u32,
    pub at: Nanos,
}

impl Head {
    /// Into the beginning of a datagram of at least 20 bytes.
    pub fn write(&self, datagram: &mut [u8]) {
        datagram[..8].copy_from_slice(&self.tag.to_be_bytes());
        datagram[8..12].copy_from_slice(&self.number.to_be_bytes());
        datagram[12..HEAD_BYTES].copy_from_slice(&self.at.to_be_bytes());
    }

    pub fn read(datagram: &[u8]) -> Option<Head> {
        let (tag, rest) = datagram.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (at, _) = rest.split_first_chunk()?;
        Some(Head { tag: u64::from_be_bytes(*tag), number: u32::from_be_bytes(*number), at: i64::from_be_bytes(*at) })
    }
}

/// A datagram's tag, if it is long enough to have one.
pub fn tag_of(datagram: &[u8]) -> Option<u64> {
    datagram.first_chunk().map(|tag| u64::from_be_bytes(*tag))
}

/// Filler that no link compresses: xorshift (Marsaglia 2003) from a fixed start.
pub fn filler(bytes: usize) -> Vec<u8> {
    let mut x = 0x9e37_79b9_7f4a_7c15u64;
    let mut next = || {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        (x >> 24) as u8
    };
    (0..bytes).map(|_| next()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_read_as_it_was_written_and_short_datagrams_have_none() {
        let head = Head { tag: 1 << 60 | 3, number: 7, at: -9 };
        let mut datagram = [0; HEAD_BYTES];
        head.write(&mut datagram);
        assert_eq!(Head::read(&datagram), Some(head));
        assert_eq!(Head::read(&datagram[..19]), None);
        assert_eq!(tag_of(&datagram[..7]), None);
    }
}
