//! A test as the end that asks has it.

use super::super::flow::{Flow, Task};
use super::super::run::{Flows, Run, Trains};
use super::super::sockets::{self, Wishes};
use crate::control::hello::DataHello;
use crate::control::keys::Keys;
use crate::control::message::{FlowOutcome, Name, Outcome};
use crate::control::table::{MOST_COLUMNS, Table};
use crate::spec::{HEADERS, HEADERS_V6, Spec, Transfers, Way};
use crate::{MS, Nanos, SECOND};
use std::collections::BTreeMap;
use std::net::SocketAddr;

/// Silence after which nothing more is expected, at least.
const QUIET_NS: Nanos = 500 * MS;
/// A knock every so often until the far end opens.
pub const KNOCK_NS: Nanos = 100 * MS;
/// Rows that a far end may send of one table of flows.
const MOST_SAMPLES: usize = 4_000_000;

/// What both ends have of a test that is over. Times are each end's own.
#[derive(Debug, Clone)]
pub struct Record {
    pub spec: Spec,
    /// Bytes of IP and UDP.
    pub headers: u32,
    /// When it began here.
    pub began: Nanos,
    /// Logs of datagrams and samples of connections: here, and at the far end.
    pub near: BTreeMap<Name, Table>,
    pub far: BTreeMap<Name, Table>,
    pub flows: Vec<FlowOutcome>,
    /// Of transfers: began, connected, first byte, last byte; here.
    pub times: Vec<[Option<Nanos>; 4]>,
    pub unsent: u64,
    pub outcome: Outcome,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Asked,
    /// Waits until its address is proven.
    Knocking,
    Ready,
    Running,
    Stopped,
    Done,
}

pub struct Test {
    pub number: u32,
    pub spec: Spec,
    pub phase: Phase,
    pub run: Run,
    pub tag: u64,
    pub next_knock: Nanos,
    pub began: Nanos,
    server: SocketAddr,
    next_transfer: (u16, Nanos),
    far: BTreeMap<Name, Table>,
    /// The last of what the far end says of connections, before it is done.
    far_flows: Vec<FlowOutcome>,
    outcome: Option<Outcome>,
}

impl Test {
    pub fn new(number: u32, spec: Spec, keys: &Keys, server: SocketAddr, now: Nanos) -> Test {
        let run = match &spec {
            Spec::Datagrams { down, up } => {
                let mut trains = Trains::new(*up, *down, keys.tag(number, true));
                trains.to = Some(server);
                Run::Trains(trains)
            }
            Spec::Bulk(bulk) => Run::Flows(Flows::of_bulk(bulk, now)),
            Spec::Transfers(_) => Run::Flows(Flows::unsampled()),
        };
        let tag = keys.tag(number, false);
        let far = BTreeMap::new();
        Test {
            number,
            spec,
            phase: Phase::Asked,
            run,
            tag,
            next_knock: now,
            began: now,
            server,
            next_transfer: (0, now),
            far,
            far_flows: Vec::new(),
            outcome: None,
        }
    }

    /// The far end has prepared it.
    pub fn ready(&mut self, port: Option<u16>) {
        if let Some(port) = port {
            self.server.set_port(port);
        }
        let knocks = matches!(self.spec, Spec::Datagrams { down: Some(_), .. });
        self.phase = if knocks { Phase::Knocking } else { Phase::Ready };
    }

    /// Begins. Err: connections could not be begun.
    pub fn go(&mut self, now: Nanos, rate_bps: u64) -> Result<(), String> {
        (self.phase, self.began) = (Phase::Running, now);
        match (&mut self.run, &self.spec) {
            (Run::Trains(trains), _) => trains.start(now),
            (Run::Flows(flows), Spec::Bulk(bulk)) => {
                let wishes = Wishes::of(bulk);
                for number in 0..bulk.down + bulk.up {
                    let way = if number < bulk.down { Way::Down } else { Way::Up };
                    let rate_bps = Some(bulk.rate_each(way, rate_bps));
                    let task = Task { number, sends: way == Way::Up, limit: None, rate_bps, window: bulk.receive_window };
                    let stream = sockets::connect(self.server, &wishes)?;
                    flows.flows.push(Flow::connecting(task, stream, now, now + bulk.duration_ns));
                }
            }
            _ => self.next_transfer = (0, now),
        }
        Ok(())
    }

    /// Begins the next transfer when it is time.
    pub fn begin_transfer(&mut self, now: Nanos, rate_bps: u64) -> Result<(), String> {
        let (Run::Flows(flows), Spec::Transfers(t)) = (&mut self.run, &self.spec) else { return Ok(()) };
        let (number, at) = self.next_transfer;
        if self.phase != Phase::Running || number >= t.count || now < at || !flows.all_ended() {
            return Ok(());
        }
        if now >= self.began + t.limit_ns {
            self.next_transfer.0 = t.count;
            return Ok(());
        }
        let task = Task { number, sends: t.way == Way::Up, limit: Some(t.bytes), rate_bps: Some(rate_bps), window: None };
        let wishes = Wishes { congestion: t.congestion.clone(), ..Wishes::default() };
        let stream = sockets::connect(self.server, &wishes)?;
        flows.flows.push(Flow::connecting(task, stream, now, self.began + t.limit_ns));
        self.next_transfer = (number + 1, now + t.every_ns);
        Ok(())
    }

    /// A connection's first bytes.
    pub fn hello(number: u32, flow: u16, keys: &Keys, since: Nanos) -> Vec<u8> {
        DataHello { session: keys.name, test: number, flow, since }.write(keys)
    }

    pub fn due(&self, now: Nanos) -> Nanos {
        let waits = matches!(&self.spec, Spec::Transfers(t) if self.phase == Phase::Running && self.next_transfer.0 < t.count);
        let transfer = if waits && self.idle() { self.next_transfer.1 } else { Nanos::MAX };
        match self.phase {
            Phase::Knocking => self.next_knock,
            Phase::Running => self.run.due(now).min(transfer).min(now + 10 * MS),
            _ => Nanos::MAX,
        }
    }

    fn idle(&self) -> bool {
        matches!(&self.run, Run::Flows(flows) if flows.all_ended())
    }

    /// How long there must be silence before this is over.
    pub fn quiet(&self) -> Nanos {
        let Spec::Datagrams { down, up } = &self.spec else { return SECOND };
        down.iter().chain(up).map(|t| t.gap_ns * 4).max().unwrap_or(0).clamp(QUIET_NS, 10 * SECOND)
    }

    /// This end has nothing more to do.
    pub fn is_over(&self, now: Nanos) -> bool {
        match (&self.run, &self.spec) {
            (Run::Trains(trains), _) => trains.is_quiet(now, self.began + self.spec.duration(), self.quiet()),
            (Run::Flows(flows), Spec::Transfers(Transfers { count, .. })) => self.next_transfer.0 >= *count && flows.all_ended(),
            (Run::Flows(flows), _) => flows.all_ended(),
        }
    }

    /// Rows that the far end has.
    pub fn rows(&mut self, name: Name, columns: usize, piece: &[u8]) -> Result<(), &'static str> {
        let most = match &self.spec {
            Spec::Datagrams { down, up } => down.iter().chain(up).map(|t| t.count as usize * 2).max().unwrap_or(0),
            _ => MOST_SAMPLES,
        };
        let table = self.far.entry(name).or_insert_with(|| Table::new(columns.min(MOST_COLUMNS)));
        if table.columns != columns {
            return Err("a table that changes its columns");
        }
        table.extend(piece, most)
    }

    /// What the far end says of its last connections: each piece goes before the earlier ones.
    pub fn flows(&mut self, mut flows: Vec<FlowOutcome>) -> Result<(), &'static str> {
        if flows.len() + self.far_flows.len() > usize::from(u16::MAX) + 1 {
            return Err("more connections than a test has");
        }
        flows.append(&mut self.far_flows);
        self.far_flows = flows;
        Ok(())
    }

    pub fn done(&mut self, mut outcome: Outcome) {
        outcome.flows.append(&mut self.far_flows);
        (self.phase, self.outcome) = (Phase::Done, Some(outcome));
    }

    pub fn record(self) -> Record {
        let (outcome, near) = (self.run.outcome(), self.run.tables().into_iter().map(|(n, t)| (n, t.clone())).collect());
        let times = match &self.run {
            Run::Flows(flows) => flows.flows.iter().map(|f| [Some(f.began), f.connected, f.first, f.last]).collect(),
            Run::Trains(_) => Vec::new(),
        };
        let v4 = matches!(self.server.ip().to_canonical(), std::net::IpAddr::V4(_));
        Record {
            spec: self.spec,
            headers: if v4 { HEADERS } else { HEADERS_V6 },
            began: self.began,
            near,
            far: self.far,
            flows: outcome.flows,
            times,
            unsent: outcome.unsent,
            outcome: self.outcome.unwrap_or_default(),
        }
    }
}
