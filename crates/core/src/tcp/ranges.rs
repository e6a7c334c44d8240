//! A set of byte ranges, for SACKed data and for out-of-order data.

use std::collections::VecDeque;

/// Half-open, disjoint, sorted ranges that do not touch. Changes at either end are cheap, as most
/// reordering and loss is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RangeSet {
    ranges: VecDeque<(u64, u64)>,
}

impl RangeSet {
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }
    pub fn len(&self) -> usize {
        self.ranges.len()
    }
    pub fn first(&self) -> Option<(u64, u64)> {
        self.ranges.front().copied()
    }
    pub fn last(&self) -> Option<(u64, u64)> {
        self.ranges.back().copied()
    }
    pub fn clear(&mut self) {
        self.ranges.clear();
    }

    /// The range that contains `at`.
    pub fn containing(&self, at: u64) -> Option<(u64, u64)> {
        let i = self.index_of_end_above(at);
        self.ranges.get(i).copied().filter(|r| r.0 <= at)
    }

    /// The first part of [start, end) that is in the set.
    pub fn first_overlap(&self, start: u64, end: u64) -> Option<(u64, u64)> {
        let range = self.ranges.get(self.index_of_end_above(start))?;
        let part = (range.0.max(start), range.1.min(end));
        (part.0 < part.1).then_some(part)
    }

    /// Adds [start, end) and calls `fresh` with each part that is new, in order.
    pub fn insert(&mut self, start: u64, end: u64, mut fresh: impl FnMut(u64, u64)) {
        if start >= end {
            return;
        }
        // The first range that touches or follows `start`.
        let first = self.ranges.partition_point(|r| r.1 < start);
        let (mut low, mut high, mut cursor, mut last) = (start, end, start, first);
        while let Some(&(s, e)) = self.ranges.get(last).filter(|r| r.0 <= end) {
            if cursor < s {
                fresh(cursor, s);
            }
            cursor = cursor.max(e);
            low = low.min(s);
            high = high.max(e);
            last += 1;
        }
        if cursor < end {
            fresh(cursor, end);
        }
        match last - first {
            0 => self.ranges.insert(first, (low, high)),
            1 => self.ranges[first] = (low, high),
            _ => {
                self.ranges[first] = (low, high);
                self.ranges.drain(first + 1..last);
            }
        }
    }

    /// Removes everything below `edge`.
    pub fn remove_below(&mut self, edge: u64) {
        while let Some(front) = self.ranges.front_mut() {
            if front.0 >= edge {
                return;
            }
            if front.1 > edge {
                front.0 = edge;
                return;
            }
            self.ranges.pop_front();
        }
    }

    fn index_of_end_above(&self, at: u64) -> usize {
        self.ranges.partition_point(|r| r.1 <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn range_set_agrees_with_a_bitmap(adds in prop::collection::vec((0u64..60, 1u64..12), 0..40), edge in 0u64..60) {
            let mut set = RangeSet::default();
            let mut bits = [false; 80];
            for (start, len) in adds {
                set.insert(start, start + len, |s, e| {
                    for b in &mut bits[s as usize..e as usize] {
                        assert!(!*b, "a part was called fresh twice");
                        *b = true;
                    }
                });
            }
            let held: Vec<u64> = (edge..edge + 20).filter(|&at| bits[at as usize]).collect();
            let run = held.iter().zip(0..).take_while(|&(&at, n)| at == held[0] + n).count() as u64;
            prop_assert_eq!(set.first_overlap(edge, edge + 20), held.first().map(|&at| (at, at + run)));
            set.remove_below(edge);
            for (i, b) in bits.iter().enumerate() {
                prop_assert_eq!(set.containing(i as u64).is_some(), *b && i as u64 >= edge);
            }
        }
    }
}
