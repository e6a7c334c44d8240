//! The paced sender.

use crate::{Failure, HEADERS, PREFIX, now_ns};
use nix::sys::prctl;
use nix::sys::socket::{MsgFlags, MultiHeaders, SockaddrIn, sendmmsg, setsockopt, sockopt};
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use std::io::IoSlice;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::AsRawFd;
use std::time::Duration;

const SEND_BUFFER: usize = 1 << 22;

/// Transmission time of the datagrams that are sent together, and their maximum number.
const BATCH_NS: f64 = 200e3;
const MAX_BATCH: usize = 40;
/// Time before a due time that an even sender spins instead of sleeping: a sleep may end this late.
const SPIN_NS: f64 = 150e3;
/// Maximum lateness for which a sender catches up with a burst.
const CATCH_UP_NS: f64 = 5e6;

/// Sends at `rate`. A sender that was late catches up with a burst; with `even:RATE` it does not,
/// and it spins until each due time.
pub fn send(to: &str, rate: &str, size: &str, seconds: &str, hosts: &str) -> Result<(), Failure> {
    let (even, rate) = rate.strip_prefix("even:").map_or((false, rate), |rate| (true, rate));
    let (rate, size, seconds): (f64, usize, f64) = (rate.parse()?, size.parse()?, seconds.parse()?);
    let (first, hosts): (SocketAddrV4, u32) = (to.parse()?, hosts.parse()?);
    let address = |host: u32| SocketAddrV4::new(Ipv4Addr::from(u32::from(*first.ip()) + host), first.port());
    let to: Vec<Option<SockaddrIn>> = (0..hosts.max(1)).map(|host| Some(SockaddrIn::from(address(host)))).collect();
    if size < HEADERS + PREFIX {
        return Err(format!("a packet has at least {} bytes", HEADERS + PREFIX).into());
    }
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // The kernel limits the buffer to wmem_max.
    let _ = setsockopt(&socket, sockopt::SndBuf, &SEND_BUFFER);
    // The default timer slack rounds sleeps up by 50 us.
    prctl::set_timerslack(1)?;
    let gap_ns = if rate > 0.0 { size as f64 * 8e9 / rate } else { 0.0 };
    // Batches at high rates: the sender must use less CPU time than the emulator.
    let batched = if even { 1 } else { ((BATCH_NS / gap_ns.max(1.0)) as usize).clamp(1, MAX_BATCH) };
    let (catch_up_ns, spin_ns) = if even { (0.0, SPIN_NS) } else { (CATCH_UP_NS, 0.0) };
    let payload = size - HEADERS;
    // UDP GSO (man 7 udp, UDP_SEGMENT), if all datagrams go to one host.
    let gso = batched > 1 && to.len() == 1 && setsockopt(&socket, sockopt::UdpGsoSegment, &(payload as i32)).is_ok();
    let mut batch = Batch { bytes: vec![0; payload * batched], payload, gso, to };
    let warmup = LoopbackSocket::new()?;
    let (start, mut number) = (now_ns()?, 0u64);
    let mut due = start as f64;
    while (now_ns()? as f64) < start as f64 + seconds * 1e9 {
        let sent = batch.send(&socket, number)?;
        number += sent as u64;
        due = (due + gap_ns * sent as f64).max(now_ns()? as f64 - catch_up_ns);
        let sleep_ns = due - spin_ns - now_ns()? as f64;
        if sleep_ns > 0.0 {
            let _ = clock_nanosleep(
                ClockId::CLOCK_MONOTONIC,
                ClockNanosleepFlags::empty(),
                &Duration::from_nanos(sleep_ns as u64).into(),
            );
            if even {
                warmup.run();
            }
        }
    }
    println!("{{\"sent\": {number}, \"seconds\": {seconds}}}");
    Ok(())
}

/// A socket that sends to itself to warm the CPU caches. After a sleep the kernel's transmit path
/// has left the caches, and the slower transmission would count as delay of the link.
struct LoopbackSocket {
    socket: UdpSocket,
    address: SocketAddr,
}

impl LoopbackSocket {
    fn new() -> Result<LoopbackSocket, Failure> {
        let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        socket.set_nonblocking(true)?;
        Ok(LoopbackSocket { address: socket.local_addr()?, socket })
    }

    fn run(&self) {
        let mut buffer = [0; 1024];
        let _ = self.socket.send_to(&buffer, self.address);
        let _ = self.socket.recv(&mut buffer);
    }
}

/// Datagrams sent with one system call.
struct Batch {
    /// The payloads, concatenated.
    bytes: Vec<u8>,
    /// Length of each payload.
    payload: usize,
    /// The kernel segments `bytes` (UDP GSO).
    gso: bool,
    /// The receivers, in turn.
    to: Vec<Option<SockaddrIn>>,
}

impl Batch {
    /// Sends the batch, with `first` as the number of its first datagram. Returns the number of
    /// datagrams sent.
    fn send(&mut self, socket: &UdpSocket, first: u64) -> Result<usize, Failure> {
        let now = now_ns()?;
        for (number, payload) in (first..).zip(self.bytes.chunks_mut(self.payload)) {
            payload[..8].copy_from_slice(&number.to_be_bytes());
            payload[8..PREFIX].copy_from_slice(&now.to_be_bytes());
        }
        let piece = if self.gso { self.bytes.len() } else { self.payload };
        let slices: Vec<[IoSlice<'_>; 1]> = self.bytes.chunks(piece).map(|piece| [IoSlice::new(piece)]).collect();
        let start = first as usize % self.to.len();
        let to: Vec<Option<SockaddrIn>> = self.to.iter().cycle().skip(start).take(slices.len()).copied().collect();
        let mut headers = MultiHeaders::preallocate(slices.len(), None);
        match sendmmsg(socket.as_raw_fd(), &mut headers, &slices, &to, [], MsgFlags::empty()) {
            Ok(results) => Ok(results.count() * (piece / self.payload)),
            // The receiver does not listen yet, or a buffer is full.
            Err(nix::Error::ECONNREFUSED | nix::Error::ENOBUFS | nix::Error::EAGAIN) => Ok(0),
            Err(error) => Err(error.into()),
        }
    }
}
