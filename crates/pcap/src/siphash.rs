//! SipHash-2-4 with 128 bits (Aumasson and Bernstein, 2012), under a key that is drawn and not kept: equal
//! values get equal hashes, and no reader finds a value by trying all of them.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};

use siphasher::sip128::SipHasher24;

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
        SipHasher24::new_with_keys(k0, k1).hash(bytes).as_bytes()
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
