//! From packets to what is sent of them in one frame: headers, and pieces where a packet does not fit (IEEE 802.16-2004, 6.3.3).

use crate::element::Output;
use crate::medium::MeteredQueue;
use crate::packet::Packet;
use crate::units::Time;

/// What goes overhead_bytes each piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Generic header (6 bytes), and CRC (4) where it is used.
    pub overhead_bytes: u32,
}

/// The subheader of a piece that is not a whole packet.
const SUBHEADER: u32 = 2;
/// Nobody cuts off less than this.
const MIN_FRAGMENT: u32 = 16;

impl Pdu {
    /// What a whole packet takes.
    pub fn packet_bytes(&self, len: u16) -> u32 {
        self.overhead_bytes + u32::from(len)
    }

    /// The least room in which anything can be sent of a packet that does not fit.
    pub fn min_bytes(&self) -> u32 {
        self.overhead_bytes + SUBHEADER + MIN_FRAGMENT
    }
}

/// A piece on its way.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// Bytes that it takes, headers included.
    pub bytes: u32,
    /// The packet, when this is its last piece.
    pub completes: Option<Packet>,
}

/// The packet that is being cut up.
#[derive(Clone, Copy, Debug)]
struct PartialPacket {
    packet: Packet,
    left: u32,
    cut: bool,
}

/// Takes pieces off one stream.
#[derive(Clone, Debug, Default)]
pub struct Fragmenter {
    head: Option<PartialPacket>,
}

impl Fragmenter {
    /// Packets that have left the queue but not this station.
    pub fn occupancy(&self) -> u64 {
        u64::from(self.head.is_some())
    }

    /// Bytes, headers included, that would carry all that is here.
    pub fn backlog(&self, queue: &MeteredQueue, pdu: &Pdu) -> u64 {
        let queued = queue.bytes() + queue.packets() * u64::from(pdu.overhead_bytes);
        self.head.map_or(queued, |head| queued + u64::from(cost(&head, pdu)))
    }

    pub fn is_empty(&self, queue: &MeteredQueue) -> bool {
        self.head.is_none() && queue.packets() == 0
    }

    /// The next piece that `room` bytes can carry.
    pub fn next(&mut self, now: Time, room: u32, pdu: &Pdu, queue: &mut MeteredQueue, out: &mut Output<'_>) -> Option<Piece> {
        if self.head.is_none() {
            let packet = queue.dequeue(now, out)?;
            self.head = Some(PartialPacket { packet, left: u32::from(packet.len), cut: false });
        }
        let head = self.head.as_mut()?;
        let bytes = cost(head, pdu);
        if bytes <= room {
            let completes = self.head.take().map(|head| head.packet);
            return Some(Piece { bytes, completes });
        }
        if room < pdu.min_bytes() {
            return None;
        }
        head.left -= room - pdu.overhead_bytes - SUBHEADER;
        head.cut = true;
        Some(Piece { bytes: room, completes: None })
    }

    /// The packet that is being cut is whole again: none of its pieces count.
    pub fn restart_packet(&mut self) {
        if let Some(head) = &mut self.head {
            *head = PartialPacket { left: u32::from(head.packet.len), cut: false, ..*head };
        }
    }

    /// Gives up the packet that is being cut.
    pub fn take_fragmented(&mut self) -> Option<Packet> {
        self.head.take().map(|head| head.packet)
    }

    /// Gives up the packet that is next.
    pub fn take_head(&mut self, now: Time, queue: &mut MeteredQueue, out: &mut Output<'_>) -> Option<Packet> {
        self.take_fragmented().or_else(|| queue.dequeue(now, out))
    }
}

fn cost(head: &PartialPacket, pdu: &Pdu) -> u32 {
    pdu.overhead_bytes + head.left + if head.cut { SUBHEADER } else { 0 }
}
