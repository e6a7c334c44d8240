//! Datagram of a train: tag, sequence number, sending time, filler. The header has 20 bytes, the
//! payload of a small voice frame.

use crate::Nanos;

pub const HEADER_BYTES: usize = 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatagramHeader {
    pub tag: u64,
    pub number: u32,
    pub at: Nanos,
}

impl DatagramHeader {
    /// Writes the header to a datagram of 20 bytes or more.
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

/// Tag of a datagram; none if it is too short.
pub fn read_tag(datagram: &[u8]) -> Option<u64> {
    datagram.first_chunk().map(|tag| u64::from_be_bytes(*tag))
}

/// Incompressible filler: xorshift (Marsaglia 2003) from a fixed seed.
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
    fn header_is_equal_when_read_back_and_none_when_the_datagram_is_short() {
        let head = DatagramHeader { tag: 1 << 60 | 3, number: 7, at: -9 };
        let mut datagram = [0; HEADER_BYTES];
        head.write(&mut datagram);
        assert_eq!(DatagramHeader::read(&datagram), Some(head));
        assert_eq!(DatagramHeader::read(&datagram[..19]), None);
        assert_eq!(read_tag(&datagram[..7]), None);
    }
}
