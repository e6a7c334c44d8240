//! Stochastic fairness queueing (McKenney 1990; Linux, tc-sfq(8)): a FIFO for each flow by a hash, served
//! in rotation. Each may send `quantum` bytes in its round.

use super::fq_codel::check_flows;
use super::{Fifo, Limit, Order, Queue};
use crate::config_check::Checked;
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SfqConfig {
    /// Limit of all FIFOs together.
    #[serde(flatten)]
    pub limit: Limit,
    /// Number of FIFOs; flows with the same hash share one.
    pub flows: u32,
    /// Bytes per round.
    pub quantum: u32,
    #[serde(skip)]
    pub order: Order,
}

impl SfqConfig {
    pub(super) fn check(&self) -> Checked {
        check_flows(self.limit, self.flows, self.quantum)
    }
}

#[derive(Debug)]
struct SfqFlow {
    fifo: Fifo,
    /// Bytes that the flow may still send in this round.
    allotment: i64,
}

#[derive(Debug)]
pub struct Sfq {
    config: SfqConfig,
    flows: Vec<SfqFlow>,
    /// Flows with packets, the next to be served first.
    rotation: VecDeque<u32>,
    packets: u64,
    bytes: u64,
    salt: u64,
}

impl Sfq {
    pub fn new(config: SfqConfig, mut rng: Rng) -> Sfq {
        let flow = || SfqFlow { fifo: Fifo::new(config.order), allotment: 0 };
        Sfq {
            config,
            flows: (0..config.flows.max(1)).map(|_| flow()).collect(),
            rotation: VecDeque::new(),
            packets: 0,
            bytes: 0,
            salt: rng.salt(),
        }
    }

    fn flow_of(&self, packet: &Packet, out: &Output<'_>) -> u32 {
        (out.arena.flow_hash(packet, self.salt) % self.flows.len() as u64) as u32
    }

    /// Drops the head of the FIFO with the most packets, the first of several (Linux: `headdrop`).
    fn drop_from_longest(&mut self, out: &mut Output<'_>) {
        let longest = (0..self.flows.len()).rev().max_by_key(|number| self.flows[*number].fifo.packets());
        let Some((number, first)) = longest.and_then(|number| Some((number, self.flows[number].fifo.pop()?))) else { return };
        self.packets -= 1;
        self.bytes -= u64::from(first.packet.len);
        if self.flows[number].fifo.is_empty() {
            self.rotation.retain(|waiting| *waiting as usize != number);
        }
        out.drop(first.packet, DropReason::QueueFull);
    }
}

impl Queue for Sfq {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        let number = self.flow_of(&packet, out);
        let flow = &mut self.flows[number as usize];
        if flow.fifo.is_empty() {
            flow.allotment = i64::from(self.config.quantum);
            self.rotation.push_back(number);
        }
        flow.fifo.push(now, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        while self.packets > self.config.limit.packets || self.bytes > self.config.limit.bytes {
            self.drop_from_longest(out);
        }
    }

    fn dequeue(&mut self, _now: Time, _out: &mut Output<'_>) -> Option<(Time, Packet)> {
        loop {
            let number = *self.rotation.front()?;
            let flow = &mut self.flows[number as usize];
            if flow.allotment <= 0 {
                flow.allotment += i64::from(self.config.quantum);
                self.rotation.rotate_left(1);
                continue;
            }
            let Some(first) = flow.fifo.pop() else {
                // An ACK filter has removed its packets.
                self.rotation.pop_front();
                continue;
            };
            flow.allotment -= i64::from(first.packet.len);
            if flow.fifo.is_empty() {
                self.rotation.pop_front();
            }
            self.packets -= 1;
            self.bytes -= u64::from(first.packet.len);
            return Some((first.since, first.packet));
        }
    }

    fn packets(&self) -> u64 {
        self.packets
    }
    fn bytes(&self) -> u64 {
        self.bytes
    }
    fn has_room(&self, packet: &Packet) -> bool {
        self.config.limit.admits(self.packets, self.bytes, packet.len)
    }
    fn with_fifo(&mut self, packet: &Packet, out: &mut Output<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Output<'_>)) {
        let number = self.flow_of(packet, out) as usize;
        let fifo = &mut self.flows[number].fifo;
        let (was_empty, packets, bytes) = (fifo.is_empty(), fifo.packets(), fifo.bytes());
        change(fifo, out);
        self.packets = self.packets + fifo.packets() - packets;
        self.bytes = self.bytes + fifo.bytes() - bytes;
        match (was_empty, fifo.is_empty()) {
            (true, false) => {
                self.flows[number].allotment = i64::from(self.config.quantum);
                self.rotation.push_back(number as u32);
            }
            (false, true) => self.rotation.retain(|waiting| *waiting as usize != number),
            _ => {}
        }
    }
}
