//! First bytes of a connection, before authentication: messages of fixed length, without a parser.

use super::keys::{Digest, MAC_BYTES, SessionKeys, constant_time_eq, mac};
use super::noise::{INITIATION_BYTES, RESPONSE_BYTES};

/// First bytes in both directions of every connection.
const MAGIC: &[u8; 8] = b"ackclock";
pub const VERSION: u8 = 4;
/// Reason for the rejection of a hello of another version.
pub const OTHER_VERSION: &str = "another version of ackclock's protocol";
const CONTROL: u8 = 1;
const DATA: u8 = 2;

/// First bytes of both ends on a control connection: magic, purpose, version. They are the
/// handshake's prologue.
pub const PREFIX: [u8; MAGIC.len() + 2] = {
    let mut prefix = [CONTROL; MAGIC.len() + 2];
    prefix.split_at_mut(MAGIC.len()).0.copy_from_slice(MAGIC);
    prefix[MAGIC.len() + 1] = VERSION;
    prefix
};
/// The client's first message.
pub const HELLO_BYTES: usize = PREFIX.len() + INITIATION_BYTES;
/// The server's reply that accepts the token; one that rejects it ends after the verdict.
pub const REPLY_BYTES: usize = PREFIX.len() + 1 + RESPONSE_BYTES;
/// Header of a data connection; data follows.
pub const DATA_HELLO_BYTES: usize = MAGIC.len() + 2 + 8 + 4 + 2 + 8 + MAC_BYTES;

pub fn hello(initiation: &[u8; INITIATION_BYTES]) -> Vec<u8> {
    [PREFIX.as_slice(), initiation].concat()
}

/// The server's reply to a hello with its token.
pub fn accept(response: &[u8; RESPONSE_BYTES]) -> Vec<u8> {
    [PREFIX.as_slice(), &[HandshakeVerdict::Welcome as u8], response].concat()
}

/// The server's reply to a hello with another token.
pub fn reject() -> Vec<u8> {
    [PREFIX.as_slice(), &[HandshakeVerdict::WrongToken as u8]].concat()
}

/// Purpose of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Control,
    Data,
}

/// Purpose by the first bytes; None if there are too few. Err: why they are rejected.
pub fn purpose(stream: &[u8]) -> Result<Option<Purpose>, &'static str> {
    let seen = stream.len().min(MAGIC.len());
    if stream[..seen] != MAGIC[..seen] {
        return Err("this is not ackclock's protocol");
    }
    match stream.get(MAGIC.len()..MAGIC.len() + 2) {
        None => Ok(None),
        Some([CONTROL, VERSION]) => Ok(Some(Purpose::Control)),
        Some([DATA, VERSION]) => Ok(Some(Purpose::Data)),
        Some([CONTROL | DATA, _]) => Err(OTHER_VERSION),
        Some(_) => Err("a connection for an unknown purpose"),
    }
}

/// Message of a control connection's hello, if the hello is complete.
pub fn initiation_of(stream: &[u8]) -> Result<Option<[u8; INITIATION_BYTES]>, &'static str> {
    control(stream)?;
    Ok(stream.get(PREFIX.len()..HELLO_BYTES).and_then(|m| m.try_into().ok()))
}

/// Message of a welcome; another verdict has none.
pub type Response = Result<[u8; RESPONSE_BYTES], HandshakeVerdict>;

/// The server's reply, if it is complete.
pub fn response_of(stream: &[u8]) -> Result<Option<Response>, &'static str> {
    control(stream)?;
    let Some(verdict) = stream.get(PREFIX.len()) else { return Ok(None) };
    match HandshakeVerdict::from_byte(*verdict).ok_or("a malformed verdict")? {
        HandshakeVerdict::Welcome => Ok(stream.get(PREFIX.len() + 1..REPLY_BYTES).and_then(|m| m.try_into().ok()).map(Ok)),
        verdict => Ok(Some(Err(verdict))),
    }
}

fn control(stream: &[u8]) -> Result<(), &'static str> {
    match purpose(stream)? {
        Some(Purpose::Data) => Err("a data connection where control was expected"),
        _ => Ok(()),
    }
}

/// The server's verdict on a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum HandshakeVerdict {
    Welcome = 0,
    WrongToken = 1,
    TooManySessions = 2,
    TooManyOfThisPeer = 3,
}

impl HandshakeVerdict {
    pub fn from_byte(byte: u8) -> Option<HandshakeVerdict> {
        [
            HandshakeVerdict::Welcome,
            HandshakeVerdict::WrongToken,
            HandshakeVerdict::TooManySessions,
            HandshakeVerdict::TooManyOfThisPeer,
        ]
        .into_iter()
        .find(|v| *v as u8 == byte)
    }

    pub fn message(self) -> &'static str {
        match self {
            HandshakeVerdict::Welcome => "welcome",
            HandshakeVerdict::WrongToken => "the far end does not accept the token",
            HandshakeVerdict::TooManySessions => "the far end is busy: it has its maximum number of sessions",
            HandshakeVerdict::TooManyOfThisPeer => "the far end is busy: it has its maximum number of sessions from this address",
        }
    }

    /// The remedy for the client's user.
    pub fn remedy(self) -> &'static str {
        match self {
            HandshakeVerdict::Welcome => "",
            HandshakeVerdict::WrongToken => "give the far end's token with --token-file FILE or in ACKCLOCK_TOKEN",
            HandshakeVerdict::TooManySessions => "try again later, or let its operator allow more sessions",
            HandshakeVerdict::TooManyOfThisPeer => "end the other measurements from here, or try again later",
        }
    }
}

/// Header of a data connection: its session, test and flow number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataHello {
    pub session: u64,
    pub test: u32,
    pub flow: u16,
    /// Nanoseconds since the client's SYN.
    pub since: i64,
}

impl DataHello {
    fn fields(&self) -> [u8; 22] {
        let mut out = [0; 22];
        out[..8].copy_from_slice(&self.session.to_be_bytes());
        out[8..12].copy_from_slice(&self.test.to_be_bytes());
        out[12..14].copy_from_slice(&self.flow.to_be_bytes());
        out[14..].copy_from_slice(&self.since.to_be_bytes());
        out
    }

    pub fn write(&self, keys: &SessionKeys) -> Vec<u8> {
        let fields = self.fields();
        let digest = mac(&keys.data, "data hello", &[&fields]);
        [MAGIC.as_slice(), &[DATA, VERSION], &fields, &digest].concat()
    }

    /// Fields and MAC. `verify` checks the MAC with the keys of the session that the fields name.
    pub fn read(stream: &[u8; DATA_HELLO_BYTES]) -> (DataHello, Digest) {
        let at = |from: usize| stream[10 + from..].iter().copied();
        fn take<const N: usize>(bytes: impl Iterator<Item = u8>) -> [u8; N] {
            let mut out = [0; N];
            out.iter_mut().zip(bytes).for_each(|(o, b)| *o = b);
            out
        }
        let hello = DataHello {
            session: u64::from_be_bytes(take(at(0))),
            test: u32::from_be_bytes(take(at(8))),
            flow: u16::from_be_bytes(take(at(12))),
            since: i64::from_be_bytes(take(at(14))),
        };
        (hello, take(at(22)))
    }

    pub fn verify(&self, sent: &Digest, keys: &SessionKeys) -> bool {
        constant_time_eq(&mac(&keys.data, "data hello", &[&self.fields()]), sent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_hello_is_rejected_when_session_or_flow_differs() {
        let keys = |n| SessionKeys::derive(&[n; 32]);
        let hello = DataHello { session: 0x0102_0304_0506_0708, test: 9, flow: 3, since: -5 };
        let wire: [u8; DATA_HELLO_BYTES] = hello.write(&keys(1)).try_into().unwrap();
        assert_eq!(purpose(&wire), Ok(Some(Purpose::Data)));
        let (read, digest) = DataHello::read(&wire);
        assert_eq!(read, hello);
        assert!(read.verify(&digest, &keys(1)));
        assert!(!read.verify(&digest, &keys(2)));
        assert!(!DataHello { flow: 4, ..read }.verify(&digest, &keys(1)));
    }

    #[test]
    fn foreign_protocol_is_rejected_when_its_first_byte_arrives() {
        assert!(purpose(b"GET / HTTP/1.1").is_err());
        assert_eq!(purpose(b"ack"), Ok(None));
        assert_eq!(purpose(&hello(&[0; INITIATION_BYTES])), Ok(Some(Purpose::Control)));
        assert!(purpose(b"ackclock\x01\x09").unwrap_err().contains("version"));
        assert!(purpose(b"ackclock\x07\x01").is_err());
    }
}
