//! The host's clock for a session: CLOCK_REALTIME at its start, advanced by CLOCK_MONOTONIC, so
//! that it never steps.

use crate::Nanos;
use crate::control::message::ClockState;
use nix::time::{ClockId, clock_gettime};

fn read(clock: ClockId) -> Nanos {
    clock_gettime(clock).map_or(0, |t| t.tv_sec().saturating_mul(1_000_000_000).saturating_add(t.tv_nsec()))
}

#[derive(Debug, Clone, Copy)]
pub struct HostClock {
    /// This clock minus CLOCK_MONOTONIC.
    ahead: Nanos,
    /// A test has set the clock wrong.
    shifted: bool,
}

impl HostClock {
    /// `shift` is an error for tests of the estimators, which must not trust clocks.
    pub fn start(shift: Nanos) -> HostClock {
        // A preemption between two reads is an error of its length: take the pair of reads with the
        // minimum duration.
        let readings = (0..8).map(|_| {
            let (before, wall, after) =
                (read(ClockId::CLOCK_MONOTONIC), read(ClockId::CLOCK_REALTIME), read(ClockId::CLOCK_MONOTONIC));
            (after - before, wall - (before + after) / 2)
        });
        let (_, ahead) = readings.min().unwrap_or_default();
        HostClock { ahead: ahead.saturating_add(shift), shifted: shift != 0 }
    }

    pub fn now(&self) -> Nanos {
        read(ClockId::CLOCK_MONOTONIC).saturating_add(self.ahead)
    }

    /// This clock minus CLOCK_REALTIME, to convert the kernel's timestamps. Called for each batch,
    /// as CLOCK_REALTIME is adjusted.
    pub fn offset_from_realtime(&self) -> Nanos {
        self.now() - read(ClockId::CLOCK_REALTIME)
    }

    /// Clock state by adjtimex(2).
    pub fn state(&self) -> ClockState {
        // SAFETY: all-zero is a valid `timex` that requests no change; the call only fills it in.
        let (state, timex) = unsafe {
            let mut timex: libc::timex = std::mem::zeroed();
            (libc::adjtimex(&raw mut timex), timex)
        };
        let steered = state != libc::TIME_ERROR && state >= 0 && timex.status & libc::STA_UNSYNC == 0;
        let pps = timex.status & (libc::STA_PPSSIGNAL | libc::STA_PPSTIME) == (libc::STA_PPSSIGNAL | libc::STA_PPSTIME);
        ClockState { synchronised: steered && !self.shifted, pps, max_error_ns: timex.maxerror.saturating_mul(1000) }
    }
}
