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
use super::stage::{Stage, Terms};
use crate::element::{Cause, Element, Out, Place, Port};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
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
    /// One that all share, or one for each client.
    stages: Vec<Stage>,
}

impl Wire {
    /// `rate` none is infinitely fast. With a meter it measures its queue.
    pub fn new(rate: Option<Rate>, delay: Span, limit: Limit, framing: Framing, metered: bool) -> Wire {
        Wire::with_stations(Terms { rate, delay, limit, framing }, 1, Arc::default(), metered)
    }

    /// Every one of `stations` clients has its own; `clients` says whose a flow is.
    pub fn with_stations(terms: Terms, stations: u32, clients: Arc<[u32]>, metered: bool) -> Wire {
        let stages = (0..stations.max(1)).map(|_| Stage::new(metered)).collect();
        Wire { links: vec![Link { terms, stages }], clients, flying: Flights::new() }
    }

    /// This wire, and straight after it another that nothing else leads to.
    pub fn then(mut self, next: Wire) -> Wire {
        self.links.extend(next.links);
        if !next.clients.is_empty() {
            self.clients = next.clients;
        }
        self
    }

    /// Packets that reached the far end of the link at `place` before `now`; 0 without a meter.
    pub fn delivered(&mut self, now: Time, place: Place) -> u64 {
        self.stage(place).map_or(0, |(terms, stage)| stage.delivered(&terms, now))
    }

    fn stage(&mut self, place: Place) -> Option<(Terms, &mut Stage)> {
        let link = self.links.get_mut(place.link as usize)?;
        Some((link.terms, link.stages.get_mut(place.station as usize)?))
    }
}

#[inline]
fn stage_of<'a>(stages: &'a mut [Stage], flow: u32, clients: &[u32]) -> Option<&'a mut Stage> {
    if stages.len() == 1 {
        return stages.first_mut();
    }
    let client = clients.get(flow as usize).copied().unwrap_or(0);
    stages.get_mut(client as usize)
}

impl Element for Wire {
    #[inline]
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Out<'_>) {
        let mut at = now;
        for Link { terms, stages } in &mut self.links {
            let stage = stage_of(stages, packet.flow, &self.clients);
            match stage.and_then(|stage| stage.accept(terms, now, at, &packet)) {
                Some(leaves) => at = leaves,
                None => return out.drop(packet, Cause::QueueFull),
            }
        }
        self.flying.push(at, packet);
    }

    #[inline]
    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        while let Some(packet) = self.flying.pop(now) {
            out.forward(Port(0), *packet);
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
