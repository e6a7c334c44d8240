//! Connections that send no data, from many addresses of the loopback network.

use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrStorage, bind, connect, socket};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Holds `each` connections from each of the `addresses`, and replaces the oldest by new ones.
/// Returns the number of connections opened.
pub fn flood_connections(at: SocketAddr, addresses: u8, each: usize, stop: &AtomicBool) -> u64 {
    let mut held: Vec<Vec<TcpStream>> = (0..addresses).map(|_| Vec::new()).collect();
    let mut opened = 0;
    while !stop.load(Ordering::Relaxed) {
        for (n, held) in held.iter_mut().enumerate() {
            if let Ok(stream) = connect_from([127, 0, 0, n as u8 + 2], at) {
                held.push(stream);
                opened += 1;
            }
            if held.len() > each {
                held.remove(0);
            }
        }
    }
    opened
}

/// A connection from an address of the loopback network.
pub fn connect_from(address: [u8; 4], to: SocketAddr) -> std::io::Result<TcpStream> {
    let socket = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None)?;
    bind(socket.as_raw_fd(), &SockaddrStorage::from(SocketAddr::from((address, 0))))?;
    connect(socket.as_raw_fd(), &SockaddrStorage::from(to))?;
    Ok(TcpStream::from(socket))
}
