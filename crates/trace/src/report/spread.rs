//! A quantity's distribution in seven numbers, as every part of the document gives it.

use crate::metrics::{AckClock, Samples};
use serde::Serialize;

/// In the unit that the field's name ends in; all but the count are none without samples. `sd` is over n - 1.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Spread {
    pub count: u64,
    pub min: Option<f64>,
    pub mean: Option<f64>,
    pub max: Option<f64>,
    pub sd: Option<f64>,
    pub p50: Option<f64>,
    pub p95: Option<f64>,
}

const MS: f64 = 1e-6;

impl Spread {
    /// Round trips in milliseconds.
    pub fn of_rtt(samples: &Samples) -> Spread {
        let rtt = samples.statistics();
        let ms = |ns: f64| ns * MS;
        Spread {
            count: rtt.count(),
            min: rtt.min().map(super::ms),
            mean: rtt.mean().map(ms),
            max: rtt.max().map(super::ms),
            sd: rtt.sd().map(ms),
            p50: rtt.quantile(0.5).map(ms),
            p95: rtt.quantile(0.95).map(ms),
        }
    }

    /// Gaps between ACKs in milliseconds.
    pub fn of_acks(clock: &AckClock) -> Spread {
        let spread = clock.spread_ms();
        Spread {
            count: clock.count(),
            min: spread.map(|s| s[0]),
            mean: spread.map(|s| s[1]),
            max: spread.map(|s| s[2]),
            sd: spread.map(|s| s[3]),
            p50: clock.quantile_ms(0.5),
            p95: clock.quantile_ms(0.95),
        }
    }

    /// Nanoseconds in order of size, in milliseconds.
    pub fn of_sorted_ns(sorted: &[i64]) -> Spread {
        let n = sorted.len();
        let mean = (n > 0).then(|| sorted.iter().map(|&d| d as f64).sum::<f64>() / n as f64);
        let squares = mean.map(|m| sorted.iter().map(|&d| (d as f64 - m).powi(2)).sum::<f64>());
        let rank = |q: f64| sorted.get(((n as f64 * q) as usize).min(n.saturating_sub(1))).map(|&d| super::ms(d));
        Spread {
            count: n as u64,
            min: rank(0.0),
            mean: mean.map(|m| m * MS),
            max: rank(1.0),
            sd: squares.map(|s| if n > 1 { (s / (n - 1) as f64).sqrt() * MS } else { 0.0 }),
            p50: rank(0.5),
            p95: rank(0.95),
        }
    }
}
