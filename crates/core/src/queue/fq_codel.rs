//! FQ-CoDel (RFC 8290): a FIFO per flow, DRR with new flows first, and CoDel in each FIFO.

use super::codel::{CoDelParameters, CoDelState};
use super::drr::DrrScheduler;
use super::{Fifo, Limit, Order, Queue};
use crate::config_check::{Checked, ensure};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;
use serde::{Deserialize, Serialize};

/// Names and defaults as in RFC 8290, section 5.2.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FqCoDelConfig {
    #[serde(flatten)]
    pub control: CoDelParameters,
    /// Number of FIFOs; flows with the same hash share one.
    pub flows: u32,
    /// Bytes per round.
    pub quantum: u32,
    /// Limit of packets in all FIFOs; `memory` is the limit of bytes.
    #[serde(rename = "packets")]
    pub limit: u64,
    #[serde(rename = "bytes")]
    pub memory: u64,
    #[serde(skip)]
    pub order: Order,
}

impl FqCoDelConfig {
    pub(super) fn check(&self) -> Checked {
        check_flows(Limit { packets: self.limit, bytes: self.memory }, self.flows, self.quantum)?;
        self.control.check()
    }
}

/// An error if the limits of a queue with a FIFO for each flow are outside their ranges.
pub(super) fn check_flows(limit: Limit, flows: u32, quantum: u32) -> Checked {
    limit.check_room()?;
    ensure((1..=65_536).contains(&flows), || format!("queue.flows is {flows}: it must lie between 1 and 65536"))?;
    ensure(quantum >= 64, || format!("queue.quantum is {quantum}: at least 64 bytes are needed"))
}

#[derive(Debug, Default)]
struct FqCoDelFlow {
    fifo: Fifo,
    codel: CoDelState,
}

/// Maximum number of packets dropped at once on overflow (RFC 8290, section 4.1).
const BATCH: u64 = 64;

#[derive(Debug)]
pub struct FqCoDel {
    config: FqCoDelConfig,
    flows: Vec<FqCoDelFlow>,
    drr: DrrScheduler,
    packets: u64,
    bytes: u64,
    salt: u64,
}

impl FqCoDel {
    pub fn new(config: FqCoDelConfig, mut rng: Rng) -> FqCoDel {
        let flow = || FqCoDelFlow { fifo: Fifo::new(config.order), ..FqCoDelFlow::default() };
        FqCoDel {
            config,
            flows: (0..config.flows.max(1)).map(|_| flow()).collect(),
            drr: DrrScheduler::new(config.flows.max(1)),
            packets: 0,
            bytes: 0,
            salt: rng.salt(),
        }
    }

    fn flow_of(&self, packet: &Packet, out: &Output<'_>) -> u32 {
        (out.arena.flow_hash(packet, self.salt) % self.flows.len() as u64) as u32
    }

    fn over_limit(&self) -> bool {
        self.packets > self.config.limit || self.bytes > self.config.memory
    }

    /// Drops half of the longest FIFO from its head, up to a batch (RFC 8290, section 4.1).
    fn drop_from_longest(&mut self, out: &mut Output<'_>) {
        // The first of several equal ones, to be deterministic.
        let longest = self.flows.iter_mut().rev().max_by_key(|flow| flow.fifo.bytes());
        let Some(flow) = longest else { return };
        let batch = (flow.fifo.packets() / 2).clamp(1, BATCH);
        for _ in 0..batch {
            let Some(first) = flow.fifo.pop() else { break };
            self.packets -= 1;
            self.bytes -= u64::from(first.packet.len);
            out.drop(first.packet, DropReason::QueueFull);
        }
    }
}

impl Queue for FqCoDel {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        let number = self.flow_of(&packet, out);
        self.flows[number as usize].fifo.push(now, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if !self.drr.is_active(number) {
            self.drr.activate(number, i64::from(self.config.quantum));
        }
        while self.over_limit() {
            self.drop_from_longest(out);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        let quantum = i64::from(self.config.quantum);
        while let Some((number, is_new)) = self.drr.next(|_| quantum) {
            let FqCoDelFlow { fifo, codel } = &mut self.flows[number as usize];
            let (packets, bytes) = (fifo.packets(), fifo.bytes());
            let first = codel.dequeue(now, fifo, &self.config.control, out);
            self.packets -= packets - fifo.packets();
            self.bytes -= bytes - fifo.bytes();
            if let Some(first) = first {
                self.drr.charge(number, first.packet.len);
                return Some((first.since, first.packet));
            }
            self.drr.retire(number, is_new);
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
        self.packets < self.config.limit && self.bytes + u64::from(packet.len) <= self.config.memory
    }
    fn with_fifo(&mut self, packet: &Packet, out: &mut Output<'_>, change: &mut dyn FnMut(&mut Fifo, &mut Output<'_>)) {
        let number = self.flow_of(packet, out) as usize;
        let fifo = &mut self.flows[number].fifo;
        let (packets, bytes) = (fifo.packets(), fifo.bytes());
        change(fifo, out);
        self.packets = self.packets + fifo.packets() - packets;
        self.bytes = self.bytes + fifo.bytes() - bytes;
    }
}
