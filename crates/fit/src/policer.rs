//! A policer: a token bucket without a queue. It drops a packet that finds fewer tokens than its
//! length, and delays none (Flach et al. 2016, section 3: losses at an empty bucket, none at a full
//! one, and no longer RTT before a loss). What is missing from a full bucket is a virtual backlog that
//! drains at the token rate, and the burst is its limit: the rate and the burst are those under which
//! the fewest packets are on the wrong side of the limit.

use crate::arrivals::max_throughput;
use crate::estimate::Fitted;
use crate::facts::{DirectionFacts, Outcome};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use ackclock_core::statistics::quantile_of_sorted;
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
}

/// A policer: bit/s and bytes.
#[derive(Debug, Clone, Serialize, Document)]
pub struct PolicerFit {
    pub rate: Fitted<()>,
    pub burst: Fitted<()>,
    pub evidence: PolicerEvidence,
}

/// The policer that the losses show; none if another cause explains them as well.
pub fn estimate(runs: &[DirectionFacts], draws: usize, rng: &mut Rng) -> Option<PolicerFit> {
    let lost = runs.iter().flat_map(|facts| &facts.packets).filter(|packet| packet.is_lost()).count();
    if lost < LIMITS.min_policed {
        return None;
    }
    let best = best_rate(runs)?;
    let burst = best.split.burst();
    let samples = samples(runs, best.rate, best.burst);
    let above = |sample: &&Sample| sample.level > burst;
    let dropped: Vec<&Sample> = samples.iter().filter(above).filter(|sample| sample.lost).collect();
    let passed = samples.iter().filter(above).count() - dropped.len();
    let drop_runs = samples.chunk_by(|a, b| a.lost == b.lost).filter(|run| run.iter().any(|s| s.lost && s.level > burst)).count();
    let is_step = dropped.len() >= LIMITS.min_policed
        && drop_runs >= LIMITS.min_policed_runs
        && dropped.len() as f64 >= LIMITS.min_policed_share * lost as f64
        && passed as f64 <= LIMITS.max_passed_share * dropped.len() as f64;
    let delay_share = delay_share(&samples, burst, best.rate);
    // A long burst that was used up once is a rate that fell, or other traffic that came.
    let is_once = used_up(samples.iter().map(|sample| sample.level), burst) < LIMITS.min_shaper_bursts
        && burst / best.rate > LIMITS.max_single_burst_ns;
    let waits = delay_share.abs() > LIMITS.max_policed_delay || is_queue_full_before_drops(runs, &samples, burst, best.rate);
    if !is_step || is_once || waits {
        return None;
    }
    let evidence =
        PolicerEvidence { drops: dropped.len(), runs: drop_runs, other_losses: lost - dropped.len(), passed, delay_share };
    Some(best.fitted(runs, draws, rng, evidence))
}

/// The packets that a policer lets pass: the input of what follows it.
pub fn without_drops(runs: &[DirectionFacts], policer: &PolicerFit) -> Vec<DirectionFacts> {
    let (Some(rate), Some(burst)) = (policer.rate.value, policer.burst.value) else { return runs.to_vec() };
    let of_run = |facts: &DirectionFacts| {
        let dropped_from = burst - half_packet(facts);
        let mut bucket = Deficit::new(rate / 8e9);
        let packets = facts.packets.iter().filter(|packet| {
            let level = bucket.level(packet.sent, packet.len);
            let is_dropped = packet.is_lost() && level > dropped_from;
            if !is_dropped {
                bucket.take(packet.len);
            }
            !is_dropped
        });
        DirectionFacts { packets: packets.copied().collect(), ..facts.clone() }
    };
    runs.iter().map(of_run).collect()
}

/// Number of times that the deficit, of packets in order, went from less than a quarter of the burst to
/// all of it.
pub fn used_up(levels: impl Iterator<Item = f64>, burst: f64) -> usize {
    let (mut is_full, mut count) = (false, 0);
    for level in levels {
        if level < burst / 4.0 {
            is_full = true;
        } else if is_full && level >= burst {
            (is_full, count) = (false, count + 1);
        }
    }
    count
}

/// Bursts that differ by less drop the same packets of most lengths.
fn half_packet(facts: &DirectionFacts) -> f64 {
    f64::from(facts.common_len().unwrap_or(0)) / 2.0
}

/// What is missing from a full bucket, bytes.
pub struct Deficit {
    bytes_per_ns: f64,
    bytes: f64,
    last: i64,
}

impl Deficit {
    pub fn new(bytes_per_ns: f64) -> Deficit {
        Deficit { bytes_per_ns, bytes: 0.0, last: i64::MIN }
    }

    /// The deficit if a packet of this length took its tokens at this time.
    pub fn level(&mut self, at: i64, len: u32) -> f64 {
        self.bytes = (self.bytes - at.saturating_sub(self.last).max(0) as f64 * self.bytes_per_ns).max(0.0);
        self.last = at;
        self.bytes + f64::from(len)
    }

    pub fn take(&mut self, len: u32) {
        self.bytes += f64::from(len);
    }
}

/// A packet with the deficit that it needs.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: i64,
    level: f64,
    lost: bool,
    /// Delay above the smallest, nanoseconds; 0 of a lost packet.
    delay: f64,
}

/// `rate` in bytes per nanosecond. With a known `burst`, a loss below it took its tokens: another cause
/// lost it behind the policer.
fn samples(runs: &[DirectionFacts], rate: f64, burst: Option<f64>) -> Vec<Sample> {
    let mut samples = Vec::new();
    for facts in runs {
        let floor = facts.floor().unwrap_or(0);
        let dropped_from = burst.map_or(0.0, |burst| burst - half_packet(facts));
        let mut bucket = Deficit::new(rate);
        for packet in &facts.packets {
            let level = bucket.level(packet.sent, packet.len);
            let sample = |lost, delay: i64| Sample { at: packet.sent, level, lost, delay: delay as f64 };
            match packet.outcome {
                Outcome::Arrived(arrival) => samples.push(sample(false, arrival - packet.sent - floor)),
                Outcome::Lost { .. } => {
                    samples.push(sample(true, 0));
                    if level > dropped_from {
                        continue;
                    }
                }
                Outcome::Uncaptured | Outcome::OutsideCapture => {}
            }
            bucket.take(packet.len);
        }
    }
    samples
}

/// Division of the packets by a limit of the deficit.
#[derive(Debug, Clone, Copy)]
struct Split {
    /// Packets that were lost below the limit, and those that passed above it.
    wrong: usize,
    /// The limit is between these levels.
    from: f64,
    to: f64,
}

impl Split {
    fn burst(&self) -> f64 {
        (self.from + self.to) / 2.0
    }
}

/// Levels from the lowest of a loss, and the highest below it, descending.
fn upper_levels(samples: &[Sample]) -> Vec<(f64, bool)> {
    let lowest = samples.iter().filter(|sample| sample.lost).map(|sample| sample.level).fold(f64::INFINITY, f64::min);
    let below = samples.iter().map(|sample| sample.level).filter(|level| *level < lowest).fold(0.0, f64::max);
    let upper = samples.iter().filter(|sample| sample.level >= lowest).map(|sample| (sample.level, sample.lost));
    let mut levels: Vec<(f64, bool)> = upper.chain([(below, false)]).collect();
    levels.sort_unstable_by(|a, b| b.0.total_cmp(&a.0));
    levels
}

/// The divisions by each limit between two levels, from the highest limit.
fn splits(samples: &[Sample]) -> Vec<Split> {
    let levels = upper_levels(samples);
    let mut wrong = levels.iter().filter(|level| level.1).count();
    let mut splits = Vec::with_capacity(levels.len());
    for pair in levels.windows(2) {
        wrong = if pair[0].1 { wrong - 1 } else { wrong + 1 };
        splits.push(Split { wrong, from: pair[1].0, to: pair[0].0 });
    }
    splits
}

/// A rate in bytes per nanosecond with its best limit.
#[derive(Debug, Clone, Copy)]
struct RateSplit {
    rate: f64,
    /// By which losses of other causes are known.
    burst: Option<f64>,
    split: Split,
}

impl RateSplit {
    fn of(runs: &[DirectionFacts], rate: f64, burst: Option<f64>) -> Option<RateSplit> {
        let split = splits(&samples(runs, rate, burst)).into_iter().min_by_key(|split| split.wrong)?;
        Some(RateSplit { rate, burst, split })
    }

    /// The best one of `steps` to either side.
    fn around(self, runs: &[DirectionFacts], step: f64) -> Option<RateSplit> {
        let side = LIMITS.policer_side;
        let rates = (-side..=side).map(|i| self.rate * (1.0 + step * f64::from(i)));
        let found: Vec<RateSplit> = rates.filter_map(|rate| RateSplit::of(runs, rate, self.burst)).collect();
        let min_wrong = found.iter().map(|one| one.split.wrong).min()?;
        // The middle one of equals.
        let equal: Vec<RateSplit> = found.into_iter().filter(|one| one.split.wrong == min_wrong).collect();
        equal.get(equal.len() / 2).copied()
    }

    /// The rates with hardly more packets on the wrong side, from the lowest to the highest, and the
    /// bursts that each allows.
    fn fitted(&self, runs: &[DirectionFacts], draws: usize, rng: &mut Rng, evidence: PolicerEvidence) -> PolicerFit {
        let min_wrong = self.split.wrong;
        let limit = min_wrong + LIMITS.wrong_margin + libm::sqrt(min_wrong as f64) as usize;
        let wrong = |rate: f64| RateSplit::of(runs, rate, self.burst).map_or(usize::MAX, |found| found.split.wrong);
        let end = |sign: f64, limit: usize| {
            let is_good = |rate: f64| wrong(rate) <= limit;
            let mut inner = 0.0;
            let mut outer = LIMITS.clock_error / 10.0;
            while outer < 0.5 && is_good(self.rate * (1.0 + sign * outer)) {
                (inner, outer) = (outer, outer * 2.0);
            }
            for _ in 0..LIMITS.bisections {
                let middle = (inner + outer) / 2.0;
                if is_good(self.rate * (1.0 + sign * middle)) { inner = middle } else { outer = middle }
            }
            self.rate * (1.0 + sign * outer)
        };
        let (lo, hi) = (end(-1.0, limit), end(1.0, limit));
        // Of rates that are as good, the middle one has the smallest error.
        let middle = RateSplit::of(runs, (end(-1.0, min_wrong) + end(1.0, min_wrong)) / 2.0, self.burst);
        let best = middle.filter(|middle| middle.split.wrong <= min_wrong).unwrap_or(*self);
        let (rate, burst) = (best.rate * 8e9, best.split.burst());
        let points = (0..=LIMITS.policer_grid).map(|i| lo + (hi - lo) * i as f64 / LIMITS.policer_grid as f64);
        let mut good: Vec<(f64, f64, f64)> = points
            .filter_map(|rate| {
                let splits = splits(&samples(runs, rate, self.burst));
                let near = || splits.iter().filter(|split| split.wrong <= limit);
                let from = near().map(|split| split.from).fold(f64::INFINITY, f64::min);
                let to = near().map(|split| split.to).fold(0.0, f64::max);
                (from <= to).then_some((rate, from, to))
            })
            .collect();
        if good.is_empty() {
            good.push((self.rate, self.split.from, self.split.to));
        }
        let (mut rates, mut bursts) = (Vec::with_capacity(draws), Vec::with_capacity(draws));
        for _ in 0..draws {
            let (rate, from, to) = good[((rng.uniform() * good.len() as f64) as usize).min(good.len() - 1)];
            rates.push(rate * 8e9);
            bursts.push(from + rng.uniform() * (to - from));
        }
        let lowest = good.iter().map(|one| one.1).fold(f64::INFINITY, f64::min);
        let highest = good.iter().map(|one| one.2).fold(0.0, f64::max);
        let half = runs.iter().map(half_packet).fold(0.0, f64::max);
        PolicerFit {
            rate: Fitted::identified(rate, rates, ())
                .at_least((lo * 8e9).min(rate * (1.0 - LIMITS.clock_error)), (hi * 8e9).max(rate * (1.0 + LIMITS.clock_error))),
            burst: Fitted::identified(burst, bursts, ()).at_least(lowest.min(burst - half), highest.max(burst + half)),
            evidence,
        }
    }
}

/// The rate under which the fewest packets are on the wrong side.
fn best_rate(runs: &[DirectionFacts]) -> Option<RateSplit> {
    let mut found: Vec<RateSplit> = candidates(runs).into_iter().filter_map(|rate| RateSplit::of(runs, rate, None)).collect();
    found.sort_by_key(|one| one.split.wrong);
    let [first, others @ ..] = LIMITS.policer_steps;
    let near = found.iter().take(LIMITS.policer_refined).filter_map(|one| one.around(runs, first));
    let mut best = near.min_by_key(|one| one.split.wrong)?;
    for step in others {
        best.burst = Some(best.split.burst());
        best = best.around(runs, step)?;
    }
    Some(best)
}

/// Candidates of the rate, bytes per nanosecond: those between two losses, and a grid up to the largest
/// throughput.
fn candidates(runs: &[DirectionFacts]) -> Vec<f64> {
    let mut rates = between_losses(runs);
    let max = runs.iter().filter_map(max_throughput).fold(0.0, f64::max) / 8e9;
    rates.extend((0..LIMITS.policer_candidates).map(|i| max * libm::pow(LIMITS.policer_ratio, -(i as f64) + 5.0)));
    rates
}

/// Rates in bytes per nanosecond, ascending: what passed between two losses. The bucket
/// was as empty at both, so that as much came in, unless it was full in between.
fn between_losses(runs: &[DirectionFacts]) -> Vec<f64> {
    let mut rates = Vec::new();
    for facts in runs {
        // Time of each loss, and the bytes that passed before it.
        let mut bytes = 0.0;
        let mut losses: Vec<(i64, f64)> = Vec::new();
        for packet in &facts.packets {
            if packet.is_lost() {
                losses.push((packet.sent, bytes));
            } else {
                bytes += f64::from(packet.len);
            }
        }
        let common = f64::from(facts.common_len().unwrap_or(0));
        let mut lag = 1;
        while lag < losses.len() {
            rates.extend(losses.iter().zip(&losses[lag..]).filter_map(|(before, after)| {
                let (passed, time) = (after.1 - before.1, after.0 - before.0);
                (passed >= LIMITS.min_between_losses * common && time > 0).then(|| passed / time as f64)
            }));
            lag *= 2;
        }
    }
    rates.sort_unstable_by(f64::total_cmp);
    let last = rates.len().saturating_sub(1);
    let count = LIMITS.policer_candidates.min(rates.len());
    (0..count).map(|i| rates[last * i / count.max(2).saturating_sub(1)]).collect()
}

/// Queueing delay from a nearly full bucket to a nearly empty one, relative to that of a queue of this
/// rate (bytes per nanosecond) whose backlog is the deficit.
fn delay_share(samples: &[Sample], burst: f64, rate: f64) -> f64 {
    let median = |is_in: &dyn Fn(f64) -> bool| {
        let part = || samples.iter().filter(|sample| !sample.lost && is_in(sample.level));
        let sorted = |of: fn(&Sample) -> f64| {
            let mut values: Vec<f64> = part().map(of).collect();
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let (delays, levels) = (sorted(|sample| sample.delay), sorted(|sample| sample.level));
        (delays.len() >= LIMITS.min_floor_packets).then(|| (quantile_of_sorted(&delays, 0.5), quantile_of_sorted(&levels, 0.5)))
    };
    let Some((Some(high), Some(high_level))) = median(&|level| level >= burst / 2.0) else { return f64::INFINITY };
    let (low, low_level) = match median(&|level| level < burst / 4.0) {
        Some((Some(low), Some(level))) => (low, level),
        _ => (0.0, 0.0),
    };
    (high - low) * rate / (high_level - low_level)
}

/// True if packets wait before a drop, about as long as packets ever wait: a queue was full, behind a
/// token bucket or at a rate that changed.
fn is_queue_full_before_drops(runs: &[DirectionFacts], samples: &[Sample], burst: f64, rate: f64) -> bool {
    let packet = 2.0 * runs.iter().map(half_packet).fold(0.0, f64::max);
    let (before, longest) = delay_before_drops(samples, burst);
    let is_full = before > LIMITS.min_full_wait * longest || before * rate > LIMITS.min_full_wait * burst;
    before * rate > LIMITS.max_policed_wait * packet && is_full
}

/// Median delay of the packets that arrived last before the first drops of an overflow, and the 99 %
/// quantile of all delays.
fn delay_before_drops(samples: &[Sample], burst: f64) -> (f64, f64) {
    let mut last = i64::MIN;
    let mut before = Vec::new();
    for pair in samples.windows(2).filter(|w| w[1].lost && w[1].level > burst) {
        if !pair[0].lost && pair[1].at.saturating_sub(last) > LIMITS.overflow_ns {
            before.push(pair[0].delay);
        }
        last = pair[1].at;
    }
    let quantile = |mut delays: Vec<f64>, q| {
        delays.sort_unstable_by(f64::total_cmp);
        quantile_of_sorted(&delays, q).unwrap_or(0.0)
    };
    let all = samples.iter().filter(|sample| !sample.lost).map(|sample| sample.delay).collect();
    (quantile(before, 0.5), quantile(all, 0.99))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::facts::LinkPacket;

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
