//! One direction: what each station has begun to send, what is on its way, and what an interval carries.

use super::budget::{Intervals, Pace, Reserved, Tokens, deal};
use super::flights::{Flight, Flights};
use super::terms::{Layout, WayTerms};
use crate::element::{Cause, Out};
use crate::medium::{Direction, Stream, Streams};
use crate::packet::Packet;
use crate::rng::Rng;
use crate::units::{Span, Time};

pub struct Way {
    terms: WayTerms,
    direction: Direction,
    pub intervals: Intervals,
    senders: Vec<Sender>,
    reserved: Reserved,
    pub flights: Flights,
    errors: Rng,
    /// Station whose turn is first.
    turn: usize,
    shares: Vec<u64>,
}

#[derive(Clone, Debug, Default)]
struct Sender {
    /// Begun and not wholly sent.
    head: Option<Piece>,
    tokens: Option<Tokens>,
}

/// A packet and what is left of it.
#[derive(Clone, Copy, Debug)]
struct Piece {
    packet: Packet,
    left: u64,
    /// When all of it that has been sent is there, and whether some never will be.
    arrives: Time,
    lost: bool,
}

/// Nobody is given less of a crowded interval than this and the share's header: it is others' turn then.
const SMALL_SHARE: u64 = 64;

/// A grant to one station.
#[derive(Clone, Copy, Debug)]
pub struct Grant {
    pub station: u32,
    pub bytes: u64,
    /// When it has been sent.
    pub end: Time,
}

/// How a transmission went: by how much it is late, or whether it is lost.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    late: Span,
    lost: bool,
}

impl Way {
    pub fn new(terms: WayTerms, direction: Direction, stations: u32, errors: Rng) -> Way {
        let tokens = terms.cap.map(Tokens::new);
        Way {
            intervals: Intervals::new(&terms),
            senders: vec![Sender { tokens, ..Sender::default() }; stations as usize],
            terms,
            direction,
            reserved: Reserved::default(),
            flights: Flights::new(stations),
            errors,
            turn: 0,
            shares: Vec::new(),
        }
    }

    /// Packets that it has taken from the queues and not delivered.
    pub fn held(&self) -> u64 {
        self.flights.len() as u64 + self.senders.iter().filter(|sender| sender.head.is_some()).count() as u64
    }

    /// Bytes that a station has to send, headers included.
    pub fn backlog(&self, station: u32, streams: &Streams) -> u64 {
        let stream = Stream::new(station, self.direction);
        let begun = self.senders[station as usize].head.map_or(0, |piece| piece.left);
        match begun + streams.waiting_bytes(stream) + streams.waiting_in(stream) * u64::from(self.terms.packet_header) {
            0 => 0,
            bytes => bytes + u64::from(self.terms.block_header),
        }
    }

    /// The same, and nothing while it is between two cells.
    pub fn backlog_here(&self, station: u32, streams: &Streams) -> u64 {
        if streams.is_here(station) { self.backlog(station, streams) } else { 0 }
    }

    /// A station leaves: a packet that was begun waits again, whole, or is lost.
    pub fn abandon(&mut self, station: u32, keeps: bool, streams: &mut Streams, out: &mut Out<'_>) {
        let Some(piece) = self.senders[station as usize].head.take() else { return };
        if keeps {
            self.senders[station as usize].head = Some(self.whole(piece.packet));
        } else {
            streams.of(Stream::new(station, self.direction)).drop(piece.packet, Cause::Handover, out);
        }
    }

    /// A packet of which nothing has been sent.
    fn whole(&self, packet: Packet) -> Piece {
        Piece { packet, left: u64::from(packet.len) + u64::from(self.terms.packet_header), arrives: Time::ZERO, lost: false }
    }

    /// Interval `number` begins: stations get what they want of it as far as it goes.
    pub fn serve(&mut self, number: u64, wants: &[u64], streams: &mut Streams, out: &mut Out<'_>) -> Vec<Grant> {
        let start = self.intervals.start(number);
        let room = self.intervals.bytes(number).saturating_sub(self.reserved.take(number));
        let (order, wants) = self.queue_up(start, wants, room, streams);
        let least = self.least();
        let mut shares = std::mem::take(&mut self.shares);
        deal(room, &wants, &mut shares);
        let mut grants = Vec::new();
        let mut before = 0;
        for (&station, &air) in order.iter().zip(&shares) {
            let bytes = Pace(streams.speed(station as u32)).carried(air);
            if bytes < least {
                continue;
            }
            let end = self.end(number, before + air);
            self.send(station, number, (before, bytes), streams, out);
            before += air;
            grants.push(Grant { station: station as u32, bytes, end });
        }
        self.shares = shares;
        grants
    }

    /// Bytes of the smallest grant that carries anything.
    pub fn least(&self) -> u64 {
        u64::from(self.terms.block_header) + 1
    }

    /// Who gets something in this interval, and the most of it that each may: as many stations in turn as there is room for.
    fn queue_up(&mut self, start: Time, wants: &[u64], room: u64, streams: &Streams) -> (Vec<usize>, Vec<u64>) {
        let stations = wants.len();
        let most = (room / (self.least() + SMALL_SHARE)).max(1) as usize;
        let (mut order, mut allowed) = (Vec::new(), Vec::new());
        let first = self.turn;
        for station in (0..stations).map(|i| (first + i) % stations) {
            let bytes = self.allowed(station, wants[station], start);
            if bytes < self.least() {
                continue;
            }
            if order.len() == most {
                self.turn = station;
                return (order, allowed);
            }
            order.push(station);
            allowed.push(Pace(streams.speed(station as u32)).on_air(bytes));
        }
        self.turn = (first + 1) % stations.max(1);
        (order, allowed)
    }

    fn allowed(&mut self, station: usize, want: u64, now: Time) -> u64 {
        if want == 0 {
            return 0;
        }
        self.senders[station].tokens.as_mut().map_or(want, |tokens| want.min(tokens.bytes(now)))
    }

    /// When so many bytes of an interval have been sent.
    fn end(&self, number: u64, bytes: u64) -> Time {
        match self.terms.layout {
            Layout::Block => self.intervals.start(number + 1),
            Layout::Serial => {
                self.intervals.start(number) + self.terms.rate.time_to_send(u32::try_from(bytes).unwrap_or(u32::MAX))
            }
        }
    }

    /// A station sends `bytes` in its share, which lies behind `before` bytes of the interval.
    fn send(&mut self, station: usize, number: u64, (before, bytes): (u64, u64), streams: &mut Streams, out: &mut Out<'_>) {
        let stream = Stream::new(station as u32, self.direction);
        let pace = Pace(streams.speed(stream.station));
        let mut used = u64::from(self.terms.block_header);
        let mut whole = Vec::new();
        let mut head = self.senders[station].head.take();
        while used < bytes {
            let now = self.intervals.start(number);
            let next = || self.next(stream, now, streams, out);
            let Some(mut piece) = head.take().or_else(next) else { break };
            let part = piece.left.min(bytes - used);
            used += part;
            piece.left -= part;
            if piece.left > 0 {
                head = Some(piece);
            } else {
                whole.push((piece, self.end(number, before + pace.on_air(used))));
            }
        }
        let air = pace.on_air(used);
        let outcome = self.outcome(number, air);
        for (piece, at) in whole {
            let flight = Flight { stream, packet: piece.packet, lost: piece.lost | outcome.lost };
            self.flights.push((at + outcome.late).max(piece.arrives), flight);
        }
        let at = self.end(number, before + air) + outcome.late;
        let sender = &mut self.senders[station];
        sender.head = head.map(|piece| Piece { arrives: piece.arrives.max(at), lost: piece.lost | outcome.lost, ..piece });
        if let Some(tokens) = &mut sender.tokens {
            tokens.spend(used);
        }
        streams.of(stream).use_for(self.terms.rate.time_to_send(air as u32));
    }

    fn next(&self, stream: Stream, now: Time, streams: &mut Streams, out: &mut Out<'_>) -> Option<Piece> {
        streams.of(stream).dequeue(now, out).map(|packet| self.whole(packet))
    }

    /// Draws how a transmission goes, and takes the room that its repetitions need.
    fn outcome(&mut self, number: u64, bytes: u64) -> Outcome {
        let repair = self.terms.repair;
        let mut outcome = Outcome::default();
        if repair.error <= 0.0 {
            return outcome;
        }
        for round in 0..=repair.rounds {
            for attempt in 0..repair.attempts {
                if attempt > 0 || round > 0 {
                    outcome.late = outcome.late + if attempt > 0 { repair.delay } else { repair.round_delay };
                    let again = self.intervals.from(self.intervals.start(number) + outcome.late);
                    self.reserved.add(again, bytes);
                }
                if !self.errors.chance(repair.error) {
                    return outcome;
                }
            }
        }
        outcome.lost = true;
        outcome
    }

    /// The packet at the head of a station's queue is given up.
    pub fn give_up(&mut self, station: u32, now: Time, streams: &mut Streams, out: &mut Out<'_>) {
        let stream = Stream::new(station, self.direction);
        let begun = self.senders[station as usize].head.take();
        if let Some(packet) = begun.map(|piece| piece.packet).or_else(|| streams.of(stream).dequeue(now, out)) {
            streams.of(stream).drop(packet, Cause::Retries, out);
        }
    }
}
