//! `ackclock-traffic`: a sender and a receiver of paced, numbered UDP datagrams, which measure the
//! emulator's accuracy and speed.
//!
//! `send ADDRESS:PORT RATE SIZE SECONDS [HOSTS]` sends IP packets of SIZE bytes at RATE bit/s (0:
//! as fast as possible), in turn to HOSTS consecutive addresses from ADDRESS. `sink PORT IDLE`
//! receives until no datagram has arrived for IDLE seconds, and prints its counts as JSON. Both
//! must run on the same machine: one-way delays are differences of its clock.

mod send;
mod sink;

use std::process::ExitCode;

/// IPv4 and UDP headers, in bytes.
const HEADERS: usize = 28;
/// Bytes at the start of the payload: the datagram's number, then its transmission time (Unix time
/// in nanoseconds).
const PREFIX: usize = 16;
/// Maximum number of datagrams per `recvmmsg` call.
const BATCH: usize = 64;

type Failure = Box<dyn std::error::Error>;

/// CLOCK_REALTIME in nanoseconds, the clock of the kernel's packet timestamps.
fn now_ns() -> Result<u64, nix::Error> {
    let now = nix::time::ClockId::CLOCK_REALTIME.now()?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let result = match arguments.as_slice() {
        ["send", to, rate, size, seconds] => send::send(to, rate, size, seconds, "1"),
        ["send", to, rate, size, seconds, hosts] => send::send(to, rate, size, seconds, hosts),
        ["sink", port, idle] => sink::sink(port, idle),
        _ => Err("usage: ackclock-traffic send ADDRESS:PORT RATE SIZE SECONDS [HOSTS] | sink PORT IDLE".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("ackclock-traffic: {failure}");
            ExitCode::from(2)
        }
    }
}
