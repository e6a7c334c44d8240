//! Server side of a control connection. Input: bytes and times. Output: bytes, and actions for the
//! owner of the sockets. It buffers at most one request and two replies.

use super::frame::{FrameChannel, FrameKind};
use super::hello::{HELLO_BYTES, HandshakeVerdict, PREFIX, accept, initiation_of, reject};
use super::keys::SessionKeys;
use super::message::{ClientRequest, MAX_REPLY, MAX_REQUEST, ServerReply, TableId, Welcome};
use super::noise::{EphemeralKey, SessionSecret, respond};
use super::table::IntTable;
use crate::Nanos;
use crate::quotas::{HANDSHAKE_NS, Quotas};
use crate::token::Token;

/// Action for the owner of the sockets.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// The client has proven the token and its presence: call `admit`.
    Authenticated,
    Request(ClientRequest),
    /// Send the queued output, then close. Err: the reason, if the client did not end the session.
    Close(Result<(), String>),
}

enum SessionState {
    /// Waits for the client's hello.
    AwaitingHello,
    /// Waits for the client's first frame.
    AwaitingFrame(Box<Handshaken>),
    AwaitingAdmission(Box<Handshaken>),
    Open(Box<OpenState>),
    Closed,
}

/// Keys and channel of a session.
struct Handshaken {
    keys: SessionKeys,
    channel: FrameChannel,
}

struct OpenState {
    session: Handshaken,
    since: Nanos,
    /// Time of the client's last message.
    last_activity: Nanos,
}

/// Random bytes of a session, from the operating system.
#[derive(Clone, Copy, Default)]
pub struct SessionRandomness {
    pub ephemeral: EphemeralKey,
    pub secret: SessionSecret,
}

pub struct ServerSession {
    state: SessionState,
    token: Token,
    quotas: Quotas,
    randomness: SessionRandomness,
    began: Nanos,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// Number of running tests. A session with a running test is not idle.
    pub running: usize,
}

impl ServerSession {
    pub fn new(token: Token, quotas: Quotas, randomness: SessionRandomness, now: Nanos) -> ServerSession {
        let (inbox, outbox) = (Vec::new(), Vec::new());
        ServerSession { state: SessionState::AwaitingHello, token, quotas, randomness, began: now, inbox, outbox, running: 0 }
    }

    /// Bytes from the client.
    pub fn receive(&mut self, now: Nanos, mut bytes: &[u8], actions: &mut Vec<Action>) {
        while !bytes.is_empty() && !self.is_closed() {
            let room = self.room().saturating_sub(self.inbox.len()).min(bytes.len());
            self.inbox.extend_from_slice(&bytes[..room]);
            bytes = &bytes[room..];
            let before = self.inbox.len();
            self.advance(now, actions);
            if room == 0 && self.inbox.len() == before {
                self.fail("more data than the protocol allows", actions);
            }
        }
    }

    /// Maximum bytes of the inbox.
    fn room(&self) -> usize {
        match &self.state {
            SessionState::Open(s) => s.session.channel.room(),
            SessionState::AwaitingFrame(s) | SessionState::AwaitingAdmission(s) => s.channel.room(),
            SessionState::AwaitingHello | SessionState::Closed => HELLO_BYTES,
        }
    }

    fn advance(&mut self, now: Nanos, actions: &mut Vec<Action>) {
        loop {
            let step = match &mut self.state {
                SessionState::AwaitingHello => self.on_hello(actions),
                SessionState::AwaitingFrame(_) => self.on_first_frame(actions),
                SessionState::Open(_) => self.on_frame(now, actions),
                SessionState::AwaitingAdmission(_) | SessionState::Closed => Ok(false),
            };
            match step {
                Ok(true) => {}
                Ok(false) => return,
                Err(reason) => return self.fail(reason, actions),
            }
        }
    }

    fn on_hello(&mut self, actions: &mut Vec<Action>) -> Result<bool, &'static str> {
        let Some(initiation) = initiation_of(&self.inbox)? else { return Ok(false) };
        self.inbox.drain(..HELLO_BYTES);
        let SessionRandomness { ephemeral, secret } = std::mem::take(&mut self.randomness);
        let Ok((transport, response)) = respond(&self.token, ephemeral, &PREFIX, &initiation, &secret) else {
            self.outbox.extend(reject());
            self.state = SessionState::Closed;
            actions.push(Action::Close(Err(HandshakeVerdict::WrongToken.message().into())));
            return Ok(false);
        };
        self.outbox.extend(accept(&response));
        let (keys, channel) = (SessionKeys::derive(&secret), FrameChannel::new(transport, MAX_REQUEST));
        self.state = SessionState::AwaitingFrame(Box::new(Handshaken { keys, channel }));
        Ok(true)
    }

    /// A frame proves that the hello was not a repeated one.
    fn on_first_frame(&mut self, actions: &mut Vec<Action>) -> Result<bool, &'static str> {
        let SessionState::AwaitingFrame(session) = &mut self.state else { return Ok(false) };
        let Some((frame, took)) = session.channel.take(&self.inbox)? else { return Ok(false) };
        self.inbox.drain(..took);
        if frame.kind != FrameKind::Message || serde_json::from_slice(&frame.payload).ok() != Some(ClientRequest::KeepAlive {}) {
            return Err("a first frame that is not a keepalive");
        }
        if let SessionState::AwaitingFrame(session) = std::mem::replace(&mut self.state, SessionState::Closed) {
            self.state = SessionState::AwaitingAdmission(session);
        }
        actions.push(Action::Authenticated);
        Ok(false)
    }

    fn on_frame(&mut self, now: Nanos, actions: &mut Vec<Action>) -> Result<bool, &'static str> {
        let SessionState::Open(open) = &mut self.state else { return Ok(false) };
        let Some((frame, took)) = open.session.channel.take(&self.inbox)? else { return Ok(false) };
        self.inbox.drain(..took);
        open.last_activity = now;
        if frame.kind != FrameKind::Message {
            return Err("a frame that is not a message");
        }
        let request = serde_json::from_slice(&frame.payload).map_err(|_| "a malformed message")?;
        if request == (ClientRequest::Quit {}) {
            self.close(actions);
            return Ok(false);
        }
        actions.push(Action::Request(request));
        Ok(true)
    }

    /// Completes `Action::Authenticated`. A client sends nothing between its first frame and this
    /// reply.
    pub fn admit(&mut self, now: Nanos, verdict: HandshakeVerdict, welcome: Welcome, actions: &mut Vec<Action>) {
        let SessionState::AwaitingAdmission(session) = std::mem::replace(&mut self.state, SessionState::Closed) else { return };
        let mut session = *session;
        session.channel.write(FrameKind::Verdict, &[verdict as u8], &mut self.outbox);
        if verdict != HandshakeVerdict::Welcome {
            actions.push(Action::Close(Ok(())));
            return;
        }
        self.state = SessionState::Open(Box::new(OpenState { session, since: now, last_activity: now }));
        self.send_reply(&ServerReply::Welcome(welcome));
        self.advance(now, actions);
    }

    pub fn send_reply(&mut self, reply: &ServerReply) {
        let SessionState::Open(open) = &mut self.state else { return };
        // Serialization of a reply cannot fail: it has numbers and short strings only, at most
        // `MAX_FLOWS` times.
        if let Ok(text) = serde_json::to_vec(reply)
            && text.len() <= MAX_REPLY
        {
            open.session.channel.write(FrameKind::Message, &text, &mut self.outbox);
        }
    }

    /// Sends rows from `first`, as many as the output buffer holds. Returns the index of the next
    /// row.
    pub fn send_rows(&mut self, test: u32, name: TableId, table: &IntTable, first: usize) -> usize {
        let SessionState::Open(open) = &mut self.state else { return table.len() };
        if self.outbox.len() >= MAX_REPLY {
            return first;
        }
        let head = [test.to_be_bytes().as_slice(), &[name as u8, table.columns as u8]].concat();
        let (piece, next) = table.encode_rows(first, MAX_REPLY - head.len());
        open.session.channel.write(FrameKind::Table, &[head, piece].concat(), &mut self.outbox);
        next
    }

    /// Sends captured packets from `first`, as many as the output buffer holds. Returns the next
    /// offset.
    pub fn send_packets(&mut self, records: &[u8], first: usize) -> usize {
        let SessionState::Open(open) = &mut self.state else { return records.len() };
        if self.outbox.len() >= MAX_REPLY {
            return first;
        }
        let next = records.len().min(first + MAX_REPLY);
        open.session.channel.write(FrameKind::Packets, &records[first..next], &mut self.outbox);
        next
    }

    /// Ends the session with a reason for the client.
    pub fn terminate(&mut self, reason: &str, actions: &mut Vec<Action>) {
        if !self.is_closed() {
            self.fail(reason, actions);
        }
    }

    fn fail(&mut self, reason: &str, actions: &mut Vec<Action>) {
        self.send_reply(&ServerReply::Bye { reason: reason.into() });
        self.state = SessionState::Closed;
        actions.push(Action::Close(Err(reason.into())));
    }

    fn close(&mut self, actions: &mut Vec<Action>) {
        if !self.is_closed() {
            self.state = SessionState::Closed;
            actions.push(Action::Close(Ok(())));
        }
    }

    /// Time of the session's timeout.
    pub fn due(&self) -> Option<Nanos> {
        match &self.state {
            SessionState::Open(s) => {
                let end = s.since.saturating_add(self.quotas.session_ns);
                Some(if self.running > 0 { end } else { end.min(s.last_activity.saturating_add(self.quotas.idle_ns)) })
            }
            SessionState::Closed => None,
            _ => Some(self.began.saturating_add(HANDSHAKE_NS)),
        }
    }

    pub fn tick(&mut self, now: Nanos, actions: &mut Vec<Action>) {
        if self.due().is_none_or(|due| now < due) {
            return;
        }
        let reason = match &self.state {
            SessionState::Open(s) if now - s.since >= self.quotas.session_ns => "the session has reached its maximum duration",
            SessionState::Open(_) => "the session was idle for too long",
            _ => "no proof of the token in time",
        };
        self.terminate(reason, actions);
    }

    /// Restarts the idle timeout.
    pub fn record_activity(&mut self, now: Nanos) {
        if let SessionState::Open(s) = &mut self.state {
            s.last_activity = now;
        }
    }

    /// Bytes to send.
    pub fn outbox(&self) -> &[u8] {
        &self.outbox
    }

    pub fn sent(&mut self, bytes: usize) {
        self.outbox.drain(..bytes);
    }

    pub fn keys(&self) -> Option<&SessionKeys> {
        match &self.state {
            SessionState::Open(s) => Some(&s.session.keys),
            _ => None,
        }
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.state, SessionState::Closed)
    }

    /// Capacity of both buffers, for tests of their bound.
    pub fn buffered_bytes(&self) -> usize {
        self.inbox.capacity() + self.outbox.capacity()
    }
}
