//! Start of the client's command: not before the server's command listens, so that the first connection is not refused.

use crate::EmuError;
use crate::clock::RealTime;
use crate::gate::Gate;
use crate::place::{Addresses, Places};
use crate::wait::Wait;
use ackclock_core::{Span, Time};
use serde::Deserialize;
use std::time::Duration;

/// The condition for the start of the client's command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServerReady {
    /// No condition.
    None,
    /// Until the server has any open port, sends something itself, or ends, but not longer than `PATIENCE`.
    Any,
    /// Until this port is open (TCP in LISTEN, or UDP). The emulation fails if it does not open in time.
    Port(u16),
}

/// Time limits for any port, and for a port given by number.
const PATIENCE: Span = Span::from_secs(5);
const PATIENCE_FOR_PORT: Span = Span::from_secs(30);
/// How long to sleep between two looks, and how many times as long as a look takes: the kernel walks all its TCP sockets for it, in 4 ms
/// where its table has 262,144 places.
const PAUSE: Span = Span::from_ms(5);
const PAUSE_PER_LOOK: u64 = 4;

/// State of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Server {
    Starting,
    Ready,
    Ended(i32),
}

/// Waits until the started server's command is ready. Returns a warning where the client's command starts although it is not.
///
/// The network does not run yet: time counts from the client's command. What the server sends meanwhile enters the network then.
pub fn wait_for_server(
    asked: ServerReady,
    places: &mut Places,
    gates: &mut [Gate],
    wait: &Wait,
) -> Result<Option<String>, EmuError> {
    let patience = match asked {
        ServerReady::None => return Ok(None),
        ServerReady::Any => PATIENCE,
        ServerReady::Port(_) => PATIENCE_FOR_PORT,
    };
    let clock = RealTime::start();
    let found = loop {
        let before = clock.now();
        let found = look(asked, places, &mut gates[0]);
        // Checked after `look`: a signal to the process group also ends the server.
        if wait.stop_signalled() {
            return Err(EmuError::Failed("it was ended by a signal before its command started".into()));
        }
        if found != Server::Starting || before >= Time::ZERO + patience {
            break found;
        }
        let pause = PAUSE.max(Span((clock.now() - before).0 * PAUSE_PER_LOOK));
        wait.rest(Duration::from_secs_f64(pause.as_secs()));
    };
    let port = match asked {
        ServerReady::Port(port) => format!("port {port}"),
        _ => "any port".into(),
    };
    let short = match found {
        Server::Ready => return Ok(None),
        Server::Ended(status) => format!("the server's command ended with status {status} before it listened on {port}"),
        Server::Starting => format!("the server's command has not listened on {port} for {:.0} s", patience.as_secs()),
    };
    match asked {
        ServerReady::Port(_) => Err(EmuError::Failed(short)),
        _ => Ok(Some(short + "; the client's command starts without it")),
    }
}

fn look(asked: ServerReady, places: &mut Places, gate: &mut Gate) -> Server {
    let ports = places.server_ports();
    let ready = match asked {
        ServerReady::Port(port) => ports.is_some_and(|open| open.contains(&port)),
        // Where the ports cannot be read there is nothing to wait for. Who sends to a client is no server that is waited for.
        _ => ports.is_none_or(|open| !open.is_empty()) || gate.has(Addresses::is_for_one),
    };
    match places.server_ended() {
        _ if ready => Server::Ready,
        Some(status) => Server::Ended(status),
        None => Server::Starting,
    }
}
