//! Checking Internet checksums (RFC 1071) over headers and payload.

/// True if bytes that include their checksum sum up to what they should. `pseudo` is the sum of the pseudo-header's 16-bit words.
#[inline]
pub fn is_sound(pseudo: u64, bytes: &[u8]) -> bool {
    // Words of four bytes in native order: one's complement sums do not mind the order of bytes, as long as all share it.
    let mut sum = swap_if_little(pseudo);
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        sum += u64::from(u32::from_ne_bytes([word[0], word[1], word[2], word[3]]));
    }
    let rest = words.remainder();
    let mut last = [0u8; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum += u64::from(u32::from_ne_bytes(last));
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum == 0xffff
}

/// A sum of big-endian words in the machine's order.
#[inline]
fn swap_if_little(sum: u64) -> u64 {
    let mut folded = sum;
    while folded > 0xffff {
        folded = (folded & 0xffff) + (folded >> 16);
    }
    u64::from(u16::from_be(folded as u16))
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
