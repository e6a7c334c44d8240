//! One client: its control connection, its tests, and what it has used up.

mod requests;

use super::super::capture::{Capture, plain};
use super::super::datagrams::Came;
use super::super::flow::Traffic;
use super::super::run::Run;
use super::super::sockets;
use super::super::tcp_info::TcpInfo;
use super::Shared;
use super::moving::{Line, Piece};
use super::stranger::Stranger;
use super::test::Test;
use crate::caps::Spent;
use crate::control::hello::{DataHello, Verdict};
use crate::control::message::{MOST_REPLY, Reply};
use crate::control::server::{Act, ServerSession};
use crate::share::{Bucket, Turn, tcp_wire_bytes};
use crate::spec::{HEADERS, Spec};
use crate::udp::packet::Head;
use crate::udp::proof::{PROOF_BYTES, knock_tag};
use crate::{Nanos, SECOND};
use nix::poll::PollFlags;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

/// What has not been sent so long after the end is not sent.
const LINGER_NS: Nanos = 2 * SECOND;
/// Bytes of control that are read at a time.
const READ: usize = 4096;
/// Control output up to this size is sent at once; longer reports are scheduled.
const SHORT: usize = 4096;
/// Part of the rate that a session's knocks may cause in answers, and its echoes.
const RATION_SHARE: u64 = 100;
/// Index of each ration.
pub const KNOCK: usize = 0;
pub const ECHO: usize = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Standing {
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
    /// A capture in transfer: the next packet, and the number of dropped ones.
    packets: Option<(Capture, usize, u64)>,
    pub address: SocketAddr,
    pub standing: Standing,
    /// Its place among unauthenticated connections, until it is authenticated.
    pub place: u64,
    pub came: Nanos,
    /// Bytes of IP in each direction: the service received (fair queueing), and the total for the log.
    pub moved: [u64; 2],
    pub total: [u64; 2],
    /// The session's public name.
    name: u64,
    /// Reason of the end.
    pub why: Option<String>,
    /// The control socket is writable.
    writable: bool,
    /// Limit of the control output that was written and has not left.
    unsent_limit: u64,
    /// Service received by reports, and the fair queueing state of the session.
    said: u64,
    turns: [Turn; 2],
    /// Over, and waiting for their reports to leave.
    reports: VecDeque<Test>,
    next_test: u32,
    refusals: u32,
    spent: Spent,
    closing: Option<Nanos>,
    /// Counts among its address's sessions.
    counts: bool,
    /// Rations of answers to knocks and to echoes.
    rations: [Bucket; 2],
}

impl Peer {
    /// What a stranger becomes that wants to control.
    pub fn new(stranger: Stranger, shared: &mut Shared) -> Peer {
        let options = &shared.options;
        let mut nonce = [0; 32];
        let no_randomness = crate::token::random(&mut nonce).is_err();
        sockets::no_delay(&stranger.stream);
        let unsent_limit = shared.unsent.control();
        sockets::hold_unsent(&stranger.stream, unsent_limit);
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
            place: stranger.place,
            came: stranger.came,
            moved: [0; 2],
            total: [0; 2],
            name: 0,
            why: None,
            writable: true,
            unsent_limit,
            said: 0,
            turns: Default::default(),
            reports: VecDeque::new(),
            next_test: 0,
            refusals: 0,
            spent: Spent::default(),
            closing: None,
            counts: false,
            rations: [(); 2].map(|()| Bucket::new(options.caps.rate_bps / RATION_SHARE, stranger.came)),
        };
        let mut acts = Vec::new();
        peer.session.receive(shared.clock.now(), &stranger.heard, &mut acts);
        peer.act(acts, shared);
        peer
    }

    pub fn is_open(&self) -> bool {
        self.standing == Standing::Session
    }

    /// Poll events of the control connection.
    pub fn interest(&self) -> PollFlags {
        let waits = match self.session.outbox().len() {
            0 => false,
            said => said <= SHORT || !self.writable,
        };
        let write = if waits { PollFlags::POLLOUT } else { PollFlags::empty() };
        if self.closing.is_some() || self.is_full() { write } else { write | PollFlags::POLLIN }
    }

    /// So much is to be said that no more is asked: a client that does not read its answers is not read either.
    fn is_full(&self) -> bool {
        self.session.outbox().len() >= MOST_REPLY
    }

    pub fn due(&self, now: Nanos, held: [Option<Nanos>; 2]) -> Nanos {
        let session = self.session.due().unwrap_or(Nanos::MAX);
        let tests = self.tests.values().map(|t| t.due(now, held)).min().unwrap_or(Nanos::MAX);
        // The output buffer has space for more of a report.
        let reports = !self.reports.is_empty() || self.packets.is_some();
        let more = if reports && self.session.outbox().len() < MOST_REPLY { now } else { Nanos::MAX };
        let says = if self.has_to_say() { held[Traffic::Out as usize].unwrap_or(now) } else { Nanos::MAX };
        session.min(tests).min(self.closing.unwrap_or(Nanos::MAX)).min(more).min(says)
    }

    fn has_to_say(&self) -> bool {
        self.writable && self.session.outbox().len() > SHORT
    }

    /// Whether the session has data to move in that direction.
    pub fn has_to_move(&self, way: Traffic, now: Nanos) -> bool {
        (way == Traffic::Out && self.has_to_say()) || self.tests.values().any(|t| t.has_to_move(way, now))
    }

    /// Moves one piece: of the next test, or of the control output.
    pub fn move_one(&mut self, way: Traffic, now: Nanos, line: &mut Line, shared: &Shared, scratch: &mut [u8]) -> Piece {
        let at = way as usize;
        let says = (way == Traffic::Out && self.has_to_say()).then_some((None, self.said));
        let tests = self.tests.iter().filter(|(_, t)| t.has_to_move(way, now)).map(|(n, t)| (Some(*n), t.moved[at]));
        let Some(who) = self.turns[at].pick(says.into_iter().chain(tests)) else { return Piece::Moved(0) };
        let piece = match who {
            None => self.say_piece(now, line),
            Some(number) => match self.tests.get_mut(&number) {
                Some(test) => test.move_one(way, now, line, shared, scratch),
                None => Piece::Moved(0),
            },
        };
        if let Piece::Moved(bytes) = piece {
            let moved = match who.and_then(|number| self.tests.get_mut(&number)) {
                Some(test) => &mut test.moved[at],
                None => &mut self.said,
            };
            *moved = self.turns[at].moved(*moved, bytes);
            self.total[at] += bytes;
        }
        piece
    }

    /// Sends a piece of a report.
    fn say_piece(&mut self, now: Nanos, line: &mut Line) -> Piece {
        match line.chunk(now) {
            Ok(most) => Piece::Moved(tcp_wire_bytes(self.write_some(now, most) as u64)),
            Err(bytes) => Piece::Wait(bytes),
        }
    }

    /// The control connection is ready.
    pub fn hear(&mut self, shared: &mut Shared, scratch: &mut [u8]) {
        self.writable = true;
        let mut acts = Vec::new();
        if self.closing.is_none() && !self.is_full() {
            match self.stream.read(&mut scratch[..READ]) {
                Ok(0) => self.end(shared),
                Ok(read) => self.session.receive(shared.clock.now(), &scratch[..read], &mut acts),
                Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.end(shared),
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
                Act::Close(done) => {
                    self.why = self.why.take().or(done.err());
                    self.tests.clear();
                    self.reports.clear();
                    (self.capture, self.packets) = (None, None);
                    self.closing.get_or_insert(shared.clock.now() + LINGER_NS);
                    self.release(shared);
                }
            }
            acts.extend(more);
        }
        self.write(shared);
    }

    fn decide(&mut self, shared: &mut Shared, more: &mut Vec<Act>) {
        shared.unproven.leave(self.place);
        let verdict = shared.registry.admit(self.address.ip(), &shared.options.caps);
        self.standing = if verdict == Verdict::Welcome { Standing::Session } else { Standing::Nobody };
        self.counts = verdict == Verdict::Welcome;
        if verdict != Verdict::Welcome {
            self.why = Some(verdict.says().into());
        }
        self.session.admit(shared.clock.now(), verdict, shared.welcome(), more);
        self.knock_tag = self.session.keys().map_or(0, knock_tag);
        self.name = self.session.keys().map_or(0, |keys| keys.name);
        if self.standing == Standing::Session {
            shared.log.note("session-began", json!({"from": self.address.to_string(), "session": self.name()}));
        }
    }

    /// A connection at a test's own listener.
    pub fn accept(&mut self, test: u32) -> std::io::Result<TcpStream> {
        let listener = self.tests.get(&test).and_then(|t| t.listener.as_ref());
        listener.ok_or_else(|| ErrorKind::WouldBlock.into()).and_then(|l| l.accept()).map(|(stream, _)| stream)
    }

    /// Whether its tests await connections from this address.
    pub fn awaits(&self, from: IpAddr) -> bool {
        self.is_open() && self.address.ip().to_canonical() == from.to_canonical() && self.tests.values().any(Test::awaits)
    }

    pub fn attach(&mut self, hello: DataHello, stranger: Stranger, shared: &Shared) {
        let all = || self.tests.values();
        let (planned, used) = (all().map(Test::planned_senders).sum(), all().map(Test::unsent_limits).sum());
        if let Some(test) = self.tests.get_mut(&hello.test) {
            self.own.insert(plain(stranger.peer));
            test.attach(hello, stranger, shared.unsent.connection(planned, used), shared.clock.now());
        }
    }

    /// Records a datagram with this tag. Bytes of IP to charge to the rate budget, none if the datagram is beyond its train; None if the
    /// tag is of no test of this session.
    pub fn tagged(&mut self, tag: u64, came: &Came<'_>) -> Option<u64> {
        let test = self.tests.values_mut().find(|t| t.tag == tag)?;
        if !Head::read(came.bytes).is_some_and(|head| test.hear(&head, came.at)) {
            return Some(0);
        }
        let bytes = came.bytes.len() as u64 + u64::from(HEADERS);
        self.total[Traffic::In as usize] += bytes;
        if self.capture.is_some() {
            self.own.insert(plain(came.from));
        }
        Some(bytes)
    }

    /// Whether the ration of the session allows one more answer to a knock (`KNOCK`) or an echo (`ECHO`), which is charged to it.
    pub fn may_answer(&mut self, what: usize, now: Nanos) -> bool {
        let bytes = PROOF_BYTES as u64 + u64::from(HEADERS);
        let may = self.rations[what].has(now, bytes);
        if may {
            self.rations[what].take(bytes);
        }
        may
    }

    pub fn proven(&mut self, test: u32, at: SocketAddr) {
        // One whose answers wait is not answered: its client knocks again.
        if !self.is_full() && self.tests.get_mut(&test).is_some_and(|t| t.proven(at)) {
            self.own.insert(plain(at));
            self.session.say(&Reply::Open { test });
        }
    }

    /// A test's connection is ready: its data is scheduled, its handshake continues at once.
    pub fn ready_flow(&mut self, test: u32, flow: usize, shared: &Shared, scratch: &mut [u8]) {
        if let Some(Test { run: Run::Flows(flows), .. }) = self.tests.get_mut(&test)
            && let Some(flow) = flows.flows.get_mut(flow)
        {
            flow.ready = flow.moves().is_some();
            if !flow.ready {
                flow.advance(shared.clock.now(), scratch, |_| Vec::new());
            }
        }
    }

    /// Bytes of IP that the kernel has retransmitted for this session's tests since the last call.
    pub fn sent_again(&mut self) -> u64 {
        let bytes = self.tests.values_mut().map(Test::sent_again).sum();
        self.total[Traffic::Out as usize] += bytes;
        bytes
    }

    /// What time brings.
    pub fn tick(&mut self, shared: &mut Shared, scratch: &mut [u8]) {
        let now = shared.clock.now();
        // Datagrams and transfers were counted when they were admitted.
        let moved: u64 = self.tests.values().filter(|t| matches!(t.spec, Spec::Bulk(_))).map(|t| t.run.bytes()).sum();
        let over_budget = self.spent.bytes.saturating_add(moved) > shared.options.caps.session_bytes;
        for test in self.tests.values_mut() {
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
            self.spent.rows -= test.rows;
            self.reports.pop_front();
        }
        if self.session.outbox().len() >= MOST_REPLY || !self.reports.is_empty() {
            return;
        }
        let Some((capture, next, dropped)) = &mut self.packets else { return };
        let records = capture.records(&self.own, next, MOST_REPLY);
        if !records.is_empty() {
            self.session.say_packets(&records, 0);
        }
        if *next == capture.len() {
            let dropped = *dropped;
            self.packets = None;
            self.session.say(&Reply::Captured { dropped });
        }
    }

    /// Sends control output that is short enough to be sent at once.
    fn write(&mut self, shared: &mut Shared) {
        if (1..=SHORT).contains(&self.session.outbox().len()) {
            let written = tcp_wire_bytes(self.write_some(shared.clock.now(), SHORT) as u64);
            shared.owed += written;
            self.total[Traffic::Out as usize] += written;
        }
    }

    fn write_some(&mut self, now: Nanos, most: usize) -> usize {
        let said = self.session.outbox();
        let unsent = TcpInfo::of(&self.stream).map_or(0, |info| u64::from(info.notsent));
        let room = usize::try_from(self.unsent_limit.saturating_sub(unsent)).unwrap_or(most);
        if room == 0 {
            self.writable = false;
            return 0;
        }
        match self.stream.write(&said[..said.len().min(most).min(room)]) {
            Ok(written) if written > 0 => {
                self.session.sent(written);
                // A client that reads a long report is not idle.
                self.session.touch(now);
                return written;
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => self.writable = false,
            _ => self.is_gone = true,
        }
        0
    }

    /// The client has closed the connection.
    fn end(&mut self, shared: &mut Shared) {
        self.is_gone = true;
        self.release(shared);
    }

    /// Frees the session's place as soon as the session is over: the same client's next connection may be decided on in this turn.
    fn release(&mut self, shared: &mut Shared) {
        if std::mem::take(&mut self.counts) {
            shared.registry.leave(self.address.ip());
        }
    }

    /// Frees its place and writes its log line.
    pub fn leave(&mut self, shared: &mut Shared) {
        self.release(shared);
        let (now, from) = (shared.clock.now(), self.address.to_string());
        let why = self.why.as_deref().unwrap_or("ended by the client");
        if self.standing == Standing::Stranger {
            shared.unproven.leave(self.place);
        }
        if self.standing != Standing::Session {
            return shared.log.note_stranger(now, "refused", json!({"from": from, "why": why}));
        }
        let [sent, received] = self.total;
        let seconds = (now - self.came) as f64 / 1e9;
        let what = json!({"from": from, "session": self.name(), "why": why, "seconds": seconds, "tests": self.next_test, "bytes_sent": sent, "bytes_received": received});
        shared.log.note("session-ended", what);
    }

    /// Its identifier in the log.
    pub fn name(&self) -> String {
        format!("{:016x}", self.name)
    }
}
