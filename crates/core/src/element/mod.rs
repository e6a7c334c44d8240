//! The contract of elements, the active parts of a path.

pub mod fate;

pub use crate::network::route::{Handoff, Port};
pub use fate::{DropReason, Event, PacketCounts, Signals};

use crate::meter::{LinkMeter, QueueSample};
use crate::network::route::Ports;
use crate::packet::{Arena, Body, Ecn, Kind, Packet};
use crate::time_account::TimeAccount;
use crate::units::Time;
use crate::view::TcpEdit;

/// Identifies one queue of an element; most elements have one. On a medium `link` is the direction:
/// 0 downlink, 1 uplink.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueId {
    /// Index of the fused link, in path order.
    pub link: u32,
    /// Index of the client, where each client has its own queue.
    pub station: u32,
}

/// An active part of a path.
///
/// Contract, tested for every kind: `wake` before `due` does nothing; packets that leave at the
/// same instant leave in arrival order; packets are conserved (pushed + copied + created =
/// forwarded + dropped + occupancy).
pub trait Element {
    /// A packet arrives.
    fn push(&mut self, now: Time, port: Port, packet: Packet, out: &mut Output<'_>);
    /// The due time is reached.
    fn wake(&mut self, now: Time, out: &mut Output<'_>);
    /// Time of the next wake-up; `Time::NEVER` while only an arrival can change the state.
    fn due(&self) -> Time;
    /// Packets in the element: queued, being transmitted or in flight.
    fn occupancy(&self) -> u64;
    /// Meter of one queue, up to date just before `now`, for elements that keep one.
    fn meter(&mut self, _now: Time, _queue: QueueId) -> Option<&mut LinkMeter> {
        None
    }
    /// Account of the time of one queue's link, up to date just before `now`, for elements that
    /// keep a meter. All queues of one direction of a medium have one account.
    fn time(&mut self, now: Time, queue: QueueId) -> Option<&mut TimeAccount> {
        self.meter(now, queue).map(LinkMeter::work_conserving_time)
    }
    /// State of one queue just before `now`, for elements that keep a meter.
    fn sample(&mut self, _now: Time, _queue: QueueId) -> Option<QueueSample> {
        None
    }
    /// Counters of one queue, for elements with several stations or directions.
    fn counts(&self, _queue: QueueId) -> Option<PacketCounts> {
        None
    }
}

/// Receives what an element does. The network executes the hand-offs in order.
pub struct Output<'a> {
    pub arena: &'a mut Arena,
    pub(crate) counts: &'a mut PacketCounts,
    pub(crate) ports: &'a Ports,
    pub(crate) handoffs: &'a mut Vec<Handoff>,
    pub(crate) events: Option<&'a mut Vec<Event>>,
    pub(crate) next_id: &'a mut u64,
}

impl<'a> Output<'a> {
    /// An output for a test or for a driver without a network.
    pub fn new(
        arena: &'a mut Arena,
        counts: &'a mut PacketCounts,
        handoffs: &'a mut Vec<Handoff>,
        next_id: &'a mut u64,
    ) -> Output<'a> {
        static NOWHERE: Ports = Ports::nowhere();
        Output { arena, counts, ports: &NOWHERE, handoffs, events: None, next_id }
    }

    /// Hands a packet on through `port`.
    #[inline]
    pub fn forward(&mut self, port: Port, packet: Packet) {
        self.counts.forwarded += 1;
        self.handoffs.push(Handoff { to: self.ports.to(port), port, packet });
    }

    /// Drops a packet and counts the reason.
    #[inline]
    pub fn drop(&mut self, packet: Packet, cause: DropReason) {
        self.counts.count_drop(cause);
        match self.ports.drops {
            None => self.arena.release(packet.body),
            Some(to) => self.handoffs.push(Handoff { to, port: Port(0), packet }),
        }
        self.note(Event::Dropped(packet, cause));
    }

    /// A duplicate of a packet; both share one body.
    pub fn copy(&mut self, packet: Packet) -> Packet {
        self.counts.copied += 1;
        self.arena.retain(packet.body);
        let duplicate = Packet { id: *self.next_id, ..packet };
        *self.next_id += 1;
        self.note(Event::Copied(duplicate));
        duplicate
    }

    /// A new packet: a copy of `model` with `edit` applied.
    pub fn create(&mut self, model: &Packet, edit: &TcpEdit) -> Packet {
        self.counts.created += 1;
        let body = self.arena.get(model.body).clone();
        let body = self.arena.insert(body);
        let body = self.arena.edit(body, edit);
        let packet = Packet { id: *self.next_id, body, ecn: edit.ecn.unwrap_or(model.ecn), ..*model };
        *self.next_id += 1;
        self.note(Event::Created(packet));
        packet
    }

    /// Reports to the sender of `packet` that it is longer than `mtu`, unless it is no packet to report
    /// on.
    pub fn report_too_big(&mut self, port: Port, packet: &Packet, mtu: u16) {
        let Some((body, len)) = self.arena.too_big(packet, mtu) else { return };
        self.counts.created += 1;
        let report =
            Packet { id: *self.next_id, body, len, wire_len: len, ecn: Ecn::NotEct, class: 0, kind: Kind::DATA, ..*packet };
        *self.next_id += 1;
        self.note(Event::Created(report));
        self.forward(port, report);
    }

    /// Forwards a packet in parts, with these bodies and IP lengths.
    pub fn forward_divided(&mut self, packet: &Packet, parts: Vec<(Body, u16)>) {
        self.arena.release(packet.body);
        for (number, (body, len)) in parts.into_iter().enumerate() {
            let part = Packet { body: self.arena.insert(body), len, wire_len: len, kind: Kind::DATA, ..*packet };
            if number == 0 {
                self.forward(Port(0), part);
                continue;
            }
            let part = Packet { id: *self.next_id, ..part };
            *self.next_id += 1;
            self.counts.created += 1;
            self.note(Event::Created(part));
            self.forward(Port(0), part);
        }
    }

    /// These packets become one, which the caller makes.
    pub fn merge(&mut self, packets: &[Packet]) {
        self.counts.merged += (packets.len() as u64).saturating_sub(1);
        packets.iter().for_each(|packet| self.arena.release(packet.body));
    }

    /// Changes a packet's body; copies of the packet keep the old body.
    pub fn edit(&mut self, packet: &mut Packet, edit: &TcpEdit) {
        packet.body = self.arena.edit(packet.body, edit);
        packet.ecn = edit.ecn.unwrap_or(packet.ecn);
    }

    /// Marks an ECN-capable packet CE (RFC 3168, section 5). Returns false for Not-ECT packets,
    /// which a queue then drops.
    #[must_use]
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        match packet.ecn {
            Ecn::NotEct => false,
            // Marked upstream: the congestion is already signalled.
            Ecn::Ce => true,
            Ecn::Ect0 | Ecn::Ect1 => {
                packet.ecn = Ecn::Ce;
                packet.body = self.arena.edit(packet.body, &TcpEdit::ecn(Ecn::Ce));
                self.counts.marked += 1;
                self.note(Event::Marked(*packet));
                true
            }
        }
    }

    fn note(&mut self, event: Event) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }
}
