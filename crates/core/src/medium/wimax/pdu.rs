//! MAC PDUs: headers and fragmentation (IEEE 802.16-2004, 6.3.3).

use crate::element::Output;
use crate::medium::MeteredQueue;
use crate::packet::Packet;
use crate::units::Time;

/// Overhead of a PDU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pdu {
    /// Generic header (6 bytes), and CRC (4) if enabled.
    pub overhead_bytes: u32,
    /// Minimum payload of a fragment.
    pub min_fragment: u32,
}

/// Fragmentation subheader.
const SUBHEADER: u32 = 2;
/// Minimum payload of a fragment where none is given.
pub const MIN_FRAGMENT: u32 = 16;

impl Pdu {
    /// PDU size of a whole packet.
    pub fn packet_bytes(&self, len: u16) -> u32 {
        self.overhead_bytes + u32::from(len)
    }

    /// Minimum room for a fragment.
    pub fn min_bytes(&self) -> u32 {
        self.overhead_bytes + SUBHEADER + self.min_fragment
    }
}

/// A PDU.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// PDU size, headers included.
    pub bytes: u32,
    /// The packet, if this is its last PDU.
    pub completes: Option<Packet>,
}

/// A packet sent in part.
#[derive(Clone, Copy, Debug)]
struct FragmentedPacket {
    packet: Packet,
    left: u32,
    cut: bool,
}

/// Fragments the packets of one stream.
#[derive(Clone, Debug, Default)]
pub struct Fragmenter {
    head: Option<FragmentedPacket>,
}

impl Fragmenter {
    /// Packets dequeued and not completely sent.
    pub fn occupancy(&self) -> u64 {
        u64::from(self.head.is_some())
    }

    /// Bytes of the whole backlog, headers included.
    pub fn backlog(&self, queue: &MeteredQueue, pdu: &Pdu) -> u64 {
        let queued = queue.bytes() + queue.packets() * u64::from(pdu.overhead_bytes);
        self.head.map_or(queued, |head| queued + u64::from(cost(&head, pdu)))
    }

    /// The same with a packet sent in part counted in full.
    pub fn packet_backlog(&self, queue: &MeteredQueue, pdu: &Pdu) -> u64 {
        let queued = queue.bytes() + queue.packets() * u64::from(pdu.overhead_bytes);
        self.head.map_or(queued, |head| queued + u64::from(pdu.packet_bytes(head.packet.len)))
    }

    pub fn is_empty(&self, queue: &MeteredQueue) -> bool {
        self.head.is_none() && queue.packets() == 0
    }

    /// The next PDU of at most `room` bytes.
    pub fn next(&mut self, now: Time, room: u32, pdu: &Pdu, queue: &mut MeteredQueue, out: &mut Output<'_>) -> Option<Piece> {
        if self.head.is_none() {
            let packet = queue.dequeue(now, out)?;
            self.head = Some(FragmentedPacket { packet, left: u32::from(packet.len), cut: false });
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

    /// Discards all sent fragments of the current packet.
    pub fn restart_packet(&mut self) {
        if let Some(head) = &mut self.head {
            *head = FragmentedPacket { left: u32::from(head.packet.len), cut: false, ..*head };
        }
    }

    /// Removes the packet sent in part.
    pub fn take_fragmented(&mut self) -> Option<Packet> {
        self.head.take().map(|head| head.packet)
    }

    /// Removes the next packet.
    pub fn take_head(&mut self, now: Time, queue: &mut MeteredQueue, out: &mut Output<'_>) -> Option<Packet> {
        self.take_fragmented().or_else(|| queue.dequeue(now, out))
    }
}

fn cost(head: &FragmentedPacket, pdu: &Pdu) -> u32 {
    pdu.overhead_bytes + head.left + if head.cut { SUBHEADER } else { 0 }
}
