//! CAKE's core (Høiland-Jørgensen, Täht and Morton 2018): a fifo for each flow by a set-associative hash, COBALT in each, drr that are fair
//! to hosts first and to their flows then. The rate, the framing and the ACK filter are elements of their own.

use super::cobalt::Cobalt;
use super::codel::CoDelParameters;
use super::drr::DrrScheduler;
use super::{Fifo, Order, Queue};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::Time;
use crate::view::hash;
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug)]
pub struct CakeConfig {
    pub control: CoDelParameters,
    /// Lines, in sets of eight; a flow may take any that is free in its set.
    pub flows: u32,
    /// Bytes in a turn of a flow whose hosts have no other.
    pub quantum: u32,
    /// Packets in all lines, and bytes.
    pub limit: u64,
    pub memory: u64,
    /// Fair to source and destination hosts before flows ("triple isolation", section III.B), as far as packets say who they are.
    pub hosts: bool,
    pub order: Order,
}

/// Lines that a flow can choose from (section III.B).
const WAYS: u32 = 8;

#[derive(Debug, Default)]
struct Flow {
    fifo: Fifo,
    cobalt: Cobalt,
    /// Whose fifo it is, or was last.
    owner: u64,
    /// Flows that share it as their set was taken: they stay until it is empty, or their packets would overtake each other.
    guests: Vec<u64>,
    /// Its hosts, while it has a turn.
    hosts: Option<Hosts>,
}

/// Where packets come from and go to, hashed.
#[derive(Clone, Copy, Debug)]
struct Hosts {
    from: u64,
    to: u64,
}

/// Flows that have a turn, by host.
#[derive(Debug, Default)]
struct Busy {
    from: BTreeMap<u64, u32>,
    to: BTreeMap<u64, u32>,
}

impl Busy {
    fn join(&mut self, hosts: Hosts) {
        *self.from.entry(hosts.from).or_default() += 1;
        *self.to.entry(hosts.to).or_default() += 1;
    }

    fn leave(&mut self, hosts: Hosts) {
        for (of, host) in [(&mut self.from, hosts.from), (&mut self.to, hosts.to)] {
            if let Some(flows) = of.get_mut(&host) {
                *flows -= 1;
                if *flows == 0 {
                    of.remove(&host);
                }
            }
        }
    }

    /// Flows of the busier of the two hosts: the more it has, the less each may send.
    fn most(&self, hosts: Hosts) -> u32 {
        let of = |flows: &BTreeMap<u64, u32>, host| flows.get(&host).copied().unwrap_or(0);
        of(&self.from, hosts.from).max(of(&self.to, hosts.to)).max(1)
    }
}

#[derive(Debug)]
pub struct Cake {
    config: CakeConfig,
    flows: Vec<Flow>,
    drr: DrrScheduler,
    busy: Busy,
    packets: u64,
    bytes: u64,
    salt: u64,
    rng: Rng,
}

impl Cake {
    pub fn new(config: CakeConfig, mut rng: Rng) -> Cake {
        let lines = config.flows.max(1);
        let flow = || Flow { fifo: Fifo::new(config.order), ..Flow::default() };
        let salt = rng.salt();
        let flows = (0..lines).map(|_| flow()).collect();
        Cake { config, flows, drr: DrrScheduler::new(lines), busy: Busy::default(), packets: 0, bytes: 0, salt, rng }
    }

    /// The fifo of a packet's flow: the one that it has, else one of its set that nobody has, else one that it must share.
    fn line_of(&self, packet: &Packet, out: &Output<'_>) -> (u32, u64) {
        let owner = out.arena.flow_hash(packet, self.salt);
        let lines = self.flows.len() as u64;
        let wanted = (owner % lines) as u32;
        let set = wanted - wanted % WAYS;
        let ways = set..(set + WAYS).min(lines as u32);
        let has = |&number: &u32| {
            let flow = &self.flows[number as usize];
            self.drr.is_listed(number) && (flow.owner == owner || flow.guests.contains(&owner))
        };
        let free = |number: &u32| !self.drr.is_listed(*number);
        let number = ways.clone().find(has).or_else(|| Some(wanted).filter(free)).or_else(|| ways.clone().find(free));
        (number.unwrap_or(wanted), owner)
    }

    fn hosts_of(&self, packet: &Packet, out: &Output<'_>) -> Option<Hosts> {
        let (from, to) = out.arena.addresses(packet).filter(|_| self.config.hosts)?;
        Some(Hosts { from: hash(self.salt, &from), to: hash(self.salt, &to) })
    }

    fn quantum(config: &CakeConfig, busy: &Busy, flow: &Flow) -> i64 {
        i64::from(config.quantum) / flow.hosts.map_or(1, |hosts| i64::from(busy.most(hosts)))
    }

    fn too_full(&self) -> bool {
        self.packets > self.config.limit || self.bytes > self.config.memory
    }

    /// The oldest packet of the longest fifo goes, and its BLUE is told.
    fn drop_from_the_longest(&mut self, now: Time, out: &mut Output<'_>) {
        // The first of equals, so that the choice depends on nothing else.
        let Some(flow) = self.flows.iter_mut().rev().max_by_key(|flow| flow.fifo.bytes()) else { return };
        flow.cobalt.overflow(now, &self.config.control);
        if let Some(first) = flow.fifo.pop() {
            self.packets -= 1;
            self.bytes -= u64::from(first.packet.len);
            out.drop(first.packet, DropReason::QueueFull);
        }
    }
}

impl Queue for Cake {
    fn enqueue(&mut self, now: Time, packet: Packet, out: &mut Output<'_>) {
        let (number, owner) = self.line_of(&packet, out);
        let joins = !self.drr.is_listed(number);
        let hosts = if joins { self.hosts_of(&packet, out) } else { None };
        let flow = &mut self.flows[number as usize];
        flow.fifo.push(now, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if joins {
            if flow.owner != owner {
                // What was learnt of another flow says nothing about this one.
                (flow.owner, flow.cobalt) = (owner, Cobalt::default());
            }
            flow.hosts = hosts;
            if let Some(hosts) = hosts {
                self.busy.join(hosts);
            }
            self.drr.join(number, Cake::quantum(&self.config, &self.busy, flow));
        } else if flow.owner != owner && !flow.guests.contains(&owner) {
            flow.guests.push(owner);
        }
        while self.too_full() {
            self.drop_from_the_longest(now, out);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        loop {
            let (config, busy, flows) = (&self.config, &self.busy, &self.flows);
            let quantum = |number: u32| Cake::quantum(config, busy, &flows[number as usize]);
            let (number, is_new) = self.drr.next(quantum)?;
            let Flow { fifo, cobalt, hosts, guests, .. } = &mut self.flows[number as usize];
            let (packets, bytes) = (fifo.packets(), fifo.bytes());
            let first = cobalt.take(now, fifo, &self.config.control, &mut self.rng, out);
            self.packets -= packets - fifo.packets();
            self.bytes -= bytes - fifo.bytes();
            if let Some(first) = first {
                self.drr.spend(number, first.packet.len);
                return Some((first.since, first.packet));
            }
            if self.drr.retire(number, is_new) {
                guests.clear();
                if let Some(hosts) = hosts.take() {
                    self.busy.leave(hosts);
                }
            }
        }
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
        let (number, _) = self.line_of(packet, out);
        let fifo = &mut self.flows[number as usize].fifo;
        let (packets, bytes) = (fifo.packets(), fifo.bytes());
        change(fifo, out);
        self.packets = self.packets + fifo.packets() - packets;
        self.bytes = self.bytes + fifo.bytes() - bytes;
    }
}
