//! Block ACK window of one stream (IEEE 802.11-2012, clause 9.21): packets in the next frame,
//! packets to retransmit, and packets that the receiver holds for in-order delivery.

use super::{Format, WlanConfig};
use crate::packet::Packet;
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug)]
struct Mpdu {
    packet: Packet,
    failures: u32,
    arrived: bool,
}

/// A frame to send: its number of packets and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameLoad {
    pub packets: u32,
    pub bytes: u32,
}

/// Packets in sequence order. Without aggregation there is at most one.
#[derive(Clone, Debug, Default)]
pub struct BlockAckWindow {
    mpdus: VecDeque<Mpdu>,
}

impl BlockAckWindow {
    pub fn is_empty(&self) -> bool {
        self.mpdus.is_empty()
    }
    pub fn len(&self) -> usize {
        self.mpdus.len()
    }

    pub fn push(&mut self, packet: Packet) {
        self.mpdus.push_back(Mpdu { packet, failures: 0, arrived: false });
    }

    /// True if another packet may join the next frame.
    pub fn has_room(&self, config: &WlanConfig, format: &Format) -> bool {
        let max = config.aggregate.map_or(1, |aggregate| aggregate.frames as usize);
        self.mpdus.len() < max && self.load(config, format).packets as usize == self.missing()
    }

    fn missing(&self) -> usize {
        self.mpdus.iter().filter(|mpdu| !mpdu.arrived).count()
    }

    /// The next frame: as many undelivered packets as fit, at least one.
    pub fn load(&self, config: &WlanConfig, format: &Format) -> FrameLoad {
        let mut load = FrameLoad { packets: 0, bytes: 0 };
        for mpdu in self.mpdus.iter().filter(|mpdu| !mpdu.arrived) {
            let bytes = load.bytes + config.mpdu(mpdu.packet.len);
            let fits = config.aggregate.is_some_and(|max| bytes <= max.bytes && format.air(bytes) <= max.air);
            if load.packets > 0 && !fits {
                break;
            }
            load = FrameLoad { packets: load.packets + 1, bytes };
        }
        load
    }

    /// End of the frame: calls `is_whole` once per packet to draw its reception. Returns the number
    /// of packets received.
    pub fn receive(&mut self, load: FrameLoad, mut is_whole: impl FnMut() -> bool) -> u32 {
        let mut received = 0;
        for mpdu in self.mpdus.iter_mut().filter(|mpdu| !mpdu.arrived).take(load.packets as usize) {
            mpdu.arrived = is_whole();
            mpdu.failures += u32::from(!mpdu.arrived);
            received += u32::from(mpdu.arrived);
        }
        received
    }

    /// The next packet that the receiver delivers in order.
    pub fn deliver(&mut self) -> Option<Packet> {
        let arrived = self.mpdus.front().is_some_and(|mpdu| mpdu.arrived);
        if arrived { self.mpdus.pop_front().map(|mpdu| mpdu.packet) } else { None }
    }

    /// No packet of the frame was received.
    pub fn mark_lost(&mut self, load: FrameLoad) {
        self.receive(load, || false);
    }

    /// Removes all packets.
    pub fn drain(&mut self) -> impl Iterator<Item = Packet> + '_ {
        self.mpdus.drain(..).map(|mpdu| mpdu.packet)
    }

    /// The next packet whose retries are exhausted.
    pub fn take_expired(&mut self, tries: u32) -> Option<Packet> {
        let expired = self.mpdus.iter().position(|mpdu| !mpdu.arrived && mpdu.failures >= tries)?;
        self.mpdus.remove(expired).map(|mpdu| mpdu.packet)
    }

    /// Removes the first packet that has not been received.
    pub fn take_first(&mut self) -> Option<Packet> {
        let first = self.mpdus.iter().position(|mpdu| !mpdu.arrived)?;
        self.mpdus.remove(first).map(|mpdu| mpdu.packet)
    }
}
