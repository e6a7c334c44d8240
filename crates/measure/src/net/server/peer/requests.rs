//! What a client asks for: tests begun and ended, a capture.

use super::super::super::capture::Capture;
use super::super::super::sockets::{self, Wishes};
use super::super::Shared;
use super::super::test::{AT_A_TIME, Test};
use super::Peer;
use crate::Nanos;
use crate::caps::Caps;
use crate::control::message::{Reply, Request};
use crate::control::server::Act;
use crate::spec::{Bulk, Spec};
use ackclock_core::Problem;
use serde_json::json;
use std::net::{SocketAddr, TcpListener};

/// Maximum number of log lines about refused tests for one session.
const MOST_REFUSALS: u32 = 20;

impl Peer {
    pub(super) fn asked(&mut self, request: Request, shared: &Shared, more: &mut Vec<Act>) {
        let now = shared.clock.now();
        match request {
            Request::Start { test, .. } if test != self.next_test => self.session.dismiss("a test out of order", more),
            Request::Start { test, spec } => {
                self.next_test += 1;
                let reply = match self.prepare(test, spec, shared, now) {
                    Ok(port) => Reply::Ready { test, port },
                    Err(problem) => {
                        self.note_refusal(test, &problem.to_string(), shared);
                        match problem {
                            Problem { found, allowed, .. } if !found.is_empty() => {
                                Reply::Refused { test, reason: found.into(), allowed: Some(allowed.into()) }
                            }
                            problem => Reply::Refused { test, reason: problem.statement.into(), allowed: None },
                        }
                    }
                };
                self.session.say(&reply);
            }
            Request::Go { test } => self.with(test, more, |t| t.go(now)),
            Request::Stop { test, quiet_ns } => self.with(test, more, |t| t.stop(now, quiet_ns)),
            Request::Capture { bytes } => {
                let refused = self.begin_capture(bytes, &shared.options.caps).err();
                refused.iter().for_each(|why| self.note_refusal(self.next_test, why, shared));
                self.session.say(&Reply::Capturing { refused });
            }
            Request::Captured {} => self.end_capture(shared, more),
            // `ServerSession` handles these.
            Request::KeepAlive {} | Request::Quit {} => {}
        }
    }

    /// Logs a refused test, up to a limit: repeated requests cannot fill a disk.
    fn note_refusal(&mut self, test: u32, why: &str, shared: &Shared) {
        self.refusals += 1;
        if self.refusals <= MOST_REFUSALS {
            let (from, session) = (self.address.to_string(), self.name());
            shared.log.note("test-refused", json!({"from": from, "session": session, "test": test, "why": why}));
        }
    }

    /// Of a test that is over nothing more is to be said; of one that never was, that is a mistake.
    fn with(&mut self, test: u32, more: &mut Vec<Act>, act: impl FnOnce(&mut Test)) {
        match self.tests.get_mut(&test) {
            Some(test) => act(test),
            None if test < self.next_test => {}
            None => self.session.dismiss("a test that was not started", more),
        }
    }

    /// Prepares a test; the port for its connections, where that is another one.
    fn prepare(&mut self, number: u32, spec: Spec, shared: &Shared, now: Nanos) -> Result<Option<u16>, Problem> {
        let Some(keys) = self.session.keys() else { return Err(Problem::new("there is no session", "connect first")) };
        let congestion = match &spec {
            Spec::Bulk(bulk) => bulk.congestion.as_ref(),
            Spec::Transfers(t) => t.congestion.as_ref(),
            Spec::Datagrams { .. } => None,
        };
        if let Some(name) = congestion.filter(|name| !shared.congestion.contains(name)) {
            return Err(Problem::found(
                format!("congestion control {name}"),
                format!("{}: those of its kernel", shared.congestion.join(", ")),
            ));
        }
        let wanted = descriptors(&spec) + self.tests.values().map(|t| descriptors(&t.spec)).sum::<u64>();
        if wanted > shared.descriptors {
            return Err(Problem::found(
                format!("{wanted} connections and ports in one session"),
                format!("{} at most, as the far end may open few files", shared.descriptors),
            ));
        }
        let listener = self.own_listener(&spec)?;
        let restricted = shared.restricted.iter().find(|(_, name)| Some(name) == congestion).map(|(listener, _)| listener);
        if let (Some(_), Some(_), Spec::Bulk(Bulk { down: 1.., .. })) = (&listener, restricted, &spec) {
            let control = congestion.map_or("", String::as_str);
            return Err(Problem::found(
                format!("{control} both ways with a receive buffer, for which the far end lacks a right"),
                format!("one way at a time, or one of {}", shared.congestion.join(", ")),
            ));
        }
        let rows = self.spent.rows;
        shared.options.caps.admit(&spec, self.tests.len(), &mut self.spent)?;
        let port = listener.as_ref().or(restricted).and_then(|l| l.local_addr().ok()).map(|at| at.port());
        let mut test = Test::new(number, spec, keys, listener, now);
        test.rows = self.spent.rows - rows;
        self.tests.insert(number, test);
        Ok(port)
    }

    /// A listener at the address to which the client has come.
    fn own_listener(&self, spec: &Spec) -> Result<Option<TcpListener>, Problem> {
        let Spec::Bulk(bulk) = spec else { return Ok(None) };
        let wishes = Wishes::of(bulk);
        if !wishes.wants_own_listener() || bulk.up == 0 {
            return Ok(None);
        }
        let here = self.stream.local_addr().map_err(|e| Problem::refused("opening a listener", &e))?;
        sockets::listen(SocketAddr::new(here.ip(), 0), &wishes).map(Some).map_err(|e| Problem::new(e.to_string(), ""))
    }

    /// One for a session: what it may keep is what the operator allows, and no more than the client asks for.
    fn begin_capture(&mut self, bytes: u64, caps: &Caps) -> Result<(), String> {
        if caps.capture_bytes == 0 {
            return Err("it allows no capture; start it with --allow-capture MB".into());
        }
        if self.has_captured {
            return Err("one capture in a session has been made already".into());
        }
        self.capture = Some(Capture::open(self.address.ip(), bytes.min(caps.capture_bytes))?);
        self.has_captured = true;
        Ok(())
    }

    fn end_capture(&mut self, shared: &Shared, more: &mut Vec<Act>) {
        let Some(mut capture) = self.capture.take() else { return self.session.dismiss("no capture to end", more) };
        capture.drain(&shared.clock);
        let dropped = capture.beyond + capture.dropped();
        self.packets = Some((capture, 0, dropped));
    }
}

/// Maximum number of descriptors of a test: its connections, and its own port where it has one.
fn descriptors(spec: &Spec) -> u64 {
    match spec {
        Spec::Datagrams { .. } => 0,
        Spec::Bulk(bulk) => {
            u64::from(bulk.down) + u64::from(bulk.up) + u64::from(bulk.up > 0 && Wishes::of(bulk).wants_own_listener())
        }
        Spec::Transfers(_) => AT_A_TIME as u64,
    }
}
