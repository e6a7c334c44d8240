//! Datagrams in, with the time at which the kernel got them.

use super::clock::HostClock;
use crate::Nanos;
use nix::errno::Errno;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::AsRawFd;

/// Longest of all.
const ROOM: usize = 65_536;
/// Taken at one go, so that sending is not held up.
const BATCH: usize = 64;

pub struct UdpReceiver {
    datagram: Vec<u8>,
    ancillary: Vec<u8>,
    /// What the kernel dropped because nobody took it in time.
    pub overrun: u32,
}

/// One that came.
pub struct ReceivedDatagram<'a> {
    pub from: SocketAddr,
    pub at: Nanos,
    /// What is left of its hops, where that is asked for and told.
    pub ttl: Option<u8>,
    pub bytes: &'a [u8],
}

impl UdpReceiver {
    pub fn new() -> UdpReceiver {
        let ancillary = nix::cmsg_space!(nix::sys::time::TimeSpec, u32, i32);
        UdpReceiver { datagram: vec![0; ROOM], ancillary, overrun: 0 }
    }

    /// Takes what is there.
    pub fn drain(&mut self, socket: &UdpSocket, clock: &HostClock, mut handle: impl FnMut(&ReceivedDatagram<'_>)) {
        let ahead = clock.offset_from_realtime();
        for _ in 0..BATCH {
            let mut parts = [IoSliceMut::new(&mut self.datagram)];
            let result =
                recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut self.ancillary), MsgFlags::MSG_DONTWAIT);
            let message = match result {
                Ok(message) => message,
                // An ICMP error for something sent earlier: the next call may have data.
                Err(Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH | Errno::EINTR) => continue,
                Err(_) => return,
            };
            let (bytes, from) = (message.bytes, message.address.as_ref().and_then(address));
            let (mut at, mut ttl) = (None, None);
            for said in message.cmsgs().into_iter().flatten() {
                match said {
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
