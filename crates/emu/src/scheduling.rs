//! Real-time scheduling of the emulating threads, and the error of the machine's timers.

use crate::clock::MonotonicClock;
use ackclock_core::Span;
use ackclock_core::statistics::quantile_of_sorted;
use nix::sys::time::TimeSpec;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use std::time::Duration;

/// Sleeps whose errors are measured: 100 of 100 us.
const SLEEPS: usize = 100;
const SLEEP: Span = Span::from_us(100);

/// Requests 1 ns of timer slack and SCHED_FIFO for the calling thread. Returns whether SCHED_FIFO
/// was granted; a refusal is no error.
pub fn request_realtime() -> bool {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: integers, and a structure that outlives the call. Child processes do not inherit the
    // priority.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &raw const parameters) == 0
    }
}

/// The 99th percentile of how late this thread wakes from a sleep.
pub fn timer_p99() -> Span {
    let clock = MonotonicClock::start();
    let mut errors: Vec<Span> = (0..SLEEPS)
        .map(|_| {
            let due = clock.now() + SLEEP;
            let sleep = TimeSpec::from_duration(Duration::from_nanos(SLEEP.0 / 1000));
            // A signal ends a sleep early: an error of 0.
            let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &sleep);
            clock.now() - due
        })
        .collect();
    errors.sort_unstable();
    quantile_of_sorted(&errors, 0.99).unwrap_or(Span::ZERO)
}
