//! A connection before its first message. Connections that a session's tests await, by their address or at a test's own port, have places of
//! their own and cannot be evicted by others.

use crate::Nanos;
use crate::caps::{HANDSHAKE_NS, SILENCE_NS};
use crate::control::hello::{DATA_HELLO_BYTES, DataHello, Purpose, purpose};
use crate::control::keys::Digest;
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};

pub struct Stranger {
    pub stream: TcpStream,
    pub peer: SocketAddr,
    pub came: Nanos,
    pub heard: Vec<u8>,
    /// There is something to read.
    pub ready: bool,
    /// Its place, and whether that is among the awaited connections.
    pub place: u64,
    pub is_awaited: bool,
}

/// Kind of the connection after its first bytes.
pub enum Grown {
    Not,
    /// The reason.
    Gone(&'static str),
    Control,
    Data(DataHello, Digest),
}

impl Stranger {
    pub fn due(&self) -> Nanos {
        self.came.saturating_add(if self.heard.is_empty() { SILENCE_NS } else { HANDSHAKE_NS })
    }

    /// Reads what is there, but not beyond the longest first message.
    pub fn grow(&mut self, now: Nanos) -> Grown {
        if now >= self.due() {
            return Grown::Gone("no hello in time");
        }
        if !std::mem::take(&mut self.ready) {
            return Grown::Not;
        }
        let mut bytes = [0; DATA_HELLO_BYTES];
        let most = DATA_HELLO_BYTES - self.heard.len();
        match self.stream.read(&mut bytes[..most]) {
            Ok(0) => return Grown::Gone("closed before its hello"),
            Ok(read) => self.heard.extend_from_slice(&bytes[..read]),
            Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => return Grown::Not,
            Err(_) => return Grown::Gone("reset before its hello"),
        }
        match purpose(&self.heard) {
            Err(why) => Grown::Gone(why),
            Ok(None) => Grown::Not,
            Ok(Some(Purpose::Control)) => Grown::Control,
            Ok(Some(Purpose::Data)) => match self.heard.first_chunk() {
                None => Grown::Not,
                Some(whole) => {
                    let (hello, digest) = DataHello::read(whole);
                    Grown::Data(hello, digest)
                }
            },
        }
    }
}
