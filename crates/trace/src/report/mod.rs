//! The JSON document of `ackclock analyze --json`. docs/reference/analyze.md defines all fields.

mod capture_index;
mod concurrency;
mod congestion_control;
mod datagrams;
mod direction;
mod encapsulation;
mod events;
mod flat_table;
mod flow_rows;
pub mod json_text;
mod limits;
mod listeners;
mod path_estimate;
mod qlog_flow;
mod summary;
mod two_captures;
mod vantage;

pub use crate::flow::VantagePoint;
pub use capture_index::{CaptureIndex, FindingThresholds, QueuedDirection, with_end};
pub use concurrency::FlowCorrelation;
pub use congestion_control::{CandidateReport, CongestionControlReport};
pub use datagrams::{UdpDirectionReport, UdpFlowReport, UdpReport};
pub use direction::{
    AckGaps, DirectionReport, HistogramBin, KindReport, LateAckReport, ThinkTimeReport, UnansweredProbesReport, UnansweredReport,
    ZeroWindowReport,
};
pub use encapsulation::{NotDecodedReport, TunnelReport};
pub use events::{EventOrder, EventReport};
pub use flat_table::{FlatColumn, FlatTable, FlatValues};
pub use flow_rows::FlowRows;
pub use limits::Limits;
pub(crate) use limits::of as limits_of;
pub use listeners::ListenerFacts;
pub use path_estimate::{PathEstimate, PathEstimates};
pub use summary::{CaptureSummary, ConnectionCounts, FindingCount, TopList, TopRow, VerdictReport};
pub use two_captures::{
    BucketReport, BufferReport, BurstReport, JoinReport, JoinedDirectionReport, LossCauseReport, LostReport, OneBurst,
    PathMtuReport, PolicerReport, StallReport,
};
pub use vantage::VantageReport;
pub(crate) use vantage::shows_sender;

use crate::analyze::{Analysis, FragmentCounts, FrameRange, SubflowOf};
use crate::decode::{EndpointAddress, Skip};
use crate::flow::{Flow, Side};
use ackclock_contract::Document;
use ackclock_pcap::read::{Capture, Truncation};
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::net::Ipv6Addr;

#[derive(Debug, Default, Serialize, Document)]
pub struct Report {
    /// The path of the capture, as given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<String>,
    pub packets: u64,
    pub tcp_packets: u64,
    /// Malformed packets and damaged records.
    pub malformed: u64,
    pub malformed_kinds: BTreeMap<&'static str, u64>,
    /// Where reading of a damaged file stopped; none for a complete file.
    pub truncated: Option<Truncation>,
    /// Valid packets that were not analyzed, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// What of these was not decoded, by protocol, those with most packets first.
    pub not_decoded: Vec<NotDecodedReport>,
    /// The tunnels that packets are in, those with most packets first.
    pub tunnels: Vec<TunnelReport>,
    pub bad_checksums: u64,
    /// IP fragments with TCP in them.
    pub fragments: FragmentReport,
    pub cut_short: u64,
    pub time_backwards: u64,
    /// Maximum by which a timestamp is before an earlier packet's.
    pub max_step_back_s: f64,
    /// Copies of packets that were left out, as a mirror port makes them.
    pub mirrored_packets: u64,
    /// Unix time of the first packet.
    pub start_s: Option<f64>,
    pub duration_s: f64,
    pub flows: Vec<FlowReport>,
    /// Number of flows that are not listed; absent if all are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows_left_out: Option<u64>,
    /// Totals of the UDP flows, and the flows.
    pub udp: UdpReport,
    /// None of the second of two captures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub udp_flows: Option<Vec<UdpFlowReport>>,
    /// Correlations of the goodputs of the largest concurrent flows.
    pub concurrent: Vec<FlowCorrelation>,
    /// Connections and the hosts, ports and flows with most of each quantity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub summary: Option<CaptureSummary>,
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub joined: Option<JoinReport>,
    /// Packets beyond the maximum number of rows of the series; absent without a series.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series_left_out: Option<u64>,
}

/// Counts of IP fragments with TCP in them.
#[derive(Debug, Default, Serialize, Document)]
pub struct FragmentReport {
    pub pieces: u64,
    /// Reassembled datagrams.
    pub reassembled: u64,
    /// Datagrams with missing fragments.
    pub incomplete: u64,
}

impl FragmentReport {
    fn of(counts: FragmentCounts) -> FragmentReport {
        FragmentReport { pieces: counts.fragments, reassembled: counts.reassembled, incomplete: counts.incomplete }
    }
}

#[derive(Debug, Default, Serialize, Document)]
pub struct FlowReport {
    /// Number in the document, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flow: Option<usize>,
    /// `quic` of a connection from a qlog; absent of TCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<&'static str>,
    pub client: String,
    pub server: String,
    pub packets: u64,
    /// IP bytes, both directions.
    pub bytes: u64,
    /// Frame numbers in the capture, as Wireshark counts them.
    pub frames: FrameRange,
    /// Time after the capture's first packet.
    pub start_s: f64,
    pub duration_s: f64,
    pub handshake_rtt_ms: Option<f64>,
    pub handshake: HandshakeReport,
    pub vantage: VantageReport,
    pub reset: ResetReport,
    /// The flow that this one is after address translation, by number: the capture has both sides of a NAT, and
    /// the summary counts this one not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub translation_of: Option<usize>,
    /// Absent without MPTCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<MptcpReport>,
    pub a2b: DirectionReport,
    pub b2a: DirectionReport,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Vec<Finding>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<DirectionLimits>,
}

/// The first reset of a connection.
#[derive(Debug, Default, Serialize, Document)]
pub struct ResetReport {
    /// [`crate::flow::ResetKind::name`]; none if the connection was not reset.
    pub kind: Option<&'static str>,
    /// The end in whose name it was sent.
    #[document(names("client", "server"))]
    pub from: Option<&'static str>,
    /// Time after the flow's first packet.
    pub at_s: Option<f64>,
    /// Its TTL, and that of the SYN or of the data of the same end: a middlebox has another distance.
    pub ttl: Option<u8>,
    pub usual_ttl: Option<u8>,
    /// Packets but resets of the same end after it: this end has not reset the connection if it goes on.
    pub packets_after: u32,
    /// Time of the first of them after the flow's first packet, and whether one of them accepts the connection.
    pub went_on_at_s: Option<f64>,
    pub accepted_after: bool,
}

impl ResetReport {
    fn of(flow: &Flow) -> ResetReport {
        let Some(reset) = flow.reset() else { return ResetReport::default() };
        ResetReport {
            kind: Some(reset.kind.name()),
            from: Some(if reset.from == flow.client() { "client" } else { "server" }),
            at_s: Some(seconds(reset.at - flow.first_at())),
            ttl: Some(reset.ttl),
            usual_ttl: reset.usual_ttl,
            packets_after: reset.packets_after,
            went_on_at_s: reset.went_on_at.get().map(|at| seconds(at - flow.first_at())),
            accepted_after: reset.is_accepted_after,
        }
    }
}

/// A subflow of multipath TCP (RFC 8684). Its figures are those of the subflow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Document)]
pub struct MptcpReport {
    /// `first`: its SYN has MP_CAPABLE; `additional`: MP_JOIN.
    #[document(names("first", "additional"))]
    pub subflow: &'static str,
    /// The SYN-ACK has the option, too: without it the connection is plain TCP, or has no such subflow.
    pub accepted: bool,
    /// Number of the connection's first subflow; none if its handshake is not in the capture.
    pub first_flow: Option<usize>,
}

impl MptcpReport {
    pub(crate) fn of(subflow: SubflowOf) -> MptcpReport {
        MptcpReport {
            subflow: if subflow.is_first { "first" } else { "additional" },
            accepted: subflow.accepted,
            first_flow: subflow.first.map(|first| first as usize + 1),
        }
    }
}

/// A finding, which a rule of crates/diagnose makes.
#[derive(Debug, Clone, PartialEq, Serialize, Document)]
pub struct Finding {
    /// `a2b` or `b2a`.
    #[document(names("a2b", "b2a"))]
    pub direction: &'static str,
    pub finding: &'static str,
    /// Who can change it.
    #[document(names("sender", "receiver", "application", "router", "operator", "network", "capture"))]
    pub owner: &'static str,
    /// Of the direction's time; none if time is no part of it.
    pub share: Option<f64>,
    /// What can be forwarded to the owner.
    pub sentence: String,
    /// Sentences.
    pub evidence: String,
    pub advice: Cow<'static, str>,
}

/// The kind of limit of each direction; none if the capture does not show it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Document)]
pub struct DirectionLimits {
    pub a2b: Option<&'static str>,
    pub b2a: Option<&'static str>,
}

/// The handshake and what it negotiated.
#[derive(Debug, Default, Serialize, Document)]
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
    /// Options in each end's SYN.
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
    /// The end's SYN has four NOPs and more in a row, as a device leaves that takes an option away.
    pub client_option_erased: bool,
    pub server_option_erased: bool,
}

/// Maximum number of flows that are listed; a document of a million flows takes gigabytes.
const MAX_LISTED: usize = 100_000;

impl Report {
    pub fn of(analysis: &Analysis, capture: &Capture) -> Report {
        let flows = FlowRows::of(analysis);
        let listed = (0..flows.len()).map(|number| flows.row(number)).collect();
        let start = analysis.totals.first_at.unwrap_or(0);
        let udp_flows = analysis.datagram_flows().iter().map(|flow| UdpFlowReport::of(flow, start)).collect();
        Report { flows: listed, udp_flows: Some(udp_flows), ..Report::without_flows(analysis, capture) }
    }

    /// The document without its flows, which [`FlowRows`] makes one by one.
    pub fn without_flows(analysis: &Analysis, capture: &Capture) -> Report {
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
            capture: None,
            packets: totals.packets,
            tcp_packets: counts.tcp,
            malformed: malformed + counts.malformed_options,
            malformed_kinds,
            truncated: capture.truncation(),
            skipped,
            not_decoded: NotDecodedReport::all(analysis.encapsulation()),
            tunnels: TunnelReport::all(analysis.encapsulation()),
            bad_checksums: counts.bad_checksums,
            fragments: FragmentReport::of(analysis.fragment_counts()),
            cut_short: totals.truncated,
            time_backwards: totals.backwards,
            max_step_back_s: seconds(totals.max_step_back),
            mirrored_packets: analysis.mirrored(),
            udp: UdpReport::of(analysis),
            udp_flows: Some(Vec::new()),
            start_s: totals.first_at.map(seconds),
            duration_s: seconds(totals.last_at.saturating_sub(start).max(0)),
            concurrent: concurrency::correlations(&flows),
            flows_left_out: flows.len().checked_sub(MAX_LISTED).filter(|&n| n > 0).map(|n| n as u64),
            flows: Vec::new(),
            summary: None,
            joined: None,
            series_left_out: None,
        }
    }
}

impl FlowReport {
    pub fn of(flow: &Flow, frames: FrameRange, start: i64) -> FlowReport {
        let (a, b) = (flow.client(), flow.client().other());
        let (client, server) = (flow.direction(a), flow.direction(b));
        let vantage = VantageReport::of(flow);
        let h = flow.handshake();
        let (syn_at, syn_ack_at, established_at) = (h.syn_at(), h.syn_ack_at(), h.established_at());
        let (client_syn, server_syn) = (client.syn(), server.syn());
        // A SYN that is captured after its answer shows no time.
        let is_in_order = syn_at <= syn_ack_at || syn_ack_at.is_none();
        FlowReport {
            flow: None,
            protocol: None,
            client: name(flow.endpoint(a)),
            server: name(flow.endpoint(b)),
            packets: u64::from(client.counts().packets) + u64::from(server.counts().packets),
            bytes: client.counts().ip_bytes + server.counts().ip_bytes,
            frames,
            start_s: seconds(flow.first_at().saturating_sub(start)),
            duration_s: seconds(flow.last_at() - flow.first_at()),
            handshake_rtt_ms: syn_at.zip(established_at).filter(|_| is_in_order).map(|(from, to)| ms(to - from)),
            handshake: HandshakeReport {
                complete: syn_at.is_some() && syn_ack_at.is_some() && established_at.is_some(),
                server_side_ms: syn_at.zip(syn_ack_at).filter(|_| is_in_order).map(|(from, to)| ms(to - from)),
                client_side_ms: syn_ack_at.zip(established_at).map(|(from, to)| ms(to - from)),
                mss: client_syn.mss.into_iter().chain(server_syn.mss).min(),
                sack: client_syn.sack && server_syn.sack,
                timestamps: client_syn.timestamps && server_syn.timestamps,
                window_scaling: client_syn.window_scale.is_some() && server_syn.window_scale.is_some(),
                ecn: client_syn.ecn && server_syn.ecn,
                ended: ended(flow),
                client_sack: client_syn.sack,
                server_sack: server_syn.sack,
                client_timestamps: client_syn.timestamps,
                server_timestamps: server_syn.timestamps,
                client_ecn: client_syn.ecn,
                server_ecn: server_syn.ecn,
                client_mss: client_syn.mss,
                server_mss: server_syn.mss,
                client_window_scale: client_syn.window_scale,
                server_window_scale: server_syn.window_scale,
                client_option_erased: client_syn.is_option_erased,
                server_option_erased: server_syn.is_option_erased,
            },
            a2b: DirectionReport::of(flow, a, vantage.place),
            b2a: DirectionReport::of(flow, b, vantage.place),
            reset: ResetReport::of(flow),
            translation_of: None,
            mptcp: None,
            vantage,
            diagnosis: None,
            limit: None,
        }
    }
}

fn ended(flow: &Flow) -> &'static str {
    let fins = [Side::Low, Side::High].into_iter().filter(|&side| flow.direction(side).counts().fins > 0).count();
    match (flow.reset().is_some(), fins) {
        (true, _) => "reset",
        (false, 2) => "closed",
        (false, 1) => "half_closed",
        _ => "open",
    }
}

/// `192.0.2.1:80`, `[2001:db8::1]:80`.
fn name(end: EndpointAddress) -> String {
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
