//! Application on one side of a split-TCP proxy. [`crate::tcp::relay_bytes`] sets what it may read
//! and write.

use super::{Application, Socket};
use crate::units::Time;

/// Stream offsets in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProxyApp {
    /// May read up to this offset.
    pub read: u64,
    /// Writes up to this offset, with data from the peer of the other side.
    pub written: u64,
    /// The peer of the other side has closed, and all its data is written.
    pub closed: bool,
}

impl Application for ProxyApp {
    fn act(&mut self, _now: Time, socket: &mut Socket) {
        socket.read = socket.arrived.min(self.read);
        socket.written = self.written;
        socket.closed = self.closed;
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}
