//! Sleep policy of the emulating thread: sleep until shortly before a due time, then spin.
//!
//! A sleep ends late by the machine's wake-up latency, so the last interval before a due time is
//! spent spinning. A SCHED_FIFO thread that never sleeps is throttled by the kernel for 50 ms (RT
//! throttling; fair server from Linux 6.12). The thread therefore has an awake budget that sleeping
//! refills.

use ackclock_core::{Span, Time};
use std::time::Duration;

/// When the emulating thread sleeps, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct SleepPolicy {
    /// Estimated wake-up latency.
    latency: Span,
    /// Time that the thread may still spend awake.
    awake_budget: Span,
    /// Until when the budget has been charged.
    charged_until: Time,
    /// End of the last poll that had work.
    last_work: Time,
    /// When the caches were warmed last.
    last_warmup: Time,
}

/// Longest spin between packets. A machine with a larger wake-up latency would spin away the CPU
/// time of other processes.
const MAX_SPIN: Span = Span::from_us(120);
/// Wake-up latency grows with idle time: the longest spin is 1/32 of the idle time, from `MAX_SPIN`
/// to `MAX_SPIN_IDLE`.
const IDLE_PER_SPIN: u64 = 32;
pub const MAX_SPIN_IDLE: Span = Span::from_us(400);
/// Divisors of the moving average of the wake-up latency: it rises in a few samples and falls
/// slowly.
const RISE_DIVISOR: u64 = 2;
const FALL_DIVISOR: u64 = 64;
/// Awake time that is refilled per time asleep: the thread sleeps 10 % of the time, twice as much
/// as RT throttling leaves to others.
const AWAKE_PER_SLEEP: u64 = 9;
const MAX_AWAKE_BUDGET: Span = Span::from_ms(20);
/// Time without work after which the kernel's transmit path has left the CPU caches.
const COLD: Span = Span::from_ms(2);
/// How long before a due time the thread wakes after a pause, and how much of that must be left for
/// a warm-up, which takes 20 to 70 us.
const WARMUP_LEAD: Span = Span::from_us(200);
const WARMUP_DEADLINE: Span = Span::from_us(100);
/// Shortest sleep, and length of a forced sleep.
const MIN_SLEEP: Span = Span::from_us(20);

impl SleepPolicy {
    pub fn new() -> SleepPolicy {
        SleepPolicy {
            latency: Span::from_us(60),
            awake_budget: MAX_AWAKE_BUDGET,
            charged_until: Time::ZERO,
            last_work: Time::ZERO,
            last_warmup: Time::ZERO,
        }
    }

    /// Charges the time awake until `now`. Returns the length of a forced sleep if the budget is
    /// used up.
    pub fn forced_sleep(&mut self, now: Time) -> Option<Duration> {
        self.awake_budget = Span(self.awake_budget.0.saturating_sub((now - self.charged_until).0));
        self.charged_until = now;
        (self.awake_budget == Span::ZERO).then(|| Duration::from_nanos(MIN_SLEEP.0 / 1000))
    }

    /// Notes that the poll that ended at `now` had work.
    pub fn on_work(&mut self, now: Time) {
        self.last_work = now;
    }

    /// How long to sleep before an event at `due`; none to spin.
    pub fn sleep(&self, now: Time, due: Time) -> Option<Duration> {
        let max_spin = ((now - self.last_work).0 / IDLE_PER_SPIN).clamp(MAX_SPIN.0, MAX_SPIN_IDLE.0);
        let lead = self.latency.0.max(max_spin - MAX_SPIN.0).min(max_spin);
        let lead = if self.is_cold(now) { lead.max(WARMUP_LEAD.0) } else { lead };
        let remaining = (due - now).0;
        (remaining > lead).then(|| Duration::from_nanos((remaining - lead) / 1000))
    }

    fn is_cold(&self, now: Time) -> bool {
        now - self.last_work >= COLD
    }

    /// Whether to warm the caches while spinning for an event at `due`: once per pause, and only if
    /// enough time is left.
    pub fn should_warm(&mut self, now: Time, due: Time) -> bool {
        let warm = self.is_cold(now) && now - self.last_warmup >= COLD && due - now >= WARMUP_DEADLINE;
        if warm {
            self.last_warmup = now;
        }
        warm
    }

    /// How long to sleep before a check at `until` that may be late.
    pub fn sleep_coarse(&self, now: Time, until: Time) -> Option<Duration> {
        Some(Duration::from_nanos((until - now).0.max(MIN_SLEEP.0) / 1000))
    }

    /// Accounts for a sleep from `start` to `now`. `planned` is the planned end of a sleep that
    /// nothing interrupted.
    pub fn on_wakeup(&mut self, start: Time, planned: Option<Time>, now: Time) {
        self.awake_budget = Span((self.awake_budget.0 + (now - start).0 * AWAKE_PER_SLEEP).min(MAX_AWAKE_BUDGET.0));
        self.charged_until = now;
        if let Some(planned) = planned {
            let latency = (now - planned).0;
            let divisor = if latency > self.latency.0 { RISE_DIVISOR } else { FALL_DIVISOR };
            self.latency = Span(self.latency.0 + latency / divisor - self.latency.0 / divisor);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Time {
        Time::ZERO + Span::from_us(us)
    }

    #[test]
    fn sleep_ends_earlier_by_at_most_max_spin_when_the_machine_wakes_late() {
        let mut policy = SleepPolicy::new();
        for _ in 0..100 {
            policy.on_wakeup(Time::ZERO, Some(Time::ZERO), at(5000));
        }
        policy.on_work(at(5000));
        assert_eq!(policy.sleep(at(5000), at(15_000)), Some(Duration::from_micros(10_000 - 120)));
        assert_eq!(policy.sleep(at(5000), at(5100)), None);
        for _ in 0..2000 {
            policy.on_wakeup(at(5000), Some(at(5000)), at(5000));
        }
        assert!(policy.sleep(at(5000), at(5002)).is_some());
    }

    #[test]
    fn sleep_ends_earlier_when_the_machine_was_idle() {
        let mut policy = SleepPolicy::new();
        for _ in 0..2000 {
            policy.on_wakeup(at(5000), Some(at(5000)), at(5000));
        }
        policy.on_work(at(5000));
        assert_eq!(policy.sleep(at(105_000), at(106_000)), Some(Duration::from_micros(1000 - 280)));
    }

    #[test]
    fn caches_are_warmed_once_after_a_pause_when_enough_time_is_left() {
        let mut policy = SleepPolicy::new();
        policy.on_work(at(5000));
        assert!(!policy.should_warm(at(6000), at(6150)), "no pause");
        assert_eq!(policy.sleep(at(8000), at(9000)), Some(Duration::from_micros(800)));
        assert!(!policy.should_warm(at(8950), at(9000)), "the packet would be late");
        assert!(policy.should_warm(at(8800), at(9000)));
        assert!(!policy.should_warm(at(8850), at(9000)));
        policy.on_work(at(9000));
        assert!(policy.should_warm(at(11_800), at(12_000)));
    }

    #[test]
    fn sleep_policy_sleeps_10_percent_of_the_time_under_full_load() {
        let mut policy = SleepPolicy::new();
        let (mut now, mut asleep) = (0, 0);
        while now < 1_000_000 {
            // Each poll has 30 us of work.
            now += 30;
            if let Some(sleep) = policy.forced_sleep(at(now)) {
                let planned = now + sleep.as_micros() as u64;
                policy.on_wakeup(at(now), Some(at(planned)), at(planned + 5));
                asleep += planned + 5 - now;
                now = planned + 5;
            }
        }
        assert!((70_000..120_000).contains(&asleep), "{asleep} us of a second");
    }
}
