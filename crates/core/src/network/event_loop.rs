//! The event loop: wakes the element or endpoint with the earliest due time and forwards its output
//! until no packet is left to move at this instant.

use super::AnyElement;
use super::{EndpointId, EndpointSlot, Network, Node, NodeId, Route};
use crate::element::{DropReason, Element, Handoff, Output, Port};
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
        self.current = Handoff { to: Route::Node(at, port), port, packet };
        self.execute(true, probe);
    }

    /// Sends a packet of a real host into the network at its endpoint's entry, now.
    pub fn send_from<P: Probe>(&mut self, by: EndpointId, sent: Outgoing, probe: &mut P) {
        let slot = by.0 as usize;
        let packet = packet_of(sent, self.endpoints[slot].flow, &mut self.next_id);
        probe.sent(self.now, by, &packet, self.arena.get(packet.body));
        self.current = Handoff { to: self.endpoints[slot].entry, port: Port(0), packet };
        self.execute(true, probe);
    }

    /// A new packet id.
    pub fn next_packet_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id - 1
    }

    #[inline]
    fn wake<P: Probe>(&mut self, owner: TimerOwner, probe: &mut P) {
        self.calls += 1;
        let moves = match owner {
            TimerOwner::Element(index) => self.wake_element(index, probe),
            TimerOwner::Endpoint(number) => {
                self.endpoints[number].endpoint.on_timer(self.now);
                let moves = self.drain(number, true, probe);
                let only = moves && !self.anything_followed && self.handoffs.is_empty();
                self.defer(moves && !only);
                if self.anything_followed {
                    self.run_proxy(number, probe);
                    self.control_rates(number);
                    self.run_page(number, probe);
                }
                only
            }
        };
        self.execute(moves, probe);
    }

    /// Returns whether `current` is a hand-off of the element, the only one.
    #[inline]
    fn wake_element<P: Probe>(&mut self, index: usize, probe: &mut P) -> bool {
        #[cfg(feature = "slow-path")]
        if !crate::shortcuts::take() {
            self.call(index, probe, |element, now, out| element.wake_then_due(now, out));
            return false;
        }
        let Node { element, counts, ports, scheduled } = &mut self.nodes[index];
        // Shortcut for the most frequent cases: a fused link with one packet to forward, and a delay,
        // which most other links have behind them.
        let due = match element {
            AnyElement::FusedLink(link) => link.take_only_arrival(self.now, &mut self.current.packet),
            AnyElement::Delay(delay) => delay.take_only_departure(self.now, &mut self.current.packet),
            _ => None,
        };
        if let Some(due) = due {
            counts.forwarded += 1;
            (self.current.to, self.current.port) = (ports.to(Port(0)), Port(0));
            *scheduled = due;
            self.due.set(TimerOwner::Element(index), due);
            return true;
        }
        self.call(index, probe, |element, now, out| element.wake_then_due(now, out));
        false
    }

    /// Puts `current` into the list of hand-offs, if it is one.
    #[inline]
    pub(super) fn defer(&mut self, moves: bool) {
        if moves {
            self.handoffs.push(self.current);
        }
    }

    /// Executes hand-offs until none is left at this instant: `current` if it `moves`, then those
    /// in the list.
    #[inline]
    fn execute<P: Probe>(&mut self, mut moves: bool, probe: &mut P) {
        let mut done = 0;
        loop {
            if !moves {
                let Some(next) = self.handoffs.get(done) else { break };
                self.current = *next;
                done += 1;
            }
            moves = false;
            // The most frequent routes are tested before the others.
            let mut to = self.current.to;
            if let Route::ByFlow(_) = to {
                to = self.resolve(to, self.current.packet.flow);
            }
            if let Route::Node(node, port) = to {
                self.push_current(node, port, probe);
            } else if let Route::Endpoint(id) = to {
                moves = self.deliver(id, done, probe);
            } else {
                self.take_from_host_queue(to, probe);
            }
        }
        self.handoffs.clear();
    }

    /// The packet of `current` leaves a host queue, or has no route.
    #[inline(never)]
    fn take_from_host_queue<P: Probe>(&mut self, to: Route, probe: &mut P) {
        match to {
            Route::HostDequeue(hop) => self.host_dequeue(hop, self.current.packet, probe),
            Route::HostDrop(hop) => self.host_drop(hop, self.current.packet, probe),
            _ => {
                self.unrouted += 1;
                self.arena.release(self.current.packet.body);
            }
        }
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

    /// Pushes the packet of `current` into an element.
    #[inline]
    fn push_current<P: Probe>(&mut self, node: NodeId, port: Port, probe: &mut P) {
        self.calls += 1;
        let packet = &self.current.packet;
        probe.entered(self.now, node, port, packet, &self.arena);
        let index = node.0 as usize;
        let Node { element, counts, scheduled, .. } = &mut self.nodes[index];
        counts.pushed += 1;
        if let AnyElement::Delay(delay) = element {
            delay.accept(self.now, packet);
            let due = delay.due();
            if due != *scheduled {
                *scheduled = due;
                self.due.set(TimerOwner::Element(index), due);
            }
            return;
        }
        let AnyElement::FusedLink(link) = element else {
            let packet = *packet;
            return self.call(index, probe, |element, now, out| element.push_then_due(now, port, packet, out));
        };
        // Shortcut for the most frequent case: a fused link, which uses its output only to drop.
        let accepted = link.accept(self.now, packet);
        let due = link.due();
        if due != *scheduled {
            *scheduled = due;
            self.due.set(TimerOwner::Element(index), due);
        }
        if !accepted {
            let packet = *packet;
            self.call(index, probe, |element, _, out| {
                out.drop(packet, DropReason::QueueFull);
                element.due()
            });
        }
    }

    /// Delivers the packet of `current`. Returns whether `current` is now a packet that the
    /// endpoint sends, the only one left to move.
    #[inline]
    fn deliver<P: Probe>(&mut self, id: EndpointId, done: usize, probe: &mut P) -> bool {
        self.calls += 1;
        let number = id.0 as usize;
        let packet = &self.current.packet;
        let body = self.arena.get(packet.body);
        probe.received(self.now, id, packet, body);
        let more = done < self.handoffs.len() && self.goes_to(done, id);
        let endpoint = &mut self.endpoints[number].endpoint;
        if more {
            endpoint.receive_more_coming(self.now, body, packet.ecn);
        } else {
            endpoint.receive(self.now, body, packet.ecn);
        }
        self.arena.release(packet.body);
        let moves = self.drain(number, false, probe);
        if !self.anything_followed || !self.endpoints[number].followed {
            let only = moves && done == self.handoffs.len();
            self.defer(moves && !only);
            return only;
        }
        self.defer(moves);
        self.run_proxy(number, probe);
        self.control_rates(number);
        self.open_dependents(number);
        self.run_page(number, probe);
        false
    }

    /// Takes what an endpoint sends. Returns whether `current` is now its last packet, known to be
    /// the last; the others are in the list. A due time that moves later is not rescheduled at
    /// once: the endpoint is woken at the earlier time and rescheduled then. A retransmission timer
    /// moves with every ACK.
    // inline(always): there are two call sites, and one of them is hot.
    #[inline(always)]
    pub(super) fn drain<P: Probe>(&mut self, number: usize, woken: bool, probe: &mut P) -> bool {
        let EndpointSlot { endpoint, scheduled, flow, entry, .. } = &mut self.endpoints[number];
        let mut moves = false;
        while let Some(sent) = endpoint.poll(self.now, &mut self.arena) {
            let packet = packet_of(sent, *flow, &mut self.next_id);
            self.current = Handoff { to: *entry, port: Port(0), packet };
            probe.sent(self.now, EndpointId(number as u32), &self.current.packet, self.arena.get(sent.body));
            if sent.no_more {
                moves = true;
                break;
            }
            self.handoffs.push(self.current);
        }
        let due = endpoint.due();
        if woken || due < *scheduled {
            *scheduled = due;
            self.due.set(TimerOwner::Endpoint(number), due);
        }
        moves
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
