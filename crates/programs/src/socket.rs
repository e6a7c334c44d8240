//! Sockets with the kernel's receive timestamps.

use crate::clock::Clock;
use crate::{End, Program};
use ackclock_core::Time;
use nix::errno::Errno;
use nix::poll::{PollFd, ppoll};
use nix::sys::socket::{
    AddressFamily, ControlMessageOwned, MsgFlags, SockFlag, SockType, SockaddrIn, SockaddrStorage, connect, getsockopt, recvmsg,
    setsockopt, socket, sockopt,
};
use nix::sys::time::TimeSpec;
use std::ffi::OsString;
use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};

/// Bytes of a read or a write.
pub const CHUNK: usize = 1 << 18;
/// For datagrams that arrive while the program waits for a CPU.
const DATAGRAM_ROOM: usize = 1 << 20;

/// What a program has before the run begins.
pub enum Opened {
    Datagrams(UdpSocket),
    Listener(TcpListener),
    /// The client's end of TCP connects when its flow starts.
    None,
}

/// Opens what the other end reaches.
pub fn open(program: &Program<'_>) -> io::Result<Opened> {
    let is_udp = !program.flow.workload.is_tcp();
    match (is_udp, program.config.end) {
        (true, _) => {
            let socket = UdpSocket::bind(program.own()?)?;
            socket.connect(program.peer()?)?;
            socket.set_nonblocking(true)?;
            setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
            // SO_RCVBUF may be capped; the socket works without.
            let _ = setsockopt(&socket, sockopt::RcvBuf, &DATAGRAM_ROOM);
            Ok(Opened::Datagrams(socket))
        }
        (false, End::Server) => {
            let listener = TcpListener::bind(program.own()?)?;
            listener.set_nonblocking(true)?;
            set_congestion_control(&listener, &program.config.congestion_control)?;
            Ok(Opened::Listener(listener))
        }
        (false, End::Client) => Ok(Opened::None),
    }
}

fn set_congestion_control(socket: &impl AsFd, name: &str) -> io::Result<()> {
    setsockopt(socket, sockopt::TcpCongestion, &OsString::from(name))
        .map_err(|error| io::Error::other(format!("congestion control {name}: {}", error.desc())))
}

/// Options of an open connection.
pub fn prepare(stream: &TcpStream) -> io::Result<()> {
    stream.set_nonblocking(true)?;
    stream.set_nodelay(true)
}

/// Starts a connection to the program's other end.
pub fn start_connection(program: &Program<'_>) -> io::Result<TcpStream> {
    let fd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK, None)?;
    let stream = TcpStream::from(fd);
    set_congestion_control(&stream, &program.config.congestion_control)?;
    prepare(&stream)?;
    let SocketAddr::V4(peer) = program.peer()? else { return Err(io::ErrorKind::Unsupported.into()) };
    match connect(stream.as_raw_fd(), &SockaddrIn::from(peer)) {
        Ok(()) | Err(Errno::EINPROGRESS) => Ok(stream),
        Err(error) => Err(error.into()),
    }
}

/// Whether a started connection is open; an error if it failed.
pub fn is_open(stream: &TcpStream) -> io::Result<bool> {
    match getsockopt(stream, sockopt::SocketError)? {
        0 => Ok(stream.peer_addr().is_ok()),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// What was read from a socket.
pub enum Received {
    /// Bytes, and when they arrived: of a datagram by the kernel's timestamp, of a stream now, as the kernel's
    /// is that of the last segment, which may have waited for another.
    Bytes(usize, Time),
    /// The peer has closed.
    End,
    /// Nothing has arrived.
    Nothing,
}

/// Reads with the kernel's timestamp.
pub struct Reader {
    pub buffer: Vec<u8>,
    ancillary: Vec<u8>,
}

impl Reader {
    pub fn new() -> Reader {
        Reader { buffer: vec![0; CHUNK], ancillary: nix::cmsg_space!(TimeSpec, TimeSpec, TimeSpec) }
    }

    /// Reads once, without waiting.
    pub fn read(&mut self, socket: &impl AsRawFd, clock: &Clock) -> io::Result<Received> {
        let mut parts = [IoSliceMut::new(&mut self.buffer)];
        let flags = MsgFlags::MSG_DONTWAIT;
        let message = match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(&mut self.ancillary), flags) {
            Ok(message) => message,
            // An ICMP error of an earlier datagram: the other end opens its socket later.
            Err(Errno::EAGAIN | Errno::EINTR | Errno::ECONNREFUSED | Errno::EHOSTUNREACH | Errno::ENETUNREACH) => {
                return Ok(Received::Nothing);
            }
            Err(Errno::ECONNRESET) => return Ok(Received::End),
            Err(error) => return Err(error.into()),
        };
        if message.bytes == 0 {
            return Ok(Received::End);
        }
        let stamped = message.cmsgs().into_iter().flatten().find_map(|control| match control {
            ControlMessageOwned::ScmTimestampns(time) => Some(clock.of_timestamp(time)),
            _ => None,
        });
        Ok(Received::Bytes(message.bytes, stamped.unwrap_or_else(|| clock.now())))
    }
}

/// Waits until a descriptor is ready, at most until `end`.
pub fn wait(descriptors: &mut [PollFd<'_>], clock: &Clock, end: Time) -> io::Result<()> {
    let timeout = TimeSpec::from_duration(clock.until(end));
    match ppoll(descriptors, Some(timeout), None) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
