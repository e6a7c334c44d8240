//! Paced, numbered and stamped datagrams, and somebody who counts them: what the emulator's accuracy and speed are measured with.
//!
//! `send ADDRESS:PORT RATE SIZE SECONDS [HOSTS]` sends IP packets of SIZE bytes evenly at RATE bits a second (0: as fast as it can), in turn to
//! so many addresses from ADDRESS on. `sink PORT IDLE` counts until nothing has come for IDLE seconds and prints what it saw as JSON. Both must
//! be on one machine: delays are by its one clock.

mod send;
mod sink;

use std::process::ExitCode;

/// IPv4 and UDP.
const HEADERS: usize = 28;
/// A datagram's number, then when it was sent: Unix time in nanoseconds.
const STAMP: usize = 16;
/// Most datagrams handed to the kernel, or taken from it, at once.
const BATCH: usize = 64;

type Failure = Box<dyn std::error::Error>;

/// Unix time in nanoseconds, as the kernel stamps packets.
fn now_ns() -> Result<u64, nix::Error> {
    let now = nix::time::ClockId::CLOCK_REALTIME.now()?;
    Ok(now.tv_sec() as u64 * 1_000_000_000 + now.tv_nsec() as u64)
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["send", to, rate, size, seconds] => send::send(to, rate, size, seconds, "1"),
        ["send", to, rate, size, seconds, hosts] => send::send(to, rate, size, seconds, hosts),
        ["sink", port, idle] => sink::sink(port, idle),
        _ => Err("usage: ackclock-traffic send ADDRESS:PORT RATE SIZE SECONDS [HOSTS] | sink PORT IDLE".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("ackclock-traffic: {failure}");
            ExitCode::from(2)
        }
    }
}
