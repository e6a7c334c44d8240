//! How many segments a paced sender lets go at once: segmentation offload cuts a chunk into segments only at the interface, so a chunk
//! leaves as a burst. Linux sizes it by the pace (`tcp_tso_autosize`): so much that the interface is not asked more than once in a
//! while, so little that a slow sender stays smooth.

use crate::units::Span;

/// Linux builds its chunks whether or not the interface can cut them: without offloads they are cut in software just before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TsoAutosize {
    /// Segments at least (`tcp_min_tso_segs`).
    pub min_segments: u32,
    /// What the pace carries in this time otherwise.
    pub time: Span,
    /// Bytes of payload at most.
    pub max_bytes: u32,
}

impl TsoAutosize {
    /// Segments of `segment` bytes in one chunk, at `rate` segments a second.
    pub fn burst(&self, rate: f64, segment: u32) -> u32 {
        let paced = libm::floor(rate * self.time.as_secs()).min(f64::from(u32::MAX)) as u32;
        paced.max(self.min_segments).min(self.max_bytes / segment.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_is_what_a_millisecond_carries_two_segments_at_least_and_64_kib_at_most() {
        let tso = TsoAutosize { min_segments: 2, time: Span::from_ms(1), max_bytes: 65_536 };
        for (rate, chunk) in [(0.0, 2), (900.0, 2), (3500.0, 3), (44_000.0, 44), (1e6, 45), (f64::INFINITY, 45)] {
            assert_eq!(tso.burst(rate, 1448), chunk, "{rate} segments a second");
        }
        assert_eq!(tso.burst(1000.0, 100_000), 1, "a segment is never cut");
    }
}
