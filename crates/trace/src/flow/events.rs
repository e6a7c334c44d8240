//! What a packet is to its flow.

use super::classify::Classification;
use super::ledger::Revision;
use crate::decode::Side;

/// A packet of one end.
#[derive(Debug, Clone)]
pub struct PacketEvent {
    pub from: Side,
    pub data: DataEvent,
    /// What its ACK shows about the other end's data; none without ACK.
    pub ack: Option<AckEvent>,
    /// Classifications of earlier packets of this end that it revises, in order.
    pub revisions: Vec<Revision>,
}

/// What the data of a packet is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DataEvent {
    /// No data, SYN or FIN.
    None,
    New,
    /// New, with data before it that was not captured.
    AfterGap,
    /// Neither.
    Classified(Classification),
}

/// What an ACK shows about the other end's data.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct AckEvent {
    /// Bytes newly acknowledged, cumulatively.
    pub acked: u32,
    pub is_duplicate: bool,
    /// RTT sample, nanoseconds.
    pub rtt: Option<i64>,
    /// Segments of retransmissions that it shows to be spurious.
    pub spurious: u32,
}
