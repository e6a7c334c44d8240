//! Application whose reads and writes are set from outside: one side of a split-TCP proxy
//! ([`crate::tcp::relay_bytes`]), or the socket calls of a script.

use super::{Application, SmallSegments, Socket};
use crate::units::Time;

/// Stream offsets in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ControlledApp {
    /// May read up to this offset.
    pub read: u64,
    /// Writes up to this offset.
    pub written: u64,
    /// Writes nothing more.
    pub closed: bool,
    /// The last write had MSG_MORE.
    pub more: bool,
    /// The socket option, TCP_NODELAY if not set.
    pub small_segments: SmallSegments,
}

impl Application for ControlledApp {
    fn act(&mut self, _now: Time, socket: &mut Socket) {
        socket.read = socket.arrived.min(self.read);
        socket.written = self.written;
        socket.closed = self.closed;
        socket.more = self.more;
        socket.small_segments = self.small_segments;
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}
