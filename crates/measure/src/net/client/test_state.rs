//! State of a test at the client.

use super::super::sockets::{self, SocketOptions};
use super::super::tcp_flow::{FlowSpec, TcpFlow};
use super::super::test_io::{FlowIo, TestIo, TrainIo};
use crate::control::hello::DataHello;
use crate::control::keys::SessionKeys;
use crate::control::message::{FlowOutcome, TableId, TestOutcome};
use crate::control::table::{IntTable, MAX_COLUMNS};
use crate::record::TestRecord;
use crate::test_spec::{Direction, IPV4_UDP_HEADERS, IPV6_UDP_HEADERS, TestSpec, Transfers};
use crate::{MS, Nanos, SECOND};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Minimum time without arrivals that ends a test.
const QUIET_NS: Nanos = 500 * MS;
/// Interval of the address hellos until the far end replies.
pub const HELLO_INTERVAL_NS: Nanos = 100 * MS;
/// Maximum rows of a table of samples from the far end.
const MAX_SAMPLES: usize = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TestPhase {
    Requested,
    /// Waits for the validation of its address.
    Validating,
    Ready,
    Running,
    Stopped,
    Done,
}

/// A test of a step, and the time from the step's start to its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepTest {
    pub spec: TestSpec,
    pub start_after: Nanos,
}

impl StepTest {
    /// A test that starts with the step.
    pub fn at_start(spec: TestSpec) -> StepTest {
        StepTest { spec, start_after: 0 }
    }
}

pub struct ClientTest {
    pub number: u32,
    pub spec: TestSpec,
    pub phase: TestPhase,
    pub io: TestIo,
    pub tag: u64,
    pub next_hello: Nanos,
    pub began: Nanos,
    /// From the start of the step to the start of this test.
    pub start_after: Nanos,
    server: SocketAddr,
    next_transfer: (u16, Nanos),
    far: BTreeMap<TableId, IntTable>,
    /// Reported connections that precede the far end's last message.
    far_flows: Vec<FlowOutcome>,
    outcome: Option<TestOutcome>,
}

impl ClientTest {
    pub fn new(number: u32, step: StepTest, keys: &SessionKeys, server: SocketAddr, now: Nanos) -> ClientTest {
        let StepTest { spec, start_after } = step;
        let io = match &spec {
            TestSpec::Datagrams { down, up } => {
                let mut trains = TrainIo::new(*up, *down, keys.tag(number, true));
                trains.to = Some(server);
                TestIo::Trains(trains)
            }
            TestSpec::Bulk(bulk) => TestIo::Flows(FlowIo::for_bulk(bulk, now)),
            TestSpec::Transfers(_) => TestIo::Flows(FlowIo::without_samples()),
        };
        let tag = keys.tag(number, false);
        let far = BTreeMap::new();
        ClientTest {
            number,
            spec,
            phase: TestPhase::Requested,
            io,
            tag,
            next_hello: now,
            began: now,
            start_after,
            server,
            next_transfer: (0, now),
            far,
            far_flows: Vec::new(),
            outcome: None,
        }
    }

    /// The far end has prepared the test.
    pub fn ready(&mut self, port: Option<u16>) {
        if let Some(port) = port {
            self.server.set_port(port);
        }
        let needs_validation = matches!(self.spec, TestSpec::Datagrams { down: Some(_), .. });
        self.phase = if needs_validation { TestPhase::Validating } else { TestPhase::Ready };
    }

    /// Starts the test. Err: a connection could not be opened.
    pub fn go(&mut self, now: Nanos, rate_bps: u64) -> Result<(), String> {
        (self.phase, self.began) = (TestPhase::Running, now);
        match (&mut self.io, &self.spec) {
            (TestIo::Trains(trains), _) => trains.start(now),
            (TestIo::Flows(flows), TestSpec::Bulk(bulk)) => {
                let socket_options = SocketOptions::of(bulk);
                for number in 0..bulk.down + bulk.up {
                    let direction = if number < bulk.down { Direction::Down } else { Direction::Up };
                    let rate_bps = Some(bulk.rate_each(direction, rate_bps));
                    let spec = FlowSpec {
                        number,
                        sends: direction == Direction::Up,
                        limit: None,
                        rate_bps,
                        window: bulk.receive_window,
                    };
                    let stream = sockets::connect(self.server, &socket_options)?;
                    flows.flows.push(TcpFlow::connecting(spec, stream, now, now + bulk.duration_ns));
                }
            }
            _ => self.next_transfer = (0, now),
        }
        Ok(())
    }

    /// Starts the next transfer when it is due.
    pub fn begin_transfer(&mut self, now: Nanos, rate_bps: u64) -> Result<(), String> {
        let (TestIo::Flows(flows), TestSpec::Transfers(t)) = (&mut self.io, &self.spec) else { return Ok(()) };
        let (number, at) = self.next_transfer;
        if self.phase != TestPhase::Running || number >= t.count || now < at || !flows.all_ended() {
            return Ok(());
        }
        if now >= self.began + t.limit_ns {
            self.next_transfer.0 = t.count;
            return Ok(());
        }
        let spec = FlowSpec {
            number,
            sends: t.direction == Direction::Up,
            limit: Some(t.bytes),
            rate_bps: Some(rate_bps),
            window: None,
        };
        let socket_options = SocketOptions { congestion: t.congestion.clone(), ..SocketOptions::default() };
        let stream = sockets::connect(self.server, &socket_options)?;
        flows.flows.push(TcpFlow::connecting(spec, stream, now, self.began + t.limit_ns));
        self.next_transfer = (number + 1, now + t.every_ns);
        Ok(())
    }

    /// First bytes of a data connection.
    pub fn hello(number: u32, flow: u16, keys: &SessionKeys, since: Nanos) -> Vec<u8> {
        DataHello { session: keys.session_id, test: number, flow, since }.write(keys)
    }

    pub fn due(&self, now: Nanos) -> Nanos {
        let waits =
            matches!(&self.spec, TestSpec::Transfers(t) if self.phase == TestPhase::Running && self.next_transfer.0 < t.count);
        let transfer = if waits && self.idle() { self.next_transfer.1 } else { Nanos::MAX };
        match self.phase {
            TestPhase::Validating => self.next_hello,
            TestPhase::Running => self.io.due(now).min(transfer).min(now + 10 * MS),
            _ => Nanos::MAX,
        }
    }

    fn idle(&self) -> bool {
        matches!(&self.io, TestIo::Flows(flows) if flows.all_ended())
    }

    /// Time without arrivals that ends the test.
    pub fn quiet(&self) -> Nanos {
        let TestSpec::Datagrams { down, up } = &self.spec else { return SECOND };
        down.iter().chain(up).map(|t| t.gap_ns * 4).max().unwrap_or(0).clamp(QUIET_NS, 10 * SECOND)
    }

    /// This end has finished the test.
    pub fn is_over(&self, now: Nanos) -> bool {
        match (&self.io, &self.spec) {
            (TestIo::Trains(trains), _) => trains.is_quiet(now, self.began + self.spec.duration(), self.quiet()),
            (TestIo::Flows(flows), TestSpec::Transfers(Transfers { count, .. })) => {
                self.next_transfer.0 >= *count && flows.all_ended()
            }
            (TestIo::Flows(flows), _) => flows.all_ended(),
        }
    }

    /// Rows from the far end.
    pub fn rows(&mut self, name: TableId, columns: usize, piece: &[u8]) -> Result<(), &'static str> {
        let max = match &self.spec {
            TestSpec::Datagrams { down, up } => down.iter().chain(up).map(|t| t.count as usize * 2).max().unwrap_or(0),
            _ => MAX_SAMPLES,
        };
        let table = self.far.entry(name).or_insert_with(|| IntTable::new(columns.min(MAX_COLUMNS)));
        if table.columns != columns {
            return Err("a table with a changed number of columns");
        }
        table.decode_rows(piece, max)
    }

    /// Connections from the far end; each message precedes the earlier ones.
    pub fn flows(&mut self, mut flows: Vec<FlowOutcome>) -> Result<(), &'static str> {
        if flows.len() + self.far_flows.len() > usize::from(u16::MAX) + 1 {
            return Err("more connections than the test has");
        }
        flows.append(&mut self.far_flows);
        self.far_flows = flows;
        Ok(())
    }

    pub fn done(&mut self, mut outcome: TestOutcome) {
        outcome.flows.append(&mut self.far_flows);
        (self.phase, self.outcome) = (TestPhase::Done, Some(outcome));
    }

    /// The test's record; `overrun`: the datagrams that this end's kernel dropped during it.
    pub fn record(self, overrun: u64) -> TestRecord {
        let cut_short = match &self.io {
            TestIo::Flows(flows) => flows.spent(),
            TestIo::Trains(_) => None,
        };
        let (outcome, near) = (self.io.outcome(), self.io.tables().into_iter().map(|(n, t)| (n, t.clone())).collect());
        let times = match &self.io {
            TestIo::Flows(flows) => flows.flows.iter().map(|f| [Some(f.began), f.connected, f.first, f.last]).collect(),
            TestIo::Trains(_) => Vec::new(),
        };
        let v4 = matches!(self.server.ip().to_canonical(), std::net::IpAddr::V4(_));
        TestRecord {
            spec: self.spec,
            headers: if v4 { IPV4_UDP_HEADERS } else { IPV6_UDP_HEADERS },
            began: self.began,
            near,
            far: self.far,
            flows: outcome.flows,
            times,
            unsent: outcome.unsent,
            overrun,
            cut_short,
            outcome: self.outcome.unwrap_or_default(),
        }
    }
}
