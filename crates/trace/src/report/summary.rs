//! The whole capture in short: how its connections began and ended, and the hosts, ports and flows
//! with most bytes, retransmissions and time lost.

use super::{FlowRows, name, seconds};
use crate::decode::EndpointAddress;
use crate::flow::{Flow, Side};
use ackclock_contract::Document;
use serde::Serialize;
use std::cmp::Reverse;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Default, Serialize, Document)]
pub struct CaptureSummary {
    /// None before the flows are diagnosed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictReport>,
    /// The verdict in a sentence for a customer, and in one for an operator. None before the flows are
    /// diagnosed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub customer: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operator: Option<String>,
    pub connections: ConnectionCounts,
    /// For hosts, ports and flows, by bytes, retransmissions and time lost; at most `MAX_ROWS` rows
    /// each, and only rows that have any.
    pub top: Vec<TopList>,
    /// None before the flows are diagnosed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<FindingCount>>,
}

/// The party that most of the transfers' time, or of the connections, was lost to.
#[derive(Debug, Clone, PartialEq, Serialize, Document)]
pub struct VerdictReport {
    pub verdict: &'static str,
    pub share: Option<f64>,
    /// Number and direction of the flow with the largest part.
    pub flow: Option<usize>,
    #[document(names("a2b", "b2a"))]
    pub direction: Option<&'static str>,
    pub evidence: String,
}

/// Number of flows with a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Document)]
pub struct FindingCount {
    pub finding: &'static str,
    pub flows: u64,
}

/// Connections by their handshake, and those that ended with a reset.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Document)]
pub struct ConnectionCounts {
    /// The handshake was captured whole.
    pub established: u64,
    /// The SYN was answered by a reset.
    pub refused: u64,
    /// Nothing answered the SYN.
    pub unanswered: u64,
    /// The SYN was answered, and the handshake is not whole.
    pub half_open: u64,
    /// The capture has no SYN of the connection.
    pub midstream: u64,
    /// Of all but the refused ones: ended with a reset.
    pub reset: u64,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct TopList {
    /// `host`, `port` (the server's) or `flow`.
    pub of: &'static str,
    /// The quantity by which the rows are ordered.
    pub by: &'static str,
    pub rows: Vec<TopRow>,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct TopRow {
    /// An address, a port, or client and server of a flow.
    pub name: String,
    /// The flow's number.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<usize>,
    pub flows: u64,
    /// IP bytes, both directions.
    pub bytes: u64,
    pub retransmitted_segments: u64,
    /// Time in loss recovery of both directions, and of unanswered SYNs.
    pub time_lost_s: f64,
}

const MAX_ROWS: usize = 10;
const QUANTITIES: [&str; 3] = ["bytes", "retransmitted_segments", "time_lost_s"];

/// What is summed over flows.
#[derive(Debug, Clone, Copy, Default)]
struct FlowTotals {
    flows: u64,
    bytes: u64,
    retransmitted: u64,
    lost_ns: i64,
}

impl FlowTotals {
    fn add(&mut self, other: FlowTotals) {
        self.flows += other.flows;
        self.bytes += other.bytes;
        self.retransmitted += other.retransmitted;
        self.lost_ns = self.lost_ns.saturating_add(other.lost_ns);
    }

    /// The quantity with this index in [`QUANTITIES`].
    fn quantity(&self, index: usize) -> u64 {
        [self.bytes, self.retransmitted, self.lost_ns.max(0) as u64][index]
    }

    fn row(&self, name: String, flow: Option<usize>) -> TopRow {
        TopRow {
            name,
            flow,
            flows: self.flows,
            bytes: self.bytes,
            retransmitted_segments: self.retransmitted,
            time_lost_s: seconds(self.lost_ns),
        }
    }
}

/// How the connection began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Established,
    Refused,
    Unanswered,
    HalfOpen,
    Midstream,
}

/// Sums over flows, added one by one.
#[derive(Debug, Default)]
pub(super) struct SummaryTotals {
    connections: ConnectionCounts,
    hosts: BTreeMap<u128, FlowTotals>,
    ports: BTreeMap<u16, FlowTotals>,
    /// The flows with most of each of [`QUANTITIES`], and their numbers.
    flows: [Vec<(FlowTotals, usize)>; 3],
}

impl SummaryTotals {
    pub fn add(&mut self, number: usize, flow: &Flow) {
        let (opening, totals) = (opening(flow), totals(flow));
        self.connections.add(opening, flow.reset().is_some());
        let [client, server] = flow.ends();
        self.hosts.entry(client.ip).or_default().add(totals);
        if server.ip != client.ip {
            self.hosts.entry(server.ip).or_default().add(totals);
        }
        self.ports.entry(server.port).or_default().add(totals);
        for (quantity, largest) in self.flows.iter_mut().enumerate() {
            if totals.quantity(quantity) > 0 {
                largest.push((totals, number));
                if largest.len() > 8 * MAX_ROWS {
                    keep_largest(largest, quantity);
                }
            }
        }
    }

    /// The summary of the flows that were added, which are of `rows`.
    pub fn summary(self, rows: &FlowRows<'_>) -> CaptureSummary {
        let mut summary = CaptureSummary { connections: self.connections, ..CaptureSummary::default() };
        let address = |ip: u128| name(EndpointAddress { ip, port: 0 }).trim_end_matches(":0").trim_matches(['[', ']']).to_owned();
        let hosts: Vec<(FlowTotals, u128)> = self.hosts.into_iter().map(|(ip, totals)| (totals, ip)).collect();
        let ports: Vec<(FlowTotals, u16)> = self.ports.into_iter().map(|(port, totals)| (totals, port)).collect();
        for (quantity, by) in QUANTITIES.into_iter().enumerate() {
            summary.list("host", by, top(&hosts, quantity).map(|(totals, ip)| totals.row(address(ip), None)));
            summary.list("port", by, top(&ports, quantity).map(|(totals, port)| totals.row(port.to_string(), None)));
            let row = |(totals, number): (FlowTotals, usize)| {
                let [client, server] = rows.ends(number).map(name);
                totals.row(format!("{client} > {server}"), Some(number + 1))
            };
            summary.list("flow", by, top(&self.flows[quantity], quantity).map(row));
        }
        summary
    }
}

impl CaptureSummary {
    fn list(&mut self, of: &'static str, by: &'static str, rows: impl Iterator<Item = TopRow>) {
        let rows: Vec<TopRow> = rows.collect();
        if !rows.is_empty() {
            self.top.push(TopList { of, by, rows });
        }
    }

    /// Numbers from 1 of the flows with most time lost, then those with most retransmissions and
    /// with most bytes; each once.
    pub fn worst_flows(&self) -> Vec<usize> {
        let mut numbers = Vec::new();
        for by in ["time_lost_s", "retransmitted_segments", "bytes"] {
            let lists = self.top.iter().filter(|list| list.of == "flow" && list.by == by);
            for number in lists.flat_map(|list| &list.rows).filter_map(|row| row.flow) {
                if !numbers.contains(&number) {
                    numbers.push(number);
                }
            }
        }
        numbers
    }
}

impl ConnectionCounts {
    fn add(&mut self, opening: Opening, reset: bool) {
        let count = match opening {
            Opening::Established => &mut self.established,
            Opening::Refused => &mut self.refused,
            Opening::Unanswered => &mut self.unanswered,
            Opening::HalfOpen => &mut self.half_open,
            Opening::Midstream => &mut self.midstream,
        };
        *count += 1;
        self.reset += u64::from(reset && opening != Opening::Refused);
    }
}

fn opening(flow: &Flow) -> Opening {
    let h = flow.handshake();
    let [syn, answer, done] = [h.syn_at(), h.syn_ack_at(), h.established_at()].map(|at| at.is_some());
    let server = flow.direction(flow.client().other()).counts();
    match (syn, answer, done) {
        (true, true, true) => Opening::Established,
        (true, true, false) => Opening::HalfOpen,
        (true, false, _) if server.resets > 0 && u64::from(server.packets) == u64::from(server.resets) => Opening::Refused,
        // The client acknowledges what only the other direction of the path shows.
        (true, false, _) if server.packets == 0 && !flow.direction(flow.client().other()).has_acks() => Opening::Unanswered,
        (true, false, _) => Opening::HalfOpen,
        (false, ..) => Opening::Midstream,
    }
}

fn totals(flow: &Flow) -> FlowTotals {
    let directions = [Side::Low, Side::High].map(|side| flow.direction(side));
    let recovery: i64 = directions.iter().filter_map(|direction| direction.stats()).map(|stats| stats.times().recovery).sum();
    let waited = if opening(flow) == Opening::Unanswered { flow.last_at() - flow.first_at() } else { 0 };
    FlowTotals {
        flows: 1,
        bytes: directions.iter().map(|direction| direction.counts().ip_bytes).sum(),
        retransmitted: directions.iter().map(|direction| u64::from(direction.retransmitted())).sum(),
        lost_ns: recovery.saturating_add(waited),
    }
}

fn keep_largest<T>(all: &mut Vec<(FlowTotals, T)>, quantity: usize) {
    all.sort_by_key(|one| Reverse(one.0.quantity(quantity)));
    all.truncate(MAX_ROWS);
}

/// The rows with most of a quantity that have any; equal ones in their order.
fn top<T: Copy>(all: &[(FlowTotals, T)], quantity: usize) -> impl Iterator<Item = (FlowTotals, T)> {
    let mut some: Vec<(FlowTotals, T)> = all.iter().filter(|one| one.0.quantity(quantity) > 0).copied().collect();
    keep_largest(&mut some, quantity);
    some.into_iter()
}
