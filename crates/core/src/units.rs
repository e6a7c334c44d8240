//! Time, rate and size as integers, so that a seed gives the same bytes on every machine.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Sub};

/// Picoseconds per second.
pub const PS_PER_S: u64 = 1_000_000_000_000;

/// An instant: picoseconds since the start of the run (range 213 days).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Time(pub u64);

/// A duration in picoseconds.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Deserialize, Serialize)]
#[serde(transparent)]
pub struct Span(pub u64);

impl Time {
    pub const ZERO: Time = Time(0);
    /// Later than every instant: the due time of an element without a timer.
    pub const NEVER: Time = Time(u64::MAX);

    /// Seconds since the start, for reports and for equations in real numbers.
    pub fn as_secs(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    /// Time since `earlier`; zero if `earlier` is in the future.
    #[inline]
    pub fn since(self, earlier: Time) -> Span {
        Span(self.0.saturating_sub(earlier.0))
    }
}

impl Span {
    pub const ZERO: Span = Span(0);
    pub const MAX: Span = Span(u64::MAX);

    pub const fn from_ps(ps: u64) -> Span {
        Span(ps)
    }
    pub const fn from_ns(ns: u64) -> Span {
        Span(ns * 1_000)
    }
    pub const fn from_us(us: u64) -> Span {
        Span(us * 1_000_000)
    }
    pub const fn from_ms(ms: u64) -> Span {
        Span(ms * 1_000_000_000)
    }
    pub const fn from_secs(s: u64) -> Span {
        Span(s * PS_PER_S)
    }

    /// The nearest duration to `s` seconds, halves upward. Negative values and NaN become zero,
    /// values out of range `MAX`.
    pub fn from_secs_f64(s: f64) -> Span {
        // `as` truncates, saturates, and maps NaN to 0, and the truncated fraction is exact.
        // Cheaper than rounding a double; used for each paced segment.
        let ps = s * PS_PER_S as f64;
        let floor = ps as u64;
        Span(floor.saturating_add(u64::from(ps - floor as f64 >= 0.5)))
    }

    pub fn as_secs(self) -> f64 {
        self.0 as f64 / PS_PER_S as f64
    }

    pub fn as_millis(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The smallest multiple of `tick` not below this duration. A zero `tick` changes nothing.
    #[inline]
    pub fn round_up_to(self, tick: Span) -> Span {
        if tick.0 == 0 {
            return self;
        }
        Span(self.0.div_ceil(tick.0).saturating_mul(tick.0))
    }

    #[inline]
    pub fn saturating_mul(self, n: u64) -> Span {
        Span(self.0.saturating_mul(n))
    }
}

impl Add<Span> for Time {
    type Output = Time;
    /// Saturates at `NEVER`: a timer beyond the range never expires.
    #[inline]
    fn add(self, rhs: Span) -> Time {
        Time(self.0.saturating_add(rhs.0))
    }
}

impl AddAssign<Span> for Time {
    fn add_assign(&mut self, rhs: Span) {
        *self = *self + rhs;
    }
}

impl Sub<Time> for Time {
    type Output = Span;
    #[inline]
    fn sub(self, rhs: Time) -> Span {
        self.since(rhs)
    }
}

impl Add for Span {
    type Output = Span;
    #[inline]
    fn add(self, rhs: Span) -> Span {
        Span(self.0.saturating_add(rhs.0))
    }
}

impl Sub for Span {
    type Output = Span;
    #[inline]
    fn sub(self, rhs: Span) -> Span {
        Span(self.0.saturating_sub(rhs.0))
    }
}

impl fmt::Debug for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Time::NEVER { write!(f, "never") } else { write!(f, "{:.9}s", self.as_secs()) }
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.6}ms", self.as_millis())
    }
}

/// A bit rate in bits per second, never zero.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Rate {
    bps: u64,
    /// Picoseconds per byte if that is a whole number, else 0: avoids the division for most links.
    ps_per_byte: u64,
}

impl Rate {
    /// Picoseconds per second times bits per byte.
    const PS_BITS: u64 = 8 * PS_PER_S;

    /// # Panics
    /// On zero: plans are validated before rates are made.
    pub const fn from_bps(bps: u64) -> Rate {
        assert!(bps > 0, "a rate is never zero");
        let divides = Self::PS_BITS.is_multiple_of(bps);
        Rate { bps, ps_per_byte: if divides { Self::PS_BITS / bps } else { 0 } }
    }

    pub fn bps(self) -> u64 {
        self.bps
    }

    /// Transmission time of `bytes`, to the nearest picosecond.
    #[inline]
    pub fn time_to_send(self, bytes: u32) -> Span {
        if self.ps_per_byte != 0 {
            return Span(u64::from(bytes) * self.ps_per_byte);
        }
        let bits = u64::from(bytes).checked_mul(Self::PS_BITS).and_then(|bits| bits.checked_add(self.bps / 2));
        if let Some(bits) = bits {
            return Span(bits / self.bps);
        }
        let ps = (u128::from(bytes) * u128::from(Self::PS_BITS) + u128::from(self.bps / 2)) / u128::from(self.bps);
        Span(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// Whole bytes transmitted in `span`.
    pub fn bytes_in(self, span: Span) -> u64 {
        if let Some(bytes) = span.0.checked_div(self.ps_per_byte) {
            return bytes;
        }
        (u128::from(span.0) * u128::from(self.bps) / u128::from(Self::PS_BITS)) as u64
    }
}

impl TryFrom<u64> for Rate {
    type Error = &'static str;

    fn try_from(bps: u64) -> Result<Rate, &'static str> {
        if bps > 0 { Ok(Rate::from_bps(bps)) } else { Err("the rate is 0 b/s") }
    }
}

impl From<Rate> for u64 {
    fn from(rate: Rate) -> u64 {
        rate.bps
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} b/s", self.bps)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_to_send_is_exact_to_half_a_picosecond() {
        assert_eq!(Rate::from_bps(10_000_000).time_to_send(1064), Span(851_200_000));
        assert_eq!(Rate::from_bps(28_800).time_to_send(1000).0, 277_777_777_778);
        assert_eq!(Rate::from_bps(9_600).time_to_send(6), Span::from_ms(5));
        for bps in [3, 7, 9_999_991, 123_456_789] {
            let exact = 1500.0 * 8e12 / bps as f64;
            let got = Rate::from_bps(bps).time_to_send(1500).0 as f64;
            assert!((got - exact).abs() <= 0.5 + exact * 1e-15, "{bps}: {got} {exact}");
        }
    }

    #[test]
    fn bytes_in_is_the_inverse_of_time_to_send() {
        for bps in [20_000_000, 9_600, 28_800, 123_456_789] {
            let rate = Rate::from_bps(bps);
            for span in [Span(0), Span::from_us(399), Span::from_ms(7), Span::from_secs(3600), Span(123_456_789_012_345)] {
                let exact = u128::from(span.0) * u128::from(bps) / u128::from(8 * PS_PER_S);
                assert_eq!(u128::from(rate.bytes_in(span)), exact, "{bps} {span:?}");
            }
        }
    }

    #[test]
    fn from_secs_f64_rounds_to_the_nearest_picosecond() {
        for ps in [0.0, 0.25, 0.5, 1.5, 2.49, 1e3 + 0.5, 851_200_000.75, 2.0_f64.powi(52) - 0.5, 1e16, 1.7e19] {
            let s = ps / PS_PER_S as f64;
            assert_eq!(Span::from_secs_f64(s).0, libm::round(s * PS_PER_S as f64) as u64, "{ps}");
        }
    }

    #[test]
    fn time_arithmetic_saturates_on_overflow() {
        assert_eq!(Time::NEVER + Span(1), Time::NEVER);
        assert_eq!(Span::from_secs_f64(-1.0), Span::ZERO);
        assert_eq!(Span::from_secs_f64(f64::NAN), Span::ZERO);
        assert_eq!(Span::from_secs_f64(f64::INFINITY), Span::MAX);
        assert_eq!(Span::from_secs_f64(1e30), Span::MAX);
        assert_eq!(Span::from_ms(3).round_up_to(Span::from_ms(2)), Span::from_ms(4));
    }
}
