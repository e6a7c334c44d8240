//! Metrics of one flow over a window.

use super::app_score::{self, AppScore};
use crate::build::{FlowEndpoints, Role};
use crate::plan::{Flow, WorkloadConfig};
use crate::{finished_at, other_of, tcp_of};
use ackclock_core::app::ProbeStats;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::network::Network;
use ackclock_core::statistics::Histogram;
use ackclock_core::tcp::{LimitingWindow, SendLimit};
use ackclock_core::{Span, Time};

/// Counters from the start of the run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Bytes of payload delivered in order, each byte once.
    pub payload: u64,
    /// IP bytes of packets with new data.
    pub ip_bytes: u64,
    pub segments: u64,
    pub retransmitted: u64,
    pub timeouts: u64,
    pub fast_retransmits: u64,
    pub window_cuts: u64,
    pub ecn_cuts: u64,
    /// Segments that arrived with CE.
    pub marked: u64,
    /// What only a QUIC stack counts.
    pub quic: QuicCounts,
}

/// Counters of a flow over QUIC.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QuicCounts {
    /// Datagrams that the receiver of the data sent, and their IP bytes.
    pub back_packets: u64,
    pub back_bytes: u64,
    /// Reductions of the window for packets that were not lost.
    pub spurious_cuts: u64,
}

/// Metrics of TCP flows only.
#[derive(Debug, Clone, Default)]
pub struct Tcp {
    pub rtt: Histogram,
    pub idle: Span,
    pub limited: [Span; SendLimit::ALL.len()],
    /// The peer's window while it limits the sender.
    pub limiting_window: LimitingWindow,
    /// The peer's window at the end, in bytes.
    pub advertised_window: u64,
}

/// The metrics of one flow from `from` to `to`.
#[derive(Debug, Clone, Default)]
pub struct FlowMetrics {
    pub from: Time,
    pub to: Time,
    pub counts: FlowCounts,
    pub tcp: Option<Tcp>,
    /// One-way delays of datagrams, and how many were lost; none for other flows.
    pub delay: Option<(Histogram, u64)>,
    /// Probes by size, over the whole run; empty for other flows.
    pub probes: Vec<ProbeStats>,
    /// What people feel of its application; none for other flows.
    pub app: Option<AppScore>,
    /// When and by which error its connection ended, if it did.
    pub closed: Option<(Time, String)>,
    /// Completion of the transfer, if any.
    pub completed: Option<Time>,
}

impl FlowCounts {
    fn since(self, before: &FlowCounts) -> FlowCounts {
        FlowCounts {
            payload: self.payload - before.payload,
            ip_bytes: self.ip_bytes - before.ip_bytes,
            segments: self.segments - before.segments,
            retransmitted: self.retransmitted - before.retransmitted,
            timeouts: self.timeouts - before.timeouts,
            fast_retransmits: self.fast_retransmits - before.fast_retransmits,
            window_cuts: self.window_cuts - before.window_cuts,
            ecn_cuts: self.ecn_cuts - before.ecn_cuts,
            marked: self.marked - before.marked,
            quic: QuicCounts {
                back_packets: self.quic.back_packets - before.quic.back_packets,
                back_bytes: self.quic.back_bytes - before.quic.back_bytes,
                spurious_cuts: self.quic.spurious_cuts - before.quic.spurious_cuts,
            },
        }
    }
}

impl FlowMetrics {
    pub fn span(&self) -> Span {
        self.to - self.from
    }

    /// Rate in bit/s over the window; none if the flow does not run in it.
    pub fn rate(&self, bytes: u64) -> Option<f64> {
        (self.span() > Span::ZERO).then(|| bytes as f64 * 8.0 / self.span().as_secs())
    }
}

/// The counters of a flow at `now`.
pub fn counts(flow: &Flow, endpoints: &FlowEndpoints, network: &Network, now: Time) -> FlowCounts {
    let (sender, receiver) =
        (network.endpoint(endpoints.by_role(Role::Sender)), network.endpoint(endpoints.by_role(Role::Receiver)));
    if let (Some(sender), Some(receiver)) = (tcp_of(sender), tcp_of(receiver)) {
        let (s, r) = (sender.sender_stats(now), receiver.receiver_stats());
        return FlowCounts {
            payload: r.in_order_bytes,
            ip_bytes: r.unique_ip_bytes,
            segments: s.segments_sent,
            retransmitted: s.retransmitted_segments,
            timeouts: s.timeouts,
            fast_retransmits: s.fast_retransmits,
            window_cuts: s.window_cuts,
            ecn_cuts: s.ecn_cuts,
            marked: r.marked_segments,
            quic: QuicCounts::default(),
        };
    }
    if let (Some(sender), Some(receiver)) = (other_of(sender), other_of(receiver)) {
        let (sent, arrived) = (sender.transport(), receiver.transport());
        return FlowCounts {
            payload: arrived.received,
            ip_bytes: arrived.bytes_received,
            segments: sent.sent_packets,
            retransmitted: sent.lost_packets,
            window_cuts: sent.window_cuts,
            quic: QuicCounts {
                back_packets: arrived.datagrams_sent,
                back_bytes: arrived.bytes_sent,
                spurious_cuts: sent.spurious_cuts,
            },
            ..FlowCounts::default()
        };
    }
    match (sender, receiver) {
        (AnyEndpoint::UdpSource(source), AnyEndpoint::UdpSink(sink)) => datagrams(flow, source.sent(), sink.packets),
        (AnyEndpoint::CallEnd(sender), AnyEndpoint::CallEnd(receiver)) => {
            datagrams(flow, sender.source().sent(), receiver.arrived())
        }
        (AnyEndpoint::GameClient(client), _) | (_, AnyEndpoint::GameClient(client)) => {
            datagrams(flow, client.sent(), client.answered())
        }
        (AnyEndpoint::Conference(sender), AnyEndpoint::Conference(receiver)) => {
            let (ip_bytes, packets) = receiver.received();
            let payload = ip_bytes - packets * u64::from(crate::plan::UDP_HEADER);
            FlowCounts { payload, ip_bytes, segments: sender.sent(), ..FlowCounts::default() }
        }
        (AnyEndpoint::Prober(prober), _) => FlowCounts { segments: prober.sent(), ..FlowCounts::default() },
        _ => FlowCounts::default(),
    }
}

fn datagrams(flow: &Flow, sent: u64, arrived: u64) -> FlowCounts {
    let size = u64::from(datagram_size(flow));
    let payload = arrived * (size - u64::from(crate::plan::UDP_HEADER));
    FlowCounts { payload, ip_bytes: arrived * size, segments: sent, ..FlowCounts::default() }
}

fn datagram_size(flow: &Flow) -> u16 {
    match flow.workload {
        WorkloadConfig::Cbr { packet, .. }
        | WorkloadConfig::Onoff { packet, .. }
        | WorkloadConfig::Call { packet, .. }
        | WorkloadConfig::Game { packet, .. } => packet,
        WorkloadConfig::Bulk { .. }
        | WorkloadConfig::Transfer { .. }
        | WorkloadConfig::Exchange { .. }
        | WorkloadConfig::Page { .. }
        | WorkloadConfig::Video { .. }
        | WorkloadConfig::Conference { .. }
        | WorkloadConfig::Probe { .. }
        | WorkloadConfig::Live {} => crate::plan::UDP_HEADER,
    }
}

/// Restarts the meters at the start of the window.
pub fn restart_meters(endpoints: &FlowEndpoints, network: &mut Network, now: Time) {
    if let AnyEndpoint::Tcp(sender) = network.endpoint_mut(endpoints.by_role(Role::Sender)) {
        sender.restart_meters(now);
    }
    if let AnyEndpoint::Other(sender) = network.endpoint_mut(endpoints.by_role(Role::Sender)) {
        sender.restart_meters();
    }
    if let AnyEndpoint::UdpSink(sink) = network.endpoint_mut(endpoints.by_role(Role::Receiver)) {
        sink.restart_meters();
    }
    if let AnyEndpoint::GameClient(client) = network.endpoint_mut(endpoints.client) {
        client.restart_meters();
    }
}

/// The metrics of a flow over `span`, or until the transfer is complete.
pub fn read(flow: &Flow, endpoints: &FlowEndpoints, network: &Network, span: (Time, Time), before: &FlowCounts) -> FlowMetrics {
    let (from, now) = span;
    let finished = finished_at(network.endpoint(endpoints.by_role(Role::Receiver)));
    let to = finished.map_or(now, |t| t.min(now));
    let tcp = tcp_of(network.endpoint(endpoints.by_role(Role::Sender))).map(|sender| {
        let stats = sender.sender_stats(to);
        Tcp {
            rtt: stats.rtt,
            idle: stats.idle,
            limited: stats.limited,
            limiting_window: stats.limiting_window,
            advertised_window: sender.peer_window(),
        }
    });
    let tcp = tcp.or_else(|| {
        let sender = other_of(network.endpoint(endpoints.by_role(Role::Sender)))?;
        let view = sender.transport();
        Some(Tcp { rtt: sender.rtt().clone(), limited: view.limited, ..Tcp::default() })
    });
    let transfer = matches!(flow.workload, WorkloadConfig::Transfer { .. });
    let counts = counts(flow, endpoints, network, now).since(before);
    let (mut delay, mut probes) = (None, Vec::new());
    match (network.endpoint(endpoints.by_role(Role::Sender)), network.endpoint(endpoints.by_role(Role::Receiver))) {
        (_, AnyEndpoint::UdpSink(sink)) => delay = Some((sink.delay().clone(), sink.lost())),
        (AnyEndpoint::Prober(prober), _) => probes = prober.probed().to_vec(),
        _ => {}
    }
    let app = app_score::read(flow, endpoints, network, span);
    let closed = [Role::Sender, Role::Receiver].into_iter().find_map(|role| {
        let end = other_of(network.endpoint(endpoints.by_role(role)))?;
        Some((end.transport().closed?, end.error()?.to_owned()))
    });
    FlowMetrics { from, to: to.max(from), counts, tcp, delay, probes, app, closed, completed: finished.filter(|_| transfer) }
}
