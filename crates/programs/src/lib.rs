//! What people do on a network, as programs over the kernel's sockets: the calls, games, pages and bulk
//! transfers of a plan, each at both ends of a link that `ackclock emulate` makes.
//!
//! TCP, the sockets and the times of arrival are the kernel's. What a browser requests, which packets a
//! receiver plays and what that is worth are the simulator's own (`ackclock_core::app`,
//! `ackclock_core::score`), so that a difference between the two is one of the network. Both ends run on
//! one machine and have one clock, CLOCK_MONOTONIC, so that one-way delays need no estimate.
//!
//! Each program says how late it was, see [`Lateness`]: one that runs late measures the machine.

mod browser;
mod bulk;
mod clock;
mod datagrams;
mod lateness;
mod report;
mod socket;
mod stream_server;

pub use clock::Start;
pub use lateness::Lateness;
pub use report::{EndReport, FlowReport, ProgramRow, rows};

use ackclock_core::Time;
use ackclock_core::app::UDP_HEADER;
use ackclock_sim::Plan;
use ackclock_sim::plan::{Direction, Flow, Measure, WorkloadConfig};
use clock::Clock;
use nix::libc;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::thread;

/// Port of the plan's first flow, at both ends; the next flow has the next port.
pub const FIRST_PORT: u16 = 7000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum End {
    Server,
    Client,
}

/// The configuration of one end.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramsConfig {
    pub end: End,
    pub server: Ipv4Addr,
    pub client: Ipv4Addr,
    /// Value of TCP_CONGESTION of every connection.
    pub congestion_control: String,
    /// The client writes here when the run begins, and the server reads it. Both ends see the folder.
    pub start_file: PathBuf,
}

/// A program with its place in the plan.
#[derive(Clone, Copy)]
struct Program<'a> {
    plan: &'a Plan,
    config: &'a ProgramsConfig,
    clock: Clock,
    number: usize,
    flow: &'a Flow,
}

impl Program<'_> {
    fn port(&self) -> io::Result<u16> {
        let number = u16::try_from(self.number).ok().and_then(|number| FIRST_PORT.checked_add(number));
        number.ok_or_else(|| io::Error::other("the scenario has too many flows"))
    }

    fn own(&self) -> io::Result<SocketAddr> {
        let own = if self.config.end == End::Server { self.config.server } else { self.config.client };
        Ok((own, self.port()?).into())
    }

    fn peer(&self) -> io::Result<SocketAddr> {
        let peer = if self.config.end == End::Server { self.config.client } else { self.config.server };
        Ok((peer, self.port()?).into())
    }

    fn start(&self) -> Time {
        Time(self.flow.start.low_ps)
    }

    /// When the program ends.
    fn end(&self) -> Time {
        Time(self.plan.duration_ps)
    }

    /// The part of the run that counts.
    fn measured(&self) -> (Time, Time) {
        match self.plan.measure {
            Measure::Interval { from_ps, to_ps } => (Time(from_ps), Time(to_ps)),
            Measure::All {} | Measure::AllActive {} => (self.start(), self.end()),
        }
    }

    fn sends(&self) -> bool {
        (self.flow.direction == Direction::Down) == (self.config.end == End::Server)
    }
}

/// Runs one end of all programs of a plan until the plan's duration is over. Blocks; starts a thread for
/// each program. Error: a socket was refused, or the other end did not start.
pub fn run(plan: &Plan, config: &ProgramsConfig) -> io::Result<EndReport> {
    check(plan)?;
    // Before the start is announced, so that the client finds every port open.
    let flows = || plan.flows.iter().enumerate().filter(|(_, flow)| is_own_program(flow));
    let dummy = Clock::at(0);
    let program = |clock, (number, flow)| Program { plan, config, clock, number, flow };
    let sockets: Vec<socket::Opened> = flows().map(|one| socket::open(&program(dummy, one))).collect::<io::Result<_>>()?;
    let clock = Clock::at(match config.end {
        End::Client => Start::announce(&config.start_file)?,
        End::Server => Start::wait(&config.start_file)?,
    });
    let reports = thread::scope(|scope| {
        let threads: Vec<_> = flows()
            .zip(sockets)
            .map(|(one, opened)| {
                let program = program(clock, one);
                scope.spawn(move || {
                    request_realtime(program.flow);
                    run_one(&program, opened)
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| Err(io::Error::other("it panicked")))).collect()
    });
    let reports: Vec<io::Result<FlowReport>> = reports;
    Ok(EndReport { end: config.end, flows: reports.into_iter().collect::<io::Result<_>>()? })
}

/// A page has one program, that of its first connection.
fn is_own_program(flow: &Flow) -> bool {
    !matches!(flow.workload, WorkloadConfig::Page { connection: 1.., .. })
}

fn check(plan: &Plan) -> io::Result<()> {
    for flow in &plan.flows {
        let why = match flow.workload {
            WorkloadConfig::Call { packet, .. } | WorkloadConfig::Game { packet, .. }
                if usize::from(packet.saturating_sub(UDP_HEADER)) < datagrams::HEADER =>
            {
                format!("its packets need {} bytes", datagrams::HEADER + usize::from(UDP_HEADER))
            }
            WorkloadConfig::Page { page, .. } if plan.pages[page as usize].multiplexed => {
                "its programs have HTTP/1.1 alone".to_owned()
            }
            WorkloadConfig::Page { page, .. } if plan.pages[page as usize].request < stream_server::HEADER as u64 => {
                format!("its requests need {} bytes", stream_server::HEADER)
            }
            WorkloadConfig::Call { .. }
            | WorkloadConfig::Game { .. }
            | WorkloadConfig::Page { .. }
            | WorkloadConfig::Bulk { read_bps: None } => continue,
            _ => "programs are calls, games, pages and bulk transfers".to_owned(),
        };
        return Err(io::Error::other(format!("flow {}: {why}", flow.name)));
    }
    Ok(())
}

fn run_one(program: &Program<'_>, opened: socket::Opened) -> io::Result<FlowReport> {
    let report = match (program.flow.workload, opened) {
        (WorkloadConfig::Call { gap_ps, packet, .. }, socket::Opened::Datagrams(socket)) => {
            datagrams::call(program, &socket, (gap_ps, packet))
        }
        (WorkloadConfig::Game { gap_ps, packet, deadline_ps }, socket::Opened::Datagrams(socket)) => {
            datagrams::game(program, &socket, (gap_ps, packet, deadline_ps))
        }
        (_, socket::Opened::Listener(listener)) => stream_server::serve(program, &listener),
        (WorkloadConfig::Page { page, .. }, socket::Opened::None) => browser::load(program, &program.plan.pages[page as usize]),
        _ => bulk::transfer(program),
    };
    report.map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.flow.name)))
}

/// Asks for SCHED_FIFO, so that a busy machine does not delay the program. The emulator's threads, which may
/// spin, have priority 1: what answers at once preempts them for some microseconds, and bulk transfers do
/// not. A refusal is no error: the report has the lateness.
fn request_realtime(flow: &Flow) {
    let sched_priority = if matches!(flow.workload, WorkloadConfig::Bulk { .. }) { 1 } else { 2 };
    let parameters = libc::sched_param { sched_priority };
    // SAFETY: integers, and a structure that outlives the call; both concern the calling thread alone.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0);
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters);
    }
}
