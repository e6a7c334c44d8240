//! RTT statistics between capture point and receiver: from a segment to its ACK.

use super::sparse_counts::SparseCounts;
use crate::compact::compact;
use ackclock_core::statistics::{LogBins, SummaryStats, sample_sd};

/// Statistics of the samples, and SRTT and RTTVAR (RFC 6298) for comparison with timers.
#[derive(Debug, Clone, Default)]
pub struct RttStats {
    min: i64,
    max: i64,
    /// Sums in nanoseconds relative to the first sample, for precision.
    sum: f64,
    sum_of_squares: f64,
    bins: LogBins<SparseCounts>,
    origin: f32,
    /// SRTT; seven digits suffice.
    smoothed: f32,
    deviation: f32,
}

compact!(RttStats { min, max, sum, sum_of_squares, bins, origin, smoothed, deviation });

#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<RttStats>() == 72);

impl RttStats {
    #[inline]
    pub fn add(&mut self, sample: i64) {
        let sample = sample.max(0);
        let about = sample as f32;
        if self.bins.counts().total() > 0 {
            self.min = self.min.min(sample);
            self.max = self.max.max(sample);
            // RFC 6298, section 2.3: gains 1/4 and 1/8; RTTVAR uses the old SRTT.
            self.deviation += ((self.smoothed - about).abs() - self.deviation) * 0.25;
            self.smoothed += (about - self.smoothed) * 0.125;
        } else {
            (self.min, self.max, self.origin) = (sample, sample, about);
            (self.smoothed, self.deviation) = (about, about / 2.0);
        }
        let off = sample as f64 - f64::from(self.origin);
        self.sum += off;
        self.sum_of_squares += off * off;
        self.bins.add(sample as u64);
    }

    pub fn count(&self) -> u64 {
        u64::from(self.bins.counts().total())
    }

    /// Minimum in nanoseconds; none without samples.
    #[inline]
    pub fn min(&self) -> Option<i64> {
        (self.bins.counts().total() > 0).then_some(self.min)
    }

    #[inline]
    pub fn max(&self) -> Option<i64> {
        (self.bins.counts().total() > 0).then_some(self.max)
    }

    /// SRTT and RTTVAR (RFC 6298), nanoseconds.
    #[inline]
    pub fn smoothed(&self) -> Option<(i64, i64)> {
        (self.bins.counts().total() > 0).then_some((self.smoothed as i64, self.deviation as i64))
    }

    #[inline]
    pub(super) fn is_srtt_above_min(&self, (numerator, denominator): (i64, i64)) -> bool {
        self.smoothed as i64 * denominator > self.min * numerator
    }

    pub fn mean(&self) -> Option<f64> {
        (self.bins.counts().total() > 0).then(|| f64::from(self.origin) + self.sum / f64::from(self.bins.counts().total()))
    }

    /// Standard deviation of the samples in nanoseconds.
    pub fn sd(&self) -> Option<f64> {
        sample_sd(self.count(), self.sum, self.sum_of_squares)
    }

    /// Quantile `q` (0 to 1) in nanoseconds.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.bins.quantile(q, self.min as u64, self.max as u64)
    }

    /// The summary in nanoseconds.
    pub fn summary(&self) -> SummaryStats {
        SummaryStats {
            count: self.count(),
            min: self.min().map(|ns| ns as f64),
            mean: self.mean(),
            sd: self.sd(),
            p50: self.quantile(0.50),
            p95: self.quantile(0.95),
            p99: self.quantile(0.99),
            max: self.max().map(|ns| ns as f64),
        }
    }

    pub fn memory(&self) -> usize {
        self.bins.counts().memory()
    }
}

#[cfg(test)]
mod tests {
    use super::RttStats;

    #[test]
    fn mean_and_sd_equal_the_formulas() {
        let mut rtt = RttStats::default();
        for sample in [100, 104, 96, 112] {
            rtt.add(sample * 1_000_000);
        }
        assert_eq!(rtt.mean(), Some(103e6));
        // Deviations -3, 1, -7, 9: squares 140, over 3.
        assert!((rtt.sd().unwrap() - (140.0f64 / 3.0).sqrt() * 1e6).abs() < 1.0);
        assert_eq!((rtt.min(), rtt.max()), (Some(96_000_000), Some(112_000_000)));
    }
}
