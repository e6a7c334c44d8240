//! Received datagrams with the kernel's timestamps.

use super::clock::HostClock;
use crate::Nanos;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Maximum length of a datagram.
const ROOM: usize = 65_536;
/// Datagrams read in one call, so that sending is not delayed.
const BATCH: usize = 64;

pub struct UdpReceiver {
    datagram: Vec<u8>,
    ancillary: Vec<u8>,
    /// Datagrams that the kernel dropped for lack of buffer space (SO_RXQ_OVFL).
    pub overrun: u32,
}

/// A received datagram.
pub struct ReceivedDatagram<'a> {
    pub from: SocketAddr,
    pub at: Nanos,
    /// Remaining hop limit, if `enable_ttl` was called and the kernel reports it.
    pub ttl: Option<u8>,
    pub bytes: &'a [u8],
}

impl UdpReceiver {
    pub fn new() -> UdpReceiver {
        let ancillary = nix::cmsg_space!(nix::sys::time::TimeSpec, u32, i32);
        UdpReceiver { datagram: vec![0; ROOM], ancillary, overrun: 0 }
    }

    /// Reads the datagrams that have arrived, at most a batch.
    pub fn drain(&mut self, socket: &UdpSocket, clock: &HostClock, mut handle: impl FnMut(&ReceivedDatagram<'_>)) {
        let ahead = clock.offset_from_realtime();
        for _ in 0..BATCH {
            let mut parts = [IoSliceMut::new(&mut self.datagram)];
            let result =
                recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut self.ancillary), MsgFlags::MSG_DONTWAIT);
            let message = match result {
                Ok(message) => message,
                // ICMP error of an earlier datagram: the next call may return data.
                Err(Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::EINTR) => continue,
                Err(_) => return,
            };
            let (bytes, from) = (message.bytes, message.address.as_ref().and_then(address));
            let (mut at, mut ttl) = (None, None);
            for control_message in message.cmsgs().into_iter().flatten() {
                match control_message {
                    ControlMessageOwned::ScmTimestampns(t) => at = Some(t.tv_sec() * 1_000_000_000 + t.tv_nsec() + ahead),
                    ControlMessageOwned::Ipv4Ttl(left) | ControlMessageOwned::Ipv6HopLimit(left) => ttl = u8::try_from(left).ok(),
                    ControlMessageOwned::RxqOvfl(count) => self.overrun = count,
                    _ => {}
                }
            }
            if let Some(from) = from {
                let at = at.unwrap_or_else(|| clock.now());
                handle(&ReceivedDatagram { from, at, ttl, bytes: &self.datagram[..bytes] });
            }
        }
    }
}

fn address(from: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = from.as_sockaddr_in() {
        return Some(SocketAddr::new(IpAddr::V4(v4.ip()), v4.port()));
    }
    from.as_sockaddr_in6().map(|v6| SocketAddr::new(IpAddr::V6(v6.ip()), v6.port()))
}
