//! First in, first out, and what finds no room is dropped.

use super::Queue;
use crate::element::{Cause, Out};
use crate::packet::Packet;
use crate::units::Time;
use std::collections::VecDeque;

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

#[derive(Debug)]
pub struct DropTail {
    limit: Limit,
    waiting: VecDeque<(Time, Packet)>,
    bytes: u64,
}

impl DropTail {
    pub fn new(limit: Limit) -> DropTail {
        DropTail { limit, waiting: VecDeque::new(), bytes: 0 }
    }
}

impl Queue for DropTail {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        if self.limit.admits(self.packets(), self.bytes, packet.len) {
            self.bytes += u64::from(packet.len);
            self.waiting.push_back((now, packet));
        } else {
            out.drop(packet, Cause::QueueFull);
        }
    }

    fn pass(&mut self, _now: Time, packet: Packet, _out: &mut Out<'_>) -> Option<Packet> {
        Some(packet)
    }

    fn dequeue(&mut self, _now: Time, _out: &mut Out<'_>) -> Option<(Time, Packet)> {
        let (since, packet) = self.waiting.pop_front()?;
        self.bytes -= u64::from(packet.len);
        Some((since, packet))
    }

    fn packets(&self) -> u64 {
        self.waiting.len() as u64
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
}
