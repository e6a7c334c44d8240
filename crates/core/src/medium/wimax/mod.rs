//! IEEE 802.16: a base station and its stations on one TDD channel, in frames.
//!
//! At the start of a frame the base station grants its uplink and fills its downlink; at the start
//! of the uplink, stations contend with requests and fill their grants. A packet is delivered when
//! its last symbol has arrived. The medium is due twice per frame while it is active and at each
//! arrival, and never while it is idle.

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
pub mod plan;
pub mod qos_class;
pub mod rate_limit;
pub mod retransmission;
mod uplink;

pub use config::{ConnectionConfig, RequestRule, StationConfig, UplinkConfig, WimaxConfig};
pub use plan::WimaxPlan;

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
use downlink::DownlinkScheduler;
use rate_limit::RateLimiter;
use retransmission::RetransmissionWindow;
use uplink::UplinkScheduler;

/// A cell as one element.
pub struct Wimax {
    cell: Cell,
    downlink: DownlinkScheduler,
    uplink: UplinkScheduler,
    /// The uplink of the current frame has been executed.
    up_done: bool,
    /// Next start of a frame or of an uplink.
    next: Time,
}

impl Wimax {
    /// With one queue per stream, in the order of [`Stream::index`]. Returns the error in the
    /// configuration, if any. Each additional connection adds all stations once more: a connection
    /// requests, queues and is served like a station of its own with the same radio.
    pub fn new(config: WimaxConfig, queues: Vec<AnyQueue>, mut rng: Rng) -> Result<Wimax, String> {
        config.check()?;
        let frame = config.frame.layout()?;
        let channel = config.frame.channel;
        let mut queues = StationQueues::new(queues);
        let (down_symbols, up_symbols) = config.frame.divided();
        let share = |symbols: u32| channel.symbol().as_secs() * f64::from(symbols) / frame.length.as_secs();
        queues.time(Direction::Down).other_subframe = share(up_symbols);
        queues.time(Direction::Up).other_subframe = share(down_symbols);
        let stations = queues.stations();
        let clients = stations / (1 + config.connections.len() as u32);
        let slot_bytes = channel.set().iter().map(|mcs| channel.slot_bytes(mcs)).collect();
        // Independent random streams: the channel does not depend on the traffic.
        let (backoffs, errors, mut channel, mut rate_rng) = (rng.fork(), rng.fork(), rng.fork(), rng.fork());
        let losses = rng.fork();
        // All connections of a station share one channel.
        let channels: Vec<Rng> = (0..clients).map(|_| channel.fork()).collect();
        let radio_of =
            |(client, channel_rng): (u32, &Rng)| radio(config.station(client), config.frame.length, channel_rng.clone());
        let radios: Vec<StationRadio> =
            (0..=config.connections.len()).flat_map(|_| (0..clients).zip(&channels)).map(radio_of).collect();
        if radios.len() != stations as usize {
            return Err(format!("{stations} queues per direction do not match the connections of {clients} stations"));
        }
        let mut tx = Vec::with_capacity(2 * stations as usize);
        for station in 0..stations {
            for direction in [Direction::Down, Direction::Up] {
                let limits = &config.station(station % clients.max(1)).rate_limits[direction as usize];
                let rate_limiters = limits.iter().map(|&limit| RateLimiter::new(limit, rate_rng.fork())).collect();
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
        let (downlink, uplink) = (DownlinkScheduler::new(stations), UplinkScheduler::new(stations, backoffs));
        Ok(Wimax { cell, downlink, uplink, up_done: false, next: Time::NEVER })
    }

    /// Advances to the frame that contains `now`; a frame that starts now has started.
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

    /// Packets in flight are still delivered.
    fn station_leaves(&mut self, _now: Time, station: u32, out: &mut Output<'_>) {
        self.cell.abandon(Cell::down(station), out);
        self.cell.abandon(Cell::up(station), out);
        self.uplink.reset_station(station);
    }

    /// Frames continue while packets are queued for the station.
    fn station_arrives(&mut self, _now: Time, _station: u32, _out: &mut Output<'_>) {}
}
