//! Counters and queueing statistics of one link.

use crate::element::fate::Signals;
use crate::statistics::Histogram;
use crate::time_account::TimeAccount;
use crate::units::{Span, Time};

/// Statistics of a queue and its link since the start of the measurement. [`crate::Element::meter`]
/// brings them up to date.
#[derive(Clone, Debug, Default)]
pub struct LinkMeter {
    /// Start of the measurement.
    pub since: Time,
    /// Queueing delay of every packet whose transmission has started; transmission time excluded.
    pub queue_delay: Histogram,
    /// The part of the queueing delay that no shorter queue removes, since the start of the run.
    pub access: AccessDelay,
    /// Time spent transmitting.
    pub busy: Span,
    /// Capacity of a recorded or scheduled link in bytes; `None` for a link that can always transmit.
    pub offered_bytes: Option<u64>,
    /// Packets whose transmission has started.
    pub sent_packets: u64,
    pub sent_bytes: u64,
    pub drops: u64,
    pub marks: u64,
    /// The medium's own frames: requests, grants, acknowledgements.
    pub control_packets: u64,
    /// Time integral of the number of queued packets, in packet-picoseconds.
    pub packet_time: u128,
    /// Filled by links whose transmissions are more than `busy`.
    pub(crate) time: TimeAccount,
    /// `busy` and `packet_time` are complete up to this time.
    counted_to: Time,
    /// Drops, marks and bytes before the start of the measurement. Time series count from the start
    /// of the run.
    earlier: (u64, u64, u64),
}

impl LinkMeter {
    /// Starts a new measurement at `now`. The meter must be up to date.
    pub fn restart(&mut self, now: Time) {
        let (drops, marks, bytes) = self.earlier;
        let earlier = (drops + self.drops, marks + self.marks, bytes + self.sent_bytes);
        let mut time = self.time;
        time.restart(now);
        *self = LinkMeter { since: now, counted_to: now, earlier, time, access: self.access, ..LinkMeter::default() };
    }

    pub fn counted_to(&self) -> Time {
        self.counted_to
    }

    /// Accounts for the time since the last call, in which `waiting` packets were queued and the
    /// link was or was not `sending`.
    #[inline]
    pub fn integrate(&mut self, now: Time, waiting: u64, sending: bool) {
        let span = now - self.counted_to;
        self.packet_time += u128::from(waiting) * u128::from(span.0);
        if sending {
            self.busy = self.busy + span;
        }
        self.counted_to = self.counted_to.max(now);
    }

    /// Transmission of a packet starts after the queueing delay `wait`.
    #[inline]
    pub fn begin(&mut self, wait: Span) {
        self.queue_delay.add(wait);
        self.sent_packets += 1;
    }

    /// Transmission of a packet that arrived at `since` and had to wait starts.
    #[inline]
    pub(crate) fn wait(&mut self, since: Time, starts: Time) {
        self.queue_delay.add(starts - since);
        self.packet_time += u128::from((starts - since.max(self.counted_to)).0);
    }

    /// Adds the drops and marks between two states of an element's counters.
    #[inline]
    pub fn count(&mut self, before: Signals, after: Signals) {
        self.drops += after.drops - before.drops;
        self.marks += after.marks - before.marks;
    }

    /// Account of a link that transmits without a gap while packets are queued.
    pub(crate) fn work_conserving_time(&mut self) -> &mut TimeAccount {
        self.time.occupied = self.busy;
        self.time.sending = self.busy;
        &mut self.time
    }

    /// Used share of the capacity from the start of the measurement until `end`.
    pub fn utilization(&self, end: Time) -> f64 {
        let (used, could) = match self.offered_bytes {
            Some(offered) => (self.sent_bytes as f64, offered as f64),
            None => (self.busy.as_secs(), (end - self.since).as_secs()),
        };
        if could > 0.0 { used / could } else { 0.0 }
    }

    /// Mean number of queued packets from the start of the measurement until `end`.
    pub fn mean_waiting(&self, end: Time) -> f64 {
        let span = end - self.since;
        if span > Span::ZERO { self.packet_time as f64 / span.0 as f64 } else { 0.0 }
    }

    /// State of a queue of `packets` and `bytes`, with counters from the start of the run.
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

/// The queueing delay of the packets that found no other of their stream in a medium: the wait for
/// its grants, frames and polls. Empty for other links, whose access takes no time.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccessDelay {
    total: Span,
    packets: u64,
}

impl AccessDelay {
    pub(crate) fn add(&mut self, wait: Span) {
        self.total = self.total + wait;
        self.packets += 1;
    }

    /// Mean in seconds; 0 without such packets.
    pub fn mean(&self) -> f64 {
        if self.packets > 0 { self.total.as_secs() / self.packets as f64 } else { 0.0 }
    }
}

/// State of a queue at an instant, for the time series.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueSample {
    pub packets: u64,
    pub bytes: u64,
    pub drops: u64,
    pub marks: u64,
    pub delivered_bytes: u64,
}
