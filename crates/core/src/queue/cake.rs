//! The core of CAKE (Høiland-Jørgensen, Täht and Morton 2018): a FIFO per flow by a set-associative
//! hash, COBALT in each, and DRR that is fair to hosts first and to their flows second. Shaper,
//! framing and ACK filter are separate elements.

use super::cobalt::Cobalt;
use super::codel::CoDelParameters;
use super::drr::DrrScheduler;
use super::fq_codel::check_flows;
use super::{Fifo, Limit, Order, Queue};
use crate::config_check::Checked;
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};
use crate::view::hash;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CakeConfig {
    #[serde(flatten)]
    pub control: CoDelParameters,
    /// Number of FIFOs, in sets of eight; a flow may take any free one of its set.
    pub flows: u32,
    /// Bytes per round of a flow whose hosts have no other flow.
    pub quantum: u32,
    /// Limit of packets in all FIFOs; `memory` is the limit of bytes.
    #[serde(rename = "packets")]
    pub limit: u64,
    #[serde(rename = "bytes")]
    pub memory: u64,
    /// Fairness between source and destination hosts before flows ("triple isolation", section
    /// III.B), for packets whose hosts are known.
    pub hosts: bool,
    /// Serialization time of `mtu` bytes; zero if the rate is not known.
    #[serde(skip)]
    pub packet_time: Span,
    #[serde(skip)]
    pub order: Order,
}

impl CakeConfig {
    pub(super) fn check(&self) -> Checked {
        check_flows(Limit { packets: self.limit, bytes: self.memory }, self.flows, self.quantum)?;
        self.control.check()
    }

    /// The parameters for a service rate: the target is at least the serialization time of 1.5
    /// packets (Høiland-Jørgensen, Täht and Morton 2018, section III), the interval grows by as much
    /// and is at least two targets (Linux, `cake_set_rate()`).
    pub fn at_rate(self, rate: Option<Rate>) -> CakeConfig {
        let CoDelParameters { target: base, interval, mtu, .. } = self.control;
        let packet_time = rate.map_or(Span::ZERO, |rate| rate.time_to_send(mtu));
        let target = base.max(Span(packet_time.0.saturating_mul(3) / 2));
        let interval = (interval + (target - base)).max(target.saturating_mul(2));
        CakeConfig { control: CoDelParameters { target, interval, ..self.control }, packet_time, ..self }
    }
}

/// Associativity of the hash: FIFOs that a flow can use (section III.B).
const SET_SIZE: u32 = 8;

#[derive(Debug, Default)]
struct CakeFlow {
    fifo: Fifo,
    cobalt: Cobalt,
    /// The flow that has this FIFO, or had it last.
    owner: u64,
    /// Other flows that share the FIFO because their set was full. They stay until it is empty:
    /// moving earlier would reorder their packets.
    shared_by: Vec<u64>,
    /// The flow's hosts, while it is active.
    hosts: Option<Hosts>,
}

/// Hashes of a packet's source and destination.
#[derive(Clone, Copy, Debug)]
struct Hosts {
    from: u64,
    to: u64,
}

/// Number of active flows per host.
#[derive(Debug, Default)]
struct HostFlows {
    from: BTreeMap<u64, u32>,
    to: BTreeMap<u64, u32>,
}

impl HostFlows {
    fn add(&mut self, hosts: Hosts) {
        *self.from.entry(hosts.from).or_default() += 1;
        *self.to.entry(hosts.to).or_default() += 1;
    }

    fn remove(&mut self, hosts: Hosts) {
        for (of, host) in [(&mut self.from, hosts.from), (&mut self.to, hosts.to)] {
            if let Some(flows) = of.get_mut(&host) {
                *flows -= 1;
                if *flows == 0 {
                    of.remove(&host);
                }
            }
        }
    }

    /// Active flows of the busier of the two hosts, which divides the quantum.
    fn max(&self, hosts: Hosts) -> u32 {
        let active = |flows: &BTreeMap<u64, u32>, host| flows.get(&host).copied().unwrap_or(0);
        active(&self.from, hosts.from).max(active(&self.to, hosts.to)).max(1)
    }
}

#[derive(Debug)]
pub struct Cake {
    config: CakeConfig,
    /// The control before it follows from the rate.
    configured: CoDelParameters,
    flows: Vec<CakeFlow>,
    drr: DrrScheduler,
    host_flows: HostFlows,
    packets: u64,
    bytes: u64,
    salt: u64,
    rng: Rng,
}

impl Cake {
    pub fn new(config: CakeConfig, mut rng: Rng) -> Cake {
        let count = config.flows.max(1);
        let flow = || CakeFlow { fifo: Fifo::new(config.order), ..CakeFlow::default() };
        let salt = rng.salt();
        let flows = (0..count).map(|_| flow()).collect();
        let configured = config.control;
        Cake {
            config,
            configured,
            flows,
            drr: DrrScheduler::new(count),
            host_flows: HostFlows::default(),
            packets: 0,
            bytes: 0,
            salt,
            rng,
        }
    }

    /// The same queue with the parameters for a service rate.
    pub(super) fn at_rate(mut self, rate: Option<Rate>) -> Cake {
        self.config = self.config.at_rate(rate);
        self
    }

    /// The FIFO of a packet's flow: the flow's own, else a free one of its set, else a shared one.
    /// Also returns the flow's hash.
    fn flow_of(&self, packet: &Packet, out: &Output<'_>) -> (u32, u64) {
        let owner = out.arena.flow_hash(packet, self.salt);
        let count = self.flows.len() as u64;
        let preferred = (owner % count) as u32;
        let first = preferred - preferred % SET_SIZE;
        let set = first..(first + SET_SIZE).min(count as u32);
        let has = |&number: &u32| {
            let flow = &self.flows[number as usize];
            self.drr.is_active(number) && (flow.owner == owner || flow.shared_by.contains(&owner))
        };
        let free = |number: &u32| !self.drr.is_active(*number);
        let number = set.clone().find(has).or_else(|| Some(preferred).filter(free)).or_else(|| set.clone().find(free));
        (number.unwrap_or(preferred), owner)
    }

    fn hosts_of(&self, packet: &Packet, out: &Output<'_>) -> Option<Hosts> {
        let (from, to) = out.arena.addresses(packet).filter(|_| self.config.hosts)?;
        Some(Hosts { from: hash(self.salt, &from), to: hash(self.salt, &to) })
    }

    fn quantum(config: &CakeConfig, host_flows: &HostFlows, flow: &CakeFlow) -> i64 {
        i64::from(config.quantum) / flow.hosts.map_or(1, |hosts| i64::from(host_flows.max(hosts)))
    }

    fn over_limit(&self) -> bool {
        self.packets > self.config.limit || self.bytes > self.config.memory
    }

    /// Drops the oldest packet of the longest FIFO and raises its BLUE probability.
    fn drop_from_longest(&mut self, now: Time, out: &mut Output<'_>) {
        // The first of several equal ones, to be deterministic.
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
        let (number, owner) = self.flow_of(&packet, out);
        let activates = !self.drr.is_active(number);
        let hosts = if activates { self.hosts_of(&packet, out) } else { None };
        let flow = &mut self.flows[number as usize];
        flow.fifo.push(now, packet);
        self.packets += 1;
        self.bytes += u64::from(packet.len);
        if activates {
            if flow.owner != owner {
                // Another flow's control state does not apply to this flow.
                (flow.owner, flow.cobalt) = (owner, Cobalt::default());
            }
            flow.hosts = hosts;
            if let Some(hosts) = hosts {
                self.host_flows.add(hosts);
            }
            self.drr.activate(number, Cake::quantum(&self.config, &self.host_flows, flow));
        } else if flow.owner != owner && !flow.shared_by.contains(&owner) {
            flow.shared_by.push(owner);
        }
        while self.over_limit() {
            self.drop_from_longest(now, out);
        }
    }

    fn dequeue(&mut self, now: Time, out: &mut Output<'_>) -> Option<(Time, Packet)> {
        loop {
            let (config, host_flows, flows) = (&self.config, &self.host_flows, &self.flows);
            let quantum = |number: u32| Cake::quantum(config, host_flows, &flows[number as usize]);
            let (number, is_new) = self.drr.next(quantum)?;
            let CakeFlow { fifo, cobalt, hosts, shared_by, .. } = &mut self.flows[number as usize];
            let (packets, bytes) = (fifo.packets(), fifo.bytes());
            let first = cobalt.dequeue(now, fifo, &self.config, &mut self.rng, out);
            self.packets -= packets - fifo.packets();
            self.bytes -= bytes - fifo.bytes();
            if let Some(first) = first {
                self.drr.charge(number, first.packet.len);
                return Some((first.since, first.packet));
            }
            if self.drr.retire(number, is_new) {
                shared_by.clear();
                if let Some(hosts) = hosts.take() {
                    self.host_flows.remove(hosts);
                }
            }
        }
    }

    fn set_rate(&mut self, rate: Rate) {
        self.config = CakeConfig { control: self.configured, ..self.config }.at_rate(Some(rate));
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
        let (number, _) = self.flow_of(packet, out);
        let fifo = &mut self.flows[number as usize].fifo;
        let (packets, bytes) = (fifo.packets(), fifo.bytes());
        change(fifo, out);
        self.packets = self.packets + fifo.packets() - packets;
        self.bytes = self.bytes + fifo.bytes() - bytes;
    }
}
