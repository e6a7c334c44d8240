//! The server's end of pages and bulk transfers: it sends as many bytes as a request asks for, when all of
//! the request has arrived.
//!
//! A request begins with its own length and that of the response (8 bytes each, big-endian); what follows
//! has no meaning. Either may be [`UNLIMITED`].

use crate::clock::MAX_WAIT;
use crate::lateness::{CpuDelay, LatenessMeter};
use crate::report::FlowReport;
use crate::socket::{CHUNK, Reader, Received, prepare, wait};
use crate::{Program, bulk::Counted};
use nix::poll::{PollFd, PollFlags};
use std::io::{self, ErrorKind, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsFd;

/// The two lengths at the beginning of a request.
pub const HEADER: usize = 16;
/// A length without end.
pub const UNLIMITED: u64 = u64::MAX;

/// A request of `request` bytes for `response` bytes.
pub fn header(request: u64, response: u64) -> [u8; HEADER] {
    let mut bytes = [0; HEADER];
    bytes[..8].copy_from_slice(&request.to_be_bytes());
    bytes[8..].copy_from_slice(&response.to_be_bytes());
    bytes
}

/// The requests on a stream, of which only headers have a meaning.
#[derive(Debug, Default)]
pub struct Requests {
    header: Vec<u8>,
    /// Bytes of the present request that have not arrived, and its response.
    left: u64,
    response: u64,
}

impl Requests {
    /// Reads more of the stream. Returns the bytes of the responses to requests that are now complete.
    pub fn read(&mut self, mut bytes: &[u8]) -> u64 {
        let mut responses = 0u64;
        while !bytes.is_empty() {
            if self.left == 0 {
                let more = (HEADER - self.header.len()).min(bytes.len());
                self.header.extend(&bytes[..more]);
                bytes = &bytes[more..];
                let Some(lengths) = self.header.first_chunk::<HEADER>() else { break };
                let [request, response] =
                    [0, 8].map(|at| lengths[at..].first_chunk().map_or(0, |word| u64::from_be_bytes(*word)));
                self.left = if request == UNLIMITED { UNLIMITED } else { request.saturating_sub(HEADER as u64) };
                self.response = response;
                self.header.clear();
            }
            if self.left != UNLIMITED {
                let more = self.left.min(bytes.len() as u64);
                self.left -= more;
                bytes = &bytes[more as usize..];
                if self.left == 0 {
                    responses = responses.saturating_add(self.response);
                }
            } else {
                break;
            }
        }
        responses
    }
}

struct Connection {
    stream: TcpStream,
    requests: Requests,
    /// Bytes to send.
    pending: u64,
    is_closed: bool,
}

/// Serves the connections to a port until the program ends.
pub fn serve(program: &Program<'_>, listener: &TcpListener) -> io::Result<FlowReport> {
    let clock = program.clock;
    let (mut reader, mut lateness, zeros) = (Reader::new(), LatenessMeter::default(), vec![0; CHUNK]);
    let mut received = Counted::new(program.measured());
    let (mut connections, mut delay): (Vec<Connection>, _) = (Vec::new(), CpuDelay::start());
    while clock.now() < program.end() {
        let events = |one: &Connection| if one.pending > 0 { PollFlags::POLLIN | PollFlags::POLLOUT } else { PollFlags::POLLIN };
        let mut polled: Vec<PollFd<'_>> = vec![PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        polled.extend(connections.iter().map(|one| PollFd::new(one.stream.as_fd(), events(one))));
        wait(&mut polled, &clock, program.end().min(clock.now() + MAX_WAIT))?;
        let delayed = delay.read();
        match listener.accept() {
            Ok((stream, _)) => {
                prepare(&stream)?;
                connections.push(Connection { stream, requests: Requests::default(), pending: 0, is_closed: false });
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        for connection in &mut connections {
            let is_asked = connection.read(&mut reader, program, &mut received)?;
            connection.write(&zeros)?;
            if is_asked {
                lateness.add(delayed);
            }
        }
        connections.retain(|connection| !connection.is_closed);
    }
    Ok(FlowReport { lateness: lateness.read(), received: received.bytes(program.sends()), ..FlowReport::of(program) })
}

impl Connection {
    /// Reads what has arrived. Returns whether a request is complete now.
    fn read(&mut self, reader: &mut Reader, program: &Program<'_>, received: &mut Counted) -> io::Result<bool> {
        let mut is_asked = false;
        loop {
            match reader.read(&self.stream, &program.clock)? {
                Received::Bytes(count, at) => {
                    received.add(at, count as u64);
                    let more = self.requests.read(&reader.buffer[..count]);
                    if more > 0 {
                        self.pending = self.pending.saturating_add(more);
                        is_asked = true;
                    }
                }
                Received::End => {
                    self.is_closed = true;
                    return Ok(is_asked);
                }
                Received::Nothing => return Ok(is_asked),
            }
        }
    }

    fn write(&mut self, zeros: &[u8]) -> io::Result<()> {
        while self.pending > 0 && !self.is_closed {
            let more = zeros.len().min(usize::try_from(self.pending).unwrap_or(usize::MAX));
            match (&self.stream).write(&zeros[..more]) {
                Ok(count) if self.pending != UNLIMITED => self.pending -= count as u64,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => self.is_closed = true,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn response_is_due_when_all_of_its_request_has_arrived() {
        let mut stream = header(20, 1000).to_vec();
        stream.extend([0; 4]);
        stream.extend(header(16, 7));
        let mut requests = Requests::default();
        let responses: Vec<u64> = stream.iter().map(|byte| requests.read(&[*byte])).collect();
        let mut expected = vec![0; 36];
        (expected[19], expected[35]) = (1000, 7);
        assert_eq!(responses, expected);
        assert_eq!(Requests::default().read(&stream), 1007, "both at once");
    }

    #[test]
    fn upload_without_end_asks_for_nothing() {
        let mut requests = Requests::default();
        assert_eq!(requests.read(&header(UNLIMITED, 0)), 0);
        assert_eq!(requests.read(&header(16, 7)), 0);
    }
}
