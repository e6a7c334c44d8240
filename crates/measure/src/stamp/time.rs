//! Timestamps and error estimates (RFC 8762, section 4.2.1).

use crate::Nanos;

/// Seconds from 1900 to 1970.
const NTP_EPOCH: i64 = 2_208_988_800;
const NS: i128 = 1_000_000_000;

/// NTP timestamp (RFC 5905, section 6) of nanoseconds since 1970.
pub fn ntp(at: Nanos) -> u64 {
    let at = i128::from(at) + i128::from(NTP_EPOCH) * NS;
    let (seconds, rest) = (at.div_euclid(NS), at.rem_euclid(NS));
    (seconds as u64) << 32 | ((rest << 32) / NS) as u64
}

/// Nanoseconds of an NTP or PTP timestamp, in the era nearest to `near`. The Z bit of the error
/// estimate names the format.
pub fn time_of(timestamp: u64, ptp: bool, near: Nanos) -> Nanos {
    let (seconds, nanos) = (i128::from(timestamp >> 32), i128::from(timestamp as u32));
    let (rest, epoch) = if ptp { (nanos.min(NS - 1), 0) } else { ((nanos * NS + (1 << 31)) >> 32, i128::from(NTP_EPOCH)) };
    let at = (seconds - epoch) * NS + rest;
    let era = NS << 32;
    let eras = (i128::from(near) - at + era / 2).div_euclid(era);
    i64::try_from(at + eras * era).unwrap_or(near)
}

/// Error estimate (section 4.2.1): S, Z, scale and multiplier; the error is multiplier * 2^scale /
/// 2^32 s.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ErrorEstimate(pub u16);

impl ErrorEstimate {
    /// The minimum estimate that is not below this error, in NTP format.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_converts_back_within_a_nanosecond_when_the_era_changes_in_2036() {
        // 2036-02-07 06:28:16 UTC: the end of NTP's first era.
        for at in [0, 1_700_000_000_123_456_789, 2_085_978_495_999_999_999, 2_085_978_496_000_000_001, 4_000_000_000_500_000_000]
        {
            assert!((time_of(ntp(at), false, at + 1_000_000_000_000) - at).abs() <= 1, "{at}");
            let ptp = ((at / 1_000_000_000) as u64 & 0xffff_ffff) << 32 | (at % 1_000_000_000) as u64;
            assert_eq!(time_of(ptp, true, at - 1_000_000_000_000), at);
        }
        assert_eq!(ntp(0) >> 32, 2_208_988_800);
    }

    #[test]
    fn error_estimate_is_neither_below_the_error_nor_zero_when_encoded() {
        for error in [0, 1, 1_000, 250_000, 5_000_000, 16_000_000_000, i64::MAX] {
            let estimate = ErrorEstimate::of(true, error);
            assert!(
                estimate.error_ns() * 1.000_001 >= error.min(1 << 60) as f64 && estimate.0 & 0xff > 0,
                "{error}: {}",
                estimate.error_ns()
            );
            assert!(estimate.is_synchronised() && !estimate.is_ptp());
        }
    }
}
