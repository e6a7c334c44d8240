//! The far end: one thread, one event loop, all sessions. The caps and the sessions decide what is admitted; this module polls the sockets. One turn
//! of the loop does a bounded amount of each kind of work (data transfer in `moving`), which bounds the response time of every client.

mod kernel;
mod moving;
mod peer;
mod stranger;
mod test;

use super::clock::Clock;
use super::datagrams::Inbox;
use super::flow::Traffic;
use super::log::{Log, Target as LogTarget};
use super::privileges::drop_all;
use super::run::scratch;
use super::sockets::{self, Wishes};
use super::stamp::{Responder, StampOptions};
use super::wait::wait;
use crate::caps::Caps;
use crate::control::hello::DataHello;
use crate::control::message::Welcome;
use crate::control::registry::Registry;
use crate::control::unproven::Unproven;
use crate::share::UnsentRoom;
use crate::spec::HEADERS;
use crate::token::{Token, random};
use crate::udp::packet::tag_of;
use crate::udp::proof::{Answer, Doorkeeper};
use crate::{MS, MeasureError, Nanos};
use kernel::{available, system, unrestricted};
use moving::Line;
pub use moving::{MOST_BYTES, MOST_CALLS, Work};
use nix::poll::{PollFd, PollFlags};
use nix::sys::resource::{Resource, getrlimit, setrlimit};
use peer::{ECHO, KNOCK, Peer, Standing};
use serde_json::json;
use std::fs::File;
use std::io::ErrorKind;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use stranger::{Grown, Stranger};

/// Maximum number of connections accepted in one turn.
pub const MOST_ACCEPTED: u32 = 32;
/// Back-off of the listeners after accept fails.
const PAUSE_NS: Nanos = 50 * MS;
/// Interval of reading the kernels' retransmission counters.
const AGAIN_NS: Nanos = 50 * MS;
/// Descriptors reserved for sessions under a low RLIMIT_NOFILE.
const DESCRIPTORS_LEFT: u64 = 64;
/// Minimum number of places for unauthenticated connections.
const FEWEST_PLACES: u32 = 4;

#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// TCP and UDP.
    pub listen: SocketAddr,
    pub token: Token,
    pub caps: Caps,
    /// The clock set wrong by so many nanoseconds, to try estimators.
    pub clock_shift: Nanos,
    /// Answer STAMP probes too.
    pub stamp: Option<StampOptions>,
    /// Log of sessions and refusals.
    pub log: LogTarget,
}

pub struct Server {
    shared: Shared,
    listener: TcpListener,
    strangers: Vec<Stranger>,
    peers: Vec<Peer>,
    inbox: Inbox,
    stamp: Option<Responder>,
    scratch: Vec<u8>,
    /// Rate budgets, outbound and inbound.
    lines: [Line; 2],
    next_again: Nanos,
    /// Spare descriptor: closed for a moment at EMFILE, to accept and close a connection.
    reserve: Option<File>,
    /// Time at which the listeners resume, and the number of failed accepts.
    accept_again: Nanos,
    not_accepted: u64,
}

/// What every session may use.
pub struct Shared {
    pub options: ServerOptions,
    pub clock: Clock,
    pub udp: UdpSocket,
    pub door: Doorkeeper,
    pub registry: Registry,
    /// Unauthenticated connections, and connections that tests await.
    pub unproven: Unproven,
    pub awaited: Unproven,
    pub congestion: Vec<String>,
    /// Listeners with a congestion control that needs CAP_NET_ADMIN, opened before the privileges are dropped.
    pub restricted: Vec<(TcpListener, String)>,
    pub log: Log,
    /// Descriptors that one session's tests may take.
    pub descriptors: u64,
    /// Bytes of IP sent outside the rate budget, to be charged to it.
    pub owed: u64,
    /// Bound of each session's unsent data.
    pub unsent: UnsentRoom,
}

/// Whose socket is ready.
#[derive(Clone, Copy)]
enum Target {
    Listener(Door),
    Udp,
    Stamp,
    Stranger(usize),
    Control(usize),
    Capture(usize),
    /// A peer's test's connection.
    Flow(usize, u32, usize),
}

/// Kind of listener: the control port, the port of a congestion control, or the port of a test.
#[derive(Clone, Copy)]
enum Door {
    Usual,
    Restricted(usize),
    Test(usize, u32),
}

impl Server {
    pub fn open(options: ServerOptions) -> Result<Server, MeasureError> {
        let listener = sockets::listen(options.listen, &Wishes::default())?;
        let at = listener.local_addr().map_err(MeasureError::refused("listening for connections"))?;
        let mut secret = [0; 32];
        random(&mut secret)?;
        let clock = Clock::start(options.clock_shift);
        let (now, caps) = (clock.now(), &options.caps);
        let places = places(caps);
        let shared = Shared {
            clock,
            udp: sockets::datagrams(at)?,
            door: Doorkeeper::new(secret),
            registry: Registry::default(),
            unproven: Unproven::new(places, caps.strangers_per_peer.min(places)),
            awaited: Unproven::new(places, caps.connections.min(places)),
            congestion: available(),
            restricted: Vec::new(),
            log: Log::new(options.log.clone()),
            descriptors: descriptors_each(caps, places),
            owed: 0,
            unsent: UnsentRoom::new(caps.rate_bps, caps.sessions),
            options,
        };
        let stamp =
            shared.options.stamp.as_ref().map(|s| Responder::open(at.ip(), s, shared.options.caps.rate_bps)).transpose()?;
        let (strangers, peers) = (Vec::new(), Vec::new());
        let caps = &shared.options.caps;
        let lines = [Line::new(caps.rate_bps, now), Line::new(caps.rate_bps, now)];
        shared.log.note("listening", json!({"at": at.to_string(), "max_rate_bps": caps.rate_bps, "sessions": caps.sessions}));
        Ok(Server {
            shared,
            listener,
            strangers,
            peers,
            inbox: Inbox::new(),
            stamp,
            scratch: scratch(),
            lines,
            next_again: now,
            reserve: reserve(),
            accept_again: now,
            not_accepted: 0,
        })
    }

    /// Where it listens: with the port that the kernel chose, if that was left to it.
    pub fn address(&self) -> Result<SocketAddr, MeasureError> {
        self.listener.local_addr().map_err(MeasureError::refused("listening for connections"))
    }

    /// Where STAMP probes are answered, if they are.
    pub fn stamp_address(&self) -> Option<SocketAddr> {
        self.stamp.as_ref()?.socket.local_addr().ok()
    }

    /// Drops the privileges that only binding needed (`privileges`): root becomes `user`, or "nobody", and keeps CAP_NET_RAW only where captures are allowed.
    /// Congestion controls that the kernel keeps for the privileged get listeners of their own before that, at ports that the kernel chooses.
    pub fn drop_privileges(&mut self, user: Option<&str>) -> Result<(), MeasureError> {
        let (at, free) = (self.address()?.ip(), unrestricted());
        let kept: Vec<String> = self.shared.congestion.iter().filter(|name| !free.contains(name)).cloned().collect();
        self.shared.restricted =
            kept.into_iter().filter_map(|name| Some((sockets::listen_with(SocketAddr::new(at, 0), &name)?, name))).collect();
        let left = drop_all(user, self.shared.options.caps.capture_bytes > 0)?;
        self.shared.congestion = free.into_iter().chain(self.shared.restricted.iter().map(|(_, name)| name.clone())).collect();
        let what = json!({"uid": left.uid, "net_raw": left.net_raw, "no_other_user": left.no_other_user});
        self.shared.log.note("privileges-dropped", what);
        Ok(())
    }

    /// Serves for as long as `keep_going` says so; it is asked ten times a second at least.
    pub fn run(&mut self, mut keep_going: impl FnMut() -> bool) -> Result<(), MeasureError> {
        while keep_going() {
            self.turn()?;
        }
        Ok(())
    }

    /// One turn: polls once and handles every event. Returns the amount of work.
    pub fn turn(&mut self) -> Result<Work, MeasureError> {
        let mut work = Work::default();
        let (ready, mut accepts) = (self.wait()?, Vec::new());
        // Datagrams first: their times matter most, and connections can wait.
        for target in ready {
            match target {
                Target::Udp => self.hear_datagrams(),
                Target::Stamp => {
                    let answered = self.stamp.as_mut().map_or(0, |s| s.answer(&self.shared.clock));
                    self.shared.owed += answered;
                }
                // Last: accepting may evict a connection, and the events above are indexed by place.
                Target::Listener(door) => accepts.push(door),
                Target::Stranger(i) => self.strangers[i].ready = true,
                Target::Control(i) => self.peers[i].hear(&mut self.shared, &mut self.scratch),
                Target::Capture(i) => self.peers[i].capture.iter_mut().for_each(|c| c.drain(&self.shared.clock)),
                Target::Flow(i, test, flow) => self.peers[i].ready_flow(test, flow, &self.shared, &mut self.scratch),
            }
        }
        for door in accepts {
            self.accept(door, &mut work);
        }
        self.hear_strangers();
        for peer in &mut self.peers {
            peer.tick(&mut self.shared, &mut self.scratch);
        }
        self.settle();
        let Server { shared, peers, scratch, lines, .. } = self;
        for (line, way) in lines.iter_mut().zip([Traffic::Out, Traffic::In]) {
            line.run(way, peers, shared, scratch, &mut work);
        }
        self.part();
        Ok(work)
    }

    /// Charges the rate budget for bytes sent outside it.
    fn settle(&mut self) {
        let now = self.shared.clock.now();
        let mut bytes = std::mem::take(&mut self.shared.owed);
        if now >= self.next_again {
            self.next_again = now + AGAIN_NS;
            bytes += self.peers.iter_mut().map(Peer::sent_again).sum::<u64>();
        }
        self.lines[Traffic::Out as usize].bucket.take(bytes);
    }

    fn wait(&self) -> Result<Vec<Target>, MeasureError> {
        let now = self.shared.clock.now();
        let held = [self.lines[0].held(now), self.lines[1].held(now)];
        let accepts = now >= self.accept_again;
        let mut targets = vec![(Target::Udp, self.shared.udp.as_fd(), PollFlags::POLLIN)];
        targets.extend(accepts.then(|| (Target::Listener(Door::Usual), self.listener.as_fd(), PollFlags::POLLIN)));
        let restricted = self.shared.restricted.iter().enumerate().filter(|_| accepts);
        targets.extend(restricted.map(|(i, (l, _))| (Target::Listener(Door::Restricted(i)), l.as_fd(), PollFlags::POLLIN)));
        targets.extend(self.stamp.iter().map(|s| (Target::Stamp, s.socket.as_fd(), PollFlags::POLLIN)));
        let strangers = self.strangers.iter().enumerate();
        targets.extend(strangers.map(|(i, s)| (Target::Stranger(i), s.stream.as_fd(), PollFlags::POLLIN)));
        for (i, peer) in self.peers.iter().enumerate() {
            targets.push((Target::Control(i), peer.stream.as_fd(), peer.interest()));
            targets.extend(peer.capture.iter().map(|c| (Target::Capture(i), c.fd(), PollFlags::POLLIN)));
            for (number, test) in &peer.tests {
                let listener = test.listener.iter().filter(|_| accepts);
                targets.extend(listener.map(|l| (Target::Listener(Door::Test(i, *number)), l.as_fd(), PollFlags::POLLIN)));
                for (j, fd, interest) in test.sockets(now) {
                    targets.push((Target::Flow(i, *number, j), fd, interest));
                }
            }
        }
        let due = self.peers.iter().map(|p| p.due(now, held)).chain(self.strangers.iter().map(Stranger::due));
        let due = due.chain((!accepts).then_some(self.accept_again)).min();
        let mut polled: Vec<PollFd<'_>> = targets.iter().map(|t| PollFd::new(t.1, t.2)).collect();
        wait(&self.shared.clock, &mut polled, due.unwrap_or(Nanos::MAX))?;
        let is_ready = |p: &PollFd<'_>| p.revents().is_some_and(|r| !r.is_empty());
        Ok(targets.iter().zip(&polled).filter(|(_, p)| is_ready(p)).map(|(t, _)| t.0).collect())
    }

    /// The next connection there.
    fn next_at(&mut self, door: Door) -> std::io::Result<TcpStream> {
        let accepted = match door {
            Door::Usual => self.listener.accept(),
            Door::Restricted(i) => self.shared.restricted[i].0.accept(),
            Door::Test(peer, test) => return self.peers[peer].accept(test),
        };
        accepted.map(|(stream, _)| stream)
    }

    fn accept(&mut self, door: Door, work: &mut Work) {
        while work.accepted < MOST_ACCEPTED {
            let next = self.next_at(door);
            match next {
                Ok(stream) => {
                    work.accepted += 1;
                    self.welcome_stranger(stream, matches!(door, Door::Test(..)));
                }
                Err(e) if is_exhausted(&e) => {
                    work.accepted += 1;
                    if !self.make_room(door, &e) {
                        return;
                    }
                }
                Err(e) if e.kind() == ErrorKind::WouldBlock => return,
                // ECONNABORTED: that connection is closed; the next may be pending.
                Err(_) => work.accepted += 1,
            }
        }
    }

    /// EMFILE. Poll would report the listener as ready for ever: an unauthenticated connection is closed, or else the new one. True if the
    /// next may be accepted; if not, the listeners pause.
    fn make_room(&mut self, door: Door, error: &std::io::Error) -> bool {
        let now = self.shared.clock.now();
        self.not_accepted += 1;
        let why = format!("accepting a connection: {error}");
        self.shared.log.note_stranger(now, "not-accepted", json!({"why": why, "count": self.not_accepted}));
        if let Some(place) = self.shared.unproven.least() {
            self.shared.unproven.leave(place);
            // A handshake's socket is closed at the end of the turn.
            return self.evict(place, false);
        }
        self.accept_again = now + PAUSE_NS;
        if self.reserve.take().is_some() {
            drop(self.next_at(door));
        }
        self.reserve = reserve();
        false
    }

    fn welcome_stranger(&mut self, stream: TcpStream, is_awaited: bool) {
        let (Ok(peer), Ok(())) = (stream.peer_addr(), stream.set_nonblocking(true)) else { return };
        let is_awaited = is_awaited || self.peers.iter().any(|p| p.awaits(peer.ip()));
        let came = self.shared.clock.now();
        let (place, goes) = self.pool(is_awaited).arrive(peer.ip());
        if let Some(goes) = goes {
            self.evict(goes, is_awaited);
        }
        self.strangers.push(Stranger { stream, peer, came, heard: Vec::new(), ready: true, place, is_awaited });
    }

    fn pool(&mut self, is_awaited: bool) -> &mut Unproven {
        if is_awaited { &mut self.shared.awaited } else { &mut self.shared.unproven }
    }

    /// Closes the evicted connection whose place is reassigned. True if its socket is closed.
    fn evict(&mut self, place: u64, is_awaited: bool) -> bool {
        let now = self.shared.clock.now();
        let before = self.strangers.len();
        let gone = if let Some(i) = self.strangers.iter().position(|s| s.place == place && s.is_awaited == is_awaited) {
            Some(self.strangers.remove(i).peer)
        } else {
            let holds = |p: &&mut Peer| !is_awaited && p.place == place && p.standing == Standing::Stranger;
            self.peers.iter_mut().find(holds).map(|peer| {
                (peer.is_gone, peer.standing) = (true, Standing::Nobody);
                peer.address
            })
        };
        if let Some(from) = gone {
            self.shared.log.note_stranger(now, "refused", json!({"from": from.to_string(), "why": "its place was needed"}));
        }
        self.strangers.len() < before
    }

    fn hear_strangers(&mut self) {
        let now = self.shared.clock.now();
        for mut stranger in std::mem::take(&mut self.strangers) {
            if !self.pool(stranger.is_awaited).holds(stranger.place) {
                self.refused(now, stranger.peer, "its place was needed");
                continue;
            }
            match stranger.grow(now) {
                Grown::Not => {
                    if !stranger.heard.is_empty() {
                        self.pool(stranger.is_awaited).speaks(stranger.place);
                    }
                    self.strangers.push(stranger);
                }
                Grown::Gone(why) => {
                    self.pool(stranger.is_awaited).leave(stranger.place);
                    self.refused(now, stranger.peer, why);
                }
                Grown::Control => self.greet(stranger),
                Grown::Data(hello, digest) => {
                    self.pool(stranger.is_awaited).leave(stranger.place);
                    let DataHello { session, .. } = hello;
                    let of = self.peers.iter_mut().find(|p| p.session.keys().is_some_and(|k| k.name == session));
                    let proven = of.filter(|p| p.session.keys().is_some_and(|k| hello.is_proven(&digest, k)));
                    // Whoever is not proven is closed without a word.
                    match proven {
                        Some(peer) => peer.attach(hello, stranger, &self.shared),
                        None => self.refused(now, stranger.peer, "a data connection of no session"),
                    }
                }
            }
        }
    }

    fn refused(&mut self, now: Nanos, from: SocketAddr, why: &str) {
        self.shared.log.note_stranger(now, "refused", json!({"from": from.to_string(), "why": why}));
    }

    /// A control connection: it counts as unauthenticated, whichever place it had before.
    fn greet(&mut self, mut stranger: Stranger) {
        if stranger.is_awaited {
            self.shared.awaited.leave(stranger.place);
            let (place, goes) = self.shared.unproven.arrive(stranger.peer.ip());
            stranger.place = place;
            if let Some(goes) = goes {
                self.evict(goes, false);
            }
        }
        self.shared.unproven.speaks(stranger.place);
        let peer = Peer::new(stranger, &mut self.shared);
        self.peers.push(peer);
    }

    fn hear_datagrams(&mut self) {
        let Server { shared, peers, inbox, lines, .. } = self;
        let (now, mut came_in) = (shared.clock.now(), 0);
        inbox.drain(&shared.udp, &shared.clock, |came| {
            let Some(tag) = tag_of(came.bytes) else { return };
            for peer in peers.iter_mut().filter(|p| p.is_open()) {
                if peer.knock_tag == tag {
                    let Some(keys) = peer.session.keys() else { return };
                    match shared.door.hear(keys, came.from, came.bytes) {
                        // As many bytes as came. If it is not taken the client knocks again.
                        Answer::Cookie(cookie) if peer.may_answer(KNOCK, now) => {
                            shared.owed += cookie.len() as u64 + u64::from(HEADERS);
                            drop(shared.udp.send_to(&cookie, came.from));
                        }
                        Answer::Proven(test) if peer.may_answer(ECHO, now) => peer.proven(test, came.from),
                        _ => {}
                    }
                    return;
                }
                if let Some(bytes) = peer.tagged(tag, came) {
                    came_in += bytes;
                    return;
                }
            }
        });
        lines[Traffic::In as usize].bucket.take(came_in);
    }

    /// Lets go of those who have gone.
    fn part(&mut self) {
        let shared = &mut self.shared;
        self.peers.retain_mut(|peer| {
            if peer.is_gone {
                peer.leave(shared);
            }
            !peer.is_gone
        });
    }

    /// Sessions at this moment, and connections that are not sessions.
    pub fn present(&self) -> (u32, usize) {
        (self.shared.registry.sessions(), self.strangers.len() + self.peers.iter().filter(|p| !p.is_open()).count())
    }
}

impl Shared {
    pub fn welcome(&self) -> Welcome {
        Welcome {
            version: env!("CARGO_PKG_VERSION").into(),
            system: system(),
            caps: self.options.caps,
            congestion: self.congestion.clone(),
            clock: self.clock.state(),
        }
    }
}

/// Number of places for unauthenticated connections: the operator's option, or half of the descriptors beside those of sessions.
fn places(caps: &Caps) -> u32 {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((u64::MAX, u64::MAX));
    let room = u32::try_from(soft.saturating_sub(DESCRIPTORS_LEFT) / 2).unwrap_or(u32::MAX);
    caps.strangers.min(room.max(FEWEST_PLACES))
}

/// Descriptors for each session's tests, so that some remain for every session and for unauthenticated connections.
fn descriptors_each(caps: &Caps, places: u32) -> u64 {
    let (soft, _) = getrlimit(Resource::RLIMIT_NOFILE).unwrap_or((u64::MAX, u64::MAX));
    let sessions = u64::from(caps.sessions.max(1));
    soft.saturating_sub(DESCRIPTORS_LEFT / 2 + u64::from(places) + sessions) / sessions
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
