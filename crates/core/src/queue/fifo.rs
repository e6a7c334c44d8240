//! A line of waiting packets: the store on which every queue is built.

use crate::packet::Packet;
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// A packet and when it came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    pub since: Time,
    pub packet: Packet,
}

impl Waiting {
    pub fn sojourn(&self, now: Time) -> Span {
        now - self.since
    }
}

/// First in, first out.
#[derive(Debug, Default)]
pub struct Fifo {
    line: VecDeque<Waiting>,
    bytes: u64,
}

impl Fifo {
    pub fn push(&mut self, now: Time, packet: Packet) {
        self.bytes += u64::from(packet.len);
        self.line.push_back(Waiting { since: now, packet });
    }

    pub fn pop(&mut self) -> Option<Waiting> {
        let first = self.line.pop_front()?;
        self.bytes -= u64::from(first.packet.len);
        Some(first)
    }

    pub fn packets(&self) -> u64 {
        self.line.len() as u64
    }
    /// IP bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
