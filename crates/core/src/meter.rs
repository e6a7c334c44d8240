//! Counters and queueing statistics of one link.

use crate::element::fate::PacketCounts;
use crate::statistics::Histogram;
use crate::units::{Span, Time};

/// What a queue with a link behind it has seen since its measurement began. [`crate::Element::meter`] brings it up to date.
#[derive(Clone, Debug, Default)]
pub struct LinkMeter {
    /// When measuring began.
    pub since: Time,
    /// Waiting time of every packet whose sending began, service not included.
    pub queue_delay: Histogram,
    /// Time spent sending.
    pub busy: Span,
    /// What a recorded link could have sent; none on a link that could always send.
    pub offered_bytes: Option<u64>,
    /// Packets whose sending began.
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub drops: u64,
    pub marks: u64,
    /// Frames that a medium sent of its own: requests, grants, acknowledgements.
    pub control_packets: u64,
    /// Integral of waiting packets over time, in packet-picoseconds.
    pub packet_time: u128,
    /// `busy` and `packet_time` are complete up to here.
    counted_to: Time,
    /// Drops, marks and bytes before measuring began: a time series counts from the start of the run.
    earlier: (u64, u64, u64),
}

impl LinkMeter {
    /// Measures anew from `now`. The meter must be up to date.
    pub fn restart(&mut self, now: Time) {
        let (drops, marks, bytes) = self.earlier;
        let earlier = (drops + self.drops, marks + self.marks, bytes + self.sent_bytes);
        *self = LinkMeter { since: now, counted_to: now, earlier, ..LinkMeter::default() };
    }

    pub fn counted_to(&self) -> Time {
        self.counted_to
    }

    /// From the last call until `now`, `waiting` packets waited, and the link was sending or was not.
    pub fn integrate(&mut self, now: Time, waiting: u64, sending: bool) {
        let span = now - self.counted_to;
        self.packet_time += u128::from(waiting) * u128::from(span.0);
        if sending {
            self.busy = self.busy + span;
        }
        self.counted_to = self.counted_to.max(now);
    }

    /// A packet that has waited `wait` begins to be sent.
    #[inline]
    pub fn begin(&mut self, wait: Span) {
        self.queue_delay.add(wait);
        self.sent_packets += 1;
    }

    /// Adds what a queue dropped and marked between two states of its element's counts.
    #[inline]
    pub fn count(&mut self, before: &PacketCounts, after: &PacketCounts) {
        self.drops += after.drops() - before.drops();
        self.marks += after.marked - before.marked;
    }

    /// The used share of what could have been sent from the start of measuring until `end`.
    pub fn utilization(&self, end: Time) -> f64 {
        let (used, could) = match self.offered_bytes {
            Some(offered) => (self.sent_bytes as f64, offered as f64),
            None => (self.busy.as_secs(), (end - self.since).as_secs()),
        };
        if could > 0.0 { used / could } else { 0.0 }
    }

    /// Mean number of waiting packets from the start of measuring until `end`.
    pub fn mean_waiting(&self, end: Time) -> f64 {
        let span = end - self.since;
        if span > Span::ZERO { self.packet_time as f64 / span.0 as f64 } else { 0.0 }
    }

    /// The state of a queue in which `packets` wait, with counters from the start of the run.
    pub fn sample(&self, packets: u64, bytes: u64) -> QueueSample {
        let (drops, marks, sent) = self.earlier;
        QueueSample {
            packets,
            bytes,
            drops: drops + self.drops,
            marks: marks + self.marks,
            delivered_bytes: sent + self.sent_bytes,
        }
    }
}

/// A queue's state at an instant, for the time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    pub packets: u64,
    pub bytes: u64,
    pub drops: u64,
    pub marks: u64,
    pub delivered_bytes: u64,
}
