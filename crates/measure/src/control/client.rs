//! Client side of a control connection. It accepts data after the handshake has authenticated the
//! server, and bounds its amount.

use super::frame::{FrameChannel, FrameKind};
use super::hello::{HandshakeVerdict, OTHER_VERSION, PREFIX, REPLY_BYTES, hello, response_of};
use super::keys::SessionKeys;
use super::message::{ClientRequest, MAX_REPLY, MAX_REQUEST, ServerReply, TableId};
use super::noise::{EphemeralKey, Initiator};
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
    /// Waits for the server's part of the handshake.
    AwaitingReply(Box<Initiator>),
    /// Waits for the verdict on the session.
    AwaitingVerdict(Box<FrameChannel>),
    Open(Box<FrameChannel>),
    Closed,
}

pub struct ClientSession {
    state: ClientState,
    keys: Option<Box<SessionKeys>>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl ClientSession {
    /// `ephemeral` are random bytes that no other session has.
    pub fn new(token: &Token, ephemeral: EphemeralKey) -> ClientSession {
        let (initiator, initiation) = Initiator::new(token, ephemeral, &PREFIX);
        let state = ClientState::AwaitingReply(Box::new(initiator));
        ClientSession { state, keys: None, inbox: Vec::new(), outbox: hello(&initiation) }
    }

    /// Handles bytes from the server. Err: why the session ends.
    pub fn receive(&mut self, bytes: &[u8], received: &mut Vec<ServerMessage>) -> Result<(), Problem> {
        self.inbox.extend_from_slice(bytes);
        while self.advance(received)? {}
        Ok(())
    }

    fn advance(&mut self, received: &mut Vec<ServerMessage>) -> Result<bool, Problem> {
        match &mut self.state {
            ClientState::AwaitingReply(_) => self.on_reply(),
            ClientState::AwaitingVerdict(_) => self.on_verdict(),
            ClientState::Open(channel) => {
                let Some((frame, took)) = channel.take(&self.inbox).map_err(unexpected)? else { return Ok(false) };
                self.inbox.drain(..took);
                received.push(decode(frame.kind, &frame.payload)?);
                Ok(true)
            }
            ClientState::Closed => Ok(false),
        }
    }

    /// Completes the handshake. The first frame, a keepalive, proves that this client has made the
    /// hello: a repeated hello would get the same reply.
    fn on_reply(&mut self) -> Result<bool, Problem> {
        let Some(response) = response_of(&self.inbox).map_err(hello_problem)? else { return Ok(false) };
        let ClientState::AwaitingReply(initiator) = std::mem::replace(&mut self.state, ClientState::Closed) else {
            return Ok(false);
        };
        let (transport, secret) = initiator.finish(&response.map_err(rejected)?).map_err(|_| {
            Problem::new(
                "the far end does not prove that it knows the token",
                "check the address and the token: another program may answer there",
            )
        })?;
        self.inbox.drain(..REPLY_BYTES);
        let mut channel = FrameChannel::new(transport, MAX_REPLY);
        write_request(&mut channel, &ClientRequest::KeepAlive {}, &mut self.outbox)?;
        self.keys = Some(Box::new(SessionKeys::derive(&secret)));
        self.state = ClientState::AwaitingVerdict(Box::new(channel));
        Ok(true)
    }

    fn on_verdict(&mut self) -> Result<bool, Problem> {
        let ClientState::AwaitingVerdict(channel) = &mut self.state else { return Ok(false) };
        let Some((frame, took)) = channel.take(&self.inbox).map_err(unexpected)? else { return Ok(false) };
        self.inbox.drain(..took);
        let byte = (frame.kind == FrameKind::Verdict).then(|| frame.payload.first().copied()).flatten();
        let verdict = byte.and_then(HandshakeVerdict::from_byte).ok_or_else(|| unexpected("a malformed verdict"))?;
        let state = std::mem::replace(&mut self.state, ClientState::Closed);
        if verdict != HandshakeVerdict::Welcome {
            return Err(rejected(verdict));
        }
        if let ClientState::AwaitingVerdict(channel) = state {
            self.state = ClientState::Open(channel);
        }
        Ok(true)
    }

    /// Sends a request. Err: there is no session, or the request is too long.
    pub fn send_request(&mut self, request: &ClientRequest) -> Result<(), Problem> {
        let ClientState::Open(channel) = &mut self.state else {
            return Err(Problem::new("there is no session yet", "connect first"));
        };
        write_request(channel, request, &mut self.outbox)
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

fn write_request(channel: &mut FrameChannel, request: &ClientRequest, out: &mut Vec<u8>) -> Result<(), Problem> {
    let text = serde_json::to_vec(request).map_err(|e| unexpected(&e.to_string()))?;
    if text.len() > MAX_REQUEST {
        return Err(Problem::found(format!("a request of {} B", text.len()), format!("{MAX_REQUEST} B at most")));
    }
    channel.write(FrameKind::Message, &text, out);
    Ok(())
}

/// Error of a far end that rejects the client.
fn rejected(verdict: HandshakeVerdict) -> Problem {
    let option = if verdict == HandshakeVerdict::WrongToken { "--token-file" } else { "" };
    Problem::new(verdict.message(), verdict.remedy()).of_option(option)
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
