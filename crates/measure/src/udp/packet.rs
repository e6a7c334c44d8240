//! A datagram of a train: tag, number, time of sending; the rest is filler. 20 bytes, the size of a small voice frame.

use crate::Nanos;

pub const HEADER_BYTES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramHeader {
    pub tag: u64,
    pub number: u32,
    pub at: Nanos,
}

impl DatagramHeader {
    /// Into the beginning of a datagram of at least 20 bytes.
    pub fn write(&self, datagram: &mut [u8]) {
        datagram[..8].copy_from_slice(&self.tag.to_be_bytes());
        datagram[8..12].copy_from_slice(&self.number.to_be_bytes());
        datagram[12..HEADER_BYTES].copy_from_slice(&self.at.to_be_bytes());
    }

    pub fn read(datagram: &[u8]) -> Option<DatagramHeader> {
        let (tag, rest) = datagram.split_first_chunk()?;
        let (number, rest) = rest.split_first_chunk()?;
        let (at, _) = rest.split_first_chunk()?;
        Some(DatagramHeader { tag: u64::from_be_bytes(*tag), number: u32::from_be_bytes(*number), at: i64::from_be_bytes(*at) })
    }
}

/// A datagram's tag, if it is long enough to have one.
pub fn read_tag(datagram: &[u8]) -> Option<u64> {
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
        let head = DatagramHeader { tag: 1 << 60 | 3, number: 7, at: -9 };
        let mut datagram = [0; HEADER_BYTES];
        head.write(&mut datagram);
        assert_eq!(DatagramHeader::read(&datagram), Some(head));
        assert_eq!(DatagramHeader::read(&datagram[..19]), None);
        assert_eq!(read_tag(&datagram[..7]), None);
    }
}
