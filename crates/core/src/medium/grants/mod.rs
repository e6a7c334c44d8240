//! A channel that a network shares out: it sends down as it likes, and stations send up what they have asked for and been granted.
//!
//! Cable (DOCSIS), LTE and NR work so; they differ in how stations ask, how long a grant takes and what is repaired (docs/models/grants.md).
//! Time goes in intervals. At the start of each the network deals its bytes to the stations that it retry_at to have something, packets are
//! cut to fit, and what a station sends carries its next request.

mod bandwidth_request;
mod capacity;
mod config;
mod direction;
mod request_state;

pub use config::{
    ContentionConfig, DirectionConfig, GrantConfig, RequestConfig, RequestMethod, RetransmissionConfig, ShareLayout,
    TokenBucketConfig,
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
    request: RequestConfig,
    queues: StationQueues,
    down: GrantScheduler,
    up: GrantScheduler,
    requests: Vec<RequestState>,
    /// Where in the period each station's own opportunity is.
    offsets: Vec<Span>,
    next: [NextInterval; 2],
    draws: Rng,
}

/// The intervals of one direction in which there is something to do.
#[derive(Clone, Copy)]
struct NextInterval {
    /// The first that has not been dealt out.
    first_open: u64,
    /// The next that must be; none while nothing waits.
    due: Option<u64>,
}

impl Grants {
    /// With one queue for each stream, in the order of [`Stream::index`]; or what is wrong with the config.
    pub fn new(config: GrantConfig, queues: impl IntoIterator<Item = AnyQueue>, mut rng: Rng) -> Result<Grants, String> {
        config.check()?;
        let queues = StationQueues::new(queues);
        let stations = queues.stations();
        let offset = |rng: &mut Rng| match config.request.method {
            RequestMethod::Scheduled { period, .. } => rng.uniform_span(Span::ZERO, Span(period.0 - 1)),
            RequestMethod::Contention(_) => Span::ZERO,
        };
        let offsets = (0..stations).map(|_| offset(&mut rng)).collect();
        Ok(Grants {
            request: config.request,
            down: GrantScheduler::new(config.down, Direction::Down, stations, rng.fork()),
            up: GrantScheduler::new(config.up, Direction::Up, stations, rng.fork()),
            requests: vec![RequestState::default(); stations as usize],
            offsets,
            next: [NextInterval { first_open: 0, due: None }; 2],
            draws: rng.fork(),
            queues,
        })
    }

    fn scheduler(&self, direction: Direction) -> &GrantScheduler {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    /// When the next interval of a direction must be dealt out.
    fn interval_start(&self, direction: Direction) -> Time {
        let due = self.next[direction as usize].due;
        due.map_or(Time::NEVER, |number| self.scheduler(direction).intervals.start(number))
    }

    /// The interval of a direction in which something that is due at `at` is done.
    fn schedule(&mut self, direction: Direction, at: Time) {
        if at == Time::NEVER {
            return;
        }
        let number = self.scheduler(direction).intervals.from(at);
        let interval = &mut self.next[direction as usize];
        let number = number.max(interval.first_open);
        interval.due = Some(interval.due.map_or(number, |due| due.min(number)));
    }

    fn serve_downlink(&mut self, out: &mut Output<'_>) {
        let interval = &mut self.next[Direction::Down as usize];
        let Some(number) = interval.due.take() else { return };
        interval.first_open = number + 1;
        let demands: Vec<u64> = (0..self.queues.stations()).map(|s| self.down.backlog_here(s, &self.queues)).collect();
        self.down.serve(number, &demands, &mut self.queues, out);
        if (0..self.queues.stations()).any(|station| self.down.backlog_here(station, &self.queues) > 0) {
            self.schedule(Direction::Down, self.down.intervals.start(number + 1));
        }
    }

    fn serve_uplink(&mut self, out: &mut Output<'_>) {
        let interval = &mut self.next[Direction::Up as usize];
        let Some(number) = interval.due.take() else { return };
        interval.first_open = number + 1;
        let now = self.up.intervals.start(number);
        self.run_contention(number, now, out);
        for request_state in &mut self.requests {
            request_state.receive_requests(now);
        }
        let demands: Vec<u64> = self.requests.iter().map(|request_state| request_state.demand(self.up.min_grant())).collect();
        for grant in self.up.serve(number, &demands, &mut self.queues, out) {
            self.requests[grant.station as usize].grant(grant.bytes);
            self.queues.of(Stream::new(grant.station, Direction::Up)).count_control(1);
            let more = self.unrequested(grant.station);
            if self.request.piggyback && more > 0 {
                self.requests[grant.station as usize].request(grant.end, more, &self.request);
            }
        }
        for station in 0..self.queues.stations() {
            if !self.queues.is_served(station) {
                continue;
            }
            self.start_request(station, now, number + 1);
            let request_state = &self.requests[station as usize];
            let at = request_state.due(now, |slot| self.slot_start(slot));
            self.schedule(Direction::Up, at);
        }
    }

    /// Something may wait in this stream.
    fn on_backlog(&mut self, now: Time, stream: Stream) {
        if !self.queues.is_served(stream.station) || self.scheduler(stream.direction).backlog(stream.station, &self.queues) == 0 {
            return;
        }
        match stream.direction {
            Direction::Down => self.schedule(Direction::Down, now),
            Direction::Up => {
                let first_open = self.up.intervals.from(now).max(self.next[Direction::Up as usize].first_open);
                self.start_request(stream.station, now, first_open);
                let at = self.requests[stream.station as usize].due(now, |slot| self.slot_start(slot));
                self.schedule(Direction::Up, at);
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
        self.on_backlog(now, stream);
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
            } else if self.interval_start(Direction::Down) <= due {
                self.serve_downlink(out);
            } else {
                self.serve_uplink(out);
            }
        }
    }

    fn next(&self) -> Time {
        let intervals_due = self.interval_start(Direction::Down).min(self.interval_start(Direction::Up));
        self.down.in_flight.due().min(self.up.in_flight.due()).min(intervals_due)
    }

    fn in_service(&self) -> u64 {
        self.down.occupancy() + self.up.occupancy()
    }

    /// What was sent whole before arrives: its repetitions go on. What was asked for is forgotten.
    fn station_leaves(&mut self, _now: Time, station: u32, out: &mut Output<'_>) {
        let keeps = self.queues.forwards();
        self.down.abandon(station, keeps, &mut self.queues, out);
        self.up.abandon(station, true, &mut self.queues, out);
        self.requests[station as usize] = RequestState::default();
    }

    fn station_arrives(&mut self, now: Time, station: u32, _out: &mut Output<'_>) {
        for direction in [Direction::Down, Direction::Up] {
            self.on_backlog(now, Stream::new(station, direction));
        }
    }
}
