//! The loop: whoever is due is woken, and what it lets go is handed on until nothing is left to do at this instant.

use super::{Clock, EndpointId, Host, Network, NodeId, Route, Waited};
use crate::element::{AnyElement, Element, Move, Out, Port};
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::Packet;
use crate::probe::Probe;
use crate::units::Time;

/// An endpoint's output becomes a packet.
#[inline]
fn packet_of(sent: Outgoing, now: Time, flow: u32, next_id: &mut u64) -> Packet {
    let Outgoing { body, len, kind, ecn, last: _ } = sent;
    let id = *next_id;
    *next_id += 1;
    Packet { id, entered: now, body, flow, len, wire_len: len, ecn, class: 0, kind }
}

impl Network {
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

    /// What a real host has sent enters the network where its end stands, now.
    pub fn send_from<P: Probe>(&mut self, by: EndpointId, sent: Outgoing, probe: &mut P) {
        let host = by.0 as usize;
        let packet = packet_of(sent, self.now, self.hosts[host].flow, &mut self.next_id);
        probe.sent(self.now, by, &packet, self.arena.get(packet.body));
        self.moves.push(Move { from: NodeId((self.nodes.len() + host) as u32), port: Port(0), packet });
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
        while let Some(next) = self.moves.get(at) {
            match self.destination(next.from, next.port, next.packet.flow) {
                Route::Node(node, port) => self.push(node, port, next.packet, probe),
                Route::Endpoint(id) => self.deliver(id, next.packet, probe),
                Route::ByFlow(_) | Route::Nowhere => {
                    let body = next.packet.body;
                    self.unrouted += 1;
                    self.arena.release(body);
                }
            }
            at += 1;
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
        if self.is_followed(host) {
            self.open_followers(host);
        }
    }

    /// Takes what an endpoint has to send. Its due time is moved lazily: a later one waits for the earlier wake-up, as a
    /// retransmission timer moves with every ACK.
    fn drain_endpoint<P: Probe>(&mut self, host: usize, woken: bool, probe: &mut P) {
        let member = self.nodes.len() + host;
        let Host { endpoint, scheduled, flow, .. } = &mut self.hosts[host];
        while let Some(sent) = endpoint.poll(self.now, &mut self.arena) {
            let packet = packet_of(sent, self.now, *flow, &mut self.next_id);
            probe.sent(self.now, EndpointId(host as u32), &packet, self.arena.get(packet.body));
            self.moves.push(Move { from: NodeId(member as u32), port: Port(0), packet });
            if sent.last {
                break;
            }
        }
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
}
