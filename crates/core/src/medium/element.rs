//! A medium as an element: what all media do alike.

use super::roaming::{RoamingConfig, RoamingEvent};
use super::{Direction, StationQueues, Stream};
use crate::element::{DropReason, Element, Output, PacketCounts, Port, QueueId};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::units::Time;

/// A channel that stations share, with queues for their queues.
pub trait Medium {
    fn queues(&self) -> &StationQueues;
    fn queues_mut(&mut self) -> &mut StationQueues;

    /// A packet of one of its queues comes; all that was due before has been done.
    fn accept(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>);
    /// Does all that is due by `now`.
    fn advance(&mut self, now: Time, out: &mut Output<'_>);
    /// When it has something to do.
    fn next(&self) -> Time;
    /// Packets that have left their queues and not the medium.
    fn in_service(&self) -> u64;

    /// A station leaves its cell: what has left its queues is given up, or goes back to wait if `forwards`.
    fn station_leaves(&mut self, now: Time, station: u32, out: &mut Output<'_>);
    /// A station is served again, in its next cell.
    fn station_arrives(&mut self, now: Time, station: u32, out: &mut Output<'_>);

    /// Its stations change cells.
    fn roaming(mut self, config: RoamingConfig) -> Self
    where
        Self: Sized,
    {
        self.queues_mut().roam(config);
        self
    }
}

/// The next change of a cell, after all that is due until then.
fn handle_roaming_event(medium: &mut impl Medium, now: Time, out: &mut Output<'_>) {
    let at = medium.queues().next_roaming_event();
    medium.advance(at.min(now), out);
    match medium.queues_mut().pop_roaming_event(now) {
        None => {}
        Some((station, RoamingEvent::Leaves)) => {
            medium.station_leaves(at, station, out);
            // What a station has to send it takes along.
            let queues = medium.queues_mut();
            if !queues.forwards() {
                queues.of(Stream::new(station, Direction::Down)).discard(at, DropReason::Handover, out);
            }
        }
        Some((station, RoamingEvent::Arrives)) => medium.station_arrives(at, station, out),
    }
}

impl<M: Medium> Element for M {
    fn push(&mut self, now: Time, port: Port, packet: Packet, out: &mut Output<'_>) {
        // What happens at this very instant happens before the packet comes, whoever the driver calls first.
        self.wake(now, out);
        let stream = Stream::entering(port);
        if self.queues().contains(stream) {
            self.accept(now, stream, packet, out);
        } else {
            out.drop(packet, DropReason::NoRoute);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        while self.queues().next_roaming_event() <= now && now < Time::NEVER {
            handle_roaming_event(self, now, out);
        }
        self.advance(now, out);
    }

    fn due(&self) -> Time {
        self.next().min(self.queues().next_roaming_event())
    }

    fn occupancy(&self) -> u64 {
        self.queues().waiting() + self.in_service()
    }

    fn meter(&mut self, now: Time, queue: QueueId) -> Option<&mut LinkMeter> {
        self.queues_mut().meter(now, queue)
    }
    fn sample(&mut self, _now: Time, queue: QueueId) -> Option<QueueSample> {
        self.queues().sample(queue)
    }
    fn counts(&self, queue: QueueId) -> Option<PacketCounts> {
        self.queues().counts(queue)
    }
}
