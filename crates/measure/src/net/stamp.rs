//! Sockets of the STAMP reflector and of the STAMP sender.

use super::client::addresses_of;
use super::clock::HostClock;
use super::datagrams::UdpReceiver;
use super::sockets;
use super::wait::wait;
use crate::rate_budget::TokenBucket;
use crate::stamp::packet::StampKey;
use crate::stamp::reflector::{ReceivedProbe, StampReflector};
use crate::stamp::sender::{StampResults, StampSender};
use crate::test_spec::IPV4_UDP_HEADERS;
use crate::{MS, MeasureError, Nanos, SECOND};
use ackclock_core::Problem;
use nix::poll::{PollFd, PollFlags};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::AsFd;

/// Time to wait for the last replies.
const GRACE_NS: Nanos = 2 * SECOND;
/// Maximum number of replies per second, all senders together.
const MAX_ANSWERS: u32 = 2000;
/// Replies use at most the server's rate divided by this.
const SHARE: u64 = 10;
/// Unknown hop limit. A default value would be a guess.
const NO_TTL: u8 = 0;

/// Port of a reflector, and the key of its authenticated mode; without a key it answers
/// unauthenticated probes.
#[derive(Debug, Clone)]
pub struct ReflectorConfig {
    pub port: u16,
    pub key: StampKey,
}

pub struct ReflectorSocket {
    pub socket: UdpSocket,
    reflector: StampReflector,
    receiver: UdpReceiver,
    bucket: TokenBucket,
}

impl ReflectorSocket {
    /// `rate_bps` is the server's rate: replies use at most a tenth of it.
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

    /// Replies to the probes that have arrived. Returns the bytes of IP sent.
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
                // A failed sendto is a loss.
                let _ = socket.send_to(&answer, datagram.from);
                bucket.take(bytes);
                sent += bytes;
            }
        });
        sent
    }
}

/// Configuration of a STAMP measurement.
#[derive(Debug, Clone)]
pub struct StampProbeConfig {
    pub host: String,
    pub port: u16,
    pub key: StampKey,
    pub gap_ns: Nanos,
    pub count: u32,
}

/// Probes a reflector. `on_progress` is called as in a session. Input: the host does not exist, or
/// no reply arrives.
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
            // A failed send is a loss.
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
