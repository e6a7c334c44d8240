//! A sample of durations in constant memory.

use super::{LogBins, SummaryStats, nearest_rank, sample_sd};
use crate::units::Span;

/// Durations, kept in nanoseconds: finer than the clock of any host, and small enough for their
/// squares. Extremes and mean are exact, quantiles are those of [`LogBins`].
#[derive(Clone, Debug)]
pub struct Histogram {
    bins: LogBins,
    count: u64,
    sum: f64,
    sum_of_squares: f64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { bins: LogBins::default(), count: 0, sum: 0.0, sum_of_squares: 0.0, min: u64::MAX, max: 0 }
    }
}

const PS_PER_NS: u64 = 1000;

impl Histogram {
    #[inline]
    pub fn add(&mut self, span: Span) {
        let ns = span.0 / PS_PER_NS;
        self.count += 1;
        // Less than 2^63: a signed conversion gives the same and is one instruction.
        let x = ns as i64 as f64;
        self.sum += x;
        self.sum_of_squares += x * x;
        self.min = self.min.min(ns);
        self.max = self.max.max(ns);
        self.bins.add(ns);
    }

    /// Adds durations of 0, as [`Self::add`] does for each.
    pub fn add_zeros(&mut self, n: u64) {
        if n > 0 {
            self.count += n;
            self.min = 0;
            self.bins.add_many(0, n);
        }
    }

    /// Adds all values of another.
    pub fn merge(&mut self, other: &Histogram) {
        self.count += other.count;
        self.sum += other.sum;
        self.sum_of_squares += other.sum_of_squares;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
        self.bins.merge(&other.bins);
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn min(&self) -> Option<Span> {
        (self.count > 0).then(|| Span(self.min * PS_PER_NS))
    }

    pub fn max(&self) -> Option<Span> {
        (self.count > 0).then(|| Span(self.max * PS_PER_NS))
    }

    /// Mean in seconds.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum / self.count as f64 * 1e-9)
    }

    /// Standard deviation of the sample, in seconds.
    pub fn sd(&self) -> Option<f64> {
        sample_sd(self.count, self.sum, self.sum_of_squares).map(|ns| ns * 1e-9)
    }

    /// Quantile `q` (0 to 1) in seconds.
    pub fn quantile(&self, q: f64) -> Option<f64> {
        self.bins.quantile(q, self.min, self.max).map(|ns| ns * 1e-9)
    }

    /// Quantile `q` in seconds of these values and of `missing` ones that count as infinite (RFC
    /// 7679, section 5.1); none where it is infinite.
    pub fn quantile_with_missing(&self, q: f64, missing: u64) -> Option<f64> {
        let rank = nearest_rank(self.count + missing, q);
        self.bins.value_of_rank(rank, self.min, self.max).map(|ns| ns * 1e-9)
    }

    /// Mean in seconds of the values up to the quantile `q` by nearest rank, each as the middle of its
    /// bin; none without values.
    pub fn mean_up_to(&self, q: f64) -> Option<f64> {
        let rank = nearest_rank(self.count, q);
        (self.count > 0).then(|| self.bins.sum_to_rank(rank, self.min, self.max) / rank as f64 * 1e-9)
    }

    /// The summary in milliseconds.
    pub fn summary_ms(&self) -> SummaryStats {
        let ms = |seconds: f64| seconds * 1e3;
        SummaryStats {
            count: self.count,
            min: self.min().map(Span::as_millis),
            mean: self.mean().map(ms),
            sd: self.sd().map(ms),
            p50: self.quantile(0.50).map(ms),
            p95: self.quantile(0.95).map(ms),
            p99: self.quantile(0.99).map(ms),
            max: self.max().map(Span::as_millis),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_values_count_as_infinite_in_a_quantile() {
        let mut h = Histogram::default();
        (1..=19).for_each(|ms| h.add(Span::from_ms(ms)));
        let p95 = |missing| h.quantile_with_missing(0.95, missing).map(|s| (1e3 * s).round());
        assert_eq!([p95(0), p95(1), p95(2)], [Some(19.0), Some(19.0), None]);
        assert_eq!(h.quantile_with_missing(0.5, 19).map(|s| (1e3 * s).round()), Some(19.0));
        assert_eq!(Histogram::default().quantile_with_missing(0.95, 3), None);
    }

    #[test]
    fn mean_up_to_a_quantile_leaves_out_what_is_above_it() {
        let mut h = Histogram::default();
        (0..19).for_each(|_| h.add(Span::from_ms(100)));
        h.add(Span::from_ms(5000));
        let ms = |q| h.mean_up_to(q).map(|s| (1e3 * s).round());
        assert_eq!((ms(0.95), ms(1.0)), (Some(100.0), Some(345.0)));
        assert_eq!(Histogram::default().mean_up_to(0.95), None);
    }

    #[test]
    fn mean_and_extremes_are_exact_and_quantiles_within_a_percent() {
        let mut h = Histogram::default();
        (1..=10_000).for_each(|us| h.add(Span::from_us(us)));
        for q in [0.01, 0.5, 0.95, 0.999] {
            let quantile = h.quantile(q).unwrap();
            assert!((quantile / (q * 0.01) - 1.0).abs() < 0.01, "{q}: {quantile}");
        }
        assert!((h.mean().unwrap() - 5000.5e-6).abs() < 1e-12);
        assert_eq!((h.min(), h.max()), (Some(Span::from_us(1)), Some(Span::from_ms(10))));
    }

    // finding("N1")
    #[test]
    fn the_summary_is_that_of_the_list_of_values() {
        let mut h = Histogram::default();
        (1..=20).for_each(|ns| h.add(Span::from_ns(ns)));
        let list = SummaryStats::of((1..=20).map(f64::from)).scaled(1e-6);
        let near = |a: Option<f64>, b: Option<f64>| (a.unwrap() / b.unwrap() - 1.0).abs() < 1e-12;
        let stats = h.summary_ms();
        assert!(near(stats.p95, list.p95) && near(stats.p50, list.p50) && near(stats.p99, list.p99));
        assert!(near(stats.sd, list.sd) && near(stats.mean, list.mean));
        assert!(near(stats.min, list.min) && near(stats.max, list.max));
    }

    #[test]
    fn zeros_added_at_once_count_as_zeros_added_one_by_one() {
        let (mut at_once, mut apart) = (Histogram::default(), Histogram::default());
        for h in [&mut at_once, &mut apart] {
            h.add(Span::from_us(70));
        }
        at_once.add_zeros(0);
        assert_eq!(at_once.min(), Some(Span::from_us(70)));
        at_once.add_zeros(3);
        (0..3).for_each(|_| apart.add(Span::ZERO));
        assert_eq!(at_once.summary_ms(), apart.summary_ms());
        assert_eq!((at_once.quantile(0.7), at_once.quantile(0.8)), (apart.quantile(0.7), apart.quantile(0.8)));
    }

    #[test]
    fn an_empty_histogram_has_no_figures_and_merges_as_nothing() {
        let mut h = Histogram::default();
        assert_eq!(h.summary_ms(), SummaryStats::default());
        h.add(Span::from_us(7));
        let mut sum = h.clone();
        sum.merge(&Histogram::default());
        sum.merge(&h);
        assert_eq!((sum.count(), sum.min(), sum.max()), (2, h.min(), h.max()));
        assert_eq!(sum.quantile(0.9), h.quantile(0.9));
    }
}
