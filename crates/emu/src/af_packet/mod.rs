//! AF_PACKET sockets (man 7 packet) on the emulator's side of a veth pair. Packets are received
//! through a memory-mapped ring with kernel timestamps and sent in batches.

mod rx_ring;
mod tx_batch;

pub use rx_ring::{MAX_FRAMES, RxFrame};
pub use tx_batch::TxBatch;

use crate::EmuError;
use rx_ring::RxRing;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// An Ethernet address.
pub type Mac = [u8; 6];

/// A socket that receives and sends on one interface.
pub struct PacketSocket {
    tx: Arc<TxSocket>,
    ring: RxRing,
}

/// A socket that sends to one peer. Any thread may use it.
pub struct TxSocket {
    socket: OwnedFd,
    /// The peer's link-layer address.
    peer: libc::sockaddr_ll,
}

impl TxSocket {
    /// Sends on the interface `index` to the hardware address `peer`, bypassing the queueing
    /// discipline.
    pub fn open(index: u32, peer: Mac) -> io::Result<TxSocket> {
        // SAFETY: no pointers; the descriptor is checked before it is owned. Protocol 0: the socket
        // receives nothing before bind.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        set_option(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
        let mut address = link_address(index);
        address.sll_halen = peer.len() as u8;
        address.sll_addr[..peer.len()].copy_from_slice(&peer);
        Ok(TxSocket { socket, peer: address })
    }

    /// Sends the packets of `batch` and empties it. Returns the number of packets that could not be
    /// sent.
    pub fn send(&self, batch: &mut TxBatch) -> u64 {
        batch.send(&self.socket, &self.peer)
    }
}

const ALL_PROTOCOLS: u16 = libc::ETH_P_ALL as u16;

impl PacketSocket {
    /// Opens a socket on the interface `index`, whose peer has the address `peer`, with a ring of
    /// about `frames` frames.
    pub fn open(index: u32, peer: Mac, frames: usize) -> Result<PacketSocket, EmuError> {
        let refused = EmuError::refused("opening a packet socket");
        let tx = TxSocket::open(index, peer).map_err(&refused)?;
        set_option(&tx.socket, libc::PACKET_VERSION, &rx_ring::VERSION).map_err(&refused)?;
        // The socket must not receive the packets that it sends.
        set_option(&tx.socket, libc::PACKET_IGNORE_OUTGOING, &1).map_err(&refused)?;
        let ring = RxRing::map(&tx.socket, frames).map_err(EmuError::refused("mapping a packet ring"))?;
        bind(&tx.socket, &link_address(index)).map_err(&refused)?;
        Ok(PacketSocket { tx: Arc::new(tx), ring })
    }

    /// Returns the oldest unread packet, if any. The next call returns its frame to the kernel.
    #[inline]
    pub fn next(&mut self) -> Option<RxFrame<'_>> {
        self.ring.next()
    }

    /// Whether a packet that satisfies `predicate` has been received. Drops the packets before it.
    pub fn skip_until(&mut self, predicate: impl Fn(&[u8]) -> bool) -> bool {
        self.ring.skip_until(predicate)
    }

    /// Number of packets dropped because the ring was full, since the last call.
    pub fn overflowed(&self) -> u64 {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: `counts` has the type of this option, and `len` is its size.
        let status = unsafe {
            libc::getsockopt(
                self.tx.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut len,
            )
        };
        if status == 0 { u64::from(counts.tp_drops) } else { 0 }
    }

    /// Clears the pending socket error (man 7 socket, SO_ERROR). A socket that was bound while its
    /// interface was down, or whose interface was removed, has a pending ENETDOWN, which would fail
    /// the next send or receive.
    pub fn clear_error(&self) {
        let mut error: libc::c_int = 0;
        let mut len = size_of_val(&error) as libc::socklen_t;
        // SAFETY: `error` has the type of this option, and `len` is its size. Reading the option
        // clears the error.
        unsafe {
            libc::getsockopt(self.tx.socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut error).cast(), &raw mut len);
        }
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.tx.socket)
    }

    pub fn tx(&self) -> &Arc<TxSocket> {
        &self.tx
    }
}

fn link_address(index: u32) -> libc::sockaddr_ll {
    libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: ALL_PROTOCOLS.to_be(),
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    }
}

fn bind(socket: &OwnedFd, address: &libc::sockaddr_ll) -> io::Result<()> {
    // SAFETY: the pointer refers to a sockaddr_ll of the given length.
    let status = unsafe {
        libc::bind(socket.as_raw_fd(), std::ptr::from_ref(address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets an option of level SOL_PACKET.
fn set_option<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` has the given length and outlives the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
