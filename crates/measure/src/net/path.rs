//! Sockets of the path test: a UDP socket whose error queue has the routers' ICMP messages (ip(7),
//! IP_RECVERR), which needs no privilege.

use super::client::addresses_of;
use super::clock::HostClock;
use super::wait::wait;
use crate::path::{HopProber, PathConfig, PathProbe, ProbeRecord, ProbeReply, ReplyKind};
use crate::test_spec::{IPV4_UDP_HEADERS, IPV6_UDP_HEADERS};
use crate::{MeasureError, Nanos};
use ackclock_core::Problem;
use nix::cmsg_space;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg, setsockopt, sockopt};
use std::io::IoSliceMut;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

/// First port of traceroute, on which no service listens. Each probe has a port of its own, which
/// identifies its reply.
const FIRST_PORT: u16 = 33_434;
const PORTS: u32 = 1024;
/// Type of ICMP (RFC 792) and of ICMPv6 (RFC 4443): time exceeded, destination unreachable, and the
/// code of port unreachable.
const EXPIRED: (u8, u8) = (11, 3);
const UNREACHABLE: (u8, u8) = (3, 1);
const PORT: (u8, u8) = (3, 4);
const TOO_BIG_CODE_V4: u8 = 4;
const TOO_BIG_V6: u8 = 2;

/// Records of all probes.
#[derive(Debug)]
pub struct PathProbes {
    pub target: IpAddr,
    pub records: Vec<ProbeRecord>,
}

/// Probes the path to a host. `keep_going` receives the share of probes that were sent; false stops
/// the test.
pub fn probe_path(host: &str, config: &PathConfig, keep_going: &mut dyn FnMut(f64) -> bool) -> Result<PathProbes, MeasureError> {
    let target = addresses_of(host, FIRST_PORT)?[0].ip();
    let mut prober = HopProber::new(config.clone()).map_err(|rule| MeasureError::Input(Problem::new(rule, "change the plan")))?;
    let mut socket = ProbeSocket::new(target)?;
    while let Some(due) = prober.due() {
        if !keep_going(prober.progress()) {
            return Err(MeasureError::Interrupted);
        }
        if let Some(probe) = prober.poll(socket.clock.now()) {
            socket.send(probe, &mut prober)?;
        } else {
            let mut polled = [PollFd::new(socket.udp.as_fd(), PollFlags::POLLIN)];
            wait(&socket.clock, &mut polled, due)?;
        }
        socket.receive_replies(&mut prober);
    }
    Ok(PathProbes { target, records: prober.records })
}

struct ProbeSocket {
    udp: UdpSocket,
    clock: HostClock,
    target: IpAddr,
    payload: Vec<u8>,
    ancillary: Vec<u8>,
}

impl ProbeSocket {
    fn new(target: IpAddr) -> Result<ProbeSocket, MeasureError> {
        let refused = MeasureError::refused("opening a socket for probes");
        let any: IpAddr = if target.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let udp = UdpSocket::bind((any, 0)).map_err(&refused)?;
        udp.set_nonblocking(true).map_err(&refused)?;
        let set = |done: nix::Result<()>| done.map_err(|e| refused(e.into()));
        set(setsockopt(&udp, sockopt::ReceiveTimestampns, &true))?;
        if target.is_ipv4() {
            set(setsockopt(&udp, sockopt::Ipv4RecvErr, &true))?;
        } else {
            set(setsockopt(&udp, sockopt::Ipv6RecvErr, &true))?;
        }
        never_fragment(&udp, target).map_err(&refused)?;
        let ancillary = cmsg_space!(nix::sys::time::TimeSpec, libc::sock_extended_err, libc::sockaddr_in6);
        Ok(ProbeSocket { udp, clock: HostClock::start(0), target, payload: vec![0; 1 << 16], ancillary })
    }

    fn send(&mut self, probe: PathProbe, prober: &mut HopProber) -> Result<(), MeasureError> {
        let (headers, limit) = if self.target.is_ipv4() {
            (IPV4_UDP_HEADERS, setsockopt(&self.udp, sockopt::Ipv4Ttl, &i32::from(probe.hop)))
        } else {
            (IPV6_UDP_HEADERS, setsockopt(&self.udp, sockopt::Ipv6Ttl, &i32::from(probe.hop)))
        };
        limit.map_err(MeasureError::refused("sending a probe"))?;
        let port = FIRST_PORT + u16::try_from(probe.number % PORTS).unwrap_or(0);
        let payload = &self.payload[..(probe.bytes.saturating_sub(headers)) as usize];
        let to = SocketAddr::new(self.target, port);
        prober.on_sent(self.clock.now());
        // A pending ICMP error makes the next send fail once (ip(7)); the send after it succeeds.
        let sent = match self.udp.send_to(payload, to) {
            Err(e) if is_pending_error(&e) => {
                prober.on_sent(self.clock.now());
                self.udp.send_to(payload, to)
            }
            sent => sent,
        };
        match sent {
            Ok(_) => Ok(()),
            Err(e) if e.raw_os_error() == Some(libc::EMSGSIZE) => {
                let (at, from) = (self.clock.now(), self.target);
                prober.on_reply(ProbeReply { number: probe.number, from, at, kind: ReplyKind::TooBig });
                Ok(())
            }
            // A full queue of this host is a loss.
            Err(e) if is_pending_error(&e) || matches!(e.raw_os_error(), Some(libc::ENOBUFS | libc::EAGAIN)) => Ok(()),
            Err(e) => Err(MeasureError::Failed(Problem::refused(&format!("sending a probe to {}", self.target), &e))),
        }
    }

    /// Reads the error queue, and datagrams from a service of the target.
    fn receive_replies(&mut self, prober: &mut HopProber) {
        let ahead = self.clock.offset_from_realtime();
        while let Some(reply) = self.take(ahead, MsgFlags::MSG_ERRQUEUE, prober) {
            prober.on_reply(reply);
        }
        while let Some(reply) = self.take(ahead, MsgFlags::empty(), prober) {
            prober.on_reply(reply);
        }
    }

    fn take(&mut self, ahead: Nanos, queue: MsgFlags, prober: &HopProber) -> Option<ProbeReply> {
        let mut body = [0; 64];
        let mut parts = [IoSliceMut::new(&mut body)];
        let flags = MsgFlags::MSG_DONTWAIT | queue;
        let message = loop {
            match recvmsg::<SockaddrStorage>(self.udp.as_raw_fd(), &mut parts, Some(&mut self.ancillary), flags) {
                Ok(message) => break message,
                Err(Errno::EINTR) => {}
                // An ICMP error, which is in the error queue too.
                Err(Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH) if queue.is_empty() => {}
                Err(_) => return None,
            }
        };
        // The name is the probe's destination for an error, and the source for data: both have the
        // probe's port.
        let peer = message.address.as_ref().and_then(plain)?;
        let number = number_of(peer.port(), prober.records.len())?;
        let mut reply = ProbeReply { number, from: peer.ip(), at: self.clock.now(), kind: ReplyKind::Reached };
        for control_message in message.cmsgs().ok()? {
            match control_message {
                ControlMessageOwned::ScmTimestampns(t) => reply.at = t.tv_sec() * 1_000_000_000 + t.tv_nsec() + ahead,
                ControlMessageOwned::Ipv4RecvErr(error, from) => {
                    let from = from.map(|a| IpAddr::V4(Ipv4Addr::from(u32::from_be(a.sin_addr.s_addr))));
                    reply = ProbeReply { from: from.unwrap_or(reply.from), kind: reply_kind(&error, self.target), ..reply };
                }
                ControlMessageOwned::Ipv6RecvErr(error, from) => {
                    let from = from.map(|a| IpAddr::V6(Ipv6Addr::from(a.sin6_addr.s6_addr)));
                    reply = ProbeReply { from: from.unwrap_or(reply.from), kind: reply_kind(&error, self.target), ..reply };
                }
                _ => {}
            }
        }
        Some(reply)
    }
}

/// The last probe to this port: earlier ones have timed out.
fn number_of(port: u16, records: usize) -> Option<u32> {
    let place = u32::from(port.checked_sub(FIRST_PORT)?);
    let newest = u32::try_from(records).ok()?;
    if place >= PORTS {
        return None;
    }
    newest.checked_sub((newest + PORTS - place) % PORTS)
}

fn reply_kind(error: &libc::sock_extended_err, target: IpAddr) -> ReplyKind {
    let pick = |(v4, v6): (u8, u8)| if target.is_ipv4() { v4 } else { v6 };
    let type_and_code = (error.ee_type, error.ee_code);
    let too_big =
        if target.is_ipv4() { type_and_code == (UNREACHABLE.0, TOO_BIG_CODE_V4) } else { type_and_code.0 == TOO_BIG_V6 };
    if error.ee_origin == libc::SO_EE_ORIGIN_LOCAL {
        return if error.ee_errno == libc::EMSGSIZE as u32 { ReplyKind::TooBig } else { ReplyKind::Refused };
    }
    if too_big {
        ReplyKind::TooBig
    } else if type_and_code.0 == pick(EXPIRED) {
        ReplyKind::Expired
    } else if type_and_code == (pick(UNREACHABLE), pick(PORT)) {
        ReplyKind::Reached
    } else {
        ReplyKind::Refused
    }
}

fn is_pending_error(error: &std::io::Error) -> bool {
    matches!(
        error.raw_os_error(),
        Some(libc::ECONNREFUSED | libc::EHOSTUNREACH | libc::ENETUNREACH | libc::EPROTO | libc::ECONNRESET)
    )
}

fn plain(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some(SocketAddr::new(IpAddr::V4(v4.ip()), v4.port()));
    }
    address.as_sockaddr_in6().map(|v6| SocketAddr::new(IpAddr::V6(v6.ip()), v6.port()))
}

/// Forbids fragmentation, which would change a probe's size, and ignores the kernel's cached path
/// MTU.
fn never_fragment(socket: &UdpSocket, target: IpAddr) -> std::io::Result<()> {
    let (level, name, probe) = if target.is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)
    };
    // SAFETY: the option's value is an int that outlives the call.
    let done = unsafe {
        libc::setsockopt(socket.as_raw_fd(), level, name, (&raw const probe).cast(), size_of_val(&probe) as libc::socklen_t)
    };
    if done == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn port_identifies_the_last_probe_that_was_sent_to_it() {
        assert_eq!(number_of(FIRST_PORT, 0), Some(0));
        assert_eq!(number_of(FIRST_PORT + 5, 5), Some(5));
        assert_eq!(number_of(FIRST_PORT + 4, 5), Some(4));
        assert_eq!(number_of(FIRST_PORT + 1, 1025), Some(1025));
        assert_eq!(number_of(FIRST_PORT + 2, 1025), Some(2));
        assert_eq!(number_of(FIRST_PORT + 7, 5), None);
        assert_eq!(number_of(80, 5), None);
    }
}
