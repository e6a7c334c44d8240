//! A gate: the packet socket (man 7 packet) through which one place's traffic comes and goes. Packets come in through a ring that the
//! kernel fills with stamped packets, and go out in batches.

mod batch;
mod ring;

pub use batch::Batch;
pub use ring::{Arrival, MOST_FRAMES};

use crate::EmuError;
use ring::Ring;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// An Ethernet address.
pub type Mac = [u8; 6];

pub struct Gate {
    way: Arc<Way>,
    ring: Ring,
}

/// The way out through a gate, which any thread may take.
pub struct Way {
    socket: OwnedFd,
    /// Where packets to the place go.
    address: libc::sockaddr_ll,
}

impl Way {
    /// Out of the interface `index`, past its queueing discipline, to the hardware address `far`.
    pub fn open(index: u32, far: Mac) -> io::Result<Way> {
        // SAFETY: no pointers; the descriptor is checked before it is owned. Protocol 0: nothing arrives before the socket is bound.
        let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: just opened, and nobody else's.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        set(&socket, libc::PACKET_QDISC_BYPASS, &1)?;
        let mut address = link_address(index);
        address.sll_halen = far.len() as u8;
        address.sll_addr[..far.len()].copy_from_slice(&far);
        Ok(Way { socket, address })
    }

    /// Sends what is in `batch`; says how many packets could not be sent.
    pub fn send(&self, batch: &mut Batch) -> u64 {
        batch.send(&self.socket, &self.address)
    }
}

const ALL_PROTOCOLS: u16 = libc::ETH_P_ALL as u16;

impl Gate {
    /// At the interface `index`, whose far end has the address `far`, with room for about so many packets that have arrived.
    pub fn open(index: u32, far: Mac, room: usize) -> Result<Gate, EmuError> {
        let refused = EmuError::refused("opening a packet socket");
        let way = Way::open(index, far).map_err(&refused)?;
        set(&way.socket, libc::PACKET_VERSION, &ring::VERSION).map_err(&refused)?;
        // Our own packets are no arrivals.
        set(&way.socket, libc::PACKET_IGNORE_OUTGOING, &1).map_err(&refused)?;
        let ring = Ring::map(&way.socket, room).map_err(EmuError::refused("mapping a packet ring"))?;
        bind(&way.socket, &link_address(index)).map_err(&refused)?;
        Ok(Gate { way: Arc::new(way), ring })
    }

    /// The oldest packet that has arrived, if any. It is the kernel's again at the next call.
    #[inline]
    pub fn next(&mut self) -> Option<Arrival<'_>> {
        self.ring.next()
    }

    /// Whether a packet that matches `wanted` has arrived; packets before it are dropped.
    pub fn has(&mut self, wanted: impl Fn(&[u8]) -> bool) -> bool {
        self.ring.skip_until(wanted)
    }

    /// Packets that found the ring full since the last call.
    pub fn overflowed(&self) -> u64 {
        let mut counts = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut len = size_of_val(&counts) as libc::socklen_t;
        // SAFETY: `counts` is of the type this option fills in, and `len` says how large it is.
        let got = unsafe {
            libc::getsockopt(
                self.way.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut counts).cast(),
                &raw mut len,
            )
        };
        if got == 0 { u64::from(counts.tp_drops) } else { 0 }
    }

    /// A socket that was bound when its interface was off, or whose interface has gone, keeps "network is down" in store for its next
    /// call (man 7 socket, SO_ERROR), which would be the next packet's.
    pub fn forget_error(&self) {
        let mut error: libc::c_int = 0;
        let mut len = size_of_val(&error) as libc::socklen_t;
        // SAFETY: `error` is of the type this option fills in, and `len` says how large it is. Reading the error clears it.
        unsafe {
            libc::getsockopt(
                self.way.socket.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ERROR,
                (&raw mut error).cast(),
                &raw mut len,
            );
        }
    }

    pub fn descriptor(&self) -> BorrowedFd<'_> {
        std::os::fd::AsFd::as_fd(&self.way.socket)
    }

    pub fn way(&self) -> &Arc<Way> {
        &self.way
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
    // SAFETY: a whole sockaddr_ll, of the length that is said.
    let bound = unsafe {
        libc::bind(socket.as_raw_fd(), std::ptr::from_ref(address).cast(), size_of::<libc::sockaddr_ll>() as libc::socklen_t)
    };
    if bound < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Sets a packet-socket option.
fn set<T>(socket: &OwnedFd, option: libc::c_int, value: &T) -> io::Result<()> {
    // SAFETY: `value` is of the length that is said and outlives the call.
    let done = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_PACKET,
            option,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if done < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
