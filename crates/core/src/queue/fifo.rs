//! A fifo of waiting packets: the store on which every queue is built.

use crate::packet::{Kind, Packet};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// A packet and when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuedPacket {
    pub since: Time,
    pub packet: Packet,
    /// What it says may be said nowhere else: no ACK filter takes it out.
    pub guarded: bool,
}

impl QueuedPacket {
    pub fn sojourn(&self, now: Time) -> Span {
        now - self.since
    }
}

/// Who goes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Order {
    #[default]
    Arrival,
    /// Pure ACKs before everything else, each kind in the order of arrival (`asymmetry`, acks-first scheduling).
    AcksFirst,
}

/// First in, first out, or acks first.
#[derive(Debug, Default)]
pub struct Fifo {
    order: Order,
    /// Pure ACKs, where they go first.
    acks: VecDeque<QueuedPacket>,
    fifo: VecDeque<QueuedPacket>,
    bytes: u64,
}

impl Fifo {
    pub fn new(order: Order) -> Fifo {
        Fifo { order, ..Fifo::default() }
    }

    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.len);
        let waiting = QueuedPacket { since: now, packet, guarded: false };
        if self.order == Order::AcksFirst && packet.kind.has(Kind::PURE_ACK) {
            self.acks.push_back(waiting);
        } else {
            self.fifo.push_back(waiting);
        }
    }

    pub fn pop(&mut self) -> Option<QueuedPacket> {
        let first = self.acks.pop_front().or_else(|| self.fifo.pop_front())?;
        self.bytes -= u64::from(first.packet.len);
        Some(first)
    }

    /// What [`Fifo::pop`] would take_next.
    pub fn first(&self) -> Option<&QueuedPacket> {
        self.acks.front().or_else(|| self.fifo.front())
    }

    /// How long the first one has waited; zero when nobody waits.
    pub fn delay(&self, now: Time) -> Span {
        self.first().map_or(Span::ZERO, |first| first.sojourn(now))
    }

    pub fn packets(&self) -> u64 {
        (self.acks.len() + self.fifo.len()) as u64
    }
    pub fn is_empty(&self) -> bool {
        self.packets() == 0
    }
    /// IP bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where pure ACKs wait.
    fn ack_fifo(&mut self) -> &mut VecDeque<QueuedPacket> {
        match self.order {
            Order::Arrival => &mut self.fifo,
            Order::AcksFirst => &mut self.acks,
        }
    }

    /// QueuedPacket pure ACKs with their places, the oldest first.
    pub fn acks(&mut self) -> impl DoubleEndedIterator<Item = (usize, &mut QueuedPacket)> {
        self.ack_fifo().iter_mut().enumerate().filter(|(_, waiting)| waiting.packet.kind.has(Kind::PURE_ACK))
    }

    /// Takes out the ACK at a place that [`Fifo::acks`] gave; those behind it move up.
    pub fn take_ack(&mut self, place: usize) -> Option<Packet> {
        let packet = self.ack_fifo().remove(place)?.packet;
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }

    /// Puts an ACK at a place, before the one that is there.
    pub fn put_ack(&mut self, place: usize, waiting: QueuedPacket) {
        self.bytes += u64::from(waiting.packet.len);
        let fifo = self.ack_fifo();
        fifo.insert(place.min(fifo.len()), waiting);
    }
}
