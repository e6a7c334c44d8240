//! A connection of a qlog as a flow of the document: the log is the sender's own account, so that the figures
//! are those of a capture at the sender.

use super::direction::{Bytes, RepairReport, WindowReport};
use super::{DirectionReport, FlowReport, HandshakeReport, Limits, Report, VantageReport};
use crate::flow::VantagePoint;
use crate::qlog::{PacketCounts, QlogConnection};

impl FlowReport {
    /// The connection with this number from 1.
    pub fn of_qlog(connection: &QlogConnection, number: usize) -> FlowReport {
        let is_client = connection.is_client.unwrap_or(false);
        let (own, peer) = (own_direction(connection), peer_direction(connection));
        let (a2b, b2a) = if is_client { (own, peer) } else { (peer, own) };
        let end = |is_writer: bool| if is_writer { "writer of the log" } else { "peer" };
        FlowReport {
            flow: Some(number),
            protocol: Some("quic"),
            client: end(is_client).into(),
            server: end(!is_client).into(),
            packets: connection.sent.packets + connection.received.packets,
            bytes: connection.sent.bytes + connection.received.bytes,
            duration_s: connection.duration_ms() / 1e3,
            handshake: HandshakeReport {
                // QUIC has what these options of TCP are for.
                sack: true,
                window_scaling: true,
                ended: if connection.closed { "closed" } else { "open" },
                ..HandshakeReport::default()
            },
            vantage: VantageReport {
                place: if is_client { VantagePoint::Client } else { VantagePoint::Server },
                ..VantageReport::default()
            },
            a2b,
            b2a,
            ..FlowReport::default()
        }
    }
}

impl Report {
    /// The document of a qlog, without its flows.
    pub fn of_qlog(connections: &[QlogConnection]) -> Report {
        let first_ms = connections.iter().filter_map(|connection| connection.first_ms).reduce(f64::min);
        let last_ms = connections.iter().map(|connection| connection.last_ms).fold(0.0, f64::max);
        Report {
            packets: connections.iter().map(|connection| connection.sent.packets + connection.received.packets).sum(),
            start_s: first_ms.map(|ms| ms / 1e3),
            duration_s: first_ms.map_or(0.0, |first| (last_ms - first) / 1e3),
            udp_flows: Some(Vec::new()),
            ..Report::default()
        }
    }
}

/// What the writer of the log sent.
fn own_direction(connection: &QlogConnection) -> DirectionReport {
    let (sent, times) = (&connection.sent, &connection.times);
    let total = times.receive_window + times.path_rate + times.cwnd + times.application + times.recovery;
    let share = |ms: f64| if total > 0.0 { ms / total } else { 0.0 };
    let lost = connection.lost + connection.lost_by_timeout;
    // QUIC sends no packet again, but the data of those that were lost.
    let again = if sent.again_bytes > 0 { lost } else { 0 };
    let window = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
    // A log without it has no limit that is known.
    let [min, max] = connection.window.unwrap_or([u64::MAX; 2]);
    DirectionReport {
        advertised_window_bytes: WindowReport { min: Some(window(min)), mean: None, max: Some(window(max)) },
        retransmitted_segments: again,
        retransmission_rate: (sent.segments > 0).then(|| again as f64 / sent.segments as f64),
        fast_retransmits: connection.lost.min(again) as u32,
        rto_retransmits: connection.lost_by_timeout.min(again) as u32,
        tlp_retransmits: connection.probes as u32,
        rtt_ms: connection.rtt_ms(),
        outstanding_bytes: Bytes { mean: connection.flight_mean(), max: connection.flight_max },
        limited: (total > 0.0).then(|| Limits {
            receive_window: Some(share(times.receive_window)),
            send_buffer: Some(0.0),
            path_rate: Some(share(times.path_rate)),
            cwnd: Some(share(times.cwnd)),
            application: Some(share(times.application)),
            recovery: share(times.recovery),
            unknown: None,
        }),
        recovery_share: (total > 0.0).then(|| share(times.recovery)),
        repairs: RepairReport {
            timeouts: connection.lost_by_timeout as u32,
            recoveries: connection.recoveries as u32,
            ..RepairReport::default()
        },
        ..peer_like(sent, connection)
    }
}

/// What the writer of the log received.
fn peer_direction(connection: &QlogConnection) -> DirectionReport {
    peer_like(&connection.received, connection)
}

/// The figures that a log has of both directions.
fn peer_like(counts: &PacketCounts, connection: &QlogConnection) -> DirectionReport {
    let seconds = connection.duration_ms() / 1e3;
    let rate = |bytes: u64| (seconds > 0.0).then(|| bytes as f64 * 8.0 / seconds);
    DirectionReport {
        packets: counts.packets,
        segments: counts.segments,
        payload_bytes: counts.unique_bytes + counts.again_bytes,
        unique_bytes: counts.unique_bytes,
        throughput_bps: rate(counts.bytes),
        goodput_bps: rate(counts.unique_bytes),
        pure_acks: counts.packets - counts.segments,
        largest_segment_bytes: counts.largest as u32,
        first_data_ms: counts.first_data_ms.zip(connection.first_ms).map(|(at, first)| at - first),
        tail_ms: counts.last_data_ms.map(|at| connection.last_ms - at),
        ..DirectionReport::default()
    }
}
