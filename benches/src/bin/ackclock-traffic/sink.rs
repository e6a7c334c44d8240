//! Who counts.

use crate::{BATCH, Failure, HEADERS, STAMP};
use ackclock_core::statistics::quantile_of_sorted;
use nix::sys::socket::{ControlMessageOwned, MsgFlags, MultiHeaders, SockaddrIn, recvmmsg, setsockopt, sockopt};
use nix::sys::time::TimeValLike;
use nix::time::{ClockId, ClockNanosleepFlags, clock_nanosleep};
use std::collections::BTreeSet;
use std::io::IoSliceMut;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use std::time::Duration;

const LARGEST: usize = 2048;
const RECEIVE_BUFFER: usize = 1 << 23;
/// How long packets gather in the buffer before some are taken: the kernel has stamped them, and a counter that is woken for each would
/// cost more than what is measured.
const GATHER: Duration = Duration::from_micros(500);
/// Delays kept; of more only the first.
const DELAYS: usize = 2_000_000;

/// What has come.
#[derive(Default)]
struct Seen {
    packets: u64,
    bytes: u64,
    /// By the kernel's stamps.
    first_ns: u64,
    last_ns: u64,
    highest: u64,
    first_bytes: u64,
    delays_ns: Vec<u64>,
    /// Numbers that have not come though later ones have.
    missing: BTreeSet<u64>,
    next: u64,
    duplicates: u64,
}

impl Seen {
    fn take(&mut self, datagram: &[u8], at_ns: u64) {
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
            self.highest = number;
        } else if !self.missing.remove(&number) {
            self.duplicates += 1;
            return;
        }
        self.packets += 1;
        self.bytes += bytes;
        if self.delays_ns.len() < DELAYS {
            self.delays_ns.push(at_ns.saturating_sub(sent_ns));
        }
    }

    fn document(mut self) -> String {
        self.delays_ns.sort_unstable();
        let quantile = |q: f64| quantile_of_sorted(&self.delays_ns, q).map_or(0.0, |ns| ns as f64 * 1e-3);
        let seconds = (self.last_ns - self.first_ns) as f64 * 1e-9;
        // The first packet's bits came before its stamp.
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

/// Counts until nothing has come for so long.
pub fn sink(port: &str, idle: &str) -> Result<(), Failure> {
    let (port, idle): (u16, f64) = (port.parse()?, idle.parse()?);
    let socket = UdpSocket::bind(("0.0.0.0", port))?;
    socket.set_read_timeout(Some(Duration::from_secs_f64(idle)))?;
    // As much as is allowed.
    let _ = setsockopt(&socket, sockopt::RcvBufForce, &RECEIVE_BUFFER)
        .or_else(|_| setsockopt(&socket, sockopt::RcvBuf, &RECEIVE_BUFFER));
    setsockopt(&socket, sockopt::ReceiveTimestampns, &true)?;
    let mut buffers = vec![[0u8; LARGEST]; BATCH];
    let mut seen = Seen::default();
    let mut waited = 0;
    loop {
        let mut slices: Vec<[IoSliceMut<'_>; 1]> = buffers.iter_mut().map(|buffer| [IoSliceMut::new(buffer)]).collect();
        let mut headers = MultiHeaders::<SockaddrIn>::preallocate(BATCH, Some(nix::cmsg_space!(nix::sys::time::TimeSpec)));
        match recvmmsg(socket.as_raw_fd(), &mut headers, slices.iter_mut(), MsgFlags::MSG_WAITFORONE, None) {
            Ok(messages) => {
                let mut came = 0;
                for message in messages {
                    came += 1;
                    let stamp = message.cmsgs()?.find_map(|control| match control {
                        ControlMessageOwned::ScmTimestampns(stamp) => Some(stamp.num_nanoseconds() as u64),
                        _ => None,
                    });
                    let bytes = message.iovs().next().unwrap_or_default();
                    if bytes.len() >= STAMP
                        && let Some(at) = stamp
                    {
                        seen.take(bytes, at);
                    }
                }
                if came < BATCH {
                    let _ = clock_nanosleep(ClockId::CLOCK_MONOTONIC, ClockNanosleepFlags::empty(), &GATHER.into());
                }
            }
            // Before the first packet, patience: whoever sends may take long to start.
            Err(nix::Error::EAGAIN) if seen.packets == 0 && waited < 30 => waited += 1,
            Err(nix::Error::EAGAIN) => break,
            Err(nix::Error::EINTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
    println!("{}", seen.document());
    Ok(())
}
