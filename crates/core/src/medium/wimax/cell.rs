//! What downlink and uplink share: the stations' queues and radios, and what is on the air.

use super::amc::Radio;
use super::caps::{Cap, Verdict};
use super::frame::Frame;
use super::pdu::Cutter;
use super::repair::{Released, Window};
use super::service::Service;
use super::terms::{ConnectionTerms, Terms, at_speed};
use crate::element::{Cause, Out};
use crate::medium::{Direction, Stream, Streams};
use crate::packet::Packet;
use crate::ring::Ring;
use crate::rng::Rng;
use crate::units::{Span, Time};

/// One station in one direction, beside its queue.
#[derive(Clone, Debug, Default)]
pub struct Line {
    pub cutter: Cutter,
    /// None where nothing can break.
    pub window: Option<Box<Window>>,
    pub caps: Vec<Cap>,
}

/// What arrives at the end of a piece.
#[derive(Clone, Copy, Debug)]
pub enum Load {
    Packet(Packet),
    /// A unit of the stream's window, by number.
    Unit(u64),
}

/// A piece that has been given its place in a frame: it has arrived at the end of that slot of that burst.
#[derive(Clone, Copy, Debug)]
pub struct Placed {
    pub burst: u32,
    pub first: u32,
    pub last: u32,
    pub stream: Stream,
    pub load: Load,
}

/// A packet on its way out.
#[derive(Clone, Copy, Debug)]
pub struct Flight {
    pub at: Time,
    pub stream: Stream,
    pub packet: Packet,
}

pub struct Cell {
    pub terms: Terms,
    /// Stations without their further connections.
    pub clients: u32,
    pub frame: Frame,
    /// The present frame, and when it began.
    pub number: u64,
    pub began: Time,
    /// By index into the set.
    pub slot_bytes: Vec<u32>,
    pub streams: Streams,
    /// By [`Stream::index`].
    pub lines: Vec<Line>,
    /// By station.
    pub radios: Vec<Radio>,
    /// In order of time.
    pub flights: Ring<Flight>,
    pub errors: Rng,
    /// Of what no repair sees.
    pub losses: Rng,
}

impl Cell {
    /// What the base station grants this connection.
    pub fn service(&self, station: u32) -> Service {
        let further = (station / self.clients.max(1)) as usize;
        match further.checked_sub(1).and_then(|at| self.terms.connections.get(at)) {
            Some(connection) => connection.service,
            None => self.terms.station(station).service,
        }
    }

    /// The connection on which a station's packet rides.
    pub fn connection(&self, stream: Stream, packet: &Packet) -> Stream {
        let covers = |connection: &ConnectionTerms| connection.traffic.covers(packet.kind);
        match self.terms.connections.iter().position(covers) {
            Some(at) => Stream { station: stream.station + self.clients * (at as u32 + 1), ..stream },
            None => stream,
        }
    }

    /// Bytes of a slot for this stream, with its modulation of the moment.
    pub fn slot_bytes_of(&mut self, stream: Stream) -> u32 {
        let radio = &mut self.radios[stream.station as usize];
        radio.advance(self.number, self.terms.frame.channel.set());
        let bytes = self.slot_bytes[usize::from(radio.chosen(stream.direction))];
        at_speed(bytes, self.streams.speed(stream.station))
    }

    /// A station leaves: nobody will acknowledge or complete what was begun. A packet that was being cut waits again, whole, if it is the
    /// station's own or goes over to the next cell.
    pub fn abandon(&mut self, stream: Stream, out: &mut Out<'_>) {
        let keeps = stream.direction == Direction::Up || self.streams.forwards();
        let line = &mut self.lines[stream.index()];
        let buffer = self.streams.of(stream);
        let mut unanswered = line.window.as_mut().map(|window| window.reset());
        while let Some(packet) = unanswered.as_mut().and_then(|packets| packets.pop_front()) {
            buffer.drop(packet, Cause::Handover, out);
        }
        line.cutter.mend();
        if let Some(packet) = if keeps { None } else { line.cutter.give_up_cut() } {
            buffer.drop(packet, Cause::Handover, out);
        }
    }

    /// Bytes, headers included, that wait to be sent for the first time.
    pub fn need(&mut self, stream: Stream) -> u64 {
        self.lines[stream.index()].cutter.need(self.streams.of(stream), &self.terms.pdu)
    }

    /// A packet comes. True when it is now in its queue.
    pub fn take_in(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Out<'_>) {
        if self.lines[stream.index()].caps.is_empty() {
            return self.streams.of(stream).enqueue(now, packet, out);
        }
        self.streams.of(stream).hold(now, packet);
        self.pass_caps(now, stream, (now, packet), 0, out);
    }

    /// A packet that has come to the stream at a time before comes to its caps from number `from` on.
    fn pass_caps(&mut self, now: Time, stream: Stream, (since, packet): (Time, Packet), from: usize, out: &mut Out<'_>) {
        let buffer = self.streams.of(stream);
        for cap in self.lines[stream.index()].caps.iter_mut().skip(from).filter(|cap| cap.covers(&packet)) {
            match cap.judge(now, since, packet) {
                Verdict::Pass => {}
                Verdict::Wait => return,
                Verdict::Drop => {
                    buffer.release(now, packet);
                    return buffer.drop(packet, Cause::Policed, out);
                }
            }
        }
        buffer.enqueue_held(now, (since, packet), out);
    }

    /// Packets that a cap has held back long enough go to their queue.
    pub fn release_capped(&mut self, stream: Stream, now: Time, out: &mut Out<'_>) {
        for at in 0..self.lines[stream.index()].caps.len() {
            while let Some(released) = self.lines[stream.index()].caps[at].release(now) {
                self.pass_caps(now, stream, released, at + 1, out);
            }
        }
    }

    /// Nothing of this stream waits, is on the air or has to be sent again.
    pub fn is_idle(&mut self, stream: Stream) -> bool {
        let line = &self.lines[stream.index()];
        line.cutter.is_empty(self.streams.of(stream))
            && line.window.as_ref().is_none_or(|window| window.is_idle())
            && line.caps.iter().all(|cap| cap.held() == 0)
    }

    /// What was placed arrives, in order of time. `at` gives the time from the start of the frame.
    pub fn arrive(&mut self, placed: &mut Vec<Placed>, one_burst: bool, at: impl Fn(&Placed) -> Span, out: &mut Out<'_>) {
        if !one_burst {
            placed.sort_by_key(&at);
        }
        for one in placed.drain(..) {
            let at = self.began + at(&one);
            match one.load {
                Load::Packet(packet) => self.land(at, one.stream, packet, out),
                Load::Unit(number) => self.receive(number, one.stream, at, out),
            }
        }
    }

    fn receive(&mut self, number: u64, stream: Stream, at: Time, out: &mut Out<'_>) {
        let p = self.radios[stream.station as usize].error(stream.direction, self.terms.frame.channel.set());
        let Some(window) = &mut self.lines[stream.index()].window else { return };
        window.arrive(number, self.number, p, &mut self.errors);
        while let Some(released) = self.lines[stream.index()].window.as_mut().and_then(|window| window.release()) {
            match released {
                Released::Whole(packet) => self.land(at, stream, packet, out),
                Released::Lost(packet) => self.streams.of(stream).drop(packet, Cause::Loss, out),
            }
        }
    }

    /// A packet arrives whole at `at`, unless its signal is so weak that it is lost all the same.
    fn land(&mut self, at: Time, stream: Stream, packet: Packet, out: &mut Out<'_>) {
        let share = self.radios[stream.station as usize].residual_loss(stream.direction);
        if share > 0.0 && self.losses.chance(share) {
            self.streams.of(stream).drop(packet, Cause::Loss, out);
        } else {
            self.flights.push_back(Flight { at, stream, packet });
        }
    }

    /// Counts slots as used by a stream, of those that this frame had for data.
    pub fn count_use(&mut self, stream: Stream, slots: u32, of: u32) {
        let span = self.frame.length.0 / u64::from(of.max(1)) * u64::from(slots);
        self.streams.of(stream).use_for(Span(span));
    }

    /// Packets that have left their queues, or have not come to them.
    pub fn inside(&self) -> u64 {
        let inside = |line: &Line| {
            let window = line.window.as_ref().map_or(0, |window| window.held());
            line.cutter.held() + window + line.caps.iter().map(Cap::held).sum::<u64>()
        };
        self.flights.len() as u64 + self.lines.iter().map(inside).sum::<u64>()
    }

    pub fn down(station: u32) -> Stream {
        Stream::new(station, Direction::Down)
    }
    pub fn up(station: u32) -> Stream {
        Stream::new(station, Direction::Up)
    }
}
