//! A chain of half-duplex packet radios, after Metricom's Ricochet: Balakrishnan, Padmanabhan and
//! Katz, "The Effects of Asymmetry on TCP Performance" (1997), section 5.1. A gateway, relays with
//! one radio each, and one radio per station. Each frame uses RTS, CTS and a link ACK, and each
//! change between sending and receiving takes time.

mod exchange;
mod multihop;
mod neighbor_queue;
mod topology;

use super::{Medium, StationQueues, Stream, check_frame_error, check_rate};
use crate::config_check::{Checked, check_span, ensure};
use crate::config_form::{is_default, per_direction};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::queue::AnyQueue;
use crate::ring::Ring;
use crate::rng::Rng;
use crate::units::{Rate, Span, Time};
use neighbor_queue::{ExchangePhase, NeighborQueue};
use serde::{Deserialize, Serialize};
use topology::{Radio, Topology};

/// Whose rules the radios follow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RadioMac {
    /// Section 5.1 of the paper: every change between sending and receiving takes its time.
    #[default]
    Ricochet,
    /// `Mac/Multihop`, which the paper's authors left in ns-2 (mac-multihop.cc).
    Ns2Multihop,
}

/// Constants of the radios, the same for all, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RadioConfig {
    /// Wireless hops between gateway and station, 1 or more.
    pub hops: u32,
    #[serde(rename = "bps")]
    pub rate: Rate,
    #[serde(default, skip_serializing_if = "is_default")]
    pub mac: RadioMac,
    /// From the end of a frame until its packet leaves the receiving radio.
    #[serde(rename = "latency_ps")]
    pub latency: Span,
    /// T_TR, turnaround from sending to receiving.
    #[serde(rename = "to_receive_ps")]
    pub to_receive: Span,
    /// T_RT, turnaround from receiving to sending.
    #[serde(rename = "to_send_ps")]
    pub to_send: Span,
    pub rts_bytes: u32,
    pub cts_bytes: u32,
    /// Header of each packet.
    pub header_bytes: u32,
    /// A link ACK that is not piggybacked.
    pub ack_bytes: u32,
    /// Above zero, and the cap above twice the base: without randomness two radios could collide
    /// forever.
    #[serde(rename = "backoff_base_ps")]
    pub backoff_base: Span,
    #[serde(rename = "backoff_cap_ps")]
    pub backoff_cap: Span,
    /// A frame whose own radio is busy backs off, as after an unanswered RTS; otherwise it waits
    /// until the radio is free.
    pub defer_by_backoff: bool,
    /// A busy radio replies to an RTS with NACK-CTS instead of staying silent.
    pub nack_cts: bool,
    /// The link ACK is piggybacked on the next RTS, CTS or frame to the same peer and takes no
    /// time; otherwise it is a frame of its own.
    pub piggyback: bool,
    /// From the end of a frame to its retransmission if no link ACK has arrived.
    #[serde(rename = "ack_timeout_ps")]
    pub ack_timeout: Span,
    /// Transmissions of a frame before its packet is dropped.
    pub tries: u32,
    /// Queue limit of a relay per direction, in packets.
    #[serde(rename = "relay_packets")]
    pub relay_queue: u64,
    /// Error probability of data frames, downlink and uplink.
    #[serde(with = "per_direction")]
    pub frame_error: [f64; 2],
}

const MAX_RADIO_HOPS: u32 = 64;
const MAX_FRAME_PART: u32 = 65_535;

impl RadioConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        check_rate(self.rate)?;
        ensure((1..=MAX_RADIO_HOPS).contains(&self.hops), || {
            format!("{} radio hops: 1 to {MAX_RADIO_HOPS} are possible", self.hops)
        })?;
        for (key, span) in [
            ("latency_ps", self.latency),
            ("to_receive_ps", self.to_receive),
            ("to_send_ps", self.to_send),
            ("backoff_base_ps", self.backoff_base),
            ("backoff_cap_ps", self.backoff_cap),
            ("ack_timeout_ps", self.ack_timeout),
        ] {
            check_span(key, span)?;
        }
        ensure(self.backoff_base > Span::ZERO && self.backoff_cap.0 / 2 > self.backoff_base.0, || {
            "the back-off's base must be above 0, its cap above twice the base".into()
        })?;
        for (key, bytes) in [
            ("rts_bytes", self.rts_bytes),
            ("cts_bytes", self.cts_bytes),
            ("header_bytes", self.header_bytes),
            ("ack_bytes", self.ack_bytes),
        ] {
            ensure((1..=MAX_FRAME_PART).contains(&bytes), || format!("{key} is {bytes}: 1 to {MAX_FRAME_PART} are possible"))?;
        }
        let rules = self.defer_by_backoff && self.piggyback && !self.nack_cts && self.frame_error == [0.0; 2];
        ensure(self.mac == RadioMac::Ricochet || rules, || {
            "ns-2's Mac/Multihop has neither frame errors, separate link ACKs, refusals nor radios that wait without back-off"
                .into()
        })?;
        ensure(self.tries > 0, || "tries is 0: it must be at least 1".into())?;
        check_frame_error(self.frame_error)
    }

    fn air(&self, bytes: u32) -> Span {
        self.rate.time_to_send(bytes)
    }
    fn rts(&self) -> Span {
        self.air(self.rts_bytes)
    }
    fn cts(&self) -> Span {
        self.air(self.cts_bytes)
    }
    /// Turnaround of both radios: one to sending, its peer to receiving.
    fn turnaround(&self) -> Span {
        self.to_send.max(self.to_receive)
    }
    /// From the start of an RTS to the timeout of its CTS: a turnaround and four RTS times.
    fn cts_timeout(&self) -> Span {
        self.turnaround() + self.rts().saturating_mul(4)
    }
}

/// A packet in a receiving radio.
#[derive(Clone, Copy, Debug)]
struct RelayArrival {
    at: Time,
    stream: Stream,
    /// Hops from the gateway.
    position: u32,
    packet: Packet,
}

/// The chain of radios as one element.
pub struct PacketRadio {
    config: RadioConfig,
    topology: Topology,
    queues: StationQueues,
    radios: Vec<Radio>,
    neighbors: Vec<NeighborQueue>,
    arriving: Ring<RelayArrival>,
    /// The earliest due time of all radios and arrivals.
    due: Time,
    backoffs: Rng,
    errors: Rng,
}

impl PacketRadio {
    /// With one queue per stream, in the order of [`Stream::index`].
    pub fn new(config: RadioConfig, queues: impl IntoIterator<Item = AnyQueue>, mut rng: Rng) -> PacketRadio {
        let queues = StationQueues::new(queues).sharing_capacity();
        let topology = Topology { hops: config.hops.max(1), stations: queues.stations() };
        let neighbors = topology.neighbors();
        let radios = topology.radios(&neighbors);
        let (errors, backoffs) = (rng.fork(), rng);
        PacketRadio { config, topology, queues, radios, neighbors, arriving: Ring::new(), due: Time::NEVER, backoffs, errors }
    }

    /// A neighbor queue has got a packet.
    fn wake(&mut self, neighbor: usize, now: Time, out: &mut Output<'_>) {
        match self.config.mac {
            RadioMac::Ricochet => self.try_start(self.neighbors[neighbor].from, now, out),
            RadioMac::Ns2Multihop => self.poll_first(neighbor, now, out),
        }
    }

    fn reschedule(&mut self) {
        let arrival = self.arriving.front().map_or(Time::NEVER, |a| a.at);
        self.due = self.neighbors.iter().map(|o| o.due).fold(arrival, Time::min);
    }

    /// A packet leaves a receiving radio: it is delivered, or queued for the next hop.
    fn come_in(&mut self, arrival: RelayArrival, out: &mut Output<'_>) {
        let RelayArrival { at, stream, position, packet } = arrival;
        let Some(next) = self.topology.neighbor_from(position, stream) else {
            return self.queues.of(stream).forward_received(stream, packet, out);
        };
        if self.neighbors[next].relay(stream, packet, self.config.relay_queue) {
            self.wake(next, at, out);
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
        let radio_is_free = self.config.mac == RadioMac::Ns2Multihop || !self.radios[from].busy;
        if radio_is_free && self.neighbors[neighbor].takes_at_once(&self.queues) {
            if let Some(packet) = self.queues.of(stream).pass(now, packet, out) {
                self.neighbors[neighbor].set_frame(stream, packet, &self.config);
                self.wake(neighbor, now, out);
            }
        } else {
            self.queues.of(stream).enqueue(now, packet, out);
            self.wake(neighbor, now, out);
        }
        self.reschedule();
    }

    /// Executes everything due by `now` in order of time; at equal times arrivals first, then
    /// neighbor queues by number.
    fn advance(&mut self, now: Time, out: &mut Output<'_>) {
        while self.due <= now {
            let at = self.due;
            if let Some(arrival) = self.arriving.front().copied().filter(|a| a.at <= at) {
                self.arriving.pop_front();
                self.come_in(arrival, out);
            } else if let Some(neighbor) = self.neighbors.iter().position(|o| o.due <= at) {
                match self.config.mac {
                    RadioMac::Ricochet => self.step(neighbor, at, out),
                    RadioMac::Ns2Multihop => self.step_multihop(neighbor, at, out),
                }
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

    /// Roaming is not supported.
    fn station_leaves(&mut self, _now: Time, _station: u32, _out: &mut Output<'_>) {}
    fn station_arrives(&mut self, _now: Time, _station: u32, _out: &mut Output<'_>) {}
}
