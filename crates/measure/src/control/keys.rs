//! Keys that both ends derive from the token and one nonce each: a proof for each end, and one key
//! for each use.

use crate::token::Token;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use subtle::ConstantTimeEq;

pub const MAC_BYTES: usize = 32;
pub type Digest = [u8; MAC_BYTES];
pub type Nonce = [u8; 32];

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

/// Both nonces of a handshake. Keys derived from them are valid for one session, which prevents
/// replay.
#[derive(Clone, Copy)]
pub struct Nonces {
    pub client: Nonce,
    pub server: Nonce,
}

/// Keys of a session.
#[derive(Clone)]
pub struct SessionKeys {
    pub client_proof: Digest,
    pub server_proof: Digest,
    /// Control frames to the server and to the client.
    pub to_server: Digest,
    pub to_client: Digest,
    /// Hellos of data connections.
    pub data: Digest,
    /// Tags of datagrams, and address validation.
    pub datagrams: Digest,
    /// Public identifier of the session.
    pub session_id: u64,
}

impl SessionKeys {
    pub fn derive(token: &Token, nonces: &Nonces) -> SessionKeys {
        let of = |label| mac(token.bytes(), label, &[&nonces.client, &nonces.server]);
        SessionKeys {
            client_proof: of("client proof"),
            server_proof: of("server proof"),
            to_server: of("control to server"),
            to_client: of("control to client"),
            data: of("data"),
            datagrams: of("datagrams"),
            session_id: first_64(&of("name")),
        }
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
    fn keys_differ_when_use_token_or_either_nonce_differs() {
        let token = |c: char| Token::parse(&format!("{c}q7ZkX2mW9vB4nT8sL1rY6pD")).unwrap();
        let nonces = Nonces { client: [1; 32], server: [2; 32] };
        let k = SessionKeys::derive(&token('a'), &nonces);
        let mut all = vec![k.client_proof, k.server_proof, k.to_server, k.to_client, k.data, k.datagrams];
        for other in [
            SessionKeys::derive(&token('b'), &nonces),
            SessionKeys::derive(&token('a'), &Nonces { client: [3; 32], ..nonces }),
            SessionKeys::derive(&token('a'), &Nonces { server: [3; 32], ..nonces }),
            SessionKeys::derive(&token('a'), &Nonces { client: [2; 32], server: [1; 32] }),
        ] {
            all.extend([other.client_proof, other.server_proof, other.to_server, other.to_client, other.data, other.datagrams]);
        }
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
        assert_ne!(k.tag(1, true), k.tag(1, false));
        assert_ne!(k.tag(1, true), k.tag(2, true));
    }
}
