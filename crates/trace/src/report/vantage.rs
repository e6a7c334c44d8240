//! Vantage point: position of the capture on the path, by the minimum RTTs to both ends.

use super::ms;
use crate::flow::{Flow, Half, Side};
use serde::Serialize;

/// Position of the capture.
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
    /// Minimum RTT between capture point and client.
    pub to_client_ms: Option<f64>,
    /// Minimum RTT between capture point and server.
    pub to_server_ms: Option<f64>,
}

/// The capture is at an end if the RTT to it is at most this share of the RTT between the ends.
const NEAR: f64 = 0.1;
/// Maximum RTT between processes of one host or hosts on one Ethernet: the ends cannot be
/// distinguished.
const LOCAL_MS: f64 = 0.3;

impl Vantage {
    pub fn of(flow: &Flow) -> Vantage {
        // The RTT to one end is that of the other end's data.
        let rtt_to = |side: Side| min_rtt(flow.half(side.other()));
        let (client, server) = (rtt_to(flow.client()), rtt_to(flow.client().other()));
        let place = match (client, server) {
            (Some(c), Some(s)) if c + s <= LOCAL_MS => VantagePoint::Unknown,
            (Some(c), Some(s)) if c <= NEAR * (c + s) => VantagePoint::Client,
            (Some(c), Some(s)) if s <= NEAR * (c + s) => VantagePoint::Server,
            (Some(_), Some(_)) => VantagePoint::Middle,
            // Samples to one end only: an RTT within a host's response time.
            (Some(c), None) if c <= LOCAL_MS => VantagePoint::Client,
            (None, Some(s)) if s <= LOCAL_MS => VantagePoint::Server,
            _ => VantagePoint::Unknown,
        };
        Vantage { place, to_client_ms: client, to_server_ms: server }
    }
}

impl VantagePoint {
    /// True if the capture shows what the sender at `side` received: it is at the sender, or its
    /// position is not known.
    pub fn shows_sender(self, flow: &Flow, side: Side) -> bool {
        match self {
            VantagePoint::Client => side == flow.client(),
            VantagePoint::Server => side != flow.client(),
            VantagePoint::Middle | VantagePoint::Unknown => true,
        }
    }
}

fn min_rtt(half: &Half) -> Option<f64> {
    [half.rtt.min(), half.timestamp_rtt.min()].into_iter().flatten().min().map(ms)
}
