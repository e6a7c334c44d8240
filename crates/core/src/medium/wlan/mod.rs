//! IEEE 802.11: an access point and its stations on one channel, who contend for it frame by frame (the distributed coordination function).
//!
//! Everybody hears everybody. Between two exchanges nothing happens but counting, so the next exchange is known when the last one ends: it
//! begins when the first back-off does. The medium is due then, at the end of the data frame and at that of its answer.

mod aggregate;
mod backoff;
mod contender;
mod exchange;
mod format;
mod timing;

pub use format::Format;
pub use timing::{AggregateTerms, WlanTerms};

use super::{Direction, Medium, Stream, Streams};
use crate::element::{Cause, Out};
use crate::packet::Packet;
use crate::queue::AnyQueue;
use crate::rng::Rng;
use crate::units::Time;
use aggregate::Window;
use backoff::Backoff;
use contender::{Contender, Pending, contender_of};
use exchange::Exchange;

pub struct Wlan {
    terms: WlanTerms,
    streams: Streams,
    /// For each stream, what has left its queue and has not been delivered.
    windows: Vec<Window>,
    contenders: Vec<Contender>,
    /// Contenders with a frame or a back-off.
    active: Vec<usize>,
    exchange: Option<Exchange>,
    /// The medium has been idle for an interframe space at this instant, if it is idle.
    idle_from: Time,
    /// The next exchange begins, if nobody else comes first.
    next: Time,
    backoffs: Rng,
    errors: Rng,
}

impl Wlan {
    /// With one queue for each stream, in the order of [`Stream::index`]; or what is wrong with the terms.
    pub fn new(terms: WlanTerms, queues: impl IntoIterator<Item = AnyQueue>, mut rng: Rng) -> Result<Wlan, String> {
        terms.check()?;
        let mut streams = Streams::new(queues);
        if terms.shared_queue {
            streams.share_down();
        }
        let windows = vec![Window::default(); streams.len()];
        let contenders = vec![Contender::new(&terms); streams.stations() as usize + 1];
        let (backoffs, errors) = (rng.fork(), rng.fork());
        let (idle_from, next) = (Time::ZERO, Time::NEVER);
        Ok(Wlan { terms, streams, windows, contenders, active: Vec::new(), exchange: None, idle_from, next, backoffs, errors })
    }

    fn plan_next(&mut self) {
        let sends_at = |&number: &usize| self.contenders[number].sends_at(&self.terms);
        self.next = match self.exchange {
            Some(_) => Time::NEVER,
            None => self.active.iter().map(sends_at).min().unwrap_or(Time::NEVER),
        };
    }

    /// A contender has its first frame after a pause. It goes at once if the medium has been idle for long enough.
    fn join(&mut self, number: usize, now: Time) {
        let contender = &mut self.contenders[number];
        if contender.backoff.is_over() && (self.exchange.is_some() || now < self.idle_from) {
            contender.backoff.draw(&mut self.backoffs);
            contender.backoff.resume(self.idle_from);
        }
        if !self.active.contains(&number) {
            self.active.push(number);
        }
        self.plan_next();
    }

    /// Gives a contender its next frame, if something waits for it.
    fn load(&mut self, number: usize, now: Time, out: &mut Out<'_>) {
        let mut pending = Pending { streams: &mut self.streams, windows: &mut self.windows };
        self.contenders[number].load(number, now, &mut pending, out);
        if self.contenders[number].current.is_some() {
            self.join(number, now);
        }
    }
}

impl Medium for Wlan {
    fn streams(&self) -> &Streams {
        &self.streams
    }
    fn streams_mut(&mut self) -> &mut Streams {
        &mut self.streams
    }

    /// Into the frame that is next, if its sender has none, else into the queue.
    fn take_in(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Out<'_>) {
        let number = contender_of(stream);
        if self.contenders[number].current.is_some() || !self.streams.is_here(stream.station) {
            return self.streams.enqueue(now, stream, packet, out);
        }
        if let Some(packet) = self.streams.pass(now, stream, packet, out) {
            self.windows[stream.index()].push(packet);
        }
        self.load(number, now, out);
    }

    fn advance(&mut self, now: Time, out: &mut Out<'_>) {
        while self.next() <= now {
            if self.exchange.is_some() {
                self.proceed(out);
            } else {
                self.begin(self.next, out);
            }
            self.plan_next();
        }
    }

    fn next(&self) -> Time {
        self.exchange.as_ref().map_or(self.next, Exchange::due)
    }

    fn inside(&self) -> u64 {
        self.windows.iter().map(|window| window.len() as u64).sum()
    }

    /// A frame that is being sent is sent to its end. What it held waits again, if it is the station's own or goes over to the next cell;
    /// else it is lost.
    fn leave(&mut self, now: Time, station: u32, out: &mut Out<'_>) {
        for direction in [Direction::Down, Direction::Up] {
            let stream = Stream::new(station, direction);
            if direction == Direction::Down && !self.streams.forwards() {
                for packet in self.windows[stream.index()].drain() {
                    self.streams.of(stream).drop(packet, Cause::Handover, out);
                }
            }
            let number = contender_of(stream);
            let sends = self.exchange.as_ref().is_some_and(|exchange| exchange.has(number));
            if self.contenders[number].current == Some(stream) && !sends {
                self.contenders[number].current = None;
                self.load(number, now, out);
            }
        }
        self.plan_next();
    }

    fn arrive(&mut self, now: Time, station: u32, out: &mut Out<'_>) {
        for number in [0, station as usize + 1] {
            if self.contenders[number].current.is_none() {
                self.load(number, now, out);
            }
        }
    }
}
