//! The server: one thread and one event loop for all sessions. Quotas and `ServerSession` decide
//! what is admitted; this module polls the sockets. An iteration of the loop does a bounded amount
//! of each kind of work (data transfer in `io_scheduler`), which bounds the response time for every
//! client.

mod io_scheduler;
mod kernel_info;
mod pending_connection;
mod session;
mod test_state;

use super::clock::HostClock;
use super::datagrams::UdpReceiver;
use super::log::{EventLog, LogTarget};
use super::privileges::drop_all;
use super::sockets::{self, SocketOptions};
use super::stamp::{ReflectorConfig, ReflectorSocket};
use super::tcp_flow::IoDirection;
use super::test_io::scratch;
use super::wait::wait;
use crate::control::connection_slots::ConnectionSlots;
use crate::control::hello::DataHello;
use crate::control::message::Welcome;
use crate::control::registry::SessionRegistry;
use crate::quotas::Quotas;
use crate::rate_budget::UnsentLimits;
use crate::test_spec::IPV4_UDP_HEADERS;
use crate::token::{Token, random};
use crate::udp::address_validation::{AddressValidator, ValidationAction};
use crate::udp::packet::read_tag;
use crate::{MS, MeasureError, Nanos};
use io_scheduler::DirectionScheduler;
pub use io_scheduler::{LoopWork, MAX_BYTES, MAX_CALLS};
use kernel_info::{available, system, unrestricted};
use nix::poll::{PollFd, PollFlags};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use pending_connection::{ConnectionClass, PendingConnection};
use serde_json::json;
use session::{AuthState, ECHO, HELLO, Session};
use std::fs::File;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;

/// Maximum number of connections accepted in one iteration.
pub const MAX_ACCEPTED: u32 = 32;
/// Back-off of the listeners after accept fails.
const PAUSE_NS: Nanos = 50 * MS;
/// Interval of reading the kernel's retransmission counters.
const RETRANS_POLL_NS: Nanos = 50 * MS;
/// Descriptors reserved for sessions under a low RLIMIT_NOFILE.
const DESCRIPTORS_LEFT: u64 = 64;
/// Minimum number of slots for unauthenticated connections.
const MIN_SLOTS: u32 = 4;

#[derive(Debug, Clone)]
pub struct ServerConfig {
    /// Address and port, TCP and UDP.
    pub listen: SocketAddr,
    pub token: Token,
    pub quotas: Quotas,
    /// Error of the clock in nanoseconds, to test estimators.
    pub clock_shift: Nanos,
    /// Reply to STAMP probes too.
    pub stamp: Option<ReflectorConfig>,
    /// Log of sessions and refusals.
    pub log: LogTarget,
}

pub struct MeasurementServer {
    context: ServerContext,
    listener: TcpListener,
    pending_connections: Vec<PendingConnection>,
    sessions: Vec<Session>,
    receiver: UdpReceiver,
    stamp: Option<ReflectorSocket>,
    scratch: Vec<u8>,
    /// Outbound and inbound.
    schedulers: [DirectionScheduler; 2],
    next_retrans_poll: Nanos,
    /// Spare descriptor: closed for a moment at EMFILE, to accept and close a connection.
    reserve: Option<File>,
    /// Time at which the listeners resume, and the number of failed accepts.
    accept_resume_at: Nanos,
    not_accepted: u64,
}

/// State that all sessions share.
pub struct ServerContext {
    pub config: ServerConfig,
    pub clock: HostClock,
    pub udp: UdpSocket,
    pub address_validator: AddressValidator,
    pub registry: SessionRegistry,
    /// Slots of unauthenticated connections, and of connections that tests wait for.
    pub pending_slots: ConnectionSlots,
    pub awaited_slots: ConnectionSlots,
    pub congestion: Vec<String>,
    /// Listeners with a congestion control that needs CAP_NET_ADMIN, opened before the privileges
    /// are dropped.
    pub restricted: Vec<(TcpListener, String)>,
    pub log: EventLog,
    /// Maximum number of descriptors of one session's tests.
    pub descriptors: u64,
    /// Datagrams that the kernel dropped so far, as the socket's buffer was full.
    pub overrun: u64,
    /// Bytes of IP that were sent outside the rate budget and are not charged yet.
    pub unscheduled_bytes: u64,
    /// Limits of each session's unsent data.
    pub unsent: UnsentLimits,
}

/// A socket in the poll set.
#[derive(Clone, Copy)]
enum PollTarget {
    Listener(ListenerId),
    Udp,
    Stamp,
    Pending(usize),
    Control(usize),
    Capture(usize),
    /// Connection of a test: session, test, index.
    Flow(usize, u32, usize),
}

/// Kind of listener: the control port, the port of a congestion control, or the port of a test.
#[derive(Clone, Copy)]
enum ListenerId {
    Control,
    Restricted(usize),
    Test(usize, u32),
}

impl MeasurementServer {
    pub fn open(config: ServerConfig) -> Result<MeasurementServer, MeasureError> {
        let listener = sockets::listen(config.listen, &SocketOptions::default())?;
        let at = listener.local_addr().map_err(MeasureError::refused("listening for connections"))?;
        let mut secret = [0; 32];
        random(&mut secret)?;
        let clock = HostClock::start(config.clock_shift);
        let (now, quotas) = (clock.now(), &config.quotas);
        let slot_count = slot_count(quotas);
        let context = ServerContext {
            clock,
            udp: sockets::datagrams(at)?,
            address_validator: AddressValidator::new(secret),
            registry: SessionRegistry::default(),
            pending_slots: ConnectionSlots::new(slot_count, quotas.pending_per_peer.min(slot_count)),
            awaited_slots: ConnectionSlots::new(slot_count, quotas.connections.min(slot_count)),
            congestion: available(),
            restricted: Vec::new(),
            log: EventLog::new(config.log.clone()),
            descriptors: descriptors_each(quotas, slot_count),
            overrun: 0,
            unscheduled_bytes: 0,
            unsent: UnsentLimits::new(quotas.rate_bps, quotas.sessions),
            config,
        };
        let stamp = context
            .config
            .stamp
            .as_ref()
            .map(|s| ReflectorSocket::open(at.ip(), s, context.config.quotas.rate_bps))
            .transpose()?;
        let (pending_connections, sessions) = (Vec::new(), Vec::new());
        let quotas = &context.config.quotas;
        let schedulers = [DirectionScheduler::new(quotas.rate_bps, now), DirectionScheduler::new(quotas.rate_bps, now)];
        context.log.write_event(
            "listening",
            json!({"at": at.to_string(), "max_rate_bps": quotas.rate_bps, "sessions": quotas.sessions}),
        );
        Ok(MeasurementServer {
            context,
            listener,
            pending_connections,
            sessions,
            receiver: UdpReceiver::new(),
            stamp,
            scratch: scratch(),
            schedulers,
            next_retrans_poll: now,
            reserve: reserve(),
            accept_resume_at: now,
            not_accepted: 0,
        })
    }

    /// Address and port, with the port that the kernel chose for port 0.
    pub fn address(&self) -> Result<SocketAddr, MeasureError> {
        self.listener.local_addr().map_err(MeasureError::refused("listening for connections"))
    }

    /// Address of the STAMP reflector.
    pub fn stamp_address(&self) -> Option<SocketAddr> {
        self.stamp.as_ref()?.socket.local_addr().ok()
    }

    /// Drops the privileges that only binding needed (`privileges`): root becomes `user`, or
    /// `nobody`, and keeps CAP_NET_RAW only if captures are allowed. Before that, each congestion
    /// control that needs a privilege gets a listener of its own, at a port that the kernel
    /// chooses.
    pub fn drop_privileges(&mut self, user: Option<&str>) -> Result<(), MeasureError> {
        let (at, free) = (self.address()?.ip(), unrestricted());
        let kept: Vec<String> = self.context.congestion.iter().filter(|name| !free.contains(name)).cloned().collect();
        self.context.restricted =
            kept.into_iter().filter_map(|name| Some((sockets::listen_with(SocketAddr::new(at, 0), &name)?, name))).collect();
        let left = drop_all(user, self.context.config.quotas.capture_bytes > 0)?;
        self.context.congestion = free.into_iter().chain(self.context.restricted.iter().map(|(_, name)| name.clone())).collect();
        let fields = json!({"uid": left.uid, "net_raw": left.net_raw, "no_other_user": left.no_other_user});
        self.context.log.write_event("privileges-dropped", fields);
        Ok(())
    }

    /// Serves while `keep_going` returns true; it is called at least ten times per second.
    pub fn run(&mut self, mut keep_going: impl FnMut() -> bool) -> Result<(), MeasureError> {
        while keep_going() {
            self.poll_once()?;
        }
        Ok(())
    }

    /// One iteration: polls once and handles all events. Returns the amount of work.
    pub fn poll_once(&mut self) -> Result<LoopWork, MeasureError> {
        let mut work = LoopWork::default();
        let (ready, mut accepts) = (self.wait()?, Vec::new());
        // Datagrams first: their timestamps matter most.
        for target in ready {
            match target {
                PollTarget::Udp => self.receive_datagrams(),
                PollTarget::Stamp => {
                    let answered = self.stamp.as_mut().map_or(0, |s| s.answer(&self.context.clock));
                    self.context.unscheduled_bytes += answered;
                }
                // Last: accepting may evict a connection, and the other events are indices of
                // connections.
                PollTarget::Listener(listener_id) => accepts.push(listener_id),
                PollTarget::Pending(i) => self.pending_connections[i].ready = true,
                PollTarget::Control(i) => self.sessions[i].on_control_ready(&mut self.context, &mut self.scratch),
                PollTarget::Capture(i) => {
                    if let Some(capture) = &mut self.sessions[i].capture {
                        capture.drain(&self.context.clock);
                    }
                }
                PollTarget::Flow(i, test, flow) => self.sessions[i].ready_flow(test, flow, &self.context, &mut self.scratch),
            }
        }
        for listener_id in accepts {
            self.accept(listener_id, &mut work);
        }
        self.read_pending();
        for session in &mut self.sessions {
            session.tick(&mut self.context, &mut self.scratch);
        }
        self.charge_unscheduled();
        let MeasurementServer { context, sessions, scratch, schedulers, .. } = self;
        for (scheduler, direction) in schedulers.iter_mut().zip([IoDirection::Out, IoDirection::In]) {
            scheduler.run(direction, sessions, context, scratch, &mut work);
        }
        self.remove_closed();
        Ok(work)
    }

    /// Charges the rate budget for bytes sent outside it.
    fn charge_unscheduled(&mut self) {
        let now = self.context.clock.now();
        let mut bytes = std::mem::take(&mut self.context.unscheduled_bytes);
        if now >= self.next_retrans_poll {
            self.next_retrans_poll = now + RETRANS_POLL_NS;
            bytes += self.sessions.iter_mut().map(Session::take_retransmitted).sum::<u64>();
        }
        self.schedulers[IoDirection::Out as usize].bucket.take(bytes);
    }

    fn wait(&self) -> Result<Vec<PollTarget>, MeasureError> {
        let now = self.context.clock.now();
        let held = [self.schedulers[0].held(now), self.schedulers[1].held(now)];
        let accepts = now >= self.accept_resume_at;
        let mut targets = vec![(PollTarget::Udp, self.context.udp.as_fd(), PollFlags::POLLIN)];
        targets.extend(accepts.then(|| (PollTarget::Listener(ListenerId::Control), self.listener.as_fd(), PollFlags::POLLIN)));
        let restricted = self.context.restricted.iter().enumerate().filter(|_| accepts);
        targets.extend(
            restricted.map(|(i, (l, _))| (PollTarget::Listener(ListenerId::Restricted(i)), l.as_fd(), PollFlags::POLLIN)),
        );
        targets.extend(self.stamp.iter().map(|s| (PollTarget::Stamp, s.socket.as_fd(), PollFlags::POLLIN)));
        let pending_connections = self.pending_connections.iter().enumerate();
        targets.extend(pending_connections.map(|(i, s)| (PollTarget::Pending(i), s.stream.as_fd(), PollFlags::POLLIN)));
        for (i, session) in self.sessions.iter().enumerate() {
            targets.push((PollTarget::Control(i), session.stream.as_fd(), session.interest()));
            targets.extend(session.capture.iter().map(|c| (PollTarget::Capture(i), c.fd(), PollFlags::POLLIN)));
            for (number, test) in &session.tests {
                let listener = test.listener.iter().filter(|_| accepts);
                targets
                    .extend(listener.map(|l| (PollTarget::Listener(ListenerId::Test(i, *number)), l.as_fd(), PollFlags::POLLIN)));
                for (j, fd, interest) in test.sockets(now) {
                    targets.push((PollTarget::Flow(i, *number, j), fd, interest));
                }
            }
        }
        let due =
            self.sessions.iter().map(|p| p.due(now, held)).chain(self.pending_connections.iter().map(PendingConnection::due));
        let due = due.chain((!accepts).then_some(self.accept_resume_at)).min();
        let mut polled: Vec<PollFd<'_>> = targets.iter().map(|t| PollFd::new(t.1, t.2)).collect();
        wait(&self.context.clock, &mut polled, due.unwrap_or(Nanos::MAX))?;
        let is_ready = |p: &PollFd<'_>| p.revents().is_some_and(|r| !r.is_empty());
        Ok(targets.iter().zip(&polled).filter(|(_, p)| is_ready(p)).map(|(t, _)| t.0).collect())
    }

    /// The next connection of a listener.
    fn next_at(&mut self, listener_id: ListenerId) -> std::io::Result<TcpStream> {
        let accepted = match listener_id {
            ListenerId::Control => self.listener.accept(),
            ListenerId::Restricted(i) => self.context.restricted[i].0.accept(),
            ListenerId::Test(session, test) => return self.sessions[session].accept(test),
        };
        accepted.map(|(stream, _)| stream)
    }

    fn accept(&mut self, listener_id: ListenerId, work: &mut LoopWork) {
        while work.accepted < MAX_ACCEPTED {
            let next = self.next_at(listener_id);
            match next {
                Ok(stream) => {
                    work.accepted += 1;
                    self.add_pending(stream, matches!(listener_id, ListenerId::Test(..)));
                }
                Err(e) if is_exhausted(&e) => {
                    work.accepted += 1;
                    if !self.free_descriptor(listener_id, &e) {
                        return;
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                // ECONNABORTED: that connection is closed; the next may be pending.
                Err(_) => work.accepted += 1,
            }
        }
    }

    /// Handles EMFILE: poll would report the listener as ready until a descriptor is free. Closes
    /// an unauthenticated connection, or else the new one. True if the next accept can succeed; if
    /// not, the listeners pause.
    fn free_descriptor(&mut self, listener_id: ListenerId, error: &std::io::Error) -> bool {
        let now = self.context.clock.now();
        self.not_accepted += 1;
        let why = format!("accepting a connection: {error}");
        self.context.log.write_limited(now, "not-accepted", json!({"why": why, "count": self.not_accepted}));
        if let Some(slot) = self.context.pending_slots.eviction_candidate() {
            self.context.pending_slots.release(slot);
            // The socket of a handshake is closed at the end of the iteration.
            return self.evict(slot, false);
        }
        self.accept_resume_at = now + PAUSE_NS;
        if self.reserve.take().is_some() {
            drop(self.next_at(listener_id));
        }
        self.reserve = reserve();
        false
    }

    fn add_pending(&mut self, stream: TcpStream, is_awaited: bool) {
        let (Ok(address), Ok(())) = (stream.peer_addr(), stream.set_nonblocking(true)) else { return };
        let is_awaited = is_awaited || self.sessions.iter().any(|p| p.awaits(address.ip()));
        let accepted_at = self.context.clock.now();
        let (slot, evicted) = self.slots(is_awaited).acquire(address.ip());
        if let Some(evicted) = evicted {
            self.evict(evicted, is_awaited);
        }
        self.pending_connections.push(PendingConnection {
            stream,
            address,
            accepted_at,
            received: Vec::new(),
            ready: true,
            slot,
            is_awaited,
        });
    }

    fn slots(&mut self, is_awaited: bool) -> &mut ConnectionSlots {
        if is_awaited { &mut self.context.awaited_slots } else { &mut self.context.pending_slots }
    }

    /// Closes the connection whose slot is reassigned. True if its socket is closed.
    fn evict(&mut self, slot: u64, is_awaited: bool) -> bool {
        let now = self.context.clock.now();
        let before = self.pending_connections.len();
        let evicted_address =
            if let Some(i) = self.pending_connections.iter().position(|s| s.slot == slot && s.is_awaited == is_awaited) {
                Some(self.pending_connections.remove(i).address)
            } else {
                let holds = |p: &&mut Session| !is_awaited && p.slot == slot && p.auth == AuthState::Unauthenticated;
                self.sessions.iter_mut().find(holds).map(|session| {
                    (session.is_gone, session.auth) = (true, AuthState::Rejected);
                    session.address
                })
            };
        if let Some(from) = evicted_address {
            self.context.log.write_limited(
                now,
                "refused",
                json!({"from": from.to_string(), "why": "evicted for a new connection"}),
            );
        }
        self.pending_connections.len() < before
    }

    fn read_pending(&mut self) {
        let now = self.context.clock.now();
        for mut pending in std::mem::take(&mut self.pending_connections) {
            if !self.slots(pending.is_awaited).holds(pending.slot) {
                self.log_refusal(now, pending.address, "evicted for a new connection");
                continue;
            }
            match pending.classify(now) {
                ConnectionClass::Pending => {
                    if !pending.received.is_empty() {
                        self.slots(pending.is_awaited).mark_hello(pending.slot);
                    }
                    self.pending_connections.push(pending);
                }
                ConnectionClass::Rejected(why) => {
                    self.slots(pending.is_awaited).release(pending.slot);
                    self.log_refusal(now, pending.address, why);
                }
                ConnectionClass::Control => self.start_session(pending),
                ConnectionClass::Data(hello, digest) => {
                    self.slots(pending.is_awaited).release(pending.slot);
                    let DataHello { session: id, .. } = hello;
                    let owner = self.sessions.iter_mut().find(|p| p.control.keys().is_some_and(|k| k.session_id == id));
                    let session = owner.filter(|p| p.control.keys().is_some_and(|k| hello.verify(&digest, k)));
                    // An unproven connection is closed without a reply.
                    match session {
                        Some(session) => session.attach(hello, pending, &self.context),
                        None => self.log_refusal(now, pending.address, "a data connection of no session"),
                    }
                }
            }
        }
    }

    fn log_refusal(&mut self, now: Nanos, from: SocketAddr, why: &str) {
        self.context.log.write_limited(now, "refused", json!({"from": from.to_string(), "why": why}));
    }

    /// Starts the session of a control connection. Until it authenticates it needs a slot of
    /// unauthenticated connections.
    fn start_session(&mut self, mut pending: PendingConnection) {
        if pending.is_awaited {
            self.context.awaited_slots.release(pending.slot);
            let (slot, evicted) = self.context.pending_slots.acquire(pending.address.ip());
            pending.slot = slot;
            if let Some(evicted) = evicted {
                self.evict(evicted, false);
            }
        }
        self.context.pending_slots.mark_hello(pending.slot);
        let session = Session::new(pending, &mut self.context);
        self.sessions.push(session);
    }

    fn receive_datagrams(&mut self) {
        let MeasurementServer { context, sessions, receiver, schedulers, .. } = self;
        let (now, mut received_bytes) = (context.clock.now(), 0);
        receiver.drain(&context.udp, &context.clock, |datagram| {
            let Some(tag) = read_tag(datagram.bytes) else { return };
            for session in sessions.iter_mut().filter(|p| p.is_open()) {
                if session.validation_tag == tag {
                    let Some(keys) = session.control.keys() else { return };
                    match context.address_validator.on_datagram(keys, datagram.from, datagram.bytes) {
                        // The reply is as long as its request. If sendto fails, the client repeats
                        // the hello.
                        ValidationAction::SendCookie(cookie) if session.take_reply_ration(HELLO, now) => {
                            context.unscheduled_bytes += cookie.len() as u64 + u64::from(IPV4_UDP_HEADERS);
                            drop(context.udp.send_to(&cookie, datagram.from));
                        }
                        ValidationAction::Validated(test) if session.take_reply_ration(ECHO, now) => {
                            session.on_address_validated(test, datagram.from)
                        }
                        _ => {}
                    }
                    return;
                }
                if let Some(bytes) = session.on_tagged_datagram(tag, datagram) {
                    received_bytes += bytes;
                    return;
                }
            }
        });
        context.overrun = u64::from(receiver.overrun);
        schedulers[IoDirection::In as usize].bucket.take(received_bytes);
    }

    /// Removes closed sessions.
    fn remove_closed(&mut self) {
        let context = &mut self.context;
        self.sessions.retain_mut(|session| {
            if session.is_gone {
                session.close(context);
            }
            !session.is_gone
        });
    }

    /// Number of sessions, and of connections that are not sessions.
    pub fn present(&self) -> (u32, usize) {
        (self.context.registry.sessions(), self.pending_connections.len() + self.sessions.iter().filter(|p| !p.is_open()).count())
    }
}

impl ServerContext {
    pub fn welcome(&self) -> Welcome {
        Welcome {
            version: env!("CARGO_PKG_VERSION").into(),
            system: system(),
            quotas: self.config.quotas,
            congestion: self.congestion.clone(),
            clock: self.clock.state(),
        }
    }
}

/// Number of slots for unauthenticated connections: the operator's option, or half of the
/// descriptors that are not reserved for sessions.
fn slot_count(quotas: &Quotas) -> u32 {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((u64::MAX, u64::MAX));
    let room = u32::try_from(soft.saturating_sub(DESCRIPTORS_LEFT) / 2).unwrap_or(u32::MAX);
    quotas.pending_connections.min(room.max(MIN_SLOTS))
}

/// Descriptors for each session's tests, so that some remain for other sessions and for
/// unauthenticated connections.
fn descriptors_each(quotas: &Quotas, slot_count: u32) -> u64 {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((u64::MAX, u64::MAX));
    let sessions = u64::from(quotas.sessions.max(1));
    soft.saturating_sub(DESCRIPTORS_LEFT / 2 + u64::from(slot_count) + sessions) / sessions
}

/// Raises the soft RLIMIT_NOFILE to the hard limit, for sessions with many connections.
pub fn raise_descriptors() {
    if let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE)
        && soft < hard
    {
        // On failure fewer connections are served at a time.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, hard, hard);
    }
}

fn reserve() -> Option<File> {
    File::open("/dev/null").ok()
}

fn is_exhausted(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE | libc::ENOBUFS | libc::ENOMEM))
}
