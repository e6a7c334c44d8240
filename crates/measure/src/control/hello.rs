//! The first bytes of a connection, before anything is authenticated: fixed lengths, nothing to parse.

use super::keys::{Digest, MAC_BYTES, Nonce, SessionKeys, constant_time_eq, mac};

/// First on every connection, either way.
const MAGIC: &[u8; 8] = b"ackclock";
pub const VERSION: u8 = 2;
/// Why a hello of another release is rejected.
pub const OTHER_VERSION: &str = "another version of ackclock's protocol";
const CONTROL: u8 = 1;
const DATA: u8 = 2;

/// Either end's first message on a control connection: magic, purpose, version, nonce.
pub const HELLO_BYTES: usize = MAGIC.len() + 2 + 32;
/// The server's verdict and proof.
pub const VERDICT_BYTES: usize = 1 + MAC_BYTES;
/// A data connection's first and only message besides data.
pub const DATA_HELLO_BYTES: usize = MAGIC.len() + 2 + 8 + 4 + 2 + 8 + MAC_BYTES;

pub fn hello(nonce: &Nonce) -> Vec<u8> {
    [MAGIC.as_slice(), &[CONTROL, VERSION], nonce].concat()
}

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Control,
    Data,
}

/// Told from the first bytes, as soon as there are enough; Err is what is wrong with them.
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

/// The nonce of a control connection's hello, once it is complete.
pub fn nonce_of(stream: &[u8]) -> Result<Option<Nonce>, &'static str> {
    match purpose(stream)? {
        Some(Purpose::Data) => Err("a data connection where control was expected"),
        _ => Ok(stream.get(HELLO_BYTES - 32..HELLO_BYTES).and_then(|n| n.try_into().ok())),
    }
}

/// What the server makes of a proof.
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
            HandshakeVerdict::TooManySessions => "the far end is busy: it has as many sessions as it allows",
            HandshakeVerdict::TooManyOfThisPeer => "the far end is busy: it has as many sessions from this address as it allows",
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

/// Which connection of which test a data connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataHello {
    pub session: u64,
    pub test: u32,
    pub flow: u16,
    /// Nanoseconds since the client began to connect.
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

    /// The claim, and the MAC that is to prove it with the keys of the session that it names.
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
    use super::super::keys::Nonces;
    use super::*;
    use crate::token::Token;

    #[test]
    fn a_data_hello_holds_for_its_session_test_and_flow_only() {
        let token = Token::parse("kq7ZkX2mW9vB4nT8sL1rY6pD").unwrap();
        let keys = |n| SessionKeys::derive(&token, &Nonces { client: [n; 32], server: [0; 32] });
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
    fn foreign_protocols_are_told_from_their_first_byte() {
        assert!(purpose(b"GET / HTTP/1.1").is_err());
        assert_eq!(purpose(b"ack"), Ok(None));
        assert_eq!(purpose(&hello(&[0; 32])), Ok(Some(Purpose::Control)));
        assert!(purpose(b"ackclock\x01\x09").unwrap_err().contains("version"));
        assert!(purpose(b"ackclock\x07\x01").is_err());
    }
}
