//! Outcomes of packets in an element: drop reasons, counters, and the events that a probe receives.

use crate::packet::Packet;

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum DropReason {
    /// The queue was full.
    QueueFull,
    /// Random loss, or loss by list.
    Loss,
    /// Lost in a scheduled outage.
    Outage,
    /// No route: the flow has ended, or has no route at this element.
    NoRoute,
    /// Above the rate limit of its traffic class.
    Policed,
    /// The medium's retry limit was reached.
    Retries,
    /// Dropped by active queue management although the queue had room.
    Early,
    /// Superseded by a later ACK (ACK filtering).
    AckFilter,
    /// Its station left the cell during queueing or transmission.
    Handover,
    /// Longer than the MTU.
    TooBig,
    /// A fragment of a datagram of which another one was lost.
    Reassembly,
}

impl DropReason {
    pub const ALL: [DropReason; 11] = [
        DropReason::QueueFull,
        DropReason::Loss,
        DropReason::Outage,
        DropReason::NoRoute,
        DropReason::Policed,
        DropReason::Retries,
        DropReason::Early,
        DropReason::AckFilter,
        DropReason::Handover,
        DropReason::TooBig,
        DropReason::Reassembly,
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
            DropReason::TooBig => "mtu",
            DropReason::Reassembly => "reassembly",
        }
    }
}

/// Events reported to a probe.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    Dropped(Packet, DropReason),
    /// The packet is now marked CE.
    Marked(Packet),
    Copied(Packet),
    Created(Packet),
}

/// Signals of congestion: numbers of packets dropped and marked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signals {
    pub drops: u64,
    pub marks: u64,
}

/// Packet counters of one element since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    pub pushed: u64,
    pub forwarded: u64,
    pub copied: u64,
    pub created: u64,
    /// Packets that became part of another one.
    pub merged: u64,
    /// Packets marked CE; each is also counted as forwarded or dropped.
    pub marked: u64,
    pub dropped: [u64; DropReason::ALL.len()],
    /// Sum of `dropped`.
    drops: u64,
}

impl PacketCounts {
    /// Counts a dropped packet.
    pub fn count_drop(&mut self, reason: DropReason) {
        self.dropped[reason as usize] += 1;
        self.drops += 1;
    }

    #[inline]
    pub fn drops(&self) -> u64 {
        self.drops
    }

    /// Drops and marks so far.
    #[inline]
    pub fn signals(&self) -> Signals {
        Signals { drops: self.drops, marks: self.marked }
    }

    /// Adds the drops and marks that another element's counters have gained since `before`.
    pub(crate) fn add_signals(&mut self, before: &[u64; DropReason::ALL.len()], marks: u64, after: &PacketCounts) {
        self.marked += marks;
        for ((own, before), after) in self.dropped.iter_mut().zip(before).zip(&after.dropped) {
            *own += after - before;
            self.drops += after - before;
        }
    }
}
