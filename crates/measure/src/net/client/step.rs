//! Tests that run at the same time, from asking for them to having what both ends saw.

use super::super::run::Run;
use super::super::wait::wait;
use super::captured::refusal;
use super::test::{KNOCK_NS, Phase, Record, Test};
use super::{Client, PATIENCE_NS};
use crate::control::client::Received;
use crate::control::message::{Reply, Request};
use crate::spec::Spec;
use crate::udp::packet::{Head, tag_of};
use crate::udp::proof::{PROOF_BYTES, echo, knock};
use crate::{MeasureError, Nanos, SECOND};
use ackclock_core::Problem;
use nix::poll::{PollFd, PollFlags};
use std::os::fd::AsFd;

/// Maximum number of datagrams sent before the next receive.
const DATAGRAMS: usize = 64;

/// Asked ten times a second at least, with the nanoseconds since the tests began; false stops.
pub type Watch<'a> = &'a mut dyn FnMut(Nanos) -> bool;

impl Client {
    /// Runs tests side by side.
    pub fn run(&mut self, specs: Vec<Spec>, watch: Watch<'_>) -> Result<Vec<Record>, MeasureError> {
        let now = self.clock.now();
        let mut tests = Vec::new();
        for spec in specs {
            spec.check().map_err(MeasureError::Input)?;
            let number = self.next_test;
            self.next_test += 1;
            self.say(&Request::Start { test: number, spec: spec.clone() })?;
            let Some(keys) = self.session.keys() else {
                return Err(MeasureError::Failed(Problem::new("there is no session", "connect first")));
            };
            tests.push(Test::new(number, spec, keys, self.server, now));
        }
        let mut patience = now + PATIENCE_NS;
        while tests.iter().any(|t| t.phase != Phase::Done) {
            if self.turn(&mut tests)? || tests.iter().any(|t| t.phase == Phase::Running) {
                patience = self.clock.now() + PATIENCE_NS;
            }
            self.begin_and_end(&mut tests)?;
            let now = self.clock.now();
            let began = tests.iter().filter(|t| t.phase >= Phase::Running).map(|t| t.began).min();
            if !watch(began.map_or(0, |began| now - began)) {
                return Err(MeasureError::Interrupted);
            }
            if now > patience {
                let knocking = tests.iter().any(|t| t.phase == Phase::Knocking);
                return Err(if knocking { self.no_udp() } else { self.silent() });
            }
        }
        Ok(tests.into_iter().map(Test::record).collect())
    }

    fn no_udp(&self) -> MeasureError {
        MeasureError::Failed(self.named(Problem::new(
            format!("UDP has not come through for {} s, although TCP does", PATIENCE_NS / SECOND),
            format!("let firewalls pass UDP port {}, or measure without datagrams (--tests tcp)", self.server.port()),
        )))
    }

    /// All begin together; each ends by itself.
    fn begin_and_end(&mut self, tests: &mut [Test]) -> Result<(), MeasureError> {
        if tests.iter().all(|t| t.phase == Phase::Ready) {
            for test in tests.iter_mut() {
                self.say(&Request::Go { test: test.number })?;
                test.go(self.clock.now(), self.welcome.caps.rate_bps).map_err(|why| MeasureError::Input(unopened(&why)))?;
            }
        }
        for test in tests.iter_mut().filter(|t| t.phase == Phase::Running) {
            test.begin_transfer(self.clock.now(), self.welcome.caps.rate_bps)
                .map_err(|why| MeasureError::Failed(unopened(&why)))?;
            if test.is_over(self.clock.now()) {
                test.phase = Phase::Stopped;
                self.say(&Request::Stop { test: test.number, quiet_ns: test.quiet() })?;
            }
        }
        Ok(())
    }

    /// Waits once, and does what there is to do. True if the far end said something.
    fn turn(&mut self, tests: &mut [Test]) -> Result<bool, MeasureError> {
        let ready = self.poll(tests)?;
        self.hear_datagrams(tests);
        for (t, f) in ready {
            let (number, now) = (tests[t].number, self.clock.now());
            if let (Run::Flows(flows), Some(keys)) = (&mut tests[t].run, self.session.keys()) {
                let flow = &mut flows.flows[f];
                let name = flow.task.number;
                flow.advance(now, &mut self.scratch[..], |since| Test::hello(number, name, keys, since));
            }
        }
        for test in tests.iter_mut() {
            self.advance(test);
        }
        let mut received = Vec::new();
        self.exchange(&mut received).map_err(|why| MeasureError::Failed(self.named(why)))?;
        let any = !received.is_empty();
        received.into_iter().try_for_each(|h| self.received(h, tests))?;
        Ok(any)
    }

    fn poll(&self, tests: &[Test]) -> Result<Vec<(usize, usize)>, MeasureError> {
        let now = self.clock.now();
        let control = if self.session.outbox().is_empty() { PollFlags::POLLIN } else { PollFlags::POLLIN | PollFlags::POLLOUT };
        let mut polled = vec![PollFd::new(self.control.as_fd(), control), PollFd::new(self.udp.as_fd(), PollFlags::POLLIN)];
        let mut of = Vec::new();
        for (t, test) in tests.iter().enumerate() {
            let Run::Flows(flows) = &test.run else { continue };
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

    fn advance(&mut self, test: &mut Test) {
        let (now, number) = (self.clock.now(), test.number);
        if test.phase == Phase::Knocking
            && now >= test.next_knock
            && let Some(keys) = self.session.keys()
        {
            // One that is not taken is said again.
            let _ = self.udp.send_to(&knock(keys, number), self.server);
            test.next_knock = now + KNOCK_NS;
        }
        match &mut test.run {
            Run::Trains(trains) => trains.advance(&self.udp, DATAGRAMS, || self.clock.now()),
            Run::Flows(flows) => {
                let keys = self.session.keys();
                for flow in flows.flows.iter_mut().filter(|f| f.due(now) <= now) {
                    let name = flow.task.number;
                    flow.advance(now, &mut self.scratch[..], |since| {
                        keys.map_or_else(Vec::new, |k| Test::hello(number, name, k, since))
                    });
                }
                flows.tick(now);
            }
        }
    }

    fn hear_datagrams(&mut self, tests: &mut [Test]) {
        let Client { udp, clock, inbox, session, server, .. } = self;
        let Some(keys) = session.keys() else { return };
        inbox.drain(udp, clock, |came| {
            if came.from.ip().to_canonical() != server.ip().to_canonical() {
                return;
            }
            if came.bytes.len() == PROOF_BYTES {
                for test in tests.iter().filter(|t| t.phase == Phase::Knocking) {
                    if let Some(answer) = echo(keys, test.number, came.bytes) {
                        let _ = udp.send_to(&answer, *server);
                        return;
                    }
                }
            }
            let tag = tag_of(came.bytes);
            let test = tests.iter_mut().find(|t| Some(t.tag) == tag);
            if let (Some(Test { run: Run::Trains(trains), .. }), Some(head)) = (test, Head::read(came.bytes)) {
                trains.hear(&head, came.at);
            }
        });
    }

    fn received(&self, received: Received, tests: &mut [Test]) -> Result<(), MeasureError> {
        let number = match &received {
            Received::Rows(test, ..) => *test,
            Received::Reply(
                Reply::Ready { test, .. }
                | Reply::Open { test }
                | Reply::Refused { test, .. }
                | Reply::Flows { test, .. }
                | Reply::Done { test, .. },
            ) => *test,
            Received::Reply(Reply::Bye { reason }) => return Err(self.ended(reason)),
            Received::Reply(Reply::Welcome(_)) => return Err(self.broken("a second welcome")),
            Received::Packets(_) | Received::Reply(Reply::Capturing { .. } | Reply::Captured { .. }) => {
                return Err(self.broken("a capture out of order"));
            }
        };
        let Some(test) = tests.iter_mut().find(|t| t.number == number) else {
            return Err(self.broken("an answer about no test"));
        };
        match received {
            Received::Rows(_, name, columns, piece) => test.rows(name, columns, &piece).map_err(|why| self.broken(why)),
            Received::Reply(Reply::Refused { reason, allowed, .. }) => Err(MeasureError::Input(refusal(reason, allowed))),
            Received::Reply(Reply::Ready { port, .. }) if test.phase == Phase::Asked => {
                test.ready(port);
                Ok(())
            }
            Received::Reply(Reply::Open { .. }) => {
                if test.phase == Phase::Knocking {
                    test.phase = Phase::Ready;
                }
                Ok(())
            }
            Received::Reply(Reply::Flows { flows, .. }) => test.flows(flows).map_err(|why| self.broken(why)),
            Received::Reply(Reply::Done { outcome, .. }) => {
                test.done(outcome);
                Ok(())
            }
            Received::Reply(_) | Received::Packets(_) => Err(self.broken("an answer out of order")),
        }
    }
}

/// This end's kernel refuses the socket options of the test.
fn unopened(why: &str) -> Problem {
    Problem::new(
        format!("this machine cannot open the test's connection ({why})"),
        "name another --congestion or smaller --buffers",
    )
}
