//! Interval of a proportion of correlated events.

use ackclock_contract::Document;
use serde::Serialize;

/// Standard deviations that contain 95 % of a normal distribution.
const Z: f64 = 1.959_964;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Document)]
pub struct Proportion {
    pub rate: f64,
    pub lo: f64,
    pub hi: f64,
}

/// Proportion of `true` with Wilson's 95 % interval (JASA 1927). Correlated losses count as fewer
/// independent ones: with lag-one correlation r, n events count as n (1 - r) / (1 + r), as in a
/// two-state chain (Gilbert 1960).
pub fn wilson_interval(events: &[bool]) -> Option<Proportion> {
    let n = events.len() as f64;
    let p = events.iter().filter(|e| **e).count() as f64 / n;
    if events.is_empty() {
        return None;
    }
    let r = correlation(events, p).clamp(0.0, 0.999);
    let n = (n * (1.0 - r) / (1.0 + r)).max(1.0);
    let (middle, spread) = (p + Z * Z / (2.0 * n), Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt());
    let scale = 1.0 + Z * Z / n;
    // At both ends the difference is 0 but for its rounding.
    let lo = if p > 0.0 { (middle - spread) / scale } else { 0.0 };
    let hi = if p < 1.0 { (middle + spread) / scale } else { 1.0 };
    Some(Proportion { rate: p, lo, hi })
}

/// Lag-one autocorrelation.
fn correlation(events: &[bool], p: f64) -> f64 {
    let variance = p * (1.0 - p);
    if variance <= 0.0 || events.len() < 2 {
        return 0.0;
    }
    let off = |e: bool| f64::from(u8::from(e)) - p;
    events.windows(2).map(|w| off(w[0]) * off(w[1])).sum::<f64>() / (events.len() - 1) as f64 / variance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_is_wilsons_when_events_are_independent() {
        // 10 of 100, evenly spaced: 0.0552 to 0.1744 (Newcombe 1998, method 3).
        let events: Vec<bool> = (0..100).map(|i| i % 10 == 5).collect();
        let s = wilson_interval(&events).unwrap();
        assert!((s.lo - 0.0552).abs() < 1e-4 && (s.hi - 0.1744).abs() < 1e-4, "{s:?}");
    }

    #[test]
    fn interval_begins_at_zero_when_nothing_was_lost_and_ends_at_one_when_all_was() {
        for count in [1, 7, 199, 253, 1000] {
            let [none, all] = [false, true].map(|lost| wilson_interval(&vec![lost; count]).unwrap());
            assert!(none.lo == 0.0 && all.hi == 1.0 && none.hi < 1.0 && all.lo > 0.0, "{none:?} {all:?}");
        }
    }

    #[test]
    fn interval_is_wider_when_the_losses_are_a_burst() {
        let alone: Vec<bool> = (0..1000).map(|i| i % 50 == 7).collect();
        let burst: Vec<bool> = (0..1000).map(|i| (500..520).contains(&i)).collect();
        let (alone, burst) = (wilson_interval(&alone).unwrap(), wilson_interval(&burst).unwrap());
        assert_eq!(alone.rate, burst.rate);
        assert!(burst.hi - burst.lo > 3.0 * (alone.hi - alone.lo));
    }

    #[test]
    fn interval_has_an_upper_bound_above_zero_when_no_event_occurs() {
        let s = wilson_interval(&[false; 300]).unwrap();
        assert_eq!(s.rate, 0.0);
        assert!(s.lo < 1e-12 && (0.005..0.02).contains(&s.hi), "{s:?}");
        assert_eq!(wilson_interval(&[]), None);
    }
}
