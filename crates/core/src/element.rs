//! What stands on a path: takes packets in, gives packets out, and says when it wants to be woken.

use crate::impairment::{Delay, Duplicate, Handover, Jitter, Loss, Outage, Reorder};
use crate::link::{FusedLink, RateLink, TraceLink};
use crate::medium::{Grants, HalfDuplex, PacketRadio, Wimax, Wlan};
use crate::meter::{LinkMeter, QueueSample};
use crate::network::{Ports, Route};
use crate::packet::{Arena, Ecn, Packet};
use crate::queue::ack::AckReconstructor;
use crate::units::Time;
use crate::view::TcpEdit;

/// A way in or out of an element. One-in-one-out elements use only `Port(0)`; on a medium it is station and side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Port(pub u16);

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum DropReason {
    /// The queue's limit was reached.
    QueueFull,
    /// Lost on the line by chance or by list.
    Loss,
    /// Lost in a scheduled outage.
    Outage,
    /// Nobody to hand it to: its flow has ended or has no route there.
    NoRoute,
    /// Beyond the rate that its class is allowed.
    Policed,
    /// The medium's attempts for it were used up.
    Retries,
    /// An active queue management chose it, though there was room.
    Early,
    /// A later ACK says all that it says, and more.
    AckFilter,
    /// Its station has left the cell in which it waited, or in which it was being sent.
    Handover,
}

impl DropReason {
    pub const ALL: [DropReason; 9] = [
        DropReason::QueueFull,
        DropReason::Loss,
        DropReason::Outage,
        DropReason::NoRoute,
        DropReason::Policed,
        DropReason::Retries,
        DropReason::Early,
        DropReason::AckFilter,
        DropReason::Handover,
    ];

    pub fn name(self) -> &'static str {
        match self {
            DropReason::QueueFull => "queue_full",
            DropReason::Loss => "loss",
            DropReason::Outage => "outage",
            DropReason::NoRoute => "no_route",
            DropReason::Policed => "policed",
            DropReason::Retries => "retries",
            DropReason::Early => "early",
            DropReason::AckFilter => "ack_filter",
            DropReason::Handover => "handover",
        }
    }
}

/// Something worth telling a probe.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Event {
    Dropped(Packet, DropReason),
    /// It now says that it met congestion.
    Marked(Packet),
    Copied(Packet),
    Created(Packet),
}

/// What went through one element since the run began. Nothing is inferred: elements say what they do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketCounts {
    pub pushed: u64,
    pub forwarded: u64,
    pub copied: u64,
    pub created: u64,
    /// Packets that were told of congestion; they are forwarded or dropped like others.
    pub marked: u64,
    pub dropped: [u64; DropReason::ALL.len()],
}

impl PacketCounts {
    #[inline]
    pub fn drops(&self) -> u64 {
        self.dropped.iter().sum()
    }
}

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

/// A packet on its way out of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    pub to: Route,
    /// By which it left.
    pub port: Port,
    pub packet: Packet,
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

macro_rules! any_element {
    (small: $($kind:ident),*; large: $($large:ident),* $(,)?) => {
        /// Every kind of element: an enum, so that a hop costs a jump and not an indirect call (ADR 3). Large kinds are boxed, so that
        /// thousands of small ones lie close together.
        #[repr(u8)]
        pub enum AnyElement {
            $($kind($kind),)*
            $($large(Box<$large>),)*
            /// A user's own.
            User(Box<dyn Element + Send>),
        }

        /// Each with the due time after it, so that the kind is asked for once.
        impl AnyElement {
            #[inline]
            pub(crate) fn push_then_due(&mut self, now: Time, port: Port, packet: Packet, out: &mut Output<'_>) -> Time {
                match self {
                    $(AnyElement::$kind(e) => { e.push(now, port, packet, out); e.due() })*
                    $(AnyElement::$large(e) => { e.push(now, port, packet, out); e.due() })*
                    AnyElement::User(e) => { e.push(now, port, packet, out); e.due() }
                }
            }
            #[inline]
            pub(crate) fn wake_then_due(&mut self, now: Time, out: &mut Output<'_>) -> Time {
                match self {
                    $(AnyElement::$kind(e) => { e.wake(now, out); e.due() })*
                    $(AnyElement::$large(e) => { e.wake(now, out); e.due() })*
                    AnyElement::User(e) => { e.wake(now, out); e.due() }
                }
            }
        }

        impl Element for AnyElement {
            #[inline]
            fn push(&mut self, now: Time, port: Port, packet: Packet, out: &mut Output<'_>) {
                match self { $(AnyElement::$kind(e) => e.push(now, port, packet, out),)* $(AnyElement::$large(e) => e.push(now, port, packet, out),)* AnyElement::User(e) => e.push(now, port, packet, out) }
            }
            #[inline]
            fn wake(&mut self, now: Time, out: &mut Output<'_>) {
                match self { $(AnyElement::$kind(e) => e.wake(now, out),)* $(AnyElement::$large(e) => e.wake(now, out),)* AnyElement::User(e) => e.wake(now, out) }
            }
            #[inline]
            fn due(&self) -> Time {
                match self { $(AnyElement::$kind(e) => e.due(),)* $(AnyElement::$large(e) => e.due(),)* AnyElement::User(e) => e.due() }
            }
            fn occupancy(&self) -> u64 {
                match self { $(AnyElement::$kind(e) => e.occupancy(),)* $(AnyElement::$large(e) => e.occupancy(),)* AnyElement::User(e) => e.occupancy() }
            }
            fn meter(&mut self, now: Time, place: QueueId) -> Option<&mut LinkMeter> {
                match self { $(AnyElement::$kind(e) => e.meter(now, place),)* $(AnyElement::$large(e) => e.meter(now, place),)* AnyElement::User(e) => e.meter(now, place) }
            }
            fn sample(&mut self, now: Time, place: QueueId) -> Option<QueueSample> {
                match self { $(AnyElement::$kind(e) => e.sample(now, place),)* $(AnyElement::$large(e) => e.sample(now, place),)* AnyElement::User(e) => e.sample(now, place) }
            }
            fn counts(&self, place: QueueId) -> Option<PacketCounts> {
                match self { $(AnyElement::$kind(e) => e.counts(place),)* $(AnyElement::$large(e) => e.counts(place),)* AnyElement::User(e) => e.counts(place) }
            }
        }

        $(impl From<$kind> for AnyElement {
            fn from(e: $kind) -> AnyElement { AnyElement::$kind(e) }
        })*
        $(impl From<$large> for AnyElement {
            fn from(e: $large) -> AnyElement { AnyElement::$large(Box::new(e)) }
        })*
    };
}

any_element!(small: FusedLink, Delay, Duplicate, Outage, Reorder, Loss, Jitter, Handover; large: RateLink, TraceLink, Grants, HalfDuplex, PacketRadio, Wimax, Wlan, AckReconstructor);
