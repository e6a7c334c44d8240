//! Bulk sender: sends as much as TCP accepts, without end, up to a size, or until a stop time.

use super::{Application, Socket};
use crate::units::Time;

#[derive(Clone, Debug)]
pub struct BulkSource {
    bytes: u64,
    stop: Time,
}

impl BulkSource {
    /// Sends `bytes` (`u64::MAX`: unlimited) and closes. At `stop` it closes after the bytes that
    /// TCP has accepted by then.
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
