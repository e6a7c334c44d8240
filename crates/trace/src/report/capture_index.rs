//! What a diagnosis needs of all flows: the rates of each host, flows by their ends,
//! the largest flows, and which flows show anything that a finding could be about.

use super::listeners::{self, ListenerFacts, Listeners, OpenedConnection};
use super::summary::SummaryTotals;
use super::{CaptureSummary, FlowCorrelation, FlowRows, VantagePoint, VantageReport, limits, name};
use crate::decode::EndpointAddress;
use crate::flow::{Flow, SegmentKind, Side};
use crate::join::Joined;
use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

/// Evidence below which a flow has no finding: the thresholds of the rules (crates/diagnose).
#[derive(Debug, Clone, Copy)]
pub struct FindingThresholds {
    /// Data of a direction, in bytes, from which its limits and losses are diagnosed.
    pub bytes: u64,
    /// Difference of the TTLs of a SYN and of data above which a middlebox answers.
    pub ttl_difference: u8,
    /// Sum of an end's think times, in seconds, from which they are diagnosed.
    pub think_s: f64,
    /// Retransmitted segments of a direction that a limit of the path may explain.
    pub retransmitted: u32,
    /// Packets from which a flow of one of two captures is expected in the other.
    pub packets: u64,
}

#[derive(Debug, Default)]
pub struct CaptureIndex {
    hosts: HashMap<u128, HostRate>,
    /// Numbers of the flows that a finding may be about, from 0.
    to_diagnose: Vec<u32>,
    /// IP bytes and number of each flow.
    sizes: Vec<(u64, u32)>,
    by_ends: HashMap<Ends, Vec<u32>>,
    listeners: Listeners,
    /// Flows that are translations of another one, and that one.
    translations: BTreeMap<u32, u32>,
    summary: CaptureSummary,
    /// The directions with a standing queue that were captured at their sender, by sender and receiver.
    queued: HashMap<(u128, u128), Vec<QueuedDirection>>,
}

/// A direction of data, captured at its sender, with a queue on its path. The other flows between the
/// same hosts share the path.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct QueuedDirection {
    /// Number of the flow, from 1.
    pub flow: usize,
    /// First and last packet of the flow, nanoseconds.
    pub span: (i64, i64),
    /// Share of its time with a queue.
    pub share: f64,
    /// The p95 of the RTT above its minimum, and the minimum.
    pub queue_ms: f64,
    pub min_rtt_ms: f64,
    pub goodput_bps: f64,
}

/// Client and server.
type Ends = [EndpointAddress; 2];

/// The directions of data that a host sends.
#[derive(Debug, Clone, Copy, Default)]
struct HostRate {
    bps: f64,
    directions: u32,
}

impl CaptureIndex {
    /// `joined` is the comparison with a second capture, of which `rows` are the first's.
    pub fn of(
        rows: &FlowRows<'_>,
        thresholds: FindingThresholds,
        concurrent: &[FlowCorrelation],
        joined: Option<&Joined>,
    ) -> CaptureIndex {
        let mut index = CaptureIndex::default();
        let mut correlated: Vec<usize> = concurrent.iter().map(|pair| pair.flows[0] - 1).collect();
        correlated.sort_unstable();
        let (mut opened, mut connections) = (Vec::new(), Vec::new());
        let mut totals = SummaryTotals::default();
        // An idle flow is decoded for each reading: all is done by one.
        for number in 0..rows.len() {
            let flow = rows.flow(number);
            for (host, bps) in sent(&flow) {
                let rate = index.hosts.entry(host).or_default();
                *rate = HostRate { bps: rate.bps + bps, directions: rate.directions + 1 };
            }
            let sides = [flow.client(), flow.client().other()].map(|side| flow.direction(side).counts());
            let packets: u64 = sides.iter().map(|counts| u64::from(counts.packets)).sum();
            let bytes: u64 = sides.iter().map(|counts| counts.ip_bytes).sum();
            // Findings about two captures compare them, and need no more than a common packet, or
            // its absence.
            let compared = joined.is_some_and(|joined| packets >= thresholds.packets || joined.partner(number).is_some());
            if compared || correlated.binary_search(&number).is_ok() || shows_evidence(&flow, thresholds) {
                index.to_diagnose.push(number as u32);
            }
            for (hosts, queued) in queued_directions(number, &flow, thresholds) {
                index.queued.entry(hosts).or_default().push(queued);
            }
            index.sizes.push((bytes, number as u32));
            index.listeners.note(&flow);
            connections.push(OpenedConnection::of(&flow));
            totals.add(number, &flow);
            opened.extend(listeners::initial_numbers(&flow).map(|numbers| (numbers, number as u32)));
        }
        index.listeners.complete(&connections);
        index.leave_out_translations(listeners::translations(opened, rows), rows);
        if !index.translations.is_empty() {
            totals = SummaryTotals::default();
            for number in (0..rows.len()).filter(|&number| index.translation_of(number).is_none()) {
                totals.add(number, &rows.flow(number));
            }
        }
        index.summary = totals.summary(rows);
        index
    }

    /// The whole capture in short, without translations of other flows.
    pub fn summary(&self) -> &CaptureSummary {
        &self.summary
    }

    /// A translation has a finding, and its rates are those of the flow that it translates.
    fn leave_out_translations(&mut self, translations: BTreeMap<u32, u32>, rows: &FlowRows<'_>) {
        for &number in translations.keys() {
            for (host, bps) in sent(&rows.flow(number as usize)) {
                let rate = self.hosts.entry(host).or_default();
                *rate = HostRate { bps: rate.bps - bps, directions: rate.directions - 1 };
            }
        }
        self.to_diagnose.extend(translations.keys());
        self.to_diagnose.sort_unstable();
        self.to_diagnose.dedup();
        self.translations = translations;
    }

    /// The flow, from 0, of which the flow with this number is a translation: the capture has both sides of a NAT.
    pub fn translation_of(&self, number: usize) -> Option<usize> {
        self.translations.get(&(number as u32)).map(|&first| first as usize)
    }

    /// What other connections to the flow's server show about a SYN without an answer.
    pub fn listener(&self, flow: &Flow) -> Option<ListenerFacts> {
        self.listeners.facts(flow)
    }

    /// Adds an index of flows by their ends.
    pub fn with_ends(mut self, rows: &FlowRows<'_>) -> CaptureIndex {
        for number in 0..rows.len() {
            self.by_ends.entry(rows.ends(number)).or_default().push(number as u32);
        }
        self
    }

    /// Numbers of the flows that a finding may be about, from 0 and ascending: the others have none.
    pub fn to_diagnose(&self) -> &[u32] {
        &self.to_diagnose
    }

    /// Numbers of the flows with this client and this server.
    pub fn with_ends_of(&self, flow: &Flow) -> &[u32] {
        self.by_ends.get(&flow.ends()).map_or(&[], Vec::as_slice)
    }

    /// Rate at which the sender of each direction, the client first, sends data in its other flows;
    /// each over its own duration, bit/s.
    pub fn rates_of_others(&self, flow: &Flow) -> [f64; 2] {
        [flow.client(), flow.client().other()].map(|side| {
            let host = flow.endpoint(side).ip;
            let own: Vec<f64> = sent(flow).filter(|(sender, _)| *sender == host).map(|(_, bps)| bps).collect();
            let all = self.hosts.get(&host).copied().unwrap_or_default();
            // The difference of equal sums need not be 0 in floating point.
            if all.directions as usize > own.len() { all.bps - own.iter().sum::<f64>() } else { 0.0 }
        })
    }

    /// For each direction of the flow with this number, the client's first: the direction with the longest queue that its
    /// receiver sends to its sender in another flow, for at least half of this flow's time.
    pub fn queued_against(&self, number: usize, flow: &Flow) -> [Option<QueuedDirection>; 2] {
        let (start, end) = (flow.first_at(), flow.last_at());
        [flow.client(), flow.client().other()].map(|side| {
            let back = self.queued.get(&(flow.endpoint(side.other()).ip, flow.endpoint(side).ip))?;
            let is_against = |queued: &&QueuedDirection| {
                let common = queued.span.1.min(end).saturating_sub(queued.span.0.max(start));
                2 * common >= end - start && queued.flow != number + 1
            };
            back.iter().filter(is_against).max_by(|a, b| a.queue_ms.total_cmp(&b.queue_ms)).copied()
        })
    }

    /// Numbers of the `count` flows with most bytes, ascending.
    pub fn largest(&self, count: usize) -> Vec<u32> {
        let mut sizes = self.sizes.clone();
        sizes.sort_unstable_by_key(|&(bytes, number)| (Reverse(bytes), number));
        let mut numbers: Vec<u32> = sizes.iter().take(count).map(|&(_, number)| number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Numbers of the flows with an end of this name, `ADDRESS:PORT`.
pub fn with_end(rows: &FlowRows<'_>, wanted: &str) -> Vec<u32> {
    let has_end = |number: &usize| rows.ends(*number).into_iter().any(|end| name(end) == wanted);
    (0..rows.len()).filter(has_end).map(|number| number as u32).collect()
}

/// The sender's address and the throughput of each direction with data.
fn sent(flow: &Flow) -> impl Iterator<Item = (u128, f64)> + '_ {
    [flow.client(), flow.client().other()].into_iter().filter_map(|side| {
        let bps = super::direction::throughput_bps(flow, side).filter(|bps| *bps > 0.0)?;
        Some((flow.endpoint(side).ip, bps))
    })
}

/// Share of the time of a standing queue that matters to other flows.
const QUEUED_SHARE: f64 = 0.2;

/// With the addresses of sender and receiver.
fn queued_directions(
    number: usize,
    flow: &Flow,
    thresholds: FindingThresholds,
) -> impl Iterator<Item = ((u128, u128), QueuedDirection)> {
    let has_data = |side: Side| flow.direction(side).stats().is_some_and(|stats| stats.bytes().unique >= thresholds.bytes);
    let of_side = |side: Side| {
        let place = if side == flow.client() { VantagePoint::Client } else { VantagePoint::Server };
        if !has_data(side) || VantageReport::of(flow).place != place {
            return None;
        }
        let share = limits::of(flow, side, place)?.path_rate.filter(|share| *share >= QUEUED_SHARE)?;
        let rtt = flow.direction(side).rtt().from_acks().summary_ms();
        let (min, high) = (rtt.min?, rtt.p95?);
        let hosts = (flow.endpoint(side).ip, flow.endpoint(side.other()).ip);
        let queued = QueuedDirection {
            flow: number + 1,
            span: (flow.first_at(), flow.last_at()),
            share,
            queue_ms: high - min,
            min_rtt_ms: min,
            goodput_bps: super::direction::throughput_bps(flow, side).unwrap_or(0.0),
        };
        Some((hosts, queued))
    };
    [flow.client(), flow.client().other()].map(of_side).into_iter().flatten()
}

/// True if the flow alone shows what a finding could be about.
fn shows_evidence(flow: &Flow, thresholds: FindingThresholds) -> bool {
    let has_evidence = |side: Side| {
        let direction = flow.direction(side);
        let (stats, syn) = (direction.stats(), direction.syn());
        let has_data = stats.is_some_and(|stats| stats.bytes().unique >= thresholds.bytes);
        let ttl_changes = syn.is_captured
            && stats.is_some_and(|stats| stats.has_data())
            && syn.ttl.abs_diff(direction.data_ttl()) > thresholds.ttl_difference;
        let repeats_syn = direction.ledger().is_some_and(|ledger| ledger.counts().count(SegmentKind::Handshake) > 0);
        let thinks = stats.is_some_and(|stats| super::seconds(stats.think().total) >= thresholds.think_s);
        let is_closed = direction.window().closed().is_some();
        let held = stats.is_some_and(|stats| stats.late_acks().held() > 0);
        let misses = direction.ledger().is_some_and(|ledger| ledger.rare().missed_bytes > 0);
        let is_silent = direction.unanswered(flow.last_at()).is_some() || direction.unanswered_probes().is_some();
        has_data
            || direction.retransmitted() >= thresholds.retransmitted
            || ttl_changes
            || repeats_syn
            || thinks
            || is_closed
            || held
            || misses
            || direction.syn().is_option_erased
            || is_silent
    };
    flow.reset().is_some() || has_evidence(Side::Low) || has_evidence(Side::High)
}
