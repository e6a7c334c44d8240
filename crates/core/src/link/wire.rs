//! Fixed-rate links behind droptail queues, with the distance after each, as one element.
//!
//! A packet's way through such links is known as soon as it reaches the first (see [`Stage`]), so the element has one due time, the next
//! arrival at the far end, where every queue, link and delay would need its own. [`super::RateLink`] does the same work step by step for
//! queues that decide later; tests hold the two together packet by packet.
//!
//! Links may be joined where nothing can come in between: any number that all packets cross in one order, and at the end a link of
//! which every client has its own.

use super::Framing;
use super::flights::Flights;
use super::stage::{Sending, Stage, Terms};
use crate::element::{Cause, Element, Out, Place, Port};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::{Packet, Shape};
use crate::queue::Limit;
use crate::units::{Rate, Span, Time};
use std::sync::Arc;

pub struct Wire {
    links: Vec<Link>,
    /// Each flow's client, for links of which every client has its own.
    clients: Arc<[u32]>,
    flying: Flights,
}

struct Link {
    terms: Terms,
    /// What the packet before was and took: most are like it.
    before: (Shape, Sending),
    /// All packets', or the first client's.
    stage: Stage,
    /// The other clients', if each has its own.
    others: Vec<Stage>,
}

impl Wire {
    /// `rate` none is infinitely fast. With a meter it measures its queue.
    pub fn new(rate: Option<Rate>, delay: Span, limit: Limit, framing: Framing, metered: bool) -> Wire {
        Wire::with_stations(Terms { rate, delay, limit, framing }, 1, Arc::default(), metered)
    }

    /// Every one of `stations` clients has its own; `clients` says whose a flow is.
    pub fn with_stations(terms: Terms, stations: u32, clients: Arc<[u32]>, metered: bool) -> Wire {
        let others = (1..stations).map(|_| Stage::new(metered)).collect();
        let link = Link { terms, before: Default::default(), stage: Stage::new(metered), others };
        Wire { links: vec![link], clients, flying: Flights::new() }
    }

    /// This wire, and straight after it another that nothing else leads to.
    pub fn then(mut self, next: Wire) -> Wire {
        self.links.extend(next.links);
        if !next.clients.is_empty() {
            self.clients = next.clients;
        }
        self
    }

    /// The packet that has arrived at the far end, if it is the only one.
    #[inline]
    pub fn only_arrival(&self, now: Time) -> Option<&Packet> {
        self.flying.only_arrived(now)
    }

    /// Takes out the first packet that has arrived.
    #[inline]
    pub fn take_arrival(&mut self) {
        self.flying.take_arrived();
    }

    /// Packets that reached the far end of the link at `place` before `now`; 0 without a meter.
    pub fn delivered(&mut self, now: Time, place: Place) -> u64 {
        self.stage(place).map_or(0, |(terms, stage)| stage.delivered(&terms, now))
    }

    fn stage(&mut self, place: Place) -> Option<(Terms, &mut Stage)> {
        let link = self.links.get_mut(place.link as usize)?;
        Some((link.terms, link.station(place.station)?))
    }
}

impl Link {
    fn station(&mut self, number: u32) -> Option<&mut Stage> {
        match number.checked_sub(1) {
            None => Some(&mut self.stage),
            Some(other) => self.others.get_mut(other as usize),
        }
    }

    /// When a packet that arrives at `at` reaches the far end; none if it is dropped.
    #[inline]
    fn accept(&mut self, clients: &[u32], now: Time, at: Time, packet: &Packet) -> Option<Time> {
        let Link { terms, before: (shape, sending), stage, others } = self;
        if *shape != packet.shape() {
            (*shape, *sending) = (packet.shape(), terms.sending(packet));
        }
        let mut stage = stage;
        if !others.is_empty()
            && let Some(other) = clients.get(packet.flow as usize).and_then(|client| client.checked_sub(1))
        {
            stage = others.get_mut(other as usize)?;
        }
        stage.accept(terms, now, at, sending)
    }
}

impl Element for Wire {
    #[inline]
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Out<'_>) {
        let mut at = now;
        for link in &mut self.links {
            match link.accept(&self.clients, now, at, &packet) {
                Some(leaves) => at = leaves,
                None => return out.drop(packet, Cause::QueueFull),
            }
        }
        self.flying.push(at, packet);
    }

    #[inline]
    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        while let Some(&packet) = self.flying.arrived(now) {
            out.forward(Port(0), packet);
            self.flying.take_arrived();
        }
    }

    #[inline]
    fn due(&self) -> Time {
        self.flying.next()
    }

    fn held(&self) -> u64 {
        self.flying.len() as u64
    }

    fn meter(&mut self, now: Time, place: Place) -> Option<&mut LinkMeter> {
        self.stage(place).and_then(|(terms, stage)| stage.meter(&terms, now))
    }

    fn sample(&mut self, now: Time, place: Place) -> Option<QueueSample> {
        self.stage(place).and_then(|(terms, stage)| stage.sample(&terms, now))
    }
}
