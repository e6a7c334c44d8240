//! Client side of a control connection. It accepts data after the server has proven the token, and
//! bounds its amount.

use super::frame::{FrameKind, FrameReader, FrameWriter};
use super::hello::{HELLO_BYTES, HandshakeVerdict, OTHER_VERSION, VERDICT_BYTES, hello, nonce_of};
use super::keys::{Nonce, Nonces, SessionKeys, constant_time_eq};
use super::message::{ClientRequest, MAX_REPLY, MAX_REQUEST, ServerReply, TableId};
use crate::token::Token;
use ackclock_core::Problem;

/// Message from the server.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerMessage {
    Reply(ServerReply),
    /// Rows of a table: test, table, columns, encoded rows.
    Rows(u32, TableId, usize, Vec<u8>),
    /// Packet headers, as a part of a pcap file.
    Packets(Vec<u8>),
}

enum ClientState {
    Greeting,
    Proving,
    Open(Box<(FrameReader, FrameWriter)>),
}

pub struct ClientSession {
    state: ClientState,
    token: Token,
    nonce: Nonce,
    keys: Option<Box<SessionKeys>>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl ClientSession {
    pub fn new(token: Token, nonce: Nonce) -> ClientSession {
        ClientSession { state: ClientState::Greeting, token, nonce, keys: None, inbox: Vec::new(), outbox: hello(&nonce) }
    }

    /// Handles bytes from the server. Err: why the session ends.
    pub fn receive(&mut self, bytes: &[u8], received: &mut Vec<ServerMessage>) -> Result<(), Problem> {
        self.inbox.extend_from_slice(bytes);
        while self.advance(received)? {}
        Ok(())
    }

    fn advance(&mut self, received: &mut Vec<ServerMessage>) -> Result<bool, Problem> {
        match &mut self.state {
            ClientState::Greeting => {
                let Some(server) = nonce_of(&self.inbox).map_err(hello_problem)? else { return Ok(false) };
                self.inbox.drain(..HELLO_BYTES);
                let keys = SessionKeys::derive(&self.token, &Nonces { client: self.nonce, server });
                self.outbox.extend_from_slice(&keys.client_proof);
                (self.keys, self.state) = (Some(Box::new(keys)), ClientState::Proving);
                Ok(true)
            }
            ClientState::Proving => self.on_verdict(),
            ClientState::Open(open) => {
                let Some((frame, took)) = open.0.take(&self.inbox).map_err(unexpected)? else { return Ok(false) };
                self.inbox.drain(..took);
                received.push(decode(frame.kind, &frame.payload)?);
                Ok(true)
            }
        }
    }

    fn on_verdict(&mut self) -> Result<bool, Problem> {
        let (Some(bytes), Some(keys)) = (self.inbox.get(..VERDICT_BYTES), &self.keys) else { return Ok(false) };
        let verdict = HandshakeVerdict::from_byte(bytes[0]).ok_or_else(|| unexpected("a malformed verdict"))?;
        if verdict != HandshakeVerdict::Welcome {
            let option = if verdict == HandshakeVerdict::WrongToken { "--token-file" } else { "" };
            return Err(Problem::new(verdict.message(), verdict.remedy()).of_option(option));
        }
        if !constant_time_eq(&keys.server_proof, &bytes[1..]) {
            return Err(Problem::new(
                "the far end does not prove that it knows the token",
                "check the address and the token: another program may answer there",
            ));
        }
        self.inbox.drain(..VERDICT_BYTES);
        self.state = ClientState::Open(Box::new((FrameReader::new(keys.to_client, MAX_REPLY), FrameWriter::new(keys.to_server))));
        Ok(true)
    }

    /// Sends a request. Err: there is no session, or the request is too long.
    pub fn send_request(&mut self, request: &ClientRequest) -> Result<(), Problem> {
        let ClientState::Open(open) = &mut self.state else {
            return Err(Problem::new("there is no session yet", "connect first"));
        };
        let text = serde_json::to_vec(request).map_err(|e| unexpected(&e.to_string()))?;
        if text.len() > MAX_REQUEST {
            return Err(Problem::found(format!("a request of {} B", text.len()), format!("{MAX_REQUEST} B at most")));
        }
        open.1.write(FrameKind::Message, &text, &mut self.outbox);
        Ok(())
    }

    pub fn outbox(&self) -> &[u8] {
        &self.outbox
    }

    pub fn sent(&mut self, bytes: usize) {
        self.outbox.drain(..bytes);
    }

    /// The keys of the session, after the handshake.
    pub fn keys(&self) -> Option<&SessionKeys> {
        matches!(self.state, ClientState::Open(_)).then_some(self.keys.as_deref()).flatten()
    }
}

/// Error of a hello that is not of this protocol and version.
fn hello_problem(why: &'static str) -> Problem {
    if why == OTHER_VERSION {
        return Problem::new(
            "the far end speaks another version of ackclock's protocol",
            "install the same ackclock at both ends",
        );
    }
    Problem::new(
        format!("the service at this port does not speak ackclock's protocol ({why})"),
        "check the port: `ackclock serve` prints its own, --port names it here",
    )
}

/// Error of a far end that violates the protocol.
pub fn unexpected(what: &str) -> Problem {
    Problem::new(format!("the far end sent {what}"), "install the same ackclock at both ends, and measure again")
}

fn decode(kind: FrameKind, payload: &[u8]) -> Result<ServerMessage, Problem> {
    if kind == FrameKind::Message {
        return serde_json::from_slice(payload)
            .map(ServerMessage::Reply)
            .map_err(|e| unexpected(&format!("a malformed message ({e})")));
    }
    if kind == FrameKind::Packets {
        return Ok(ServerMessage::Packets(payload.to_vec()));
    }
    let (head, rows) = payload.split_first_chunk::<6>().ok_or_else(|| unexpected("a table without a header"))?;
    let test = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    let name = TableId::from_byte(head[4]).ok_or_else(|| unexpected("an unknown table"))?;
    Ok(ServerMessage::Rows(test, name, usize::from(head[5]), rows.to_vec()))
}
