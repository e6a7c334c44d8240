//! A line of waiting packets: the store on which every queue is built.

use crate::packet::{Kind, Packet};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// A packet and when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub since: Time,
    pub packet: Packet,
    /// What it says may be said nowhere else: no ACK filter takes it out.
    pub guarded: bool,
}

impl Waiting {
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
    acks: VecDeque<Waiting>,
    line: VecDeque<Waiting>,
    bytes: u64,
}

impl Fifo {
    pub fn new(order: Order) -> Fifo {
        Fifo { order, ..Fifo::default() }
    }

    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.len);
        let waiting = Waiting { since: now, packet, guarded: false };
        if self.order == Order::AcksFirst && packet.kind.has(Kind::PURE_ACK) {
            self.acks.push_back(waiting);
        } else {
            self.line.push_back(waiting);
        }
    }

    pub fn pop(&mut self) -> Option<Waiting> {
        let first = self.acks.pop_front().or_else(|| self.line.pop_front())?;
        self.bytes -= u64::from(first.packet.len);
        Some(first)
    }

    /// What [`Fifo::pop`] would give.
    pub fn first(&self) -> Option<&Waiting> {
        self.acks.front().or_else(|| self.line.front())
    }

    /// How long the first one has waited; zero when nobody waits.
    pub fn delay(&self, now: Time) -> Span {
        self.first().map_or(Span::ZERO, |first| first.sojourn(now))
    }

    pub fn packets(&self) -> u64 {
        (self.acks.len() + self.line.len()) as u64
    }
    pub fn is_empty(&self) -> bool {
        self.packets() == 0
    }
    /// IP bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Where pure ACKs wait.
    fn ack_line(&mut self) -> &mut VecDeque<Waiting> {
        match self.order {
            Order::Arrival => &mut self.line,
            Order::AcksFirst => &mut self.acks,
        }
    }

    /// Waiting pure ACKs with their places, the oldest first.
    pub fn acks(&mut self) -> impl DoubleEndedIterator<Item = (usize, &mut Waiting)> {
        self.ack_line().iter_mut().enumerate().filter(|(_, waiting)| waiting.packet.kind.has(Kind::PURE_ACK))
    }

    /// Takes out the ACK at a place that [`Fifo::acks`] gave; those behind it move up.
    pub fn take_ack(&mut self, place: usize) -> Option<Packet> {
        let packet = self.ack_line().remove(place)?.packet;
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }

    /// Puts an ACK at a place, before the one that is there.
    pub fn put_ack(&mut self, place: usize, waiting: Waiting) {
        self.bytes += u64::from(waiting.packet.len);
        let line = self.ack_line();
        line.insert(place.min(line.len()), waiting);
    }
}
