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
    /// Loss rate of the shortest queueing delays: not the queue's.
    pub rate_background: f64,
    /// Loss rates below `min_wait`, and from it on.
    pub rate_below: f64,
    pub rate_above: f64,
    /// Likelihood ratio statistic (2 ln) against a constant loss rate.
    pub gain: f64,
}

impl LossThreshold {
    /// Probability that a loss at this queueing delay is not the queue's.
    pub fn other_cause(&self, wait: i64) -> f64 {
        let rate = if wait >= self.min_wait { self.rate_above } else { self.rate_below };
        if rate > 0.0 { (self.rate_background / rate).min(1.0) } else { 1.0 }
    }
}

/// Minimum gain of a step at the best of many positions.
const MIN_GAIN_SEARCHED: f64 = 10.0;
/// Minimum gain of a step at a position that is known beforehand.
const MIN_GAIN_KNOWN: f64 = 4.0;
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
    let search = StepSearch::of(samples.iter().map(|sample| (sample.at, sample.wait, sample.lost)));
    if search.lost == 0 {
        return None;
    }
    let mut accepted: Vec<i64> = samples.iter().filter(|c| !c.lost).map(|c| c.wait).collect();
    accepted.sort_unstable();
    let top = *accepted.get(accepted.len().saturating_sub(1 + accepted.len() / OUTLIERS))?;
    let full = service_time.map(|time| top - (FULL * time) as i64);
    if let Some(step) =
        full.and_then(|from| at(&search, from)).filter(|s| s.gain >= MIN_GAIN_KNOWN || is_always_full(&search, *s))
    {
        return Some(step);
    }
    let best = search.best().filter(|step| step.gain >= MIN_GAIN_SEARCHED)?;
    at(&search, best.from)
}

/// True if nearly all packets waited as long.
fn is_always_full(search: &StepSearch, step: LossThreshold) -> bool {
    search.between(step.min_wait, i64::MAX).all as f64 >= ALWAYS_FULL * search.sorted.len() as f64
}

/// Packets sorted by a level (a queueing delay, a backlog), with the losses up to each.
#[derive(Debug)]
pub struct StepSearch {
    /// Level, and number of losses before it in this order.
    sorted: Vec<(i64, u32)>,
    lost: u32,
    /// Losses in one bin count as one event.
    weight: f64,
}

/// A step in the loss rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Minimum level of the higher loss rate.
    pub from: i64,
    /// Likelihood ratio statistic (2 ln) against a constant loss rate.
    pub gain: f64,
}

/// Packets and losses of a range of levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelCounts {
    pub all: usize,
    pub lost: u32,
}

impl LevelCounts {
    pub fn rate(self) -> f64 {
        f64::from(self.lost) / self.all.max(1) as f64
    }
}

impl StepSearch {
    /// `samples`: departure, level, and whether the packet was lost.
    pub fn of(samples: impl Iterator<Item = (i64, i64, bool)>) -> StepSearch {
        let mut bins = BTreeSet::new();
        let mut levels: Vec<(i64, bool)> = samples
            .map(|(at, level, lost)| {
                if lost {
                    bins.insert(at.div_euclid(BIN));
                }
                (level, lost)
            })
            .collect();
        levels.sort_unstable();
        let mut count = 0;
        let sorted = levels
            .iter()
            .map(|&(level, lost)| {
                let before = count;
                count += u32::from(lost);
                (level, before)
            })
            .collect();
        StepSearch { sorted, lost: count, weight: bins.len() as f64 / f64::from(count.max(1)) }
    }

    fn position(&self, level: i64) -> usize {
        self.sorted.partition_point(|s| s.0 < level)
    }

    fn lost_before(&self, position: usize) -> u32 {
        self.sorted.get(position).map_or(self.lost, |s| s.1)
    }

    /// The packets with levels from `from` on and below `to`.
    pub fn between(&self, from: i64, to: i64) -> LevelCounts {
        let (first, last) = (self.position(from), if to == i64::MAX { self.sorted.len() } else { self.position(to) });
        LevelCounts { all: last.saturating_sub(first), lost: self.lost_before(last).saturating_sub(self.lost_before(first)) }
    }

    /// The step at this level; none if the loss rate from it on is not higher.
    pub fn at(&self, from: i64) -> Option<Step> {
        self.at_position(self.position(from))
    }

    fn at_position(&self, position: usize) -> Option<Step> {
        let (all, lost) = (self.sorted.len() as f64, f64::from(self.lost));
        let (n_below, lost_below) = (position as f64, f64::from(self.lost_before(position)));
        let (n_above, lost_above) = (all - n_below, lost - lost_below);
        if lost_above * n_below <= lost_below * n_above {
            return None;
        }
        let gain = log_likelihood(lost_below, n_below) + log_likelihood(lost_above, n_above) - log_likelihood(lost, all);
        Some(Step { from: self.sorted.get(position)?.0, gain: 2.0 * self.weight * gain })
    }

    /// The step with the largest gain at any level.
    pub fn best(&self) -> Option<Step> {
        let starts = (1..self.sorted.len()).filter(|&i| self.sorted[i].0 != self.sorted[i - 1].0);
        starts.filter_map(|i| self.at_position(i)).max_by(|a, b| a.gain.total_cmp(&b.gain))
    }
}

/// The step at this queueing delay; none if the loss rate above it is not higher.
fn at(search: &StepSearch, from: i64) -> Option<LossThreshold> {
    let step = search.at(from)?;
    let (below, above) = (search.between(i64::MIN, from), search.between(from, i64::MAX));
    let (all, lost_all) = (search.sorted.len(), f64::from(search.lost));
    let shortest = ((EXPECTED_LOSSES * all as f64 / lost_all) as usize).clamp(1, below.all.max(1));
    // Many waits are equal, in particular zero.
    let shortest = search.between(i64::MIN, search.sorted[shortest - 1].0 + 1);
    let rate_background = below.rate().min(shortest.rate());
    Some(LossThreshold {
        min_wait: step.from,
        rate_background,
        rate_below: below.rate(),
        rate_above: above.rate(),
        gain: step.gain,
    })
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
        assert!(step.min_wait >= 88_000_000 && step.rate_background == 0.0, "{step:?}");
        assert_eq!(find(&packets(|i, _| i % 97 == 0), None), None);
        assert_eq!(find(&packets(|_, _| false), None), None);
    }

    #[test]
    fn background_losses_are_those_expected_at_short_waits() {
        let step = find(&packets(|i, wait| wait >= 90_000_000 && i % 2 == 0 || i % 41 == 0), None).unwrap();
        // One in 41 of 4000.
        assert!((4000.0 * step.rate_background - 97.0).abs() < 40.0, "{step:?}");
    }
}
