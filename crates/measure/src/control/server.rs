//! The server's side of one control connection. Bytes and times come in; acts for whoever has the sockets, and bytes, come out. Whatever
//! comes in, it holds no more than one request, and two replies' worth of what has not been sent.

use super::frame::{Kind, Reader, Writer};
use super::hello::{HELLO_BYTES, VERDICT_BYTES, Verdict, hello, nonce_of};
use super::keys::{Keys, MAC_BYTES, Nonce, Nonces, same};
use super::message::{MOST_REPLY, MOST_REQUEST, Name, Reply, Request, Welcome};
use super::table::Table;
use crate::Nanos;
use crate::caps::{Caps, HANDSHAKE_NS};
use crate::token::Token;

/// What whoever has the sockets is to do.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// The client knows the token: decide with `admit`.
    Proven,
    Request(Request),
    /// Send the queued rest, then close. Err is the reason where the client did not end the session.
    Close(Result<(), String>),
}

enum State {
    /// Hello, then proof.
    Strange,
    Proving(Box<Keys>),
    Deciding(Box<Keys>),
    Open(Box<Speaking>),
    Closed,
}

struct Speaking {
    keys: Keys,
    reader: Reader,
    writer: Writer,
    since: Nanos,
    /// When the client last did anything.
    heard: Nanos,
}

pub struct ServerSession {
    state: State,
    token: Token,
    caps: Caps,
    nonce: Nonce,
    began: Nanos,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
    /// Tests that are going on, which make a silent client an occupied one.
    pub running: usize,
}

impl ServerSession {
    pub fn new(token: Token, caps: Caps, nonce: Nonce, now: Nanos) -> ServerSession {
        let (inbox, outbox) = (Vec::new(), Vec::new());
        ServerSession { state: State::Strange, token, caps, nonce, began: now, inbox, outbox, running: 0 }
    }

    /// Bytes from the client.
    pub fn receive(&mut self, now: Nanos, mut bytes: &[u8], acts: &mut Vec<Act>) {
        while !bytes.is_empty() && !self.is_closed() {
            let room = self.room().saturating_sub(self.inbox.len()).min(bytes.len());
            self.inbox.extend_from_slice(&bytes[..room]);
            bytes = &bytes[room..];
            let before = self.inbox.len();
            self.advance(now, acts);
            if room == 0 && self.inbox.len() == before {
                self.fail("more than was agreed", acts);
            }
        }
    }

    /// The most that may lie in the inbox.
    fn room(&self) -> usize {
        match &self.state {
            State::Open(s) => s.reader.room(),
            _ => HELLO_BYTES,
        }
    }

    fn advance(&mut self, now: Nanos, acts: &mut Vec<Act>) {
        loop {
            let step = match &mut self.state {
                State::Strange => self.hear_hello(),
                State::Proving(_) => self.hear_proof(acts),
                State::Open(_) => self.hear_frame(now, acts),
                State::Deciding(_) | State::Closed => Ok(false),
            };
            match step {
                Ok(true) => {}
                Ok(false) => return,
                Err(reason) => return self.fail(reason, acts),
            }
        }
    }

    fn hear_hello(&mut self) -> Result<bool, &'static str> {
        let Some(client) = nonce_of(&self.inbox)? else { return Ok(false) };
        self.inbox.drain(..HELLO_BYTES);
        self.outbox.extend(hello(&self.nonce));
        let nonces = Nonces { client, server: self.nonce };
        self.state = State::Proving(Box::new(Keys::derive(&self.token, &nonces)));
        Ok(true)
    }

    fn hear_proof(&mut self, acts: &mut Vec<Act>) -> Result<bool, &'static str> {
        let Some(proof) = self.inbox.get(..MAC_BYTES) else { return Ok(false) };
        let State::Proving(keys) = std::mem::replace(&mut self.state, State::Closed) else { return Ok(false) };
        if !same(&keys.client_proof, proof) {
            self.turn_away(Verdict::WrongToken);
            acts.push(Act::Close(Err(Verdict::WrongToken.says().into())));
            return Ok(false);
        }
        self.inbox.drain(..MAC_BYTES);
        self.state = State::Deciding(keys);
        acts.push(Act::Proven);
        Ok(false)
    }

    fn hear_frame(&mut self, now: Nanos, acts: &mut Vec<Act>) -> Result<bool, &'static str> {
        let State::Open(speaking) = &mut self.state else { return Ok(false) };
        let Some((frame, took)) = speaking.reader.take(&self.inbox)? else { return Ok(false) };
        self.inbox.drain(..took);
        speaking.heard = now;
        if frame.kind != Kind::Message {
            return Err("a client sends messages only");
        }
        let request = serde_json::from_slice(&frame.payload).map_err(|_| "a message that cannot be read")?;
        if request == (Request::Quit {}) {
            self.close(acts);
            return Ok(false);
        }
        acts.push(Act::Request(request));
        Ok(true)
    }

    /// Answers `Act::Proven`. A client waits for this; one that says much before it is not heard.
    pub fn admit(&mut self, now: Nanos, verdict: Verdict, welcome: Welcome, acts: &mut Vec<Act>) {
        let State::Deciding(keys) = std::mem::replace(&mut self.state, State::Closed) else { return };
        if verdict != Verdict::Welcome {
            self.turn_away(verdict);
            acts.push(Act::Close(Ok(())));
            return;
        }
        self.outbox.push(verdict as u8);
        self.outbox.extend_from_slice(&keys.server_proof);
        let (reader, writer) = (Reader::new(keys.to_server, MOST_REQUEST), Writer::new(keys.to_client));
        self.state = State::Open(Box::new(Speaking { keys: *keys, reader, writer, since: now, heard: now }));
        self.say(&Reply::Welcome(welcome));
        self.advance(now, acts);
    }

    fn turn_away(&mut self, verdict: Verdict) {
        self.outbox.push(verdict as u8);
        self.outbox.extend_from_slice(&[0; VERDICT_BYTES - 1]);
    }

    pub fn say(&mut self, reply: &Reply) {
        let State::Open(speaking) = &mut self.state else { return };
        // A reply is made of numbers and short texts of our own; what does not fit is our mistake, and is left out.
        if let Ok(text) = serde_json::to_vec(reply) {
            speaking.writer.write(Kind::Message, &text, &mut self.outbox);
        }
    }

    /// Sends rows from `first` on as far as there is room; the row after them.
    pub fn say_rows(&mut self, test: u32, name: Name, table: &Table, first: usize) -> usize {
        let State::Open(speaking) = &mut self.state else { return table.len() };
        if self.outbox.len() >= MOST_REPLY {
            return first;
        }
        let head = [test.to_be_bytes().as_slice(), &[name as u8, table.columns as u8]].concat();
        let (piece, next) = table.piece(first, MOST_REPLY - head.len());
        speaking.writer.write(Kind::Table, &[head, piece].concat(), &mut self.outbox);
        next
    }

    /// Sends as much of a capture as there is room for; where to go on.
    pub fn say_packets(&mut self, records: &[u8], first: usize) -> usize {
        let State::Open(speaking) = &mut self.state else { return records.len() };
        if self.outbox.len() >= MOST_REPLY {
            return first;
        }
        let next = records.len().min(first + MOST_REPLY);
        speaking.writer.write(Kind::Packets, &records[first..next], &mut self.outbox);
        next
    }

    /// Ends the session, from this side, with a reason for the client.
    pub fn dismiss(&mut self, reason: &str, acts: &mut Vec<Act>) {
        if !self.is_closed() {
            self.fail(reason, acts);
        }
    }

    fn fail(&mut self, reason: &str, acts: &mut Vec<Act>) {
        self.say(&Reply::Bye { reason: reason.into() });
        self.state = State::Closed;
        acts.push(Act::Close(Err(reason.into())));
    }

    fn close(&mut self, acts: &mut Vec<Act>) {
        if !self.is_closed() {
            self.state = State::Closed;
            acts.push(Act::Close(Ok(())));
        }
    }

    /// When the session ends by itself.
    pub fn due(&self) -> Option<Nanos> {
        match &self.state {
            State::Open(s) => {
                let end = s.since.saturating_add(self.caps.session_ns);
                Some(if self.running > 0 { end } else { end.min(s.heard.saturating_add(self.caps.idle_ns)) })
            }
            State::Closed => None,
            _ => Some(self.began.saturating_add(HANDSHAKE_NS)),
        }
    }

    pub fn tick(&mut self, now: Nanos, acts: &mut Vec<Act>) {
        if self.due().is_none_or(|due| now < due) {
            return;
        }
        let reason = match &self.state {
            State::Open(s) if now - s.since >= self.caps.session_ns => "the session has lasted as long as it may",
            State::Open(_) => "nothing was asked for too long",
            _ => "no proof of the token in time",
        };
        self.dismiss(reason, acts);
    }

    /// A test has ended: silence counts from now.
    pub fn touch(&mut self, now: Nanos) {
        if let State::Open(s) = &mut self.state {
            s.heard = now;
        }
    }

    /// What is to be sent.
    pub fn outbox(&self) -> &[u8] {
        &self.outbox
    }

    pub fn sent(&mut self, bytes: usize) {
        self.outbox.drain(..bytes);
    }

    pub fn keys(&self) -> Option<&Keys> {
        match &self.state {
            State::Open(s) => Some(&s.keys),
            _ => None,
        }
    }

    pub fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Bytes held, for tests of bounds.
    pub fn held(&self) -> usize {
        self.inbox.capacity() + self.outbox.capacity()
    }
}
