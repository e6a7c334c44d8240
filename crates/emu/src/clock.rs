//! The emulation's clock: CLOCK_MONOTONIC since the start, and the offset of the kernel's packet
//! timestamps.

use ackclock_core::Time;

/// Nanoseconds of a kernel clock.
fn nanoseconds(clock: libc::clockid_t) -> i128 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux; `now` outlives the call, which only writes it.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// CLOCK_MONOTONIC since the start of the emulation.
#[derive(Debug, Clone, Copy)]
pub struct MonotonicClock {
    start_ns: i128,
}

impl MonotonicClock {
    pub fn start() -> MonotonicClock {
        MonotonicClock { start_ns: nanoseconds(libc::CLOCK_MONOTONIC) }
    }

    #[inline]
    pub fn now(&self) -> Time {
        Self::time(nanoseconds(libc::CLOCK_MONOTONIC) - self.start_ns)
    }

    /// Unix time of the start in nanoseconds, by the present CLOCK_REALTIME.
    pub fn epoch_ns(&self) -> u64 {
        u64::try_from(self.offset().realtime_ns).unwrap_or(0)
    }

    /// The present offset of CLOCK_REALTIME, the clock of the kernel's packet timestamps. NTP slews
    /// and steps that clock, so the offset is read again for every batch.
    pub fn offset(&self) -> ClockOffset {
        let realtime = nanoseconds(libc::CLOCK_REALTIME);
        ClockOffset { realtime_ns: realtime - (nanoseconds(libc::CLOCK_MONOTONIC) - self.start_ns) }
    }

    fn time(ns: i128) -> Time {
        Time(u64::try_from(ns.max(0)).unwrap_or(u64::MAX).saturating_mul(1000))
    }
}

/// The offset between CLOCK_REALTIME and the emulation's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct ClockOffset {
    /// CLOCK_REALTIME at the start of the emulation.
    realtime_ns: i128,
}

impl ClockOffset {
    /// The emulation's time of a CLOCK_REALTIME timestamp.
    pub fn network_time(self, seconds: u32, nanoseconds: u32) -> Time {
        MonotonicClock::time(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds) - self.realtime_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ackclock_core::Span;

    #[test]
    fn realtime_timestamp_of_now_maps_to_the_monotonic_now() {
        let clock = MonotonicClock::start();
        let before = clock.now();
        let realtime = nanoseconds(libc::CLOCK_REALTIME);
        let mapped = clock.offset().network_time((realtime / 1_000_000_000) as u32, (realtime % 1_000_000_000) as u32);
        let after = clock.now();
        assert!(before <= after);
        assert!((mapped - before) < Span::from_ms(50) && (before - mapped) < Span::from_ms(50));
    }
}
