//! Queueing delay from which on packets are dropped more often: a single step in the loss rate, by
//! maximum likelihood.

use super::loss_bursts::BIN;
use std::collections::BTreeSet;

/// A packet of which the fate is known.
#[derive(Debug, Clone, Copy)]
pub struct WaitSample {
    /// Departure time, nanoseconds.
    pub at: i64,
    /// Queueing delay, nanoseconds.
    pub wait: i64,
    pub lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossThreshold {
    /// Minimum queueing delay of the higher loss rate, nanoseconds.
    pub min_wait: i64,
    pub lost_above: u32,
    /// Expected losses of all packets at the loss rate of short queueing delays.
    pub background_losses: f64,
    /// Likelihood ratio statistic (2 ln) against a constant loss rate.
    pub gain: f64,
}

/// Minimum gain of a step at the best of many positions.
const MIN_GAIN_SEARCHED: f64 = 10.0;
/// Minimum gain of a step at a position that is known beforehand.
const MIN_GAIN_KNOWN: f64 = 4.0;
/// Number of positions tried.
const POSITIONS: usize = 64;
/// A full droptail queue accepts no packet: the maximum wait of an accepted packet is at most this
/// many service times below the wait at a drop.
const FULL: f64 = 1.5;
/// One packet in this number may have an outlying delay.
const OUTLIERS: usize = 1000;
/// Share of packets at a full queue from which there are no shorter waits to compare with.
const ALWAYS_FULL: f64 = 0.95;

/// The link's own loss rate is that at the shortest waits, where an AQM drops little. The number of
/// packets considered there is that with this many losses at the mean loss rate.
const EXPECTED_LOSSES: f64 = 5.0;

/// `service_time` is that of a packet at the bottleneck if arrivals are regular: a full queue is
/// then known to the packet.
pub fn find(samples: &[WaitSample], service_time: Option<f64>) -> Option<LossThreshold> {
    let lost = samples.iter().filter(|c| c.lost).count();
    let bins: BTreeSet<i64> = samples.iter().filter(|c| c.lost).map(|c| c.at.div_euclid(BIN)).collect();
    // Losses in one bin count as one event.
    let weight = bins.len() as f64 / lost.max(1) as f64;
    let mut sorted: Vec<(i64, bool)> = samples.iter().map(|c| (c.wait, c.lost)).collect();
    sorted.sort_unstable();
    let accepted: Vec<i64> = sorted.iter().filter(|c| !c.1).map(|c| c.0).collect();
    let top = *accepted.get(accepted.len().saturating_sub(1 + accepted.len() / OUTLIERS))?;
    if lost == 0 {
        return None;
    }
    let full = service_time.map(|time| top - (FULL * time) as i64);
    if let Some(step) =
        full.and_then(|from| at(&sorted, from, weight)).filter(|s| s.gain >= MIN_GAIN_KNOWN || is_always_full(&sorted, *s))
    {
        return Some(step);
    }
    let stride = (lost / POSITIONS).max(1);
    let positions = sorted.iter().filter(|c| c.1).map(|c| c.0).step_by(stride);
    let best = positions.filter_map(|from| at(&sorted, from, weight)).max_by(|a, b| a.gain.total_cmp(&b.gain))?;
    (best.gain >= MIN_GAIN_SEARCHED).then_some(best)
}

/// True if nearly all packets waited as long.
fn is_always_full(sorted: &[(i64, bool)], step: LossThreshold) -> bool {
    let above = sorted.len() - sorted.partition_point(|c| c.0 < step.min_wait);
    above as f64 >= ALWAYS_FULL * sorted.len() as f64
}

/// The step at this queueing delay; none if the loss rate above it is not higher.
fn at(sorted: &[(i64, bool)], from: i64, weight: f64) -> Option<LossThreshold> {
    let edge = sorted.partition_point(|c| c.0 < from);
    let lost = |part: &[(i64, bool)]| part.iter().filter(|c| c.1).count() as f64;
    let (below, above) = sorted.split_at(edge);
    let (lost_below, lost_above) = (lost(below), lost(above));
    let (n_below, n_above) = (below.len() as f64, above.len() as f64);
    if lost_above * n_below <= lost_below * n_above {
        return None;
    }
    let gain = log_likelihood(lost_below, n_below) + log_likelihood(lost_above, n_above)
        - log_likelihood(lost_below + lost_above, n_below + n_above);
    let (all, lost_all) = (n_below + n_above, lost_below + lost_above);
    let shortest = ((EXPECTED_LOSSES * all / lost_all) as usize).clamp(1, edge);
    // Many waits are equal, in particular zero.
    let shortest = sorted.partition_point(|c| c.0 <= sorted[shortest - 1].0);
    let at_shortest = lost(&sorted[..shortest]) / shortest as f64;
    let background_losses = ((lost_below / n_below).min(at_shortest) * all).min(lost_all);
    Some(LossThreshold { min_wait: from, lost_above: lost_above as u32, background_losses, gain: 2.0 * weight * gain })
}

/// Maximum log-likelihood of `lost` losses among `all` packets.
fn log_likelihood(lost: f64, all: f64) -> f64 {
    let term = |k: f64| if k > 0.0 { k * (k / all).ln() } else { 0.0 };
    term(lost) + term(all - lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet every 10 ms with queueing delays between 0 and 99 ms.
    fn packets(lost: impl Fn(usize, i64) -> bool) -> Vec<WaitSample> {
        let wait = |i: usize| (i * 37 % 100) as i64 * 1_000_000;
        (0..4000).map(|i| WaitSample { at: i as i64 * 10_000_000, wait: wait(i), lost: lost(i, wait(i)) }).collect()
    }

    #[test]
    fn find_returns_a_threshold_only_when_losses_depend_on_wait() {
        let step = find(&packets(|i, wait| wait >= 90_000_000 && i % 4 == 0), None).unwrap();
        assert!(step.min_wait >= 88_000_000 && step.background_losses == 0.0, "{step:?}");
        assert_eq!(find(&packets(|i, _| i % 97 == 0), None), None);
        assert_eq!(find(&packets(|_, _| false), None), None);
    }

    #[test]
    fn background_losses_are_those_expected_at_short_waits() {
        let step = find(&packets(|i, wait| wait >= 90_000_000 && i % 2 == 0 || i % 41 == 0), None).unwrap();
        // One in 41 of 4000.
        assert!((step.background_losses - 97.0).abs() < 40.0, "{step:?}");
    }
}
