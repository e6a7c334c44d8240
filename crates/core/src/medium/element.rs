//! A medium as an element: what all media do alike.

use super::roaming::{Change, RoamingTerms};
use super::{Direction, Stream, Streams};
use crate::element::{Cause, Element, Out, Place, Port, Tally};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::units::Time;

/// A channel that stations share, with queues for their streams.
pub trait Medium {
    fn streams(&self) -> &Streams;
    fn streams_mut(&mut self) -> &mut Streams;

    /// A packet of one of its streams comes; all that was due before has been done.
    fn take_in(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Out<'_>);
    /// Does all that is due by `now`.
    fn advance(&mut self, now: Time, out: &mut Out<'_>);
    /// When it has something to do.
    fn next(&self) -> Time;
    /// Packets that have left their queues and not the medium.
    fn inside(&self) -> u64;

    /// A station leaves its cell: what has left its queues is given up, or goes back to wait if `forwards`.
    fn leave(&mut self, now: Time, station: u32, out: &mut Out<'_>);
    /// A station is served again, in its next cell.
    fn arrive(&mut self, now: Time, station: u32, out: &mut Out<'_>);

    /// Its stations change cells.
    fn roaming(mut self, terms: RoamingTerms) -> Self
    where
        Self: Sized,
    {
        self.streams_mut().roam(terms);
        self
    }
}

/// The next change of a cell, after all that is due until then.
fn change(medium: &mut impl Medium, now: Time, out: &mut Out<'_>) {
    let at = medium.streams().next_change();
    medium.advance(at.min(now), out);
    match medium.streams_mut().pass_change(now) {
        None => {}
        Some((station, Change::Leaves)) => {
            medium.leave(at, station, out);
            // What a station has to send it takes along.
            let streams = medium.streams_mut();
            if !streams.forwards() {
                streams.of(Stream::new(station, Direction::Down)).discard(at, Cause::Handover, out);
            }
        }
        Some((station, Change::Arrives)) => medium.arrive(at, station, out),
    }
}

impl<M: Medium> Element for M {
    fn push(&mut self, now: Time, port: Port, packet: Packet, out: &mut Out<'_>) {
        // What happens at this very instant happens before the packet comes, whoever the driver calls first.
        self.wake(now, out);
        let stream = Stream::entering(port);
        if self.streams().contains(stream) {
            self.take_in(now, stream, packet, out);
        } else {
            out.drop(packet, Cause::NoRoute);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Out<'_>) {
        while self.streams().next_change() <= now && now < Time::NEVER {
            change(self, now, out);
        }
        self.advance(now, out);
    }

    fn due(&self) -> Time {
        self.next().min(self.streams().next_change())
    }

    fn held(&self) -> u64 {
        self.streams().waiting() + self.inside()
    }

    fn meter(&mut self, now: Time, place: Place) -> Option<&mut LinkMeter> {
        self.streams_mut().meter(now, place)
    }
    fn sample(&mut self, _now: Time, place: Place) -> Option<QueueSample> {
        self.streams().sample(place)
    }
    fn tally(&self, place: Place) -> Option<Tally> {
        self.streams().tally(place)
    }
}
