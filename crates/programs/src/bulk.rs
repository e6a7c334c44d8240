//! The client's end of a bulk transfer, and bytes over the measured time.

use crate::Program;
use crate::browser::is_connected;
use crate::clock::MAX_WAIT;
use crate::report::FlowReport;
use crate::socket::{CHUNK, Reader, Received, start_connection, wait};
use crate::stream_server::{UNLIMITED, header};
use ackclock_core::Time;
use nix::poll::{PollFd, PollFlags};
use std::io::{self, ErrorKind, Write};
use std::os::fd::AsFd;

/// Bytes that arrive within a span.
pub struct Counted {
    span: (Time, Time),
    bytes: u64,
}

impl Counted {
    pub fn new(span: (Time, Time)) -> Counted {
        Counted { span, bytes: 0 }
    }

    pub fn add(&mut self, at: Time, bytes: u64) {
        if (self.span.0..self.span.1).contains(&at) {
            self.bytes += bytes;
        }
    }

    /// None for the end that sends.
    pub fn bytes(&self, sends: bool) -> Option<u64> {
        (!sends).then_some(self.bytes)
    }
}

/// Downloads or uploads until the program ends.
pub fn transfer(program: &Program<'_>) -> io::Result<FlowReport> {
    let clock = program.clock;
    clock.sleep_until(program.start());
    let stream = start_connection(program)?;
    if !is_connected(&stream, &clock, program.end())? {
        return Ok(FlowReport::of(program));
    }
    let (mut reader, mut received, zeros) = (Reader::new(), Counted::new(program.measured()), vec![0; CHUNK]);
    let (events, request) =
        if program.sends() { (PollFlags::POLLOUT, header(UNLIMITED, 0)) } else { (PollFlags::POLLIN, header(16, UNLIMITED)) };
    (&stream).write_all(&request)?;
    while clock.now() < program.end() {
        wait(&mut [PollFd::new(stream.as_fd(), events)], &clock, program.end().min(clock.now() + MAX_WAIT))?;
        if program.sends() {
            match (&stream).write(&zeros) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        } else if let Received::Bytes(count, at) = reader.read(&stream, &clock)? {
            received.add(at, count as u64);
        }
    }
    Ok(FlowReport { received: received.bytes(program.sends()), ..FlowReport::of(program) })
}
