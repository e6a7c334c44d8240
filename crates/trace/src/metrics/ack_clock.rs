//! ACK clock: times between ACKs and segments acknowledged by each.

use super::sparse_counts::SparseCounts;
use crate::compact::compact;
use ackclock_core::statistics::{BinCounts, SummaryStats, bin_of_rank, nearest_rank, sample_sd};

/// Upper edges of the bins in milliseconds; the last bin is open. The histogram of `wimax-measured`
/// (papers/README.md, 7.6).
pub const ACK_BINS_MS: [u32; 20] = [1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600];

/// The edges in nanoseconds.
const EDGES: [i64; ACK_BINS_MS.len()] = {
    let mut edges = [0; ACK_BINS_MS.len()];
    let mut i = 0;
    while i < edges.len() {
        edges[i] = ACK_BINS_MS[i] as i64 * 1_000_000;
        i += 1;
    }
    edges
};

/// ACK compression (Zhang, Shenker and Clark 1991): ACKs count as compressed if they are closer
/// together than one in this number of the spacing of the acknowledged data.
const COMPRESSION: i64 = 4;

/// ACK statistics of one direction. Counts saturate at 2^32 - 1.
#[derive(Debug, Clone)]
pub struct AckClock {
    last_at: i64,
    /// Departure of the data that the last advancing ACK acknowledged.
    last_sent_at: i64,
    sum: f64,
    sum_of_squares: f64,
    min: i64,
    max: i64,
    /// Histogram of the gaps.
    bins: SparseCounts,
    /// Number of advancing ACKs, and of the segments that they acknowledged.
    advancing: u32,
    segments: u32,
    /// Stretch ACKs: of more than two segments (RFC 2525).
    stretched: u32,
    compressed: u32,
    comparable: u32,
}

compact!(AckClock {
    last_at,
    last_sent_at,
    sum,
    sum_of_squares,
    min,
    max,
    bins,
    advancing,
    segments,
    stretched,
    compressed,
    comparable
});

/// Time of an event that has not happened.
const NEVER: i64 = i64::MIN;

impl Default for AckClock {
    fn default() -> AckClock {
        AckClock {
            last_at: NEVER,
            last_sent_at: NEVER,
            sum: 0.0,
            sum_of_squares: 0.0,
            min: 0,
            max: 0,
            bins: SparseCounts::default(),
            advancing: 0,
            segments: 0,
            stretched: 0,
            compressed: 0,
            comparable: 0,
        }
    }
}

impl AckClock {
    /// An ACK for this direction's data passed.
    #[inline]
    pub fn on_ack(&mut self, now: i64) {
        if self.last_at != NEVER {
            let gap = (now - self.last_at).max(0);
            let at = EDGES.iter().position(|&edge| gap <= edge).unwrap_or(EDGES.len());
            (self.min, self.max) = if self.bins.total() == 0 { (gap, gap) } else { (self.min.min(gap), self.max.max(gap)) };
            self.bins.add(at as u16);
            let ms = gap as f64 * 1e-6;
            self.sum += ms;
            self.sum_of_squares += ms * ms;
        }
        self.last_at = now;
    }

    /// The ACK advanced: it acknowledged `segments` full segments, the last of which was sent at
    /// `sent_at`, `gap` after the previous advancing ACK.
    #[inline]
    pub fn on_advance(&mut self, segments: u32, sent_at: i64, gap: i64) {
        self.advancing = self.advancing.saturating_add(1);
        self.segments = self.segments.saturating_add(segments);
        self.stretched = self.stretched.saturating_add(u32::from(segments > 2));
        if self.last_sent_at != NEVER && sent_at > self.last_sent_at {
            self.comparable = self.comparable.saturating_add(1);
            self.compressed = self.compressed.saturating_add(u32::from(gap * COMPRESSION < sent_at - self.last_sent_at));
        }
        self.last_sent_at = sent_at;
    }

    pub fn count(&self) -> u64 {
        u64::from(self.bins.total())
    }

    pub fn bins(&self) -> [u32; ACK_BINS_MS.len() + 1] {
        std::array::from_fn(|bin| self.bins.count_of(bin as u16))
    }

    /// True after the first ACK.
    pub fn has_acks(&self) -> bool {
        self.last_at != NEVER || self.last_sent_at != NEVER
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.bins.memory()
    }

    /// The summary of the gaps in milliseconds.
    pub fn summary_ms(&self) -> SummaryStats {
        let count = self.count();
        if count == 0 {
            return SummaryStats::default();
        }
        SummaryStats {
            count,
            min: Some(self.min as f64 * 1e-6),
            mean: Some(self.sum / count as f64),
            sd: sample_sd(count, self.sum, self.sum_of_squares),
            p50: self.quantile_ms(0.50),
            p95: self.quantile_ms(0.95),
            p99: self.quantile_ms(0.99),
            max: Some(self.max as f64 * 1e-6),
        }
    }

    pub fn segments_per_ack(&self) -> Option<f64> {
        (self.advancing > 0).then(|| f64::from(self.segments) / f64::from(self.advancing))
    }

    pub fn stretched_share(&self) -> Option<f64> {
        (self.advancing > 0).then(|| f64::from(self.stretched) / f64::from(self.advancing))
    }

    /// Share of compressed ACKs, of the advancing ACKs of which the data was not sent at one time.
    pub fn compressed_share(&self) -> Option<f64> {
        (self.comparable > 0).then(|| f64::from(self.compressed) / f64::from(self.comparable))
    }

    /// Quantile `q` (0 to 1) in milliseconds by nearest rank. The gaps of a bin count as evenly
    /// spaced over the part of the bin between the shortest and the longest gap, as bins are up to
    /// 100 ms wide.
    pub fn quantile_ms(&self, q: f64) -> Option<f64> {
        let rank = nearest_rank(self.count(), q);
        let (bin, below, count) = bin_of_rank(self.bins.counts(), rank)?;
        let (min, max) = (self.min as f64 * 1e-6, self.max as f64 * 1e-6);
        let low = if bin == 0 { 0.0 } else { f64::from(ACK_BINS_MS[bin - 1]) }.max(min);
        let high = ACK_BINS_MS.get(bin).map_or(max, |&edge| f64::from(edge).min(max));
        Some(low + (high - low).max(0.0) * (rank - below) as f64 / count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::AckClock;

    #[test]
    fn quantiles_lie_between_min_and_max_gap() {
        let mut clock = AckClock::default();
        for i in 0..100 {
            clock.on_ack(i * 812_500);
        }
        for q in [0.01, 0.5, 0.99] {
            assert_eq!(clock.quantile_ms(q), Some(0.8125));
        }
        clock.on_ack(99 * 812_500 + 700_000_000);
        assert!((0.8125..=1.0).contains(&clock.quantile_ms(0.5).unwrap()));
        assert_eq!(clock.quantile_ms(1.0), Some(700.0));
    }
}
