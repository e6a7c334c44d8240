//! The result as others read it: the fields of `ackclock analyze --json`, in their units.
//! docs/analyze.md says what each means.

mod concurrency;
mod direction;
mod limits;
mod path_estimate;
mod two_captures;

pub use concurrency::FlowCorrelation;
pub use direction::DirectionReport;
pub use limits::Limits;
pub use path_estimate::PathEstimate;
pub use two_captures::{BucketReport, JoinReport, JoinedDirectionReport};

use crate::analyze::{Analysis, FragmentCounts};
use crate::decode::{Endpoint, Skip};
use crate::flow::{Flow, Half, Moment, Side};
use ackclock_pcap::read::{Capture, Truncation};
use serde::Serialize;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

#[derive(Debug, Serialize)]
pub struct Report {
    pub packets: u64,
    pub tcp_packets: u64,
    /// Packets and records that are wrong in themselves.
    pub malformed: u64,
    pub malformed_kinds: BTreeMap<&'static str, u64>,
    /// Where a damaged file ends; none for a whole one.
    pub truncated: Option<Truncation>,
    /// Sound packets that hold no TCP of ours.
    pub skipped: BTreeMap<&'static str, u64>,
    pub bad_checksums: u64,
    /// IP fragments with TCP in them.
    pub fragments: FragmentReport,
    pub cut_short: u64,
    pub time_backwards: u64,
    /// Unix time of the first packet, and how long the capture lasts, seconds.
    pub start_s: Option<f64>,
    pub duration_s: f64,
    pub flows: Vec<FlowReport>,
    /// Flows beyond the first 100,000, which are not listed; absent where all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows_left_out: Option<u64>,
    /// How the throughputs of the largest flows that ran at the same time went together.
    pub concurrent: Vec<FlowCorrelation>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub joined: Option<JoinReport>,
}

/// What became of IP fragments with TCP in them.
#[derive(Debug, Serialize)]
pub struct FragmentReport {
    pub pieces: u64,
    /// Datagrams put together, and those of which a piece was missing.
    pub reassembled: u64,
    pub incomplete: u64,
}

impl FragmentReport {
    fn of(counts: FragmentCounts) -> FragmentReport {
        FragmentReport { pieces: counts.fragments, reassembled: counts.reassembled, incomplete: counts.incomplete }
    }
}

#[derive(Debug, Serialize)]
pub struct FlowReport {
    pub client: String,
    pub server: String,
    pub packets: u64,
    /// IP bytes, both directions.
    pub bytes: u64,
    /// From the capture's first packet.
    pub start_s: f64,
    pub duration_s: f64,
    pub handshake_rtt_ms: Option<f64>,
    pub handshake: HandshakeReport,
    pub vantage: Vantage,
    pub a2b: DirectionReport,
    pub b2a: DirectionReport,
}

/// What the two SYNs agreed on.
#[derive(Debug, Serialize)]
pub struct HandshakeReport {
    pub complete: bool,
    pub client_side_ms: Option<f64>,
    pub server_side_ms: Option<f64>,
    pub mss: Option<u16>,
    pub sack: bool,
    pub timestamps: bool,
    pub window_scaling: bool,
    pub ecn: bool,
    pub ended: &'static str,
    /// What each end's SYN offered.
    pub client_sack: bool,
    pub server_sack: bool,
    pub client_timestamps: bool,
    pub server_timestamps: bool,
    pub client_ecn: bool,
    pub server_ecn: bool,
    pub client_mss: Option<u16>,
    pub server_mss: Option<u16>,
    pub client_window_scale: Option<u8>,
    pub server_window_scale: Option<u8>,
}

/// Where the capture was taken, as far as the answers' delays show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum VantagePoint {
    Client,
    Server,
    Middle,
    Unknown,
}

#[derive(Debug, Serialize)]
pub struct Vantage {
    pub place: VantagePoint,
    /// Least time from a packet towards this end to its answer.
    pub to_client_ms: Option<f64>,
    pub to_server_ms: Option<f64>,
}

/// Flows listed at most: a document of a million is of use to nobody, and takes gigabytes.
const MAX_LISTED: usize = 100_000;
/// One end answers in less than this share of the whole: the capture is there.
const NEAR: f64 = 0.1;
/// Both ends answer within this: one host, or one Ethernet, and the ends cannot be told apart.
const LOCAL_MS: f64 = 0.3;

impl Report {
    pub fn of(analysis: &Analysis, capture: &Capture) -> Report {
        let (totals, counts) = (&analysis.totals, analysis.counts());
        let mut malformed_kinds: BTreeMap<&'static str, u64> = capture.damage().iter().map(|(d, &n)| (d.name(), n)).collect();
        let mut skipped = BTreeMap::new();
        for skip in Skip::ALL {
            let n = counts.skipped[skip as usize];
            if n > 0 {
                if skip.is_malformed() {
                    malformed_kinds.insert(skip.name(), n)
                } else {
                    skipped.insert(skip.name(), n)
                };
            }
        }
        if counts.over_capacity > 0 {
            skipped.insert("too_many_flows", counts.over_capacity);
        }
        let malformed: u64 = malformed_kinds.values().sum();
        if counts.malformed_options > 0 {
            malformed_kinds.insert("broken_tcp_options", counts.malformed_options);
        }
        let start = totals.first_at.unwrap_or(0);
        let flows = analysis.flows();
        Report {
            packets: totals.packets,
            tcp_packets: counts.tcp,
            malformed: malformed + counts.malformed_options,
            malformed_kinds,
            truncated: capture.truncation(),
            skipped,
            bad_checksums: counts.bad_checksums,
            fragments: FragmentReport::of(analysis.fragment_counts()),
            cut_short: totals.truncated,
            time_backwards: totals.backwards,
            start_s: totals.first_at.map(seconds),
            duration_s: seconds(totals.last_at.saturating_sub(start).max(0)),
            concurrent: concurrency::correlations(&flows),
            flows_left_out: flows.len().checked_sub(MAX_LISTED).filter(|&n| n > 0).map(|n| n as u64),
            flows: flows.iter().take(MAX_LISTED).map(|flow| FlowReport::of(&flow, start)).collect(),
            joined: None,
        }
    }
}

impl FlowReport {
    pub fn of(flow: &Flow, start: i64) -> FlowReport {
        let (a, b) = (flow.client(), flow.client().other());
        let (client, server) = (flow.half(a), flow.half(b));
        let vantage = Vantage::of(flow);
        let h = &flow.handshake;
        let [syn_at, answer_at, done_at] = [h.syn_at, h.answer_at, h.done_at].map(Moment::get);
        FlowReport {
            client: name(flow.end(a)),
            server: name(flow.end(b)),
            packets: u64::from(client.counts.packets) + u64::from(server.counts.packets),
            bytes: client.counts.ip_bytes + server.counts.ip_bytes,
            start_s: seconds(flow.first_at.saturating_sub(start)),
            duration_s: seconds(flow.last_at - flow.first_at),
            handshake_rtt_ms: syn_at.zip(done_at).map(|(from, to)| ms(to - from)),
            handshake: HandshakeReport {
                complete: syn_at.is_some() && answer_at.is_some() && done_at.is_some(),
                server_side_ms: syn_at.zip(answer_at).map(|(from, to)| ms(to - from)),
                client_side_ms: answer_at.zip(done_at).map(|(from, to)| ms(to - from)),
                mss: [client, server].iter().filter_map(|h| h.choices.mss).min(),
                sack: client.choices.sack && server.choices.sack,
                timestamps: client.choices.stamps && server.choices.stamps,
                window_scaling: client.choices.window_scale.is_some() && server.choices.window_scale.is_some(),
                ecn: client.choices.ecn && server.choices.ecn,
                ended: ended(flow),
                client_sack: client.choices.sack,
                server_sack: server.choices.sack,
                client_timestamps: client.choices.stamps,
                server_timestamps: server.choices.stamps,
                client_ecn: client.choices.ecn,
                server_ecn: server.choices.ecn,
                client_mss: client.choices.mss,
                server_mss: server.choices.mss,
                client_window_scale: client.choices.window_scale,
                server_window_scale: server.choices.window_scale,
            },
            a2b: DirectionReport::of(flow, a, vantage.place),
            b2a: DirectionReport::of(flow, b, vantage.place),
            vantage,
        }
    }
}

impl Vantage {
    pub fn of(flow: &Flow) -> Vantage {
        // The answers to one end's data are the other end's.
        let answer = |side: Side| least_answer(flow.half(side.other()));
        let (client, server) = (answer(flow.client()), answer(flow.client().other()));
        let place = match (client, server) {
            (Some(c), Some(s)) if c + s <= LOCAL_MS => VantagePoint::Unknown,
            (Some(c), Some(s)) if c <= NEAR * (c + s) => VantagePoint::Client,
            (Some(c), Some(s)) if s <= NEAR * (c + s) => VantagePoint::Server,
            (Some(_), Some(_)) => VantagePoint::Middle,
            // Answers of one end only: within a fraction of a millisecond is what a host takes.
            (Some(c), None) if c <= LOCAL_MS => VantagePoint::Client,
            (None, Some(s)) if s <= LOCAL_MS => VantagePoint::Server,
            _ => VantagePoint::Unknown,
        };
        Vantage { place, to_client_ms: client, to_server_ms: server }
    }
}

fn least_answer(half: &Half) -> Option<f64> {
    [half.rtt.min(), half.stamp_rtt.min()].into_iter().flatten().min().map(ms)
}

fn ended(flow: &Flow) -> &'static str {
    let fins = [Side::Low, Side::High].into_iter().filter(|&side| flow.half(side).counts.fins > 0).count();
    match (flow.handshake.reset, fins) {
        (true, _) => "reset",
        (false, 2) => "closed",
        (false, 1) => "half_closed",
        _ => "open",
    }
}

/// `192.0.2.1:80`, `[2001:db8::1]:80`.
fn name(end: Endpoint) -> String {
    let ip = Ipv6Addr::from(end.ip);
    match ip.to_ipv4_mapped() {
        Some(v4) => format!("{v4}:{}", end.port),
        None => format!("[{ip}]:{}", end.port),
    }
}

pub(crate) fn ms(ns: i64) -> f64 {
    ns as f64 * 1e-6
}

pub(crate) fn seconds(ns: i64) -> f64 {
    ns as f64 * 1e-9
}
