//! Packets in flight to several stations, in order per station: an early packet waits for earlier
//! ones.

use crate::event_heap::EventHeap;
use crate::units::Time;

pub struct InFlightPerStation<T> {
    heap: EventHeap<T>,
    /// By station: arrival time of its last packet.
    last: Vec<Time>,
}

impl<T> InFlightPerStation<T> {
    pub fn new(stations: u32) -> InFlightPerStation<T> {
        InFlightPerStation { heap: EventHeap::default(), last: vec![Time::ZERO; stations as usize] }
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Adds a packet of `station` that arrives at `at`, or with the station's previous packet if
    /// that arrives later.
    pub fn push(&mut self, station: u32, at: Time, packet: T) {
        let last = &mut self.last[station as usize];
        *last = at.max(*last);
        self.heap.push(*last, packet);
    }

    /// Arrival time of the next packet; `Time::NEVER` if there is none.
    pub fn due(&self) -> Time {
        self.heap.due()
    }

    /// Removes the next packet if it has arrived by `now`.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        self.heap.pop(now)
    }
}
