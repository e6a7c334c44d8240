//! The event loop: wakes the element or endpoint with the earliest due time and forwards its output
//! until no packet is left to move at this instant.

use super::AnyElement;
use super::{EndpointId, EndpointSlot, Network, Node, NodeId, Route};
use crate::element::{Element, Handoff, Output, Port};
use crate::endpoint::{Endpoint, Outgoing};
use crate::packet::Packet;
use crate::probe::Probe;
use crate::timer_tree::TimerOwner;
use crate::units::Time;

/// Makes a packet of an endpoint's output.
#[inline]
fn packet_of(sent: Outgoing, flow: u32, next_id: &mut u64) -> Packet {
    let Outgoing { body, len, kind, ecn, no_more: _ } = sent;
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
            let (t, owner) = self.due.first();
            if t >= end {
                break;
            }
            self.now = t;
            self.wake(owner, probe);
        }
        self.now = self.now.max(end);
    }

    /// Pushes a packet from outside into a node, now.
    pub fn inject<P: Probe>(&mut self, at: NodeId, port: Port, packet: Packet, probe: &mut P) {
        self.push(at, port, packet, probe);
        self.deliver_pending(probe);
    }

    /// Sends a packet of a real host into the network at its endpoint's entry, now.
    pub fn send_from<P: Probe>(&mut self, by: EndpointId, sent: Outgoing, probe: &mut P) {
        let slot = by.0 as usize;
        let packet = packet_of(sent, self.endpoints[slot].flow, &mut self.next_id);
        probe.sent(self.now, by, &packet, self.arena.get(packet.body));
        self.handoffs.push(Handoff { to: self.endpoints[slot].entry, port: Port(0), packet });
        self.deliver_pending(probe);
    }

    /// A new packet id.
    pub fn next_packet_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    #[inline]
    fn wake<P: Probe>(&mut self, owner: TimerOwner, probe: &mut P) {
        self.calls += 1;
        match owner {
            TimerOwner::Element(index) => self.wake_element(index, probe),
            TimerOwner::Endpoint(number) => {
                self.endpoints[number].endpoint.on_timer(self.now);
                self.drain(number, true, probe);
                self.run_proxy(number, probe);
            }
        }
        self.deliver_pending(probe);
    }

    #[inline]
    fn wake_element<P: Probe>(&mut self, index: usize, probe: &mut P) {
        let Node { element, counts, ports, scheduled } = &mut self.nodes[index];
        // Shortcut for the most frequent case: a fused link with one packet to forward.
        if let AnyElement::FusedLink(wire) = element
            && let Some(packet) = wire.only_arrival(self.now)
        {
            counts.forwarded += 1;
            self.handoffs.push(Handoff { to: ports.to(Port(0)), port: Port(0), packet: *packet });
            wire.take_arrival();
            *scheduled = wire.due();
            self.due.set(TimerOwner::Element(index), *scheduled);
        } else {
            self.call(index, probe, |element, now, out| element.wake_then_due(now, out));
        }
    }

    /// Executes hand-offs until none is left at this instant.
    #[inline]
    fn deliver_pending<P: Probe>(&mut self, probe: &mut P) {
        let mut done = 0;
        while let Some(next) = self.handoffs.get(done) {
            done += 1;
            match self.resolve(next.to, next.packet.flow) {
                Route::Node(node, port) => {
                    let packet = next.packet;
                    self.push(node, port, packet, probe);
                }
                Route::Endpoint(id) => {
                    let packet = next.packet;
                    let more = done < self.handoffs.len() && self.goes_to(done, id);
                    self.deliver(id, packet, more, probe);
                }
                Route::HostDequeue(hop) => {
                    let packet = next.packet;
                    self.host_dequeue(hop, packet, probe);
                }
                Route::HostDrop(hop) => {
                    let packet = next.packet;
                    self.host_drop(hop, packet, probe);
                }
                Route::ByFlow(_) | Route::Nowhere => {
                    self.unrouted += 1;
                    self.arena.release(next.packet.body);
                }
            }
        }
        self.handoffs.clear();
    }

    /// True if hand-off `number` goes to this endpoint. One link-layer frame may deliver several
    /// packets at one instant.
    #[inline(never)]
    fn goes_to(&self, number: usize, id: EndpointId) -> bool {
        let next = &self.handoffs[number];
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
            out.counts.pushed += 1;
            element.push_then_due(now, port, packet, out)
        });
    }

    #[inline]
    fn deliver<P: Probe>(&mut self, id: EndpointId, packet: Packet, more: bool, probe: &mut P) {
        self.calls += 1;
        let number = id.0 as usize;
        let body = self.arena.get(packet.body);
        probe.received(self.now, id, &packet, body);
        let endpoint = &mut self.endpoints[number].endpoint;
        if more {
            endpoint.receive_more_coming(self.now, body, packet.ecn);
        } else {
            endpoint.receive(self.now, body, packet.ecn);
        }
        self.arena.release(packet.body);
        self.drain(number, false, probe);
        self.run_proxy(number, probe);
        if self.has_dependents(number) {
            self.open_dependents(number);
        }
    }

    /// Takes what an endpoint sends. A due time that moves later is not rescheduled at once: the
    /// endpoint is woken at the earlier time and rescheduled then. A retransmission timer moves
    /// with every ACK.
    // inline(always): there are two call sites, and one of them is hot.
    #[inline(always)]
    pub(super) fn drain<P: Probe>(&mut self, number: usize, woken: bool, probe: &mut P) {
        let EndpointSlot { endpoint, scheduled, flow, entry } = &mut self.endpoints[number];
        while let Some(sent) = endpoint.poll(self.now, &mut self.arena) {
            let packet = packet_of(sent, *flow, &mut self.next_id);
            probe.sent(self.now, EndpointId(number as u32), &packet, self.arena.get(packet.body));
            self.handoffs.push(Handoff { to: *entry, port: Port(0), packet });
            if sent.no_more {
                break;
            }
        }
        let due = endpoint.due();
        if woken || due < *scheduled {
            *scheduled = due;
            self.due.set(TimerOwner::Endpoint(number), due);
        }
    }

    /// Calls an element through `act`, which returns its new due time.
    #[inline]
    fn call<P: Probe>(&mut self, index: usize, probe: &mut P, act: impl FnOnce(&mut AnyElement, Time, &mut Output<'_>) -> Time) {
        let Node { element, counts, ports, scheduled } = &mut self.nodes[index];
        let events = P::WATCHING.then_some(&mut self.events);
        let mut out =
            Output { arena: &mut self.arena, counts, ports, handoffs: &mut self.handoffs, events, next_id: &mut self.next_id };
        let due = act(element, self.now, &mut out);
        if due != *scheduled {
            *scheduled = due;
            self.due.set(TimerOwner::Element(index), due);
        }
        if P::WATCHING {
            for event in self.events.drain(..) {
                probe.on_event(self.now, NodeId(index as u32), &event);
            }
        }
    }
}
