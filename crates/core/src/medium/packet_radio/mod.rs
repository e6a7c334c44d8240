//! A chain of half-duplex packet radios, after Metricom's Ricochet: Balakrishnan, Padmanabhan and Katz, "The Effects of Asymmetry on TCP
//! Performance" (1997), section 5.1. A gateway, relays with one radio each, and one radio for each station; each frame is asked for
//! (RTS), granted (CTS), sent and acknowledged, and every change between sending and receiving takes time.

mod exchange;
mod neighbor_queue;
mod topology;

use super::{Medium, StationQueues, Stream};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::queue::AnyQueue;
use crate::ring::Ring;
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};
use neighbor_queue::{ExchangePhase, NeighborQueue};
use topology::{Radio, Topology};

/// The radios' constants; all radios have the same.
#[derive(Clone, Debug, PartialEq)]
pub struct RadioConfig {
    /// Wireless hops between gateway and station, 1 or more.
    pub hops: u32,
    pub rate: Rate,
    /// From the end of a frame until its packet is out of the receiving radio.
    pub latency: Span,
    /// T_TR, the next from sending to receiving.
    pub to_receive: Span,
    /// T_RT, the next from receiving to sending.
    pub to_send: Span,
    pub rts_bytes: u32,
    pub cts_bytes: u32,
    /// Before each packet.
    pub header_bytes: u32,
    /// A link ACK that travels alone.
    pub ack_bytes: u32,
    /// Above nothing, and the cap above twice as much: without chance in it, two radios would meet for ever.
    pub backoff_base: Span,
    pub backoff_cap: Span,
    /// A frame whose own radio is busy backs off, as one whose RTS is not answered; else it goes when the radio is free.
    pub defer_by_backoff: bool,
    /// A busy radio says so (NACK-CTS) instead of staying silent.
    pub nack_cts: bool,
    /// A link ACK rides on the next RTS, CTS or frame to the same peer and takes no time of its own; else it travels alone.
    pub piggyback: bool,
    /// From the end of a frame until it is sent again if no link ACK has come.
    pub ack_timeout: Span,
    /// Times a frame is sent before its packet is given up.
    pub tries: u32,
    /// Packets that wait at a relay in one direction.
    pub relay_queue: u64,
    /// Share of data frames that arrive damaged, down and up.
    pub frame_error: [f64; 2],
}

impl RadioConfig {
    fn air(&self, bytes: u32) -> Span {
        self.rate.time_to_send(bytes)
    }
    fn rts(&self) -> Span {
        self.air(self.rts_bytes)
    }
    fn cts(&self) -> Span {
        self.air(self.cts_bytes)
    }
    /// One radio turns to send while its peer turns to receive: both must be done.
    fn turnaround(&self) -> Span {
        self.to_send.max(self.to_receive)
    }
    /// From the start of an RTS until a radio gives up waiting for the CTS: a next and four polls.
    fn cts_timeout(&self) -> Span {
        self.turnaround() + self.rts().saturating_mul(4)
    }
}

/// A packet on its route through a receiving radio.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Time,
    stream: Stream,
    /// Hops from the gateway.
    position: u32,
    packet: Packet,
}

/// See the module.
pub struct PacketRadio {
    config: RadioConfig,
    topology: Topology,
    queues: StationQueues,
    radios: Vec<Radio>,
    neighbors: Vec<NeighborQueue>,
    arriving: Ring<Arrival>,
    /// The earliest due time of all of these.
    due: Time,
    backoffs: Rng,
    errors: Rng,
}

impl PacketRadio {
    /// With one queue for each stream, in the order of [`Stream::index`].
    pub fn new(config: RadioConfig, queues: impl IntoIterator<Item = AnyQueue>, mut rng: Rng) -> PacketRadio {
        let queues = StationQueues::new(queues);
        let topology = Topology { hops: config.hops.max(1), stations: queues.stations() };
        let neighbors = topology.neighbors();
        let radios = topology.radios(&neighbors);
        let (errors, backoffs) = (rng.fork(), rng);
        PacketRadio { config, topology, queues, radios, neighbors, arriving: Ring::new(), due: Time::NEVER, backoffs, errors }
    }

    fn reschedule(&mut self) {
        let arrival = self.arriving.front().map_or(Time::NEVER, |a| a.at);
        self.due = self.neighbors.iter().map(|o| o.due).fold(arrival, Time::min);
    }

    /// A packet is through a radio: it leaves the medium, or waits for the next hop.
    fn come_in(&mut self, arrival: Arrival, out: &mut Output<'_>) {
        let Arrival { at, stream, position, packet } = arrival;
        let Some(next) = self.topology.neighbor_from(position, stream) else {
            return self.queues.of(stream).forward(stream, packet, out);
        };
        if self.neighbors[next].relay(stream, packet, self.config.relay_queue) {
            self.try_start(self.neighbors[next].from, at, out);
        } else {
            self.queues.of(stream).drop(packet, DropReason::QueueFull, out);
        }
    }
}

impl Medium for PacketRadio {
    fn queues(&self) -> &StationQueues {
        &self.queues
    }
    fn queues_mut(&mut self) -> &mut StationQueues {
        &mut self.queues
    }

    fn accept(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        let neighbor = self.topology.entry(stream);
        let from = self.neighbors[neighbor].from;
        if self.neighbors[neighbor].takes_at_once(&self.queues) && !self.radios[from].busy {
            if let Some(packet) = self.queues.of(stream).pass(now, packet, out) {
                self.neighbors[neighbor].set_frame(stream, packet, &self.config);
                self.try_start(from, now, out);
            }
        } else {
            self.queues.of(stream).enqueue(now, packet, out);
            self.try_start(from, now, out);
        }
        self.reschedule();
    }

    /// Does all that is due until `now`, in order of time; at one instant arrivals come first, then neighbors by their number.
    fn advance(&mut self, now: Time, out: &mut Output<'_>) {
        while self.due <= now {
            let at = self.due;
            if let Some(arrival) = self.arriving.front().copied().filter(|a| a.at <= at) {
                self.arriving.pop_front();
                self.come_in(arrival, out);
            } else if let Some(neighbor) = self.neighbors.iter().position(|o| o.due <= at) {
                self.step(neighbor, at, out);
            }
            self.reschedule();
        }
    }

    fn next(&self) -> Time {
        self.due
    }
    fn in_service(&self) -> u64 {
        self.neighbors.iter().map(NeighborQueue::packets).sum::<u64>() + self.arriving.len() as u64
    }

    /// Its stations keep to their chain: nobody tells it to let them roam.
    fn station_leaves(&mut self, _now: Time, _station: u32, _out: &mut Output<'_>) {}
    fn station_arrives(&mut self, _now: Time, _station: u32, _out: &mut Output<'_>) {}
}
