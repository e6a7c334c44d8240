//! From which wait on packets are lost more often: one step in the loss rate, where it makes the losses most likely.

use super::loss_bursts::BIN;
use std::collections::BTreeSet;

/// A packet whose fate is known.
#[derive(Debug, Clone, Copy)]
pub struct WaitSample {
    /// Time of sending and wait, nanoseconds.
    pub at: i64,
    pub wait: i64,
    pub lost: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LossThreshold {
    /// The wait from which more is lost.
    pub from: i64,
    pub lost_above: u32,
    /// What the rate at short waits would lose of all packets.
    pub anywhere: f64,
    /// Twice the gain of the logarithm of the likelihood over one rate for all.
    pub gain: f64,
}

/// Twice the gain of the logarithm of the likelihood that makes a step one: at a place sought among many, and at one known beforehand.
const SOUGHT: f64 = 10.0;
const GIVEN: f64 = 4.0;
/// Places tried.
const PLACES: usize = 64;
/// Where a droptail queue drops it never takes a packet: the longest wait of one that it took is this many packets' times below at most.
const FULL: f64 = 1.5;
/// One late packet in a thousand does not make the range.
const LATE: usize = 1000;
/// Nearly all packets met a full queue: there is no wait to compare with.
const ALWAYS: f64 = 0.95;

/// At the shortest waits the loss rate is the link's own: a managed queue drops little there. So many packets are looked at as would have this many
/// losses if waits did not matter.
const EXPECTED: f64 = 5.0;

/// `usual` is a packet's time on the bottleneck, where its arrivals are even: then a full queue is known to the packet.
pub fn find(cases: &[WaitSample], usual: Option<f64>) -> Option<LossThreshold> {
    let lost = cases.iter().filter(|c| c.lost).count();
    let bins: BTreeSet<i64> = cases.iter().filter(|c| c.lost).map(|c| c.at.div_euclid(BIN)).collect();
    // Fates close together are one event and not so many.
    let weight = bins.len() as f64 / lost.max(1) as f64;
    let mut sorted: Vec<(i64, bool)> = cases.iter().map(|c| (c.wait, c.lost)).collect();
    sorted.sort_unstable();
    let taken: Vec<i64> = sorted.iter().filter(|c| !c.1).map(|c| c.0).collect();
    let top = *taken.get(taken.len().saturating_sub(1 + taken.len() / LATE))?;
    if lost == 0 {
        return None;
    }
    let full = usual.map(|time| top - (FULL * time) as i64);
    if let Some(step) = full.and_then(|from| at(&sorted, from, weight)).filter(|s| s.gain >= GIVEN || always(&sorted, *s)) {
        return Some(step);
    }
    let stride = (lost / PLACES).max(1);
    let places = sorted.iter().filter(|c| c.1).map(|c| c.0).step_by(stride);
    let best = places.filter_map(|from| at(&sorted, from, weight)).max_by(|a, b| a.gain.total_cmp(&b.gain))?;
    (best.gain >= SOUGHT).then_some(best)
}

/// Whether nearly all waits are as long.
fn always(sorted: &[(i64, bool)], step: LossThreshold) -> bool {
    let above = sorted.len() - sorted.partition_point(|c| c.0 < step.from);
    above as f64 >= ALWAYS * sorted.len() as f64
}

/// A step at this wait; none if less is lost above.
fn at(sorted: &[(i64, bool)], from: i64, weight: f64) -> Option<LossThreshold> {
    let edge = sorted.partition_point(|c| c.0 < from);
    let lost = |part: &[(i64, bool)]| part.iter().filter(|c| c.1).count() as f64;
    let (below, above) = sorted.split_at(edge);
    let (lost_below, lost_above) = (lost(below), lost(above));
    let (n_below, n_above) = (below.len() as f64, above.len() as f64);
    if lost_above * n_below <= lost_below * n_above {
        return None;
    }
    let gain = likely(lost_below, n_below) + likely(lost_above, n_above) - likely(lost_below + lost_above, n_below + n_above);
    let (all, lost_all) = (n_below + n_above, lost_below + lost_above);
    let shortest = ((EXPECTED * all / lost_all) as usize).clamp(1, edge);
    // Many waits are alike, most of all those of nothing.
    let shortest = sorted.partition_point(|c| c.0 <= sorted[shortest - 1].0);
    let at_shortest = lost(&sorted[..shortest]) / shortest as f64;
    let anywhere = ((lost_below / n_below).min(at_shortest) * all).min(lost_all);
    Some(LossThreshold { from, lost_above: lost_above as u32, anywhere, gain: 2.0 * weight * gain })
}

/// Logarithm of the greatest likelihood of so many losses among so many.
fn likely(lost: f64, all: f64) -> f64 {
    let term = |k: f64| if k > 0.0 { k * (k / all).ln() } else { 0.0 };
    term(lost) + term(all - lost)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A packet every 10 ms whose wait goes up and down between 0 and 99 ms.
    fn packets(lost: impl Fn(usize, i64) -> bool) -> Vec<WaitSample> {
        let wait = |i: usize| (i * 37 % 100) as i64 * 1_000_000;
        (0..4000).map(|i| WaitSample { at: i as i64 * 10_000_000, wait: wait(i), lost: lost(i, wait(i)) }).collect()
    }

    #[test]
    fn losses_at_long_waits_make_a_step_and_losses_at_any_wait_none() {
        let step = find(&packets(|i, wait| wait >= 90_000_000 && i % 4 == 0), None).unwrap();
        assert!(step.from >= 88_000_000 && step.anywhere == 0.0, "{step:?}");
        assert_eq!(find(&packets(|i, _| i % 97 == 0), None), None);
        assert_eq!(find(&packets(|_, _| false), None), None);
    }

    #[test]
    fn what_is_lost_at_short_waits_too_is_taken_off() {
        let step = find(&packets(|i, wait| wait >= 90_000_000 && i % 2 == 0 || i % 41 == 0), None).unwrap();
        // One in 41 of 4000.
        assert!((step.anywhere - 97.0).abs() < 40.0, "{step:?}");
    }
}
