//! Ranges that one end has sent and the other has not acknowledged, as captured. Plain ranges are
//! delta-coded ([`DeltaQueue`]); from the first gap, SACK or retransmission on each range has a
//! record of its own, until all are plain again.

mod capture_gaps;
mod delta_queue;
mod send_space;
mod sent_range;

pub use capture_gaps::{AckedUncaptured, CaptureGap, CaptureGaps};
pub use send_space::{Placement, SendSpace};
pub use sent_range::{SackMark, SentRange, XmitOrder};

use super::seq::{seq_diff, seq_lt};
use crate::compact::compact;
use delta_queue::DeltaQueue;
use std::collections::VecDeque;

/// Maximum number of ranges: a capture in which nothing is acknowledged must not cost memory. A window
/// of 256 MB has fewer TSO segments.
const MAX_RANGES: usize = 1 << 15;

/// Ranges in the order of sequence numbers, without overlaps. Between two of them there may be a
/// gap that was not captured.
#[derive(Debug, Default)]
pub struct Outstanding {
    /// Empty while there are records.
    queue: DeltaQueue,
    records: Option<Box<Records>>,
}

compact!(Outstanding { queue, records });

#[derive(Debug, Default)]
struct Records {
    all: VecDeque<SentRange>,
    /// ACKs until the records are tested again for being plain: one per record, so that tests cost
    /// no more than ACKs do.
    until_test: u32,
}

compact!(Records { all, until_test });

impl Outstanding {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.records.as_ref().is_none_or(|r| r.all.is_empty())
    }

    /// The lowest range.
    pub fn first(&self) -> Option<SentRange> {
        match &self.records {
            Some(records) => records.all.front().copied(),
            None => self.queue.first(),
        }
    }

    /// Appends a range above all others and drops the lowest ones beyond `max_ranges`.
    #[inline]
    pub fn push(&mut self, range: SentRange, max_ranges: usize) {
        let max = max_ranges.min(MAX_RANGES);
        if self.records.is_none() {
            while self.queue.len() >= max {
                self.queue.pop();
            }
            if self.queue.push(&range) {
                return;
            }
        }
        let all = self.records();
        while all.len() >= max {
            all.pop_front();
        }
        all.push_back(range);
    }

    /// Inserts a range into the gap in which it lies. What other ranges cover stays theirs.
    pub fn insert(&mut self, mut range: SentRange) {
        let mut at = self.position_after(range.start);
        let all = self.records();
        if let Some(covering) = all.get(at).filter(|covering| !seq_lt(range.start, covering.start)) {
            range.len = range.len.saturating_sub(seq_diff(range.start, covering.end()) as u32);
            range.start = covering.end();
            at += 1;
        }
        if let Some(above) = all.get(at) {
            range.len = range.len.min(seq_diff(range.start, above.start).max(0) as u32);
        }
        if range.len > 0 && all.len() < MAX_RANGES {
            all.insert(at, range);
        }
    }

    /// The lowest range that ends above `seq`.
    pub fn first_above(&mut self, seq: u32) -> Option<&SentRange> {
        let at = self.position_after(seq);
        self.records().get(at)
    }

    /// A copy of `start..end` passes at `now`. Of a range that it covers in part (a super-segment, TSO)
    /// only that part counts as retransmitted.
    pub fn retransmit(&mut self, start: u32, end: u32, now: i64, tsval: u32, ip_id: u16) {
        self.split_at(start);
        self.split_at(end);
        let from = self.position_after(start);
        for range in self.records().iter_mut().skip(from).take_while(|range| seq_lt(range.start, end)) {
            range.transmissions = range.transmissions.saturating_add(1);
            (range.last_at, range.tsval, range.ip_id) = (now, tsval, ip_id);
        }
    }

    /// Marks what lies between `left` and `right` as SACKed, late if its last copy passed before
    /// `late_before`, and calls `on_sacked` for each range that was not.
    pub fn sack(&mut self, (left, right): (u32, u32), late_before: i64, mut on_sacked: impl FnMut(&SentRange)) {
        self.split_at(left);
        self.split_at(right);
        let from = self.position_after(left);
        for range in self.records().iter_mut().skip(from).take_while(|range| !seq_lt(right, range.end())) {
            if !range.sacked.is_sacked() && !seq_lt(range.start, left) {
                range.sacked = if range.last_at < late_before { SackMark::Late } else { SackMark::Sacked };
                on_sacked(range);
            }
        }
    }

    /// Divides the range in which `seq` lies, so that one begins there.
    fn split_at(&mut self, seq: u32) {
        let at = self.position_after(seq);
        let all = self.records();
        let has_room = all.len() < MAX_RANGES;
        let Some(range) = all.get_mut(at).filter(|range| has_room && seq_lt(range.start, seq)) else { return };
        let head = seq_diff(range.start, seq) as u32;
        let tail = SentRange { start: seq, len: range.len - head, ..*range };
        range.len = head;
        all.insert(at + 1, tail);
    }

    /// Removes the lowest range if it lies below `ack`; otherwise removes its part below `ack`.
    #[inline(always)]
    pub fn pop_acked(&mut self, ack: u32) -> Option<SentRange> {
        let Some(records) = &mut self.records else { return self.queue.pop_acked(ack) };
        let first = records.all.front_mut()?;
        if !seq_lt(ack, first.end()) {
            return records.all.pop_front();
        }
        let acked = seq_diff(first.start, ack);
        if acked > 0 {
            first.start = ack;
            first.len -= acked as u32;
        }
        None
    }

    /// The part below `ack` of the lowest range, a super-segment with a record, if `ack` ends within it.
    pub fn part_below(&self, ack: u32) -> Option<SentRange> {
        let first = self.records.as_ref()?.all.front()?;
        let is_within = seq_lt(first.start, ack) && seq_lt(ack, first.end());
        is_within.then(|| SentRange { len: seq_diff(first.start, ack) as u32, ..*first })
    }

    pub fn clear(&mut self) {
        *self = Outstanding::default();
    }

    /// After an advancing ACK: frees memory if nothing is outstanding, and delta-codes records that
    /// are all plain.
    #[inline]
    pub fn shrink(&mut self) {
        if self.records.is_some() {
            self.try_delta_code();
        } else {
            self.queue.shrink();
        }
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        let records = self.records.as_ref();
        self.queue.memory() + records.map_or(0, |r| size_of::<Records>() + r.all.capacity() * size_of::<SentRange>())
    }

    /// Index of the lowest range that ends above `seq`.
    fn position_after(&mut self, seq: u32) -> usize {
        let all = self.records();
        // Nearly always the first, the last, or above all.
        match all.front() {
            Some(first) if seq_lt(seq, first.end()) => return 0,
            None => return 0,
            _ => {}
        }
        all.partition_point(|range| seq_diff(range.end(), seq) >= 0)
    }

    fn records(&mut self) -> &mut VecDeque<SentRange> {
        let queue = &mut self.queue;
        let records = self.records.get_or_insert_with(|| {
            let mut all = VecDeque::with_capacity(queue.len() + 1);
            while let Some(range) = queue.pop() {
                all.push_back(range);
            }
            *queue = DeltaQueue::default();
            Box::new(Records { until_test: all.len() as u32, all })
        });
        &mut records.all
    }

    #[cold]
    fn try_delta_code(&mut self) {
        let Some(records) = &mut self.records else { return };
        records.until_test = records.until_test.saturating_sub(1);
        if !records.all.is_empty() && records.until_test > 0 {
            return;
        }
        records.until_test = records.all.len() as u32;
        let mut queue = DeltaQueue::default();
        if records.all.iter().all(|range| range.is_plain() && queue.push(range)) {
            (self.queue, self.records) = (queue, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(start: u32, len: u32, at: i64, tsval: u32, ip_id: u16) -> SentRange {
        SentRange { start, len, first_at: at, last_at: at, tsval, ip_id, transmissions: 1, sacked: SackMark::No }
    }

    /// An operation on a list; times in nanoseconds.
    #[derive(Debug, Clone)]
    enum Operation {
        Send { gap: u32, len: u32, after: i64, tsval: u32, id: u16 },
        Ack(u32),
        Find(u32),
    }

    fn operation() -> impl Strategy<Value = Operation> {
        let len = prop_oneof![Just(1448u32), 1u32..70_000];
        let after = prop_oneof![0i64..300, 0i64..70_000, 0i64..20_000_000, 0i64..9_000_000_000];
        let tsval = prop_oneof![Just(0u32), Just(1), 0u32..300, any::<u32>()];
        let id = prop_oneof![Just(1u16), Just(0), any::<u16>()];
        let gap = prop_oneof![20 => Just(0u32), 1 => 1u32..5000];
        prop_oneof![
            5 => (gap, len, after, tsval, id).prop_map(|(gap, len, after, tsval, id)| Operation::Send { gap, len, after, tsval, id }),
            3 => (0u32..200_000).prop_map(Operation::Ack),
            1 => (0u32..200_000).prop_map(Operation::Find),
        ]
    }

    proptest! {
        /// The model is a plain list.
        #[test]
        fn outstanding_equals_a_plain_list_after_any_operations(operations in prop::collection::vec(operation(), 0..200), origin in any::<u32>()) {
            let (mut list, mut model) = (Outstanding::default(), VecDeque::<SentRange>::new());
            let (mut next, mut una, mut now, mut tsval, mut id) = (origin, origin, 0i64, 7u32, 9u16);
            for operation in operations {
                match operation {
                    Operation::Send { gap, len, after, tsval: t, id: i } => {
                        (now, tsval, id) = (now + after, tsval.wrapping_add(t), id.wrapping_add(i));
                        let range = plain(next.wrapping_add(gap), len, now, tsval, id);
                        next = range.end();
                        list.push(range, usize::MAX);
                        model.push_back(range);
                    }
                    Operation::Ack(ahead_by) => {
                        let ack = una.wrapping_add(ahead_by.min(next.wrapping_sub(una)));
                        una = ack;
                        while model.front().is_some_and(|s| !seq_lt(ack, s.end())) {
                            prop_assert_eq!(list.pop_acked(ack), model.pop_front());
                        }
                        if let Some(first) = model.front_mut().filter(|s| seq_lt(s.start, ack)) {
                            first.len -= ack.wrapping_sub(first.start);
                            first.start = ack;
                        }
                        prop_assert_eq!(list.pop_acked(ack), None);
                        list.shrink();
                    }
                    Operation::Find(off) => {
                        let seq = una.wrapping_add(off);
                        let at = model.iter().position(|s| seq_lt(seq, s.end())).unwrap_or(model.len());
                        prop_assert_eq!(list.first_above(seq), model.get(at));
                    }
                }
                prop_assert_eq!(list.first(), model.front().copied());
                prop_assert_eq!(list.is_empty(), model.is_empty());
            }
        }
    }

    #[test]
    fn part_below_an_ack_is_that_of_a_super_segment_in_which_it_ends() {
        let mut list = Outstanding::default();
        list.push(plain(1000, 8000, 5, 0, 0), usize::MAX);
        list.retransmit(1000, 9000, 70, 0, 0);
        assert_eq!(list.part_below(4000).map(|range| (range.start, range.len, range.last_at)), Some((1000, 3000, 70)));
        assert_eq!((list.part_below(1000), list.part_below(9000)), (None, None));
    }

    // finding("C2")
    #[test]
    fn retransmission_counts_for_the_covered_part_when_a_super_segment_is_retransmitted_in_part() {
        let mut list = Outstanding::default();
        list.push(plain(1000, 8000, 5, 0, 0), usize::MAX);
        list.push(plain(9000, 1000, 6, 0, 0), usize::MAX);
        list.retransmit(3000, 5000, 70, 0, 0);
        let mut sacked = 0;
        list.sack((7000, 10_000), 6, |range| sacked += range.len);
        assert_eq!(sacked, 3000);
        let parts = std::iter::from_fn(|| list.pop_acked(10_000)).map(|r| (r.start, r.len, r.transmissions, r.last_at, r.sacked));
        let expected = [
            (1000, 2000, 1, 5, SackMark::No),
            (3000, 2000, 2, 70, SackMark::No),
            (5000, 2000, 1, 5, SackMark::No),
            (7000, 2000, 1, 5, SackMark::Late),
            (9000, 1000, 1, 6, SackMark::Sacked),
        ];
        assert_eq!(parts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn inserted_range_takes_only_what_no_other_range_covers() {
        let mut list = Outstanding::default();
        for (start, len) in [(1000, 1000), (4000, 500), (21_000, 500)] {
            list.push(plain(start, len, 5, 0, 0), usize::MAX);
        }
        // Its first byte is covered; a whole one; one that reaches into the next range; one between all.
        for (start, len) in [(4499, 1500), (1000, 900), (20_000, 9000), (6000, 1500)] {
            list.insert(plain(start, len, 6, 0, 0));
        }
        let parts = std::iter::from_fn(|| list.pop_acked(30_000)).map(|r| (r.start, r.len));
        let expected = [(1000, 1000), (4000, 500), (4500, 1499), (6000, 1500), (20_000, 1000), (21_000, 500)];
        assert_eq!(parts.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn outstanding_takes_300_bytes_when_forty_full_segments_are_in_flight() {
        let mut list = Outstanding::default();
        for i in 0..4000u32 {
            list.push(plain(i * 1448, 1448, i64::from(i) * 120_000 + i64::from(i % 7), i / 8, i as u16), usize::MAX);
            if i >= 40 {
                assert_eq!(list.pop_acked((i - 39) * 1448).map(|s| s.start), Some((i - 40) * 1448));
                list.shrink();
            }
        }
        assert!(list.memory() < 300, "{}", list.memory());
    }
}
