//! STAMP on sockets: answering probes, and probing.

use super::client::addresses_of;
use super::clock::HostClock;
use super::datagrams::UdpReceiver;
use super::sockets;
use super::wait::wait;
use crate::rate_budget::TokenBucket;
use crate::stamp::packet::Key;
use crate::stamp::reflector::{ReceivedProbe, StampReflector};
use crate::stamp::sender::{StampResults, StampSender};
use crate::test_spec::IPV4_UDP_HEADERS;
use crate::{MS, MeasureError, Nanos, SECOND};
use ackclock_core::Problem;
use nix::poll::{PollFd, PollFlags};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

/// How long the last answers are waited for.
const GRACE_NS: Nanos = 2 * SECOND;
/// Answers a second, for all who ask: 64 kb/s for each of some tens.
const MAX_ANSWERS: u32 = 2000;
/// The fraction of the far end's rate for STAMP replies is one over this.
const SHARE: u64 = 10;
/// Unknown hops: what most hosts begin with would be a guess.
const NO_TTL: u8 = 0;

/// A reflector's port, and the key of its authenticated mode; without one everybody is answered.
#[derive(Debug, Clone)]
pub struct ReflectorConfig {
    pub port: u16,
    pub key: Key,
}

pub struct ReflectorSocket {
    pub socket: UdpSocket,
    reflector: StampReflector,
    receiver: UdpReceiver,
    bucket: TokenBucket,
}

impl ReflectorSocket {
    /// `rate_bps` is the far end's: replies use at most a tenth of it.
    pub fn open(at: IpAddr, config: &ReflectorConfig, rate_bps: u64) -> Result<ReflectorSocket, MeasureError> {
        let socket = sockets::datagrams(SocketAddr::new(at, config.port))?;
        sockets::enable_ttl(&socket);
        let bucket = TokenBucket::new(rate_bps / SHARE, Nanos::MIN);
        Ok(ReflectorSocket {
            socket,
            reflector: StampReflector::new(config.key.clone(), MAX_ANSWERS),
            receiver: UdpReceiver::new(),
            bucket,
        })
    }

    /// Replies to the received probes; returns the bytes of IP sent.
    pub fn answer(&mut self, clock: &HostClock) -> u64 {
        let state = clock.state();
        let mut sent = 0;
        let ReflectorSocket { socket, reflector, receiver, bucket } = self;
        receiver.drain(socket, clock, |datagram| {
            let probe = ReceivedProbe {
                packet: datagram.bytes,
                from: datagram.from.ip(),
                at: datagram.at,
                ttl: datagram.ttl.unwrap_or(NO_TTL),
            };
            let bytes = datagram.bytes.len() as u64 + u64::from(IPV4_UDP_HEADERS);
            if !bucket.has(clock.now(), bytes) {
                return;
            }
            if let Some(answer) = reflector.answer(&probe, clock.now(), &state) {
                // One that is not taken is a loss like others.
                let _ = socket.send_to(&answer, datagram.from);
                bucket.take(bytes);
                sent += bytes;
            }
        });
        sent
    }
}

/// What to ask a reflector.
#[derive(Debug, Clone)]
pub struct StampProbeConfig {
    pub host: String,
    pub port: u16,
    pub key: Key,
    pub gap_ns: Nanos,
    pub count: u32,
}

/// Probes a reflector. `watch` is asked as in a session. Input: there is no such host, or nothing answers.
pub fn probe(config: &StampProbeConfig, on_progress: &mut dyn FnMut(Nanos) -> bool) -> Result<StampResults, MeasureError> {
    let to = addresses_of(&config.host, config.port)?[0];
    let any = if to.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = sockets::datagrams(SocketAddr::new(any, 0))?;
    socket.connect(to).map_err(MeasureError::refused("reaching the reflector"))?;
    let clock = HostClock::start(0);
    let (mut sender, mut receiver) =
        (StampSender::new(config.key.clone(), config.gap_ns, config.count, clock.state()), UdpReceiver::new());
    let (began, mut end) = (clock.now(), Nanos::MAX);
    while !sender.has_all() && clock.now() < end {
        let due = sender.due(clock.now());
        let mut polled = [PollFd::new(socket.as_fd(), PollFlags::POLLIN)];
        wait(&clock, &mut polled, due.unwrap_or(end).min(clock.now() + 100 * MS))?;
        receiver.drain(&socket, &clock, |datagram| sender.on_reply(datagram.bytes, datagram.at));
        if due.is_some_and(|due| due <= clock.now()) {
            let packet = sender.packet(clock.now());
            // One that is not taken is a loss like others.
            let _ = socket.send(&packet);
        }
        if due.is_none() && end == Nanos::MAX {
            end = clock.now() + GRACE_NS;
        }
        if !on_progress(clock.now() - began) {
            return Err(MeasureError::Interrupted);
        }
    }
    let results = sender.results();
    if results.received == 0 {
        return Err(MeasureError::Input(
            Problem::new(
                format!("no STAMP reflector has answered at {to} (UDP), or none with this key"),
                "start one there (`ackclock serve --stamp-port PORT`), name its port with --stamp-port and its key with --stamp-key-file",
            )
            .of_option("--stamp-port"),
        ));
    }
    Ok(results)
}
