//! Responsiveness under load in round trips per minute (draft-ietf-ippm-responsiveness), and the grade
//! of the delay that load adds.

use crate::statistics::nearest_rank;

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
    fn grade_changes_at_its_bound() {
        assert_eq!([0.0, 5.0, 29.9, 30.0, 60.0, 200.0, 400.0].map(added_delay_grade), ["A+", "A", "A", "B", "C", "D", "F"]);
    }
}
