//! The client: a session with a far end. Steps of a session are sequential; the tests of a step are
//! concurrent.

mod remote_capture;
mod run_tests;
mod test_state;

use super::clock::HostClock;
use super::datagrams::UdpReceiver;
use super::sockets;
use super::test_io::scratch;
use crate::control::client::{ClientSession, ServerMessage, unexpected};
use crate::control::message::{ClientRequest, ServerReply, Welcome};
use crate::token::{Token, random};
use crate::{MeasureError, Nanos, SECOND};
use ackclock_core::Problem;
use ackclock_core::problem::reason;
pub use remote_capture::RemoteCapture;
use std::collections::VecDeque;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs, UdpSocket};
use std::time::Duration;

/// Timeout of a connection attempt.
const CONNECT: Duration = Duration::from_secs(5);
/// Timeout of the far end's replies.
pub const REPLY_TIMEOUT_NS: Nanos = 20 * SECOND;
const READ: usize = 1 << 16;

#[derive(Debug, Clone)]
pub struct ClientConfig {
    pub host: String,
    pub port: u16,
    pub token: Token,
}

pub struct MeasurementClient {
    pub clock: HostClock,
    pub welcome: Welcome,
    pub server: SocketAddr,
    control: TcpStream,
    session: ClientSession,
    udp: UdpSocket,
    receiver: UdpReceiver,
    scratch: Vec<u8>,
    next_test: u32,
    /// Received messages that were not handled yet.
    pending: VecDeque<ServerMessage>,
    capture_bytes: u64,
    /// Time of the last keepalive.
    last_keepalive: Nanos,
}

impl MeasurementClient {
    /// Opens a session. The far end has proven the token when this returns.
    pub fn connect(config: &ClientConfig, keep_going: &mut dyn FnMut() -> bool) -> Result<MeasurementClient, MeasureError> {
        let (control, server) = connect_any(&config.host, config.port)?;
        sockets::set_nodelay(&control);
        let mut nonce = [0; 32];
        random(&mut nonce)?;
        let here = control.local_addr().map_err(MeasureError::refused("reaching the far end"))?;
        let mut client = MeasurementClient {
            clock: HostClock::start(0),
            welcome: empty_welcome(),
            server,
            session: ClientSession::new(config.token.clone(), nonce),
            udp: sockets::datagrams(SocketAddr::new(here.ip(), 0))?,
            receiver: UdpReceiver::new(),
            scratch: scratch(),
            next_test: 0,
            pending: VecDeque::new(),
            capture_bytes: 0,
            last_keepalive: Nanos::MIN,
            control,
        };
        client.handshake(keep_going)?;
        Ok(client)
    }

    fn handshake(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<(), MeasureError> {
        let brief = Duration::from_millis(100);
        self.control.set_read_timeout(Some(brief)).map_err(MeasureError::refused("reaching the far end"))?;
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
            self.exchange(&mut received).map_err(|why| MeasureError::Input(self.with_address(why)))?;
        }
        match received.remove(0) {
            ServerMessage::Reply(ServerReply::Welcome(welcome)) => self.welcome = welcome,
            _ => return Err(MeasureError::Failed(self.with_address(unexpected("no welcome")))),
        }
        self.control.set_nonblocking(true).map_err(MeasureError::refused("reaching the far end"))
    }

    /// Writes queued output and reads input. True if messages have arrived.
    fn exchange(&mut self, received: &mut Vec<ServerMessage>) -> Result<bool, Problem> {
        while !self.session.outbox().is_empty() {
            match self.control.write(self.session.outbox()) {
                Ok(written) => self.session.sent(written),
                Err(e) if is_retryable(&e) => break,
                Err(e) => return Err(connection_lost(&e)),
            }
        }
        match self.control.read(&mut self.scratch[..READ]) {
            Ok(0) => Err(Problem::new("the far end closed the connection", CLOSED)),
            Ok(read) => self.session.receive(&self.scratch[..read], received).map(|()| true),
            Err(e) if is_retryable(&e) => Ok(false),
            Err(e) => Err(connection_lost(&e)),
        }
    }

    fn send_request(&mut self, request: &ClientRequest) -> Result<(), MeasureError> {
        self.session.send_request(request).map_err(MeasureError::Failed)
    }

    /// Keeps the session open while no test runs: sends a keepalive after a fifth of the far end's
    /// idle timeout. Call it more often than that. Failed: the far end has ended the session.
    pub fn keep_alive(&mut self) -> Result<(), MeasureError> {
        let now = self.clock.now();
        if now < self.last_keepalive.saturating_add(self.welcome.quotas.idle_ns / 5) {
            return Ok(());
        }
        self.last_keepalive = now;
        self.send_request(&ClientRequest::KeepAlive {})?;
        let mut received = Vec::new();
        self.exchange(&mut received).map_err(|why| MeasureError::Failed(self.with_address(why)))?;
        if let Some(ServerMessage::Reply(ServerReply::Bye { reason })) = received.first() {
            return Err(self.session_ended(reason));
        }
        self.pending.extend(received);
        Ok(())
    }

    /// Adds the far end's address to a problem.
    fn with_address(&self, problem: Problem) -> Problem {
        at_address(self.server, problem)
    }

    /// Ends the session. The far end frees it without waiting for the idle timeout.
    pub fn quit(mut self) {
        // If the connection is lost, the far end detects that itself.
        let _ = self.session.send_request(&ClientRequest::Quit {});
        let _ = self.control.write_all(self.session.outbox());
    }
}

fn is_retryable(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted | ErrorKind::TimedOut)
}

const CLOSED: &str = "the far end's log has the reason: it may be full, or have ended; then try again";

fn connection_lost(error: &std::io::Error) -> Problem {
    Problem::new(format!("the connection to the far end broke ({})", reason(error)), CLOSED)
}

fn at_address(address: SocketAddr, problem: Problem) -> Problem {
    if problem.statement.is_empty() {
        return Problem { found: format!("{} at {address}", problem.found).into(), ..problem };
    }
    Problem { statement: format!("{address}: {}", problem.statement).into(), ..problem }
}

/// Addresses of a name. An input error names the argument HOST.
pub fn addresses_of(host: &str, port: u16) -> Result<Vec<SocketAddr>, MeasureError> {
    let unknown = |why: String| {
        let problem =
            Problem::new(format!("the name {host} has no address{why}"), "check its spelling, or give the address itself");
        MeasureError::Input(problem.of_option("HOST"))
    };
    let addresses: Vec<SocketAddr> = (host, port).to_socket_addrs().map_err(|e| unknown(format!(" ({})", reason(&e))))?.collect();
    if addresses.is_empty() { Err(unknown(String::new())) } else { Ok(addresses) }
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

/// Placeholder until the far end's welcome arrives.
fn empty_welcome() -> Welcome {
    let clock = crate::control::message::ClockState { synchronised: false, pps: false, max_error_ns: 0 };
    Welcome {
        version: String::new(),
        system: String::new(),
        quotas: crate::quotas::Quotas::default(),
        congestion: Vec::new(),
        clock,
    }
}
