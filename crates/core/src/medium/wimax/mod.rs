//! IEEE 802.16: a base station and its stations on one TDD channel, in frames.
//!
//! At a frame's start the base station grants the uplink of this frame and fills its downlink; when the uplink begins, stations contend for
//! requests and fill their grants. A packet is handed on when its last symbol has arrived. So the medium is due twice a frame while it has
//! anything to do, at each arrival, and not at all while it is idle.

pub mod amc;
pub mod arq;
mod cell;
mod config;
pub mod contention;
mod downlink;
pub mod frame;
pub mod harq;
pub mod maps;
pub mod mcs;
pub mod pdu;
pub mod phy;
pub mod qos_class;
pub mod rate_limit;
pub mod retransmission;
mod uplink;

pub use config::{ConnectionConfig, StationConfig, UplinkConfig, WimaxConfig};

use crate::element::Output;
use crate::medium::radio_channel::Fading;
use crate::medium::{Direction, Medium, StationQueues, Stream};
use crate::packet::Packet;
use crate::queue::AnyQueue;
use crate::ring::Ring;
use crate::rng::Rng;
use crate::units::{Span, Time};
use amc::StationRadio;
use cell::{Cell, PacketInFlight, StationTx};
use downlink::Downlink;
use rate_limit::RateLimiter;
use retransmission::RetransmissionWindow;
use uplink::Uplink;

/// A cell as one element.
pub struct Wimax {
    cell: Cell,
    downlink: Downlink,
    uplink: Uplink,
    /// The present frame's uplink has been seen to.
    up_done: bool,
    /// The next start of a frame or of an uplink.
    next: Time,
}

impl Wimax {
    /// A cell with a queue for each stream, in the order of [`Stream::index`]; or what is wrong with its config. Behind the stations come, for
    /// each further connection, all stations once more: a connection requests, waits and is served as a station of its own with the same radio.
    pub fn new(config: WimaxConfig, queues: Vec<AnyQueue>, mut rng: Rng) -> Result<Wimax, String> {
        config.check()?;
        let frame = config.frame.layout()?;
        let channel = config.frame.channel;
        let queues = StationQueues::new(queues);
        let stations = queues.stations();
        let clients = stations / (1 + config.connections.len() as u32);
        let slot_bytes = channel.set().iter().map(|mcs| channel.slot_bytes(mcs)).collect();
        // StationQueues of their own: the channel is the same whatever is sent, and so on.
        let (backoffs, errors, mut channel, mut wander) = (rng.fork(), rng.fork(), rng.fork(), rng.fork());
        let losses = rng.fork();
        // A station's connections see one signal.
        let skies: Vec<Rng> = (0..clients).map(|_| channel.fork()).collect();
        let radio_of = |(client, sky): (u32, &Rng)| radio(config.station(client), config.frame.length, sky.clone());
        let radios: Vec<StationRadio> =
            (0..=config.connections.len()).flat_map(|_| (0..clients).zip(&skies)).map(radio_of).collect();
        if radios.len() != stations as usize {
            return Err(format!("{stations} queues each way cannot be dealt to connections of {clients} stations"));
        }
        let mut tx = Vec::with_capacity(2 * stations as usize);
        for station in 0..stations {
            for direction in [Direction::Down, Direction::Up] {
                let limits = &config.station(station % clients.max(1)).rate_limits[direction as usize];
                let rate_limiters = limits.iter().map(|&limit| RateLimiter::new(limit, wander.fork())).collect();
                let repair = config.repair[direction as usize];
                let window = radios[station as usize].can_err(direction).then(|| Box::new(RetransmissionWindow::new(repair)));
                tx.push(StationTx { window, rate_limiters, ..StationTx::default() });
            }
        }
        let in_flight = Ring::new();
        let cell = Cell {
            config,
            clients,
            frame,
            number: 0,
            began: Time::ZERO,
            slot_bytes,
            queues,
            tx,
            radios,
            in_flight,
            errors,
            losses,
        };
        let (downlink, uplink) = (Downlink::new(stations), Uplink::new(stations, backoffs));
        Ok(Wimax { cell, downlink, uplink, up_done: false, next: Time::NEVER })
    }

    /// The present frame is the one in which `now` lies; one that begins now has begun.
    fn catch_up(&mut self, now: Time) {
        let length = self.cell.frame.length;
        let frames = (now - self.cell.began).0 / length.0.max(1);
        if frames > 0 {
            self.cell.number += frames;
            self.cell.began += Span(length.0 * frames);
            self.up_done = false;
        }
    }

    fn plan_next(&mut self, now: Time) {
        let up_idle = self.uplink.is_idle();
        if up_idle && self.downlink.is_idle() {
            self.next = Time::NEVER;
            return;
        }
        let up = self.cell.began + self.cell.frame.uplink;
        self.next = if !up_idle && !self.up_done && up > now { up } else { self.cell.began + self.cell.frame.length };
    }

    fn event(&mut self, out: &mut Output<'_>) {
        let now = self.next;
        if now == self.cell.began + self.cell.frame.uplink {
            self.up_done = true;
            self.uplink.send(&mut self.cell, out);
        } else {
            self.catch_up(now);
            let grants = self.uplink.grant(&mut self.cell, out);
            self.downlink.schedule(&mut self.cell, grants, out);
        }
        self.plan_next(now);
    }
}

fn radio(config: &StationConfig, length: Span, rng: Rng) -> StationRadio {
    match &config.channel {
        None => StationRadio::constant(config.mcs, config.error),
        Some((process, amc)) => {
            let fading = Fading::new(process.clone(), length, rng);
            StationRadio::varying(config.mcs, config.error, *amc, fading).with_residual_loss(config.loss.clone())
        }
    }
}

impl Medium for Wimax {
    fn queues(&self) -> &StationQueues {
        &self.cell.queues
    }
    fn queues_mut(&mut self) -> &mut StationQueues {
        &mut self.cell.queues
    }

    fn accept(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        let idle = self.next == Time::NEVER;
        if idle {
            self.catch_up(now);
        }
        let stream = self.cell.connection(stream, &packet);
        self.cell.accept(now, stream, packet, out);
        match stream.direction {
            Direction::Down => self.downlink.activate(&mut self.cell, stream.station),
            Direction::Up => self.uplink.activate(stream.station),
        }
        if idle || stream.direction == Direction::Up {
            self.plan_next(now);
        }
    }

    fn advance(&mut self, now: Time, out: &mut Output<'_>) {
        loop {
            while let Some(&PacketInFlight { at, stream, packet }) = self.cell.in_flight.front() {
                if at > now || at > self.next {
                    break;
                }
                self.cell.in_flight.pop_front();
                self.cell.queues.of(stream).forward(stream, packet, out);
            }
            if self.next > now || self.next == Time::NEVER {
                return;
            }
            self.event(out);
        }
    }

    fn next(&self) -> Time {
        self.cell.in_flight.front().map_or(self.next, |packet| packet.at.min(self.next))
    }

    fn in_service(&self) -> u64 {
        self.cell.in_service()
    }

    /// What was sent before arrives: it is on the air.
    fn station_leaves(&mut self, _now: Time, station: u32, out: &mut Output<'_>) {
        self.cell.abandon(Cell::down(station), out);
        self.cell.abandon(Cell::up(station), out);
        self.uplink.reset_station(station);
    }

    /// The frames went on while something waited for it.
    fn station_arrives(&mut self, _now: Time, _station: u32, _out: &mut Output<'_>) {}
}
