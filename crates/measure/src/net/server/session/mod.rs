//! Session of one client: its control connection, its tests, and its resource usage.

mod requests;

use super::super::capture::{HeaderCapture, canonical};
use super::super::datagrams::ReceivedDatagram;
use super::super::sockets;
use super::super::tcp_flow::IoDirection;
use super::super::test_io::TestIo;
use super::ServerContext;
use super::io_scheduler::{DirectionScheduler, IoStep};
use super::pending_connection::PendingConnection;
use super::test_state::ServerTest;
use crate::control::hello::{DataHello, HandshakeVerdict};
use crate::control::message::{MAX_REPLY, ServerReply};
use crate::control::server::{Action, ServerSession, SessionRandomness};
use crate::quotas::SessionUsage;
use crate::rate_budget::{FairQueue, TokenBucket, tcp_wire_bytes};
use crate::test_spec::{IPV4_UDP_HEADERS, TestSpec};
use crate::token::random;
use crate::udp::address_validation::{VALIDATION_BYTES, validation_tag};
use crate::udp::packet::DatagramHeader;
use crate::{Nanos, SECOND};
use nix::poll::PollFlags;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io::{ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream};

/// Time after the end in which queued output may leave.
const LINGER_NS: Nanos = 2 * SECOND;
/// Maximum bytes of one read from the control connection.
const READ: usize = 4096;
/// Control output up to this size is sent at once; longer reports are scheduled.
const SHORT: usize = 4096;
/// Replies to a session's address hellos, and its echoes, use at most the rate divided by this.
const RATION_SHARE: u64 = 100;
/// Index of each reply ration.
pub const HELLO: usize = 0;
pub const ECHO: usize = 1;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum AuthState {
    Unauthenticated,
    Admitted,
    Rejected,
}

pub struct Session {
    pub stream: TcpStream,
    pub control: ServerSession,
    pub tests: BTreeMap<u32, ServerTest>,
    pub validation_tag: u64,
    pub is_gone: bool,
    pub capture: Option<HeaderCapture>,
    has_captured: bool,
    /// The client's endpoints of this session.
    own_endpoints: BTreeSet<SocketAddr>,
    /// A capture that is being sent: the next packet, and the number of dropped ones.
    packets: Option<(HeaderCapture, usize, u64)>,
    pub address: SocketAddr,
    pub auth: AuthState,
    /// Slot of an unauthenticated connection.
    pub slot: u64,
    pub accepted_at: Nanos,
    /// Bytes of IP in each direction: for fair queueing, and in total for the log.
    pub moved: [u64; 2],
    pub total: [u64; 2],
    /// Public identifier of the session.
    session_id: u64,
    /// Reason for the end.
    pub why: Option<String>,
    /// The control socket is writable.
    writable: bool,
    /// Limit of the written and unsent control output.
    unsent_limit: u64,
    /// Bytes of scheduled control output, and the fair queueing of the session's tests.
    output_service: u64,
    queues: [FairQueue; 2],
    /// Ended tests whose reports are not sent yet.
    reports: VecDeque<ServerTest>,
    next_test: u32,
    refusals: u32,
    usage: SessionUsage,
    closing: Option<Nanos>,
    /// The session is counted in the registry.
    is_registered: bool,
    /// Token buckets of replies to address hellos and to echoes.
    reply_rations: [TokenBucket; 2],
}

impl Session {
    /// Starts the handshake of a control connection.
    pub fn new(pending: PendingConnection, context: &mut ServerContext) -> Session {
        let config = &context.config;
        let mut randomness = SessionRandomness::default();
        let no_randomness = [&mut randomness.ephemeral, &mut randomness.secret].into_iter().any(|key| random(key).is_err());
        sockets::set_nodelay(&pending.stream);
        let unsent_limit = context.unsent.control();
        sockets::limit_unsent(&pending.stream, unsent_limit);
        let mut session = Session {
            stream: pending.stream,
            control: ServerSession::new(config.token.clone(), config.quotas, randomness, pending.accepted_at),
            tests: BTreeMap::new(),
            validation_tag: 0,
            is_gone: no_randomness,
            capture: None,
            has_captured: false,
            own_endpoints: BTreeSet::from([canonical(pending.address)]),
            packets: None,
            address: pending.address,
            auth: AuthState::Unauthenticated,
            slot: pending.slot,
            accepted_at: pending.accepted_at,
            moved: [0; 2],
            total: [0; 2],
            session_id: 0,
            why: None,
            writable: true,
            unsent_limit,
            output_service: 0,
            queues: Default::default(),
            reports: VecDeque::new(),
            next_test: 0,
            refusals: 0,
            usage: SessionUsage::default(),
            closing: None,
            is_registered: false,
            reply_rations: [(); 2].map(|()| TokenBucket::new(config.quotas.rate_bps / RATION_SHARE, pending.accepted_at)),
        };
        let mut actions = Vec::new();
        session.control.receive(context.clock.now(), &pending.received, &mut actions);
        session.apply(actions, context);
        session
    }

    pub fn is_open(&self) -> bool {
        self.auth == AuthState::Admitted
    }

    /// Poll events of the control connection.
    pub fn interest(&self) -> PollFlags {
        let has_output = match self.control.outbox().len() {
            0 => false,
            bytes => bytes <= SHORT || !self.writable,
        };
        let write = if has_output { PollFlags::POLLOUT } else { PollFlags::empty() };
        if self.closing.is_some() || self.is_full() { write } else { write | PollFlags::POLLIN }
    }

    /// While a frame's size of output is queued, no request is read: a client must read its
    /// replies.
    fn is_full(&self) -> bool {
        self.control.outbox().len() >= MAX_REPLY
    }

    pub fn due(&self, now: Nanos, held: [Option<Nanos>; 2]) -> Nanos {
        let control = self.control.due().unwrap_or(Nanos::MAX);
        let tests = self.tests.values().map(|t| t.due(now, held)).min().unwrap_or(Nanos::MAX);
        // The output buffer has space for more of a report.
        let reports = !self.reports.is_empty() || self.packets.is_some();
        let more = if reports && self.control.outbox().len() < MAX_REPLY { now } else { Nanos::MAX };
        let output = if self.has_queued_output() { held[IoDirection::Out as usize].unwrap_or(now) } else { Nanos::MAX };
        control.min(tests).min(self.closing.unwrap_or(Nanos::MAX)).min(more).min(output)
    }

    fn has_queued_output(&self) -> bool {
        self.writable && self.control.outbox().len() > SHORT
    }

    /// Whether the session has data to move in that direction.
    pub fn has_data(&self, direction: IoDirection, now: Nanos) -> bool {
        (direction == IoDirection::Out && self.has_queued_output()) || self.tests.values().any(|t| t.has_data(direction, now))
    }

    /// Moves data once: for a test, or of the control output.
    pub fn move_chunk(
        &mut self,
        direction: IoDirection,
        now: Nanos,
        scheduler: &mut DirectionScheduler,
        context: &ServerContext,
        scratch: &mut [u8],
    ) -> IoStep {
        let side = direction as usize;
        let output = (direction == IoDirection::Out && self.has_queued_output()).then_some((None, self.output_service));
        let tests = self.tests.iter().filter(|(_, t)| t.has_data(direction, now)).map(|(n, t)| (Some(*n), t.moved[side]));
        let Some(member) = self.queues[side].select(output.into_iter().chain(tests)) else { return IoStep::Moved(0) };
        let piece = match member {
            None => self.send_output_piece(now, scheduler),
            Some(number) => match self.tests.get_mut(&number) {
                Some(test) => test.move_chunk(direction, now, scheduler, context, scratch),
                None => IoStep::Moved(0),
            },
        };
        if let IoStep::Moved(bytes) = piece {
            let moved = match member.and_then(|number| self.tests.get_mut(&number)) {
                Some(test) => &mut test.moved[side],
                None => &mut self.output_service,
            };
            *moved = self.queues[side].charge(*moved, bytes);
            self.total[side] += bytes;
        }
        piece
    }

    /// Sends control output.
    fn send_output_piece(&mut self, now: Nanos, scheduler: &mut DirectionScheduler) -> IoStep {
        match scheduler.chunk(now) {
            Ok(max) => IoStep::Moved(tcp_wire_bytes(self.write_some(now, max) as u64)),
            Err(bytes) => IoStep::Wait(bytes),
        }
    }

    /// Handles an event of the control connection.
    pub fn on_control_ready(&mut self, context: &mut ServerContext, scratch: &mut [u8]) {
        self.writable = true;
        let mut actions = Vec::new();
        if self.closing.is_none() && !self.is_full() {
            match self.stream.read(&mut scratch[..READ]) {
                Ok(0) => self.on_disconnect(context),
                Ok(read) => self.control.receive(context.clock.now(), &scratch[..read], &mut actions),
                Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => {}
                Err(_) => self.on_disconnect(context),
            }
        }
        self.apply(actions, context);
    }

    fn apply(&mut self, actions: Vec<Action>, context: &mut ServerContext) {
        let mut actions = VecDeque::from(actions);
        while let Some(action) = actions.pop_front() {
            let mut more = Vec::new();
            match action {
                Action::Authenticated => self.admit_or_reject(context, &mut more),
                Action::Request(request) => self.on_request(request, context, &mut more),
                Action::Close(result) => {
                    self.why = self.why.take().or(result.err());
                    self.tests.clear();
                    self.reports.clear();
                    (self.capture, self.packets) = (None, None);
                    self.closing.get_or_insert(context.clock.now() + LINGER_NS);
                    self.leave_registry(context);
                }
            }
            actions.extend(more);
        }
        self.write(context);
    }

    fn admit_or_reject(&mut self, context: &mut ServerContext, more: &mut Vec<Action>) {
        context.pending_slots.release(self.slot);
        let verdict = context.registry.admit(self.address.ip(), &context.config.quotas);
        self.auth = if verdict == HandshakeVerdict::Welcome { AuthState::Admitted } else { AuthState::Rejected };
        self.is_registered = verdict == HandshakeVerdict::Welcome;
        if verdict != HandshakeVerdict::Welcome {
            self.why = Some(verdict.message().into());
        }
        self.control.admit(context.clock.now(), verdict, context.welcome(), more);
        self.validation_tag = self.control.keys().map_or(0, validation_tag);
        self.session_id = self.control.keys().map_or(0, |keys| keys.session_id);
        if self.auth == AuthState::Admitted {
            context.log.write_event("session-began", json!({"from": self.address.to_string(), "session": self.log_id()}));
        }
    }

    /// Accepts a connection at a test's own listener.
    pub fn accept(&mut self, test: u32) -> std::io::Result<TcpStream> {
        let listener = self.tests.get(&test).and_then(|t| t.listener.as_ref());
        listener.ok_or_else(|| ErrorKind::WouldBlock.into()).and_then(|l| l.accept()).map(|(stream, _)| stream)
    }

    /// Whether its tests wait for connections from this address.
    pub fn awaits(&self, from: IpAddr) -> bool {
        self.is_open() && self.address.ip().to_canonical() == from.to_canonical() && self.tests.values().any(ServerTest::awaits)
    }

    pub fn attach(&mut self, hello: DataHello, pending: PendingConnection, context: &ServerContext) {
        let all = || self.tests.values();
        let (planned, used) = (all().map(ServerTest::planned_senders).sum(), all().map(ServerTest::unsent_limits).sum());
        if let Some(test) = self.tests.get_mut(&hello.test) {
            self.own_endpoints.insert(canonical(pending.address));
            test.attach(hello, pending, context.unsent.connection(planned, used), context.clock.now());
        }
    }

    /// Logs a datagram with this tag. Returns the bytes of IP to charge to the rate budget, 0 if
    /// the datagram is not part of its train; None if no test of this session has the tag.
    pub fn on_tagged_datagram(&mut self, tag: u64, datagram: &ReceivedDatagram<'_>) -> Option<u64> {
        let test = self.tests.values_mut().find(|t| t.tag == tag)?;
        if !DatagramHeader::read(datagram.bytes).is_some_and(|head| test.on_datagram(&head, datagram.at)) {
            return Some(0);
        }
        let bytes = datagram.bytes.len() as u64 + u64::from(IPV4_UDP_HEADERS);
        self.total[IoDirection::In as usize] += bytes;
        if self.capture.is_some() {
            self.own_endpoints.insert(canonical(datagram.from));
        }
        Some(bytes)
    }

    /// Takes tokens for a reply to an address hello (`HELLO`) or to an echo (`ECHO`). False if the
    /// ration is used up.
    pub fn take_reply_ration(&mut self, what: usize, now: Nanos) -> bool {
        let bytes = VALIDATION_BYTES as u64 + u64::from(IPV4_UDP_HEADERS);
        let allowed = self.reply_rations[what].has(now, bytes);
        if allowed {
            self.reply_rations[what].take(bytes);
        }
        allowed
    }

    pub fn on_address_validated(&mut self, test: u32, at: SocketAddr) {
        // While output is queued, echoes are not answered: the client repeats its hello.
        if !self.is_full() && self.tests.get_mut(&test).is_some_and(|t| t.on_address_validated(at)) {
            self.own_endpoints.insert(canonical(at));
            self.control.send_reply(&ServerReply::Open { test });
        }
    }

    /// Handles an event of a test's connection: data is scheduled, a handshake continues at once.
    pub fn ready_flow(&mut self, test: u32, flow: usize, context: &ServerContext, scratch: &mut [u8]) {
        if let Some(ServerTest { io: TestIo::Flows(flows), .. }) = self.tests.get_mut(&test)
            && let Some(flow) = flows.flows.get_mut(flow)
        {
            flow.ready = flow.io_direction().is_some();
            if !flow.ready {
                flow.advance(context.clock.now(), scratch, |_| Vec::new());
            }
        }
    }

    /// Bytes of IP that the kernel has retransmitted for this session's tests since the last call.
    pub fn take_retransmitted(&mut self) -> u64 {
        let bytes = self.tests.values_mut().map(ServerTest::take_retransmitted).sum();
        self.total[IoDirection::Out as usize] += bytes;
        bytes
    }

    /// Handles timeouts and ended tests.
    pub fn tick(&mut self, context: &mut ServerContext, scratch: &mut [u8]) {
        let now = context.clock.now();
        // Datagrams and transfers were counted at their admission.
        let moved: u64 = self.tests.values().filter(|t| matches!(t.spec, TestSpec::Bulk(_))).map(|t| t.io.bytes()).sum();
        let over_budget = self.usage.bytes.saturating_add(moved) > context.config.quotas.session_bytes;
        for test in self.tests.values_mut() {
            if over_budget {
                test.cut_short("the session has reached its maximum number of bytes");
            }
        }
        let ended: Vec<u32> = self.tests.iter_mut().filter_map(|(n, t)| t.tick(now, scratch).then_some(*n)).collect();
        for number in ended {
            if let Some(mut test) = self.tests.remove(&number) {
                test.end();
                test.overrun = context.overrun.saturating_sub(test.overrun);
                self.usage.bytes += if matches!(test.spec, TestSpec::Bulk(_)) { test.io.bytes() } else { 0 };
                self.reports.push_back(test);
                self.control.record_activity(now);
            }
        }
        self.control.running = self.tests.len();
        let mut actions = Vec::new();
        self.control.tick(now, &mut actions);
        self.report();
        self.apply(actions, context);
        if self.closing.is_some_and(|end| now >= end || self.control.outbox().is_empty()) {
            self.is_gone = true;
        }
    }

    fn report(&mut self) {
        while self.control.outbox().len() < MAX_REPLY
            && let Some(test) = self.reports.front_mut()
            && test.report(&mut self.control)
        {
            self.usage.rows -= test.rows;
            self.reports.pop_front();
        }
        if self.control.outbox().len() >= MAX_REPLY || !self.reports.is_empty() {
            return;
        }
        let Some((capture, next, dropped)) = &mut self.packets else { return };
        let records = capture.records(&self.own_endpoints, next, MAX_REPLY);
        if !records.is_empty() {
            self.control.send_packets(&records, 0);
        }
        if *next == capture.len() {
            let dropped = *dropped;
            self.packets = None;
            self.control.send_reply(&ServerReply::Captured { dropped });
        }
    }

    /// Sends control output that is too short to be scheduled.
    fn write(&mut self, context: &mut ServerContext) {
        if (1..=SHORT).contains(&self.control.outbox().len()) {
            let written = tcp_wire_bytes(self.write_some(context.clock.now(), SHORT) as u64);
            context.unscheduled_bytes += written;
            self.total[IoDirection::Out as usize] += written;
        }
    }

    fn write_some(&mut self, now: Nanos, max: usize) -> usize {
        let output = self.control.outbox();
        let room = usize::try_from(sockets::unsent_room(&self.stream, self.unsent_limit)).unwrap_or(max);
        if room == 0 {
            self.writable = false;
            return 0;
        }
        match self.stream.write(&output[..output.len().min(max).min(room)]) {
            Ok(written) if written > 0 => {
                self.control.sent(written);
                // A client that reads a long report is not idle.
                self.control.record_activity(now);
                return written;
            }
            Err(e) if e.kind() == ErrorKind::WouldBlock || e.kind() == ErrorKind::Interrupted => self.writable = false,
            _ => self.is_gone = true,
        }
        0
    }

    /// The client has closed the connection.
    fn on_disconnect(&mut self, context: &mut ServerContext) {
        self.is_gone = true;
        self.leave_registry(context);
    }

    /// Leaves the registry as soon as the session ends: the same client's next connection may be
    /// admitted in this iteration.
    fn leave_registry(&mut self, context: &mut ServerContext) {
        if std::mem::take(&mut self.is_registered) {
            context.registry.release(self.address.ip());
        }
    }

    /// Frees its slot and writes its log line.
    pub fn close(&mut self, context: &mut ServerContext) {
        self.leave_registry(context);
        let (now, from) = (context.clock.now(), self.address.to_string());
        let why = self.why.as_deref().unwrap_or("ended by the client");
        if self.auth == AuthState::Unauthenticated {
            context.pending_slots.release(self.slot);
        }
        if self.auth != AuthState::Admitted {
            return context.log.write_limited(now, "refused", json!({"from": from, "why": why}));
        }
        let [sent, received] = self.total;
        let seconds = (now - self.accepted_at) as f64 / 1e9;
        let fields = json!({"from": from, "session": self.log_id(), "why": why, "seconds": seconds, "tests": self.next_test, "bytes_sent": sent, "bytes_received": received});
        context.log.write_event("session-ended", fields);
    }

    /// Identifier of the session in the log.
    pub fn log_id(&self) -> String {
        format!("{:016x}", self.session_id)
    }
}
