//! IEEE 802.11: an access point and its stations on one channel, with the distributed coordination
//! function (DCF).
//!
//! There are no hidden stations. Between exchanges only back-off counters change, so the start of
//! the next exchange is known when the last one ends: the first back-off to expire. The medium is
//! due then, at the end of the data frame, and at the end of its response.

mod ampdu;
mod backoff;
mod config;
mod dcf_station;
mod exchange;
mod format;

pub use config::{AmpduConfig, WlanConfig};
pub use format::Format;

use super::{Direction, Medium, StationQueues, Stream};
use crate::element::{DropReason, Output};
use crate::packet::Packet;
use crate::queue::AnyQueue;
use crate::rng::Rng;
use crate::units::{Span, Time};
use ampdu::BlockAckWindow;
use backoff::DcfBackoff;
use dcf_station::{DcfStation, FrameSource, dcf_station_of};
use exchange::Exchange;

pub struct Wlan {
    config: WlanConfig,
    /// From the end of a data frame to the end of its ACK.
    response: Span,
    queues: StationQueues,
    /// By stream: packets dequeued and not delivered.
    windows: Vec<BlockAckWindow>,
    stations: Vec<DcfStation>,
    /// DCF stations with a frame or a pending back-off.
    active: Vec<usize>,
    exchange: Exchange,
    /// The medium has been idle for an interframe space at this time, if it is idle.
    idle_from: Time,
    /// End of the phase of the exchange; without one the start of the next exchange, unless another
    /// station becomes active.
    next: Time,
    backoffs: Rng,
    errors: Rng,
}

impl Wlan {
    /// With one queue per stream, in the order of [`Stream::index`]. Returns the error in the
    /// configuration, if any.
    pub fn new(config: WlanConfig, queues: impl IntoIterator<Item = AnyQueue>, mut rng: Rng) -> Result<Wlan, String> {
        config.check()?;
        let mut queues = StationQueues::new(queues).sharing_capacity();
        if config.shared_queue {
            queues.share_down();
        }
        let windows = vec![BlockAckWindow::default(); queues.len()];
        let stations = vec![DcfStation::new(&config); queues.stations() as usize + 1];
        let (backoffs, errors) = (rng.fork(), rng.fork());
        let (idle_from, next) = (Time::ZERO, Time::NEVER);
        Ok(Wlan {
            response: config.sifs + config.ack_time(),
            config,
            queues,
            windows,
            stations,
            active: Vec::new(),
            exchange: Exchange::default(),
            idle_from,
            next,
            backoffs,
            errors,
        })
    }

    fn plan_next(&mut self) {
        let sends_at = |&number: &usize| self.stations[number].sends_at(&self.config);
        self.next = match self.exchange.due() {
            Some(due) => due,
            None => self.active.iter().map(sends_at).min().unwrap_or(Time::NEVER),
        };
    }

    /// A station has its first frame after a pause. It transmits at once if the medium has been
    /// idle long enough.
    fn activate(&mut self, number: usize, now: Time) {
        let station = &mut self.stations[number];
        if station.backoff.is_over() && (!self.exchange.is_idle() || now < self.idle_from) {
            station.backoff.draw(&mut self.backoffs);
            station.backoff.resume(self.idle_from);
        }
        if !self.active.contains(&number) {
            self.active.push(number);
        }
        self.plan_next();
    }

    /// Gives a station its next frame, if it has backlog.
    fn load(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        let mut frames = FrameSource { queues: &mut self.queues, windows: &mut self.windows };
        self.stations[number].load(number, now, &mut frames, out);
        if self.stations[number].current.is_some() {
            self.activate(number, now);
        }
    }
}

impl Medium for Wlan {
    fn queues(&self) -> &StationQueues {
        &self.queues
    }
    fn queues_mut(&mut self) -> &mut StationQueues {
        &mut self.queues
    }

    /// Into the next frame if its DCF station has none, else into the queue.
    fn accept(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>) {
        let number = dcf_station_of(stream);
        if self.stations[number].current.is_some() || !self.queues.is_served(stream.station) {
            return self.queues.enqueue(now, stream, packet, out);
        }
        if let Some(packet) = self.queues.pass(now, stream, packet, out) {
            self.windows[stream.index()].push(packet);
        }
        self.load(number, now, out);
    }

    fn advance(&mut self, now: Time, out: &mut Output<'_>) {
        while self.next <= now {
            if self.exchange.is_idle() {
                self.start_exchange(self.next, out);
            } else {
                self.on_due(out);
            }
            self.plan_next();
        }
    }

    #[inline]
    fn next(&self) -> Time {
        self.next
    }

    fn in_service(&self) -> u64 {
        self.windows.iter().map(|window| window.len() as u64).sum()
    }

    /// A frame in transmission is completed. Packets in the window are sent later if they are the
    /// station's own or are forwarded to the next cell; otherwise they are dropped.
    fn station_leaves(&mut self, now: Time, station: u32, out: &mut Output<'_>) {
        for direction in [Direction::Down, Direction::Up] {
            let stream = Stream::new(station, direction);
            if direction == Direction::Down && !self.queues.forwards() {
                for packet in self.windows[stream.index()].drain() {
                    self.queues.of(stream).drop(packet, DropReason::Handover, out);
                }
            }
            let number = dcf_station_of(stream);
            let sends = self.exchange.has(number);
            if self.stations[number].current == Some(stream) && !sends {
                self.stations[number].current = None;
                self.load(number, now, out);
            }
        }
        self.plan_next();
    }

    fn station_arrives(&mut self, now: Time, station: u32, out: &mut Output<'_>) {
        for number in [0, station as usize + 1] {
            if self.stations[number].current.is_none() {
                self.load(number, now, out);
            }
        }
    }
}
