//! Packets on their way to one far end, in the order of their arrival there.

use crate::packet::Packet;
use crate::ring::Ring;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A ring in order of arrival. Packets come in nearly sorted, so a new one moves forward by a few places at most; what would have to move
/// further, as behind another station's long queue, waits in a heap.
pub struct Flights {
    ring: Ring<Flight>,
    /// When the last in the ring arrives, or did when there was one.
    last: Time,
    apart: BinaryHeap<Reverse<Apart>>,
    order: u64,
    next: Time,
}

#[derive(Clone, Copy)]
struct Flight {
    arrives: Time,
    /// Ties arrive in the order in which they set out.
    order: u64,
    packet: Packet,
}

struct Apart(Flight);

/// Places that a packet may move forward in the ring.
const REACH: usize = 16;

impl Flight {
    fn rank(&self) -> (Time, u64) {
        (self.arrives, self.order)
    }
}

impl Flights {
    pub fn new() -> Flights {
        Flights { ring: Ring::new(), last: Time::ZERO, apart: BinaryHeap::new(), order: 0, next: Time::NEVER }
    }

    /// When the first one arrives.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    pub fn len(&self) -> usize {
        self.ring.len() + self.apart.len()
    }

    #[inline]
    pub fn push(&mut self, arrives: Time, packet: Packet) {
        self.order += 1;
        self.next = self.next.min(arrives);
        if arrives < self.last {
            return self.insert(arrives, packet);
        }
        self.last = arrives;
        self.ring.push_back(Flight { arrives, order: self.order, packet });
    }

    #[cold]
    fn insert(&mut self, arrives: Time, packet: Packet) {
        let flight = Flight { arrives, order: self.order, packet };
        let mut place = self.ring.len();
        while self.ring.get(place.wrapping_sub(1)).is_some_and(|f| f.arrives > arrives) {
            if self.ring.len() - place == REACH {
                self.apart.push(Reverse(Apart(flight)));
                return;
            }
            place -= 1;
        }
        self.ring.insert(place, flight);
        self.last = self.ring.back().map_or(arrives, |last| last.arrives);
    }

    /// The first one, if it has arrived.
    #[inline]
    pub fn arrived(&mut self, now: Time) -> Option<&Packet> {
        if self.next > now {
            return None;
        }
        if !self.apart.is_empty() {
            self.join_first();
        }
        self.ring.front().map(|flight| &flight.packet)
    }

    /// Takes out the first one, which has arrived.
    #[inline]
    pub fn take_arrived(&mut self) {
        self.ring.take_front();
        self.next = self.ring.front().map_or(Time::NEVER, |flight| flight.arrives);
        if let Some(Reverse(Apart(flight))) = self.apart.peek() {
            self.next = self.next.min(flight.arrives);
        }
    }

    /// The first one, if it has arrived and the second has not.
    #[inline]
    pub fn only_arrived(&self, now: Time) -> Option<&Packet> {
        let second = self.ring.get(1).map_or(Time::NEVER, |flight| flight.arrives);
        if self.next > now || second <= now || !self.apart.is_empty() {
            return None;
        }
        self.ring.front().map(|flight| &flight.packet)
    }

    /// Puts what arrives first of those apart before the ring, if it arrives before that.
    #[cold]
    fn join_first(&mut self) {
        let apart_first = match (self.ring.front(), self.apart.peek()) {
            (Some(ring), Some(Reverse(Apart(apart)))) => apart.rank() < ring.rank(),
            (ring, _) => ring.is_none(),
        };
        if apart_first && let Some(Reverse(Apart(flight))) = self.apart.pop() {
            self.ring.push_front(flight);
        }
    }
}

impl Ord for Apart {
    fn cmp(&self, other: &Apart) -> std::cmp::Ordering {
        self.0.rank().cmp(&other.0.rank())
    }
}

impl PartialOrd for Apart {
    fn partial_cmp(&self, other: &Apart) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Apart {
    fn eq(&self, other: &Apart) -> bool {
        self.0.rank() == other.0.rank()
    }
}

impl Eq for Apart {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::{Arena, Body, Datagram, Ecn, Kind};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packets_arrive_in_order_and_ties_as_they_set_out(times in prop::collection::vec(0u64..60, 1..200)) {
            let mut arena = Arena::default();
            let mut flights = Flights::new();
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (id, &t) in times.iter().enumerate() {
                let body = arena.insert(Body::Datagram(Datagram { number: 0, ..Datagram::default() }));
                let (id, kind) = (id as u64, Kind::DATA);
                flights.push(Time(t), Packet { id, body, flow: 0, len: 1, wire_len: 1, ecn: Ecn::NotEct, class: 0, kind });
                model.push((t, id));
            }
            model.sort();
            prop_assert_eq!(flights.len(), model.len());
            for (t, id) in model {
                prop_assert_eq!(flights.next(), Time(t));
                prop_assert!(t == 0 || flights.arrived(Time(t - 1)).is_none());
                let only = flights.only_arrived(Time(t)).map(|p| p.id);
                prop_assert!(only.is_none_or(|only| only == id));
                prop_assert_eq!(flights.arrived(Time(t)).map(|p| p.id), Some(id));
                flights.take_arrived();
                prop_assert!(only.is_none() || flights.arrived(Time(t)).is_none());
            }
            prop_assert_eq!(flights.next(), Time::NEVER);
        }
    }
}
