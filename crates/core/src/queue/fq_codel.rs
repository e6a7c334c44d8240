//! FQ-CoDel (RFC 8290): a line for each flow, served in turns, new flows first, and CoDel in each line.

use super::codel::{Control, Law};
use super::turns::Turns;
use super::{Fifo, Order, Queue};
use crate::element::{Cause, Out};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;

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
}

/// Most packets that go at once when there is no room (RFC 8290, section 4.1).
const BATCH: u64 = 64;

#[derive(Debug)]
pub struct FqCoDel {
    settings: FqCoDelSettings,
    flows: Vec<Flow>,
    turns: Turns,
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
            turns: Turns::new(settings.flows.max(1)),
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
}

impl Queue for FqCoDel {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Out<'_>) {
        let number = self.flow_of(&packet, out);
        self.flows[number as usize].line.push(now, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if !self.turns.is_listed(number) {
            self.turns.join(number, i64::from(self.settings.quantum));
        }
        while self.too_full() {
            self.drop_from_the_longest(out);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Out<'_>) -> Option<(Time, Packet)> {
        let quantum = i64::from(self.settings.quantum);
        while let Some((number, is_new)) = self.turns.next(|_| quantum) {
            let Flow { line, law } = &mut self.flows[number as usize];
            let (packets, bytes) = (line.packets(), line.bytes());
            let first = law.take(now, line, &self.settings.control, out);
            self.packets -= packets - line.packets();
            self.bytes -= bytes - line.bytes();
            if let Some(first) = first {
                self.turns.spend(number, first.packet.len);
                return Some((first.since, first.packet));
            }
            self.turns.retire(number, is_new);
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
