//! Keys of the messages outside the control connection, one for each use, from the session's secret
//! that the handshake has transferred.

use super::noise::SessionSecret;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

pub const MAC_BYTES: usize = 32;
pub type Digest = [u8; MAC_BYTES];

/// HMAC-SHA256 (RFC 2104) over a label and parts. The label is preceded by its length; all parts
/// except the last have a fixed length for each label.
pub fn mac(key: &[u8], label: &str, parts: &[&[u8]]) -> Digest {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.update(&[label.len() as u8]);
    mac.update(label.as_bytes());
    for part in parts {
        mac.update(part);
    }
    mac.finalize().into_bytes().into()
}

/// Comparison in constant time.
pub fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    bool::from(a.ct_eq(b))
}

/// Keys of a session.
#[derive(Clone)]
pub struct SessionKeys {
    /// Hellos of data connections.
    pub data: Digest,
    /// Tags of datagrams, and address validation.
    pub datagrams: Digest,
    /// Public identifier of the session.
    pub session_id: u64,
}

impl SessionKeys {
    pub fn derive(secret: &SessionSecret) -> SessionKeys {
        let of = |label| mac(secret, label, &[]);
        SessionKeys { data: of("data"), datagrams: of("datagrams"), session_id: first_64(&of("name")) }
    }

    /// Tag of a test's datagrams in one direction. A host off the path cannot guess it.
    pub fn tag(&self, test: u32, to_server: bool) -> u64 {
        first_64(&mac(&self.datagrams, "tag", &[&test.to_be_bytes(), &[u8::from(to_server)]]))
    }
}

pub fn first_64(digest: &Digest) -> u64 {
    u64::from_be_bytes(std::array::from_fn(|i| digest[i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(digest: &[u8]) -> String {
        digest.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn mac_primitive_matches_rfc_4231_test_case_2() {
        // Test case 2 has no label, so this tests the primitive.
        let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(b"Jefe").unwrap();
        mac.update(b"what do ya want for nothing?");
        let digest = mac.finalize().into_bytes();
        assert_eq!(hex(&digest), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }

    #[test]
    fn keys_differ_when_use_or_secret_differs() {
        let k = SessionKeys::derive(&[1; 32]);
        let other = SessionKeys::derive(&[2; 32]);
        let mut all = vec![k.data, k.datagrams, other.data, other.datagrams];
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert_ne!(k.session_id, other.session_id);
        assert_ne!(k.tag(1, true), k.tag(1, false));
        assert_ne!(k.tag(1, true), k.tag(2, true));
    }
}
