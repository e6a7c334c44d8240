//! Precise waiting: sleeps until shortly before the deadline, then polls without sleeping.

use super::clock::HostClock;
use crate::{MeasureError, Nanos};
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;

/// Maximum time of polling without sleep. On a machine with later wakeups, longer polling would
/// only take processor time from others.
const SPIN_NS: Nanos = 60_000;
/// Maximum sleep: signals and closed connections are handled at this interval.
const MAX_SLEEP_NS: Nanos = 100_000_000;

/// Returns when a socket is ready, at `due`, or after 100 ms.
pub fn wait(clock: &HostClock, sockets: &mut [PollFd<'_>], due: Nanos) -> Result<(), MeasureError> {
    loop {
        let left = due.saturating_sub(clock.now()).clamp(0, MAX_SLEEP_NS);
        let sleep = TimeSpec::new(0, (left - SPIN_NS).max(0));
        match ppoll(sockets, Some(sleep), None) {
            Ok(0) if left > 0 && left <= SPIN_NS => {}
            Ok(_) => return Ok(()),
            Err(nix::errno::Errno::EINTR) => return Ok(()),
            Err(error) => return Err(MeasureError::refused("waiting for sockets")(error)),
        }
        if clock.now() >= due {
            return Ok(());
        }
    }
}
