//! The summary of one run: the JSON that `docs/inside/plan.md` specifies.

use crate::build::{BuiltNetwork, DirectedHop};
use crate::jobs::Jobs;
use crate::metrics::{AppScore, FlowMetrics, FlowPath, HopMetrics, HopShare, PathTimes, QuicCounts};
use crate::plan::{Direction, Flow, Hop, Plan, Proxy, WorkloadConfig};
use ackclock_contract::Document;
use ackclock_core::Span;
use ackclock_core::app::ProbeStats;
use ackclock_core::element::DropReason;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::score::responsiveness::LoadedRoundTrips;
use ackclock_core::statistics::{Histogram, SummaryStats};
use ackclock_core::tcp::SendLimit;
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, Serialize, Document)]
pub struct Summary {
    pub seed: u64,
    pub flows: Vec<FlowRow>,
    pub hops: Vec<HopRow>,
    /// Jain's fairness index over the TCP flows' goodput; none without any.
    pub jain: Option<f64>,
    /// Responsiveness: round trips of games beside bulk flows, and of these; absent without both, and with
    /// split connections.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub responsiveness: Option<LoadedRoundTrips>,
    /// Absent without jobs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jobs: Option<Jobs>,
    /// Absent without split connections.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub proxies: Vec<ProxyRow>,
    pub engine: Engine,
}

/// A proxy between two flows, and its maximum bytes of buffered data in each direction.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ProxyRow {
    pub proxy: String,
    pub near: String,
    pub far: String,
    pub held_bytes_max: BTreeMap<&'static str, u64>,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct Engine {
    pub elements_called: u64,
    /// Payload delivered in order, in segments, and datagrams.
    pub data_packets: u64,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct FlowRow {
    pub flow: String,
    pub variant: String,
    #[document(names("down", "up"))]
    pub direction: &'static str,
    pub client: u32,
    /// The flow to which a proxy forwards this flow's data; the goodput of the connection is that
    /// of the last part. Absent for other flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feeds: Option<String>,
    pub goodput_bps: Option<f64>,
    pub throughput_bps: Option<f64>,
    pub rtt_ms: SummaryStats,
    /// From sender to receiver; absent except for datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_way_delay_ms: Option<SummaryStats>,
    /// Absent except for flows over QUIC.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quic: Option<QuicRow>,
    /// Absent except for datagrams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<DatagramRow>,
    /// Absent except for calls, games, videos, conferences, and the first connection of a page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<AppRow>,
    /// The flow whose page this is a further connection of. Absent for other flows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part_of: Option<String>,
    /// Absent except for probes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<ProbeRow>,
    pub retransmitted_segments: u64,
    /// Share of the segments sent.
    pub retransmission_rate: Option<f64>,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub window_cuts: u64,
    /// Window cuts on ECN feedback.
    pub ecn_cuts: u64,
    /// Segments that arrived with CE.
    pub marked_segments: u64,
    /// Share of the flow's time.
    pub idle_share: Option<f64>,
    pub limited_share: Option<BTreeMap<&'static str, f64>>,
    /// What the hops of the path did in the flow's time; null for UDP.
    pub path: Option<PathRow>,
    /// The window that the receiver advertised last; null for UDP.
    pub advertised_window_bytes: Option<u64>,
    /// The mean receive window over the time in which it limited the sender; null where it never did.
    pub limiting_window_bytes: Option<f64>,
    /// The mean smoothed RTT of that time.
    pub limiting_window_rtt_ms: Option<f64>,
    pub segments_sent: u64,
    /// From the flow's start; none for a flow without a size, or incomplete.
    pub completed_s: Option<f64>,
    /// None for a connection that was never opened.
    pub host_start_s: Option<f64>,
    /// The time over which the rates are averages: from the flow's start, or the window's.
    pub from_s: f64,
    pub end_s: f64,
}

/// What the hops of a flow's path did in the flow's time.
#[derive(Debug, Clone, Serialize, Document)]
pub struct PathRow {
    /// The hop in the direction of the data that had no free capacity for an RTT, for the largest
    /// share of the time.
    pub saturated: Option<HopShareRow>,
    /// The same in the direction of the ACKs.
    pub ack_saturated: Option<HopShareRow>,
    /// While `saturated` had free capacity: the hop with the longest queue of ACKs, and the part of
    /// the RTT that the flow's ACKs waited in all queues.
    pub ack_wait: Option<HopShareRow>,
    /// The mean of that wait.
    pub ack_wait_ms: f64,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct HopShareRow {
    pub hop: String,
    #[document(names("down", "up"))]
    pub direction: &'static str,
    pub share: f64,
}

/// What a QUIC stack did. Its `retransmitted_segments` are packets that the sender declared lost.
#[derive(Debug, Clone, Serialize, Document)]
pub struct QuicRow {
    /// The stack and its version.
    #[document(names("noq 1.4"))]
    pub stack: &'static str,
    /// Datagrams that the receiver of the data sent, ACKs for the most part, and their bytes with IP and UDP headers.
    pub back_packets: u64,
    pub back_bytes: u64,
    /// Reductions of the window for packets that arrived after all.
    pub spurious_cuts: u64,
    /// When the connection ended by an error, and which; null for one that did not.
    pub closed_s: Option<f64>,
    pub closed_by: Option<String>,
}

/// The losses of a flow of datagrams.
#[derive(Debug, Clone, Serialize, Document)]
pub struct DatagramRow {
    /// Datagrams that did not arrive although a later one did, less the duplicates (RFC 3550, A.3).
    pub lost: u64,
    /// The p95 of the one-way delay of those and of the received ones; a lost one counts as infinite
    /// (RFC 7679, section 5.1). None where it is infinite.
    pub delay_p95_ms: Option<f64>,
}

/// The application of a flow as people feel it.
#[derive(Debug, Clone, Serialize, Document)]
pub struct AppRow {
    #[document(names("call", "game", "page", "video", "conference"))]
    pub kind: &'static str,
    /// Formulas and limits: docs/models/scores.md.
    pub score: AppScore,
    /// How users take a call (ITU-T G.109); null where no grade is published.
    pub grade: Option<&'static str>,
}

/// The probes of one size, over the whole run.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ProbeRow {
    pub ip_bytes: u16,
    pub sent: u64,
    pub lost: u64,
    pub rtt_ms: SummaryStats,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct HopRow {
    pub hop: String,
    #[document(names("down", "up"))]
    pub direction: &'static str,
    pub utilization: Option<f64>,
    pub time: TimeRow,
    /// Share of the time in which no capacity was left: 1 - `time.idle`, less the time in which a
    /// packet waits for its turn although there is free capacity; on a medium that both directions
    /// share, the time in which packets of either are in it.
    pub full_share: f64,
    pub queue_delay_ms: SummaryStats,
    pub queue_packets_mean: f64,
    pub drops: u64,
    pub drops_by_cause: BTreeMap<&'static str, u64>,
    pub marks: u64,
    pub delivered: u64,
    /// Control packets of the medium; 0 on other hops.
    pub control_packets: u64,
    /// Absent without a recorded rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recording: Option<RecordingRow>,
}

/// The part of a recorded rate that the run replayed: from `start_s` on, repeated after `period_s`.
#[derive(Debug, Clone, Copy, Serialize, Document)]
pub struct RecordingRow {
    pub start_s: f64,
    pub period_s: f64,
}

impl RecordingRow {
    /// Of one direction of a hop; none without a recorded rate.
    pub fn of(plan: &Plan, hop: usize, direction: Direction) -> Option<RecordingRow> {
        let rate = plan.hops[hop].direction(direction)?.rate.as_ref()?;
        let recording = rate.recording_start(plan.seed)?;
        Some(RecordingRow { start_s: recording.start.as_secs(), period_s: recording.period.as_secs() })
    }
}

/// Shares of the time of one direction of a hop, which add up to 1.
#[derive(Debug, Clone, Copy, Serialize, Document)]
pub struct TimeRow {
    pub sending: f64,
    pub overhead: f64,
    pub blocked: f64,
    pub idle: f64,
}

/// What was measured in a run.
pub struct RunMetrics<'a> {
    /// In the plan's order.
    pub flows: &'a [FlowMetrics],
    /// By directed hop.
    pub hops: &'a [HopMetrics],
    pub path_times: &'a PathTimes,
}

/// The summary of a run from its metrics.
pub fn summarize(plan: &Plan, world: &BuiltNetwork, metrics: &RunMetrics<'_>) -> Summary {
    let RunMetrics { flows, hops, path_times } = *metrics;
    let last_parts = flows.iter().enumerate().filter(|&(number, f)| f.tcp.is_some() && plan.feeds(number).is_none());
    let goodputs = last_parts.filter_map(|(_, f)| f.rate(f.counts.payload));
    Summary {
        seed: plan.seed,
        jain: jain(goodputs),
        responsiveness: responsiveness(plan, world, flows),
        jobs: Jobs::of(plan, world, flows),
        flows: plan
            .flows
            .iter()
            .zip(flows)
            .enumerate()
            .map(|(i, (flow, f))| {
                let start = world.flows[i].started(&world.network).map(|t| t.as_secs());
                let own_control = flow.quic.as_ref().and_then(|quic| quic.control.name());
                let of_tcp = || plan.sender_tcp(i).map_or("udp", |tcp| tcp.variant_name());
                let variant = own_control.unwrap_or_else(of_tcp).to_owned();
                FlowRow {
                    feeds: plan.feeds(i).map(|next| plan.flows[next].name.clone()),
                    part_of: plan.first_connection(i).map(|first| plan.flows[first].name.clone()),
                    variant,
                    path: f.tcp.as_ref().map(|_| path_row(plan, world, path_times, i, f)),
                    ..flow_row(flow, f, start)
                }
            })
            .collect(),
        hops: world
            .directed_hops
            .iter()
            .zip(hops)
            .map(|(directed_hop, h)| {
                let DirectedHop { hop, direction, .. } = *directed_hop;
                HopRow { recording: RecordingRow::of(plan, hop, direction), ..hop_row(&plan.hops[hop].name, direction.name(), h) }
            })
            .collect(),
        proxies: plan.proxies.iter().map(|proxy| proxy_row(plan, world, proxy)).collect(),
        engine: Engine {
            elements_called: world.network.calls(),
            data_packets: plan.flows.iter().zip(flows).map(|(flow, f)| f.counts.payload.div_ceil(payload_of(flow))).sum(),
        },
    }
}

/// What bulk flows do to the round trips of games. Without load an RTT is the minimum of the run.
fn responsiveness(plan: &Plan, world: &BuiltNetwork, flows: &[FlowMetrics]) -> Option<LoadedRoundTrips> {
    if !plan.proxies.is_empty() {
        return None;
    }
    let (mut beside, mut on_load, mut idle) = (Histogram::default(), Histogram::default(), None);
    for ((flow, metrics), ends) in plan.flows.iter().zip(flows).zip(&world.flows) {
        if let (WorkloadConfig::Bulk { .. }, Some(tcp)) = (flow.workload, &metrics.tcp) {
            on_load.merge(&tcp.rtt);
        }
        if let AnyEndpoint::GameClient(game) = world.network.endpoint(ends.client) {
            beside.merge(game.trips().rtt());
            idle = [idle, game.min_rtt()].into_iter().flatten().min();
        }
    }
    LoadedRoundTrips::of(&beside, &on_load, idle?)
}

/// What the path of flow `number` did in its time.
fn path_row(plan: &Plan, world: &BuiltNetwork, path_times: &PathTimes, number: usize, f: &FlowMetrics) -> PathRow {
    let flow = &plan.flows[number];
    let rtt = f.tcp.as_ref().map(|tcp| &tcp.rtt);
    let path = FlowPath {
        flow: number,
        client: flow.client,
        direction: flow.direction,
        hops: &flow.hops,
        span: (f.from, f.to),
        rtt: rtt.and_then(Histogram::mean).unwrap_or(0.0),
        propagation: flow.hops.iter().map(|&hop| propagation(&plan.hops[hop])).sum(),
    };
    let limits = path_times.limits(&world.directed_hops, &path);
    let row = |HopShare { hop, share }| {
        let DirectedHop { hop, direction, .. } = &world.directed_hops[hop];
        HopShareRow { hop: plan.hops[*hop].name.clone(), direction: direction.name(), share }
    };
    PathRow {
        saturated: limits.saturated.map(row),
        ack_saturated: limits.ack_saturated.map(row),
        ack_wait: limits.ack_wait.map(row),
        ack_wait_ms: limits.ack_wait_ms,
    }
}

/// Delay of a hop without queues, in both directions, in seconds.
fn propagation(hop: &Hop) -> f64 {
    [&hop.down, &hop.up].into_iter().flatten().map(|side| side.mean_delay().as_secs()).sum()
}

fn proxy_row(plan: &Plan, world: &BuiltNetwork, proxy: &Proxy) -> ProxyRow {
    let [down, up] = world.network.max_proxied(world.flows[proxy.near].client).unwrap_or_default();
    ProxyRow {
        proxy: proxy.name.clone(),
        near: plan.flows[proxy.near].name.clone(),
        far: plan.flows[proxy.far].name.clone(),
        held_bytes_max: BTreeMap::from([("down", down), ("up", up)]),
    }
}

fn payload_of(flow: &Flow) -> u64 {
    use crate::plan::{UDP_HEADER, WorkloadConfig};
    use ackclock_core::app::MAX_MEDIA_PAYLOAD;
    match (flow.tcp_at(flow.direction), flow.workload) {
        (Some(tcp), _) => u64::from(tcp.segment),
        (
            None,
            WorkloadConfig::Cbr { packet, .. }
            | WorkloadConfig::Onoff { packet, .. }
            | WorkloadConfig::Call { packet, .. }
            | WorkloadConfig::Game { packet, .. },
        ) => u64::from(packet - UDP_HEADER),
        (None, WorkloadConfig::Conference { .. }) => u64::from(MAX_MEDIA_PAYLOAD),
        (None, _) => 1,
    }
}

/// Jain's fairness index (Jain, Chiu and Hawe 1984): 1 for equal shares, 1/n for one flow with all.
fn jain(shares: impl Iterator<Item = f64>) -> Option<f64> {
    let (n, sum, squares) = shares.fold((0.0, 0.0, 0.0), |(n, s, q), x| (n + 1.0, s + x, q + x * x));
    (squares > 0.0).then(|| sum * sum / (n * squares))
}

fn flow_row(flow: &Flow, f: &FlowMetrics, start: Option<f64>) -> FlowRow {
    let span = f.span().as_secs();
    let tcp = f.tcp.clone().unwrap_or_default();
    FlowRow {
        flow: flow.name.clone(),
        variant: String::new(),
        direction: flow.direction.name(),
        client: flow.client,
        feeds: None,
        goodput_bps: f.rate(f.counts.payload),
        throughput_bps: f.rate(f.counts.ip_bytes),
        rtt_ms: tcp.rtt.summary_ms(),
        one_way_delay_ms: f.delay.as_ref().map(|(delay, _)| delay.summary_ms()),
        quic: flow.quic.as_ref().map(|_| quic_row(f)),
        datagrams: f.delay.as_ref().map(datagram_row),
        app: f.app.map(|score| AppRow { kind: score.kind(), score, grade: score.grade() }),
        part_of: None,
        probes: f.probes.iter().map(probe_row).collect(),
        retransmitted_segments: f.counts.retransmitted,
        retransmission_rate: share(f.counts.retransmitted as f64, f.counts.segments as f64),
        timeouts: f.counts.timeouts,
        fast_retransmits: f.counts.fast_retransmits,
        window_cuts: f.counts.window_cuts,
        ecn_cuts: f.counts.ecn_cuts,
        marked_segments: f.counts.marked,
        idle_share: f
            .tcp
            .as_ref()
            .filter(|_| flow.quic.is_none())
            .and_then(|tcp| share(tcp.idle.as_secs(), span))
            .map(|s| s.min(1.0)),
        limited_share: f.tcp.as_ref().and_then(|tcp| limits(&tcp.limited)),
        path: None,
        advertised_window_bytes: match &flow.quic {
            Some(quic) => Some(quic.receive_window),
            None => f.tcp.as_ref().map(|tcp| tcp.advertised_window),
        },
        limiting_window_bytes: tcp.limiting_window.mean_bytes().map(|bytes| bytes as f64),
        limiting_window_rtt_ms: tcp.limiting_window.mean_rtt().map(Span::as_millis),
        segments_sent: f.counts.segments,
        completed_s: f.completed.zip(start).map(|(t, start)| t.as_secs() - start),
        host_start_s: start,
        from_s: f.from.as_secs(),
        end_s: f.to.as_secs(),
    }
}

fn quic_row(f: &FlowMetrics) -> QuicRow {
    let QuicCounts { back_packets, back_bytes, spurious_cuts } = f.counts.quic;
    let (closed_s, closed_by) = f.closed.clone().map(|(at, error)| (at.as_secs(), error)).unzip();
    QuicRow { stack: "noq 1.4", back_packets, back_bytes, spurious_cuts, closed_s, closed_by }
}

fn datagram_row((delay, lost): &(Histogram, u64)) -> DatagramRow {
    let p95 = delay.quantile_with_missing(0.95, *lost);
    DatagramRow { lost: *lost, delay_p95_ms: p95.map(|seconds| 1e3 * seconds) }
}

fn probe_row(p: &ProbeStats) -> ProbeRow {
    ProbeRow { ip_bytes: p.size, sent: p.sent, lost: p.lost, rtt_ms: p.rtt.summary_ms() }
}

fn share(part: f64, total: f64) -> Option<f64> {
    (total > 0.0).then(|| part / total)
}

fn limits(spent: &[Span; SendLimit::ALL.len()]) -> Option<BTreeMap<&'static str, f64>> {
    let all: f64 = spent.iter().map(|s| s.as_secs()).sum();
    (all > 0.0).then(|| SendLimit::ALL.into_iter().map(|limit| (limit.name(), spent[limit as usize].as_secs() / all)).collect())
}

/// Drops by cause. Those by a length are named only where there are any: most paths have no MTU.
fn by_cause(drops: &[u64; DropReason::ALL.len()]) -> BTreeMap<&'static str, u64> {
    let of = |cause: DropReason| (cause.name(), drops[cause as usize]);
    let by_length = |cause: DropReason| matches!(cause, DropReason::TooBig | DropReason::Reassembly);
    DropReason::ALL
        .into_iter()
        .map(|cause| (cause, of(cause)))
        .filter(|&(cause, (_, drops))| drops > 0 || !by_length(cause))
        .map(|(_, row)| row)
        .collect()
}

fn hop_row(name: &str, direction: &'static str, h: &HopMetrics) -> HopRow {
    HopRow {
        hop: name.to_owned(),
        direction,
        utilization: h.utilization,
        time: TimeRow { sending: h.time.sending, overhead: h.time.overhead, blocked: h.time.blocked, idle: h.time.idle },
        full_share: h.time.full,
        queue_delay_ms: h.queue_delay.summary_ms(),
        queue_packets_mean: h.queue_packets,
        drops: h.drops.iter().sum(),
        drops_by_cause: by_cause(&h.drops),
        marks: h.marks,
        delivered: h.delivered,
        control_packets: h.control_packets,
        recording: None,
    }
}

#[cfg(test)]
mod tests {
    use super::jain;

    #[test]
    fn jains_index_is_1_for_equal_shares_and_1_over_n_for_one_flow_with_all() {
        assert_eq!(jain([3.0, 3.0, 3.0].into_iter()), Some(1.0));
        assert_eq!(jain([5.0, 0.0, 0.0, 0.0].into_iter()), Some(0.25));
        assert_eq!(jain([0.0].into_iter()), None);
    }
}
