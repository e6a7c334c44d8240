//! This end's clock: wall-clock time when the process began, and monotonic since, so that it never jumps.

use crate::Nanos;
use crate::control::message::ClockState;
use nix::time::{ClockId, clock_gettime};

fn read(clock: ClockId) -> Nanos {
    clock_gettime(clock).map_or(0, |t| t.tv_sec().saturating_mul(1_000_000_000).saturating_add(t.tv_nsec()))
}

#[derive(Debug, Clone, Copy)]
pub struct HostClock {
    /// This clock less the monotonic one.
    ahead: Nanos,
    /// Whether it is true time that it began with.
    shifted: bool,
}

impl HostClock {
    /// `shift`: set wrong by so much, to try estimators that must not believe clocks.
    pub fn start(shift: Nanos) -> HostClock {
        // Whoever is held up between two looks is wrong by as long: the quickest of some looks counts.
        let looks = (0..8).map(|_| {
            let (before, wall, after) =
                (read(ClockId::CLOCK_MONOTONIC), read(ClockId::CLOCK_REALTIME), read(ClockId::CLOCK_MONOTONIC));
            (after - before, wall - (before + after) / 2)
        });
        let (_, ahead) = looks.min().unwrap_or_default();
        HostClock { ahead: ahead.saturating_add(shift), shifted: shift != 0 }
    }

    pub fn now(&self) -> Nanos {
        read(ClockId::CLOCK_MONOTONIC).saturating_add(self.ahead)
    }

    /// What is to be added to the kernel's stamps of packets, which are wall-clock time. Renewed for every batch, as that clock is steered.
    pub fn offset_from_realtime(&self) -> Nanos {
        self.now() - read(ClockId::CLOCK_REALTIME)
    }

    /// What the kernel says of its clock.
    pub fn state(&self) -> ClockState {
        // SAFETY: all-zero is a valid `timex`, which asks for nothing to be changed; the call only fills it in.
        let (state, timex) = unsafe {
            let mut timex: libc::timex = std::mem::zeroed();
            (libc::adjtimex(&raw mut timex), timex)
        };
        let steered = state != libc::TIME_ERROR && state >= 0 && timex.status & libc::STA_UNSYNC == 0;
        let pps = timex.status & (libc::STA_PPSSIGNAL | libc::STA_PPSTIME) == (libc::STA_PPSSIGNAL | libc::STA_PPSTIME);
        ClockState { synchronised: steered && !self.shifted, pps, max_error_ns: timex.maxerror.saturating_mul(1000) }
    }
}
