//! Number of segments and confidence by kind.

use super::super::classify::SegmentKind;
use crate::compact::compact;

/// Most directions have none, one or two kinds.
#[derive(Debug, Clone, Default)]
pub struct KindCounts {
    counts: Box<[KindCount]>,
}

compact!(KindCounts { counts });

#[derive(Debug, Clone, Copy)]
struct KindCount {
    kind: SegmentKind,
    segments: u32,
    /// Sum over the segments.
    confidence: f32,
}

compact!(KindCount { kind, segments, confidence });

impl KindCounts {
    /// Adds a packet worth `segments` full segments (a TSO segment is worth several).
    pub(super) fn add(&mut self, kind: SegmentKind, confidence: f32, segments: u32) {
        let weight = confidence * segments as f32;
        match self.counts.iter_mut().find(|count| count.kind == kind) {
            Some(count) => {
                count.segments = count.segments.saturating_add(segments);
                count.confidence += weight;
            }
            None => {
                let new = KindCount { kind, segments, confidence: weight };
                self.counts = self.counts.iter().copied().chain([new]).collect();
            }
        }
    }

    fn find(&self, kind: SegmentKind) -> Option<&KindCount> {
        self.counts.iter().find(|count| count.kind == kind)
    }

    /// Removes segments whose classification is revised.
    pub(super) fn remove(&mut self, kind: SegmentKind, confidence: f32, segments: u32) {
        if let Some(count) = self.counts.iter_mut().find(|count| count.kind == kind) {
            count.segments = count.segments.saturating_sub(segments);
            count.confidence -= confidence * segments as f32;
        }
    }

    pub fn count(&self, kind: SegmentKind) -> u32 {
        self.find(kind).map_or(0, |count| count.segments)
    }

    /// Mean confidence; none without segments.
    pub fn confidence(&self, kind: SegmentKind) -> Option<f32> {
        self.find(kind).filter(|count| count.segments > 0).map(|count| count.confidence / count.segments as f32)
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        size_of_val(&*self.counts)
    }
}
