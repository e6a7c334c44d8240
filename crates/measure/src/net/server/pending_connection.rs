//! A connection before its first message. Connections that a session's tests wait for, by their
//! address or at a test's own port, have slots of their own and cannot be evicted by others.

use crate::Nanos;
use crate::control::hello::{DATA_HELLO_BYTES, DataHello, Purpose, purpose};
use crate::control::keys::Digest;
use crate::quotas::{HANDSHAKE_NS, SILENCE_NS};
use std::io::{ErrorKind, Read};
use std::net::{SocketAddr, TcpStream};

pub struct PendingConnection {
    pub stream: TcpStream,
    pub address: SocketAddr,
    pub accepted_at: Nanos,
    pub received: Vec<u8>,
    /// The socket is readable.
    pub ready: bool,
    /// Its slot, and whether that is one of the awaited connections.
    pub slot: u64,
    pub is_awaited: bool,
}

/// Class of a connection by its first bytes.
pub enum ConnectionClass {
    Pending,
    /// With the reason.
    Rejected(&'static str),
    Control,
    Data(DataHello, Digest),
}

impl PendingConnection {
    pub fn due(&self) -> Nanos {
        self.accepted_at.saturating_add(if self.received.is_empty() { SILENCE_NS } else { HANDSHAKE_NS })
    }

    /// Reads the bytes that have arrived, at most the longest first message.
    pub fn classify(&mut self, now: Nanos) -> ConnectionClass {
        if now >= self.due() {
            return ConnectionClass::Rejected("no hello in time");
        }
        if !std::mem::take(&mut self.ready) {
            return ConnectionClass::Pending;
        }
        let mut bytes = [0; DATA_HELLO_BYTES];
        let max = DATA_HELLO_BYTES - self.received.len();
        match self.stream.read(&mut bytes[..max]) {
            Ok(0) => return ConnectionClass::Rejected("closed before its hello"),
            Ok(read) => self.received.extend_from_slice(&bytes[..read]),
            Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => return ConnectionClass::Pending,
            Err(_) => return ConnectionClass::Rejected("reset before its hello"),
        }
        match purpose(&self.received) {
            Err(why) => ConnectionClass::Rejected(why),
            Ok(None) => ConnectionClass::Pending,
            Ok(Some(Purpose::Control)) => ConnectionClass::Control,
            Ok(Some(Purpose::Data)) => match self.received.first_chunk() {
                None => ConnectionClass::Pending,
                Some(bytes) => {
                    let (hello, digest) = DataHello::read(bytes);
                    ConnectionClass::Data(hello, digest)
                }
            },
        }
    }
}
