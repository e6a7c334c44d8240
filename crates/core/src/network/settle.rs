//! The event loop: the element or endpoint with the earliest due time is woken, and its output is
//! forwarded until no packet is left to move at this instant.

use super::{EndpointId, Host, Network, Node, NodeId, Route};
use crate::due::Member;
use crate::element::{AnyElement, Element, Move, Out, Port};
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::Packet;
use crate::probe::Probe;
use crate::units::Time;

/// An endpoint's output becomes a packet.
#[inline]
fn packet_of(sent: Outgoing, flow: u32, next_id: &mut u64) -> Packet {
    let Outgoing { body, len, kind, ecn, last: _ } = sent;
    let id = *next_id;
    *next_id += 1;
    Packet { id, body, flow, len, wire_len: len, ecn, class: 0, kind }
}

impl Network {
    /// Executes every event due before `end` and leaves the network's time at `end`. Events due
    /// exactly at `end` remain, so that samples taken at `end` come first.
    ///
    /// The network has no clock. The simulator calls this with the next sampling time; the emulator
    /// calls it with the due times that the machine's clock has passed, so lateness never enters
    /// the model.
    pub fn run_until<P: Probe>(&mut self, end: Time, probe: &mut P) {
        loop {
            let (t, member) = self.due.first();
            if t >= end {
                break;
            }
            self.now = t;
            self.wake(member, probe);
        }
        self.now = self.now.max(end);
    }

    /// Hands a packet from outside to a node, now.
    pub fn inject<P: Probe>(&mut self, at: NodeId, port: Port, packet: Packet, probe: &mut P) {
        self.push(at, port, packet, probe);
        self.settle(probe);
    }

    /// What a real host has sent enters the network where its end stands, now.
    pub fn send_from<P: Probe>(&mut self, by: EndpointId, sent: Outgoing, probe: &mut P) {
        let host = by.0 as usize;
        let packet = packet_of(sent, self.hosts[host].flow, &mut self.next_id);
        probe.sent(self.now, by, &packet, self.arena.get(packet.body));
        self.moves.push(Move { to: self.hosts[host].entry, port: Port(0), packet });
        self.settle(probe);
    }

    /// A fresh packet number.
    pub fn next_packet_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    #[inline]
    fn wake<P: Probe>(&mut self, member: Member, probe: &mut P) {
        self.calls += 1;
        match member {
            Member::Element(index) => self.wake_element(index, probe),
            Member::Endpoint(number) => {
                self.hosts[number].endpoint.on_timer(self.now);
                self.drain(number, true, probe);
                self.relay(number, probe);
            }
        }
        self.settle(probe);
    }

    #[inline]
    fn wake_element<P: Probe>(&mut self, index: usize, probe: &mut P) {
        let Node { element, tally, ways, scheduled } = &mut self.nodes[index];
        // A line has one packet to let go, as a rule, and nothing else to do.
        if let AnyElement::Wire(wire) = element
            && let Some(packet) = wire.only_arrival(self.now)
        {
            tally.forwarded += 1;
            self.moves.push(Move { to: ways.to(Port(0)), port: Port(0), packet: *packet });
            wire.take_arrival();
            *scheduled = wire.due();
            self.due.set(Member::Element(index), *scheduled);
        } else {
            self.call(index, probe, |element, now, out| element.wake_then_due(now, out));
        }
    }

    /// Hands over until nothing is left to do at this instant.
    #[inline]
    fn settle<P: Probe>(&mut self, probe: &mut P) {
        let mut done = 0;
        while let Some(next) = self.moves.get(done) {
            done += 1;
            match self.resolve(next.to, next.packet.flow) {
                Route::Node(node, port) => {
                    let packet = next.packet;
                    self.push(node, port, packet, probe);
                }
                Route::Endpoint(id) => {
                    let packet = next.packet;
                    let more = done < self.moves.len() && self.goes_to(done, id);
                    self.deliver(id, packet, more, probe);
                }
                Route::Leaving(hop) => {
                    let packet = next.packet;
                    self.leave(hop, packet, probe);
                }
                Route::Lost(hop) => {
                    let packet = next.packet;
                    self.lose(hop, packet, probe);
                }
                Route::ByFlow(_) | Route::Nowhere => {
                    self.unrouted += 1;
                    self.arena.release(next.packet.body);
                }
            }
        }
        self.moves.clear();
    }

    /// Whether the move of that number is for this endpoint: a frame brings several packets at one instant.
    #[inline(never)]
    fn goes_to(&self, number: usize, id: EndpointId) -> bool {
        let next = &self.moves[number];
        matches!(self.resolve(next.to, next.packet.flow), Route::Endpoint(other) if other == id)
    }

    #[inline]
    fn resolve(&self, to: Route, flow: u32) -> Route {
        match to {
            Route::ByFlow(table) => self.tables[table as usize].get(flow as usize).copied().unwrap_or(Route::Nowhere),
            other => other,
        }
    }

    #[inline]
    fn push<P: Probe>(&mut self, node: NodeId, port: Port, packet: Packet, probe: &mut P) {
        self.calls += 1;
        probe.entered(self.now, node, port, &packet, &self.arena);
        self.call(node.0 as usize, probe, |element, now, out| {
            out.tally.pushed += 1;
            element.push_then_due(now, port, packet, out)
        });
    }

    #[inline]
    fn deliver<P: Probe>(&mut self, id: EndpointId, packet: Packet, more: bool, probe: &mut P) {
        self.calls += 1;
        let number = id.0 as usize;
        let body = self.arena.get(packet.body);
        probe.received(self.now, id, &packet, body);
        let endpoint = &mut self.hosts[number].endpoint;
        if more {
            endpoint.receive_before_more(self.now, body, packet.ecn);
        } else {
            endpoint.receive(self.now, body, packet.ecn);
        }
        self.arena.release(packet.body);
        self.drain(number, false, probe);
        self.relay(number, probe);
        if self.is_followed(number) {
            self.open_followers(number);
        }
    }

    /// Takes what an endpoint has to send. Its due time is moved lazily: a later one waits for the earlier wake-up, as a
    /// retransmission timer moves with every ACK.
    // Always, as it is called from two places of which one matters.
    #[inline(always)]
    pub(super) fn drain<P: Probe>(&mut self, number: usize, woken: bool, probe: &mut P) {
        let Host { endpoint, scheduled, flow, entry } = &mut self.hosts[number];
        while let Some(sent) = endpoint.poll(self.now, &mut self.arena) {
            let packet = packet_of(sent, *flow, &mut self.next_id);
            probe.sent(self.now, EndpointId(number as u32), &packet, self.arena.get(packet.body));
            self.moves.push(Move { to: *entry, port: Port(0), packet });
            if sent.last {
                break;
            }
        }
        let due = endpoint.due();
        if woken || due < *scheduled {
            *scheduled = due;
            self.due.set(Member::Endpoint(number), due);
        }
    }

    /// Does something to an element, which returns its due time.
    #[inline]
    fn call<P: Probe>(&mut self, index: usize, probe: &mut P, act: impl FnOnce(&mut AnyElement, Time, &mut Out<'_>) -> Time) {
        let Node { element, tally, ways, scheduled } = &mut self.nodes[index];
        let notes = P::WATCHING.then_some(&mut self.notes);
        let mut out = Out { arena: &mut self.arena, tally, ways, moves: &mut self.moves, notes, next_id: &mut self.next_id };
        let due = act(element, self.now, &mut out);
        if due != *scheduled {
            *scheduled = due;
            self.due.set(Member::Element(index), due);
        }
        if P::WATCHING {
            for event in self.notes.drain(..) {
                probe.see(self.now, NodeId(index as u32), &event);
            }
        }
    }
}
