//! Capture of a session's packet headers at the far end, on request of the client and with
//! permission of the operator. The headers are stored in memory, within a quota. The socket filter
//! selects packets of the client's address; the client receives those of the session's own
//! connections and datagrams.

mod filter;
mod headers;

use super::clock::HostClock;
use crate::Nanos;
use filter::attach_address_filter;
use headers::{MAX_HEADERS, parse};
use nix::errno::Errno;
use nix::sys::socket::{AddressFamily, MsgFlags, SockFlag, SockType, SockaddrStorage, recvmsg, setsockopt, socket, sockopt};
use std::collections::BTreeSet;
use std::io::IoSliceMut;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

const RECEIVE_BUFFER: usize = 8 << 20;
/// Minimum that the kernel counts of the receive buffer for a packet (`SKB_TRUESIZE`).
const MIN_BUFFERED: usize = 512;
/// Packets read in one call, so that other sockets are served.
const BATCH: usize = 256;
/// Stored packets examined in one call while a capture is sent.
const MAX_EXAMINED: usize = 4096;
/// Bytes of a stored packet besides its headers.
const RECORD: usize = 16;
const LOOPBACK: u16 = 772; // ARPHRD_LOOPBACK (net/if_arp.h)
const OUTGOING: u8 = 4; // PACKET_OUTGOING (linux/if_packet.h)

/// Timestamp, length on the wire, and location of the headers of a packet.
struct CapturedPacket {
    at: Nanos,
    length: u32,
    first: usize,
    bytes: u8,
}

pub struct HeaderCapture {
    socket: OwnedFd,
    max_bytes: u64,
    packets: Vec<CapturedPacket>,
    headers: Vec<u8>,
    /// Packets that exceeded the quota.
    pub over_quota: u64,
    ancillary: Vec<u8>,
}

impl HeaderCapture {
    /// Starts a capture. Err: the error of the system, mostly the lack of CAP_NET_RAW.
    pub fn open(peer: IpAddr, max_bytes: u64) -> Result<HeaderCapture, String> {
        let peer = peer.to_canonical();
        let refused = |e: Errno| format!("no capture ({})", e.desc());
        // An unbound packet socket receives nothing, so the filter is attached before the first
        // packet.
        let socket = socket(AddressFamily::Packet, SockType::Datagram, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)
            .map_err(refused)?;
        attach_address_filter(&socket, peer).map_err(refused)?;
        let _ = setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER);
        let _ = setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER);
        setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(refused)?;
        bind_to_all(&socket).map_err(refused)?;
        let ancillary = nix::cmsg_space!(nix::sys::time::TimeSpec);
        Ok(HeaderCapture { socket, max_bytes, packets: Vec::new(), headers: Vec::new(), over_quota: 0, ancillary })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads all packets that have arrived, at the end of a capture. Bounded by the receive buffer:
    /// the socket may go on receiving.
    pub fn drain_all(&mut self, clock: &HostClock) {
        let batches = RECEIVE_BUFFER / MIN_BUFFERED / BATCH;
        let _ = (0..batches).find(|_| !self.drain(clock));
    }

    /// Reads packets that have arrived, a batch at most. Returns whether there may be more.
    pub fn drain(&mut self, clock: &HostClock) -> bool {
        let (ahead, mut packet) = (clock.offset_from_realtime(), [0; MAX_HEADERS]);
        for _ in 0..BATCH {
            let mut parts = [IoSliceMut::new(&mut packet)];
            let flags = MsgFlags::MSG_DONTWAIT | MsgFlags::MSG_TRUNC;
            let message = match recvmsg::<SockaddrStorage>(self.socket.as_raw_fd(), &mut parts, Some(&mut self.ancillary), flags)
            {
                Ok(message) => message,
                Err(Errno::EINTR) => continue,
                Err(_) => return false,
            };
            // With MSG_TRUNC the length is that of the packet.
            let length = message.bytes;
            let link = message.address.as_ref().and_then(|a| a.as_link_addr());
            // On loopback each packet is captured as outgoing and as incoming: skip the first.
            let twice = link.is_some_and(|l| l.hatype() == LOOPBACK && l.pkttype() == OUTGOING);
            let at = message.cmsgs().into_iter().flatten().find_map(|control_message| match control_message {
                nix::sys::socket::ControlMessageOwned::ScmTimestampns(t) => {
                    Some(t.tv_sec() * 1_000_000_000 + t.tv_nsec() + ahead)
                }
                _ => None,
            });
            if !twice {
                self.store(at.unwrap_or_else(|| clock.now()), length, &packet[..length.min(MAX_HEADERS)]);
            }
        }
        true
    }

    fn store(&mut self, at: Nanos, length: usize, packet: &[u8]) {
        let Some(headers) = parse(packet) else { return };
        if self.stored_bytes() + (headers.bytes + RECORD) as u64 > self.max_bytes {
            self.over_quota += 1;
            return;
        }
        let (first, bytes) = (self.headers.len(), headers.bytes as u8);
        self.headers.extend_from_slice(&packet[..headers.bytes]);
        self.packets.push(CapturedPacket { at, length: u32::try_from(length).unwrap_or(u32::MAX), first, bytes });
    }

    fn stored_bytes(&self) -> u64 {
        (self.headers.len() + self.packets.len() * RECORD) as u64
    }

    /// Packets that the kernel dropped since the last call.
    pub fn dropped(&self) -> u64 {
        let mut counters = [0u32; 2];
        let mut length = size_of_val(&counters) as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, the size of `counters`.
        let asked = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                counters.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        if asked == 0 { u64::from(counters[1]) } else { 0 }
    }

    /// Number of stored packets.
    pub fn len(&self) -> usize {
        self.packets.len()
    }

    /// Packets of these client endpoints from index `next` on, as pcap records (little-endian,
    /// nanoseconds), of at most `max_bytes`. Advances `next` to the first packet that was not
    /// examined.
    pub fn records(&self, own: &BTreeSet<SocketAddr>, next: &mut usize, max_bytes: usize) -> Vec<u8> {
        let mut out = Vec::new();
        for packet in self.packets[*next..].iter().take(MAX_EXAMINED) {
            let (seconds, rest) = (packet.at.div_euclid(1_000_000_000), packet.at.rem_euclid(1_000_000_000));
            let bytes = &self.headers[packet.first..packet.first + usize::from(packet.bytes)];
            if out.len() + RECORD + bytes.len() > max_bytes {
                break;
            }
            *next += 1;
            // Where both ends are one machine, either endpoint may be the client's.
            if !parse(bytes).is_some_and(|h| own.contains(&h.source) || own.contains(&h.destination)) {
                continue;
            }
            for word in [seconds as u32, rest as u32, u32::from(packet.bytes), packet.length] {
                out.extend_from_slice(&word.to_le_bytes());
            }
            out.extend_from_slice(bytes);
        }
        out
    }
}

/// An endpoint with an IPv4-mapped address as IPv4.
pub fn canonical(at: SocketAddr) -> SocketAddr {
    SocketAddr::new(at.ip().to_canonical(), at.port())
}

fn bind_to_all(socket: &OwnedFd) -> Result<(), Errno> {
    // SAFETY: all-zero is a valid address of this family.
    let mut at: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    at.sll_family = libc::AF_PACKET as u16;
    at.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    // SAFETY: the kernel reads one address, which outlives the call.
    let done = unsafe { libc::bind(socket.as_raw_fd(), (&raw const at).cast(), size_of_val(&at) as libc::socklen_t) };
    Errno::result(done).map(drop)
}
