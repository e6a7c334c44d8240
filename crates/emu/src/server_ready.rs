//! Delays the client's command until the server's command listens, so that the first connection is
//! not refused.

use crate::EmuError;
use crate::af_packet::PacketSocket;
use crate::clock::MonotonicClock;
use crate::netns::Namespaces;
use crate::poller::Poller;
use ackclock_core::{Span, Time};
use serde::Deserialize;
use std::time::Duration;

/// The condition for the start of the client's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerReady {
    /// No condition.
    None,
    /// The server has an open port, has sent a packet, or has ended; at the latest after
    /// `ANY_PORT_TIMEOUT`.
    Any,
    /// This port is open (TCP in LISTEN, or UDP). The emulation fails after `PORT_TIMEOUT`.
    Port(u16),
}

const ANY_PORT_TIMEOUT: Span = Span::from_secs(5);
const PORT_TIMEOUT: Span = Span::from_secs(30);
/// Interval between two checks, and its lower bound as a multiple of a check's duration: the kernel
/// walks its whole TCP table for a check, which takes 4 ms at 262,144 buckets.
const CHECK_INTERVAL: Span = Span::from_ms(5);
const INTERVAL_PER_CHECK: u64 = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ServerState {
    Starting,
    Ready,
    Exited(i32),
}

/// Waits until the command of the started server is ready. Returns a warning if the client's
/// command is to start although it is not.
///
/// The network does not run yet: time counts from the client's command. Packets that the server
/// sends meanwhile enter the network then.
pub fn wait_for_server(
    condition: ServerReady,
    namespaces: &mut Namespaces,
    sockets: &mut [PacketSocket],
    poller: &Poller,
) -> Result<Option<String>, EmuError> {
    let timeout = match condition {
        ServerReady::None => return Ok(None),
        ServerReady::Any => ANY_PORT_TIMEOUT,
        ServerReady::Port(_) => PORT_TIMEOUT,
    };
    let clock = MonotonicClock::start();
    let state = loop {
        let start = clock.now();
        let state = check(condition, namespaces, &mut sockets[0]);
        // Tested after `check`: a signal to the process group also ends the server.
        if poller.stop_signalled() {
            return Err(EmuError::Failed("it was ended by a signal before its command started".into()));
        }
        if state != ServerState::Starting || start >= Time::ZERO + timeout {
            break state;
        }
        let now = clock.now();
        let interval = CHECK_INTERVAL.max(Span((now - start).0 * INTERVAL_PER_CHECK));
        match condition {
            ServerReady::Port(_) => poller.sleep_unconditionally(Duration::from_secs_f64(interval.as_secs())),
            _ => sleep_until_sent(&clock, now + interval, namespaces, &mut sockets[0], poller)?,
        }
    };
    let port = match condition {
        ServerReady::Port(port) => format!("port {port}"),
        _ => "any port".into(),
    };
    let problem = match state {
        ServerState::Ready => return Ok(None),
        ServerState::Exited(status) => format!("the server's command ended with status {status} before it listened on {port}"),
        ServerState::Starting => format!("the server's command has not listened on {port} for {:.0} s", timeout.as_secs()),
    };
    match condition {
        ServerReady::Port(_) => Err(EmuError::Failed(problem)),
        _ => Ok(Some(problem + "; the client's command starts without it")),
    }
}

/// Sleeps until `end`, or until the server has sent a packet to a client: at 1 Gb/s the RX ring is
/// full within two intervals.
fn sleep_until_sent(
    clock: &MonotonicClock,
    end: Time,
    namespaces: &Namespaces,
    socket: &mut PacketSocket,
    poller: &Poller,
) -> Result<(), EmuError> {
    while clock.now() < end && !has_sent(namespaces, socket) {
        poller.sleep_for_packet(socket, Duration::from_secs_f64((end - clock.now()).as_secs()))?;
    }
    Ok(())
}

/// Whether the server has sent a packet to a client. A query of a name server, for one, goes to no
/// client.
fn has_sent(namespaces: &Namespaces, socket: &mut PacketSocket) -> bool {
    let (addresses, clients) = (namespaces.addresses, namespaces.clients.len());
    socket.skip_until(|packet| addresses.client_of(packet).is_some_and(|client| (client as usize) < clients))
}

fn check(condition: ServerReady, namespaces: &mut Namespaces, socket: &mut PacketSocket) -> ServerState {
    let ports = || namespaces.server_ports();
    let is_ready = match condition {
        ServerReady::Port(port) => ports().is_some_and(|open| open.contains(&port)),
        // Unreadable port tables count as ready. So does a server that has sent a packet to a
        // client: it is the active opener.
        _ => has_sent(namespaces, socket) || ports().is_none_or(|open| !open.is_empty()),
    };
    match namespaces.server_exit_status() {
        _ if is_ready => ServerState::Ready,
        Some(status) => ServerState::Exited(status),
        None => ServerState::Starting,
    }
}
