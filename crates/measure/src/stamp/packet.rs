//! STAMP test packets (RFC 8762, sections 4.2 and 4.3).

use super::time::ErrorEstimate;
use crate::control::keys::constant_time_eq;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Length of a test packet without (4.2.1, 4.3.1) and with (4.2.2, 4.3.2) authentication, in both
/// directions.
pub const UNAUTHENTICATED_BYTES: usize = 44;
pub const AUTHENTICATED_BYTES: usize = 112;
/// HMAC-SHA-256 truncated to 128 bits (section 4.4).
const HMAC_BYTES: usize = 16;
const COVERED: usize = AUTHENTICATED_BYTES - HMAC_BYTES;

/// None: the unauthenticated mode.
pub type StampKey = Option<Vec<u8>>;

/// Test packet of a sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampProbe {
    pub number: u32,
    pub timestamp: u64,
    pub error: ErrorEstimate,
}

/// Test packet of a reflector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StampReply {
    pub number: u32,
    pub sent: u64,
    pub error: ErrorEstimate,
    pub received: u64,
    pub probe: StampProbe,
    pub ttl: u8,
}

/// Offsets of the fields in one mode.
struct FieldOffsets {
    bytes: usize,
    timestamp: usize,
    received: usize,
    probe_number: usize,
    probe_timestamp: usize,
    ttl: usize,
}

const UNAUTHENTICATED: FieldOffsets =
    FieldOffsets { bytes: UNAUTHENTICATED_BYTES, timestamp: 4, received: 16, probe_number: 24, probe_timestamp: 28, ttl: 40 };
const AUTHENTICATED: FieldOffsets =
    FieldOffsets { bytes: AUTHENTICATED_BYTES, timestamp: 16, received: 32, probe_number: 48, probe_timestamp: 64, ttl: 80 };

fn field_offsets(key: &StampKey) -> &'static FieldOffsets {
    if key.is_some() { &AUTHENTICATED } else { &UNAUTHENTICATED }
}

fn digest(key: &[u8], packet: &[u8]) -> [u8; HMAC_BYTES] {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.update(&packet[..COVERED]);
    let digest = mac.finalize().into_bytes();
    std::array::from_fn(|i| digest[i])
}

fn seal(key: &StampKey, packet: &mut [u8]) {
    if let Some(key) = key {
        let digest = digest(key, packet);
        packet[COVERED..AUTHENTICATED_BYTES].copy_from_slice(&digest);
    }
}

/// The packet if it is long enough and, in the authenticated mode, has a valid HMAC.
fn verified<'a>(key: &StampKey, packet: &'a [u8]) -> Option<&'a [u8]> {
    let packet = packet.get(..field_offsets(key).bytes)?;
    let authentic = key.as_ref().is_none_or(|key| constant_time_eq(&digest(key, packet), &packet[COVERED..]));
    authentic.then_some(packet)
}

fn put(packet: &mut [u8], at: usize, bytes: &[u8]) {
    packet[at..at + bytes.len()].copy_from_slice(bytes);
}

fn word(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(std::array::from_fn(|i| packet[at + i]))
}

fn long(packet: &[u8], at: usize) -> u64 {
    u64::from(word(packet, at)) << 32 | u64::from(word(packet, at + 4))
}

fn estimate(packet: &[u8], at: usize) -> ErrorEstimate {
    ErrorEstimate(u16::from_be_bytes([packet[at], packet[at + 1]]))
}

impl StampProbe {
    pub fn write(&self, key: &StampKey) -> Vec<u8> {
        let p = field_offsets(key);
        let mut out = vec![0; p.bytes];
        put(&mut out, 0, &self.number.to_be_bytes());
        put(&mut out, p.timestamp, &self.timestamp.to_be_bytes());
        put(&mut out, p.timestamp + 8, &self.error.0.to_be_bytes());
        seal(key, &mut out);
        out
    }

    pub fn read(packet: &[u8], key: &StampKey) -> Option<StampProbe> {
        let (p, packet) = (field_offsets(key), verified(key, packet)?);
        Some(StampProbe {
            number: word(packet, 0),
            timestamp: long(packet, p.timestamp),
            error: estimate(packet, p.timestamp + 8),
        })
    }
}

impl StampReply {
    pub fn write(&self, key: &StampKey) -> Vec<u8> {
        let p = field_offsets(key);
        let mut out = vec![0; p.bytes];
        put(&mut out, 0, &self.number.to_be_bytes());
        put(&mut out, p.timestamp, &self.sent.to_be_bytes());
        put(&mut out, p.timestamp + 8, &self.error.0.to_be_bytes());
        put(&mut out, p.received, &self.received.to_be_bytes());
        put(&mut out, p.probe_number, &self.probe.number.to_be_bytes());
        put(&mut out, p.probe_timestamp, &self.probe.timestamp.to_be_bytes());
        put(&mut out, p.probe_timestamp + 8, &self.probe.error.0.to_be_bytes());
        out[p.ttl] = self.ttl;
        seal(key, &mut out);
        out
    }

    pub fn read(packet: &[u8], key: &StampKey) -> Option<StampReply> {
        let (p, packet) = (field_offsets(key), verified(key, packet)?);
        let (number, timestamp) = (word(packet, p.probe_number), long(packet, p.probe_timestamp));
        Some(StampReply {
            number: word(packet, 0),
            sent: long(packet, p.timestamp),
            error: estimate(packet, p.timestamp + 8),
            received: long(packet, p.received),
            probe: StampProbe { number, timestamp, error: estimate(packet, p.probe_timestamp + 8) },
            ttl: packet[p.ttl],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROBE: StampProbe = StampProbe { number: 0x0102_0304, timestamp: 0x1112_1314_1516_1718, error: ErrorEstimate(0x8001) };
    const REFLECTION: StampReply = StampReply {
        number: 0x2122_2324,
        sent: 0x3132_3334_3536_3738,
        error: ErrorEstimate(0x0102),
        received: 0x4142_4344_4546_4748,
        probe: PROBE,
        ttl: 61,
    };

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().map(|b| format!("{b:02x}")).collect()
    }

    #[test]
    fn unauthenticated_packets_have_the_layout_of_rfc_8762() {
        let probe = ["01020304", "1112131415161718", "8001", &"00".repeat(30)].concat();
        assert_eq!(hex(&PROBE.write(&None)), probe);
        let fields = ["21222324", "3132333435363738", "0102", "0000", "4142434445464748"];
        let copies = ["01020304", "1112131415161718", "8001", "0000", "3d", "000000"];
        assert_eq!(hex(&REFLECTION.write(&None)), [fields.concat(), copies.concat()].concat());
    }

    #[test]
    fn authenticated_packets_have_the_layout_of_rfc_8762() {
        let key = Some(b"shared".to_vec());
        let zeros = |n: usize| "00".repeat(n);
        let probe = ["01020304", &zeros(12), "1112131415161718", "8001", &zeros(70)].concat();
        assert_eq!(hex(&PROBE.write(&key)[..96]), probe);
        let fields = ["21222324", &zeros(12), "3132333435363738", "0102", &zeros(6), "4142434445464748", &zeros(8)];
        let copies = ["01020304", &zeros(12), "1112131415161718", "8001", &zeros(6), "3d", &zeros(15)];
        assert_eq!(hex(&REFLECTION.write(&key)[..96]), [fields.concat(), copies.concat()].concat());
        assert_eq!(REFLECTION.write(&key).len(), 112);
        for key in [None, key] {
            assert_eq!(StampProbe::read(&PROBE.write(&key), &key), Some(PROBE));
            assert_eq!(StampReply::read(&REFLECTION.write(&key), &key), Some(REFLECTION));
        }
    }

    proptest! {
        #[test]
        fn packet_is_rejected_when_forged_or_short(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..112) {
            let key = Some(b"shared".to_vec());
            prop_assert_eq!(StampProbe::read(&bytes, &key), None);
            let mut changed = PROBE.write(&key);
            changed[at] ^= 0x10;
            prop_assert_eq!(StampProbe::read(&changed, &key), None);
            prop_assert_eq!(StampProbe::read(&bytes, &None).is_some(), bytes.len() >= UNAUTHENTICATED_BYTES);
        }
    }
}
