//! Warms the CPU caches before the first packet after a pause. After a pause the kernel's transmit
//! path has left the caches, and the first packet through it is some 30 us late.

use crate::af_packet::{TxBatch, TxSocket};
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};

/// IPv4 and UDP headers, in bytes.
const HEADERS: usize = 28;
/// Length of the packet: a full-sized IP packet.
const PACKET_LEN: usize = 1500;
/// IPv4 header of a UDP datagram from 192.0.2.2 to 192.0.2.1 (RFC 5737: addresses without hosts),
/// with its checksum.
const HEADER: [u8; 20] = [0x45, 0, 0x05, 0xdc, 0, 0, 0, 0, 64, 17, 0xf1, 0x0d, 192, 0, 2, 2, 192, 0, 2, 1];
/// Index of the loopback interface, the first of each network namespace.
const LOOPBACK: u32 = 1;

/// Sockets on the loopback interface of the process's own network namespace.
pub struct CacheWarmup {
    tx: TxSocket,
    batch: TxBatch,
    packet: Vec<u8>,
    socket: UdpSocket,
    address: SocketAddr,
}

impl CacheWarmup {
    /// None if a socket is refused; the first packet after a pause is then some 30 us late.
    pub fn new() -> Option<CacheWarmup> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).ok()?;
        socket.set_nonblocking(true).ok()?;
        let address = socket.local_addr().ok()?;
        let mut packet = HEADER.to_vec();
        packet.resize(PACKET_LEN, 0);
        Some(CacheWarmup { tx: TxSocket::open(LOOPBACK, [0; 6]).ok()?, batch: TxBatch::default(), packet, socket, address })
    }

    /// Sends one dummy packet through AF_PACKET and one UDP datagram over loopback, to warm the
    /// kernel's TX and RX paths.
    pub fn run(&mut self) {
        // The kernel drops the packet at the route lookup.
        self.batch.push(&self.packet);
        self.tx.send(&mut self.batch);
        let _ = self.socket.send_to(&self.packet[HEADERS..], self.address);
        let _ = self.socket.recv(&mut self.packet[HEADERS..]);
    }
}
