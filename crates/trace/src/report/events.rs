//! The events of a flow with their frame numbers: retransmissions, reordered and duplicate packets,
//! probes, resets.

use super::seconds;
use crate::series::{Packets, Row};
use serde::Serialize;

/// One event of a direction.
#[derive(Debug, Clone, Serialize)]
pub struct EventReport {
    /// Number of the packet in the capture, as Wireshark counts frames.
    pub frame: u64,
    /// Time after the capture's first packet.
    pub time_s: f64,
    /// A kind of `causes`, or `reset`.
    pub kind: &'static str,
    pub confidence: f32,
    /// Offset of the first byte in the direction's stream.
    pub offset: i64,
    pub bytes: u32,
}

/// Maximum number of events of a direction that are listed, the first ones.
pub const MAX_EVENTS: usize = 1000;

/// The rows of events by flow.
#[derive(Debug, Default)]
pub struct EventOrder(Vec<(u32, u32)>);

impl EventOrder {
    pub fn of(packets: &Packets) -> EventOrder {
        let events = packets.rows.iter().enumerate().filter(|(_, row)| row.kind.is_event());
        let mut order: Vec<(u32, u32)> = events.map(|(index, row)| (row.flow, index as u32)).collect();
        order.sort_unstable();
        EventOrder(order)
    }

    /// The events of the client and of the server of the flow with this number, from 0.
    pub(super) fn of_flow(&self, packets: &Packets, number: usize, start: i64) -> [Vec<EventReport>; 2] {
        let number = number as u32;
        let (from, to) = (self.0.partition_point(|one| one.0 < number), self.0.partition_point(|one| one.0 <= number));
        let rows = || self.0[from..to].iter().map(|&(_, index)| &packets.rows[index as usize]);
        [true, false].map(|from_client| {
            let own = rows().filter(|row| row.from_client == from_client);
            own.take(MAX_EVENTS).map(|row| EventReport::of(row, start)).collect()
        })
    }
}

impl EventReport {
    fn of(row: &Row, start: i64) -> EventReport {
        EventReport {
            frame: row.frame,
            time_s: seconds(row.at.saturating_sub(start)),
            kind: row.kind.name(),
            confidence: row.confidence,
            offset: row.seq,
            bytes: row.payload,
        }
    }
}
