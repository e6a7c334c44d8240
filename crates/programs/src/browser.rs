//! The browser's end of a page: the simulator's tree of objects over the kernel's TCP.

use crate::Program;
use crate::clock::{Clock, MAX_WAIT};
use crate::lateness::{CpuDelay, LatenessMeter};
use crate::report::FlowReport;
use crate::socket::{Reader, Received, is_open, start_connection, wait};
use crate::stream_server::header;
use ackclock_core::Time;
use ackclock_core::app::{Application, BrowserConnection, PageConfig, SharedPage, Socket};
use ackclock_sim::plan::WorkloadConfig;
use nix::poll::{PollFd, PollFlags};
use std::io::{self, ErrorKind, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::Arc;

/// Waits until a started connection is open. False if the time is over before.
pub fn is_connected(stream: &TcpStream, clock: &Clock, end: Time) -> io::Result<bool> {
    while !is_open(stream)? {
        if clock.now() >= end {
            return Ok(false);
        }
        wait(&mut [PollFd::new(stream.as_fd(), PollFlags::POLLOUT)], clock, end.min(clock.now() + MAX_WAIT))?;
    }
    Ok(true)
}

/// A connection of the browser.
struct Connection {
    stream: TcpStream,
    app: BrowserConnection,
    number: u32,
    socket: Socket,
    /// Requests that are in `outgoing` or were sent.
    requests: usize,
    /// What the socket has not accepted yet.
    outgoing: Vec<u8>,
}

/// Loads the page once.
pub fn load(program: &Program<'_>, page: &PageConfig) -> io::Result<FlowReport> {
    let clock = program.clock;
    clock.sleep_until(program.start());
    let shared = SharedPage::new(Arc::new(page.clone()), connections_of(program), clock.now());
    let (mut reader, mut lateness) = (Reader::new(), LatenessMeter::default());
    lateness.add(clock.now() - program.start());
    let mut delay = CpuDelay::start();
    let mut open = vec![Connection::start(program, &shared, 0)?];
    while !shared.is_complete() && clock.now() < program.end() {
        let mut polled: Vec<PollFd<'_>> = open.iter().map(|one| PollFd::new(one.stream.as_fd(), one.events())).collect();
        wait(&mut polled, &clock, program.end().min(shared.due()).min(clock.now() + MAX_WAIT))?;
        let delayed = delay.read();
        for place in 0..open.len() {
            let arrived = open[place].receive(&mut reader, &clock)?;
            let due = Some(shared.due()).filter(|&due| place == 0 && open[0].socket.established && due <= clock.now());
            let Some(arrived) = arrived.or(due) else { continue };
            let mut has_acted = open[place].act(arrived)?;
            // Other connections may have to open, or to request what this one made known.
            while let woken = shared.take_woken()
                && !woken.is_empty()
            {
                has_acted = true;
                for number in woken {
                    match open.iter_mut().find(|one| one.number == number) {
                        Some(other) if other.socket.established => other.act(arrived).map(drop)?,
                        Some(_) => {}
                        None => open.push(Connection::start(program, &shared, number)?),
                    }
                }
            }
            if has_acted {
                lateness.add(delayed);
            }
        }
    }
    Ok(FlowReport { page: Some(shared.score()), lateness: lateness.read(), ..FlowReport::of(program) })
}

/// How many connections the load may have: those of the plan.
fn connections_of(program: &Program<'_>) -> u32 {
    let WorkloadConfig::Page { load, .. } = program.flow.workload else { return 0 };
    let is_of_load = |workload| matches!(workload, WorkloadConfig::Page { load: other, .. } if other == load);
    program.plan.flows.iter().filter(|flow| is_of_load(flow.workload)).count() as u32
}

impl Connection {
    fn start(program: &Program<'_>, page: &SharedPage, number: u32) -> io::Result<Connection> {
        Ok(Connection {
            stream: start_connection(program)?,
            app: BrowserConnection::new(page.clone(), number),
            number,
            socket: Socket::default(),
            requests: 0,
            outgoing: Vec::new(),
        })
    }

    fn events(&self) -> PollFlags {
        match self.socket.established && self.outgoing.is_empty() {
            true => PollFlags::POLLIN,
            false => PollFlags::POLLIN | PollFlags::POLLOUT,
        }
    }

    /// Reads what has arrived. Returns when the last of it did, or when the connection opened; none if
    /// nothing has happened.
    fn receive(&mut self, reader: &mut Reader, clock: &Clock) -> io::Result<Option<Time>> {
        let mut last = None;
        if !self.socket.established {
            if !is_open(&self.stream)? {
                return Ok(None);
            }
            self.socket.established = true;
            last = Some(clock.now());
        }
        self.flush()?;
        while let Received::Bytes(count, at) = reader.read(&self.stream, clock)? {
            self.socket.arrived += count as u64;
            last = Some(at);
        }
        Ok(last)
    }

    /// The browser acts on what has arrived. Returns whether it has requested something.
    fn act(&mut self, now: Time) -> io::Result<bool> {
        self.app.act(now, &mut self.socket);
        let new = self.app.page().exchanges(self.number, self.requests);
        for (request, response) in &new {
            let begin = self.outgoing.len();
            self.outgoing.extend(header(*request, *response));
            self.outgoing.resize(begin + usize::try_from(*request).unwrap_or(0), 0);
        }
        self.requests += new.len();
        self.app.page().answer_in_order(self.number, self.socket.written);
        self.flush()?;
        Ok(!new.is_empty())
    }

    fn flush(&mut self) -> io::Result<()> {
        while !self.outgoing.is_empty() {
            match (&self.stream).write(&self.outgoing) {
                Ok(count) => drop(self.outgoing.drain(..count)),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
