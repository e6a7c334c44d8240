//! The events of a flow with their frame numbers: retransmissions, reordered and duplicate packets,
//! probes, resets.

use super::seconds;
use crate::flow::KindRule;
use crate::series::{Packets, Row};
use ackclock_contract::Document;
use serde::Serialize;

/// One event of a direction.
#[derive(Debug, Clone, Serialize, Document)]
pub struct EventReport {
    /// Number of the packet in the capture, as Wireshark counts frames.
    pub frame: u64,
    /// Time after the capture's first packet.
    pub time_s: f64,
    /// A kind of `causes`, or `reset`.
    pub kind: &'static str,
    pub confidence: f32,
    /// The rule that gave the kind; none for a reset.
    pub rule: Option<&'static str>,
    /// Offset of the first byte in the direction's stream.
    pub offset: i64,
    pub bytes: u32,
}

/// Maximum number of events of a direction that are listed, the first ones.
pub const MAX_EVENTS: usize = 1000;

/// The rows of events, ordered by flow: a copy, as the rows of all packets may be a hundred times as
/// many and need not be kept.
#[derive(Debug, Default)]
pub struct EventOrder(Vec<Row>);

impl EventOrder {
    pub fn of(packets: &Packets) -> EventOrder {
        let mut rows: Vec<Row> = packets.rows.iter().filter(|row| row.kind.is_event()).copied().collect();
        rows.sort_by_key(|row| row.flow);
        EventOrder(rows)
    }

    /// The events of the client and of the server of the flow with this number, from 0.
    pub(super) fn of_flow(&self, number: usize, start: i64) -> [Vec<EventReport>; 2] {
        let number = number as u32;
        let (from, to) = (self.0.partition_point(|row| row.flow < number), self.0.partition_point(|row| row.flow <= number));
        [true, false].map(|from_client| {
            let own = self.0[from..to].iter().filter(|row| row.from_client == from_client);
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
            rule: row.rule.map(KindRule::name),
            offset: row.seq,
            bytes: row.payload,
        }
    }
}
