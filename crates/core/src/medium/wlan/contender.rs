//! One who contends for the medium: the access point with everything that goes down, or a station with its own packets.

use super::aggregate::Window;
use super::{Backoff, WlanTerms};
use crate::element::Out;
use crate::medium::{Direction, Stream, Streams};
use crate::rng::Rng;
use crate::units::Time;

/// The access point is contender 0, station s is s + 1.
pub fn contender_of(stream: Stream) -> usize {
    match stream.direction {
        Direction::Down => 0,
        Direction::Up => stream.station as usize + 1,
    }
}

#[derive(Clone, Debug)]
pub struct Contender {
    pub backoff: Backoff,
    /// Whose frame is next to be sent; none if nothing waits.
    pub current: Option<Stream>,
    /// Since when.
    pub ready: Time,
    /// An RTS of this frame has not been answered so many times.
    pub unanswered: u32,
    /// Station whose turn is next, at the access point.
    turn: u32,
}

impl Contender {
    pub fn new(terms: &WlanTerms) -> Contender {
        Contender { backoff: Backoff::new(terms), current: None, ready: Time::ZERO, unanswered: 0, turn: 0 }
    }

    /// When its frame goes, if the medium stays idle.
    pub fn sends_at(&self, terms: &WlanTerms) -> Time {
        if self.current.is_none() { Time::NEVER } else { self.backoff.sends_at(self.ready, terms.slot) }
    }

    /// Something to do at all: a frame, or a back-off to count.
    pub fn is_active(&self) -> bool {
        self.current.is_some() || !self.backoff.is_over()
    }

    /// Makes the next waiting packet the frame to send. The access point serves stations in turn; a packet that has to be sent again goes
    /// before the others of its stream.
    pub fn load(&mut self, number: usize, now: Time, pending: &mut Pending<'_>, out: &mut Out<'_>) {
        self.ready = now;
        if self.current.is_some_and(|stream| pending.loads(stream, now, out)) {
            return;
        }
        self.unanswered = 0;
        self.current = match number {
            0 => self.next_station(now, pending, out),
            _ => {
                let own = Stream::new(number as u32 - 1, Direction::Up);
                pending.loads(own, now, out).then_some(own)
            }
        };
    }

    fn next_station(&mut self, now: Time, pending: &mut Pending<'_>, out: &mut Out<'_>) -> Option<Stream> {
        let stations = pending.streams.stations();
        for step in 0..stations {
            let station = (self.turn + step) % stations;
            let stream = Stream::new(station, Direction::Down);
            if pending.loads(stream, now, out) {
                self.turn = (station + 1) % stations;
                return Some(stream);
            }
        }
        pending.first_shared(now, out)
    }

    /// Its frame was answered: others of the access point's stations may be next.
    pub fn succeed(&mut self, terms: &WlanTerms, rng: &mut Rng) {
        self.current = None;
        self.unanswered = 0;
        self.backoff.reset(terms);
        self.backoff.draw(rng);
    }

    /// It was not. `given_up`: nor will it be sent again.
    pub fn fail(&mut self, terms: &WlanTerms, rng: &mut Rng, given_up: bool) {
        if given_up {
            self.current = None;
            self.unanswered = 0;
            self.backoff.reset(terms);
        } else {
            self.backoff.widen(terms);
        }
        self.backoff.draw(rng);
    }
}

/// Where frames come from.
pub struct Pending<'a> {
    pub streams: &'a mut Streams,
    pub windows: &'a mut [Window],
}

impl Pending<'_> {
    /// Whose the first packet of the shared queue is, which is now the frame to send.
    fn first_shared(&mut self, now: Time, out: &mut Out<'_>) -> Option<Stream> {
        let stream = self.streams.first_shared(now, out)?;
        let packet = self.streams.dequeue(now, stream, out)?;
        self.windows[stream.index()].push(packet);
        Some(stream)
    }

    /// The stream has a frame to send, or its queue gives one. A queue may drop all that it holds instead.
    fn loads(&mut self, stream: Stream, now: Time, out: &mut Out<'_>) -> bool {
        if !self.streams.is_here(stream.station) {
            return false;
        }
        let window = &mut self.windows[stream.index()];
        if window.is_empty()
            && !self.streams.is_shared(stream)
            && self.streams.waiting_in(stream) > 0
            && let Some(packet) = self.streams.of(stream).dequeue(now, out)
        {
            window.push(packet);
        }
        !window.is_empty()
    }
}
