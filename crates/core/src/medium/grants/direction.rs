//! Scheduler of one direction: partially sent packets, packets in flight, and the allocation of
//! intervals.

use super::capacity::{Intervals, ReservedCapacity, StationSpeed, max_min_share};
use super::config::{DirectionConfig, ShareLayout};
use crate::element::{DropReason, Output};
use crate::in_flight::InFlightPerStation;
use crate::link::TokenBucket;
use crate::medium::{Direction, StationQueues, Stream};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};

pub struct GrantScheduler {
    config: DirectionConfig,
    direction: Direction,
    pub intervals: Intervals,
    senders: Vec<StationSender>,
    reserved: ReservedCapacity,
    pub in_flight: InFlightPerStation<SentPacket>,
    errors: Rng,
    /// The station that is served first in the next interval.
    next_station: usize,
    allocation: Allocation,
    /// The packets that the last grant completed, and the ends of their transmissions. Kept as the
    /// lists of the allocation are.
    completed: Vec<(PartialPacket, Time)>,
}

/// The allocation of the last interval. Its lists are kept, so that an interval allocates no
/// memory.
#[derive(Default)]
struct Allocation {
    /// The stations served, in round-robin order.
    order: Vec<usize>,
    /// The maximum of channel bytes of each, and its share.
    allowed: Vec<u64>,
    shares: Vec<u64>,
    grants: Vec<StationGrant>,
}

#[derive(Clone, Debug, Default)]
struct StationSender {
    /// The packet sent in part.
    head: Option<PartialPacket>,
    tokens: Option<TokenBucket>,
}

/// A packet and its unsent bytes.
#[derive(Clone, Copy, Debug)]
struct PartialPacket {
    packet: Packet,
    left: u64,
    /// Arrival time of the part sent so far; `lost` if some of it is lost for good.
    arrives: Time,
    lost: bool,
}

/// Minimum share of a crowded interval besides the header; further stations wait for the next
/// interval.
const MIN_SHARE: u64 = 64;

/// A packet sent in full and not yet delivered.
pub struct SentPacket {
    stream: Stream,
    packet: Packet,
    /// No retransmission succeeds. Later packets of the station wait until the last attempt has
    /// failed.
    lost: bool,
}

/// A grant to one station.
#[derive(Clone, Copy, Debug)]
pub struct StationGrant {
    pub station: u32,
    pub bytes: u64,
    /// End of its transmission.
    pub end: Time,
}

/// Outcome of a transmission: its additional delay, or its loss.
#[derive(Clone, Copy, Debug, Default)]
struct TransmissionOutcome {
    late: Span,
    lost: bool,
}

impl GrantScheduler {
    pub fn new(config: DirectionConfig, direction: Direction, stations: u32, errors: Rng) -> GrantScheduler {
        let tokens = config.cap.map(|cap| TokenBucket::new(cap.rate, cap.burst));
        GrantScheduler {
            intervals: Intervals::new(&config),
            senders: vec![StationSender { tokens, ..StationSender::default() }; stations as usize],
            config,
            direction,
            reserved: ReservedCapacity::default(),
            in_flight: InFlightPerStation::new(stations),
            errors,
            next_station: 0,
            allocation: Allocation::default(),
            completed: Vec::new(),
        }
    }

    /// Packets dequeued and not delivered.
    pub fn occupancy(&self) -> u64 {
        self.in_flight.len() as u64 + self.senders.iter().filter(|sender| sender.head.is_some()).count() as u64
    }

    /// Delivers every packet that has arrived by `now`.
    pub fn deliver(&mut self, now: Time, queues: &mut StationQueues, out: &mut Output<'_>) {
        while let Some(SentPacket { stream, packet, lost }) = self.in_flight.pop(now) {
            let queue = queues.of(stream);
            if lost {
                queue.drop(packet, DropReason::Retries, out);
            } else {
                queue.forward(stream, packet, out);
            }
        }
    }

    /// Bytes that a station has to send, headers included.
    pub fn backlog(&self, station: u32, queues: &StationQueues) -> u64 {
        let stream = Stream::new(station, self.direction);
        let begun = self.senders[station as usize].head.map_or(0, |piece| piece.left);
        match begun + queues.waiting_bytes(stream) + queues.waiting_in(stream) * u64::from(self.config.packet_header) {
            0 => 0,
            bytes => bytes + u64::from(self.config.block_header),
        }
    }

    /// As `backlog`, but zero while the station is between two cells.
    pub fn backlog_here(&self, station: u32, queues: &StationQueues) -> u64 {
        if queues.is_served(station) { self.backlog(station, queues) } else { 0 }
    }

    /// A station leaves: a partially sent packet restarts from its first byte, or is dropped.
    pub fn abandon(&mut self, station: u32, keeps: bool, queues: &mut StationQueues, out: &mut Output<'_>) {
        let Some(piece) = self.senders[station as usize].head.take() else { return };
        if keeps {
            self.senders[station as usize].head = Some(self.unsent(piece.packet));
        } else {
            queues.of(Stream::new(station, self.direction)).drop(piece.packet, DropReason::Handover, out);
        }
    }

    /// A packet of which nothing has been sent.
    fn unsent(&self, packet: Packet) -> PartialPacket {
        PartialPacket {
            packet,
            left: u64::from(packet.len) + u64::from(self.config.packet_header),
            arrives: Time::ZERO,
            lost: false,
        }
    }

    /// Allocates interval `number` to the stations' demands and transmits.
    pub fn serve(&mut self, number: u64, demands: &[u64], queues: &mut StationQueues, out: &mut Output<'_>) {
        let start = self.intervals.start(number);
        let capacity = self.intervals.bytes(number);
        let room = capacity.saturating_sub(self.reserved.take(number));
        let on_air = |(station, &bytes): (usize, &u64)| StationSpeed(queues.speed(station as u32)).on_air(bytes);
        let wanted: u64 = demands.iter().enumerate().map(on_air).sum();
        let mut allocation = std::mem::take(&mut self.allocation);
        self.select_stations(start, demands, room, queues, &mut allocation);
        let min_grant = self.min_grant();
        max_min_share(room, &allocation.allowed, &mut allocation.shares);
        allocation.grants.clear();
        let mut before = 0;
        for (&station, &air) in allocation.order.iter().zip(&allocation.shares) {
            let bytes = StationSpeed(queues.speed(station as u32)).carried(air);
            if bytes < min_grant {
                continue;
            }
            let end = self.end(number, before + air);
            self.send(station, number, (before, bytes), queues, out);
            before += air;
            allocation.grants.push(StationGrant { station: station as u32, bytes, end });
        }
        self.allocation = allocation;
        // Demand that remains fills the interval, be it for want of room or of a station's tokens.
        let used = if before < wanted { capacity } else { capacity - room + before };
        let share = used.min(capacity) as f64 / capacity.max(1) as f64;
        queues.time(self.direction).add_full(Span::from_secs_f64(self.config.interval.as_secs() * share));
    }

    /// The grants of the last interval.
    pub fn grants(&self) -> &[StationGrant] {
        &self.allocation.grants
    }

    /// Bytes of the smallest grant that carries data.
    pub fn min_grant(&self) -> u64 {
        u64::from(self.config.block_header) + 1
    }

    /// The stations served in this interval, in round-robin order and as many as fit, with the
    /// maximum of channel bytes for each.
    fn select_stations(
        &mut self,
        start: Time,
        demands: &[u64],
        room: u64,
        queues: &StationQueues,
        Allocation { order, allowed, .. }: &mut Allocation,
    ) {
        order.clear();
        allowed.clear();
        let stations = demands.len();
        let max_stations = (room / (self.min_grant() + MIN_SHARE)).max(1) as usize;
        let first = self.next_station;
        for station in (first..stations).chain(0..first.min(stations)) {
            let bytes = self.allowed(station, demands[station], start);
            if bytes < self.min_grant() {
                continue;
            }
            if order.len() == max_stations {
                self.next_station = station;
                return;
            }
            order.push(station);
            allowed.push(StationSpeed(queues.speed(station as u32)).on_air(bytes));
        }
        self.next_station = (first + 1) % stations.max(1);
    }

    fn allowed(&mut self, station: usize, want: u64, now: Time) -> u64 {
        if want == 0 {
            return 0;
        }
        self.senders[station].tokens.as_mut().map_or(want, |tokens| want.min(tokens.bytes(now)))
    }

    /// End of the transmission of the first `bytes` of an interval.
    fn end(&self, number: u64, bytes: u64) -> Time {
        match self.config.layout {
            ShareLayout::Block => self.intervals.start(number + 1),
            ShareLayout::Serial => {
                self.intervals.start(number) + self.config.rate.time_to_send(u32::try_from(bytes).unwrap_or(u32::MAX))
            }
        }
    }

    /// A station sends `bytes` in its share, which starts after `before` bytes of the interval.
    fn send(
        &mut self,
        station: usize,
        number: u64,
        (before, bytes): (u64, u64),
        queues: &mut StationQueues,
        out: &mut Output<'_>,
    ) {
        let stream = Stream::new(station as u32, self.direction);
        let pace = StationSpeed(queues.speed(stream.station));
        let mut used = u64::from(self.config.block_header);
        let mut headers = used;
        let mut completed = std::mem::take(&mut self.completed);
        let mut head = self.senders[station].head.take();
        while used < bytes {
            let now = self.intervals.start(number);
            let next = || self.next(stream, now, queues, out);
            let Some(mut piece) = head.take().or_else(next) else { break };
            let part = piece.left.min(bytes - used);
            used += part;
            piece.left -= part;
            if piece.left > 0 {
                head = Some(piece);
            } else {
                headers += u64::from(self.config.packet_header);
                completed.push((piece, self.end(number, before + pace.on_air(used))));
            }
        }
        let air = pace.on_air(used);
        let outcome = self.outcome(number, air);
        for (piece, at) in completed.drain(..) {
            let sent = SentPacket { stream, packet: piece.packet, lost: piece.lost | outcome.lost };
            self.in_flight.push(stream.station, (at + outcome.late).max(piece.arrives), sent);
        }
        self.completed = completed;
        let at = self.end(number, before + air) + outcome.late;
        let sender = &mut self.senders[station];
        sender.head =
            head.map(|piece| PartialPacket { arrives: piece.arrives.max(at), lost: piece.lost | outcome.lost, ..piece });
        if let Some(tokens) = &mut sender.tokens {
            tokens.spend(used);
        }
        queues.of(stream).add_busy(self.config.rate.time_to_send(air as u32));
        let payload = pace.on_air(used.saturating_sub(headers));
        queues.add_sending(self.direction, self.config.rate.time_to_send(payload as u32));
    }

    fn next(&self, stream: Stream, now: Time, queues: &mut StationQueues, out: &mut Output<'_>) -> Option<PartialPacket> {
        queues.of(stream).dequeue(now, out).map(|packet| self.unsent(packet))
    }

    /// Draws the outcome of a transmission and reserves capacity for its retransmissions.
    fn outcome(&mut self, number: u64, bytes: u64) -> TransmissionOutcome {
        let repair = self.config.repair;
        let mut outcome = TransmissionOutcome::default();
        if repair.error <= 0.0 {
            return outcome;
        }
        for round in 0..=repair.rounds {
            for attempt in 0..repair.attempts {
                if attempt > 0 || round > 0 {
                    outcome.late = outcome.late + if attempt > 0 { repair.delay } else { repair.round_delay };
                    let retransmission = self.intervals.from(self.intervals.start(number) + outcome.late);
                    self.reserved.add(retransmission, bytes);
                }
                if !self.errors.chance(repair.error) {
                    return outcome;
                }
            }
        }
        outcome.lost = true;
        outcome
    }

    /// Drops the packet at the head of a station's queue.
    pub fn drop_head(&mut self, station: u32, now: Time, queues: &mut StationQueues, out: &mut Output<'_>) {
        let stream = Stream::new(station, self.direction);
        let begun = self.senders[station as usize].head.take();
        if let Some(packet) = begun.map(|piece| piece.packet).or_else(|| queues.of(stream).dequeue(now, out)) {
            queues.of(stream).drop(packet, DropReason::Retries, out);
        }
    }
}
