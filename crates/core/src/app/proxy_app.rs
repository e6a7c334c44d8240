//! One side of a proxy: what it may read and has been given to write is decided between its two sides ([`crate::tcp::pass`]).

use super::{Application, Socket};
use crate::units::Time;

/// Bytes count from the start of the stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProxyApp {
    /// Read up to here.
    pub read: u64,
    /// Written up to here by the other side's peer.
    pub written: u64,
    /// The other side's peer has closed and all that it sent is written.
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
