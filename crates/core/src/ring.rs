//! A FIFO ring of small `Copy` values, for packets in flight. Every hop of every packet uses one.

use std::ops::Range;

/// Doubles when full and never shrinks. The size is a power of two: an index wraps with one `and`.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    slots: Vec<T>,
    head: usize,
    len: usize,
}

impl<T: Copy> Default for Ring<T> {
    fn default() -> Ring<T> {
        Ring::new()
    }
}

impl<T: Copy> Ring<T> {
    pub const fn new() -> Ring<T> {
        Ring { slots: Vec::new(), head: 0, len: 0 }
    }

    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn slot(&self, offset: usize) -> usize {
        self.head.wrapping_add(offset) & (self.slots.len().wrapping_sub(1))
    }

    #[inline]
    pub fn front(&self) -> Option<&T> {
        if self.len == 0 { None } else { self.slots.get(self.head) }
    }

    #[inline]
    pub fn back(&self) -> Option<&T> {
        self.get(self.len.wrapping_sub(1))
    }

    /// The value `offset` places behind the front.
    #[inline]
    pub fn get(&self, offset: usize) -> Option<&T> {
        if offset < self.len { self.slots.get(self.slot(offset)) } else { None }
    }

    #[inline]
    pub fn get_mut(&mut self, offset: usize) -> Option<&mut T> {
        if offset < self.len {
            let at = self.slot(offset);
            self.slots.get_mut(at)
        } else {
            None
        }
    }

    /// The first place in `range` whose value does not satisfy `ahead`, or its end; all values that
    /// satisfy it precede all others.
    pub fn partition_point(&self, range: Range<usize>, ahead: impl Fn(&T) -> bool) -> usize {
        let (mut low, mut high) = (range.start, range.end);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&ahead) { low = middle + 1 } else { high = middle }
        }
        low
    }

    /// Inserts a value `offset` places behind the front; later values move back by one.
    pub fn insert(&mut self, offset: usize, value: T) {
        self.push_back(value);
        for at in (offset + 1..self.len).rev() {
            let (to, from) = (self.slot(at), self.slot(at - 1));
            self.slots[to] = self.slots[from];
        }
        let at = self.slot(offset.min(self.len - 1));
        self.slots[at] = value;
    }

    #[inline]
    pub fn push_back(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.grow(value);
        }
        let at = self.slot(self.len);
        self.slots[at] = value;
        self.len += 1;
    }

    /// Appends a value if there is room for it.
    #[inline]
    pub fn push_within(&mut self, value: T) -> bool {
        if self.len == self.slots.len() {
            return false;
        }
        let at = self.slot(self.len);
        self.slots[at] = value;
        self.len += 1;
        true
    }

    /// Doubles the capacity unless half of it is free; `filler` initialises the new slots.
    pub fn make_room(&mut self, filler: T) {
        if 2 * self.len >= self.slots.len() {
            self.grow(filler);
        }
    }

    /// Removes the first `n` values.
    pub fn drop_front(&mut self, n: usize) {
        let n = n.min(self.len);
        self.head = self.slot(n);
        self.len -= n;
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<T> {
        self.take_front().copied()
    }

    /// Removes the front and returns a reference to its slot, valid until the next push.
    #[inline]
    pub fn take_front(&mut self) -> Option<&T> {
        if self.len == 0 {
            return None;
        }
        let at = self.head;
        self.head = self.slot(1);
        self.len -= 1;
        self.slots.get(at)
    }

    pub fn push_front(&mut self, value: T) {
        if self.len == self.slots.len() {
            self.grow(value);
        }
        self.head = self.slot(self.slots.len() - 1);
        self.slots[self.head] = value;
        self.len += 1;
    }

    pub fn iter(&self) -> impl Iterator<Item = &T> {
        (0..self.len).map(|i| &self.slots[self.slot(i)])
    }

    /// Doubles the capacity; `filler` initialises the new slots.
    #[cold]
    fn grow(&mut self, filler: T) {
        self.slots.rotate_left(self.head);
        self.head = 0;
        self.slots.resize((2 * self.slots.len()).max(8), filler);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    #[test]
    fn partition_point_finds_the_boundary_when_the_ring_wraps() {
        let mut ring = Ring::new();
        for i in 0..100u32 {
            ring.push_back(i);
            if i % 3 == 0 {
                ring.pop_front();
            }
            let first = ring.front().copied().unwrap_or(i);
            for value in first..=i {
                assert_eq!(ring.partition_point(0..ring.len(), |&v| v < value), (value - first) as usize);
            }
        }
    }

    proptest! {
        #[test]
        fn ring_matches_vec_deque(steps in prop::collection::vec(any::<bool>(), 0..400)) {
            let (mut ring, mut model) = (Ring::new(), VecDeque::new());
            for (i, push) in steps.into_iter().enumerate() {
                if push {
                    ring.push_back(i);
                    model.push_back(i);
                } else {
                    prop_assert_eq!(ring.pop_front(), model.pop_front());
                }
                if i % 7 == 0 {
                    ring.push_front(i);
                    model.push_front(i);
                }
                if i % 6 == 0 {
                    if !ring.push_within(i) {
                        prop_assert!(ring.len().is_power_of_two() || ring.is_empty());
                        ring.make_room(i);
                        prop_assert!(ring.push_within(i));
                    }
                    model.push_back(i);
                }
                if i % 11 == 0 {
                    let n = i % 4;
                    ring.drop_front(n);
                    model.drain(..n.min(model.len()));
                }
                if i % 5 == 0 {
                    ring.insert(i % (ring.len() + 1), i);
                    model.insert(i % (model.len() + 1), i);
                }
                prop_assert_eq!((ring.len(), ring.front(), ring.back()), (model.len(), model.front(), model.back()));
                prop_assert!(ring.iter().eq(model.iter()));
                prop_assert_eq!(ring.get_mut(i).copied(), model.get(i).copied());
            }
        }
    }
}
