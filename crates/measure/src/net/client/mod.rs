//! The client: a session with a far end. Steps of a session are sequential; the tests of a step are
//! concurrent.

mod control_connection;
mod remote_capture;
mod test_runner;
mod test_state;

use super::clock::HostClock;
use super::datagrams::UdpReceiver;
use super::sockets;
use super::test_io::scratch;
use crate::control::message::Welcome;
use crate::rate_budget::tcp_wire_bytes;
use crate::record::TestRecord;
use crate::test_spec::TestSpec;
use crate::token::Token;
use crate::{MeasureError, Nanos};
use ackclock_core::Problem;
use ackclock_core::problem::reason;
use control_connection::ControlConnection;
pub use remote_capture::RemoteCapture;
use std::net::{SocketAddr, ToSocketAddrs, UdpSocket};
pub use test_runner::ProgressCallback;
use test_runner::TestRunner;
pub use test_state::StepTest;

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
    control: ControlConnection,
    udp: UdpSocket,
    receiver: UdpReceiver,
    scratch: Vec<u8>,
    next_test: u32,
    capture_bytes: u64,
    /// Time of the last keepalive.
    last_keepalive: Nanos,
}

impl MeasurementClient {
    /// Opens a session. The far end has proven the token when this returns.
    pub fn connect(config: &ClientConfig, keep_going: &mut dyn FnMut() -> bool) -> Result<MeasurementClient, MeasureError> {
        let clock = HostClock::start(0);
        let mut control = ControlConnection::open(config, clock)?;
        let udp = sockets::datagrams(SocketAddr::new(control.local_ip()?, 0))?;
        let welcome = control.handshake(keep_going)?;
        Ok(MeasurementClient {
            clock,
            welcome,
            server: control.server,
            control,
            udp,
            receiver: UdpReceiver::new(),
            scratch: scratch(),
            next_test: 0,
            capture_bytes: 0,
            last_keepalive: Nanos::MIN,
        })
    }

    /// Runs tests concurrently. Returns their records in the order of `specs`.
    pub fn run(&mut self, specs: Vec<TestSpec>, on_progress: ProgressCallback<'_>) -> Result<Vec<TestRecord>, MeasureError> {
        self.run_step(specs.into_iter().map(StepTest::at_start).collect(), on_progress)
    }

    /// Runs tests concurrently, each from its own time on. Returns their records in the order of
    /// `tests`.
    pub fn run_step(&mut self, tests: Vec<StepTest>, on_progress: ProgressCallback<'_>) -> Result<Vec<TestRecord>, MeasureError> {
        let mut runner = TestRunner::new(self);
        tests.into_iter().try_for_each(|test| runner.start(test))?;
        runner.run(on_progress)
    }

    /// Bytes of IP that the control connection has moved in both directions, without ACKs: requests,
    /// reports and captures.
    pub fn control_bytes(&self) -> u64 {
        tcp_wire_bytes(self.control.moved)
    }

    /// Keeps the session open while no test runs: sends a keepalive after a fifth of the far end's
    /// idle timeout. Call it more often than that. Failed: the far end has ended the session.
    pub fn keep_alive(&mut self) -> Result<(), MeasureError> {
        let now = self.clock.now();
        if now < self.last_keepalive.saturating_add(self.welcome.quotas.idle_ns / 5) {
            return Ok(());
        }
        self.last_keepalive = now;
        self.control.keep_alive()
    }

    /// Starts a capture at the far end. Input: the far end or its system refuses.
    pub fn begin_capture(&mut self, bytes: u64, keep_going: &mut dyn FnMut() -> bool) -> Result<(), MeasureError> {
        self.capture_bytes = bytes;
        RemoteCapture::begin(&mut self.control, bytes, keep_going)
    }

    /// Ends the capture and receives it. The duration depends on the path's rate.
    pub fn end_capture(&mut self, keep_going: &mut dyn FnMut() -> bool) -> Result<RemoteCapture, MeasureError> {
        RemoteCapture::receive(&mut self.control, self.capture_bytes, keep_going)
    }

    /// Ends the session. The far end frees it without waiting for the idle timeout.
    pub fn quit(self) {
        self.control.quit();
    }
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

/// Error: the far end refuses a request.
pub(super) fn refusal(reason: String, allowed: Option<String>) -> Problem {
    match allowed {
        Some(allowed) => Problem::found(reason, format!("{allowed}, by the far end's limits")),
        None => Problem::new(format!("the far end refuses: {reason}"), "ask its operator, or change the request"),
    }
}
