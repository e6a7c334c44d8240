//! IEEE 802.16: a base station and its stations on one TDD channel, in frames.
//!
//! At a frame's start the base station grants the uplink of this frame and fills its downlink; when the uplink begins, stations contend for
//! requests and fill their grants. A packet is handed on when its last symbol has arrived. So the medium is due twice a frame while it has
//! anything to do, at each arrival, and not at all while it is idle.

pub mod amc;
pub mod arq;
pub mod caps;
mod cell;
pub mod contention;
mod downlink;
pub mod frame;
pub mod harq;
pub mod maps;
pub mod mcs;
pub mod pdu;
pub mod phy;
pub mod repair;
pub mod service;
mod terms;
mod uplink;

pub use terms::{ConnectionTerms, StationTerms, Terms, UplinkTerms};

use crate::element::Out;
use crate::medium::{Direction, Medium, Stream, Streams};
use crate::packet::Packet;
use crate::queue::AnyQueue;
use crate::ring::Ring;
use crate::rng::Rng;
use crate::signal::Fading;
use crate::units::{Span, Time};
use amc::Radio;
use caps::Cap;
use cell::{Cell, Flight, Line};
use downlink::Downlink;
use repair::Window;
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
    /// A cell with a queue for each stream, in the order of [`Stream::index`]; or what is wrong with its terms. Behind the stations come, for
    /// each further connection, all stations once more: a connection asks, waits and is served as a station of its own with the same radio.
    pub fn new(terms: Terms, queues: Vec<AnyQueue>, mut rng: Rng) -> Result<Wimax, String> {
        terms.check()?;
        let frame = terms.frame.layout()?;
        let channel = terms.frame.channel;
        let streams = Streams::new(queues);
        let stations = streams.stations();
        let clients = stations / (1 + terms.connections.len() as u32);
        let slot_bytes = channel.set().iter().map(|mcs| channel.slot_bytes(mcs)).collect();
        // Streams of their own: the weather is the same whatever is sent, and so on.
        let (backoffs, errors, mut weather, mut wander) = (rng.fork(), rng.fork(), rng.fork(), rng.fork());
        let losses = rng.fork();
        // A station's connections see one signal.
        let skies: Vec<Rng> = (0..clients).map(|_| weather.fork()).collect();
        let radio_of = |(client, sky): (u32, &Rng)| radio(terms.station(client), terms.frame.length, sky.clone());
        let radios: Vec<Radio> = (0..=terms.connections.len()).flat_map(|_| (0..clients).zip(&skies)).map(radio_of).collect();
        if radios.len() != stations as usize {
            return Err(format!("{stations} queues each way cannot be dealt to connections of {clients} stations"));
        }
        let mut lines = Vec::with_capacity(2 * stations as usize);
        for station in 0..stations {
            for direction in [Direction::Down, Direction::Up] {
                let caps = &terms.station(station % clients.max(1)).caps[direction as usize];
                let caps = caps.iter().map(|&cap| Cap::new(cap, wander.fork())).collect();
                let repair = terms.repair[direction as usize];
                let window = radios[station as usize].errs(direction).then(|| Box::new(Window::new(repair)));
                lines.push(Line { window, caps, ..Line::default() });
            }
        }
        let flights = Ring::new();
        let cell = Cell {
            terms,
            clients,
            frame,
            number: 0,
            began: Time::ZERO,
            slot_bytes,
            streams,
            lines,
            radios,
            flights,
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

    fn event(&mut self, out: &mut Out<'_>) {
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

fn radio(terms: &StationTerms, length: Span, rng: Rng) -> Radio {
    match &terms.channel {
        None => Radio::steady(terms.mcs, terms.error),
        Some((process, amc)) => {
            let fading = Fading::new(process.clone(), length, rng);
            Radio::changing(terms.mcs, terms.error, *amc, fading).losing(terms.loss.clone())
        }
    }
}

impl Medium for Wimax {
    fn streams(&self) -> &Streams {
        &self.cell.streams
    }
    fn streams_mut(&mut self) -> &mut Streams {
        &mut self.cell.streams
    }

    fn take_in(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Out<'_>) {
        let idle = self.next == Time::NEVER;
        if idle {
            self.catch_up(now);
        }
        let stream = self.cell.connection(stream, &packet);
        self.cell.take_in(now, stream, packet, out);
        match stream.direction {
            Direction::Down => self.downlink.list(&mut self.cell, stream.station),
            Direction::Up => self.uplink.list(stream.station),
        }
        if idle || stream.direction == Direction::Up {
            self.plan_next(now);
        }
    }

    fn advance(&mut self, now: Time, out: &mut Out<'_>) {
        loop {
            while let Some(&Flight { at, stream, packet }) = self.cell.flights.front() {
                if at > now || at > self.next {
                    break;
                }
                self.cell.flights.pop_front();
                self.cell.streams.of(stream).forward(stream, packet, out);
            }
            if self.next > now || self.next == Time::NEVER {
                return;
            }
            self.event(out);
        }
    }

    fn next(&self) -> Time {
        self.cell.flights.front().map_or(self.next, |flight| flight.at.min(self.next))
    }

    fn inside(&self) -> u64 {
        self.cell.inside()
    }

    /// What was sent before arrives: it is on the air.
    fn leave(&mut self, _now: Time, station: u32, out: &mut Out<'_>) {
        self.cell.abandon(Cell::down(station), out);
        self.cell.abandon(Cell::up(station), out);
        self.uplink.forget(station);
    }

    /// The frames went on while something waited for it.
    fn arrive(&mut self, _now: Time, _station: u32, _out: &mut Out<'_>) {}
}
