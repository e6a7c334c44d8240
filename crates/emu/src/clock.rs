//! Real time as the network counts it, and waiting for an instant of it as exactly as the machine allows.

use ackclock_core::{Span, Time};
use std::time::Duration;

/// Nanoseconds of a kernel clock.
fn nanoseconds(clock: libc::clockid_t) -> i128 {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock exists on every Linux and `now` outlives the call, which only fills it in.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    i128::from(now.tv_sec) * 1_000_000_000 + i128::from(now.tv_nsec)
}

/// The monotonic clock since the start of the emulation.
#[derive(Debug, Clone, Copy)]
pub struct RealTime {
    start_ns: i128,
}

impl RealTime {
    pub fn start() -> RealTime {
        RealTime { start_ns: nanoseconds(libc::CLOCK_MONOTONIC) }
    }

    #[inline]
    pub fn now(&self) -> Time {
        Self::time(nanoseconds(libc::CLOCK_MONOTONIC) - self.start_ns)
    }

    /// When it started in Unix time, in nanoseconds, by what the wall clock says now.
    pub fn epoch_ns(&self) -> u64 {
        u64::try_from(self.stamps().ahead_ns).unwrap_or(0)
    }

    /// How the kernel's packet stamps, which are wall-clock time, translate now. Renewed for every batch, as the wall clock is steered.
    pub fn stamps(&self) -> Stamps {
        let wall = nanoseconds(libc::CLOCK_REALTIME);
        Stamps { ahead_ns: wall - (nanoseconds(libc::CLOCK_MONOTONIC) - self.start_ns) }
    }

    fn time(ns: i128) -> Time {
        Time(u64::try_from(ns.max(0)).unwrap_or(u64::MAX).saturating_mul(1000))
    }
}

/// From wall-clock time to the emulation's.
#[derive(Debug, Clone, Copy, Default)]
pub struct Stamps {
    ahead_ns: i128,
}

impl Stamps {
    pub fn time(self, seconds: u32, nanoseconds: u32) -> Time {
        RealTime::time(i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds) - self.ahead_ns)
    }
}

/// How long before a due time to wake up: sleeping ends late by what the machine is late by, so the last stretch is watched instead.
#[derive(Debug, Clone, Copy)]
pub struct Lead {
    late: Span,
}

/// Never watch longer than this: on a machine that is later, watching would only take what others need.
const LONGEST_WATCH: Span = Span::from_us(120);
/// Weight of a new lateness when it is larger, and when it is smaller: quick to learn, slow to forget.
const LEARN: u64 = 2;
const FORGET: u64 = 64;

impl Lead {
    pub fn new() -> Lead {
        Lead { late: Span::from_us(60) }
    }

    /// How long to sleep for something due at `due`; none to watch for it instead.
    pub fn sleep(&self, now: Time, due: Time) -> Option<Duration> {
        let left = due - now;
        let lead = self.late.0.min(LONGEST_WATCH.0);
        (left.0 > lead).then(|| Duration::from_nanos((left.0 - lead) / 1000))
    }

    /// A sleep that should have ended at `planned` ended at `now`.
    pub fn learn(&mut self, planned: Time, now: Time) {
        let late = (now - planned).0;
        let weight = if late > self.late.0 { LEARN } else { FORGET };
        self.late = Span(self.late.0 + late / weight - self.late.0 / weight);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_goes_on_and_a_wall_clock_stamp_of_now_is_now() {
        let real = RealTime::start();
        let before = real.now();
        let wall = nanoseconds(libc::CLOCK_REALTIME);
        let stamped = real.stamps().time((wall / 1_000_000_000) as u32, (wall % 1_000_000_000) as u32);
        let after = real.now();
        assert!(before <= after);
        assert!((stamped - before) < Span::from_ms(50) && (before - stamped) < Span::from_ms(50));
    }

    #[test]
    fn a_machine_that_wakes_late_is_woken_earlier_but_never_watched_for_long() {
        let mut lead = Lead::new();
        for _ in 0..100 {
            lead.learn(Time::ZERO, Time::ZERO + Span::from_ms(5));
        }
        let due = Time::ZERO + Span::from_ms(10);
        assert_eq!(lead.sleep(Time::ZERO, due), Some(Duration::from_micros(10_000 - 120)));
        assert_eq!(lead.sleep(Time::ZERO, Time::ZERO + Span::from_us(100)), None);
        for _ in 0..2000 {
            lead.learn(Time::ZERO, Time::ZERO);
        }
        assert!(lead.sleep(Time::ZERO, Time::ZERO + Span::from_us(2)).is_some());
    }
}
