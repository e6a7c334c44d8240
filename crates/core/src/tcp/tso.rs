//! TSO autosizing (Linux `tcp_tso_autosize`): how many segments a paced sender sends back to back.
//! Offloading splits a burst into segments at the interface, so they leave together. The size
//! follows the pacing rate: large enough to spare the host work, small enough for smooth sending.

use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Linux builds bursts with and without offloading; without it they are split in software before
/// the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TsoAutosize {
    /// Minimum of segments (`tcp_min_tso_segs`).
    #[serde(rename = "segments")]
    pub min_segments: u32,
    /// Above the minimum: what the pacing rate carries in this time.
    #[serde(rename = "time_ps")]
    pub time: Span,
    /// Maximum of payload bytes.
    #[serde(rename = "most")]
    pub max_bytes: u32,
}

impl TsoAutosize {
    /// Segments of `segment` bytes in a burst, at `rate` segments per second.
    pub fn burst(&self, rate: f64, segment: u32) -> u32 {
        self.burst_with(rate, segment, 0)
    }

    /// As `burst`, with `more` bytes beside what the rate carries.
    pub fn burst_with(&self, rate: f64, segment: u32, more: u32) -> u32 {
        let more = f64::from(more) / f64::from(segment.max(1));
        let paced = libm::floor(rate * self.time.as_secs() + more).min(f64::from(u32::MAX)) as u32;
        paced.max(self.min_segments).min(self.max_bytes / segment.max(1)).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burst_is_a_millisecond_at_the_rate_within_two_segments_and_64_kib() {
        let tso = TsoAutosize { min_segments: 2, time: Span::from_ms(1), max_bytes: 65_536 };
        for (rate, chunk) in [(0.0, 2), (900.0, 2), (3500.0, 3), (44_000.0, 44), (1e6, 45), (f64::INFINITY, 45)] {
            assert_eq!(tso.burst(rate, 1448), chunk, "{rate} segments a second");
        }
        assert_eq!(tso.burst(1000.0, 100_000), 1, "a segment is never cut");
    }
}
