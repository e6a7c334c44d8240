//! State shared by downlink and uplink: the stations' queues and radios, and packets in flight.

use super::amc::StationRadio;
use super::config::{ConnectionConfig, WimaxConfig, at_speed};
use super::frame::FrameLayout;
use super::pdu::Fragmenter;
use super::qos_class::ServiceFlow;
use super::rate_limit::{LimitDecision, RateLimiter};
use super::retransmission::{Released, RetransmissionWindow};
use crate::element::{DropReason, Output};
use crate::medium::{Direction, StationQueues, Stream};
use crate::packet::Packet;
use crate::ring::Ring;
use crate::rng::Rng;
use crate::units::{Span, Time};

/// Transmit state of one stream besides its queue.
#[derive(Clone, Debug, Default)]
pub struct StationTx {
    pub fragmenter: Fragmenter,
    /// `None` if errors are impossible.
    pub window: Option<Box<RetransmissionWindow>>,
    pub rate_limiters: Vec<RateLimiter>,
}

/// What a piece delivers at its end.
#[derive(Clone, Copy, Debug)]
pub enum Payload {
    Packet(Packet),
    /// A unit of the stream's window, by number.
    Unit(u64),
}

/// A piece scheduled into a frame; it arrives at the end of slot `last` of its burst.
#[derive(Clone, Copy, Debug)]
pub struct ScheduledPiece {
    pub burst: u32,
    pub first: u32,
    pub last: u32,
    pub stream: Stream,
    pub payload: Payload,
}

/// A packet with its delivery time.
#[derive(Clone, Copy, Debug)]
pub struct PacketInFlight {
    pub at: Time,
    pub stream: Stream,
    pub packet: Packet,
}

pub struct Cell {
    pub config: WimaxConfig,
    /// Stations without their additional connections.
    pub clients: u32,
    pub frame: FrameLayout,
    /// The current frame and its start.
    pub number: u64,
    pub began: Time,
    /// By MCS index.
    pub slot_bytes: Vec<u32>,
    pub queues: StationQueues,
    /// By [`Stream::index`].
    pub tx: Vec<StationTx>,
    /// By station.
    pub radios: Vec<StationRadio>,
    /// In order of time.
    pub in_flight: Ring<PacketInFlight>,
    pub errors: Rng,
    /// Random stream of residual losses.
    pub losses: Rng,
}

impl Cell {
    /// The service flow of a connection.
    pub fn service_flow(&self, station: u32) -> ServiceFlow {
        let further = (station / self.clients.max(1)) as usize;
        match further.checked_sub(1).and_then(|at| self.config.connections.get(at)) {
            Some(connection) => connection.service,
            None => self.config.station(station).service,
        }
    }

    /// The connection that carries a station's packet.
    pub fn connection(&self, stream: Stream, packet: &Packet) -> Stream {
        let covers = |connection: &ConnectionConfig| connection.traffic.covers(packet.kind);
        match self.config.connections.iter().position(covers) {
            Some(at) => Stream { station: stream.station + self.clients * (at as u32 + 1), ..stream },
            None => stream,
        }
    }

    /// Bytes per slot for this stream at its current MCS.
    pub fn slot_bytes_of(&mut self, stream: Stream) -> u32 {
        let radio = &mut self.radios[stream.station as usize];
        radio.advance(self.number, self.config.frame.channel.set());
        let bytes = self.slot_bytes[usize::from(radio.mcs(stream.direction))];
        at_speed(bytes, self.queues.speed(stream.station))
    }

    /// A station leaves: its unacknowledged packets are dropped. A fragmented packet restarts
    /// from its first byte if it is the station's own or is forwarded to the next cell.
    pub fn abandon(&mut self, stream: Stream, out: &mut Output<'_>) {
        let keeps = stream.direction == Direction::Up || self.queues.forwards();
        let tx = &mut self.tx[stream.index()];
        let queue = self.queues.of(stream);
        let mut unanswered = tx.window.as_mut().map(|window| window.reset());
        while let Some(packet) = unanswered.as_mut().and_then(|packets| packets.pop_front()) {
            queue.drop(packet, DropReason::Handover, out);
        }
        tx.fragmenter.restart_packet();
        if let Some(packet) = if keeps { None } else { tx.fragmenter.take_fragmented() } {
            queue.drop(packet, DropReason::Handover, out);
        }
    }

    /// Bytes to be sent for the first time, headers included.
    pub fn backlog(&mut self, stream: Stream) -> u64 {
        self.tx[stream.index()].fragmenter.backlog(self.queues.of(stream), &self.config.pdu)
    }

    /// Bytes of the packets queued or sent in part, each in full, headers included.
    pub fn packet_backlog(&mut self, stream: Stream) -> u64 {
        self.tx[stream.index()].fragmenter.packet_backlog(self.queues.of(stream), &self.config.pdu)
    }

    /// Packets queued or sent in part.
    pub fn packets(&mut self, stream: Stream) -> u64 {
        self.tx[stream.index()].fragmenter.occupancy() + self.queues.of(stream).packets()
    }

    /// Accepts an arriving packet: rate limits, then the queue.
    pub fn accept(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        if self.tx[stream.index()].rate_limiters.is_empty() {
            return self.queues.of(stream).enqueue(now, packet, out);
        }
        self.queues.of(stream).hold(now, packet);
        self.apply_rate_limits(now, stream, (now, packet), 0, out);
    }

    /// Applies the rate limits from number `from` on to a packet that arrived at an earlier time.
    fn apply_rate_limits(
        &mut self,
        now: Time,
        stream: Stream,
        (since, packet): (Time, Packet),
        from: usize,
        out: &mut Output<'_>,
    ) {
        let queue = self.queues.of(stream);
        for limiter in self.tx[stream.index()].rate_limiters.iter_mut().skip(from).filter(|limiter| limiter.covers(&packet)) {
            match limiter.check(now, since, packet) {
                LimitDecision::Pass => {}
                LimitDecision::Wait => return,
                LimitDecision::Drop => {
                    queue.release(now, packet);
                    return queue.drop(packet, DropReason::Policed, out);
                }
            }
        }
        queue.enqueue_held(now, (since, packet), out);
    }

    /// Enqueues the packets that a rate limit no longer delays.
    pub fn release_rate_limited(&mut self, stream: Stream, now: Time, out: &mut Output<'_>) {
        for at in 0..self.tx[stream.index()].rate_limiters.len() {
            while let Some(released) = self.tx[stream.index()].rate_limiters[at].release(now) {
                self.apply_rate_limits(now, stream, released, at + 1, out);
            }
        }
    }

    /// True if the stream has nothing queued, in flight or to retransmit.
    pub fn is_idle(&mut self, stream: Stream) -> bool {
        let tx = &self.tx[stream.index()];
        tx.fragmenter.is_empty(self.queues.of(stream))
            && tx.window.as_ref().is_none_or(|window| window.is_idle())
            && tx.rate_limiters.iter().all(|limiter| limiter.occupancy() == 0)
    }

    /// Delivers the scheduled pieces in order of time. `at` maps a piece to its time from the start
    /// of the frame.
    pub fn deliver(
        &mut self,
        scheduled: &mut Vec<ScheduledPiece>,
        one_burst: bool,
        at: impl Fn(&ScheduledPiece) -> Span,
        out: &mut Output<'_>,
    ) {
        if !one_burst {
            scheduled.sort_by_key(&at);
        }
        for piece in scheduled.drain(..) {
            let at = self.began + at(&piece);
            match piece.payload {
                Payload::Packet(packet) => self.complete(at, piece.stream, packet, out),
                Payload::Unit(number) => self.receive_unit(number, piece.stream, at, out),
            }
        }
    }

    fn receive_unit(&mut self, number: u64, stream: Stream, at: Time, out: &mut Output<'_>) {
        let p = self.radios[stream.station as usize].error(stream.direction, self.config.frame.channel.set());
        let Some(window) = &mut self.tx[stream.index()].window else { return };
        window.on_received(number, self.number, p, &mut self.errors);
        while let Some(released) = self.tx[stream.index()].window.as_mut().and_then(|window| window.release()) {
            match released {
                Released::Complete(packet) => self.complete(at, stream, packet, out),
                Released::Lost(packet) => self.queues.of(stream).drop(packet, DropReason::Loss, out),
            }
        }
    }

    /// A packet is complete at `at`, and is delivered unless residual loss drops it.
    fn complete(&mut self, at: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        let share = self.radios[stream.station as usize].residual_loss(stream.direction);
        if share > 0.0 && self.losses.chance(share) {
            self.queues.of(stream).drop(packet, DropReason::Loss, out);
        } else {
            self.in_flight.push_back(PacketInFlight { at, stream, packet });
        }
    }

    /// Counts slots as busy time of a stream, of `of` data slots per frame.
    pub fn add_busy_slots(&mut self, stream: Stream, slots: u32, of: u32) {
        let span = self.frame.length.0 / u64::from(of.max(1)) * u64::from(slots);
        self.queues.of(stream).add_busy(Span(span));
    }

    /// Counts slots of a direction that carry packets.
    pub fn add_sending(&mut self, direction: Direction, slots: u32) {
        let zone = if direction == Direction::Down { self.frame.down } else { self.frame.up };
        let duration = zone.column.0 * u64::from(zone.columns);
        self.queues.add_sending(direction, Span(duration / u64::from(zone.slots().max(1)) * u64::from(slots)));
    }

    /// Counts the part of this frame in which a direction has no free slots.
    pub fn add_full(&mut self, direction: Direction, share: f64) {
        let span = Span::from_secs_f64(self.frame.length.as_secs() * share);
        self.queues.time(direction).add_full(span);
    }

    /// Packets that have left their queues or are delayed before them.
    pub fn in_service(&self) -> u64 {
        let inside = |tx: &StationTx| {
            let window = tx.window.as_ref().map_or(0, |window| window.occupancy());
            tx.fragmenter.occupancy() + window + tx.rate_limiters.iter().map(RateLimiter::occupancy).sum::<u64>()
        };
        self.in_flight.len() as u64 + self.tx.iter().map(inside).sum::<u64>()
    }

    pub fn down(station: u32) -> Stream {
        Stream::new(station, Direction::Down)
    }
    pub fn up(station: u32) -> Stream {
        Stream::new(station, Direction::Up)
    }
}
