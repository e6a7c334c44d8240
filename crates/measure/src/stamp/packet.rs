//! What is in a STAMP test packet (RFC 8762, sections 4.2 and 4.3).

use super::time::ErrorEstimate;
use crate::control::keys::same;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A test packet's length without (4.2.1, 4.3.1) and with (4.2.2, 4.3.2) authentication; the same both ways.
pub const OPEN_BYTES: usize = 44;
pub const AUTHENTIC_BYTES: usize = 112;
/// HMAC-SHA-256 truncated to 128 bits (section 4.4).
const HMAC_BYTES: usize = 16;
const COVERED: usize = AUTHENTIC_BYTES - HMAC_BYTES;

/// None: the unauthenticated mode.
pub type Key = Option<Vec<u8>>;

/// What a sender says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Probe {
    pub number: u32,
    pub stamp: u64,
    pub error: ErrorEstimate,
}

/// What a reflector says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reflection {
    pub number: u32,
    pub sent: u64,
    pub error: ErrorEstimate,
    pub received: u64,
    pub probe: Probe,
    pub ttl: u8,
}

/// Where the fields of either mode lie: a probe's error estimate, and a reflection's fields.
struct Places {
    bytes: usize,
    stamp: usize,
    received: usize,
    probe_number: usize,
    probe_stamp: usize,
    ttl: usize,
}

const OPEN: Places = Places { bytes: OPEN_BYTES, stamp: 4, received: 16, probe_number: 24, probe_stamp: 28, ttl: 40 };
const AUTHENTIC: Places = Places { bytes: AUTHENTIC_BYTES, stamp: 16, received: 32, probe_number: 48, probe_stamp: 64, ttl: 80 };

fn places(key: &Key) -> &'static Places {
    if key.is_some() { &AUTHENTIC } else { &OPEN }
}

fn digest(key: &[u8], packet: &[u8]) -> [u8; HMAC_BYTES] {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
    mac.update(&packet[..COVERED]);
    let whole = mac.finalize().into_bytes();
    std::array::from_fn(|i| whole[i])
}

fn seal(key: &Key, packet: &mut [u8]) {
    if let Some(key) = key {
        let digest = digest(key, packet);
        packet[COVERED..AUTHENTIC_BYTES].copy_from_slice(&digest);
    }
}

/// Long enough and, in the authenticated mode, authentic.
fn opened<'a>(key: &Key, packet: &'a [u8]) -> Option<&'a [u8]> {
    let packet = packet.get(..places(key).bytes)?;
    let authentic = key.as_ref().is_none_or(|key| same(&digest(key, packet), &packet[COVERED..]));
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

impl Probe {
    pub fn write(&self, key: &Key) -> Vec<u8> {
        let p = places(key);
        let mut out = vec![0; p.bytes];
        put(&mut out, 0, &self.number.to_be_bytes());
        put(&mut out, p.stamp, &self.stamp.to_be_bytes());
        put(&mut out, p.stamp + 8, &self.error.0.to_be_bytes());
        seal(key, &mut out);
        out
    }

    pub fn read(packet: &[u8], key: &Key) -> Option<Probe> {
        let (p, packet) = (places(key), opened(key, packet)?);
        Some(Probe { number: word(packet, 0), stamp: long(packet, p.stamp), error: estimate(packet, p.stamp + 8) })
    }
}

impl Reflection {
    pub fn write(&self, key: &Key) -> Vec<u8> {
        let p = places(key);
        let mut out = vec![0; p.bytes];
        put(&mut out, 0, &self.number.to_be_bytes());
        put(&mut out, p.stamp, &self.sent.to_be_bytes());
        put(&mut out, p.stamp + 8, &self.error.0.to_be_bytes());
        put(&mut out, p.received, &self.received.to_be_bytes());
        put(&mut out, p.probe_number, &self.probe.number.to_be_bytes());
        put(&mut out, p.probe_stamp, &self.probe.stamp.to_be_bytes());
        put(&mut out, p.probe_stamp + 8, &self.probe.error.0.to_be_bytes());
        out[p.ttl] = self.ttl;
        seal(key, &mut out);
        out
    }

    pub fn read(packet: &[u8], key: &Key) -> Option<Reflection> {
        let (p, packet) = (places(key), opened(key, packet)?);
        let (number, stamp) = (word(packet, p.probe_number), long(packet, p.probe_stamp));
        Some(Reflection {
            number: word(packet, 0),
            sent: long(packet, p.stamp),
            error: estimate(packet, p.stamp + 8),
            received: long(packet, p.received),
            probe: Probe { number, stamp, error: estimate(packet, p.probe_stamp + 8) },
            ttl: packet[p.ttl],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PROBE: Probe = Probe { number: 0x0102_0304, stamp: 0x1112_1314_1516_1718, error: ErrorEstimate(0x8001) };
    const REFLECTION: Reflection = Reflection {
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
    fn open_packets_are_laid_out_as_rfc_8762_draws_them() {
        let probe = ["01020304", "1112131415161718", "8001", &"00".repeat(30)].concat();
        assert_eq!(hex(&PROBE.write(&None)), probe);
        let fields = ["21222324", "3132333435363738", "0102", "0000", "4142434445464748"];
        let copies = ["01020304", "1112131415161718", "8001", "0000", "3d", "000000"];
        assert_eq!(hex(&REFLECTION.write(&None)), [fields.concat(), copies.concat()].concat());
    }

    #[test]
    fn authentic_packets_are_laid_out_as_rfc_8762_draws_them() {
        let key = Some(b"shared".to_vec());
        let zeros = |n: usize| "00".repeat(n);
        let probe = ["01020304", &zeros(12), "1112131415161718", "8001", &zeros(70)].concat();
        assert_eq!(hex(&PROBE.write(&key)[..96]), probe);
        let fields = ["21222324", &zeros(12), "3132333435363738", "0102", &zeros(6), "4142434445464748", &zeros(8)];
        let copies = ["01020304", &zeros(12), "1112131415161718", "8001", &zeros(6), "3d", &zeros(15)];
        assert_eq!(hex(&REFLECTION.write(&key)[..96]), [fields.concat(), copies.concat()].concat());
        assert_eq!(REFLECTION.write(&key).len(), 112);
        for key in [None, key] {
            assert_eq!(Probe::read(&PROBE.write(&key), &key), Some(PROBE));
            assert_eq!(Reflection::read(&REFLECTION.write(&key), &key), Some(REFLECTION));
        }
    }

    proptest! {
        #[test]
        fn forged_and_short_packets_are_nothing(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..112) {
            let key = Some(b"shared".to_vec());
            prop_assert_eq!(Probe::read(&bytes, &key), None);
            let mut changed = PROBE.write(&key);
            changed[at] ^= 0x10;
            prop_assert_eq!(Probe::read(&changed, &key), None);
            prop_assert_eq!(Probe::read(&bytes, &None).is_some(), bytes.len() >= OPEN_BYTES);
        }
    }
}
