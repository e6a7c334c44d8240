//! The clock of both ends: CLOCK_MONOTONIC since the start of the run, which the client announces.

use ackclock_core::{Span, Time};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;
use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::Duration;

/// From the announcement to the start: the server reads the file and starts its threads.
const LEAD: Duration = Duration::from_millis(300);
const CHECK_INTERVAL: Duration = Duration::from_millis(2);
/// The client's program starts when the server's listens.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Nanoseconds of a kernel clock.
fn nanoseconds(clock: ClockId) -> i64 {
    clock.now().map_or(0, of_timespec)
}

fn of_timespec(time: TimeSpec) -> i64 {
    time.tv_sec() * 1_000_000_000 + time.tv_nsec()
}

/// The start of a run, as nanoseconds of CLOCK_MONOTONIC.
pub struct Start;

impl Start {
    /// Chooses the start and writes it.
    pub fn announce(file: &Path) -> io::Result<i64> {
        let start = nanoseconds(ClockId::CLOCK_MONOTONIC) + LEAD.as_nanos() as i64;
        let beside = file.with_extension("new");
        fs::write(&beside, start.to_string())?;
        fs::rename(&beside, file)?;
        Ok(start)
    }

    /// Waits until the other end has announced it.
    #[expect(clippy::disallowed_methods, reason = "not part of a model: waits for the other end's file")]
    pub fn wait(file: &Path) -> io::Result<i64> {
        for _ in 0..TIMEOUT.as_millis() / CHECK_INTERVAL.as_millis() {
            if let Ok(text) = fs::read_to_string(file) {
                return text.trim().parse().map_err(|_| io::Error::other(format!("{} has no time", file.display())));
            }
            thread::sleep(CHECK_INTERVAL);
        }
        Err(io::Error::other("the client's end did not start"))
    }
}

/// CLOCK_MONOTONIC since the start of the run; before it, 0.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    start_ns: i64,
}

impl Clock {
    pub fn at(start_ns: i64) -> Clock {
        Clock { start_ns }
    }

    pub fn now(&self) -> Time {
        self.time(nanoseconds(ClockId::CLOCK_MONOTONIC))
    }

    fn time(&self, ns: i64) -> Time {
        Time(u64::try_from(ns - self.start_ns).unwrap_or(0).saturating_mul(1000))
    }

    /// The time of a CLOCK_REALTIME timestamp, by the present difference of the two clocks.
    pub fn of_timestamp(&self, timestamp: TimeSpec) -> Time {
        let ahead = nanoseconds(ClockId::CLOCK_REALTIME) - nanoseconds(ClockId::CLOCK_MONOTONIC);
        self.time(of_timespec(timestamp) - ahead)
    }

    /// How long until `at`, in nanoseconds.
    pub fn until(&self, at: Time) -> Duration {
        let now = nanoseconds(ClockId::CLOCK_MONOTONIC);
        let at = self.start_ns.saturating_add(i64::try_from(at.0 / 1000).unwrap_or(i64::MAX));
        Duration::from_nanos(u64::try_from(at.saturating_sub(now)).unwrap_or(0))
    }

    /// Sleeps until `at`.
    #[expect(clippy::disallowed_methods, reason = "the driver's clock: programs run in real time")]
    pub fn sleep_until(&self, at: Time) {
        loop {
            let left = self.until(at);
            if left.is_zero() {
                return;
            }
            thread::sleep(left);
        }
    }
}

/// The time of the run that a wait may take at most, so that its end is noticed.
pub const MAX_WAIT: Span = Span::from_ms(100);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timestamp_of_now_is_the_monotonic_now() {
        let clock = Clock::at(nanoseconds(ClockId::CLOCK_MONOTONIC) - 5_000_000_000);
        let before = clock.now();
        let mapped = clock.of_timestamp(ClockId::CLOCK_REALTIME.now().unwrap());
        assert!(before >= Time::ZERO + Span::from_secs(5));
        assert!((mapped - before) < Span::from_ms(50) && (before - mapped) < Span::from_ms(50));
    }

    #[test]
    fn start_is_read_as_it_was_announced_and_lies_ahead() {
        let file = std::env::temp_dir().join(format!("ackclock-start-{}", std::process::id()));
        let announced = Start::announce(&file).unwrap();
        assert_eq!(Start::wait(&file).unwrap(), announced);
        assert!(Clock::at(announced).until(Time::ZERO) > Duration::ZERO);
        fs::remove_file(file).unwrap();
    }
}
