//! Sockets with a test's options, and the values that the kernel applied.

use super::tcp_info::TcpInfo;
use crate::MeasureError;
use crate::test_spec::Bulk;
use ackclock_core::Problem;
use nix::errno::Errno;
use nix::sys::socket::{self, AddressFamily, SockFlag, SockType, SockaddrStorage, setsockopt, sockopt};
use std::ffi::OsString;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

/// Receive buffer for datagrams that arrive while this process is not scheduled: 40 ms at 1 Gb/s.
const DATAGRAM_ROOM: usize = 5 << 20;
const BACKLOG: i32 = 1024;

/// UDP socket with the kernel's receive timestamps.
pub fn datagrams(at: SocketAddr) -> Result<UdpSocket, MeasureError> {
    let refused = MeasureError::refused("opening a UDP socket");
    let socket = UdpSocket::bind(at).map_err(|e| cannot_listen(at, "UDP", &e))?;
    socket.set_nonblocking(true).map_err(&refused)?;
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true).map_err(|e| refused(e.into()))?;
    // SO_RCVBUF may be capped, SO_RCVBUFFORCE needs a privilege; the socket works without either.
    let _ = setsockopt(&socket, sockopt::RcvBuf, &DATAGRAM_ROOM);
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &DATAGRAM_ROOM);
    let _ = setsockopt(&socket, sockopt::RxqOvfl, &1);
    Ok(socket)
}

/// Enables ancillary data with the hop limit of received datagrams. On failure the hop limit
/// remains unknown.
pub fn enable_ttl(socket: &UdpSocket) {
    let _ = set_int_option(socket, libc::IPPROTO_IP, libc::IP_RECVTTL, 1);
    let _ = set_int_option(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, 1);
}

/// Sets an integer option.
pub fn set_int_option(socket: &impl AsFd, level: libc::c_int, option: libc::c_int, value: u32) -> Result<(), Errno> {
    let value = libc::c_int::try_from(value).unwrap_or(libc::c_int::MAX);
    let (socket, length) = (socket.as_fd().as_raw_fd(), size_of_val(&value) as libc::socklen_t);
    // SAFETY: the kernel reads one integer, which outlives the call.
    Errno::result(unsafe { libc::setsockopt(socket, level, option, (&raw const value).cast(), length) }).map(drop)
}

/// Socket options of a test's connections.
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

    /// Without the options that affect window scaling, which only the handshake negotiates.
    pub fn after_handshake(self) -> SocketOptions {
        SocketOptions { receive_buffer: None, receive_window: None, ..self }
    }

    /// An option must be set before the handshake.
    pub fn needs_own_listener(&self) -> bool {
        self.receive_buffer.is_some() || self.receive_window.is_some()
    }

    /// Sets the options. Err: the option that the kernel refused.
    pub fn set(&self, socket: &impl AsFd) -> Result<(), String> {
        if let Some(name) = &self.congestion {
            setsockopt(socket, sockopt::TcpCongestion, &OsString::from(name))
                .map_err(|e| format!("congestion control {name}: {}", e.desc()))?;
        }
        // The kernel doubles the value for its overhead (socket(7)); data can use the requested
        // size.
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

/// Values that the kernel applied.
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

/// Starts a connection.
pub fn connect(to: SocketAddr, socket_options: &SocketOptions) -> Result<TcpStream, String> {
    let socket = stream_socket(to).map_err(|e| e.desc().to_owned())?;
    socket_options.set(&socket)?;
    match socket::connect(socket.as_raw_fd(), &SockaddrStorage::from(to)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(TcpStream::from(socket)),
        Err(error) => Err(error.desc().to_owned()),
    }
}

/// Error of bind(2), with the remedy of each error number.
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
            format!("{} is not an address of this machine", at.ip()),
            "give one of its own with --listen (ip address lists them), or 0.0.0.0 for all",
        )
        .of_option("--listen"),
        ErrorKind::PermissionDenied => Problem::new(
            format!("{protocol} port {port} of {} needs a privilege", at.ip()),
            "take a port from 1024 on, or give CAP_NET_BIND_SERVICE",
        )
        .of_option("--port"),
        _ => Problem::refused(&format!("listening at {protocol} port {port} of {}", at.ip()), error),
    })
}

/// Listens with this congestion control. Accepted connections inherit it, so the accepting process
/// needs no capability to set it.
pub fn listen_with(at: SocketAddr, congestion: &str) -> Option<TcpListener> {
    let listener = listen(at, &SocketOptions::default()).ok()?;
    setsockopt(&listener, sockopt::TcpCongestion, &OsString::from(congestion)).ok()?;
    Some(listener)
}

/// Listens. A receive buffer must be set here: window scaling is negotiated in the handshake.
pub fn listen(at: SocketAddr, socket_options: &SocketOptions) -> Result<TcpListener, MeasureError> {
    let refused = |e: Errno| cannot_listen(at, "TCP", &e.into());
    let socket = stream_socket(at).map_err(refused)?;
    setsockopt(&socket, sockopt::ReuseAddr, &true).map_err(refused)?;
    if at.is_ipv6() {
        // A dual-stack socket: a listener at `::` accepts IPv4 too.
        let _ = setsockopt(&socket, sockopt::Ipv6V6Only, &false);
    }
    socket_options.set_receiving(&socket).map_err(|why| MeasureError::Failed(Problem::new(why, "reduce it")))?;
    socket::bind(socket.as_raw_fd(), &SockaddrStorage::from(at)).map_err(refused)?;
    socket::listen(&socket, socket::Backlog::new(BACKLOG).unwrap_or(socket::Backlog::MAXCONN)).map_err(refused)?;
    Ok(TcpListener::from(socket))
}

/// Discards unsent data at close and sends a reset.
pub fn reset_on_close(stream: &TcpStream) {
    // On failure the data is delivered first, which takes longer.
    let _ = setsockopt(stream, sockopt::Linger, &libc::linger { l_onoff: 1, l_linger: 0 });
}

/// Sets TCP_NOTSENT_LOWAT: the rate budget does not bound data in the send buffer.
pub fn limit_unsent(stream: &TcpStream, bytes: u64) {
    // Without the option the send buffer is the limit.
    let _ = set_int_option(stream, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, u32::try_from(bytes).unwrap_or(u32::MAX));
}

/// Bytes that may be written before the unsent data reaches `limit`.
pub fn unsent_room(stream: &TcpStream, limit: u64) -> u64 {
    limit.saturating_sub(TcpInfo::of(stream).map_or(0, |info| u64::from(info.notsent)))
}

/// Disables Nagle's algorithm for control frames and hellos.
pub fn set_nodelay(stream: &TcpStream) {
    let _ = stream.set_nodelay(true);
}
