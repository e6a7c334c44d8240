//! The end that asks: one session, in it one step after another, in each step tests that run at the same time.

mod captured;
mod step;
mod test;

use super::clock::Clock;
use super::datagrams::Inbox;
use super::run::scratch;
use super::sockets;
use crate::control::client::{ClientSession, Heard};
use crate::control::message::{Reply, Request, Welcome};
use crate::token::{Token, random};
use crate::{MeasureError, Nanos, SECOND};
pub use captured::Captured;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;
pub use test::Record;

/// An address that does not answer for so long is not reachable.
const CONNECT: Duration = Duration::from_secs(5);
/// The far end has this long for each answer.
pub const PATIENCE_NS: Nanos = 20 * SECOND;
const READ: usize = 1 << 16;

#[derive(Debug, Clone)]
pub struct ClientOptions {
    pub host: String,
    pub port: u16,
    pub token: Token,
}

pub struct Client {
    pub clock: Clock,
    pub welcome: Welcome,
    pub server: SocketAddr,
    control: TcpStream,
    session: ClientSession,
    udp: UdpSocket,
    inbox: Inbox,
    scratch: Vec<u8>,
    next_test: u32,
    /// Said by the far end, and not yet looked at.
    said: VecDeque<Heard>,
    capture_bytes: u64,
    /// When it last said that it is there.
    kept_alive: Nanos,
}

impl Client {
    /// A session with a far end that has proven to know the token.
    pub fn connect(options: &ClientOptions, keep_going: &mut dyn FnMut() -> bool) -> Result<Client, MeasureError> {
        let (control, server) = reach(&options.host, options.port)?;
        sockets::no_delay(&control);
        let mut nonce = [0; 32];
        random(&mut nonce)?;
        let here = control.local_addr().map_err(MeasureError::refused("reaching the far end"))?;
        let mut client = Client {
            clock: Clock::start(0),
            welcome: nobody(),
            server,
            session: ClientSession::new(options.token.clone(), nonce),
            udp: sockets::datagrams(SocketAddr::new(here.ip(), 0))?,
            inbox: Inbox::new(),
            scratch: scratch(),
            next_test: 0,
            said: VecDeque::new(),
            capture_bytes: 0,
            kept_alive: Nanos::MIN,
            control,
        };
        client.greet(keep_going)?;
        Ok(client)
    }

    fn greet(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<(), MeasureError> {
        let brief = Duration::from_millis(100);
        self.control.set_read_timeout(Some(brief)).map_err(MeasureError::refused("reaching the far end"))?;
        let until = self.clock.now() + PATIENCE_NS;
        let mut heard = Vec::new();
        while heard.is_empty() {
            if !keep_going() {
                return Err(MeasureError::Interrupted);
            }
            if self.clock.now() > until {
                return Err(MeasureError::Input(format!("{}: nobody there speaks ackclock's protocol", self.server)));
            }
            // What the far end says in a handshake is about the token or its limits: bad input, not failed work.
            self.exchange(&mut heard).map_err(|why| MeasureError::Input(format!("{}: {why}", self.server)))?;
        }
        match heard.remove(0) {
            Heard::Reply(Reply::Welcome(welcome)) => self.welcome = welcome,
            _ => return Err(MeasureError::Failed(format!("{}: no welcome", self.server))),
        }
        self.control.set_nonblocking(true).map_err(MeasureError::refused("reaching the far end"))
    }

    /// Writes what is to be said and reads what has been said; whether anything has come.
    fn exchange(&mut self, heard: &mut Vec<Heard>) -> Result<bool, String> {
        while !self.session.outbox().is_empty() {
            match self.control.write(self.session.outbox()) {
                Ok(written) => self.session.sent(written),
                Err(e) if is_patient(&e) => break,
                Err(e) => return Err(e.to_string()),
            }
        }
        match self.control.read(&mut self.scratch[..READ]) {
            Ok(0) => Err("the far end closed the connection".into()),
            Ok(read) => self.session.receive(&self.scratch[..read], heard).map(|()| true),
            Err(e) if is_patient(&e) => Ok(false),
            Err(e) => Err(e.to_string()),
        }
    }

    fn say(&mut self, request: &Request) -> Result<(), MeasureError> {
        self.session.say(request).map_err(MeasureError::Failed)
    }

    /// Keeps the session while no test runs: says that this end is there when a fifth of the silence that the far end allows has passed. To
    /// be called more often than that. Failed: the far end has ended the session.
    pub fn keep_alive(&mut self) -> Result<(), MeasureError> {
        let now = self.clock.now();
        if now < self.kept_alive.saturating_add(self.welcome.caps.idle_ns / 5) {
            return Ok(());
        }
        self.kept_alive = now;
        self.say(&Request::KeepAlive {})?;
        let mut heard = Vec::new();
        self.exchange(&mut heard).map_err(|why| self.failed(&why))?;
        if let Some(Heard::Reply(Reply::Bye { reason })) = heard.first() {
            return Err(self.failed(reason));
        }
        self.said.extend(heard);
        Ok(())
    }

    fn failed(&self, why: &str) -> MeasureError {
        MeasureError::Failed(format!("{}: {why}", self.server))
    }

    /// The session is over: the far end need not wait for it to be idle.
    pub fn quit(mut self) {
        // Whoever has gone finds out by itself.
        let _ = self.session.say(&Request::Quit {});
        let _ = self.control.write_all(self.session.outbox());
    }
}

fn is_patient(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::TimedOut)
}

/// The first address that answers.
fn reach(host: &str, port: u16) -> Result<(TcpStream, SocketAddr), MeasureError> {
    let input = |why: String| MeasureError::Input(format!("{host}: {why}"));
    let addresses = (host, port).to_socket_addrs().map_err(|e| input(format!("no such host ({e})")))?;
    let mut why = String::from("no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok((stream, address)),
            Err(e) => why = format!("cannot be reached at port {port} ({e})"),
        }
    }
    Err(input(why))
}

/// Until the far end has said who it is.
fn nobody() -> Welcome {
    let clock = crate::control::message::ClockState { synchronised: false, pps: false, most_error_ns: 0 };
    Welcome { version: String::new(), system: String::new(), caps: crate::caps::Caps::default(), congestion: Vec::new(), clock }
}
