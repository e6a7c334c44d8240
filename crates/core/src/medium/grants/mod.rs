//! A channel that a network shares out: it sends down as it likes, and stations send up what they have asked for and been granted.
//!
//! Cable (DOCSIS), LTE and NR work so; they differ in how stations ask, how long a grant takes and what is repaired (docs/models/grants.md).
//! Time goes in intervals. At the start of each the network deals its bytes to the stations that it knows to have something, packets are
//! cut to fit, and what a station sends carries its next request.

mod bandwidth_request;
mod capacity;
mod config;
mod direction;
mod request_state;

pub use config::{
    Contention, DirectionConfig, GrantConfig, RequestConfig, RequestMethod, RetransmissionConfig, ShareLayout, TokenBucketConfig,
};

use super::{Direction, Medium, StationQueues, Stream};
use crate::element::Output;
use crate::packet::Packet;
use crate::queue::AnyQueue;
use crate::rng::Rng;
use crate::units::{Span, Time};
use direction::GrantScheduler;
use request_state::RequestState;

pub struct Grants {
    asking: RequestConfig,
    queues: StationQueues,
    down: GrantScheduler,
    up: GrantScheduler,
    requests: Vec<RequestState>,
    /// Where in the period each station's own opportunity is.
    offsets: Vec<Span>,
    next: [Turn; 2],
    draws: Rng,
}

/// The intervals of one direction in which there is something to do.
#[derive(Clone, Copy)]
struct Turn {
    /// The first that has not been dealt out.
    open: u64,
    /// The next that must be; none while nothing waits.
    wanted: Option<u64>,
}

impl Grants {
    /// With one queue for each stream, in the order of [`Stream::index`]; or what is wrong with the config.
    pub fn new(config: GrantConfig, queues: impl IntoIterator<Item = AnyQueue>, mut rng: Rng) -> Result<Grants, String> {
        config.check()?;
        let queues = StationQueues::new(queues);
        let stations = queues.stations();
        let offset = |rng: &mut Rng| match config.asking.how {
            RequestMethod::Scheduled { period, .. } => rng.uniform_span(Span::ZERO, Span(period.0 - 1)),
            RequestMethod::Contention(_) => Span::ZERO,
        };
        let offsets = (0..stations).map(|_| offset(&mut rng)).collect();
        Ok(Grants {
            asking: config.asking,
            down: GrantScheduler::new(config.down, Direction::Down, stations, rng.fork()),
            up: GrantScheduler::new(config.up, Direction::Up, stations, rng.fork()),
            requests: vec![RequestState::default(); stations as usize],
            offsets,
            next: [Turn { open: 0, wanted: None }; 2],
            draws: rng.fork(),
            queues,
        })
    }

    fn way(&self, direction: Direction) -> &GrantScheduler {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    /// When the next interval of a direction must be dealt out.
    fn turn_at(&self, direction: Direction) -> Time {
        let wanted = self.next[direction as usize].wanted;
        wanted.map_or(Time::NEVER, |number| self.way(direction).intervals.start(number))
    }

    /// The interval of a direction in which something that is due at `at` is done.
    fn want(&mut self, direction: Direction, at: Time) {
        if at == Time::NEVER {
            return;
        }
        let number = self.way(direction).intervals.from(at);
        let turn = &mut self.next[direction as usize];
        let number = number.max(turn.open);
        turn.wanted = Some(turn.wanted.map_or(number, |wanted| wanted.min(number)));
    }

    fn down(&mut self, out: &mut Output<'_>) {
        let turn = &mut self.next[Direction::Down as usize];
        let Some(number) = turn.wanted.take() else { return };
        turn.open = number + 1;
        let wants: Vec<u64> = (0..self.queues.stations()).map(|s| self.down.backlog_here(s, &self.queues)).collect();
        self.down.serve(number, &wants, &mut self.queues, out);
        if (0..self.queues.stations()).any(|station| self.down.backlog_here(station, &self.queues) > 0) {
            self.want(Direction::Down, self.down.intervals.start(number + 1));
        }
    }

    fn up(&mut self, out: &mut Output<'_>) {
        let turn = &mut self.next[Direction::Up as usize];
        let Some(number) = turn.wanted.take() else { return };
        turn.open = number + 1;
        let now = self.up.intervals.start(number);
        self.contend(number, now, out);
        for request_state in &mut self.requests {
            request_state.hear(now);
        }
        let wants: Vec<u64> = self.requests.iter().map(|request_state| request_state.wants(self.up.least())).collect();
        for grant in self.up.serve(number, &wants, &mut self.queues, out) {
            self.requests[grant.station as usize].grant(grant.bytes);
            self.queues.of(Stream::new(grant.station, Direction::Up)).count_control(1);
            let more = self.unasked(grant.station);
            if self.asking.piggyback && more > 0 {
                self.requests[grant.station as usize].ask(grant.end, more, &self.asking);
            }
        }
        for station in 0..self.queues.stations() {
            if !self.queues.is_here(station) {
                continue;
            }
            self.begin_to_ask(station, now, number + 1);
            let request_state = &self.requests[station as usize];
            let at = request_state.due(now, |slot| self.slot_start(slot));
            self.want(Direction::Up, at);
        }
    }

    /// Something may wait in this stream.
    fn attend(&mut self, now: Time, stream: Stream) {
        if !self.queues.is_here(stream.station) || self.way(stream.direction).backlog(stream.station, &self.queues) == 0 {
            return;
        }
        match stream.direction {
            Direction::Down => self.want(Direction::Down, now),
            Direction::Up => {
                let open = self.up.intervals.from(now).max(self.next[Direction::Up as usize].open);
                self.begin_to_ask(stream.station, now, open);
                let at = self.requests[stream.station as usize].due(now, |slot| self.slot_start(slot));
                self.want(Direction::Up, at);
            }
        }
    }
}

impl Medium for Grants {
    fn queues(&self) -> &StationQueues {
        &self.queues
    }
    fn queues_mut(&mut self) -> &mut StationQueues {
        &mut self.queues
    }

    fn accept(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        self.queues.of(stream).enqueue(now, packet, out);
        self.attend(now, stream);
    }

    fn advance(&mut self, now: Time, out: &mut Output<'_>) {
        loop {
            let due = self.next();
            if due > now || due == Time::NEVER {
                return;
            }
            if self.down.in_flight.due() <= due {
                self.down.deliver(due, &mut self.queues, out);
            } else if self.up.in_flight.due() <= due {
                self.up.deliver(due, &mut self.queues, out);
            } else if self.turn_at(Direction::Down) <= due {
                self.down(out);
            } else {
                self.up(out);
            }
        }
    }

    fn next(&self) -> Time {
        let turns = self.turn_at(Direction::Down).min(self.turn_at(Direction::Up));
        self.down.in_flight.due().min(self.up.in_flight.due()).min(turns)
    }

    fn in_service(&self) -> u64 {
        self.down.occupancy() + self.up.occupancy()
    }

    /// What was sent whole before arrives: its repetitions go on. What was asked for is forgotten.
    fn leave(&mut self, _now: Time, station: u32, out: &mut Output<'_>) {
        let keeps = self.queues.forwards();
        self.down.abandon(station, keeps, &mut self.queues, out);
        self.up.abandon(station, true, &mut self.queues, out);
        self.requests[station as usize] = RequestState::default();
    }

    fn arrive(&mut self, now: Time, station: u32, _out: &mut Output<'_>) {
        for direction in [Direction::Down, Direction::Up] {
            self.attend(now, Stream::new(station, direction));
        }
    }
}
