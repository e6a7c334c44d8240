//! Packets on their way to one far end, in the order of their arrival there.

use crate::packet::Packet;
use crate::ring::Ring;
use crate::units::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A ring in order of arrival. Packets come in nearly sorted, so a new one moves forward by a few places at most; what would have to move
/// further, as behind another station's long queue, waits in a heap.
pub struct InFlightSorted {
    ring: Ring<InFlight>,
    /// When the last in the ring arrives, or did when there was one.
    last: Time,
    overflow: BinaryHeap<Reverse<ByArrival>>,
    order: u64,
    next: Time,
}

#[derive(Clone, Copy)]
struct InFlight {
    arrives: Time,
    /// Ties arrive in the order in which they set out.
    order: u64,
    packet: Packet,
}

struct ByArrival(InFlight);

/// Places that a packet may move forward in the ring.
const MAX_SHIFT: usize = 16;

impl InFlight {
    fn rank(&self) -> (Time, u64) {
        (self.arrives, self.order)
    }
}

impl InFlightSorted {
    pub fn new() -> InFlightSorted {
        InFlightSorted { ring: Ring::new(), last: Time::ZERO, overflow: BinaryHeap::new(), order: 0, next: Time::NEVER }
    }

    /// When the first one arrives.
    #[inline]
    pub fn next(&self) -> Time {
        self.next
    }

    pub fn len(&self) -> usize {
        self.ring.len() + self.overflow.len()
    }

    #[inline]
    pub fn push(&mut self, arrives: Time, packet: Packet) {
        self.order += 1;
        self.next = self.next.min(arrives);
        if arrives < self.last {
            return self.insert(arrives, packet);
        }
        self.last = arrives;
        self.ring.push_back(InFlight { arrives, order: self.order, packet });
    }

    #[cold]
    fn insert(&mut self, arrives: Time, packet: Packet) {
        let entry = InFlight { arrives, order: self.order, packet };
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

    /// The first one, if it has arrived.
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

    /// Takes out the first one, which has arrived.
    #[inline]
    pub fn take_arrived(&mut self) {
        self.ring.take_front();
        self.next = self.ring.front().map_or(Time::NEVER, |entry| entry.arrives);
        if let Some(Reverse(ByArrival(entry))) = self.overflow.peek() {
            self.next = self.next.min(entry.arrives);
        }
    }

    /// The first one, if it has arrived and the second has not.
    #[inline]
    pub fn only_arrived(&self, now: Time) -> Option<&Packet> {
        let second = self.ring.get(1).map_or(Time::NEVER, |entry| entry.arrives);
        if self.next > now || second <= now || !self.overflow.is_empty() {
            return None;
        }
        self.ring.front().map(|entry| &entry.packet)
    }

    /// Puts what arrives first of those overflow before the ring, if it arrives before that.
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
        fn packets_arrive_in_order_and_ties_as_they_set_out(times in prop::collection::vec(0u64..60, 1..200)) {
            let mut arena = Arena::default();
            let mut sorted = InFlightSorted::new();
            let mut model: Vec<(u64, u64)> = Vec::new();
            for (id, &t) in times.iter().enumerate() {
                let body = arena.insert(Body::Datagram(Datagram { number: 0, ..Datagram::default() }));
                let (id, kind) = (id as u64, Kind::DATA);
                sorted.push(Time(t), Packet { id, body, flow: 0, len: 1, wire_len: 1, ecn: Ecn::NotEct, class: 0, kind });
                model.push((t, id));
            }
            model.sort();
            prop_assert_eq!(sorted.len(), model.len());
            for (t, id) in model {
                prop_assert_eq!(sorted.next(), Time(t));
                prop_assert!(t == 0 || sorted.arrived(Time(t - 1)).is_none());
                let only = sorted.only_arrived(Time(t)).map(|p| p.id);
                prop_assert!(only.is_none_or(|only| only == id));
                prop_assert_eq!(sorted.arrived(Time(t)).map(|p| p.id), Some(id));
                sorted.take_arrived();
                prop_assert!(only.is_none() || sorted.arrived(Time(t)).is_none());
            }
            prop_assert_eq!(sorted.next(), Time::NEVER);
        }
    }
}
