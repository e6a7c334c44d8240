//! The sender.

use crate::{Failure, HEADERS, STAMP, now_ns};
use nix::sys::prctl;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, sendmmsg, setsockopt, sockopt};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use std::io::IoSlice;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

const SEND_BUFFER: usize = 1 << 22;

/// Datagrams of so much time are sent together, and of no more than one buffer's.
const TOGETHER_NS: f64 = 200e3;
const MOST_SEGMENTS: usize = 40;
/// A sleep may end so much too late.
const WATCHED_NS: f64 = 150e3;
/// How late a sender may be and still make up for it.
const MADE_UP_NS: f64 = 5e6;

/// Sends evenly, and after a pause of its own makes up for it; with `even:RATE` it does not, as a burst would be no even stream, and watches
/// the clock where a sleep would end late.
pub fn send(to: &str, rate: &str, size: &str, seconds: &str, hosts: &str) -> Result<(), Failure> {
    let (even, rate) = rate.strip_prefix("even:").map_or((false, rate), |rate| (true, rate));
    let (rate, size, seconds): (f64, usize, f64) = (rate.parse()?, size.parse()?, seconds.parse()?);
    let (first, hosts): (SocketAddrV4, u32) = (to.parse()?, hosts.parse()?);
    let address = |host: u32| SocketAddrV4::new(Ipv4Addr::from(u32::from(*first.ip()) + host), first.port());
    let to: Vec<Option<SockaddrIn>> = (0..hosts.max(1)).map(|host| Some(SockaddrIn::from(address(host)))).collect();
    if size < HEADERS + STAMP {
        return Err(format!("a packet has at least {} bytes", HEADERS + STAMP).into());
    }
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // As much as is allowed.
    let _ = setsockopt(&socket, sockopt::SndBuf, &SEND_BUFFER);
    // Sleeps that are not rounded up by 50 us.
    prctl::set_timerslack(1)?;
    let gap_ns = if rate > 0.0 { size as f64 * 8e9 / rate } else { 0.0 };
    // At high rates some at a time: whoever sends must cost less than what is measured.
    let together = if even { 1 } else { ((TOGETHER_NS / gap_ns.max(1.0)) as usize).clamp(1, MOST_SEGMENTS) };
    let (made_up_ns, watched_ns) = if even { (0.0, WATCHED_NS) } else { (MADE_UP_NS, 0.0) };
    let payload = size - HEADERS;
    // One buffer that the kernel cuts into datagrams (man 7 udp, UDP_SEGMENT), where all go to one host.
    let whole = together > 1 && to.len() == 1 && setsockopt(&socket, sockopt::UdpGsoSegment, &(payload as i32)).is_ok();
    let mut batch = Batch { bytes: vec![0; payload * together], payload, whole, to };
    let own = Own::new()?;
    let (start, mut number) = (now_ns()?, 0u64);
    let mut due = start as f64;
    while (now_ns()? as f64) < start as f64 + seconds * 1e9 {
        let sent = batch.send(&socket, number)?;
        number += sent as u64;
        due = (due + gap_ns * sent as f64).max(now_ns()? as f64 - made_up_ns);
        let left = due - watched_ns - now_ns()? as f64;
        if left > 0.0 {
            let _ = clock_nanosleep(
                ClockId::CLOCK_MONOTONIC,
                ClockNanosleepFlags::empty(),
                &Duration::from_nanos(left as u64).into(),
            );
            if even {
                own.warm();
            }
        }
    }
    println!("{{\"sent\": {number}, \"seconds\": {seconds}}}");
    Ok(())
}

/// A socket that sends to itself. After a pause the kernel's way of sending is out of the caches, and a stamp taken before going it again
/// would count that as the link's delay.
struct Own {
    socket: UdpSocket,
    address: SocketAddr,
}

impl Own {
    fn new() -> Result<Own, Failure> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        Ok(Own { address: socket.local_addr()?, socket })
    }

    fn warm(&self) {
        let mut buffer = [0; 1024];
        let _ = self.socket.send_to(&buffer, self.address);
        let _ = self.socket.recv(&mut buffer);
    }
}

/// Datagrams handed over together.
struct Batch {
    /// One after the other.
    bytes: Vec<u8>,
    /// How long each is.
    payload: usize,
    /// The kernel cuts them.
    whole: bool,
    /// Who gets them, in turn.
    to: Vec<Option<SockaddrIn>>,
}

impl Batch {
    /// Says how many the kernel took; all of them, or fewer when its buffers are full.
    fn send(&mut self, socket: &UdpSocket, first: u64) -> Result<usize, Failure> {
        let now = now_ns()?;
        for (number, payload) in (first..).zip(self.bytes.chunks_mut(self.payload)) {
            payload[..8].copy_from_slice(&number.to_be_bytes());
            payload[8..STAMP].copy_from_slice(&now.to_be_bytes());
        }
        let piece = if self.whole { self.bytes.len() } else { self.payload };
        let slices: Vec<[IoSlice<'_>; 1]> = self.bytes.chunks(piece).map(|piece| [IoSlice::new(piece)]).collect();
        let turn = first as usize % self.to.len();
        let to: Vec<Option<SockaddrIn>> = self.to.iter().cycle().skip(turn).take(slices.len()).copied().collect();
        let mut headers = MultiHeaders::preallocate(slices.len(), None);
        match sendmmsg(socket.as_raw_fd(), &mut headers, &slices, &to, [], MsgFlags::empty()) {
            Ok(done) => Ok(done.count() * (piece / self.payload)),
            // Nobody listens yet, or buffers are full.
            Err(nix::Error::ECONNREFUSED | nix::Error::ENOBUFS | nix::Error::EAGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
