//! Checking Internet checksums (RFC 1071) over headers and payload.

/// True if bytes that include their checksum sum up to what they should. `pseudo` is the sum of the pseudo-header's 16-bit words.
#[inline]
pub fn is_sound(pseudo: u64, bytes: &[u8]) -> bool {
    folded(swap_if_little(pseudo) + sum(bytes)) == 0xffff
}

/// The sum of all words in native order, not yet folded: one's complement sums do not mind the order of bytes, as long as all share it.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<4>();
    let sum = if words.len() > SHORT { long_sum(words) } else { short_sum(words) };
    if rest.is_empty() { sum } else { sum + last(rest) }
}

/// Words of what is an option or two: no more than these are added one by one.
const SHORT: usize = 10;

#[inline(always)]
fn short_sum(words: &[[u8; 4]]) -> u64 {
    words.iter().map(|word| u64::from(u32::from_ne_bytes(*word))).sum()
}

/// The compiler adds several at a time.
#[inline(never)]
fn long_sum(words: &[[u8; 4]]) -> u64 {
    short_sum(words)
}

#[cold]
fn last(rest: &[u8]) -> u64 {
    let mut last = [0u8; 4];
    last[..rest.len()].copy_from_slice(rest);
    u64::from(u32::from_ne_bytes(last))
}

/// A sum of up to 2^32 words of 32 bits, folded to 16: what is carried out of the upper half comes into the lower one.
#[inline]
pub fn folded(sum: u64) -> u64 {
    let sum = (sum.wrapping_add(sum.rotate_left(32)) >> 32) as u32;
    u64::from(sum.wrapping_add(sum.rotate_left(16)) >> 16)
}

/// A sum of big-endian words in the machine's order.
#[inline]
fn swap_if_little(sum: u64) -> u64 {
    u64::from(u16::from_be(folded(sum) as u16))
}

#[cfg(test)]
mod tests {
    use super::is_sound;

    #[test]
    fn the_example_of_rfc_1071_is_sound_with_its_checksum_and_not_without() {
        let words = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        let [high, low] = (!0xddf2u16).to_be_bytes();
        assert!(is_sound(0, &[&words[..], &[high, low]].concat()));
        assert!(is_sound(u64::from(!0xddf2u16), &words));
        assert!(!is_sound(0, &words));
    }
}
