//! Vantage point of a flow: position of the capture on the path, by the minimum RTTs to both ends.

use super::ms;
use crate::flow::{Flow, Side, VantagePoint};
use serde::Serialize;

#[derive(Debug, Serialize)]
pub struct VantageReport {
    pub place: VantagePoint,
    /// Minimum RTT between capture point and client.
    pub to_client_ms: Option<f64>,
    /// Minimum RTT between capture point and server.
    pub to_server_ms: Option<f64>,
}

impl VantageReport {
    pub fn of(flow: &Flow) -> VantageReport {
        // The RTT to one end is that of the other end's data.
        let rtt_to = |side: Side| flow.direction(side.other()).rtt().min_of_all();
        let (client, server) = (rtt_to(flow.client()), rtt_to(flow.client().other()));
        VantageReport { place: VantagePoint::of(client, server), to_client_ms: client.map(ms), to_server_ms: server.map(ms) }
    }
}

/// True if the capture shows what the sender at `side` received: it is at the sender, or its position
/// is not known.
pub fn shows_sender(place: VantagePoint, flow: &Flow, side: Side) -> bool {
    match place {
        VantagePoint::Client => side == flow.client(),
        VantagePoint::Server => side != flow.client(),
        VantagePoint::Middle | VantagePoint::Unknown => true,
    }
}
