//! SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012), under a key that is drawn and not kept: equal
//! values get equal hashes, and no reader finds a value by trying all of them.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

/// A key.
#[derive(Clone, Copy)]
pub struct SipKey([u64; 2]);

impl SipKey {
    /// A key from the operating system's random numbers.
    pub fn random() -> SipKey {
        SipKey([0, 1].map(|word: u64| {
            let mut hasher = RandomState::new().build_hasher();
            hasher.write_u64(word);
            hasher.finish()
        }))
    }

    pub fn from_bytes(bytes: [u8; 16]) -> SipKey {
        let (words, _) = bytes.as_chunks::<8>();
        SipKey([u64::from_le_bytes(words[0]), u64::from_le_bytes(words[1])])
    }

    /// The hash of `bytes`.
    pub fn hash(&self, bytes: &[u8]) -> [u8; 16] {
        let [k0, k1] = self.0;
        let mut state = State([
            k0 ^ 0x736f_6d65_7073_6575,
            k1 ^ 0x646f_7261_6e64_6f6d ^ 0xee,
            k0 ^ 0x6c79_6765_6e65_7261,
            k1 ^ 0x7465_6462_7974_6573,
        ]);
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().for_each(|word| state.add(u64::from_le_bytes(*word)));
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        last[7] = bytes.len() as u8;
        state.add(u64::from_le_bytes(last));
        state.0[2] ^= 0xee;
        let low = state.finish();
        state.0[1] ^= 0xdd;
        let high = state.finish();
        (u128::from(high) << 64 | u128::from(low)).to_le_bytes()
    }
}

struct State([u64; 4]);

impl State {
    #[inline]
    fn add(&mut self, word: u64) {
        self.0[3] ^= word;
        self.rounds(2);
        self.0[0] ^= word;
    }

    fn finish(&mut self) -> u64 {
        self.rounds(4);
        let [v0, v1, v2, v3] = self.0;
        v0 ^ v1 ^ v2 ^ v3
    }

    #[inline]
    fn rounds(&mut self, count: usize) {
        let [mut v0, mut v1, mut v2, mut v3] = self.0;
        for _ in 0..count {
            v0 = v0.wrapping_add(v1);
            v2 = v2.wrapping_add(v3);
            v1 = v1.rotate_left(13) ^ v0;
            v3 = v3.rotate_left(16) ^ v2;
            v0 = v0.rotate_left(32);
            v2 = v2.wrapping_add(v1);
            v0 = v0.wrapping_add(v3);
            v1 = v1.rotate_left(17) ^ v2;
            v3 = v3.rotate_left(21) ^ v0;
            v2 = v2.rotate_left(32);
        }
        self.0 = [v0, v1, v2, v3];
    }
}

#[cfg(test)]
mod tests {
    use super::SipKey;

    /// The first, second and 64th vector of the reference implementation: bytes that count up, as the key.
    #[test]
    fn hash_equals_the_reference_vectors() {
        let key = SipKey::from_bytes(std::array::from_fn(|i| i as u8));
        let bytes: [u8; 64] = std::array::from_fn(|i| i as u8);
        let text = |hash: [u8; 16]| hash.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        assert_eq!(text(key.hash(&[])), "a3817f04ba25a8e66df67214c7550293");
        assert_eq!(text(key.hash(&bytes[..1])), "da87c1d86b99af44347659119b22fc45");
        assert_eq!(text(key.hash(&bytes[..63])), "5150d1772f50834a503e069a973fbd7c");
    }

    #[test]
    fn random_keys_differ() {
        assert_ne!(SipKey::random().hash(b"payload"), SipKey::random().hash(b"payload"));
    }
}
