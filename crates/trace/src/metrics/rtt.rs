//! Round-trip times as seen from the capture: a segment passes, the acknowledgement that it causes comes back.

use super::LogHistogram;
use crate::stored::stored;

/// Sample statistics, and the smoothed estimate of RFC 6298 for comparison with timers.
#[derive(Debug, Clone, Default)]
pub struct Rtt {
    min: i64,
    max: i64,
    /// Nanoseconds about the first sample, so that large offsets cost no precision.
    sum: f64,
    sum_of_squares: f64,
    histogram: LogHistogram,
    origin: f32,
    /// An estimate with a gain of an eighth is good for seven digits.
    smoothed: f32,
    deviation: f32,
}

stored!(Rtt { min, max, sum, sum_of_squares, histogram, origin, smoothed, deviation });

const _: () = assert!(size_of::<Rtt>() == 72);

impl Rtt {
    #[inline]
    pub fn add(&mut self, sample: i64) {
        let sample = sample.max(0);
        let about = sample as f32;
        if self.histogram.count() > 0 {
            self.min = self.min.min(sample);
            self.max = self.max.max(sample);
            // RFC 6298, section 2.3: gains 1/4 and 1/8, the old estimate in the deviation.
            self.deviation += ((self.smoothed - about).abs() - self.deviation) * 0.25;
            self.smoothed += (about - self.smoothed) * 0.125;
        } else {
            (self.min, self.max, self.origin) = (sample, sample, about);
            (self.smoothed, self.deviation) = (about, about / 2.0);
        }
        let off = sample as f64 - f64::from(self.origin);
        self.sum += off;
        self.sum_of_squares += off * off;
        self.histogram.add(sample as u64);
    }

    pub fn count(&self) -> u64 {
        u64::from(self.histogram.count())
    }

    /// Smallest sample in nanoseconds; none without samples.
    #[inline]
    pub fn min(&self) -> Option<i64> {
        (self.histogram.count() > 0).then_some(self.min)
    }

    pub fn max(&self) -> Option<i64> {
        (self.histogram.count() > 0).then_some(self.max)
    }

    /// Smoothed RTT and mean deviation, RFC 6298.
    #[inline]
    pub fn smoothed(&self) -> Option<(i64, i64)> {
        (self.histogram.count() > 0).then_some((self.smoothed as i64, self.deviation as i64))
    }

    #[inline]
    pub(super) fn is_above_least(&self, (above, below): (i64, i64)) -> bool {
        self.smoothed as i64 * below > self.min * above
    }

    pub fn mean(&self) -> Option<f64> {
        (self.histogram.count() > 0).then(|| f64::from(self.origin) + self.sum / f64::from(self.histogram.count()))
    }

    /// Standard deviation of a sample (over n - 1); zero for a single one.
    pub fn sd(&self) -> Option<f64> {
        let n = f64::from(self.histogram.count());
        match self.histogram.count() {
            0 => None,
            1 => Some(0.0),
            _ => Some(((self.sum_of_squares - self.sum * self.sum / n).max(0.0) / (n - 1.0)).sqrt()),
        }
    }

    pub fn quantile(&self, q: f64) -> Option<f64> {
        // A bin's edges may lie beyond what was seen.
        self.histogram.quantile(q).map(|v| v.clamp(self.min as f64, self.max as f64))
    }

    pub fn memory(&self) -> usize {
        self.histogram.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::Rtt;

    #[test]
    fn mean_and_deviation_are_those_of_the_formulas() {
        let mut rtt = Rtt::default();
        for sample in [100, 104, 96, 112] {
            rtt.add(sample * 1_000_000);
        }
        assert_eq!(rtt.mean(), Some(103e6));
        // Deviations -3, 1, -7, 9: squares 140, over 3.
        assert!((rtt.sd().unwrap() - (140.0f64 / 3.0).sqrt() * 1e6).abs() < 1.0);
        assert_eq!((rtt.min(), rtt.max()), (Some(96_000_000), Some(112_000_000)));
    }
}
