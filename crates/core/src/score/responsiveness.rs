//! Responsiveness under load in round trips per minute (draft-ietf-ippm-responsiveness-08), and the grade
//! of the delay that load adds.

use crate::statistics::{Histogram, nearest_rank};
use crate::units::Span;
use ackclock_contract::Document;
use serde::Serialize;

/// Samples above this quantile are trimmed, as in the draft.
const TRIM: f64 = 0.95;

/// Bounds of the added delay in milliseconds, each with the grade below it (DSLReports, FAQ 17930,
/// "Bufferbloat Grades"). The FAQ grades a mean, this the 95th percentile.
const GRADES: [(f64, &str); 5] = [(5.0, "A+"), (30.0, "A"), (60.0, "B"), (200.0, "C"), (400.0, "D")];

/// Mean of the samples up to the 95th percentile. None without samples.
pub fn trimmed_mean(values: &[f64]) -> Option<f64> {
    let mut all = values.to_vec();
    all.sort_unstable_by(f64::total_cmp);
    let kept = nearest_rank(all.len() as u64, TRIM) as usize;
    (kept > 0).then(|| all[..kept].iter().sum::<f64>() / kept as f64)
}

/// What load does to round trips beside it and on it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Document)]
pub struct LoadedRoundTrips {
    /// Round trips per minute.
    pub rpm: f64,
    /// Mean RTT of sparse packets beside the load, up to its 95th percentile.
    pub beside_load_ms: f64,
    /// The same of the connections of the load.
    pub on_load_ms: f64,
    /// 95th percentile of the sparse packets' RTT, less the RTT without load.
    pub added_p95_ms: f64,
    #[document(names("A+", "A", "B", "C", "D", "F"))]
    pub grade: &'static str,
}

impl LoadedRoundTrips {
    /// From the RTTs of sparse packets, those of the load, and that of a packet without load. None
    /// without samples.
    pub fn of(beside: &Histogram, on_load: &Histogram, idle: Span) -> Option<LoadedRoundTrips> {
        let mean_ms = |rtts: &Histogram| rtts.mean_up_to(TRIM).map(|seconds| 1e3 * seconds);
        let (beside_load_ms, on_load_ms) = (mean_ms(beside)?, mean_ms(on_load)?);
        let added_p95_ms = (1e3 * beside.quantile(0.95)? - idle.as_millis()).max(0.0);
        let rpm = round_trips_per_minute(beside_load_ms, on_load_ms)?;
        Some(LoadedRoundTrips { rpm, beside_load_ms, on_load_ms, added_p95_ms, grade: added_delay_grade(added_p95_ms) })
    }
}

/// Round trips per minute: 60,000 ms over the mean of two RTTs in milliseconds, that of new connections
/// beside the load and that on the load. None if the mean is 0.
pub fn round_trips_per_minute(beside_load_ms: f64, on_load_ms: f64) -> Option<f64> {
    let mean = (beside_load_ms + on_load_ms) / 2.0;
    (mean > 0.0).then(|| 60_000.0 / mean)
}

/// The grade of the 95th percentile of the RTT under load above the RTT without load, in milliseconds.
pub fn added_delay_grade(added_ms: f64) -> &'static str {
    GRADES.iter().find(|(bound, _)| added_ms < *bound).map_or("F", |(_, grade)| grade)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trimmed_mean_leaves_out_what_is_above_the_95th_percentile() {
        let mut values = vec![100.0; 19];
        values.push(5000.0);
        assert_eq!(trimmed_mean(&values), Some(100.0));
        assert_eq!(trimmed_mean(&[]), None);
    }

    #[test]
    fn rpm_is_600_at_100_ms() {
        assert_eq!(round_trips_per_minute(100.0, 100.0), Some(600.0));
        assert_eq!(round_trips_per_minute(0.0, 0.0), None);
    }

    #[test]
    fn load_is_rated_by_round_trips_beside_it_and_on_it() {
        let all = |ms: u64| {
            let mut rtts = Histogram::default();
            (0..40).for_each(|_| rtts.add(Span::from_ms(ms)));
            rtts
        };
        let found = LoadedRoundTrips::of(&all(50), &all(150), Span::from_ms(20)).expect("samples");
        assert!((found.rpm - 600.0).abs() < 5.0, "{found:?}");
        assert_eq!((found.added_p95_ms.round(), found.grade), (30.0, "B"));
        assert_eq!(LoadedRoundTrips::of(&all(50), &Histogram::default(), Span::ZERO), None);
        // A load that adds nothing.
        assert_eq!(LoadedRoundTrips::of(&all(20), &all(20), Span::from_ms(20)).expect("samples").grade, "A+");
    }

    #[test]
    fn grade_changes_at_its_bound() {
        assert_eq!([0.0, 5.0, 29.9, 30.0, 60.0, 200.0, 400.0].map(added_delay_grade), ["A+", "A", "A", "B", "C", "D", "F"]);
    }
}
