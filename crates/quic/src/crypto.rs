//! Packet protection with AES-GCM's sizes and without its cost: the payload stays readable, and a tag of 16 bytes has
//! what a real one depends on: the packet number, the keys, and the length.

use noq_proto::PathId;
use noq_proto::crypto::{CryptoError, HeaderKey, KeyPair, Keys, PacketKey};

/// RFC 9001, section 5.3: of every AEAD that QUIC has.
pub const TAG_BYTES: usize = 16;
/// RFC 9001, section 5.4.2.
const SAMPLE_BYTES: usize = 16;
/// RFC 9000, sections 17.2 and 17.3.1: bits of a header's first byte.
const LONG_HEADER: u8 = 0x80;
const LONG_RESERVED: u8 = 0x0c;
const SHORT_RESERVED: u8 = 0x18;
/// RFC 9001, section 6.6, of AES-GCM.
const CONFIDENTIALITY_LIMIT: u64 = 1 << 23;
const INTEGRITY_LIMIT: u64 = 1 << 52;

/// The keys of one encryption level, or of one phase of 1-RTT keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PlainPacketKey {
    pub level: u32,
}

impl PlainPacketKey {
    fn tag(self, packet: u64, len: usize) -> [u8; TAG_BYTES] {
        let mut tag = [0; TAG_BYTES];
        tag[..8].copy_from_slice(&packet.to_le_bytes());
        tag[8..12].copy_from_slice(&self.level.to_le_bytes());
        tag[12..].copy_from_slice(&(len as u32).to_le_bytes());
        tag
    }
}

impl PacketKey for PlainPacketKey {
    fn encrypt(&self, _path: PathId, packet: u64, buf: &mut [u8], _header_len: usize) {
        let end = buf.len() - TAG_BYTES;
        let tag = self.tag(packet, end);
        buf[end..].copy_from_slice(&tag);
    }

    fn decrypt(&self, _path: PathId, packet: u64, header: &[u8], payload: &mut bytes::BytesMut) -> Result<(), CryptoError> {
        let end = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        if has_reserved_bits(header) || payload[end..] != self.tag(packet, header.len() + end) {
            return Err(CryptoError);
        }
        payload.truncate(end);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        CONFIDENTIALITY_LIMIT
    }

    fn integrity_limit(&self) -> u64 {
        INTEGRITY_LIMIT
    }
}

/// The header was damaged: no sender sets these bits, and a real tag authenticates them (RFC 9001, section 5.3). noq 1.4
/// closes the connection over them after the tag, and panics where an earlier packet of the datagram has closed it.
fn has_reserved_bits(header: &[u8]) -> bool {
    let bits = if header[0] & LONG_HEADER != 0 { LONG_RESERVED } else { SHORT_RESERVED };
    header[0] & bits != 0
}

/// Headers stay as they are.
#[derive(Debug, Clone, Copy)]
pub struct PlainHeaderKey;

impl HeaderKey for PlainHeaderKey {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        SAMPLE_BYTES
    }
}

/// Both directions' keys of a level.
pub fn keys(level: u32) -> Keys {
    Keys { header: KeyPair { local: Box::new(PlainHeaderKey), remote: Box::new(PlainHeaderKey) }, packet: packet_keys(level) }
}

pub fn packet_keys(level: u32) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(PlainPacketKey { level }), remote: Box::new(PlainPacketKey { level }) }
}
