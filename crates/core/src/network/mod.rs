//! Who hands what to whom: elements, their wiring, and the one loop that both the simulator and the emulator run.

mod builder;
mod clock;

pub use builder::NetworkBuilder;
pub use clock::{Clock, VirtualClock, Waited};

use crate::due::DueIndex;
use crate::element::{AnyElement, Cause, Element, Event, Move, Out, Port, Tally};
use crate::endpoint::{AnyEndpoint, Endpoint, Outgoing};
use crate::packet::{Arena, Packet};
use crate::probe::Probe;
use crate::units::Time;

/// An element's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// An endpoint's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct EndpointId(pub u32);

/// Where a packet goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    Node(NodeId, Port),
    Endpoint(EndpointId),
    /// Look it up by flow in this table.
    ByFlow(u32),
    Nowhere,
}

struct Node {
    element: AnyElement,
    tally: Tally,
    /// Where port 0 leads, and the other ports: most elements have but one.
    route: Route,
    others: Vec<Route>,
    /// Its entry in the index of due times.
    scheduled: Time,
}

impl Node {
    fn route(&self, port: Port) -> Route {
        match port.0.checked_sub(1) {
            None => self.route,
            Some(other) => self.others.get(usize::from(other)).copied().unwrap_or(Route::Nowhere),
        }
    }
}

struct Host {
    endpoint: AnyEndpoint,
    flow: u32,
    /// Where its packets enter the network.
    entry: Route,
    /// Its entry in the index of due times, which may be earlier than it is due.
    scheduled: Time,
}

/// Elements and endpoints, and the packets between them.
pub struct Network {
    now: Time,
    nodes: Vec<Node>,
    hosts: Vec<Host>,
    tables: Vec<Vec<Route>>,
    /// Nodes first, then hosts.
    due: DueIndex,
    pub arena: Arena,
    next_id: u64,
    /// Hand-overs of this instant, first said first done. Endpoints count on after the nodes.
    moves: Vec<Move>,
    notes: Vec<Event>,
    calls: u64,
    /// Packets without a route: an endpoint's output has no tally of its own.
    unrouted: u64,
}

impl Network {
    pub fn builder() -> NetworkBuilder {
        NetworkBuilder::default()
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// Element and endpoint calls so far: what the engine's speed is counted in.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    pub fn element(&mut self, id: NodeId) -> &mut AnyElement {
        &mut self.nodes[id.0 as usize].element
    }

    pub fn tally(&self, id: NodeId) -> Tally {
        self.nodes[id.0 as usize].tally
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    pub fn endpoint(&self, id: EndpointId) -> &AnyEndpoint {
        &self.hosts[id.0 as usize].endpoint
    }

    pub fn endpoint_mut(&mut self, id: EndpointId) -> &mut AnyEndpoint {
        &mut self.hosts[id.0 as usize].endpoint
    }

    /// When something happens next.
    pub fn poll_at(&self) -> Time {
        self.due.first().map_or(Time::NEVER, |(t, _)| t)
    }

    /// Carries out everything due before `end`; what is due exactly then is left, so that samples at `end` come first.
    /// Returns early, with what the clock said, when a packet from outside must be taken in.
    pub fn run<C: Clock, P: Probe>(&mut self, end: Time, clock: &mut C, probe: &mut P) -> Waited {
        while let Some((t, member)) = self.due.first() {
            if t >= end {
                break;
            }
            if clock.wait_until(t) == Waited::Input {
                return Waited::Input;
            }
            self.now = t;
            self.wake(member, probe);
        }
        self.now = self.now.max(end);
        Waited::OnTime
    }

    /// Hands a packet from outside to a node, now.
    pub fn inject<P: Probe>(&mut self, at: NodeId, port: Port, packet: Packet, probe: &mut P) {
        self.push(at, port, packet, probe);
        self.settle(probe);
    }

    /// A fresh packet number.
    pub fn next_packet_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    #[inline]
    fn wake<P: Probe>(&mut self, member: usize, probe: &mut P) {
        self.calls += 1;
        if let Some(host) = member.checked_sub(self.nodes.len()) {
            self.hosts[host].endpoint.on_timer(self.now);
            self.drain_endpoint(host, true, probe);
        } else {
            self.call(member, probe, |element, now, out| element.wake(now, out));
        }
        self.settle(probe);
    }

    /// Hands over until nothing is left to do at this instant.
    #[inline]
    fn settle<P: Probe>(&mut self, probe: &mut P) {
        let mut at = 0;
        while let Some(&Move { from, port, packet }) = self.moves.get(at) {
            at += 1;
            match self.destination(from, port, packet.flow) {
                Route::Node(node, port) => self.push(node, port, packet, probe),
                Route::Endpoint(id) => self.deliver(id, packet, probe),
                Route::ByFlow(_) | Route::Nowhere => {
                    self.unrouted += 1;
                    self.arena.release(packet.body);
                }
            }
        }
        self.moves.clear();
    }

    #[inline]
    fn destination(&self, from: NodeId, port: Port, flow: u32) -> Route {
        let from = from.0 as usize;
        let route = match self.nodes.get(from) {
            Some(node) => node.route(port),
            None => self.hosts[from - self.nodes.len()].entry,
        };
        match route {
            Route::ByFlow(table) => self.tables[table as usize].get(flow as usize).copied().unwrap_or(Route::Nowhere),
            other => other,
        }
    }

    #[inline]
    fn push<P: Probe>(&mut self, node: NodeId, port: Port, packet: Packet, probe: &mut P) {
        self.calls += 1;
        self.nodes[node.0 as usize].tally.pushed += 1;
        self.call(node.0 as usize, probe, |element, now, out| element.push(now, port, packet, out));
    }

    fn deliver<P: Probe>(&mut self, id: EndpointId, packet: Packet, probe: &mut P) {
        self.calls += 1;
        let host = id.0 as usize;
        let body = self.arena.get(packet.body);
        probe.received(self.now, id, &packet, body);
        self.hosts[host].endpoint.receive(self.now, body, packet.ecn);
        self.arena.release(packet.body);
        self.drain_endpoint(host, false, probe);
    }

    /// Takes what an endpoint has to send. Its due time is moved lazily: a later one waits for the earlier wake-up, as a
    /// retransmission timer moves with every ACK.
    fn drain_endpoint<P: Probe>(&mut self, host: usize, woken: bool, probe: &mut P) {
        while let Some(Outgoing { body, len, kind, ecn }) = self.hosts[host].endpoint.poll(self.now, &mut self.arena) {
            let flow = self.hosts[host].flow;
            let packet = Packet { id: self.next_id, entered: self.now, body, flow, len, wire_len: len, ecn, class: 0, kind };
            self.next_id += 1;
            probe.sent(self.now, EndpointId(host as u32), &packet, self.arena.get(body));
            self.moves.push(Move { from: NodeId((self.nodes.len() + host) as u32), port: Port(0), packet });
        }
        let member = self.nodes.len() + host;
        let Host { endpoint, scheduled, .. } = &mut self.hosts[host];
        let due = endpoint.due();
        if woken || due < *scheduled {
            *scheduled = due;
            self.due.set(member, due);
        }
    }

    #[inline]
    fn call<P: Probe>(&mut self, index: usize, probe: &mut P, act: impl FnOnce(&mut AnyElement, Time, &mut Out<'_>)) {
        let node = &mut self.nodes[index];
        let notes = P::WATCHING.then_some(&mut self.notes);
        let mut out = Out {
            arena: &mut self.arena,
            tally: &mut node.tally,
            at: NodeId(index as u32),
            moves: &mut self.moves,
            notes,
            next_id: &mut self.next_id,
        };
        act(&mut node.element, self.now, &mut out);
        let due = node.element.due();
        if due != node.scheduled {
            node.scheduled = due;
            self.due.set(index, due);
        }
        if P::WATCHING {
            for event in self.notes.drain(..) {
                probe.see(self.now, NodeId(index as u32), &event);
            }
        }
    }

    /// Checks that every packet that ever entered an element was forwarded, dropped or is still held.
    pub fn conserved(&self) -> Result<(), String> {
        for (i, node) in self.nodes.iter().enumerate() {
            let t = node.tally;
            let (in_, out) = (t.pushed + t.copied, t.forwarded + t.drops() + node.element.held());
            if in_ != out {
                return Err(format!("element {i}: {in_} in or made, {out} out, dropped or held"));
            }
        }
        Ok(())
    }

    /// Packets that had no route.
    pub fn unrouted(&self) -> u64 {
        self.unrouted
    }

    /// Drops by cause, over all elements.
    pub fn drops(&self, cause: Cause) -> u64 {
        self.nodes.iter().map(|n| n.tally.dropped[cause as usize]).sum()
    }
}
