//! Gaps: sequence numbers that were not captured although higher ones were.

use super::super::rules::RULES;
use super::super::seq::{seq_diff, seq_lt, seq_max, seq_min};
use crate::compact::compact;
use std::collections::VecDeque;

#[derive(Debug, Clone, Copy)]
pub struct CaptureGap {
    pub start: u32,
    pub end: u32,
    pub found_at: i64,
    /// TSval and IP identification of the segment after the gap.
    pub tsval: Option<u32>,
    pub ip_id: Option<u16>,
}

compact!(CaptureGap { start, end, found_at, tsval, ip_id });

impl CaptureGap {
    /// The part of `start..end` that lies in the gap.
    pub fn overlap(&self, start: u32, end: u32) -> (u32, u32) {
        (seq_max(start, self.start), seq_min(end, self.end))
    }
}

/// What an ACK acknowledged before it was captured. The order of capture is not always that of the path: it
/// may be captured just after its own ACK.
#[derive(Debug, Clone, Copy)]
pub struct AckedUncaptured {
    pub gap: CaptureGap,
    pub acked_at: i64,
    /// Data above it was captured before.
    pub was_gap: bool,
}

compact!(AckedUncaptured { gap, acked_at, was_gap });

impl AckedUncaptured {
    /// `seq` lies in it, in a packet captured so soon at `now` that its ACK was captured too early.
    pub fn has(&self, seq: u32, now: i64) -> bool {
        let is_within = !seq_lt(seq, self.gap.start) && seq_lt(seq, self.gap.end);
        is_within && now - self.acked_at <= RULES.max_capture_swap
    }
}

/// Maximum number of gaps of one direction; the oldest are dropped.
const MAX_GAPS: usize = 2048;

/// The gaps of one direction, in the order of sequence numbers.
#[derive(Debug, Default)]
pub struct CaptureGaps {
    gaps: VecDeque<CaptureGap>,
}

compact!(CaptureGaps { gaps });

impl CaptureGaps {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.gaps.is_empty()
    }

    pub fn add(&mut self, gap: CaptureGap) {
        if self.gaps.len() == MAX_GAPS {
            self.gaps.pop_front();
        }
        self.gaps.push_back(gap);
    }

    /// The gap in which `seq` lies.
    pub fn at(&self, seq: u32) -> Option<CaptureGap> {
        self.gaps.iter().find(|gap| !seq_lt(seq, gap.start) && seq_lt(seq, gap.end)).copied()
    }

    /// `start..end` is captured now.
    pub fn fill(&mut self, start: u32, end: u32) {
        let Some(i) = self.gaps.iter().position(|gap| seq_lt(start, gap.end) && seq_lt(gap.start, end)) else { return };
        let gap = self.gaps[i];
        let (is_left, is_right) = (seq_diff(gap.start, start) > 0, seq_diff(end, gap.end) > 0);
        match (is_left, is_right) {
            (false, false) => drop(self.gaps.remove(i)),
            (true, false) => self.gaps[i].end = start,
            (false, true) => self.gaps[i].start = end,
            (true, true) => {
                self.gaps[i].end = start;
                self.gaps.insert(i + 1, CaptureGap { start: end, ..gap });
            }
        }
    }

    /// The lowest gap.
    pub fn first(&self) -> Option<CaptureGap> {
        self.gaps.front().copied()
    }

    /// Drops what lies below `ack`; returns its bytes, which were never captured.
    pub fn on_acked(&mut self, ack: u32) -> u64 {
        let mut missed = 0;
        while let Some(gap) = self.gaps.front_mut().filter(|gap| seq_lt(gap.start, ack)) {
            let dropped = if seq_lt(ack, gap.end) { seq_diff(gap.start, ack) } else { seq_diff(gap.start, gap.end) };
            missed += dropped as u64;
            if seq_lt(ack, gap.end) {
                gap.start = ack;
            } else {
                self.gaps.pop_front();
            }
        }
        missed
    }

    /// Segments of `full_segment` bytes that fit into the gaps.
    pub fn segments(&self, full_segment: u32) -> u32 {
        self.gaps.iter().map(|gap| (seq_diff(gap.start, gap.end) as u32).div_ceil(full_segment.max(1))).sum()
    }

    /// The same of the gaps that begin below `seq`.
    pub fn segments_below(&self, seq: u32, full_segment: u32) -> u32 {
        let below = self.gaps.iter().take_while(|gap| seq_lt(gap.start, seq));
        below.map(|gap| (seq_diff(gap.start, gap.end) as u32).div_ceil(full_segment.max(1))).sum()
    }

    /// Frees the memory of an empty list.
    pub fn shrink(&mut self) {
        if self.gaps.is_empty() && self.gaps.capacity() > 0 {
            self.gaps = VecDeque::new();
        }
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.gaps.capacity() * size_of::<CaptureGap>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(start: u32, end: u32) -> CaptureGap {
        CaptureGap { start, end, found_at: 0, tsval: None, ip_id: None }
    }

    #[test]
    fn gap_is_split_when_its_middle_is_captured() {
        let mut gaps = CaptureGaps::default();
        gaps.add(gap(u32::MAX - 99, 400));
        gaps.fill(0, 100);
        assert_eq!(gaps.at(u32::MAX - 50).map(|gap| gap.end), Some(0));
        assert_eq!(gaps.at(150).map(|gap| (gap.start, gap.end)), Some((100, 400)));
        assert!(gaps.at(50).is_none());
        assert_eq!(gaps.segments(100), 1 + 3);
        // The ACK covers the first gap and a part of the second, which nothing ever filled.
        assert_eq!(gaps.on_acked(250), 100 + 150);
        assert_eq!(gaps.at(250).map(|gap| gap.start), Some(250));
    }
}
