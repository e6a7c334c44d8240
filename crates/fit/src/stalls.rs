//! Times in which a link sends nothing of what waits, such as handovers: their period and length.

use crate::estimate::Fitted;
use crate::facts::DirectionFacts;
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use ackclock_core::statistics::quantile_of_sorted;
use serde::Serialize;

/// Stalls at equal times. Times in nanoseconds.
#[derive(Debug, Clone, Serialize, Document)]
pub struct PeriodicStalls {
    /// From the start of one to the start of the next.
    pub every: Fitted<()>,
    pub gap: Fitted<()>,
    /// Start of the first, after the first departure.
    pub first: f64,
    pub stalls: usize,
}

/// `service_time` is that of a packet, nanoseconds: one that began before a stall ends in it, or the first after it has its
/// own. None with fewer than `min_stalls` in a run, or with stalls at times without a period. A stall that
/// found no packets is not seen: times between stalls may be multiples of the period.
pub fn estimate(runs: &[DirectionFacts], service_time: f64, draws: usize, rng: &mut Rng) -> Option<PeriodicStalls> {
    let facts = runs.iter().max_by_key(|facts| facts.stalls.len())?;
    let start = facts.packets.first()?.sent;
    let starts: Vec<f64> = facts.stalls.iter().map(|stall| (stall.0 - start) as f64).collect();
    if starts.len() < LIMITS.min_stalls {
        return None;
    }
    let mut between: Vec<f64> = starts.windows(2).map(|w| w[1] - w[0]).collect();
    between.sort_unstable_by(f64::total_cmp);
    let shortest = quantile_of_sorted(&between, 0.25)?;
    // Ordinal numbers of the stalls, and the period by least squares over them.
    let numbers: Vec<f64> = starts.iter().map(|at| libm::round((at - starts[0]) / shortest)).collect();
    let n = starts.len() as f64;
    let (x, y) = (numbers.iter().sum::<f64>() / n, starts.iter().sum::<f64>() / n);
    let variance: f64 = numbers.iter().map(|number| (number - x).powi(2)).sum();
    let every = numbers.iter().zip(&starts).map(|(number, at)| (number - x) * (at - y)).sum::<f64>() / variance;
    let errors: f64 = numbers.iter().zip(&starts).map(|(number, at)| (at - y - every * (number - x)).powi(2)).sum();
    let deviation = libm::sqrt(errors / (n - 2.0));
    if deviation > LIMITS.max_stall_deviation * every {
        return None;
    }
    // The first packet after a stall is the end of its service.
    let mut gaps: Vec<f64> = facts.stalls.iter().map(|stall| (stall.1 - stall.0) as f64).collect();
    gaps.sort_unstable_by(f64::total_cmp);
    let gap = quantile_of_sorted(&gaps, 0.5)?;
    let error = (deviation / libm::sqrt(variance)).max(LIMITS.clock_error * every);
    let of_every = (0..draws).map(|_| rng.normal(every, error)).collect();
    let (shortest, longest) = (quantile_of_sorted(&gaps, 0.1)?, quantile_of_sorted(&gaps, 0.9)?);
    let shortest = (shortest - service_time).max(0.0);
    let of_gap = (0..draws).map(|_| shortest + rng.uniform() * (longest - shortest)).collect();
    Some(PeriodicStalls {
        every: Fitted::identified(every, of_every, ()),
        gap: Fitted::identified(gap, of_gap, ()).at_least(shortest, longest),
        first: starts[0] - every * numbers[0],
        stalls: starts.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{LinkPacket, Outcome};

    fn stalled(starts: &[i64]) -> DirectionFacts {
        DirectionFacts {
            packets: vec![LinkPacket { sent: 1_000_000_000, len: 1500, outcome: Outcome::Arrived(1_020_000_000) }],
            stalls: starts.iter().map(|ms| ((1000 + ms) * 1_000_000, (1350 + ms) * 1_000_000)).collect(),
            ..DirectionFacts::default()
        }
    }

    #[test]
    fn stalls_have_a_period_when_some_are_not_seen() {
        let found =
            estimate(&[stalled(&[4010, 8003, 12_008, 20_001, 24_006])], 3e6, 100, &mut Rng::for_element(1, "stalls")).unwrap();
        assert!((found.every.value.unwrap() / 4e9 - 1.0).abs() < 0.002, "{found:?}");
        let gap = &found.gap;
        assert!(
            (gap.value.unwrap() / 350e6 - 1.0).abs() < 0.01 && gap.lo.unwrap() <= 347e6 && gap.hi.unwrap() >= 350e6,
            "{gap:?}"
        );
        assert!((found.first / 4e9 - 1.0).abs() < 0.01);
    }

    #[test]
    fn stalls_have_no_period_when_their_times_are_random() {
        assert!(
            estimate(&[stalled(&[1000, 5400, 7100, 13_900, 15_200])], 0.0, 100, &mut Rng::for_element(1, "stalls")).is_none()
        );
    }
}
