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

/// How to wait for a due time: sleeping ends late by what the machine is late by, so the last stretch is watched instead.
///
/// Whoever runs before all others and never sleeps starves them, until the kernel steps in and stops him for 50 ms (fair server; before
/// Linux 6.12 the throttling of real-time tasks). So watching is paid for with sleep.
#[derive(Debug, Clone, Copy)]
pub struct Lead {
    late: Span,
    /// Time that may still be spent awake.
    credit: Span,
    seen: Time,
    /// When there was something to do last.
    worked: Time,
    /// When the way out was warmed last.
    warmed: Time,
}

/// Never watch longer than this: on a machine that is later, watching would only take what others need.
const LONGEST_WATCH: Span = Span::from_us(120);
/// A machine that had nothing to do for long wakes later than it does between two packets, and so much of that while is worth watching.
const WATCHED_OF_IDLE: u64 = 32;
pub const LONGEST_WATCH_IDLE: Span = Span::from_us(400);
/// Weight of a new lateness when it is larger, and when it is smaller: quick to learn, slow to forget.
const LEARN: u64 = 2;
const FORGET: u64 = 64;
/// Time awake that a time asleep pays for: others get a tenth, twice what the kernel would see to.
const PAYS: u64 = 9;
const MOST_CREDIT: Span = Span::from_ms(20);
/// After so long without work the kernel's way of sending has gone from the caches.
const COLD: Span = Span::from_ms(2);
/// How long before a due time a cold machine is woken, and how much of that must be left for going the way once: it takes 20 to 70 us.
const WARMING: Span = Span::from_us(200);
const WARMED_BEFORE: Span = Span::from_us(100);
/// The shortest sleep that is worth its wake-up; also what pays for time awake when there is always something to do.
const SHORTEST_SLEEP: Span = Span::from_us(20);

impl Lead {
    pub fn new() -> Lead {
        Lead { late: Span::from_us(60), credit: MOST_CREDIT, seen: Time::ZERO, worked: Time::ZERO, warmed: Time::ZERO }
    }

    /// How long to sleep at once, whatever is to be done, as too much time was spent awake until `now`; none while it has been paid for.
    pub fn rest(&mut self, now: Time) -> Option<Duration> {
        self.credit = Span(self.credit.0.saturating_sub((now - self.seen).0));
        self.seen = now;
        (self.credit == Span::ZERO).then(|| Duration::from_nanos(SHORTEST_SLEEP.0 / 1000))
    }

    /// There was something to do at `now`.
    pub fn worked(&mut self, now: Time) {
        self.worked = now;
    }

    /// How long to sleep for something due at `due`; none to watch for it instead.
    pub fn sleep(&self, now: Time, due: Time) -> Option<Duration> {
        let longest = ((now - self.worked).0 / WATCHED_OF_IDLE).clamp(LONGEST_WATCH.0, LONGEST_WATCH_IDLE.0);
        let lead = self.late.0.max(longest - LONGEST_WATCH.0).min(longest);
        let lead = if self.is_cold(now) { lead.max(WARMING.0) } else { lead };
        let left = (due - now).0;
        (left > lead).then(|| Duration::from_nanos((left - lead) / 1000))
    }

    fn is_cold(&self, now: Time) -> bool {
        now - self.worked >= COLD
    }

    /// Whether to warm the way out while watching for something due at `due`: once, after a pause, and not when that would make it late.
    pub fn warms(&mut self, now: Time, due: Time) -> bool {
        let warms = self.is_cold(now) && now - self.warmed >= COLD && due - now >= WARMED_BEFORE;
        if warms {
            self.warmed = now;
        }
        warms
    }

    /// How long to sleep until something that may be late.
    pub fn doze(&self, now: Time, until: Time) -> Option<Duration> {
        Some(Duration::from_nanos((until - now).0.max(SHORTEST_SLEEP.0) / 1000))
    }

    /// A sleep that began at `began` is over at `now`; if nothing cut it short, it should have ended at `planned`.
    pub fn slept(&mut self, began: Time, planned: Option<Time>, now: Time) {
        self.credit = Span((self.credit.0 + (now - began).0 * PAYS).min(MOST_CREDIT.0));
        self.seen = now;
        if let Some(planned) = planned {
            let late = (now - planned).0;
            let weight = if late > self.late.0 { LEARN } else { FORGET };
            self.late = Span(self.late.0 + late / weight - self.late.0 / weight);
        }
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

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn a_machine_that_wakes_late_is_woken_earlier_but_never_watched_for_long() {
        let mut lead = Lead::new();
        for _ in 0..100 {
            lead.slept(Time::ZERO, Some(Time::ZERO), at(5000));
        }
        lead.worked(at(5000));
        assert_eq!(lead.sleep(at(5000), at(15_000)), Some(Duration::from_micros(10_000 - 120)));
        assert_eq!(lead.sleep(at(5000), at(5100)), None);
        for _ in 0..2000 {
            lead.slept(at(5000), Some(at(5000)), at(5000));
        }
        assert!(lead.sleep(at(5000), at(5002)).is_some());
    }

    #[test]
    fn a_machine_that_was_idle_is_woken_earlier_still() {
        let mut lead = Lead::new();
        for _ in 0..2000 {
            lead.slept(at(5000), Some(at(5000)), at(5000));
        }
        lead.worked(at(5000));
        assert_eq!(lead.sleep(at(105_000), at(106_000)), Some(Duration::from_micros(1000 - 280)));
    }

    #[test]
    fn the_way_out_is_warmed_once_after_a_pause_and_not_too_late() {
        let mut lead = Lead::new();
        lead.worked(at(5000));
        assert!(!lead.warms(at(6000), at(6150)), "there was no pause");
        assert_eq!(lead.sleep(at(8000), at(9000)), Some(Duration::from_micros(800)));
        assert!(!lead.warms(at(8950), at(9000)), "it would make the packet late");
        assert!(lead.warms(at(8800), at(9000)));
        assert!(!lead.warms(at(8850), at(9000)));
        lead.worked(at(9000));
        assert!(lead.warms(at(11_800), at(12_000)));
    }

    #[test]
    fn whoever_is_never_without_work_sleeps_a_tenth_of_the_time() {
        let mut lead = Lead::new();
        let (mut now, mut asleep) = (0, 0);
        while now < 1_000_000 {
            // Always 30 us of work.
            now += 30;
            if let Some(sleep) = lead.rest(at(now)) {
                let planned = now + sleep.as_micros() as u64;
                lead.slept(at(now), Some(at(planned)), at(planned + 5));
                asleep += planned + 5 - now;
                now = planned + 5;
            }
        }
        assert!((70_000..120_000).contains(&asleep), "{asleep} us of a second");
    }
}
