//! The ACK clock: how far apart the acknowledgements pass, and how much each one covers.

use super::sparse_counts::SparseCounts;
use crate::compact::compact;
use ackclock_core::statistics::{BinCounts, SummaryStats, bin_of_rank, nearest_rank, sample_sd};

/// Upper edges of the bins in milliseconds, a last one is open: `wimax-measured`'s histogram
/// (papers/README.md, 7.6).
pub const ACK_BINS_MS: [u32; 20] = [1, 2, 3, 4, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100, 200, 300, 400, 500, 600];

/// The same in nanoseconds.
const EDGES: [i64; ACK_BINS_MS.len()] = {
    let mut edges = [0; ACK_BINS_MS.len()];
    let mut i = 0;
    while i < edges.len() {
        edges[i] = ACK_BINS_MS[i] as i64 * 1_000_000;
        i += 1;
    }
    edges
};

/// Two ACKs of data that was sent further apart than they arrive were pushed together on their way
/// (Zhang, Shenker and Clark 1991). Counted as compressed when they come in less than this share of
/// the spacing of what they acknowledge.
const COMPRESSED: i64 = 4;

/// Counts are held at 2^32 - 1.
#[derive(Debug, Clone)]
pub struct AckClock {
    last_at: i64,
    /// When what the last advancing ACK covered had been sent.
    last_sent_at: i64,
    sum: f64,
    sum_of_squares: f64,
    min: i64,
    max: i64,
    /// Of the gaps, by the number of the bin.
    bins: SparseCounts,
    /// ACKs that brought news, and the segments they covered.
    advancing: u32,
    segments: u32,
    /// More than two segments' worth (RFC 2525, stretch ACKs).
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

/// In the place of a time: there was none yet.
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

    /// It covered something new: `segments` full ones' worth, the last of which had been sent at
    /// `sent_at`; `gap` since the advancing ACK before it.
    #[inline]
    pub fn on_advance(&mut self, segments: u32, sent_at: i64, gap: i64) {
        self.advancing = self.advancing.saturating_add(1);
        self.segments = self.segments.saturating_add(segments);
        self.stretched = self.stretched.saturating_add(u32::from(segments > 2));
        if self.last_sent_at != NEVER && sent_at > self.last_sent_at {
            self.comparable = self.comparable.saturating_add(1);
            self.compressed = self.compressed.saturating_add(u32::from(gap * COMPRESSED < sent_at - self.last_sent_at));
        }
        self.last_sent_at = sent_at;
    }

    pub fn count(&self) -> u64 {
        u64::from(self.bins.total())
    }

    pub fn bins(&self) -> [u32; ACK_BINS_MS.len() + 1] {
        std::array::from_fn(|bin| self.bins.count_of(bin as u16))
    }

    /// An ACK has passed.
    pub fn has_acks(&self) -> bool {
        self.last_at != NEVER || self.last_sent_at != NEVER
    }

    /// Bytes held beside itself.
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

    /// Of the advancing ACKs whose data had left one after another: those that came closer together
    /// than a quarter of that.
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
    fn no_percentile_lies_below_the_least_gap_or_above_the_longest() {
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
