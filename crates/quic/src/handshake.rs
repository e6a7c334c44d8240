//! A handshake with TLS 1.3's flights (RFC 8446, section 2; RFC 9001, section 4) and the sizes that a host sets for
//! them: they carry the transport parameters, and padding in place of keys and certificates.

use crate::crypto::{PlainHeaderKey, PlainPacketKey, keys, packet_keys};
use noq_proto::crypto::{
    ClientConfig, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use std::any::Any;

const INITIAL: u32 = 0;
const ZERO_RTT: u32 = 1;
const HANDSHAKE: u32 = 2;
/// The first phase of 1-RTT keys; each update adds one.
const ONE_RTT: u32 = 3;

/// Type and length, as TLS's handshake messages have (RFC 8446, section 4).
const MESSAGE_HEADER: usize = 4;
/// Length of the transport parameters in a message.
const PARAMETERS_LENGTH: usize = 2;
const CLIENT_HELLO: u8 = 1;
const SERVER_HELLO: u8 = 2;
const SERVER_FINISHED: u8 = 11;
const CLIENT_FINISHED: u8 = 20;
/// A Finished message with SHA-256.
const FINISHED_BYTES: usize = 36;

/// Bytes of the flights, and what both ends remember of each other.
#[derive(Clone)]
pub struct PlainTls {
    pub client_hello: usize,
    pub server_hello: usize,
    pub certificate: usize,
    /// Of a connection before: the client has the server's parameters and sends data at once, which the server
    /// accepts.
    pub zero_rtt: Option<TransportParameters>,
}

impl ClientConfig for PlainTls {
    fn start_session(
        &self,
        _version: u32,
        _server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(PlainSession::new(Side::Client, self.clone(), *parameters)))
    }
}

impl ServerConfig for PlainTls {
    fn initial_keys(&self, _version: u32, _dst_cid: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys(INITIAL))
    }
    fn retry_tag(&self, _version: u32, _orig_dst_cid: ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }
    fn start_session(&self, _version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        Box::new(PlainSession::new(Side::Server, self.clone(), *parameters))
    }
}

/// What an end does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// The client sends its hello; the server waits for it.
    Hello,
    /// The client has the server's hello, or the server answers with its own.
    HandshakeKeys,
    /// The server sends its certificates and Finished; the client has them, and sends its Finished.
    Finish,
    /// The server waits for the client's Finished; the client waits for the server's.
    Wait,
    Done,
}

struct PlainSession {
    side: Side,
    tls: PlainTls,
    own: TransportParameters,
    peer: Option<TransportParameters>,
    step: Step,
    /// Bytes of a message that is not complete.
    partial: Vec<u8>,
    /// Phases of 1-RTT keys so far.
    phases: u32,
}

impl PlainSession {
    fn new(side: Side, tls: PlainTls, own: TransportParameters) -> PlainSession {
        PlainSession { side, tls, own, peer: None, step: Step::Hello, partial: Vec::new(), phases: 0 }
    }

    /// A message of `len` bytes, or of more where the parameters need them.
    fn write_message(&self, into: &mut Vec<u8>, kind: u8, len: usize, has_parameters: bool) {
        let mut content = Vec::new();
        if has_parameters {
            let mut parameters = Vec::new();
            self.own.write(&mut parameters);
            content.extend_from_slice(&(parameters.len() as u16).to_be_bytes());
            content.append(&mut parameters);
        }
        content.resize(content.len().max(len.saturating_sub(MESSAGE_HEADER)), 0);
        into.push(kind);
        into.extend_from_slice(&(content.len() as u32).to_be_bytes()[1..]);
        into.append(&mut content);
    }

    fn read_parameters(&mut self, content: &[u8]) -> Result<(), TransportError> {
        let malformed = || TransportError::new(TransportErrorCode::PROTOCOL_VIOLATION, "no transport parameters".to_owned());
        let (len, rest) = content.split_at_checked(PARAMETERS_LENGTH).ok_or_else(malformed)?;
        let len = usize::from(u16::from_be_bytes([len[0], len[1]]));
        let mut parameters = rest.get(..len).ok_or_else(malformed)?;
        self.peer = Some(TransportParameters::read(self.side, &mut parameters).map_err(TransportError::from)?);
        Ok(())
    }

    /// The type and content of the next complete message.
    fn next_message(&mut self) -> Option<(u8, Vec<u8>)> {
        let header = self.partial.get(..MESSAGE_HEADER)?;
        let len = u32::from_be_bytes([0, header[1], header[2], header[3]]) as usize;
        let kind = header[0];
        let content = self.partial.get(MESSAGE_HEADER..MESSAGE_HEADER + len)?.to_vec();
        self.partial.drain(..MESSAGE_HEADER + len);
        Some((kind, content))
    }
}

impl Session for PlainSession {
    fn initial_keys(&self, _dst_cid: ConnectionId, _side: Side) -> Keys {
        keys(INITIAL)
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.tls.zero_rtt.is_some().then(|| -> (Box<dyn HeaderKey>, Box<dyn PacketKey>) {
            (Box::new(PlainHeaderKey), Box::new(PlainPacketKey { level: ZERO_RTT }))
        })
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.tls.zero_rtt.is_some().then_some(true)
    }

    fn is_handshaking(&self) -> bool {
        self.step != Step::Done
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.partial.extend_from_slice(buf);
        let mut has_data = false;
        while let Some((kind, content)) = self.next_message() {
            self.step = match (self.side, kind, self.step) {
                (Side::Server, CLIENT_HELLO, Step::Hello) => {
                    self.read_parameters(&content)?;
                    has_data = true;
                    Step::HandshakeKeys
                }
                (Side::Client, SERVER_HELLO, Step::Wait) => Step::HandshakeKeys,
                (Side::Client, SERVER_FINISHED, Step::Wait) => {
                    self.read_parameters(&content)?;
                    has_data = true;
                    Step::Finish
                }
                (Side::Server, CLIENT_FINISHED, Step::Wait) => Step::Done,
                _ => {
                    let code = TransportErrorCode::PROTOCOL_VIOLATION;
                    return Err(TransportError::new(code, "unexpected handshake message".to_owned()));
                }
            };
        }
        Ok(has_data)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer.or(self.tls.zero_rtt.filter(|_| self.side == Side::Client)))
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match (self.side, self.step) {
            (Side::Client, Step::Hello) => {
                self.write_message(buf, CLIENT_HELLO, self.tls.client_hello, true);
                self.step = Step::Wait;
                None
            }
            (Side::Server, Step::HandshakeKeys) => {
                self.write_message(buf, SERVER_HELLO, self.tls.server_hello, false);
                self.step = Step::Finish;
                Some(keys(HANDSHAKE))
            }
            (Side::Client, Step::HandshakeKeys) => {
                self.step = Step::Wait;
                Some(keys(HANDSHAKE))
            }
            (Side::Server, Step::Finish) => {
                self.write_message(buf, SERVER_FINISHED, self.tls.certificate, true);
                self.step = Step::Wait;
                Some(keys(ONE_RTT))
            }
            (Side::Client, Step::Finish) => {
                self.write_message(buf, CLIENT_FINISHED, FINISHED_BYTES, false);
                self.step = Step::Done;
                Some(keys(ONE_RTT))
            }
            _ => None,
        }
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.phases += 1;
        Some(packet_keys(ONE_RTT + self.phases))
    }

    fn is_valid_retry(&self, _orig_dst_cid: ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        true
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}
