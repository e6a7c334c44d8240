//! A FIFO of packets: the store of every queue.

use crate::packet::{Kind, Packet};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// A packet and its enqueue time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket {
    pub since: Time,
    pub packet: Packet,
    /// ACK filters keep this packet: it carries information that no later ACK repeats.
    pub guarded: bool,
}

impl QueuedPacket {
    #[inline]
    pub fn sojourn(&self, now: Time) -> Span {
        now - self.since
    }
}

/// Service order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    #[default]
    Arrival,
    /// Pure ACKs before other packets, in arrival order within each kind (`asymmetry`, acks-first
    /// scheduling).
    AcksFirst,
}

/// First in, first out, or ACKs first.
#[derive(Debug, Default)]
pub struct Fifo {
    order: Order,
    /// Pure ACKs, with `Order::AcksFirst`.
    acks: VecDeque<QueuedPacket>,
    fifo: VecDeque<QueuedPacket>,
    bytes: u64,
}

impl Fifo {
    pub fn new(order: Order) -> Fifo {
        Fifo { order, ..Fifo::default() }
    }

    #[inline]
    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.len);
        let waiting = QueuedPacket { since: now, packet, guarded: false };
        if self.order == Order::AcksFirst && packet.kind.has(Kind::PURE_ACK) {
            self.acks.push_back(waiting);
        } else {
            self.fifo.push_back(waiting);
        }
    }

    #[inline]
    pub fn pop(&mut self) -> Option<QueuedPacket> {
        let first = if self.acks.is_empty() { &mut self.fifo } else { &mut self.acks }.pop_front()?;
        self.bytes -= u64::from(first.packet.len);
        Some(first)
    }

    /// The packet that [`Fifo::pop`] would return.
    #[inline]
    pub fn first(&self) -> Option<&QueuedPacket> {
        self.acks.front().or_else(|| self.fifo.front())
    }

    /// Sojourn time of the first packet; zero if the FIFO is empty.
    pub fn delay(&self, now: Time) -> Span {
        self.first().map_or(Span::ZERO, |first| first.sojourn(now))
    }

    #[inline]
    pub fn packets(&self) -> u64 {
        (self.acks.len() + self.fifo.len()) as u64
    }
    pub fn is_empty(&self) -> bool {
        self.packets() == 0
    }
    /// IP bytes.
    #[inline]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The deque that holds pure ACKs.
    fn ack_fifo(&mut self) -> &mut VecDeque<QueuedPacket> {
        match self.order {
            Order::Arrival => &mut self.fifo,
            Order::AcksFirst => &mut self.acks,
        }
    }

    /// Queued pure ACKs with their indices, oldest first.
    pub fn acks(&mut self) -> impl DoubleEndedIterator<Item = (usize, &mut QueuedPacket)> {
        self.ack_fifo().iter_mut().enumerate().filter(|(_, waiting)| waiting.packet.kind.has(Kind::PURE_ACK))
    }

    /// Removes the ACK at an index from [`Fifo::acks`]; later indices decrease by one.
    pub fn remove_ack(&mut self, index: usize) -> Option<Packet> {
        let packet = self.ack_fifo().remove(index)?.packet;
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }

    /// Inserts an ACK before the packet at an index.
    pub fn insert_ack(&mut self, index: usize, waiting: QueuedPacket) {
        self.bytes += u64::from(waiting.packet.len);
        let fifo = self.ack_fifo();
        fifo.insert(index.min(fifo.len()), waiting);
    }
}
