//! The summary of a sample that every document gives.

use super::quantile_of_sorted;
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// All but `count` are none without values. The unit is that of the values; documents name it at
/// the end of the field (`rtt_ms`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct SummaryStats {
    pub count: u64,
    pub min: Option<f64>,
    pub mean: Option<f64>,
    /// Standard deviation of the sample, see [`sample_sd`].
    pub sd: Option<f64>,
    /// Quantiles, see [`super::nearest_rank`].
    pub p50: Option<f64>,
    pub p95: Option<f64>,
    pub p99: Option<f64>,
    pub max: Option<f64>,
}

impl SummaryStats {
    /// The summary of values in any order.
    pub fn of(values: impl IntoIterator<Item = f64>) -> SummaryStats {
        let mut sorted: Vec<f64> = values.into_iter().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        SummaryStats::of_sorted(&sorted)
    }

    /// The summary of values in ascending order.
    pub fn of_sorted(sorted: &[f64]) -> SummaryStats {
        let count = sorted.len() as u64;
        let mean = (count > 0).then(|| sorted.iter().sum::<f64>() / count as f64);
        SummaryStats {
            count,
            min: sorted.first().copied(),
            mean,
            sd: mean.and_then(|mean| sd_of(count, sorted.iter().map(|value| (value - mean) * (value - mean)).sum())),
            p50: quantile_of_sorted(sorted, 0.50),
            p95: quantile_of_sorted(sorted, 0.95),
            p99: quantile_of_sorted(sorted, 0.99),
            max: sorted.last().copied(),
        }
    }

    /// The summary of the same values in a unit of which `per_unit` make one of the present.
    pub fn scaled(self, per_unit: f64) -> SummaryStats {
        let scale = |value: Option<f64>| value.map(|value| value * per_unit);
        SummaryStats {
            count: self.count,
            min: scale(self.min),
            mean: scale(self.mean),
            sd: scale(self.sd),
            p50: scale(self.p50),
            p95: scale(self.p95),
            p99: scale(self.p99),
            max: scale(self.max),
        }
    }

    /// None without values.
    pub fn non_empty(self) -> Option<SummaryStats> {
        (self.count > 0).then_some(self)
    }
}

/// Standard deviation of a sample of `count` values (over n - 1) with this sum and sum of squares;
/// 0 for one value, none without values.
pub fn sample_sd(count: u64, sum: f64, sum_of_squares: f64) -> Option<f64> {
    sd_of(count, (sum_of_squares - sum * sum / count as f64).max(0.0))
}

fn sd_of(count: u64, squared_deviations: f64) -> Option<f64> {
    match count {
        0 => None,
        1 => Some(0.0),
        _ => Some(libm::sqrt(squared_deviations / (count - 1) as f64)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // finding("N1")
    #[test]
    fn summary_of_1_to_100_has_nearest_ranks_and_the_sd_of_a_sample() {
        let stats = SummaryStats::of((1..=100).rev().map(f64::from));
        // The sum of squared deviations of 1 to n is n (n^2 - 1) / 12.
        let sd = (100.0 * 9999.0 / 12.0 / 99.0_f64).sqrt();
        assert_eq!((stats.count, stats.min, stats.mean, stats.max), (100, Some(1.0), Some(50.5), Some(100.0)));
        assert_eq!((stats.p50, stats.p95, stats.p99), (Some(50.0), Some(95.0), Some(99.0)));
        assert_eq!(stats.sd, Some(sd));
        let sum_of_squares = (1..=100).map(|value| f64::from(value * value)).sum();
        assert!((sample_sd(100, 5050.0, sum_of_squares).unwrap() - sd).abs() < 1e-12);
    }

    #[test]
    fn summary_of_one_value_has_no_deviation_and_of_none_no_figures() {
        let stats = SummaryStats::of([3.0]);
        assert_eq!((stats.min, stats.sd, stats.p99), (Some(3.0), Some(0.0), Some(3.0)));
        assert_eq!(SummaryStats::of([]), SummaryStats::default());
        assert_eq!((SummaryStats::of([]).non_empty(), stats.non_empty()), (None, Some(stats)));
    }

    #[test]
    fn scaled_changes_the_unit_of_all_but_the_count() {
        let stats = SummaryStats::of([1.0, 2.0, 3.0]);
        assert_eq!(stats.scaled(1e3), SummaryStats::of([1e3, 2e3, 3e3]));
    }
}
