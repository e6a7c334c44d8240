//! What stands in the place of a UDP payload in captures that do not keep it: the bits of QUIC that are for
//! the network, and a keyed hash, by which the same datagram is found in another capture.

use crate::siphash::SipKey;

/// First bytes of a payload that its hash covers, beside its length: all of it would take microseconds of
/// each packet's time. In QUIC 32 bytes are distinct.
const COVERED: usize = 64;
/// Bits of a QUIC packet's first byte: a long header, with the fixed bit (RFC 9000, section 17.2).
const QUIC_LONG: u8 = 0xc0;
const QUIC_V1: u32 = 1;
const QUIC_V2: u32 = 0x6b33_43cf;
const QUIC_DRAFTS: u32 = 0x00ff_0000;

/// Appends what stands for a payload, of which `payload` was captured and `len` bytes were sent: its first
/// byte (QUIC's form and spin bit), in a long header of QUIC also the version, then the hash. Never more bytes
/// than the payload had; none if none was captured.
pub fn append(captured: &mut Vec<u8>, key: &SipKey, payload: &[u8], len: usize) {
    if payload.is_empty() {
        return;
    }
    let kept = match *payload {
        [first, a, b, c, d, ..] if first & QUIC_LONG == QUIC_LONG => {
            let version = u32::from_be_bytes([a, b, c, d]);
            if version == QUIC_V1 || version == QUIC_V2 || version >> 8 == QUIC_DRAFTS { 5 } else { 1 }
        }
        _ => 1,
    };
    let end = captured.len() + payload.len();
    captured.extend(&payload[..kept]);
    let mut covered = [0; COVERED + 8];
    let head = payload.len().min(COVERED);
    covered[..head].copy_from_slice(&payload[..head]);
    covered[COVERED..].copy_from_slice(&(len as u64).to_le_bytes());
    captured.extend(key.hash(&covered));
    captured.truncate(end);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(key: &SipKey, payload: &[u8]) -> Vec<u8> {
        let mut captured = vec![9];
        append(&mut captured, key, payload, payload.len());
        captured
    }

    #[test]
    fn payloads_are_replaced_by_hashes_of_one_key() {
        let (key, other) = (SipKey::from_bytes([1; 16]), SipKey::from_bytes([2; 16]));
        let secret = [&[0x43][..], &b"password".repeat(20)].concat();
        let captured = of(&key, &secret);
        assert_eq!((captured.len(), captured[1]), (1 + 1 + 16, 0x43));
        assert!(!captured.windows(3).any(|bytes| secret.windows(3).any(|part| part == bytes)));
        assert_eq!(captured, of(&key, &secret));
        assert_ne!(captured, of(&other, &secret));
        assert_ne!(captured, of(&key, &[&secret[..], b"x"].concat()), "another length");
    }

    #[test]
    fn of_long_headers_the_version_is_kept_when_it_is_quics() {
        let key = SipKey::from_bytes([1; 16]);
        let initial = [&[0xc0, 0, 0, 0, 1][..], &[7; 1195]].concat();
        assert_eq!((of(&key, &initial)[1..6].to_vec(), of(&key, &initial).len()), (vec![0xc0, 0, 0, 0, 1], 1 + 5 + 16));
        assert_eq!(of(&key, &[&[0xc0, 1, 2, 3, 4][..], &[7; 40]].concat()).len(), 1 + 1 + 16);
    }

    #[test]
    fn what_stands_for_a_payload_is_never_longer_than_it() {
        let key = SipKey::from_bytes([1; 16]);
        assert_eq!(of(&key, &[5, 6, 7]).len(), 4);
        assert_eq!(of(&key, &[]), [9]);
    }
}
