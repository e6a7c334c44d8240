//! FQ-CoDel (RFC 8290): a line for each flow, served in turns, new flows first, and CoDel in each line.

use super::codel::{Control, Law};
use super::{Fifo, Order, Queue};
use crate::element::{Cause, Out};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;
use std::collections::VecDeque;

/// Names and defaults as in RFC 8290, section 5.2.
#[derive(Clone, Copy, Debug)]
pub struct FqCoDelSettings {
    pub control: Control,
    /// Lines; flows share one when their hashes do.
    pub flows: u32,
    /// Bytes in a turn.
    pub quantum: u32,
    /// Packets in all lines, and bytes.
    pub limit: u64,
    pub memory: u64,
    pub order: Order,
}

#[derive(Debug, Default)]
struct Flow {
    line: Fifo,
    law: Law,
    /// Bytes that it may still send in this turn.
    credit: i64,
    /// It stands on the list of new or old flows.
    listed: bool,
}

/// Most packets that go at once when there is no room (RFC 8290, section 4.1).
const BATCH: u64 = 64;

#[derive(Debug)]
pub struct FqCoDel {
    settings: FqCoDelSettings,
    flows: Vec<Flow>,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    packets: u64,
    bytes: u64,
    salt: u64,
}

impl FqCoDel {
    pub fn new(settings: FqCoDelSettings, mut rng: Rng) -> FqCoDel {
        let flow = || Flow { line: Fifo::new(settings.order), ..Flow::default() };
        FqCoDel {
            settings,
            flows: (0..settings.flows.max(1)).map(|_| flow()).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
            salt: rng.salt(),
        }
    }

    fn flow_of(&self, packet: &Packet, out: &Out<'_>) -> u32 {
        (out.arena.flow_hash(packet, self.salt) % self.flows.len() as u64) as u32
    }

    fn too_full(&self) -> bool {
        self.packets > self.settings.limit || self.bytes > self.settings.memory
    }

    /// Half of the longest line's packets go, from its head, up to a batch (RFC 8290, section 4.1).
    fn drop_from_the_longest(&mut self, out: &mut Out<'_>) {
        // The first of equals, so that the choice depends on nothing else.
        let longest = self.flows.iter_mut().rev().max_by_key(|flow| flow.line.bytes());
        let Some(flow) = longest else { return };
        let most = (flow.line.packets() / 2).clamp(1, BATCH);
        for _ in 0..most {
            let Some(first) = flow.line.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(first.packet.len);
            out.drop(first.packet, Cause::QueueFull);
        }
    }

    /// Whose turn it is: new flows first; who has no credit left gets a quantum and goes to the end of the old ones.
    fn turn(&mut self) -> Option<(u32, bool)> {
        loop {
            let (number, is_new) = match self.new.front() {
                Some(&number) => (number, true),
                None => (*self.old.front()?, false),
            };
            let flow = &mut self.flows[number as usize];
            if flow.credit > 0 {
                return Some((number, is_new));
            }
            flow.credit += i64::from(self.settings.quantum.max(1));
            if is_new {
                self.new.pop_front();
            } else {
                self.old.pop_front();
            }
            self.old.push_back(number);
        }
    }

    /// An empty new flow becomes an old one, so that it cannot come back as new at once; an empty old one leaves (section 4.2).
    fn retire(&mut self, number: u32, was_new: bool) {
        if was_new {
            self.new.pop_front();
            self.old.push_back(number);
        } else {
            self.old.pop_front();
            self.flows[number as usize].listed = false;
        }
    }
}

impl Queue for FqCoDel {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        let number = self.flow_of(&packet, out);
        let flow = &mut self.flows[number as usize];
        flow.line.push(now, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if !flow.listed {
            flow.listed = true;
            flow.credit = i64::from(self.settings.quantum);
            self.new.push_back(number);
        }
        while self.too_full() {
            self.drop_from_the_longest(out);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Out<'_>) -> Option<(Time, Packet)> {
        while let Some((number, is_new)) = self.turn() {
            let Flow { line, law, credit, .. } = &mut self.flows[number as usize];
            let (packets, bytes) = (line.packets(), line.bytes());
            let first = law.take(now, line, &self.settings.control, out);
            self.packets -= packets - line.packets();
            self.bytes -= bytes - line.bytes();
            if let Some(first) = first {
                *credit -= i64::from(first.packet.len);
                return Some((first.since, first.packet));
            }
            self.retire(number, is_new);
        }
        None
    }

    fn packets(&self) -> u64 {
        self.packets
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
    fn has_room(&self, packet: &Packet) -> bool {
        self.packets < self.settings.limit && self.bytes + u64::from(packet.len) <= self.settings.memory
    }
    fn with_line(&mut self, packet: &Packet, out: &mut Out<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Out<'_>)) {
        let number = self.flow_of(packet, out) as usize;
        let line = &mut self.flows[number].line;
        let (packets, bytes) = (line.packets(), line.bytes());
        change(line, out);
        self.packets = self.packets + line.packets() - packets;
        self.bytes = self.bytes + line.bytes() - bytes;
    }
}
