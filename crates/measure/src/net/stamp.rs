//! STAMP on sockets: answering probes, and probing.

use super::client::addresses_of;
use super::clock::Clock;
use super::datagrams::Inbox;
use super::sockets;
use super::wait::wait;
use crate::share::Bucket;
use crate::spec::HEADERS;
use crate::stamp::packet::Key;
use crate::stamp::reflector::{Came, Reflector};
use crate::stamp::sender::{Sender, StampFound};
use crate::{MS, MeasureError, Nanos, SECOND};
use ackclock_core::Problem;
use nix::poll::{PollFd, PollFlags};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

/// How long the last answers are waited for.
const GRACE_NS: Nanos = 2 * SECOND;
/// Answers a second, for all who ask: 64 kb/s for each of some tens.
const MOST_ANSWERS: u32 = 2000;
/// The fraction of the far end's rate for STAMP replies is one over this.
const SHARE: u64 = 10;
/// Unknown hops: what most hosts begin with would be a guess.
const NO_TTL: u8 = 0;

/// A reflector's port, and the key of its authenticated mode; without one everybody is answered.
#[derive(Debug, Clone)]
pub struct StampOptions {
    pub port: u16,
    pub key: Key,
}

pub struct Responder {
    pub socket: UdpSocket,
    reflector: Reflector,
    inbox: Inbox,
    bucket: Bucket,
}

impl Responder {
    /// `rate_bps` is the far end's: replies use at most a tenth of it.
    pub fn open(at: IpAddr, options: &StampOptions, rate_bps: u64) -> Result<Responder, MeasureError> {
        let socket = sockets::datagrams(SocketAddr::new(at, options.port))?;
        sockets::with_ttl(&socket);
        let bucket = Bucket::new(rate_bps / SHARE, Nanos::MIN);
        Ok(Responder { socket, reflector: Reflector::new(options.key.clone(), MOST_ANSWERS), inbox: Inbox::new(), bucket })
    }

    /// Replies to the received probes; returns the bytes of IP sent.
    pub fn answer(&mut self, clock: &Clock) -> u64 {
        let state = clock.state();
        let mut sent = 0;
        let Responder { socket, reflector, inbox, bucket } = self;
        inbox.drain(socket, clock, |came| {
            let probe = Came { packet: came.bytes, from: came.from.ip(), at: came.at, ttl: came.ttl.unwrap_or(NO_TTL) };
            let bytes = came.bytes.len() as u64 + u64::from(HEADERS);
            if !bucket.has(clock.now(), bytes) {
                return;
            }
            if let Some(answer) = reflector.answer(&probe, clock.now(), &state) {
                // One that is not taken is a loss like others.
                let _ = socket.send_to(&answer, came.from);
                bucket.take(bytes);
                sent += bytes;
            }
        });
        sent
    }
}

/// What to ask a reflector.
#[derive(Debug, Clone)]
pub struct ProbeOptions {
    pub host: String,
    pub port: u16,
    pub key: Key,
    pub gap_ns: Nanos,
    pub count: u32,
}

/// Probes a reflector. `watch` is asked as in a session. Input: there is no such host, or nothing answers.
pub fn probe(options: &ProbeOptions, watch: &mut dyn FnMut(Nanos) -> bool) -> Result<StampFound, MeasureError> {
    let to = addresses_of(&options.host, options.port)?[0];
    let any = if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = sockets::datagrams(SocketAddr::new(any, 0))?;
    socket.connect(to).map_err(MeasureError::refused("reaching the reflector"))?;
    let clock = Clock::start(0);
    let (mut sender, mut inbox) = (Sender::new(options.key.clone(), options.gap_ns, options.count, clock.state()), Inbox::new());
    let (began, mut end) = (clock.now(), Nanos::MAX);
    while !sender.has_all() && clock.now() < end {
        let due = sender.due(clock.now());
        let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        wait(&clock, &mut polled, due.unwrap_or(end).min(clock.now() + 100 * MS))?;
        inbox.drain(&socket, &clock, |came| sender.hear(came.bytes, came.at));
        if due.is_some_and(|due| due <= clock.now()) {
            let packet = sender.packet(clock.now());
            // One that is not taken is a loss like others.
            let _ = socket.send(&packet);
        }
        if due.is_none() && end == Nanos::MAX {
            end = clock.now() + GRACE_NS;
        }
        if !watch(clock.now() - began) {
            return Err(MeasureError::Interrupted);
        }
    }
    let found = sender.found();
    if found.received == 0 {
        return Err(MeasureError::Input(
            Problem::new(
                format!("no STAMP reflector has answered at {to} (UDP), or none with this key"),
                "start one there (`ackclock serve --stamp-port PORT`), name its port with --stamp-port and its key with --stamp-key-file",
            )
            .of_option("--stamp-port"),
        ));
    }
    Ok(found)
}
