//! Droptail: FIFO with a limit, and optionally a marking threshold as for DCTCP.

use super::fifo::{Fifo, Order};
use super::{Queue, SingleFifo};
use crate::config_check::{Checked, check_span, ensure};
use crate::config_form::{is_default, or_null, unlimited};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Limit of queued packets and bytes; the packet in transmission does not count. A packet is
/// accepted or dropped as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct Limit {
    #[serde(deserialize_with = "unlimited", serialize_with = "or_null")]
    pub packets: u64,
    /// IP bytes.
    #[serde(deserialize_with = "unlimited", serialize_with = "or_null")]
    pub bytes: u64,
}

impl Limit {
    pub const NONE: Limit = Limit { packets: u64::MAX, bytes: u64::MAX };

    pub const fn packets(packets: u64) -> Limit {
        Limit { packets, bytes: u64::MAX }
    }
    pub const fn bytes(bytes: u64) -> Limit {
        Limit { packets: u64::MAX, bytes }
    }
    /// An AQM queue must be able to hold a packet.
    pub(super) fn check_room(self) -> Checked {
        let message = || "the queue's limit is 0: only a droptail queue may have that limit".into();
        ensure(self.packets > 0 && self.bytes > 0, message)
    }

    /// True if a packet of `len` bytes fits in addition to what is queued.
    #[inline]
    pub fn admits(self, packets: u64, bytes: u64, len: u16) -> bool {
        packets < self.packets && bytes.saturating_add(u64::from(len)) <= self.bytes
    }
}

/// Marking threshold K of DCTCP (RFC 8257, section 3.1). Not-ECT packets are left alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Threshold {
    /// Mark on arrival if more packets than this are queued.
    Packets { packets: u64 },
    /// Mark on arrival if more IP bytes than this are queued.
    Bytes { bytes: u64 },
    /// Mark on departure if the sojourn time exceeds this.
    Time {
        #[serde(rename = "ps")]
        time: Span,
    },
}

/// Which packet is dropped when the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DropFrom {
    /// The arriving packet.
    #[default]
    Tail,
    /// The oldest packets, until the arriving one fits: its sender detects the loss earlier.
    Front,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct DropTailConfig {
    #[serde(flatten)]
    pub limit: Limit,
    /// None: no marking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<Threshold>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub drop: DropFrom,
    #[serde(skip)]
    pub order: Order,
}

impl DropTailConfig {
    pub(super) fn check(&self) -> Checked {
        match self.mark {
            Some(Threshold::Time { time }) => check_span("queue.mark.ps", time),
            _ => Ok(()),
        }
    }

    /// No marking, and the arriving packet is dropped.
    pub fn is_plain(&self) -> bool {
        self.mark.is_none() && self.drop == DropFrom::Tail
    }
}

impl From<Limit> for DropTailConfig {
    fn from(limit: Limit) -> DropTailConfig {
        DropTailConfig { limit, mark: None, drop: DropFrom::Tail, order: Order::Arrival }
    }
}

#[derive(Debug)]
pub struct DropTail {
    config: DropTailConfig,
    fifo: Fifo,
}

impl DropTail {
    pub fn new(config: impl Into<DropTailConfig>) -> DropTail {
        let config = config.into();
        DropTail { config, fifo: Fifo::new(config.order) }
    }

    /// Drops from the front for a packet that fits into an empty queue.
    fn make_room(&mut self, packet: &Packet, out: &mut Output<'_>) {
        while self.config.drop == DropFrom::Front && self.config.limit.admits(0, 0, packet.len) && !self.has_room(packet) {
            let Some(first) = self.fifo.pop() else { return };
            out.drop(first.packet, DropReason::QueueFull);
        }
    }
}

impl SingleFifo for DropTail {
    fn admit(&mut self, now: Time, mut packet: Packet, out: &mut Output<'_>) {
        self.make_room(&packet, out);
        if !self.has_room(&packet) {
            return out.drop(packet, DropReason::QueueFull);
        }
        let above = match self.config.mark {
            Some(Threshold::Packets { packets }) => self.fifo.packets() > packets,
            Some(Threshold::Bytes { bytes }) => self.fifo.bytes() > bytes,
            Some(Threshold::Time { .. }) | None => false,
        };
        // A packet that cannot be marked passes: the threshold is not a policer.
        let _ = above && out.mark(&mut packet);
        self.fifo.push(now, packet);
    }

    fn bypass(&mut self, _now: Time, packet: Packet, _out: &mut Output<'_>) -> Option<Packet> {
        Some(packet)
    }

    fn take_next(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        let mut first = self.fifo.pop()?;
        let above = matches!(self.config.mark, Some(Threshold::Time { time }) if first.sojourn(now) > time);
        let _ = above && out.mark(&mut first.packet);
        Some((first.since, first.packet))
    }

    fn fifo(&self) -> (&Fifo, Limit) {
        (&self.fifo, self.config.limit)
    }
    fn fifo_mut(&mut self) -> &mut Fifo {
        &mut self.fifo
    }
}
