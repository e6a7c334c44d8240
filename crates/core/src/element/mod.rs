//! What stands on a path: takes packets in, gives packets out, and says when it wants to be woken.

pub mod fate;

pub use crate::network::route::{Handoff, Port};
pub use fate::{DropReason, Event, PacketCounts};

use crate::meter::{LinkMeter, QueueSample};
use crate::network::route::Ports;
use crate::packet::{Arena, Ecn, Packet};
use crate::units::Time;
use crate::view::TcpEdit;

/// Which of an element's queues: most have but one, and take no notice. On a medium the link is the direction: 0 down, 1 up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct QueueId {
    /// Of the links that it joins, in path order.
    pub link: u32,
    /// Of the clients that have their own.
    pub station: u32,
}

/// An active part of a path.
///
/// Contract, tested for every kind: `wake` before `due` does nothing; packets that leave at one instant leave in the order in which
/// they came; every pushed packet is held, forwarded or dropped (pushed + copied + created = forwarded + dropped + held).
pub trait Element {
    /// A packet arrives.
    fn push(&mut self, now: Time, port: Port, packet: Packet, out: &mut Output<'_>);
    /// The due time has come.
    fn wake(&mut self, now: Time, out: &mut Output<'_>);
    /// When to wake it next; `Time::NEVER` when it waits only for packets.
    fn due(&self) -> Time;
    /// Packets inside.
    fn occupancy(&self) -> u64;
    /// The meter of its queue, up to date just before `now`, for elements that have one.
    fn meter(&mut self, _now: Time, _place: QueueId) -> Option<&mut LinkMeter> {
        None
    }
    /// Its queue just before `now`, for elements that have one.
    fn sample(&mut self, _now: Time, _place: QueueId) -> Option<QueueSample> {
        None
    }
    /// What became of the packets of one of its places, for elements that join several stations or directions.
    fn counts(&self, _place: QueueId) -> Option<PacketCounts> {
        None
    }
}

/// Where an element's output goes. The network carries it out in the order in which it was said.
pub struct Output<'a> {
    pub arena: &'a mut Arena,
    pub(crate) counts: &'a mut PacketCounts,
    pub(crate) ports: &'a Ports,
    pub(crate) handoffs: &'a mut Vec<Handoff>,
    pub(crate) events: Option<&'a mut Vec<Event>>,
    pub(crate) next_id: &'a mut u64,
}

impl<'a> Output<'a> {
    /// An output that a test or a second driver keeps for itself.
    pub fn new(
        arena: &'a mut Arena,
        counts: &'a mut PacketCounts,
        handoffs: &'a mut Vec<Handoff>,
        next_id: &'a mut u64,
    ) -> Output<'a> {
        static NOWHERE: Ports = Ports::nowhere();
        Output { arena, counts, ports: &NOWHERE, handoffs, events: None, next_id }
    }

    /// Hands a packet on.
    #[inline]
    pub fn forward(&mut self, port: Port, packet: Packet) {
        self.counts.forwarded += 1;
        self.handoffs.push(Handoff { to: self.ports.to(port), port, packet });
    }

    /// Ends a packet's journey.
    #[inline]
    pub fn drop(&mut self, packet: Packet, cause: DropReason) {
        self.counts.dropped[cause as usize] += 1;
        match self.ports.lost {
            None => self.arena.release(packet.body),
            Some(to) => self.handoffs.push(Handoff { to, port: Port(0), packet }),
        }
        self.note(Event::Dropped(packet, cause));
    }

    /// A second packet with the same body.
    pub fn copy(&mut self, packet: Packet) -> Packet {
        self.counts.copied += 1;
        self.arena.retain(packet.body);
        let twin = Packet { id: *self.next_id, ..packet };
        *self.next_id += 1;
        self.note(Event::Copied(twin));
        twin
    }

    /// A packet that nobody sent: like `model` but for this edit.
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

    /// Changes what a packet says; its twins keep saying what they said.
    pub fn edit(&mut self, packet: &mut Packet, edit: &TcpEdit) {
        packet.body = self.arena.edit(packet.body, edit);
        packet.ecn = edit.ecn.unwrap_or(packet.ecn);
    }

    /// Sets Congestion Experienced on a packet whose sender understands it (RFC 3168, section 5). On others it does nothing and
    /// returns false; then a queue drops instead.
    #[must_use]
    pub fn mark(&mut self, packet: &mut Packet) -> bool {
        match packet.ecn {
            Ecn::NotEct => false,
            // It has met congestion before: the news is on its way.
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
