//! The Internet checksum (RFC 1071): computed for written frames, verified for read ones.
//!
//! Sums are in native byte order: a one's complement sum does not depend on the order of bytes, as
//! long as all words share it (RFC 1071, section 2).

/// A one's complement sum in progress. Zeros add nothing, so a payload of zeros need not be added.
#[derive(Debug, Clone, Copy, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// Adds bytes as 16-bit words; an odd last byte is padded with zero.
    #[inline]
    #[must_use]
    pub fn with(self, bytes: &[u8]) -> Checksum {
        Checksum(self.0 + sum(bytes))
    }

    /// The checksum field, in network byte order.
    #[inline]
    pub fn finish(self) -> [u8; 2] {
        (!(fold(self.0) as u16)).to_ne_bytes()
    }
}

/// True if `bytes`, their checksum field included, have a valid checksum. `pseudo_header` is the
/// sum of the pseudo-header's words in host order.
#[inline]
pub fn is_valid(pseudo_header: u64, bytes: &[u8]) -> bool {
    fold(to_native(pseudo_header) + sum(bytes)) == 0xffff
}

/// Sum of all 32-bit words in native order, not folded.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum = if words.len() > SHORT { long_sum(words) } else { short_sum(words) };
    if rest.is_empty() { sum } else { sum + last_word(rest) }
}

/// Inputs of up to this many words (a TCP option or two) are summed inline.
const SHORT: usize = 10;

#[inline(always)]
fn short_sum(words: &[[u8; 4]]) -> u64 {
    words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum()
}

/// Out of line: the compiler vectorizes it.
#[inline(never)]
fn long_sum(words: &[[u8; 4]]) -> u64 {
    short_sum(words)
}

#[cold]
fn last_word(rest: &[u8]) -> u64 {
    let mut word = [0u8; 4];
    word[..rest.len()].copy_from_slice(rest);
    u64::from(u32::from_ne_bytes(word))
}

/// Folds a sum of up to 2^32 words of 32 bits to 16 bits with end-around carry.
#[inline]
pub fn fold(sum: u64) -> u64 {
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    u64::from(sum.wrapping_add(sum.rotate_left(16)) >> 16)
}

/// Converts a sum of words in host order to a sum of words in native order of the bytes.
#[inline]
fn to_native(sum: u64) -> u64 {
    u64::from(u16::from_be(fold(sum) as u16))
}

#[cfg(test)]
mod tests {
    use super::{Checksum, is_valid};

    /// The example of RFC 1071, section 3, and its checksum.
    const WORDS: [u8; 8] = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    const FIELD: [u8; 2] = (!0xddf2u16).to_be_bytes();

    #[test]
    fn checksum_equals_rfc_1071_example() {
        assert_eq!(Checksum::default().with(&WORDS).finish(), FIELD);
    }

    #[test]
    fn is_valid_accepts_rfc_1071_example_only_with_its_checksum() {
        assert!(is_valid(0, &[&WORDS[..], &FIELD].concat()));
        assert!(is_valid(u64::from(u16::from_be_bytes(FIELD)), &WORDS));
        assert!(!is_valid(0, &WORDS));
    }

    /// The sum of 16-bit words with an end-around carry after each, as RFC 1071 defines it.
    fn reference(parts: &[&[u8]]) -> [u8; 2] {
        let words = parts.iter().flat_map(|part| part.chunks(2));
        let sum = words.fold(0u32, |sum, pair| {
            let sum = sum + u32::from(u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]));
            (sum & 0xffff) + (sum >> 16)
        });
        (!(sum as u16)).to_be_bytes()
    }

    #[test]
    fn checksum_equals_reference_when_lengths_are_odd_or_long() {
        let bytes: Vec<u8> = (0..1501u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        for len in [0, 1, 2, 3, 4, 5, 19, 20, 41, 60, 63, 1500, 1501] {
            let part = &bytes[..len];
            assert_eq!(Checksum::default().with(part).finish(), reference(&[part]), "{len} bytes");
            let parts = [&bytes[7..13], part];
            let sum = parts.iter().fold(Checksum::default(), |sum, part| sum.with(part));
            assert_eq!(sum.finish(), reference(&parts), "6 and {len} bytes");
        }
        assert_eq!(Checksum::default().with(&[0xff; 40]).finish(), reference(&[&[0xff; 40]]));
    }
}
