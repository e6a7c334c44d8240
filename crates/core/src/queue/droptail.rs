//! First in, first out, and what finds no room is dropped. It may mark beyond a threshold, as DCTCP wants it.

use super::fifo::{Fifo, Order};
use super::{Queue, SingleFifo};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::units::{Span, Time};

/// How much may wait; the packet being sent does not count. The service unit is a packet: it is dropped whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    pub packets: u64,
    /// IP bytes.
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
    /// Whether a packet of `len` bytes still fits beside what waits.
    #[inline]
    pub fn admits(self, packets: u64, bytes: u64, len: u16) -> bool {
        packets < self.packets && bytes.saturating_add(u64::from(len)) <= self.bytes
    }
}

/// Beyond what every ECN-capable packet is marked (RFC 8257, section 3.1). Others are not touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Threshold {
    /// More than this many packets wait when it comes.
    Packets(u64),
    /// More than this many IP bytes wait when it comes.
    Bytes(u64),
    /// It has waited longer than this when it goes.
    Time(Span),
}

/// Which packet goes when there is no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DropFrom {
    /// The one that comes.
    #[default]
    Tail,
    /// The ones that have waited longest, until the one that comes fits: its sender hears of it sooner.
    Front,
}

#[derive(Debug)]
pub struct DropTail {
    limit: Limit,
    from: DropFrom,
    mark: Option<Threshold>,
    fifo: Fifo,
}

impl DropTail {
    pub fn new(limit: Limit) -> DropTail {
        DropTail { limit, from: DropFrom::Tail, mark: None, fifo: Fifo::default() }
    }

    pub fn in_order(self, order: Order) -> DropTail {
        DropTail { fifo: Fifo::new(order), ..self }
    }

    pub fn drop_from(self, from: DropFrom) -> DropTail {
        DropTail { from, ..self }
    }

    pub fn mark_beyond(self, mark: Option<Threshold>) -> DropTail {
        DropTail { mark, ..self }
    }

    /// Room at the front for a packet that could fit at all.
    fn make_room(&mut self, packet: &Packet, out: &mut Output<'_>) {
        while self.from == DropFrom::Front && self.limit.admits(0, 0, packet.len) && !self.has_room(packet) {
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
        let beyond = match self.mark {
            Some(Threshold::Packets(most)) => self.fifo.packets() > most,
            Some(Threshold::Bytes(most)) => self.fifo.bytes() > most,
            Some(Threshold::Time(_)) | None => false,
        };
        // A packet that cannot be marked is let through: this is no policer.
        let _ = beyond && out.mark(&mut packet);
        self.fifo.push(now, packet);
    }

    fn bypass(&mut self, _now: Time, packet: Packet, _out: &mut Output<'_>) -> Option<Packet> {
        Some(packet)
    }

    fn take_next(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        let mut first = self.fifo.pop()?;
        let beyond = matches!(self.mark, Some(Threshold::Time(most)) if first.sojourn(now) > most);
        let _ = beyond && out.mark(&mut first.packet);
        Some((first.since, first.packet))
    }

    fn fifo(&self) -> (&Fifo, Limit) {
        (&self.fifo, self.limit)
    }
    fn fifo_mut(&mut self) -> &mut Fifo {
        &mut self.fifo
    }
}
