//! The Internet checksum (RFC 1071).

/// A one's complement sum in progress. Zeros add nothing, so payload of zeros need not be fed to it.
#[derive(Default)]
pub struct Checksum(u32);

impl Checksum {
    /// Adds bytes as 16-bit words, an odd last one padded with zero.
    pub fn add(mut self, bytes: &[u8]) -> Checksum {
        for pair in bytes.chunks(2) {
            let word = u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]);
            self.0 += u32::from(word);
            self.0 = (self.0 & 0xffff) + (self.0 >> 16);
        }
        self
    }

    pub fn finish(self) -> [u8; 2] {
        (!(self.0 as u16)).to_be_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::Checksum;

    #[test]
    fn it_agrees_with_the_example_of_rfc_1071() {
        let sum = Checksum::default().add(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(sum.finish(), (!0xddf2u16).to_be_bytes());
    }
}
