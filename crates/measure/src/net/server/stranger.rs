//! A connection that has not said what it is.

use crate::Nanos;
use crate::caps::HANDSHAKE_NS;
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
}

/// What it turns out to be.
pub enum Grown {
    Not,
    Gone,
    Control,
    Data(DataHello, Digest),
}

impl Stranger {
    pub fn new(stream: TcpStream, peer: SocketAddr, now: Nanos) -> Stranger {
        Stranger { stream, peer, came: now, heard: Vec::new(), ready: true }
    }

    pub fn due(&self) -> Nanos {
        self.came.saturating_add(HANDSHAKE_NS)
    }

    /// Reads what is there, but not beyond the longest first message.
    pub fn grow(&mut self, now: Nanos) -> Grown {
        if now >= self.due() {
            return Grown::Gone;
        }
        if !std::mem::take(&mut self.ready) {
            return Grown::Not;
        }
        let mut bytes = [0; DATA_HELLO_BYTES];
        let most = DATA_HELLO_BYTES - self.heard.len();
        match self.stream.read(&mut bytes[..most]) {
            Ok(0) => return Grown::Gone,
            Ok(read) => self.heard.extend_from_slice(&bytes[..read]),
            Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => return Grown::Not,
            Err(_) => return Grown::Gone,
        }
        match purpose(&self.heard) {
            Err(_) => Grown::Gone,
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
