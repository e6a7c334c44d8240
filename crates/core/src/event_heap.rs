//! A heap of events, ordered by due time and then by insertion order.

use crate::units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

pub struct EventHeap<T> {
    heap: BinaryHeap<Reverse<HeapEntry<T>>>,
    pushed: u64,
}

struct HeapEntry<T> {
    due: Time,
    order: u64,
    what: T,
}

impl<T> EventHeap<T> {
    pub fn push(&mut self, due: Time, what: T) {
        self.heap.push(Reverse(HeapEntry { due, order: self.pushed, what }));
        self.pushed += 1;
    }

    /// Due time of the first event; `Time::NEVER` if there is none.
    #[inline]
    pub fn due(&self) -> Time {
        self.heap.peek().map_or(Time::NEVER, |Reverse(first)| first.due)
    }

    /// Removes the first event if it is due by `now`.
    pub fn pop(&mut self, now: Time) -> Option<T> {
        if self.heap.peek().is_none_or(|Reverse(first)| first.due > now) {
            return None;
        }
        self.heap.pop().map(|Reverse(first)| first.what)
    }

    pub fn len(&self) -> usize {
        self.heap.len()
    }
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl<T> Default for EventHeap<T> {
    fn default() -> EventHeap<T> {
        EventHeap { heap: BinaryHeap::new(), pushed: 0 }
    }
}

impl<T> HeapEntry<T> {
    fn rank(&self) -> (Time, u64) {
        (self.due, self.order)
    }
}

impl<T> PartialEq for HeapEntry<T> {
    fn eq(&self, other: &HeapEntry<T>) -> bool {
        self.rank() == other.rank()
    }
}

impl<T> Eq for HeapEntry<T> {}

impl<T> PartialOrd for HeapEntry<T> {
    fn partial_cmp(&self, other: &HeapEntry<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for HeapEntry<T> {
    fn cmp(&self, other: &HeapEntry<T>) -> Ordering {
        self.rank().cmp(&other.rank())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_leave_in_order_of_due_time_then_insertion() {
        let mut timed = EventHeap::default();
        for (at, name) in [(30, "d"), (10, "a"), (20, "b"), (20, "c")] {
            timed.push(Time(at), name);
        }
        assert_eq!((timed.due(), timed.pop(Time(9)), timed.len()), (Time(10), None, 4));
        let out: Vec<_> = std::iter::from_fn(|| timed.pop(Time(25))).collect();
        assert_eq!((out, timed.due()), (vec!["a", "b", "c"], Time(30)));
    }
}
