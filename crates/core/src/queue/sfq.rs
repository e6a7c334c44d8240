//! SFQ (McKenney 1990; tc-sfq(8)): a FIFO for each flow, served by deficit round robin. It signals
//! nothing before it is full; then the longest FIFO loses a packet. As in Linux 6.1 (sch_sfq.c).

use super::droptail::DropFrom;
use super::fq_codel::check_flows;
use super::{Fifo, Limit, Order, Queue, QueuedPacket};
use crate::config_check::{Checked, ensure};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SfqConfig {
    /// Of all FIFOs together.
    #[serde(flatten)]
    pub limit: Limit,
    /// Packets of one FIFO.
    pub depth: u64,
    /// Number of FIFOs; flows with the same hash share one.
    pub flows: u32,
    /// Bytes per round.
    pub quantum: u32,
    /// Which packet of a FIFO is dropped.
    pub drop: DropFrom,
    #[serde(skip)]
    pub order: Order,
}

impl SfqConfig {
    pub(super) fn check(&self) -> Checked {
        check_flows(self.limit, self.flows, self.quantum)?;
        ensure(self.depth > 0, || "queue.depth is 0: a FIFO must be able to hold a packet".into())
    }
}

#[derive(Debug, Default)]
struct SfqFlow {
    fifo: Fifo,
    /// Bytes that the flow may still send in this round.
    allotment: i64,
    /// When the FIFO got its length, as the number of that change: of equally long ones the last loses.
    changed: u64,
}

#[derive(Debug)]
pub struct Sfq {
    config: SfqConfig,
    flows: Vec<SfqFlow>,
    /// The flows with packets, in the order of service.
    ring: VecDeque<u32>,
    packets: u64,
    bytes: u64,
    changes: u64,
    salt: u64,
}

impl Sfq {
    pub fn new(config: SfqConfig, mut rng: Rng) -> Sfq {
        let flow = || SfqFlow { fifo: Fifo::new(config.order), ..SfqFlow::default() };
        Sfq {
            config,
            flows: (0..config.flows.max(1)).map(|_| flow()).collect(),
            ring: VecDeque::new(),
            packets: 0,
            bytes: 0,
            changes: 0,
            salt: rng.salt(),
        }
    }

    fn flow_of(&self, packet: &Packet, out: &Output<'_>) -> u32 {
        (out.arena.flow_hash(packet, self.salt) % self.flows.len() as u64) as u32
    }

    /// A packet of a flow that is dropped; the head or the tail of its FIFO.
    fn take_dropped(&mut self, number: u32) -> Option<QueuedPacket> {
        let drop = self.config.drop;
        self.change(number, |fifo| if drop == DropFrom::Front { fifo.pop() } else { fifo.pop_last() })
    }

    /// Calls `change` with the FIFO of a flow. A flow that has packets again is served last, with a
    /// quantum; one without any leaves the ring.
    fn change<T>(&mut self, number: u32, change: impl FnOnce(&mut Fifo) -> T) -> T {
        let flow = &mut self.flows[number as usize];
        let (packets, bytes) = (flow.fifo.packets(), flow.fifo.bytes());
        let result = change(&mut flow.fifo);
        self.packets = self.packets + flow.fifo.packets() - packets;
        self.bytes = self.bytes + flow.fifo.bytes() - bytes;
        self.changes += 1;
        flow.changed = self.changes;
        if packets == 0 && !flow.fifo.is_empty() {
            flow.allotment = i64::from(self.config.quantum);
            self.ring.push_back(number);
        } else if packets > 0 && flow.fifo.is_empty() {
            self.ring.retain(|of_ring| *of_ring != number);
        }
        result
    }

    /// The longest FIFO in packets; where all have one, that of the flow that is served next.
    fn longest(&self) -> Option<u32> {
        let longest = self.ring.iter().copied().max_by_key(|number| {
            let flow = &self.flows[*number as usize];
            (flow.fifo.packets(), flow.changed)
        })?;
        if self.flows[longest as usize].fifo.packets() > 1 { Some(longest) } else { self.ring.front().copied() }
    }
}

impl Queue for Sfq {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        let number = self.flow_of(&packet, out);
        if self.flows[number as usize].fifo.packets() >= self.config.depth {
            if self.config.drop == DropFrom::Tail {
                return out.drop(packet, DropReason::QueueFull);
            }
            if let Some(first) = self.take_dropped(number) {
                out.drop(first.packet, DropReason::QueueFull);
            }
        }
        self.change(number, |fifo| fifo.push(now, packet));
        while self.packets > self.config.limit.packets || self.bytes > self.config.limit.bytes {
            let Some(dropped) = self.longest().and_then(|longest| self.take_dropped(longest)) else { return };
            out.drop(dropped.packet, DropReason::QueueFull);
        }
    }

    fn dequeue(&mut self, _now: Time, _out: &mut Output<'_>) -> Option<(Time, Packet)> {
        let number = loop {
            let number = *self.ring.front()?;
            let flow = &mut self.flows[number as usize];
            if flow.allotment > 0 {
                break number;
            }
            flow.allotment += i64::from(self.config.quantum);
            self.ring.rotate_left(1);
        };
        let first = self.change(number, Fifo::pop)?;
        self.flows[number as usize].allotment -= i64::from(first.packet.len);
        Some((first.since, first.packet))
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
        let number = self.flow_of(packet, out);
        self.change(number, |fifo| change(fifo, out));
    }
}
