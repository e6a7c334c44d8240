//! Concurrent tests of a step, from their requests to the records of both ends.

use super::super::test_io::TestIo;
use super::super::wait::wait;
use super::MeasurementClient;
use super::control_connection::REPLY_TIMEOUT_NS;
use super::refusal;
use super::test_state::{ClientTest, HELLO_INTERVAL_NS, StepTest, TestPhase};
use crate::control::client::ServerMessage;
use crate::control::message::{ClientRequest, ServerReply};
use crate::record::TestRecord;
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

/// The tests of a step.
pub struct TestRunner<'a> {
    client: &'a mut MeasurementClient,
    tests: Vec<ClientTest>,
    /// When all tests were ready: the start of the step.
    started: Option<Nanos>,
}

impl<'a> TestRunner<'a> {
    pub fn new(client: &'a mut MeasurementClient) -> TestRunner<'a> {
        TestRunner { client, tests: Vec::new(), started: None }
    }

    /// Requests a test from the far end.
    pub fn start(&mut self, test: StepTest) -> Result<(), MeasureError> {
        test.spec.check().map_err(MeasureError::Input)?;
        let number = self.client.next_test;
        self.client.next_test += 1;
        self.client.control.send_request(&ClientRequest::Start { test: number, spec: test.spec.clone() })?;
        let Some(keys) = self.client.control.keys() else {
            return Err(MeasureError::Failed(Problem::new("there is no session", "connect first")));
        };
        self.tests.push(ClientTest::new(number, test, keys, self.client.control.server, self.client.clock.now()));
        Ok(())
    }

    /// Runs the requested tests concurrently, until all of them are done.
    pub fn run(mut self, on_progress: ProgressCallback<'_>) -> Result<Vec<TestRecord>, MeasureError> {
        let mut deadline = self.client.clock.now() + REPLY_TIMEOUT_NS;
        let overrun = self.client.receiver.overrun;
        while self.tests.iter().any(|t| t.phase != TestPhase::Done) {
            if self.poll_once()? || self.tests.iter().any(|t| t.phase == TestPhase::Running) {
                deadline = self.client.clock.now() + REPLY_TIMEOUT_NS;
            }
            self.begin_and_end()?;
            let now = self.client.clock.now();
            let began = self.tests.iter().filter(|t| t.phase >= TestPhase::Running).map(|t| t.began).min();
            if !on_progress(began.map_or(0, |began| now - began)) {
                return Err(MeasureError::Interrupted);
            }
            if now > deadline {
                let is_validating = self.tests.iter().any(|t| t.phase == TestPhase::Validating);
                return Err(if is_validating { self.udp_blocked() } else { self.client.control.no_reply() });
            }
        }
        let overrun = u64::from(self.client.receiver.overrun.saturating_sub(overrun));
        Ok(self.tests.into_iter().map(|test| test.record(overrun)).collect())
    }

    fn udp_blocked(&self) -> MeasureError {
        MeasureError::Failed(self.client.control.with_address(Problem::new(
            format!("no UDP datagram has arrived for {} s, although TCP works", REPLY_TIMEOUT_NS / SECOND),
            format!(
                "let firewalls pass UDP port {}, or measure without datagrams (--tests tcp)",
                self.client.control.server.port()
            ),
        )))
    }

    /// Starts the tests when all of them are ready, each after its own time; each test ends on its
    /// own.
    fn begin_and_end(&mut self) -> Result<(), MeasureError> {
        let now = self.client.clock.now();
        if self.started.is_none() && self.tests.iter().all(|t| t.phase == TestPhase::Ready) {
            self.started = Some(now);
        }
        if let Some(started) = self.started {
            for test in self.tests.iter_mut().filter(|t| t.phase == TestPhase::Ready && now >= started + t.start_after) {
                self.client.control.send_request(&ClientRequest::Go { test: test.number })?;
                test.go(self.client.clock.now(), self.client.welcome.quotas.rate_bps)
                    .map_err(|why| MeasureError::Input(cannot_open(&why)))?;
            }
        }
        for test in self.tests.iter_mut().filter(|t| t.phase == TestPhase::Running) {
            test.begin_transfer(self.client.clock.now(), self.client.welcome.quotas.rate_bps)
                .map_err(|why| MeasureError::Failed(cannot_open(&why)))?;
            if test.is_over(self.client.clock.now()) {
                test.phase = TestPhase::Stopped;
                self.client.control.send_request(&ClientRequest::Stop { test: test.number, quiet_ns: test.quiet() })?;
            }
        }
        Ok(())
    }

    /// One iteration: waits for events and handles them. True if messages have arrived.
    fn poll_once(&mut self) -> Result<bool, MeasureError> {
        let ready = self.poll()?;
        self.receive_datagrams();
        for (t, f) in ready {
            let (number, now) = (self.tests[t].number, self.client.clock.now());
            if let (TestIo::Flows(flows), Some(keys)) = (&mut self.tests[t].io, self.client.control.keys()) {
                let room = flows.room_up_to(self.client.scratch.len());
                if room == 0 {
                    continue;
                }
                let flow = &mut flows.flows[f];
                let name = flow.spec.number;
                flow.advance(now, &mut self.client.scratch[..room], |since| ClientTest::hello(number, name, keys, since));
            }
        }
        for index in 0..self.tests.len() {
            self.advance(index);
        }
        let received = self.client.control.receive()?;
        let any = !received.is_empty();
        received.into_iter().try_for_each(|message| self.on_message(message))?;
        Ok(any)
    }

    fn poll(&self) -> Result<Vec<(usize, usize)>, MeasureError> {
        let now = self.client.clock.now();
        let mut polled = vec![self.client.control.polled(), PollFd::new(self.client.udp.as_fd(), PollFlags::POLLIN)];
        let mut connections = Vec::new();
        for (t, test) in self.tests.iter().enumerate() {
            let TestIo::Flows(flows) = &test.io else { continue };
            for (f, flow) in flows.flows.iter().enumerate() {
                let interest = flow.interest(now);
                if let Some(stream) = flow.stream().filter(|_| !interest.is_empty()) {
                    polled.push(PollFd::new(stream.as_fd(), interest));
                    connections.push((t, f));
                }
            }
        }
        let starts = self.tests.iter().filter(|t| t.phase == TestPhase::Ready);
        let start = self.started.and_then(|started| starts.map(|t| started + t.start_after).min());
        let due = self.tests.iter().map(|t| t.due(now)).chain(start).min().unwrap_or(Nanos::MAX);
        wait(&self.client.clock, &mut polled, due)?;
        let is_ready = |p: &PollFd<'_>| p.revents().is_some_and(|r| !r.is_empty());
        Ok(connections.into_iter().zip(&polled[2..]).filter(|(_, p)| is_ready(p)).map(|(t, _)| t).collect())
    }

    fn advance(&mut self, index: usize) {
        let test = &mut self.tests[index];
        let (now, number) = (self.client.clock.now(), test.number);
        if test.phase == TestPhase::Validating
            && now >= test.next_hello
            && let Some(keys) = self.client.control.keys()
        {
            // If sendto fails, the hello is repeated.
            let _ = self.client.udp.send_to(&address_hello(keys, number), self.client.control.server);
            test.next_hello = now + HELLO_INTERVAL_NS;
        }
        match &mut test.io {
            TestIo::Trains(trains) => trains.advance(&self.client.udp, DATAGRAMS, || self.client.clock.now()),
            TestIo::Flows(flows) => {
                if flows.spent().is_some() {
                    flows.end();
                }
                let keys = self.client.control.keys();
                let room = flows.room_up_to(self.client.scratch.len());
                for flow in flows.flows.iter_mut().filter(|f| f.due(now) <= now) {
                    let name = flow.spec.number;
                    flow.advance(now, &mut self.client.scratch[..room], |since| {
                        keys.map_or_else(Vec::new, |k| ClientTest::hello(number, name, k, since))
                    });
                }
                flows.tick(now);
            }
        }
    }

    fn receive_datagrams(&mut self) {
        let TestRunner { client, tests, .. } = self;
        let MeasurementClient { udp, clock, receiver, control, .. } = &mut **client;
        let (Some(keys), server) = (control.keys(), control.server) else { return };
        receiver.drain(udp, clock, |datagram| {
            if datagram.from.ip().to_canonical() != server.ip().to_canonical() {
                return;
            }
            if datagram.bytes.len() == VALIDATION_BYTES {
                for test in tests.iter().filter(|t| t.phase == TestPhase::Validating) {
                    if let Some(answer) = echo(keys, test.number, datagram.bytes) {
                        let _ = udp.send_to(&answer, server);
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

    fn on_message(&mut self, message: ServerMessage) -> Result<(), MeasureError> {
        let number = match &message {
            ServerMessage::Rows(test, ..) => *test,
            ServerMessage::Reply(
                ServerReply::Ready { test, .. }
                | ServerReply::Open { test }
                | ServerReply::Refused { test, .. }
                | ServerReply::Flows { test, .. }
                | ServerReply::Done { test, .. },
            ) => *test,
            ServerMessage::Reply(ServerReply::Bye { reason }) => return Err(self.client.control.session_ended(reason)),
            ServerMessage::Reply(ServerReply::Welcome(_)) => return Err(self.client.control.protocol_error("a second welcome")),
            ServerMessage::Packets(_) | ServerMessage::Reply(ServerReply::Capturing { .. } | ServerReply::Captured { .. }) => {
                return Err(self.client.control.protocol_error("a capture out of order"));
            }
        };
        let Some(test) = self.tests.iter_mut().find(|t| t.number == number) else {
            return Err(self.client.control.protocol_error("a message about an unknown test"));
        };
        match message {
            ServerMessage::Rows(_, name, columns, piece) => {
                test.rows(name, columns, &piece).map_err(|why| self.client.control.protocol_error(why))
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
            ServerMessage::Reply(ServerReply::Flows { flows, .. }) => {
                test.flows(flows).map_err(|why| self.client.control.protocol_error(why))
            }
            ServerMessage::Reply(ServerReply::Done { outcome, .. }) => {
                test.done(outcome);
                Ok(())
            }
            ServerMessage::Reply(_) | ServerMessage::Packets(_) => {
                Err(self.client.control.protocol_error("a message out of order"))
            }
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
