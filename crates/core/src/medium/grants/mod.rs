//! Grant-based medium: the network schedules the downlink, and grants uplink capacity that stations
//! have requested.
//!
//! Models cable (DOCSIS), LTE and NR. They differ in the request method, the grant delay and the
//! retransmissions (docs/models/grants.md). Time is divided into intervals. At the start of each
//! interval the network allocates its bytes to the stations with known demand, packets are
//! fragmented to fit, and each transmission carries the station's next request.

mod bandwidth_request;
mod capacity;
mod config;
mod direction;
mod request_state;

pub use config::{
    ContentionConfig, DirectionConfig, GrantConfig, RequestMethod, RetransmissionConfig, ShareLayout, TokenBucketConfig,
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
    config: GrantConfig,
    queues: StationQueues,
    down: GrantScheduler,
    up: GrantScheduler,
    requests: Vec<RequestState>,
    /// Phase of each station's dedicated opportunity within the period.
    offsets: Vec<Span>,
    next: [NextInterval; 2],
    draws: Rng,
    /// Demands of the interval being allocated; kept, so that an interval allocates no memory.
    demands: Vec<u64>,
}

/// Next intervals of one direction.
#[derive(Clone, Copy)]
struct NextInterval {
    /// The first interval not yet allocated.
    first_open: u64,
    /// The next interval to allocate; `None` without demand.
    due: Option<u64>,
}

impl Grants {
    /// With one queue per stream, in the order of [`Stream::index`]. Returns the error in the
    /// configuration, if any.
    pub fn new(config: GrantConfig, queues: impl IntoIterator<Item = AnyQueue>, mut rng: Rng) -> Result<Grants, String> {
        config.check()?;
        let queues = StationQueues::new(queues);
        let stations = queues.stations();
        let offset = |rng: &mut Rng| match config.request {
            RequestMethod::Scheduled { period, .. } => rng.uniform_span(Span::ZERO, Span(period.0 - 1)),
            RequestMethod::Contention(_) => Span::ZERO,
        };
        // What all stations share does not depend on how many there are.
        let first = offset(&mut rng);
        let [down, up, draws] = [rng.fork(), rng.fork(), rng.fork()];
        let offsets = std::iter::once(first).chain((1..stations).map(|_| offset(&mut rng))).collect();
        Ok(Grants {
            down: GrantScheduler::new(config.down, Direction::Down, stations, down),
            up: GrantScheduler::new(config.up, Direction::Up, stations, up),
            requests: vec![RequestState::default(); stations as usize],
            offsets,
            next: [NextInterval { first_open: 0, due: None }; 2],
            draws,
            demands: Vec::new(),
            queues,
            config,
        })
    }

    fn scheduler(&self, direction: Direction) -> &GrantScheduler {
        match direction {
            Direction::Down => &self.down,
            Direction::Up => &self.up,
        }
    }

    /// Start of the next interval to allocate.
    fn interval_start(&self, direction: Direction) -> Time {
        let due = self.next[direction as usize].due;
        due.map_or(Time::NEVER, |number| self.scheduler(direction).intervals.start(number))
    }

    /// Schedules the interval in which an event due at `at` is handled.
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
        self.demands.clear();
        self.demands.extend((0..self.queues.stations()).map(|station| self.down.backlog_here(station, &self.queues)));
        self.down.serve(number, &self.demands, &mut self.queues, out);
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
        self.demands.clear();
        self.demands.extend(self.requests.iter().map(|request_state| request_state.demand(self.up.min_grant())));
        self.up.serve(number, &self.demands, &mut self.queues, out);
        for place in 0..self.up.grants().len() {
            let grant = self.up.grants()[place];
            self.requests[grant.station as usize].grant(grant.bytes);
            self.queues.of(Stream::new(grant.station, Direction::Up)).count_control(1);
            let more = self.unrequested(grant.station);
            if self.config.piggyback && more > 0 {
                self.requests[grant.station as usize].request(grant.end, more, &self.config);
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

    /// Reacts to possible backlog of a stream.
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

    /// Packets sent in full are still delivered, retransmissions included. Pending requests are
    /// discarded.
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
