//! Waiting for sockets until an instant, as exactly as the machine allows: sleep until shortly before it, then watch.

use super::clock::HostClock;
use crate::{MeasureError, Nanos};
use nix::poll::{PollFd, ppoll};
use nix::sys::time::TimeSpec;

/// Never watch longer than this: on a machine that wakes later, watching would only take what others need.
const WATCH_NS: Nanos = 60_000;
/// Look at signals and at those who have gone this often.
const LONGEST_NS: Nanos = 100_000_000;

/// Comes back when a socket is ready or `due` has come, or after a tenth of a second.
pub fn wait(clock: &HostClock, sockets: &mut [PollFd<'_>], due: Nanos) -> Result<(), MeasureError> {
    loop {
        let left = due.saturating_sub(clock.now()).clamp(0, LONGEST_NS);
        let sleep = TimeSpec::new(0, (left - WATCH_NS).max(0));
        match ppoll(sockets, Some(sleep), None) {
            Ok(0) if left > 0 && left <= WATCH_NS => {}
            Ok(_) => return Ok(()),
            Err(nix::errno::Errno::EINTR) => return Ok(()),
            Err(error) => return Err(MeasureError::refused("waiting for sockets")(error)),
        }
        if clock.now() >= due {
            return Ok(());
        }
    }
}
