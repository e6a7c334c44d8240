//! Connection IDs, and the keys for tokens and resets, drawn from the seed: of the same seed come the same bytes.

use ackclock_core::rng::Rng;
use noq_proto::crypto::{CryptoError, HandshakeTokenKey, HmacKey};
use noq_proto::{ConnectionId, ConnectionIdGenerator};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Of both ends; common servers have 8.
const CID_BYTES: usize = 8;
const TAG_BYTES: usize = 16;

/// Draws connection IDs.
#[derive(Debug, Clone)]
pub struct ConnectionIds(Arc<Mutex<Rng>>);

impl ConnectionIds {
    pub fn new(rng: Rng) -> ConnectionIds {
        ConnectionIds(Arc::new(Mutex::new(rng)))
    }

    pub fn draw(&self) -> ConnectionId {
        let mut rng = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        ConnectionId::new(&rng.salt().to_le_bytes())
    }
}

impl ConnectionIdGenerator for ConnectionIds {
    fn generate_cid(&mut self) -> ConnectionId {
        self.draw()
    }
    fn cid_len(&self) -> usize {
        CID_BYTES
    }
    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}

/// Signs nothing secret: FNV-1a, in as many bytes as are asked for.
#[derive(Debug, Clone, Copy)]
pub struct PlainKey;

fn digest(data: &[u8], into: &mut [u8]) {
    let hash = data.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3));
    for (at, byte) in into.iter_mut().enumerate() {
        *byte = hash.to_le_bytes()[at % 8] ^ at as u8;
    }
}

impl HmacKey for PlainKey {
    fn sign(&self, data: &[u8], signature: &mut [u8]) {
        digest(data, signature);
    }
    fn signature_len(&self) -> usize {
        2 * TAG_BYTES
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut expected = [0; 2 * TAG_BYTES];
        digest(data, &mut expected);
        if expected == signature { Ok(()) } else { Err(CryptoError) }
    }
}

impl HandshakeTokenKey for PlainKey {
    fn seal(&self, _nonce: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        let mut tag = [0; TAG_BYTES];
        digest(data, &mut tag);
        data.extend_from_slice(&tag);
        Ok(())
    }
    fn open<'a>(&self, _nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let end = data.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        let (text, tag) = data.split_at(end);
        let mut expected = [0; TAG_BYTES];
        digest(text, &mut expected);
        if expected == tag { Ok(text) } else { Err(CryptoError) }
    }
}
