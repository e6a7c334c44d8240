//! Sockets as tests want them, and what the kernel made of it.

use crate::MeasureError;
use crate::test_spec::Bulk;
use ackclock_core::Problem;
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrStorage, setsockopt, sockopt};
use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Room for what comes in while this process waits for its turn: 40 ms at 1 Gb/s.
const DATAGRAM_ROOM: usize = 5 << 20;
const BACKLOG: i32 = 1024;

/// A datagram socket with the kernel's stamps on what comes in.
pub fn datagrams(at: SocketAddr) -> Result<UdpSocket, MeasureError> {
    let refused = MeasureError::refused("opening a UDP socket");
    let socket = UdpSocket::bind(at).map_err(|e| cannot_listen(at, "UDP", &e))?;
    socket.set_nonblocking(true).map_err(&refused)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(|e| refused(e.into()))?;
    // The second needs a privilege; the first may give less than asked. Both are only better than nothing.
    let _ = setsockopt(&socket, sockopt::RcvBuf, &DATAGRAM_ROOM);
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &DATAGRAM_ROOM);
    let _ = setsockopt(&socket, sockopt::RxqOvfl, &1);
    Ok(socket)
}

/// Asks for the hops that are left of each datagram that comes. What the kernel will not tell stays unknown.
pub fn enable_ttl(socket: &UdpSocket) {
    let _ = set_int_option(socket, libc::IPPROTO_IP, libc::IP_RECVTTL, 1);
    let _ = set_int_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1);
}

/// Sets an option that is one integer.
pub fn set_int_option(socket: &impl AsFd, level: libc::c_int, option: libc::c_int, value: u32) -> Result<(), Errno> {
    let value = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
    let (socket, length) = (socket.as_fd().as_raw_fd(), size_of_val(&value) as libc::socklen_t);
    // SAFETY: the kernel reads one integer, which outlives the call.
    Errno::result(unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) }).map(drop)
}

/// What a test asks of its connections' sockets.
#[derive(Debug, Clone, Default)]
pub struct SocketOptions {
    pub congestion: Option<String>,
    pub send_buffer: Option<u32>,
    pub receive_buffer: Option<u32>,
    pub receive_window: Option<u32>,
}

impl SocketOptions {
    pub fn of(bulk: &Bulk) -> SocketOptions {
        let Bulk { send_buffer, receive_buffer, receive_window, .. } = *bulk;
        SocketOptions { congestion: bulk.congestion.clone(), send_buffer, receive_buffer, receive_window }
    }

    /// Without what must be set before the handshake, which tells the window's scale.
    pub fn after_handshake(self) -> SocketOptions {
        SocketOptions { receive_buffer: None, receive_window: None, ..self }
    }

    /// Something must be set before the handshake.
    pub fn needs_own_listener(&self) -> bool {
        self.receive_buffer.is_some() || self.receive_window.is_some()
    }

    /// Sets them. Err says which could not be had.
    pub fn set(&self, socket: &impl AsFd) -> Result<(), String> {
        if let Some(name) = &self.congestion {
            setsockopt(socket, sockopt::TcpCongestion, &OsString::from(name))
                .map_err(|e| format!("congestion control {name}: {}", e.desc()))?;
        }
        // The kernel doubles what it is told, for its own book-keeping (socket(7)): what was asked is what data may fill.
        if let Some(bytes) = self.send_buffer {
            setsockopt(socket, sockopt::SndBuf, &(bytes as usize)).map_err(|e| format!("a send buffer: {}", e.desc()))?;
        }
        self.set_receiving(socket)
    }

    fn set_receiving(&self, socket: &impl AsFd) -> Result<(), String> {
        if let Some(bytes) = self.receive_buffer {
            setsockopt(socket, sockopt::RcvBuf, &(bytes as usize)).map_err(|e| format!("a receive buffer: {}", e.desc()))?;
        }
        if let Some(bytes) = self.receive_window {
            set_int_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes)
                .map_err(|e| format!("a receive window: {}", e.desc()))?;
        }
        Ok(())
    }
}

/// What the kernel gave, as it says it.
#[derive(Debug, Clone, Default)]
pub struct AppliedOptions {
    pub congestion: String,
    pub send_buffer: u32,
    pub receive_buffer: u32,
}

pub fn applied_options(socket: &impl AsFd) -> AppliedOptions {
    let name = socket::getsockopt(socket, sockopt::TcpCongestion).unwrap_or_default();
    let size = |bytes: nix::Result<usize>| bytes.ok().and_then(|b| u32::try_from(b).ok()).unwrap_or(0);
    AppliedOptions {
        congestion: name.to_string_lossy().trim_end_matches('\0').to_owned(),
        send_buffer: size(socket::getsockopt(socket, sockopt::SndBuf)),
        receive_buffer: size(socket::getsockopt(socket, sockopt::RcvBuf)),
    }
}

fn stream_socket(at: SocketAddr) -> Result<OwnedFd, Errno> {
    let family = if at.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
    socket::socket(family, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)
}

/// Begins to connect.
pub fn connect(to: SocketAddr, socket_options: &SocketOptions) -> Result<TcpStream, String> {
    let socket = stream_socket(to).map_err(|e| e.desc().to_owned())?;
    socket_options.set(&socket)?;
    match socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.desc().to_owned()),
    }
}

/// Why bind(2) failed for an address and port, with the remedy of each error number.
fn cannot_listen(at: SocketAddr, protocol: &str, error: &std::io::Error) -> MeasureError {
    use std::io::ErrorKind;
    let port = at.port();
    MeasureError::Failed(match error.kind() {
        ErrorKind::AddrInUse => Problem::new(
            format!("another program uses {protocol} port {port} of {}", at.ip()),
            format!("end it (ss -lnp 'sport = :{port}' names it), or take another with --port"),
        )
        .of_option("--port"),
        ErrorKind::AddrNotAvailable => Problem::new(
            format!("{} is no address of this machine", at.ip()),
            "give one of its own with --listen (ip address lists them), or 0.0.0.0 for all",
        )
        .of_option("--listen"),
        ErrorKind::PermissionDenied => Problem::new(
            format!("{protocol} port {port} of {} takes a privilege", at.ip()),
            "take a port from 1024 on, or give CAP_NET_BIND_SERVICE",
        )
        .of_option("--port"),
        _ => Problem::refused(&format!("listening at {protocol} port {port} of {}", at.ip()), error),
    })
}

/// Listens with this congestion control, which accepted connections inherit: the accepting process needs no capability to set it.
pub fn listen_with(at: SocketAddr, congestion: &str) -> Option<TcpListener> {
    let listener = listen(at, &SocketOptions::default()).ok()?;
    setsockopt(&listener, sockopt::TcpCongestion, &OsString::from(congestion)).ok()?;
    Some(listener)
}

/// Listens. A receive buffer must be set here: the window's scale is told in the handshake.
pub fn listen(at: SocketAddr, socket_options: &SocketOptions) -> Result<TcpListener, MeasureError> {
    let refused = |e: Errno| cannot_listen(at, "TCP", &e.into());
    let socket = stream_socket(at).map_err(refused)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true).map_err(refused)?;
    if at.is_ipv6() {
        // One socket for both: what is bound to `::` answers IPv4 too.
        let _ = setsockopt(&socket, sockopt::Ipv6V6Only, &false);
    }
    socket_options.set_receiving(&socket).map_err(|why| MeasureError::Failed(Problem::new(why, "ask for less")))?;
    socket::bind(socket.as_raw_fd(), &SockaddrStorage::from(at)).map_err(refused)?;
    socket::listen(&socket, socket::Backlog::new(BACKLOG).unwrap_or(socket::Backlog::MAXCONN)).map_err(refused)?;
    Ok(TcpListener::from(socket))
}

/// Closing throws away what has not been delivered, and tells the peer at once.
pub fn reset_on_close(stream: &TcpStream) {
    // If it cannot be, the rest is delivered, which only takes longer.
    let _ = setsockopt(stream, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
}

/// Sets TCP_NOTSENT_LOWAT: the rate budget does not bound data that is already in the send buffer.
pub fn limit_unsent(stream: &TcpStream, bytes: u64) {
    // Without the option the send buffer is the limit.
    let _ = set_int_option(stream, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, u32::try_from(bytes).unwrap_or(u32::MAX));
}

/// Control frames and hellos leave at once.
pub fn set_nodelay(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
}
