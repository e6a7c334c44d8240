//! Checking Internet checksums (RFC 1071) over headers and payload.

/// True if bytes that include their checksum sum up to what they should. `pseudo` is the sum of the pseudo-header's 16-bit words.
#[inline]
pub fn is_sound(pseudo: u64, bytes: &[u8]) -> bool {
    folded(swap_if_little(pseudo) + sum(bytes)) == 0xffff
}

/// The sum of all words in native order, not yet folded: one's complement sums do not mind the order of bytes, as long as all share it.
#[inline]
pub fn sum(bytes: &[u8]) -> u64 {
    let halves = |word: [u8; 8]| {
        let word = u64::from_ne_bytes(word);
        (word & 0xffff_ffff) + (word >> 32)
    };
    let mut sum = 0;
    let (words, rest) = bytes.as_chunks::<8>();
    for word in words {
        sum += halves(*word);
    }
    if !rest.is_empty() {
        let mut last = [0u8; 8];
        last[..rest.len()].copy_from_slice(rest);
        sum += halves(last);
    }
    sum
}

/// A sum of up to 2^28 words of 32 bits, folded to 16.
#[inline]
pub fn folded(sum: u64) -> u64 {
    let sum = (sum & 0xffff_ffff) + (sum >> 32);
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    (sum & 0xffff) + (sum >> 16)
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
