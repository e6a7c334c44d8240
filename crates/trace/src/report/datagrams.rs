//! The UDP flows of a capture.

use super::{Finding, JoinedDirectionReport, name, seconds};
use crate::analyze::{Analysis, DatagramFlow, FrameRange};
use crate::join::Joined;
use ackclock_contract::Document;
use ackclock_core::statistics::SummaryStats;
use serde::Serialize;

/// Totals of all UDP flows.
#[derive(Debug, Default, Serialize, Document)]
pub struct UdpReport {
    /// Flows that are listed.
    pub flows: usize,
    pub quic_flows: usize,
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
    /// Packets of further flows.
    pub left_out: u64,
}

/// One UDP flow. The client sent its first datagram.
#[derive(Debug, Serialize, Document)]
pub struct UdpFlowReport {
    pub client: String,
    pub server: String,
    /// `quic`, or `udp` for all others.
    pub protocol: &'static str,
    pub quic_version: Option<String>,
    pub frames: FrameRange,
    pub start_s: f64,
    pub duration_s: f64,
    pub a2b: UdpDirectionReport,
    pub b2a: UdpDirectionReport,
    /// About its losses and delays between two captures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diagnosis: Option<Vec<Finding>>,
}

#[derive(Debug, Serialize, Document)]
pub struct UdpDirectionReport {
    pub packets: u64,
    /// IP bytes.
    pub bytes: u64,
    /// Times between changes of the spin bit (RFC 9000, section 17.4): the RTT and the hosts' delays.
    pub spin_rtt_ms: Option<SummaryStats>,
    /// Between two captures, joined by the payloads.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub joined: Option<JoinedDirectionReport>,
}

impl UdpReport {
    pub fn of(analysis: &Analysis) -> UdpReport {
        let mut report = UdpReport { left_out: analysis.udp_left_out(), ..UdpReport::default() };
        for flow in analysis.datagram_flows() {
            report.flows += 1;
            report.quic_flows += usize::from(flow.quic().is_some());
            report.packets += flow.packets.iter().sum::<u64>();
            report.bytes += flow.ip_bytes.iter().sum::<u64>();
        }
        report
    }
}

impl UdpFlowReport {
    pub fn of(flow: &DatagramFlow, start: i64) -> UdpFlowReport {
        let [client, server] = flow.ends().map(name);
        let [a2b, b2a] = [0, 1].map(|end| UdpDirectionReport {
            packets: flow.packets[end],
            bytes: flow.ip_bytes[end],
            spin_rtt_ms: flow.quic().and_then(|quic| quic.spin[end].samples()).map(|samples| samples.summary_ms()),
            joined: None,
        });
        UdpFlowReport {
            client,
            server,
            protocol: if flow.quic().is_some() { "quic" } else { "udp" },
            quic_version: flow.quic().map(|quic| format!("{:#010x}", quic.version)),
            frames: flow.frames,
            start_s: seconds(flow.first_at.saturating_sub(start)),
            duration_s: seconds(flow.last_at - flow.first_at),
            a2b,
            b2a,
            diagnosis: None,
        }
    }

    /// Adds the results of the comparison with a second capture for `flow`, which has this number from 0.
    pub fn with_joined(mut self, flow: &DatagramFlow, joined: &Joined, number: usize) -> UdpFlowReport {
        if let Some(directions) = joined.datagram_directions(number) {
            let client = flow.client() as usize;
            self.a2b.joined = directions[client].as_ref().map(JoinedDirectionReport::of);
            self.b2a.joined = directions[1 - client].as_ref().map(JoinedDirectionReport::of);
        }
        self
    }
}
