//! Vantage point of a flow: position of the capture on the path, by the minimum RTTs to both ends.

use super::ms;
use crate::flow::{Flow, Side, VantagePoint};
use ackclock_contract::Document;
use serde::Serialize;

#[derive(Debug, Default, Serialize, Document)]
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
        let place = match VantagePoint::of(client, server) {
            VantagePoint::Unknown => behind_losses(flow).unwrap_or(VantagePoint::Unknown),
            place => place,
        };
        VantageReport { place, to_client_ms: client.map(ms), to_server_ms: server.map(ms) }
    }
}

/// Retransmissions of segments that never passed the capture show that it is at the receiver's end, on
/// paths whose RTTs are too short to show it. Fewer than this may be packets that the capture dropped.
const MIN_LOST_UPSTREAM: u32 = 8;

fn behind_losses(flow: &Flow) -> Option<VantagePoint> {
    let is_behind = |side: &Side| {
        let direction = flow.direction(*side);
        let lost_upstream = direction.ledger().map_or(0, |ledger| ledger.rare().lost_upstream);
        lost_upstream >= MIN_LOST_UPSTREAM && 2 * lost_upstream > direction.retransmitted()
    };
    let sender = [Side::Low, Side::High].into_iter().find(is_behind)?;
    Some(if sender == flow.client() { VantagePoint::Server } else { VantagePoint::Client })
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
