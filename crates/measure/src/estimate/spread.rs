//! A list of numbers in a few.

use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Spread {
    pub count: usize,
    pub min: f64,
    pub mean: f64,
    pub sd: f64,
    pub p50: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Spread {
    /// None of an empty list. Quantiles are nearest ranks; the deviation is the list's own.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Spread> {
        let mut all: Vec<f64> = values.into_iter().collect();
        all.sort_unstable_by(f64::total_cmp);
        let (first, last, count) = (*all.first()?, *all.last()?, all.len());
        let mean = all.iter().sum::<f64>() / count as f64;
        let sd = (all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count as f64).sqrt();
        let at = |share: f64| all[((share * count as f64).ceil() as usize).clamp(1, count) - 1];
        Some(Spread { count, min: first, mean, sd, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_nearest_ranks() {
        let s = Spread::of((1..=100).rev().map(f64::from)).unwrap();
        assert_eq!((s.count, s.min, s.mean, s.p50, s.p95, s.p99, s.max), (100, 1.0, 50.5, 50.0, 95.0, 99.0, 100.0));
        assert_eq!(Spread::of([3.0]).unwrap().sd, 0.0);
        assert_eq!(Spread::of([]), None);
    }
}
