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

use super::{Stream, Streams};
use crate::element::{Cause, Element, Out, Place, Port, Tally};
use crate::meter::{LinkMeter, QueueSample};
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
        let streams = Streams::new(queues);
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

    /// A packet comes: into the frame that is next, if its sender has none, else into the queue.
    fn take_in(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Out<'_>) {
        let number = contender_of(stream);
        if self.contenders[number].current.is_some() {
            return self.streams.of(stream).enqueue(now, packet, out);
        }
        if let Some(packet) = self.streams.of(stream).pass(now, packet, out) {
            self.windows[stream.index()].push(packet);
        }
        let mut pending = Pending { streams: &mut self.streams, windows: &mut self.windows };
        self.contenders[number].load(number, now, &mut pending, out);
        if self.contenders[number].current.is_some() {
            self.join(number, now);
        }
    }
}

impl Element for Wlan {
    fn push(&mut self, now: Time, port: Port, packet: Packet, out: &mut Out<'_>) {
        // What happens at this very instant happens before the packet comes, whoever the driver calls first.
        self.wake(now, out);
        let stream = Stream::entering(port);
        if self.streams.contains(stream) {
            self.take_in(now, stream, packet, out);
        } else {
            out.drop(packet, Cause::NoRoute);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        while self.due() <= now {
            if self.exchange.is_some() {
                self.proceed(out);
            } else {
                self.begin(self.next, out);
            }
            self.plan_next();
        }
    }

    fn due(&self) -> Time {
        self.exchange.as_ref().map_or(self.next, Exchange::due)
    }

    fn held(&self) -> u64 {
        self.streams.waiting() + self.windows.iter().map(|window| window.len() as u64).sum::<u64>()
    }

    fn meter(&mut self, now: Time, place: Place) -> Option<&mut LinkMeter> {
        self.streams.meter(now, place)
    }
    fn sample(&mut self, _now: Time, place: Place) -> Option<QueueSample> {
        self.streams.sample(place)
    }
    fn tally(&self, place: Place) -> Option<Tally> {
        self.streams.tally(place)
    }
}
