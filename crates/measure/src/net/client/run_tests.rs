//! Concurrent tests of a step, from their requests to the records of both ends.

use super::super::test_io::TestIo;
use super::super::wait::wait;
use super::remote_capture::refusal;
use super::test_state::{ClientTest, HELLO_INTERVAL_NS, TestPhase};
use super::{MeasurementClient, REPLY_TIMEOUT_NS};
use crate::control::client::ServerMessage;
use crate::control::message::{ClientRequest, ServerReply};
use crate::record::TestRecord;
use crate::test_spec::TestSpec;
use crate::udp::address_validation::{VALIDATION_BYTES, address_hello, echo};
use crate::udp::packet::{DatagramHeader, read_tag};
use crate::{MeasureError, Nanos, SECOND};
use ackclock_core::Problem;
use nix::poll::{PollFd, PollFlags};
use std::os::fd::AsFd;

/// Maximum number of datagrams sent before the next receive.
const DATAGRAMS: usize = 64;

/// Callback with the nanoseconds since the tests began, at least ten times per second. False stops
/// the tests.
pub type ProgressCallback<'a> = &'a mut dyn FnMut(Nanos) -> bool;

impl MeasurementClient {
    /// Runs tests concurrently.
    pub fn run(&mut self, specs: Vec<TestSpec>, on_progress: ProgressCallback<'_>) -> Result<Vec<TestRecord>, MeasureError> {
        let now = self.clock.now();
        let mut tests = Vec::new();
        for spec in specs {
            spec.check().map_err(MeasureError::Input)?;
            let number = self.next_test;
            self.next_test += 1;
            self.send_request(&ClientRequest::Start { test: number, spec: spec.clone() })?;
            let Some(keys) = self.session.keys() else {
                return Err(MeasureError::Failed(Problem::new("there is no session", "connect first")));
            };
            tests.push(ClientTest::new(number, spec, keys, self.server, now));
        }
        let mut deadline = now + REPLY_TIMEOUT_NS;
        while tests.iter().any(|t| t.phase != TestPhase::Done) {
            if self.poll_once(&mut tests)? || tests.iter().any(|t| t.phase == TestPhase::Running) {
                deadline = self.clock.now() + REPLY_TIMEOUT_NS;
            }
            self.begin_and_end(&mut tests)?;
            let now = self.clock.now();
            let began = tests.iter().filter(|t| t.phase >= TestPhase::Running).map(|t| t.began).min();
            if !on_progress(began.map_or(0, |began| now - began)) {
                return Err(MeasureError::Interrupted);
            }
            if now > deadline {
                let knocking = tests.iter().any(|t| t.phase == TestPhase::Validating);
                return Err(if knocking { self.udp_blocked() } else { self.no_reply() });
            }
        }
        Ok(tests.into_iter().map(ClientTest::record).collect())
    }

    fn udp_blocked(&self) -> MeasureError {
        MeasureError::Failed(self.with_address(Problem::new(
            format!("no UDP datagram has arrived for {} s, although TCP works", REPLY_TIMEOUT_NS / SECOND),
            format!("let firewalls pass UDP port {}, or measure without datagrams (--tests tcp)", self.server.port()),
        )))
    }

    /// Starts all tests together; each test ends on its own.
    fn begin_and_end(&mut self, tests: &mut [ClientTest]) -> Result<(), MeasureError> {
        if tests.iter().all(|t| t.phase == TestPhase::Ready) {
            for test in tests.iter_mut() {
                self.send_request(&ClientRequest::Go { test: test.number })?;
                test.go(self.clock.now(), self.welcome.quotas.rate_bps).map_err(|why| MeasureError::Input(cannot_open(&why)))?;
            }
        }
        for test in tests.iter_mut().filter(|t| t.phase == TestPhase::Running) {
            test.begin_transfer(self.clock.now(), self.welcome.quotas.rate_bps)
                .map_err(|why| MeasureError::Failed(cannot_open(&why)))?;
            if test.is_over(self.clock.now()) {
                test.phase = TestPhase::Stopped;
                self.send_request(&ClientRequest::Stop { test: test.number, quiet_ns: test.quiet() })?;
            }
        }
        Ok(())
    }

    /// One iteration: waits for events and handles them. True if messages have arrived.
    fn poll_once(&mut self, tests: &mut [ClientTest]) -> Result<bool, MeasureError> {
        let ready = self.poll(tests)?;
        self.receive_datagrams(tests);
        for (t, f) in ready {
            let (number, now) = (tests[t].number, self.clock.now());
            if let (TestIo::Flows(flows), Some(keys)) = (&mut tests[t].io, self.session.keys()) {
                let flow = &mut flows.flows[f];
                let name = flow.spec.number;
                flow.advance(now, &mut self.scratch[..], |since| ClientTest::hello(number, name, keys, since));
            }
        }
        for test in tests.iter_mut() {
            self.advance(test);
        }
        let mut received = Vec::new();
        self.exchange(&mut received).map_err(|why| MeasureError::Failed(self.with_address(why)))?;
        let any = !received.is_empty();
        received.into_iter().try_for_each(|m| self.on_message(m, tests))?;
        Ok(any)
    }

    fn poll(&self, tests: &[ClientTest]) -> Result<Vec<(usize, usize)>, MeasureError> {
        let now = self.clock.now();
        let control = if self.session.outbox().is_empty() { PollFlags::POLLIN } else { PollFlags::POLLIN | PollFlags::POLLOUT };
        let mut polled = vec![PollFd::new(self.control.as_fd(), control), PollFd::new(self.udp.as_fd(), PollFlags::POLLIN)];
        let mut of = Vec::new();
        for (t, test) in tests.iter().enumerate() {
            let TestIo::Flows(flows) = &test.io else { continue };
            for (f, flow) in flows.flows.iter().enumerate() {
                let interest = flow.interest(now);
                if let Some(stream) = flow.stream().filter(|_| !interest.is_empty()) {
                    polled.push(PollFd::new(stream.as_fd(), interest));
                    of.push((t, f));
                }
            }
        }
        let due = tests.iter().map(|t| t.due(now)).min().unwrap_or(Nanos::MAX);
        wait(&self.clock, &mut polled, due)?;
        let is_ready = |p: &PollFd<'_>| p.revents().is_some_and(|r| !r.is_empty());
        Ok(of.into_iter().zip(&polled[2..]).filter(|(_, p)| is_ready(p)).map(|(t, _)| t).collect())
    }

    fn advance(&mut self, test: &mut ClientTest) {
        let (now, number) = (self.clock.now(), test.number);
        if test.phase == TestPhase::Validating
            && now >= test.next_hello
            && let Some(keys) = self.session.keys()
        {
            // If sendto fails, the hello is repeated.
            let _ = self.udp.send_to(&address_hello(keys, number), self.server);
            test.next_hello = now + HELLO_INTERVAL_NS;
        }
        match &mut test.io {
            TestIo::Trains(trains) => trains.advance(&self.udp, DATAGRAMS, || self.clock.now()),
            TestIo::Flows(flows) => {
                let keys = self.session.keys();
                for flow in flows.flows.iter_mut().filter(|f| f.due(now) <= now) {
                    let name = flow.spec.number;
                    flow.advance(now, &mut self.scratch[..], |since| {
                        keys.map_or_else(Vec::new, |k| ClientTest::hello(number, name, k, since))
                    });
                }
                flows.tick(now);
            }
        }
    }

    fn receive_datagrams(&mut self, tests: &mut [ClientTest]) {
        let MeasurementClient { udp, clock, receiver, session, server, .. } = self;
        let Some(keys) = session.keys() else { return };
        receiver.drain(udp, clock, |datagram| {
            if datagram.from.ip().to_canonical() != server.ip().to_canonical() {
                return;
            }
            if datagram.bytes.len() == VALIDATION_BYTES {
                for test in tests.iter().filter(|t| t.phase == TestPhase::Validating) {
                    if let Some(answer) = echo(keys, test.number, datagram.bytes) {
                        let _ = udp.send_to(&answer, *server);
                        return;
                    }
                }
            }
            let tag = read_tag(datagram.bytes);
            let test = tests.iter_mut().find(|t| Some(t.tag) == tag);
            if let (Some(ClientTest { io: TestIo::Trains(trains), .. }), Some(head)) =
                (test, DatagramHeader::read(datagram.bytes))
            {
                trains.on_datagram(&head, datagram.at);
            }
        });
    }

    fn on_message(&self, message: ServerMessage, tests: &mut [ClientTest]) -> Result<(), MeasureError> {
        let number = match &message {
            ServerMessage::Rows(test, ..) => *test,
            ServerMessage::Reply(
                ServerReply::Ready { test, .. }
                | ServerReply::Open { test }
                | ServerReply::Refused { test, .. }
                | ServerReply::Flows { test, .. }
                | ServerReply::Done { test, .. },
            ) => *test,
            ServerMessage::Reply(ServerReply::Bye { reason }) => return Err(self.session_ended(reason)),
            ServerMessage::Reply(ServerReply::Welcome(_)) => return Err(self.protocol_error("a second welcome")),
            ServerMessage::Packets(_) | ServerMessage::Reply(ServerReply::Capturing { .. } | ServerReply::Captured { .. }) => {
                return Err(self.protocol_error("a capture out of order"));
            }
        };
        let Some(test) = tests.iter_mut().find(|t| t.number == number) else {
            return Err(self.protocol_error("a message about an unknown test"));
        };
        match message {
            ServerMessage::Rows(_, name, columns, piece) => {
                test.rows(name, columns, &piece).map_err(|why| self.protocol_error(why))
            }
            ServerMessage::Reply(ServerReply::Refused { reason, allowed, .. }) => {
                Err(MeasureError::Input(refusal(reason, allowed)))
            }
            ServerMessage::Reply(ServerReply::Ready { port, .. }) if test.phase == TestPhase::Requested => {
                test.ready(port);
                Ok(())
            }
            ServerMessage::Reply(ServerReply::Open { .. }) => {
                if test.phase == TestPhase::Validating {
                    test.phase = TestPhase::Ready;
                }
                Ok(())
            }
            ServerMessage::Reply(ServerReply::Flows { flows, .. }) => test.flows(flows).map_err(|why| self.protocol_error(why)),
            ServerMessage::Reply(ServerReply::Done { outcome, .. }) => {
                test.done(outcome);
                Ok(())
            }
            ServerMessage::Reply(_) | ServerMessage::Packets(_) => Err(self.protocol_error("a message out of order")),
        }
    }
}

/// Error: this end's kernel refuses the socket options of a test.
fn cannot_open(why: &str) -> Problem {
    Problem::new(
        format!("this machine cannot open the test's connection ({why})"),
        "name another --congestion or smaller --buffers",
    )
}
