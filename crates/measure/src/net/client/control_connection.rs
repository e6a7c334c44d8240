//! Control connection of the client: its socket, its state machine, and the errors that name the
//! far end.

use super::super::clock::HostClock;
use super::super::sockets;
use super::super::wait::wait;
use super::{ClientConfig, addresses_of};
use crate::control::client::{ClientSession, ServerMessage, unexpected};
use crate::control::keys::SessionKeys;
use crate::control::message::{ClientRequest, ServerReply, Welcome};
use crate::token::random;
use crate::{MS, MeasureError, Nanos, SECOND};
use ackclock_core::Problem;
use ackclock_core::problem::reason;
use nix::poll::{PollFd, PollFlags};
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::time::Duration;

/// Timeout of a connection attempt.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout of the far end's replies.
pub const REPLY_TIMEOUT_NS: Nanos = 20 * SECOND;
/// Maximum bytes of one read.
const READ: usize = 1 << 16;
const CLOSED: &str = "the far end's log has the reason: it may be full, or have ended; then try again";

pub struct ControlConnection {
    pub server: SocketAddr,
    clock: HostClock,
    stream: TcpStream,
    session: ClientSession,
    scratch: Vec<u8>,
    /// Received messages that were not handled yet.
    pending: VecDeque<ServerMessage>,
    /// Bytes written and read.
    pub moved: u64,
}

impl ControlConnection {
    /// Connects to the far end, without the handshake.
    pub fn open(config: &ClientConfig, clock: HostClock) -> Result<ControlConnection, MeasureError> {
        let (stream, server) = connect_any(&config.host, config.port)?;
        sockets::set_nodelay(&stream);
        let mut ephemeral = [0; 32];
        random(&mut ephemeral)?;
        let session = ClientSession::new(&config.token, ephemeral);
        Ok(ControlConnection { server, clock, stream, session, scratch: vec![0; READ], pending: VecDeque::new(), moved: 0 })
    }

    /// This end's address.
    pub fn local_ip(&self) -> Result<IpAddr, MeasureError> {
        Ok(self.stream.local_addr().map_err(MeasureError::refused("reaching the far end"))?.ip())
    }

    /// Proves the token to the far end, and receives the far end's proof.
    pub fn handshake(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<Welcome, MeasureError> {
        let brief = Duration::from_millis(100);
        self.stream.set_read_timeout(Some(brief)).map_err(MeasureError::refused("reaching the far end"))?;
        let until = self.clock.now() + REPLY_TIMEOUT_NS;
        let mut received = Vec::new();
        while received.is_empty() {
            if !keep_going() {
                return Err(MeasureError::Interrupted);
            }
            if self.clock.now() > until {
                return Err(MeasureError::Input(self.with_address(Problem::new(
                    format!("no reply in ackclock's protocol within {} s", REPLY_TIMEOUT_NS / SECOND),
                    "check the port: `ackclock serve` prints its own, --port names it here",
                ))));
            }
            // Errors in a handshake are about the token or the far end's limits: bad input, not a
            // failure.
            received = self.exchange().map_err(|why| MeasureError::Input(self.with_address(why)))?.0;
        }
        let ServerMessage::Reply(ServerReply::Welcome(welcome)) = received.remove(0) else {
            return Err(self.protocol_error("no welcome"));
        };
        self.stream.set_nonblocking(true).map_err(MeasureError::refused("reaching the far end"))?;
        Ok(welcome)
    }

    /// Writes queued output and reads input. Returns the received messages, and whether any bytes
    /// have arrived.
    fn exchange(&mut self) -> Result<(Vec<ServerMessage>, bool), Problem> {
        while !self.session.outbox().is_empty() {
            match self.stream.write(self.session.outbox()) {
                Ok(written) => {
                    self.session.sent(written);
                    self.moved += written as u64;
                }
                Err(e) if is_retryable(&e) => break,
                Err(e) => return Err(connection_lost(&e)),
            }
        }
        let mut received = Vec::new();
        match self.stream.read(&mut self.scratch) {
            Ok(0) => Err(Problem::new("the far end closed the connection", CLOSED)),
            Ok(read) => {
                self.moved += read as u64;
                self.session.receive(&self.scratch[..read], &mut received).map(|()| (received, true))
            }
            Err(e) if is_retryable(&e) => Ok((received, false)),
            Err(e) => Err(connection_lost(&e)),
        }
    }

    /// Writes queued output and returns the messages that have arrived.
    pub fn receive(&mut self) -> Result<Vec<ServerMessage>, MeasureError> {
        self.exchange().map(|(received, _)| received).map_err(|why| MeasureError::Failed(self.with_address(why)))
    }

    /// Sends a keepalive. Messages that have arrived remain for `wait_for_message`.
    pub fn keep_alive(&mut self) -> Result<(), MeasureError> {
        self.send_request(&ClientRequest::KeepAlive {})?;
        let received = self.receive()?;
        if let Some(ServerMessage::Reply(ServerReply::Bye { reason })) = received.first() {
            return Err(self.session_ended(reason));
        }
        self.pending.extend(received);
        Ok(())
    }

    /// Queues a request.
    pub fn send_request(&mut self, request: &ClientRequest) -> Result<(), MeasureError> {
        self.session.send_request(request).map_err(MeasureError::Failed)
    }

    /// Keys of the session, after the handshake.
    pub fn keys(&self) -> Option<&SessionKeys> {
        self.session.keys()
    }

    /// The socket with its poll events.
    pub fn polled(&self) -> PollFd<'_> {
        let write = if self.session.outbox().is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
        PollFd::new(self.stream.as_fd(), PollFlags::POLLIN | write)
    }

    /// Waits for one message from the far end.
    pub fn wait_for_message(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<ServerMessage, MeasureError> {
        let mut deadline = self.clock.now() + REPLY_TIMEOUT_NS;
        while self.pending.is_empty() {
            wait(&self.clock, &mut [self.polled()], self.clock.now() + 100 * MS)?;
            let (received, any) = self.exchange().map_err(|why| MeasureError::Failed(self.with_address(why)))?;
            if any {
                deadline = self.clock.now() + REPLY_TIMEOUT_NS;
            }
            self.pending.extend(received);
            if !keep_going() {
                return Err(MeasureError::Interrupted);
            }
            if self.clock.now() > deadline {
                return Err(self.no_reply());
            }
        }
        match self.pending.pop_front() {
            Some(ServerMessage::Reply(ServerReply::Bye { reason })) => Err(self.session_ended(&reason)),
            Some(received) => Ok(received),
            None => Err(self.no_reply()),
        }
    }

    /// Ends the session. The far end frees it without waiting for the idle timeout.
    pub fn quit(mut self) {
        // If the connection is lost, the far end detects that itself.
        let _ = self.session.send_request(&ClientRequest::Quit {});
        let _ = self.stream.write_all(self.session.outbox());
    }

    /// Adds the far end's address to a problem.
    pub fn with_address(&self, problem: Problem) -> Problem {
        at_address(self.server, problem)
    }

    /// Error: the far end ended the session.
    pub fn session_ended(&self, reason: &str) -> MeasureError {
        MeasureError::Failed(self.with_address(Problem::new(format!("the far end ended the session: {reason}"), "measure again")))
    }

    pub fn no_reply(&self) -> MeasureError {
        MeasureError::Failed(self.with_address(Problem::new(
            format!("the far end has not answered for {} s", REPLY_TIMEOUT_NS / SECOND),
            "check that it is running and that the path carries TCP, and measure again",
        )))
    }

    pub fn protocol_error(&self, what: &str) -> MeasureError {
        MeasureError::Failed(self.with_address(unexpected(what)))
    }
}

fn is_retryable(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::TimedOut)
}

fn connection_lost(error: &std::io::Error) -> Problem {
    Problem::new(format!("the connection to the far end broke ({})", reason(error)), CLOSED)
}

fn at_address(address: SocketAddr, problem: Problem) -> Problem {
    if problem.statement.is_empty() {
        return Problem { found: format!("{} at {address}", problem.found).into(), ..problem };
    }
    Problem { statement: format!("{address}: {}", problem.statement).into(), ..problem }
}

/// Connects to the first address that answers.
fn connect_any(host: &str, port: u16) -> Result<(TcpStream, SocketAddr), MeasureError> {
    let mut why = None;
    for address in addresses_of(host, port)? {
        match TcpStream::connect_timeout(&address, CONNECT) {
            Ok(stream) => return Ok((stream, address)),
            Err(error) => why = Some(unreachable(address, &error)),
        }
    }
    let none = || Problem::new(format!("the name {host} has no address"), "give the address itself");
    Err(MeasureError::Input(why.unwrap_or_else(none)))
}

/// Error of a connection attempt, with the remedy for its cause.
fn unreachable(address: SocketAddr, error: &std::io::Error) -> Problem {
    let port = address.port();
    match error.kind() {
        ErrorKind::ConnectionRefused => Problem::new(
            format!("nothing listens at {address} (TCP; connection refused)"),
            "start `ackclock serve` there, or name its port with --port",
        )
        .of_option("--port"),
        ErrorKind::TimedOut | ErrorKind::WouldBlock => Problem::new(
            format!("{address} has not answered for {} s (TCP)", CONNECT.as_secs()),
            format!("check the address, and that firewalls let TCP and UDP port {port} through"),
        )
        .of_option("HOST"),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown => Problem::new(
            format!("there is no route to {} ({})", address.ip(), reason(error)),
            "check the address and this machine's network (ip route)",
        )
        .of_option("HOST"),
        _ => Problem::refused(&format!("connecting to {address}"), error),
    }
}
