//! The client's side of the control connection. The server is believed only after it has proven the token, and never without bounds.

use super::frame::{Kind, Reader, Writer};
use super::hello::{HELLO_BYTES, OTHER_VERSION, VERDICT_BYTES, Verdict, hello, nonce_of};
use super::keys::{Keys, Nonce, Nonces, same};
use super::message::{MOST_REPLY, MOST_REQUEST, Name, Reply, Request};
use crate::token::Token;
use ackclock_core::Problem;

/// What has come from the server.
#[derive(Debug, Clone, PartialEq)]
pub enum Received {
    Reply(Reply),
    /// A piece of a table: test, name, columns, rows.
    Rows(u32, Name, usize, Vec<u8>),
    /// Packets' headers, as a piece of a pcap file.
    Packets(Vec<u8>),
}

enum State {
    Greeting,
    Proving,
    Open(Box<(Reader, Writer)>),
}

pub struct ClientSession {
    state: State,
    token: Token,
    nonce: Nonce,
    keys: Option<Box<Keys>>,
    inbox: Vec<u8>,
    outbox: Vec<u8>,
}

impl ClientSession {
    pub fn new(token: Token, nonce: Nonce) -> ClientSession {
        ClientSession { state: State::Greeting, token, nonce, keys: None, inbox: Vec::new(), outbox: hello(&nonce) }
    }

    /// Bytes from the server. Err ends the session, and says why.
    pub fn receive(&mut self, bytes: &[u8], received: &mut Vec<Received>) -> Result<(), Problem> {
        self.inbox.extend_from_slice(bytes);
        while self.advance(received)? {}
        Ok(())
    }

    fn advance(&mut self, received: &mut Vec<Received>) -> Result<bool, Problem> {
        match &mut self.state {
            State::Greeting => {
                let Some(server) = nonce_of(&self.inbox).map_err(foreign)? else { return Ok(false) };
                self.inbox.drain(..HELLO_BYTES);
                let keys = Keys::derive(&self.token, &Nonces { client: self.nonce, server });
                self.outbox.extend_from_slice(&keys.client_proof);
                (self.keys, self.state) = (Some(Box::new(keys)), State::Proving);
                Ok(true)
            }
            State::Proving => self.hear_verdict(),
            State::Open(speaking) => {
                let Some((frame, took)) = speaking.0.take(&self.inbox).map_err(unexpected)? else { return Ok(false) };
                self.inbox.drain(..took);
                received.push(understood(frame.kind, &frame.payload)?);
                Ok(true)
            }
        }
    }

    fn hear_verdict(&mut self) -> Result<bool, Problem> {
        let (Some(bytes), Some(keys)) = (self.inbox.get(..VERDICT_BYTES), &self.keys) else { return Ok(false) };
        let verdict = Verdict::of(bytes[0]).ok_or_else(|| unexpected("an answer that cannot be read"))?;
        if verdict != Verdict::Welcome {
            let option = if verdict == Verdict::WrongToken { "--token-file" } else { "" };
            return Err(Problem::new(verdict.says(), verdict.remedy()).of_option(option));
        }
        if !same(&keys.server_proof, &bytes[1..]) {
            return Err(Problem::new(
                "the far end does not prove that it knows the token",
                "check the address and the token: another program may answer there",
            ));
        }
        self.inbox.drain(..VERDICT_BYTES);
        self.state = State::Open(Box::new((Reader::new(keys.to_client, MOST_REPLY), Writer::new(keys.to_server))));
        Ok(true)
    }

    /// Says something. Err: it is too long to be said.
    pub fn say(&mut self, request: &Request) -> Result<(), Problem> {
        let State::Open(speaking) = &mut self.state else { return Err(Problem::new("there is no session yet", "connect first")) };
        let text = serde_json::to_vec(request).map_err(|e| unexpected(&e.to_string()))?;
        if text.len() > MOST_REQUEST {
            return Err(Problem::found(format!("a request of {} B", text.len()), format!("{MOST_REQUEST} B at most")));
        }
        speaking.1.write(Kind::Message, &text, &mut self.outbox);
        Ok(())
    }

    pub fn outbox(&self) -> &[u8] {
        &self.outbox
    }

    pub fn sent(&mut self, bytes: usize) {
        self.outbox.drain(..bytes);
    }

    /// The keys, once there is a session.
    pub fn keys(&self) -> Option<&Keys> {
        matches!(self.state, State::Open(_)).then_some(self.keys.as_deref()).flatten()
    }
}

/// The first bytes are not those of this protocol's version.
fn foreign(why: &'static str) -> Problem {
    if why == OTHER_VERSION {
        return Problem::new(
            "the far end speaks another version of ackclock's protocol",
            "install the same ackclock at both ends",
        );
    }
    Problem::new(
        format!("what listens there does not speak ackclock's protocol ({why})"),
        "check the port: `ackclock serve` prints its own, --port names it here",
    )
}

/// The far end violates the protocol.
pub fn unexpected(what: &str) -> Problem {
    Problem::new(format!("the far end sent {what}"), "install the same ackclock at both ends, and measure again")
}

fn understood(kind: Kind, payload: &[u8]) -> Result<Received, Problem> {
    if kind == Kind::Message {
        return serde_json::from_slice(payload)
            .map(Received::Reply)
            .map_err(|e| unexpected(&format!("a message that cannot be read ({e})")));
    }
    if kind == Kind::Packets {
        return Ok(Received::Packets(payload.to_vec()));
    }
    let (head, rows) = payload.split_first_chunk::<6>().ok_or_else(|| unexpected("a table without a head"))?;
    let test = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    let name = Name::of(head[4]).ok_or_else(|| unexpected("a table of an unknown name"))?;
    Ok(Received::Rows(test, name, usize::from(head[5]), rows.to_vec()))
}
