//! The far end: one thread, one loop, all sessions. What may be done is decided by the caps and the sessions; here sockets are looked at.

mod kernel;
mod peer;
mod stranger;
mod test;

use super::clock::Clock;
use super::datagrams::Inbox;
use super::run::scratch;
use super::sockets::{self, Wishes};
use super::stamp::{Responder, StampOptions};
use super::wait::wait;
use crate::caps::Caps;
use crate::control::hello::DataHello;
use crate::control::message::Welcome;
use crate::control::registry::Registry;
use crate::token::{Token, random};
use crate::udp::packet::{Head, tag_of};
use crate::udp::proof::{Answer, Doorkeeper};
use crate::{MeasureError, Nanos};
use kernel::{available, system};
use nix::poll::{PollFd, PollFlags};
use peer::Peer;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use stranger::{Grown, Stranger};

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
}

pub struct Server {
    shared: Shared,
    listener: TcpListener,
    strangers: Vec<Stranger>,
    peers: Vec<Peer>,
    inbox: Inbox,
    stamp: Option<Responder>,
    scratch: Vec<u8>,
}

/// What every session may use.
pub struct Shared {
    pub options: ServerOptions,
    pub clock: Clock,
    pub udp: UdpSocket,
    pub door: Doorkeeper,
    pub registry: Registry,
    pub congestion: Vec<String>,
}

/// Whose socket is ready.
#[derive(Clone, Copy)]
enum Target {
    Listener,
    Udp,
    Stamp,
    Stranger(usize),
    Control(usize),
    Capture(usize),
    /// A peer's test's listener, and its flow.
    Extra(usize, u32),
    Flow(usize, u32, usize),
}

impl Server {
    pub fn open(options: ServerOptions) -> Result<Server, MeasureError> {
        let listener = sockets::listen(options.listen, &Wishes::default())?;
        let at = listener.local_addr().map_err(MeasureError::refused("listening for connections"))?;
        let mut secret = [0; 32];
        random(&mut secret)?;
        let shared = Shared {
            clock: Clock::start(options.clock_shift),
            udp: sockets::datagrams(at)?,
            door: Doorkeeper::new(secret),
            registry: Registry::default(),
            congestion: available(),
            options,
        };
        let stamp = shared.options.stamp.as_ref().map(|s| Responder::open(at.ip(), s)).transpose()?;
        let (strangers, peers) = (Vec::new(), Vec::new());
        Ok(Server { shared, listener, strangers, peers, inbox: Inbox::new(), stamp, scratch: scratch() })
    }

    /// Where it listens: with the port that the kernel chose, if that was left to it.
    pub fn address(&self) -> Result<SocketAddr, MeasureError> {
        self.listener.local_addr().map_err(MeasureError::refused("listening for connections"))
    }

    /// Where STAMP probes are answered, if they are.
    pub fn stamp_address(&self) -> Option<SocketAddr> {
        self.stamp.as_ref()?.socket.local_addr().ok()
    }

    /// Serves for as long as `keep_going` says so; it is asked ten times a second at least.
    pub fn run(&mut self, mut keep_going: impl FnMut() -> bool) -> Result<(), MeasureError> {
        while keep_going() {
            self.turn()?;
        }
        Ok(())
    }

    /// Waits once, and does what there is to do.
    pub fn turn(&mut self) -> Result<(), MeasureError> {
        let ready = self.wait()?;
        // Datagrams first: their times matter most, and connections can wait.
        for target in ready {
            match target {
                Target::Udp => self.hear_datagrams(),
                Target::Stamp => self.stamp.iter_mut().for_each(|s| s.answer(&self.shared.clock)),
                Target::Listener => self.accept(),
                Target::Stranger(i) => self.strangers[i].ready = true,
                Target::Control(i) => self.peers[i].hear(&mut self.shared, &mut self.scratch),
                Target::Capture(i) => self.peers[i].capture.iter_mut().for_each(|c| c.drain(&self.shared.clock)),
                Target::Extra(i, test) => {
                    if let Some(stream) = self.peers[i].accept(test) {
                        self.welcome_stranger(stream);
                    }
                }
                Target::Flow(i, test, flow) => self.peers[i].advance_flow(test, flow, &self.shared, &mut self.scratch),
            }
        }
        self.hear_strangers();
        for peer in &mut self.peers {
            peer.tick(&mut self.shared, &mut self.scratch);
        }
        self.part();
        Ok(())
    }

    fn wait(&self) -> Result<Vec<Target>, MeasureError> {
        let now = self.shared.clock.now();
        let mut targets = vec![(Target::Udp, self.shared.udp.as_fd(), PollFlags::POLLIN)];
        targets.push((Target::Listener, self.listener.as_fd(), PollFlags::POLLIN));
        targets.extend(self.stamp.iter().map(|s| (Target::Stamp, s.socket.as_fd(), PollFlags::POLLIN)));
        let strangers = self.strangers.iter().enumerate();
        targets.extend(strangers.map(|(i, s)| (Target::Stranger(i), s.stream.as_fd(), PollFlags::POLLIN)));
        for (i, peer) in self.peers.iter().enumerate() {
            targets.push((Target::Control(i), peer.stream.as_fd(), peer.interest()));
            targets.extend(peer.capture.iter().map(|c| (Target::Capture(i), c.fd(), PollFlags::POLLIN)));
            for (number, test) in &peer.tests {
                targets.extend(test.listener.iter().map(|l| (Target::Extra(i, *number), l.as_fd(), PollFlags::POLLIN)));
                for (j, fd, interest) in test.sockets(now) {
                    targets.push((Target::Flow(i, *number, j), fd, interest));
                }
            }
        }
        let due = self.peers.iter().map(|p| p.due(now)).chain(self.strangers.iter().map(Stranger::due)).min();
        let mut polled: Vec<PollFd<'_>> = targets.iter().map(|t| PollFd::new(t.1, t.2)).collect();
        wait(&self.shared.clock, &mut polled, due.unwrap_or(Nanos::MAX))?;
        let is_ready = |p: &PollFd<'_>| p.revents().is_some_and(|r| !r.is_empty());
        Ok(targets.iter().zip(&polled).filter(|(_, p)| is_ready(p)).map(|(t, _)| t.0).collect())
    }

    fn accept(&mut self) {
        while let Ok((stream, _)) = self.listener.accept() {
            self.welcome_stranger(stream);
        }
    }

    fn welcome_stranger(&mut self, stream: std::net::TcpStream) {
        let (Ok(peer), Ok(())) = (stream.peer_addr(), stream.set_nonblocking(true)) else { return };
        // One too many is closed unheard.
        if self.shared.registry.arrive(peer.ip(), &self.shared.options.caps) {
            self.strangers.push(Stranger::new(stream, peer, self.shared.clock.now()));
        }
    }

    fn hear_strangers(&mut self) {
        let now = self.shared.clock.now();
        for mut stranger in std::mem::take(&mut self.strangers) {
            match stranger.grow(now) {
                Grown::Not => self.strangers.push(stranger),
                Grown::Gone => self.shared.registry.known(stranger.peer.ip()),
                Grown::Control => self.peers.push(Peer::new(stranger, &mut self.shared)),
                Grown::Data(hello, digest) => {
                    self.shared.registry.known(stranger.peer.ip());
                    let DataHello { session, .. } = hello;
                    let of = self.peers.iter_mut().find(|p| p.session.keys().is_some_and(|k| k.name == session));
                    let proven = of.filter(|p| p.session.keys().is_some_and(|k| hello.is_proven(&digest, k)));
                    // Whoever is not proven is closed without a word.
                    if let Some(peer) = proven {
                        peer.attach(hello, stranger, &self.shared);
                    }
                }
            }
        }
    }

    fn hear_datagrams(&mut self) {
        let Server { shared, peers, inbox, .. } = self;
        inbox.drain(&shared.udp, &shared.clock, |came| {
            let Some(tag) = tag_of(came.bytes) else { return };
            for peer in peers.iter_mut().filter(|p| p.is_open()) {
                if peer.knock_tag == tag {
                    let Some(keys) = peer.session.keys() else { return };
                    match shared.door.hear(keys, came.from, came.bytes) {
                        // As many bytes as came. If it is not taken the client knocks again.
                        Answer::Cookie(cookie) => drop(shared.udp.send_to(&cookie, came.from)),
                        Answer::Proven(test) => peer.proven(test, came.from),
                        Answer::Nothing => {}
                    }
                    return;
                }
                if let Some(test) = peer.tagged(tag, came.from) {
                    if let Some(head) = Head::read(came.bytes) {
                        test.hear(&head, came.at);
                    }
                    return;
                }
            }
        });
    }

    /// Lets go of those who have gone.
    fn part(&mut self) {
        let registry = &mut self.shared.registry;
        self.peers.retain(|peer| {
            if peer.is_gone {
                peer.leave(registry);
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
