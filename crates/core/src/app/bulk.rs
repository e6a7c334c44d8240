//! A bulk sender: as much as TCP takes, without end, up to a size, or until it is told to stop.

use super::{Application, Socket};
use crate::units::Time;

#[derive(Clone, Debug)]
pub struct BulkSource {
    bytes: u64,
    stop: Time,
}

impl BulkSource {
    /// Sends `bytes` (`u64::MAX`: no end) and closes; at `stop` it closes with what has been sent by then.
    pub fn new(bytes: u64, stop: Time) -> BulkSource {
        BulkSource { bytes, stop }
    }
}

impl Application for BulkSource {
    fn act(&mut self, now: Time, socket: &mut Socket) {
        if now >= self.stop {
            self.bytes = self.bytes.min(socket.sent);
            self.stop = Time::NEVER;
        }
        socket.written = self.bytes;
        socket.closed = self.bytes != u64::MAX;
    }

    #[inline]
    fn due(&self) -> Time {
        self.stop
    }
}
