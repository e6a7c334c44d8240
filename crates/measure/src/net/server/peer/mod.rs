//! One client: its control connection, its tests, and what it has used up.

mod requests;

use super::super::capture::{Capture, plain};
use super::super::run::Run;
use super::super::sockets;
use super::Shared;
use super::stranger::Stranger;
use super::test::Test;
use crate::caps::Spent;
use crate::control::hello::{DataHello, Verdict};
use crate::control::message::{MOST_REPLY, Reply};
use crate::control::registry::Registry;
use crate::control::server::{Act, ServerSession};
use crate::spec::Spec;
use crate::udp::proof::knock_tag;
use crate::{Nanos, SECOND};
use nix::poll::PollFlags;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};

/// What has not been sent so long after the end is not sent.
const LINGER_NS: Nanos = 2 * SECOND;
/// Bytes of control that are read at a time.
const READ: usize = 4096;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Standing {
    Stranger,
    Session,
    Nobody,
}

pub struct Peer {
    pub stream: TcpStream,
    pub session: ServerSession,
    pub tests: BTreeMap<u32, Test>,
    pub knock_tag: u64,
    pub is_gone: bool,
    pub capture: Option<Capture>,
    has_captured: bool,
    /// The client's ends of this session's connections and datagrams.
    own: BTreeSet<SocketAddr>,
    /// A capture that is being sent: its records, how many of their bytes have been, and what it lacks.
    packets: Option<(Vec<u8>, usize, u64)>,
    address: SocketAddr,
    standing: Standing,
    /// Over, and waiting for their reports to leave.
    reports: VecDeque<Test>,
    next_test: u32,
    spent: Spent,
    closing: Option<Nanos>,
}

impl Peer {
    /// What a stranger becomes that wants to control.
    pub fn new(stranger: Stranger, shared: &mut Shared) -> Peer {
        let options = &shared.options;
        let mut nonce = [0; 32];
        let no_randomness = crate::token::random(&mut nonce).is_err();
        sockets::no_delay(&stranger.stream);
        let mut peer = Peer {
            stream: stranger.stream,
            session: ServerSession::new(options.token.clone(), options.caps, nonce, stranger.came),
            tests: BTreeMap::new(),
            knock_tag: 0,
            is_gone: no_randomness,
            capture: None,
            has_captured: false,
            own: BTreeSet::from([plain(stranger.peer)]),
            packets: None,
            address: stranger.peer,
            standing: Standing::Stranger,
            reports: VecDeque::new(),
            next_test: 0,
            spent: Spent::default(),
            closing: None,
        };
        let mut acts = Vec::new();
        peer.session.receive(shared.clock.now(), &stranger.heard, &mut acts);
        peer.act(acts, shared);
        peer
    }

    pub fn is_open(&self) -> bool {
        self.standing == Standing::Session
    }

    pub fn interest(&self) -> PollFlags {
        let write = if self.session.outbox().is_empty() { PollFlags::empty() } else { PollFlags::POLLOUT };
        if self.closing.is_some() { write } else { write | PollFlags::POLLIN }
    }

    pub fn due(&self, now: Nanos) -> Nanos {
        let session = self.session.due().unwrap_or(Nanos::MAX);
        let tests = self.tests.values().map(|t| t.due(now)).min().unwrap_or(Nanos::MAX);
        session.min(tests).min(self.closing.unwrap_or(Nanos::MAX))
    }

    /// The control connection is ready.
    pub fn hear(&mut self, shared: &mut Shared, scratch: &mut [u8]) {
        let mut acts = Vec::new();
        if self.closing.is_none() {
            match self.stream.read(&mut scratch[..READ]) {
                Ok(0) => self.is_gone = true,
                Ok(read) => self.session.receive(shared.clock.now(), &scratch[..read], &mut acts),
                Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.is_gone = true,
            }
        }
        self.act(acts, shared);
    }

    fn act(&mut self, acts: Vec<Act>, shared: &mut Shared) {
        let mut acts = VecDeque::from(acts);
        while let Some(act) = acts.pop_front() {
            let mut more = Vec::new();
            match act {
                Act::Proven => self.decide(shared, &mut more),
                Act::Request(request) => self.asked(request, shared, &mut more),
                Act::Close(_) => {
                    self.tests.clear();
                    self.reports.clear();
                    (self.capture, self.packets) = (None, None);
                    self.closing.get_or_insert(shared.clock.now() + LINGER_NS);
                }
            }
            acts.extend(more);
        }
        self.write(shared.clock.now());
    }

    fn decide(&mut self, shared: &mut Shared, more: &mut Vec<Act>) {
        shared.registry.known(self.address.ip());
        let verdict = shared.registry.admit(self.address.ip(), &shared.options.caps);
        self.standing = if verdict == Verdict::Welcome { Standing::Session } else { Standing::Nobody };
        self.session.admit(shared.clock.now(), verdict, shared.welcome(), more);
        self.knock_tag = self.session.keys().map_or(0, knock_tag);
    }

    /// A connection at a test's own listener.
    pub fn accept(&mut self, test: u32) -> Option<TcpStream> {
        self.tests.get(&test)?.listener.as_ref()?.accept().ok().map(|(stream, _)| stream)
    }

    pub fn attach(&mut self, hello: DataHello, stranger: Stranger, shared: &Shared) {
        if let Some(test) = self.tests.get_mut(&hello.test) {
            self.own.insert(plain(stranger.peer));
            test.attach(hello, stranger, &shared.options.caps, shared.clock.now());
        }
    }

    /// The test whose datagrams have this tag, of which one has come from there.
    pub fn tagged(&mut self, tag: u64, from: SocketAddr) -> Option<&mut Test> {
        let test = self.tests.values_mut().find(|t| t.tag == tag)?;
        if self.capture.is_some() {
            self.own.insert(plain(from));
        }
        Some(test)
    }

    pub fn proven(&mut self, test: u32, at: SocketAddr) {
        if self.tests.get_mut(&test).is_some_and(|t| t.proven(at)) {
            self.own.insert(plain(at));
            self.session.say(&Reply::Open { test });
        }
    }

    pub fn advance_flow(&mut self, test: u32, flow: usize, shared: &Shared, scratch: &mut [u8]) {
        if let Some(Test { run: Run::Flows(flows), .. }) = self.tests.get_mut(&test)
            && let Some(flow) = flows.flows.get_mut(flow)
        {
            flow.advance(shared.clock.now(), scratch, |_| Vec::new());
        }
    }

    /// What time brings.
    pub fn tick(&mut self, shared: &mut Shared, scratch: &mut [u8]) {
        let now = shared.clock.now();
        // Datagrams and transfers were counted when they were admitted.
        let moved: u64 = self.tests.values().filter(|t| matches!(t.spec, Spec::Bulk(_))).map(|t| t.run.bytes()).sum();
        let over_budget = self.spent.bytes.saturating_add(moved) > shared.options.caps.session_bytes;
        for test in self.tests.values_mut() {
            if let Run::Trains(trains) = &mut test.run {
                trains.advance(&shared.udp, || shared.clock.now());
            }
            if over_budget {
                test.cut("the session has moved as many bytes as it may");
            }
        }
        let over: Vec<u32> = self.tests.iter_mut().filter_map(|(n, t)| t.tick(now, scratch).then_some(*n)).collect();
        for number in over {
            if let Some(mut test) = self.tests.remove(&number) {
                test.end();
                self.spent.bytes += if matches!(test.spec, Spec::Bulk(_)) { test.run.bytes() } else { 0 };
                self.reports.push_back(test);
                self.session.touch(now);
            }
        }
        self.session.running = self.tests.len();
        let mut acts = Vec::new();
        self.session.tick(now, &mut acts);
        self.report();
        self.act(acts, shared);
        if self.closing.is_some_and(|end| now >= end || self.session.outbox().is_empty()) {
            self.is_gone = true;
        }
    }

    fn report(&mut self) {
        while self.session.outbox().len() < MOST_REPLY
            && let Some(test) = self.reports.front_mut()
            && test.report(&mut self.session)
        {
            self.reports.pop_front();
        }
        let Some((records, sent, dropped)) = self.packets.as_mut().filter(|_| self.reports.is_empty()) else { return };
        while *sent < records.len() && self.session.outbox().len() < MOST_REPLY {
            *sent = self.session.say_packets(records, *sent);
        }
        if *sent == records.len() {
            let dropped = *dropped;
            self.packets = None;
            self.session.say(&Reply::Captured { dropped });
        }
    }

    fn write(&mut self, now: Nanos) {
        while !self.session.outbox().is_empty() {
            match self.stream.write(self.session.outbox()) {
                Ok(written) if written > 0 => {
                    self.session.sent(written);
                    // A client that takes a long report is not silent.
                    self.session.touch(now);
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => return,
                _ => {
                    self.is_gone = true;
                    return;
                }
            }
        }
    }

    /// What the registry is told when it has gone.
    pub fn leave(&self, registry: &mut Registry) {
        match self.standing {
            Standing::Stranger => registry.known(self.address.ip()),
            Standing::Session => registry.leave(self.address.ip()),
            Standing::Nobody => {}
        }
    }
}
