//! The element interface of a medium: what all media have in common.

use super::roaming::{RoamingConfig, RoamingEvent};
use super::{Direction, StationQueues, Stream};
use crate::element::{DropReason, Element, Output, PacketCounts, Port, QueueId};
use crate::meter::{LinkMeter, QueueSample};
use crate::packet::Packet;
use crate::time_account::TimeAccount;
use crate::units::Time;

/// A channel shared by stations, with a queue per stream.
pub trait Medium {
    fn queues(&self) -> &StationQueues;
    fn queues_mut(&mut self) -> &mut StationQueues;

    /// Accepts a packet of one of its streams. Everything due earlier has been done.
    fn accept(&mut self, now: Time, stream: Stream, packet: Packet, out: &mut Output<'_>);
    /// Executes everything due by `now`.
    fn advance(&mut self, now: Time, out: &mut Output<'_>);
    /// Time of the next event.
    fn next(&self) -> Time;
    /// Packets dequeued and not yet delivered.
    fn in_service(&self) -> u64;

    /// A station leaves its cell. Packets in service are dropped, or return to their queue if
    /// `forwards`.
    fn station_leaves(&mut self, now: Time, station: u32, out: &mut Output<'_>);
    /// A station is served again, in its next cell.
    fn station_arrives(&mut self, now: Time, station: u32, out: &mut Output<'_>);

    /// Enables roaming of its stations.
    fn roaming(mut self, config: RoamingConfig) -> Self
    where
        Self: Sized,
    {
        self.queues_mut().roam(config);
        self
    }
}

/// Executes the next roaming event, after everything due before it.
fn handle_roaming_event(medium: &mut impl Medium, now: Time, out: &mut Output<'_>) {
    let at = medium.queues().next_roaming_event();
    medium.advance(at.min(now), out);
    match medium.queues_mut().pop_roaming_event(now) {
        None => {}
        Some((station, RoamingEvent::Leaves)) => {
            medium.station_leaves(at, station, out);
            // The uplink queue is in the station and moves with it.
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
        // Events at this instant precede the arrival, in whatever order the driver calls.
        if self.due() <= now {
            self.wake(now, out);
        } else {
            // The time until this arrival is not that of the packet.
            self.queues_mut().account_until(now);
        }
        let stream = Stream::entering(port);
        if self.queues().contains(stream) {
            self.accept(now, stream, packet, out);
        } else {
            out.drop(packet, DropReason::NoRoute);
        }
    }

    fn wake(&mut self, now: Time, out: &mut Output<'_>) {
        self.queues_mut().account_until(now);
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
    fn time(&mut self, now: Time, queue: QueueId) -> Option<&mut TimeAccount> {
        let queues = self.queues_mut();
        queues.account_until(now);
        queues.contains(Stream::at(queue)).then(|| queues.time(Stream::at(queue).direction))
    }
    fn sample(&mut self, _now: Time, queue: QueueId) -> Option<QueueSample> {
        self.queues().sample(queue)
    }
    fn counts(&self, queue: QueueId) -> Option<PacketCounts> {
        self.queues().counts(queue)
    }
}
