//! Requests of a client: tests and a capture.

use super::super::super::capture::HeaderCapture;
use super::super::super::sockets::{self, SocketOptions};
use super::super::ServerContext;
use super::super::test_state::{MAX_CONCURRENT_TRANSFERS, ServerTest};
use super::Session;
use crate::Nanos;
use crate::control::message::{ClientRequest, ServerReply};
use crate::control::server::Action;
use crate::quotas::Quotas;
use crate::test_spec::{Bulk, TestSpec};
use ackclock_core::Problem;
use serde_json::json;
use std::net::{SocketAddr, TcpListener};

/// Maximum number of log lines about refused tests for one session.
const MAX_REFUSALS: u32 = 20;

impl Session {
    pub(super) fn on_request(&mut self, request: ClientRequest, context: &ServerContext, more: &mut Vec<Action>) {
        let now = context.clock.now();
        match request {
            ClientRequest::Start { test, .. } if test != self.next_test => self.control.terminate("a test out of order", more),
            ClientRequest::Start { test, spec } => {
                self.next_test += 1;
                let reply = match self.prepare(test, spec, context, now) {
                    Ok(port) => ServerReply::Ready { test, port },
                    Err(problem) => {
                        self.log_refusal(test, &problem.to_string(), context);
                        match problem {
                            Problem { found, allowed, .. } if !found.is_empty() => {
                                ServerReply::Refused { test, reason: found.into(), allowed: Some(allowed.into()) }
                            }
                            problem => ServerReply::Refused { test, reason: problem.statement.into(), allowed: None },
                        }
                    }
                };
                self.control.send_reply(&reply);
            }
            ClientRequest::Go { test } => self.with_test(test, more, |t| t.go(now)),
            ClientRequest::Stop { test, quiet_ns } => self.with_test(test, more, |t| t.stop(now, quiet_ns)),
            ClientRequest::Capture { bytes } => {
                let refused = self.begin_capture(bytes, &context.config.quotas).err();
                refused.iter().for_each(|why| self.log_refusal(self.next_test, why, context));
                self.control.send_reply(&ServerReply::Capturing { refused });
            }
            ClientRequest::Captured {} => self.end_capture(context, more),
            // `ServerSession` handles these.
            ClientRequest::KeepAlive {} | ClientRequest::Quit {} => {}
        }
    }

    /// Logs a refused test, up to a limit: repeated requests cannot fill a disk.
    fn log_refusal(&mut self, test: u32, why: &str, context: &ServerContext) {
        self.refusals += 1;
        if self.refusals <= MAX_REFUSALS {
            let (from, id) = (self.address.to_string(), self.log_id());
            context.log.write_event("test-refused", json!({"from": from, "session": id, "test": test, "why": why}));
        }
    }

    /// A request for an ended test is ignored; for a test that was not started it ends the session.
    fn with_test(&mut self, test: u32, more: &mut Vec<Action>, act: impl FnOnce(&mut ServerTest)) {
        match self.tests.get_mut(&test) {
            Some(test) => act(test),
            None if test < self.next_test => {}
            None => self.control.terminate("a test that was not started", more),
        }
    }

    /// Prepares a test. Returns the port for its connections if that is not the control port.
    fn prepare(&mut self, number: u32, spec: TestSpec, context: &ServerContext, now: Nanos) -> Result<Option<u16>, Problem> {
        let Some(keys) = self.control.keys() else { return Err(Problem::new("there is no session", "connect first")) };
        let congestion = match &spec {
            TestSpec::Bulk(bulk) => bulk.congestion.as_ref(),
            TestSpec::Transfers(t) => t.congestion.as_ref(),
            TestSpec::Datagrams { .. } => None,
        };
        if let Some(name) = congestion.filter(|name| !context.congestion.contains(name)) {
            return Err(Problem::found(
                format!("congestion control {name}"),
                format!("{} (those of the far end's kernel)", context.congestion.join(", ")),
            ));
        }
        let needed = descriptors(&spec) + self.tests.values().map(|t| descriptors(&t.spec)).sum::<u64>();
        if needed > context.descriptors {
            return Err(Problem::found(
                format!("{needed} connections and ports in one session"),
                format!("{} at most, by the far end's limit of open files", context.descriptors),
            ));
        }
        let listener = self.own_listener(&spec)?;
        let restricted = context.restricted.iter().find(|(_, name)| Some(name) == congestion).map(|(listener, _)| listener);
        if let (Some(_), Some(_), TestSpec::Bulk(Bulk { down: 1.., .. })) = (&listener, restricted, &spec) {
            let control = congestion.map_or("", String::as_str);
            return Err(Problem::found(
                format!("{control} in both directions with a receive buffer, for which the far end lacks a privilege"),
                format!("one direction at a time, or one of {}", context.congestion.join(", ")),
            ));
        }
        let rows = self.usage.rows;
        context.config.quotas.admit(&spec, self.tests.len(), &mut self.usage)?;
        let port = listener.as_ref().or(restricted).and_then(|l| l.local_addr().ok()).map(|at| at.port());
        let mut test = ServerTest::new(number, spec, keys, listener, now);
        test.rows = self.usage.rows - rows;
        test.overrun = context.overrun;
        self.tests.insert(number, test);
        Ok(port)
    }

    /// A listener at the address that the client has connected to.
    fn own_listener(&self, spec: &TestSpec) -> Result<Option<TcpListener>, Problem> {
        let TestSpec::Bulk(bulk) = spec else { return Ok(None) };
        let socket_options = SocketOptions::of(bulk);
        if !socket_options.needs_own_listener() || bulk.up == 0 {
            return Ok(None);
        }
        let here = self.stream.local_addr().map_err(|e| Problem::refused("opening a listener", &e))?;
        sockets::listen(SocketAddr::new(here.ip(), 0), &socket_options).map(Some).map_err(|e| Problem::new(e.to_string(), ""))
    }

    /// Starts the session's only capture, of at most the quota and the requested bytes.
    fn begin_capture(&mut self, bytes: u64, quotas: &Quotas) -> Result<(), String> {
        if quotas.capture_bytes == 0 {
            return Err("captures are disabled; start the far end with --allow-capture MB".into());
        }
        if self.has_captured {
            return Err("the session has had its capture already".into());
        }
        self.capture = Some(HeaderCapture::open(self.address.ip(), bytes.min(quotas.capture_bytes))?);
        self.has_captured = true;
        Ok(())
    }

    fn end_capture(&mut self, context: &ServerContext, more: &mut Vec<Action>) {
        let Some(mut capture) = self.capture.take() else { return self.control.terminate("no capture to end", more) };
        capture.drain_all(&context.clock);
        let dropped = capture.over_quota + capture.dropped();
        self.packets = Some((capture, 0, dropped));
    }
}

/// Maximum number of descriptors of a test: its connections, and its own listener.
fn descriptors(spec: &TestSpec) -> u64 {
    match spec {
        TestSpec::Datagrams { .. } => 0,
        TestSpec::Bulk(bulk) => {
            u64::from(bulk.down) + u64::from(bulk.up) + u64::from(bulk.up > 0 && SocketOptions::of(bulk).needs_own_listener())
        }
        TestSpec::Transfers(_) => MAX_CONCURRENT_TRANSFERS as u64,
    }
}
