//! What happens to packets in an element: drop reasons, counters, and the events that a probe receives.

use crate::packet::Packet;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum DropReason {
    /// The queue's limit was reached.
    QueueFull,
    /// Lost on the line by chance or by list.
    Loss,
    /// Lost in a scheduled outage.
    Outage,
    /// Nobody to hand it to: its flow has ended or has no route there.
    NoRoute,
    /// Beyond the rate that its class is allowed.
    Policed,
    /// The medium's attempts for it were used up.
    Retries,
    /// An active queue management chose it, though there was room.
    Early,
    /// A later ACK says all that it says, and more.
    AckFilter,
    /// Its station has left the cell in which it waited, or in which it was being sent.
    Handover,
}

impl DropReason {
    pub const ALL: [DropReason; 9] = [
        DropReason::QueueFull,
        DropReason::Loss,
        DropReason::Outage,
        DropReason::NoRoute,
        DropReason::Policed,
        DropReason::Retries,
        DropReason::Early,
        DropReason::AckFilter,
        DropReason::Handover,
    ];

    pub fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::Loss => "loss",
            DropReason::Outage => "outage",
            DropReason::NoRoute => "no_route",
            DropReason::Policed => "policed",
            DropReason::Retries => "retries",
            DropReason::Early => "early",
            DropReason::AckFilter => "ack_filter",
            DropReason::Handover => "handover",
        }
    }
}

/// Something worth telling a probe.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    Dropped(Packet, DropReason),
    /// It now says that it met congestion.
    Marked(Packet),
    Copied(Packet),
    Created(Packet),
}

/// What went through one element since the run began. Nothing is inferred: elements say what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    pub pushed: u64,
    pub forwarded: u64,
    pub copied: u64,
    pub created: u64,
    /// Packets that were told of congestion; they are forwarded or dropped like others.
    pub marked: u64,
    pub dropped: [u64; DropReason::ALL.len()],
}

impl PacketCounts {
    #[inline]
    pub fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }
}
