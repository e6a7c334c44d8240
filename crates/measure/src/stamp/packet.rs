//! What is in a STAMP test packet (RFC 8762, sections 4.2 and 4.3).

use crate::Nanos;
use crate::control::keys::same;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// A test packet's length without (4.2.1, 4.3.1) and with (4.2.2, 4.3.2) authentication; the same both ways.
pub const OPEN_BYTES: usize = 44;
pub const AUTHENTIC_BYTES: usize = 112;
/// HMAC-SHA-256 truncated to 128 bits (section 4.4).
const HMAC_BYTES: usize = 16;
const COVERED: usize = AUTHENTIC_BYTES - HMAC_BYTES;
/// Seconds from 1900 to 1970.
const NTP_EPOCH: i64 = 2_208_988_800;
const NS: i128 = 1_000_000_000;

/// None: the unauthenticated mode.
pub type Key = Option<Vec<u8>>;

/// An NTP timestamp (RFC 5905, section 6) of nanoseconds since 1970.
pub fn ntp(at: Nanos) -> u64 {
    let at = i128::from(at) + i128::from(NTP_EPOCH) * NS;
    let (seconds, rest) = (at.div_euclid(NS), at.rem_euclid(NS));
    (seconds as u64) << 32 | ((rest << 32) / NS) as u64
}

/// A timestamp in the format that an error estimate's Z bit names, in the era nearest to `near`.
pub fn time_of(stamp: u64, ptp: bool, near: Nanos) -> Nanos {
    let (seconds, part) = (i128::from(stamp >> 32), i128::from(stamp as u32));
    let (rest, epoch) = if ptp { (part.min(NS - 1), 0) } else { ((part * NS + (1 << 31)) >> 32, i128::from(NTP_EPOCH)) };
    let at = (seconds - epoch) * NS + rest;
    let era = NS << 32;
    let eras = (i128::from(near) - at + era / 2).div_euclid(era);
    i64::try_from(at + eras * era).unwrap_or(near)
}

/// Error estimate (section 4.2.1): S, Z, scale and multiplier; the error is multiplier * 2^scale / 2^32 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorEstimate(pub u16);

impl ErrorEstimate {
    /// The least that is at least this error; NTP format.
    pub fn of(synchronised: bool, error_ns: i64) -> ErrorEstimate {
        let units = (i128::from(error_ns.max(1)) as u128).saturating_mul(1 << 32).div_ceil(NS as u128);
        let scale = (u128::BITS - units.leading_zeros()).saturating_sub(8).min(63);
        let multiplier = units.div_ceil(1 << scale).clamp(1, 255);
        ErrorEstimate(u16::from(synchronised) << 15 | (scale as u16) << 8 | multiplier as u16)
    }

    pub fn is_ptp(self) -> bool {
        self.0 & 0x4000 != 0
    }

    pub fn is_synchronised(self) -> bool {
        self.0 & 0x8000 != 0
    }

    pub fn error_ns(self) -> f64 {
        f64::from(self.0 & 0xff) * 2f64.powi(i32::from(self.0 >> 8 & 0x3f)) / 2f64.powi(32) * 1e9
    }
}

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

    #[test]
    fn timestamps_are_right_to_a_nanosecond_and_across_the_era_of_2036() {
        // 2036-02-07 06:28:16 UTC: the seconds of NTP's first era end.
        for at in [0, 1_700_000_000_123_456_789, 2_085_978_495_999_999_999, 2_085_978_496_000_000_001, 4_000_000_000_500_000_000]
        {
            assert!((time_of(ntp(at), false, at + 1_000_000_000_000) - at).abs() <= 1, "{at}");
            let ptp = ((at / 1_000_000_000) as u64 & 0xffff_ffff) << 32 | (at % 1_000_000_000) as u64;
            assert_eq!(time_of(ptp, true, at - 1_000_000_000_000), at);
        }
        assert_eq!(ntp(0) >> 32, 2_208_988_800);
    }

    #[test]
    fn an_error_estimate_is_never_below_the_error_and_never_zero() {
        for error in [0, 1, 1_000, 250_000, 5_000_000, 16_000_000_000, i64::MAX] {
            let said = ErrorEstimate::of(true, error);
            assert!(
                said.error_ns() * 1.000_001 >= error.min(1 << 60) as f64 && said.0 & 0xff > 0,
                "{error}: {}",
                said.error_ns()
            );
            assert!(said.is_synchronised() && !said.is_ptp());
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
