//! Consecutive fixed-rate links with droptail queues and propagation delays, fused into one
//! element.
//!
//! The arrival time of a packet at the end of such links is known when it reaches the first (see
//! [`LindleyQueue`]). The element therefore has one due time, the next arrival, instead of one for
//! each queue, transmission and delay. [`super::RateLink`] computes the same step by step, for
//! queues that decide at dequeue time; tests compare the two packet by packet.
//!
//! Links may be fused if no other traffic enters between them: any number of links that all packets
//! cross in one order, followed by at most one link that exists once per client.

use super::Framing;
use super::lindley::{LindleyQueue, LinkConfig, TransmissionCost};
use crate::element::{DropReason, Element, Output, Port, QueueId};
use crate::host::ProcessingClock;
use crate::in_flight::InFlightByArrival;
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::{Packet, Shape};
use crate::queue::Limit;
use crate::units::{Rate, Span, Time};
use std::sync::Arc;

pub struct FusedLink {
    links: Vec<SingleLink>,
    /// By flow: the client, for a link that exists once per client.
    clients: Arc<[u32]>,
    /// By flow: the processing time of the host at the end, for flows that end here.
    clocks: Vec<Option<ProcessingClock>>,
    in_flight: InFlightByArrival,
}

struct SingleLink {
    config: LinkConfig,
    /// Shape and transmission of the previous packet: most packets repeat them.
    before: (Shape, TransmissionCost),
    /// The queue of all packets, or of the first client.
    queue: LindleyQueue,
    /// The queues of the other clients, if each client has its own.
    others: Vec<LindleyQueue>,
}

impl FusedLink {
    /// Without a `rate` the link is infinitely fast.
    pub fn new(rate: Option<Rate>, delay: Span, limit: Limit, framing: Framing) -> FusedLink {
        FusedLink::with_stations(LinkConfig { rate, delay, limit, framing }, 1, Arc::default())
    }

    /// One link per client, for `stations` clients; `clients` maps flows to clients.
    pub fn with_stations(config: LinkConfig, stations: u32, clients: Arc<[u32]>) -> FusedLink {
        let others = (1..stations).map(|_| LindleyQueue::new()).collect();
        let link = SingleLink { config, before: Default::default(), queue: LindleyQueue::new(), others };
        FusedLink { links: vec![link], clients, clocks: Vec::new(), in_flight: InFlightByArrival::new() }
    }

    /// Appends a link that receives packets from this one only.
    pub fn then(mut self, next: FusedLink) -> FusedLink {
        self.links.extend(next.links);
        if !next.clients.is_empty() {
            self.clients = next.clients;
        }
        self
    }

    /// Packets of a flow leave when its host processes them.
    pub(crate) fn set_clock(&mut self, flow: u32, clock: ProcessingClock) {
        let flow = flow as usize;
        if self.clocks.len() <= flow {
            self.clocks.resize(flow + 1, None);
        }
        self.clocks[flow] = Some(clock);
    }

    /// Moves the packet that has arrived at the end to `packet`, if exactly one has. Returns the new due
    /// time.
    #[inline]
    pub fn take_only_arrival(&mut self, now: Time, packet: &mut Packet) -> Option<Time> {
        self.in_flight.take_only_arrived(now, packet)
    }

    /// Accepts a packet and returns true, or returns false if it is dropped.
    // inline(always): nearly every packet of a simulation passes here.
    #[inline(always)]
    pub fn accept(&mut self, now: Time, packet: &Packet) -> bool {
        let (mut at, shape) = (now, packet.shape());
        for link in &mut self.links {
            match link.accept(&self.clients, now, at, (packet, shape)) {
                Some(leaves) => at = leaves,
                None => return false,
            }
        }
        if let Some(Some(clock)) = self.clocks.get_mut(packet.flow as usize) {
            at = clock.process(at, packet.kind);
        }
        self.in_flight.push(at, packet);
        true
    }

    /// Packets that reached the end of the link `queue` before `now`.
    pub fn delivered(&mut self, now: Time, queue: QueueId) -> u64 {
        self.queue_at(queue).map_or(0, |(config, queue)| queue.delivered(&config, now))
    }

    fn queue_at(&mut self, queue: QueueId) -> Option<(LinkConfig, &mut LindleyQueue)> {
        let link = self.links.get_mut(queue.link as usize)?;
        Some((link.config, link.station(queue.station)?))
    }
}

impl SingleLink {
    fn station(&mut self, number: u32) -> Option<&mut LindleyQueue> {
        match number.checked_sub(1) {
            None => Some(&mut self.queue),
            Some(other) => self.others.get_mut(other as usize),
        }
    }

    /// Arrival time at the end of the link for a packet that arrives at `at`; `None` if it is
    /// dropped.
    #[inline]
    fn accept(&mut self, clients: &[u32], now: Time, at: Time, (packet, shape): (&Packet, Shape)) -> Option<Time> {
        let SingleLink { config, before: (last_shape, sending), queue, others } = self;
        if *last_shape != shape {
            (*last_shape, *sending) = (shape, config.sending(packet));
        }
        let mut queue = queue;
        if !others.is_empty()
            && let Some(other) = clients.get(packet.flow as usize).and_then(|client| client.checked_sub(1))
        {
            queue = others.get_mut(other as usize)?;
        }
        queue.accept(config, now, at, sending)
    }
}

impl Element for FusedLink {
    #[inline]
    fn push(&mut self, now: Time, _port: Port, packet: Packet, out: &mut Output<'_>) {
        if !self.accept(now, &packet) {
            out.drop(packet, DropReason::QueueFull);
        }
    }

    #[inline]
    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.in_flight.forward_arrived(now, out);
    }

    #[inline]
    fn due(&self) -> Time {
        self.in_flight.next()
    }

    fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64
    }

    fn meter(&mut self, now: Time, queue: QueueId) -> Option<&mut LinkMeter> {
        self.queue_at(queue).map(|(config, queue)| queue.meter(&config, now))
    }

    fn sample(&mut self, now: Time, queue: QueueId) -> Option<QueueSample> {
        self.queue_at(queue).map(|(config, queue)| queue.sample(&config, now))
    }
}
