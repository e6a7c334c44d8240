//! A policer's rate and burst with their intervals. [`ackclock_trace::join::policer`] finds the policer;
//! rates and bursts under which hardly more packets are on the wrong side of the limit are as likely.

use crate::estimate::Fitted;
use crate::facts::{DirectionFacts, Outcome};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use ackclock_trace::join::Fate;
use ackclock_trace::join::policer::{PolicedPacket, PolicedRun, RateSplit, find, splits_at};
use serde::Serialize;

/// The evidence of a policer.
#[derive(Debug, Clone, Serialize, Document)]
pub struct PolicerEvidence {
    /// Losses of which the bucket was empty, and their runs without an arrival in between.
    pub drops: usize,
    pub runs: usize,
    /// Losses of which it was not.
    pub other_losses: usize,
    /// Packets that passed although the bucket was empty.
    pub passed: usize,
    /// Queueing delay at a nearly empty bucket, relative to that of a queue of the same rate and limit.
    pub delay_share: f64,
    /// Buckets of rates that differ by more than some percent drop the same packets.
    pub rate_is_open: bool,
    /// The burst is of so few packets that a queue drops the same ones.
    pub like_queue: bool,
}

/// A policer: bit/s and bytes.
#[derive(Debug, Clone, Serialize, Document)]
pub struct PolicerFit {
    pub rate: Fitted<()>,
    pub burst: Fitted<()>,
    pub evidence: PolicerEvidence,
}

impl PolicerFit {
    /// Its rate is known, so that packets are known to be dropped by it or by another cause.
    pub fn is_known(&self) -> bool {
        !self.evidence.rate_is_open && !self.evidence.like_queue
    }
}

/// The policer that the losses show; none if another cause explains them as well.
pub fn estimate(runs: &[DirectionFacts], draws: usize, rng: &mut Rng) -> Option<PolicerFit> {
    let runs: Vec<PolicedRun> = runs.iter().map(policed).collect();
    let found = find(&runs)?;
    let evidence = PolicerEvidence {
        drops: found.drops,
        runs: found.runs,
        other_losses: found.other_losses,
        passed: found.passed,
        delay_share: found.delay_share,
        rate_is_open: false,
        like_queue: false,
    };
    Some(fitted(&found.best, &runs, draws, rng, evidence))
}

/// The packets that a policer lets pass: the input of what follows it.
pub fn without_drops(runs: &[DirectionFacts], policer: &PolicerFit) -> Vec<DirectionFacts> {
    let (Some(rate), Some(burst)) = (policer.rate.value, policer.burst.value) else { return runs.to_vec() };
    let of_run = |facts: &DirectionFacts| {
        let dropped = policed(facts).drops(rate, burst);
        let of_passed = |index: usize| !dropped[index];
        let packets = facts.packets.iter().enumerate().filter(|(index, _)| of_passed(*index)).map(|(_, packet)| *packet);
        let flows = facts.flows.iter().enumerate().filter(|(index, _)| of_passed(*index)).map(|(_, flow)| *flow);
        DirectionFacts { packets: packets.collect(), flows: flows.collect(), ..facts.clone() }
    };
    runs.iter().map(of_run).collect()
}

fn policed(facts: &DirectionFacts) -> PolicedRun {
    let packet = |packet: &crate::facts::LinkPacket| PolicedPacket {
        at: packet.sent,
        len: packet.len,
        fate: match packet.outcome {
            Outcome::Arrived(arrival) => Fate::Arrived(arrival - packet.sent),
            Outcome::Lost { .. } => Fate::Lost,
            Outcome::Uncaptured => Fate::Uncaptured,
            Outcome::OutsideCapture => Fate::OutsideCapture,
        },
    };
    PolicedRun::new(facts.packets.iter().map(packet).collect(), facts.floor().unwrap_or(0))
}

/// The rates with hardly more packets on the wrong side, from the lowest to the highest, and the
/// bursts that each allows.
fn fitted(found: &RateSplit, runs: &[PolicedRun], draws: usize, rng: &mut Rng, evidence: PolicerEvidence) -> PolicerFit {
    let min_wrong = found.split.wrong;
    let limit = min_wrong + LIMITS.wrong_margin + libm::sqrt(min_wrong as f64) as usize;
    let wrong = |rate: f64| RateSplit::of(runs, rate, found.burst).map_or(usize::MAX, |split| split.split.wrong);
    let end = |sign: f64, limit: usize| {
        let is_good = |rate: f64| wrong(rate) <= limit;
        let mut inner = 0.0;
        let mut outer = LIMITS.clock_error / 10.0;
        while outer < 0.5 && is_good(found.rate * (1.0 + sign * outer)) {
            (inner, outer) = (outer, outer * 2.0);
        }
        for _ in 0..LIMITS.bisections {
            let middle = (inner + outer) / 2.0;
            if is_good(found.rate * (1.0 + sign * middle)) { inner = middle } else { outer = middle }
        }
        found.rate * (1.0 + sign * outer)
    };
    let (lo, hi) = (end(-1.0, limit), end(1.0, limit));
    // Of rates that are as good, the middle one has the smallest error.
    let middle = RateSplit::of(runs, (end(-1.0, min_wrong) + end(1.0, min_wrong)) / 2.0, found.burst);
    let best = middle.filter(|middle| middle.split.wrong <= min_wrong).unwrap_or(*found);
    let (rate, burst) = (best.rate * 8e9, best.split.burst());
    let points = (0..=LIMITS.policer_grid).map(|i| lo + (hi - lo) * i as f64 / LIMITS.policer_grid as f64);
    let mut good: Vec<(f64, f64, f64)> = points
        .filter_map(|rate| {
            let splits = splits_at(runs, rate, found.burst);
            let near = || splits.iter().filter(|split| split.wrong <= limit);
            let from = near().map(|split| split.from).fold(f64::INFINITY, f64::min);
            let to = near().map(|split| split.to).fold(0.0, f64::max);
            (from <= to).then_some((rate, from, to))
        })
        .collect();
    if good.is_empty() {
        good.push((found.rate, found.split.from, found.split.to));
    }
    let (mut rates, mut bursts) = (Vec::with_capacity(draws), Vec::with_capacity(draws));
    for _ in 0..draws {
        let (rate, from, to) = good[((rng.uniform() * good.len() as f64) as usize).min(good.len() - 1)];
        rates.push(rate * 8e9);
        bursts.push(from + rng.uniform() * (to - from));
    }
    let lowest = good.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
    let highest = good.iter().map(|one| one.2).fold(0.0, f64::max);
    let half = runs.iter().map(PolicedRun::half_packet).fold(0.0, f64::max);
    let rate = Fitted::identified(rate, rates, ())
        .at_least((lo * 8e9).min(rate * (1.0 - LIMITS.clock_error)), (hi * 8e9).max(rate * (1.0 + LIMITS.clock_error)));
    let evidence = PolicerEvidence {
        rate_is_open: rate.half_width() > LIMITS.max_policed_half_width,
        like_queue: burst < LIMITS.min_policer_burst,
        ..evidence
    };
    PolicerFit {
        rate,
        burst: Fitted::identified(burst, bursts, ()).at_least(lowest.min(burst - half), highest.max(burst + half)),
        evidence,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::facts::LinkPacket;
    use ackclock_trace::join::policer::Deficit;

    const MS: i64 = 1_000_000;

    /// A sender with a sawtooth window and an RTT of 40 ms, at 100 Mb/s within a window, for 20 s.
    fn sawtooth() -> impl Iterator<Item = i64> {
        (0..500i64).flat_map(|round| (0..20 + round * 7 % 160).map(move |i| round * 40 * MS + i * 120_000))
    }

    /// Through a bucket of `burst` bytes that earns `rate` bytes/s; `late` blurs the arrivals at it, a
    /// packet for which `lost` holds is lost behind it.
    fn policed(rate: f64, burst: f64, late: impl Fn(usize) -> i64, lost: impl Fn(usize) -> bool) -> DirectionFacts {
        let mut bucket = Deficit::new(rate / 1e9);
        let packets = sawtooth().enumerate().map(|(i, sent)| {
            let outcome = if bucket.level(sent + late(i), 1500) > burst {
                Outcome::Lost { channel: 0.5 }
            } else {
                bucket.take(1500);
                if lost(i) { Outcome::Lost { channel: 1.0 } } else { Outcome::Arrived(sent + late(i) + 20 * MS) }
            };
            LinkPacket { sent, len: 1500, outcome }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    fn fitted(facts: DirectionFacts) -> Option<PolicerFit> {
        estimate(&[facts], 100, &mut Rng::for_element(1, "policer"))
    }

    fn noise(i: usize) -> f64 {
        (i as f64 * 0.618_033_988_749_895).fract()
    }

    fn covers(fit: &Fitted<()>, truth: f64) -> bool {
        fit.status == Status::Identified && fit.lo.unwrap() <= truth && truth <= fit.hi.unwrap()
    }

    #[test]
    fn rate_and_burst_are_within_their_intervals_when_a_bucket_drops() {
        for (rate, burst) in [(2.5e6, 40e3), (1.25e6, 100e3), (3.0e6, 15e3), (2.0e6, 64e3)] {
            let fit = fitted(policed(rate, burst, |_| 0, |_| false)).unwrap_or_else(|| panic!("{rate} {burst}"));
            assert!(covers(&fit.rate, rate * 8.0) && covers(&fit.burst, burst), "{rate} {burst} {fit:?}");
            assert!((fit.rate.value.unwrap() / rate / 8.0 - 1.0).abs() < 0.005, "{fit:?}");
            assert!((fit.burst.value.unwrap() - burst).abs() < 1500.0, "{fit:?}");
        }
    }

    #[test]
    fn rate_is_found_when_windows_pass_far_less_on_average() {
        // Windows of 4 to 28 packets each 40 ms: 8 Mb/s at most through 20 Mb/s and 20 kB.
        let mut bucket = Deficit::new(2.5e6 / 1e9);
        let sent = (0..500i64).flat_map(|round| (0..4 + round * 7 % 25).map(move |i| round * 40 * MS + i * 120_000));
        let packets = sent.map(|sent| {
            let is_dropped = bucket.level(sent, 1500) > 20e3;
            if !is_dropped {
                bucket.take(1500);
            }
            let outcome = if is_dropped { Outcome::Lost { channel: 0.5 } } else { Outcome::Arrived(sent + 20 * MS) };
            LinkPacket { sent, len: 1500, outcome }
        });
        let fit = fitted(DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }).unwrap();
        assert!(covers(&fit.rate, 20e6) && covers(&fit.burst, 20e3), "{fit:?}");
    }

    fn blurred() -> DirectionFacts {
        policed(2.5e6, 40e3, |i| (noise(i) * 1e5) as i64, |i| i % 701 == 5)
    }

    #[test]
    fn rate_and_burst_are_near_when_arrivals_are_blurred_and_others_are_lost_as_well() {
        let fit = fitted(blurred()).unwrap();
        assert!((fit.rate.value.unwrap() / 20e6 - 1.0).abs() < 0.02, "{fit:?}");
        assert!((fit.burst.value.unwrap() - 40e3).abs() < 3000.0, "{fit:?}");
        let runs = without_drops(&[blurred()], &fit);
        let left = runs[0].packets.iter().filter(|packet| packet.is_lost()).count();
        let others = runs[0].packets.len() / 701;
        assert!(
            left.abs_diff(others) <= 6 + fit.evidence.other_losses - others.min(fit.evidence.other_losses),
            "{left} of {others}"
        );
    }

    #[test]
    fn no_policer_is_found_when_a_queue_drops_at_its_limit() {
        // The same drops, and each packet waits for the bytes before it.
        let mut bucket = Deficit::new(2.5e6 / 1e9);
        let packets = sawtooth().map(|sent| {
            let level = bucket.level(sent, 1500);
            let outcome = if level > 40e3 {
                Outcome::Lost { channel: 0.0 }
            } else {
                Outcome::Arrived(sent + 20 * MS + (level * 400.0) as i64)
            };
            if level <= 40e3 {
                bucket.take(1500);
            }
            LinkPacket { sent, len: 1500, outcome }
        });
        assert!(fitted(DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }).is_none());
    }

    #[test]
    fn no_policer_is_found_when_losses_do_not_depend_on_what_was_sent_before() {
        let mut rng = Rng::for_element(3, "loss");
        for share in [0.001, 0.01, 0.05] {
            let lost: Vec<bool> = (0..100_000).map(|_| rng.chance(share)).collect();
            assert!(fitted(policed(1e9, 1e9, |_| 0, |i| lost[i])).is_none(), "{share}");
        }
    }
}
