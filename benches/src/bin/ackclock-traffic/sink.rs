//! The receiver.

use crate::{BATCH, Failure, HEADERS, PREFIX};
use ackclock_core::statistics::quantile_of_sorted;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, setsockopt, sockopt};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use std::collections::BTreeSet;
use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

const MAX_DATAGRAM: usize = 2048;
const RECEIVE_BUFFER: usize = 1 << 23;
/// Sleep after a read that emptied the socket: waking for each datagram would use more CPU time
/// than the emulator. Delays are not affected, as they use the kernel's RX timestamps.
const READ_INTERVAL: Duration = Duration::from_micros(500);
/// Maximum number of recorded delays; later delays are ignored.
const MAX_DELAYS: usize = 2_000_000;

/// Counts of the received datagrams.
#[derive(Default)]
struct ReceiverCounts {
    packets: u64,
    bytes: u64,
    /// RX timestamps of the first and the last datagram.
    first_ns: u64,
    last_ns: u64,
    first_bytes: u64,
    delays_ns: Vec<u64>,
    /// Numbers below `next` that have not been received.
    missing: BTreeSet<u64>,
    /// Highest received number plus 1.
    next: u64,
    duplicates: u64,
}

impl ReceiverCounts {
    fn add(&mut self, datagram: &[u8], at_ns: u64) {
        let word = |from: usize| datagram.get(from..from + 8).and_then(|word| word.try_into().ok()).map(u64::from_be_bytes);
        let (Some(number), Some(sent_ns)) = (word(0), word(8)) else { return };
        let bytes = (datagram.len() + HEADERS) as u64;
        if self.packets == 0 {
            (self.first_ns, self.first_bytes) = (at_ns, bytes);
        }
        self.last_ns = at_ns;
        if number >= self.next {
            self.missing.extend(self.next..number);
            self.next = number + 1;
        } else if !self.missing.remove(&number) {
            self.duplicates += 1;
            return;
        }
        self.packets += 1;
        self.bytes += bytes;
        if self.delays_ns.len() < MAX_DELAYS {
            self.delays_ns.push(at_ns.saturating_sub(sent_ns));
        }
    }

    fn document(mut self) -> String {
        self.delays_ns.sort_unstable();
        let quantile = |q: f64| quantile_of_sorted(&self.delays_ns, q).map_or(0.0, |ns| ns as f64 * 1e-3);
        let seconds = (self.last_ns - self.first_ns) as f64 * 1e-9;
        // The first packet's bits arrived before its timestamp.
        let bps = if seconds > 0.0 { (self.bytes - self.first_bytes) as f64 * 8.0 / seconds } else { 0.0 };
        format!(
            "{{\"packets\": {}, \"lost\": {}, \"duplicates\": {}, \"seconds\": {seconds}, \"bps\": {bps}, \"delay_us\": {{\"min\": {}, \"p1\": {}, \
             \"p50\": {}, \"p99\": {}, \"max\": {}}}}}",
            self.packets,
            self.missing.len(),
            self.duplicates,
            quantile(0.0),
            quantile(0.01),
            quantile(0.5),
            quantile(0.99),
            quantile(1.0),
        )
    }
}

/// Receives until no datagram has arrived for `idle` seconds.
pub fn sink(port: &str, idle: &str) -> Result<(), Failure> {
    let (port, idle): (u16, f64) = (port.parse()?, idle.parse()?);
    let socket = UdpSocket::bind(("0.0.0.0", port))?;
    socket.set_read_timeout(Some(Duration::from_secs_f64(idle)))?;
    // Without CAP_NET_ADMIN the kernel limits the buffer to rmem_max.
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER));
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    let mut buffers = vec![[0u8; MAX_DATAGRAM]; BATCH];
    let mut counts = ReceiverCounts::default();
    let mut timeouts = 0;
    loop {
        let mut slices: Vec<[IoSliceMut<'_>; 1]> = buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, Some(nix::cmsg_space!(nix::sys::time::TimeSpec)));
        match recvmmsg(socket.as_raw_fd(), &mut headers, slices.iter_mut(), MsgFlags::MSG_WAITFORONE, None) {
            Ok(messages) => {
                let mut received = 0;
                for message in messages {
                    received += 1;
                    let timestamp = message.cmsgs()?.find_map(|control| match control {
                        ControlMessageOwned::ScmTimestampns(at) => Some(at.num_nanoseconds() as u64),
                        _ => None,
                    });
                    let bytes = message.iovs().next().unwrap_or_default();
                    if bytes.len() >= PREFIX
                        && let Some(at) = timestamp
                    {
                        counts.add(bytes, at);
                    }
                }
                if received < BATCH {
                    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &READ_INTERVAL.into());
                }
            }
            // The sender may start up to 30 timeouts late.
            Err(nix::Error::EAGAIN) if counts.packets == 0 && timeouts < 30 => timeouts += 1,
            Err(nix::Error::EAGAIN) => break,
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    println!("{}", counts.document());
    Ok(())
}
