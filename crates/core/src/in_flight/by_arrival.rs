//! Packets in flight to one destination, sorted by arrival time.

use crate::element::{Output, Port};
use crate::packet::Packet;
use crate::ring::Ring;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A ring sorted by arrival time. Packets are pushed nearly in order, so an insertion shifts by a
/// few places. A packet that would shift further, for example behind another station's long queue,
/// goes into a heap.
pub struct InFlightByArrival {
    ring: Ring<InFlight>,
    /// Arrival time of the last packet of the ring, or of the last one that it held.
    last: Time,
    overflow: BinaryHeap<Reverse<ByArrival>>,
    order: u64,
    next: Time,
}

#[derive(Clone, Copy)]
struct InFlight {
    arrives: Time,
    /// Packets with equal arrival times leave in push order.
    order: u64,
    packet: Packet,
}

struct ByArrival(InFlight);

/// Maximum number of places that an insertion may shift in the ring.
const MAX_SHIFT: usize = 16;

impl InFlight {
    fn rank(&self) -> (Time, u64) {
        (self.arrives, self.order)
    }
}

impl InFlightByArrival {
    pub fn new() -> InFlightByArrival {
        InFlightByArrival { ring: Ring::new(), last: Time::ZERO, overflow: BinaryHeap::new(), order: 0, next: Time::NEVER }
    }

    /// Arrival time of the first packet.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    pub fn len(&self) -> usize {
        self.ring.len() + self.overflow.len()
    }

    #[inline]
    pub fn push(&mut self, arrives: Time, packet: &Packet) {
        self.order += 1;
        self.next = self.next.min(arrives);
        if arrives < self.last {
            return self.insert(arrives, packet);
        }
        self.last = arrives;
        self.ring.push_back(InFlight { arrives, order: self.order, packet: *packet });
    }

    #[cold]
    fn insert(&mut self, arrives: Time, packet: &Packet) {
        let entry = InFlight { arrives, order: self.order, packet: *packet };
        let mut place = self.ring.len();
        while self.ring.get(place.wrapping_sub(1)).is_some_and(|f| f.arrives > arrives) {
            if self.ring.len() - place == MAX_SHIFT {
                self.overflow.push(Reverse(ByArrival(entry)));
                return;
            }
            place -= 1;
        }
        self.ring.insert(place, entry);
        self.last = self.ring.back().map_or(arrives, |last| last.arrives);
    }

    /// The first packet, if it has arrived.
    #[inline]
    pub fn arrived(&mut self, now: Time) -> Option<&Packet> {
        if self.next > now {
            return None;
        }
        if !self.overflow.is_empty() {
            self.join_first();
        }
        self.ring.front().map(|entry| &entry.packet)
    }

    /// Removes the first packet, which has arrived.
    #[inline]
    pub fn take_arrived(&mut self) {
        self.ring.take_front();
        self.next = self.ring.front().map_or(Time::NEVER, |entry| entry.arrives);
        if let Some(Reverse(ByArrival(entry))) = self.overflow.peek() {
            self.next = self.next.min(entry.arrives);
        }
    }

    /// Forwards, in order, every packet that has arrived.
    #[inline]
    pub fn forward_arrived(&mut self, now: Time, out: &mut Output<'_>) {
        while let Some(&packet) = self.arrived(now) {
            out.forward(Port(0), packet);
            self.take_arrived();
        }
    }

    /// Moves the first packet to `packet` if it has arrived and the second has not. Returns when the
    /// second arrives.
    #[inline]
    pub fn take_only_arrived(&mut self, now: Time, packet: &mut Packet) -> Option<Time> {
        if self.next > now || !self.overflow.is_empty() {
            return None;
        }
        let second = self.ring.get(1).map_or(Time::NEVER, |entry| entry.arrives);
        if second <= now {
            return None;
        }
        *packet = self.ring.take_front()?.packet;
        self.next = second;
        Some(second)
    }

    /// Moves the first packet of the heap to the front of the ring if it arrives before the ring's
    /// first.
    #[cold]
    fn join_first(&mut self) {
        let overflow_first = match (self.ring.front(), self.overflow.peek()) {
            (Some(ring), Some(Reverse(ByArrival(overflow)))) => overflow.rank() < ring.rank(),
            (ring, _) => ring.is_none(),
        };
        if overflow_first && let Some(Reverse(ByArrival(entry))) = self.overflow.pop() {
            self.ring.push_front(entry);
        }
    }
}

impl Ord for ByArrival {
    fn cmp(&self, other: &ByArrival) -> std::cmp::Ordering {
        self.0.rank().cmp(&other.0.rank())
    }
}

impl PartialOrd for ByArrival {
    fn partial_cmp(&self, other: &ByArrival) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for ByArrival {
    fn eq(&self, other: &ByArrival) -> bool {
        self.0.rank() == other.0.rank()
    }
}

impl Eq for ByArrival {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Arena, Body, Datagram, Ecn, Kind};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_leave_in_order_of_arrival_time_then_push(times in prop::collection::vec(0u64..60, 1..200)) {
            let mut arena = Arena::default();
            let mut in_flight = InFlightByArrival::new();
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (id, &t) in times.iter().enumerate() {
                let body = arena.insert(Body::Datagram(Datagram { number: 0, ..Datagram::default() }));
                let (id, kind) = (id as u64, Kind::DATA);
                in_flight.push(Time(t), &Packet { id, body, flow: 0, len: 1, wire_len: 1, ecn: Ecn::NotEct, class: 0, kind });
                model.push((t, id));
            }
            model.sort();
            prop_assert_eq!(in_flight.len(), model.len());
            for (t, id) in model {
                prop_assert_eq!(in_flight.next(), Time(t));
                prop_assert!(t == 0 || in_flight.arrived(Time(t - 1)).is_none());
                prop_assert_eq!(in_flight.arrived(Time(t)).map(|p| p.id), Some(id));
                let mut only = Packet::NONE;
                if let Some(next) = in_flight.take_only_arrived(Time(t), &mut only) {
                    prop_assert_eq!((only.id, next), (id, in_flight.next()));
                    prop_assert!(in_flight.arrived(Time(t)).is_none());
                } else {
                    in_flight.take_arrived();
                }
            }
            prop_assert_eq!(in_flight.next(), Time::NEVER);
        }
    }
}
