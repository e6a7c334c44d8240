//! Loss of the channel: packets that no queue dropped. The channel is Gilbert's, in continuous time
//! as in a link file: all packets are lost in the bad state, none in the good one. Each packet shows
//! the state at its time, so that the likelihood is a product of transition probabilities over the
//! times between packets (the 2x2 transition counts of Hasslinger and Hohlfeld 2008, for packets that
//! are not evenly spaced). Independent losses are the limit of short bad states.

use crate::estimate::{Fitted, Status, central_95};
use crate::facts::{DirectionFacts, Outcome};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use serde::Serialize;
use std::collections::BTreeMap;

/// The evidence of channel losses.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ChannelLoss {
    /// Packets that passed the queue, those of them that were lost, and the runs of consecutive
    /// losses.
    pub packets: usize,
    pub lost: usize,
    pub bursts: usize,
    /// Time over which they passed, seconds.
    pub seconds: f64,
    /// Mean number of packets of a burst.
    pub burst_packets: Option<f64>,
    /// 2 ln of the likelihood ratio of bursts against independent losses.
    pub gain: f64,
    /// Whether losses are bursts; if not, they are independent.
    pub is_bursty: bool,
    /// The losses of a burst are at one time, as those of a queue whose service times are not known.
    pub at_once: bool,
    /// Packets that the queue dropped, where they are so many more that some of them may be taken for these.
    pub beside_drops: Option<usize>,
    /// The capture at the receiver lost as large a share of the records of its own packets.
    pub unrecorded: bool,
}

/// Share of the time in the bad state, and its mean sojourn in nanoseconds; of independent losses the
/// sojourn is bounded from above.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ChannelFit {
    pub mean: Fitted<ChannelLoss>,
    pub bad_sojourn: Option<Fitted<()>>,
}

/// Packets per octave of the time between packets, in the histogram of transitions.
const BINS_PER_OCTAVE: f64 = 32.0;
/// Points of the grid of the likelihood on each axis.
const POINTS: usize = 61;
/// Number of times that the grid is narrowed to the likely values.
const ZOOMS: usize = 3;
/// Log-likelihood below its maximum at which a value is unlikely: far beyond 95 %.
const UNLIKELY: f64 = 9.0;
/// Shortest and longest sojourn that are tried, relative to the times between packets.
const SOJOURN_RANGE: (f64, f64) = (0.05, 4.0);

/// State of the channel at each packet, as counts of transitions by the time between packets.
#[derive(Debug, Default)]
struct Transitions {
    /// From bad, to bad, bin of the time: count and sum of the times in nanoseconds.
    counts: BTreeMap<(bool, bool, i32), (f64, f64)>,
    packets: usize,
    lost: usize,
    bursts: usize,
    /// Nanoseconds from the first packet of each run to its last.
    time: f64,
    first: Vec<bool>,
}

impl Transitions {
    /// `ns_per_byte` is the service time at the link, if it is known.
    fn of(runs: &[DirectionFacts], ns_per_byte: Option<f64>) -> Transitions {
        let mut transitions = Transitions::default();
        for facts in runs {
            let Some(floor) = facts.floor() else { continue };
            let mut latest = i64::MIN;
            let mut before: Option<(i64, bool)> = None;
            for packet in &facts.packets {
                let (at, bad) = match packet.outcome {
                    Outcome::Arrived(at) => (at.max(latest), false),
                    Outcome::Lost { channel } if channel >= LIMITS.channel_probability => {
                        let service = ns_per_byte.map_or(0.0, |ns| ns * f64::from(packet.len)) as i64;
                        ((packet.sent + floor).max(latest.saturating_add(service)), true)
                    }
                    _ => continue,
                };
                latest = at;
                transitions.add(before, at, bad);
                before = Some((at, bad));
            }
        }
        transitions
    }

    fn add(&mut self, before: Option<(i64, bool)>, at: i64, bad: bool) {
        self.packets += 1;
        self.lost += usize::from(bad);
        let Some((last, was_bad)) = before else {
            self.first.push(bad);
            self.bursts += usize::from(bad);
            return;
        };
        self.bursts += usize::from(bad && !was_bad);
        let time = (at - last).max(1) as f64;
        self.time += time;
        let bin = libm::floor(libm::log2(time) * BINS_PER_OCTAVE) as i32;
        let count = self.counts.entry((was_bad, bad, bin)).or_default();
        *count = (count.0 + 1.0, count.1 + time);
    }

    /// Log-likelihood of a share of the time in the bad state and its mean sojourn in nanoseconds.
    fn log_likelihood(&self, mean: f64, sojourn: f64) -> f64 {
        let rate = 1.0 / (sojourn * (1.0 - mean));
        let first: f64 = self.first.iter().map(|&bad| if bad { mean.ln() } else { (1.0 - mean).ln() }).sum();
        let others = self.counts.iter().map(|(&(was_bad, bad, _), &(count, time))| {
            let kept = libm::exp(-rate * time / count);
            let to_bad = if was_bad { mean + (1.0 - mean) * kept } else { mean * (1.0 - kept) };
            count * (if bad { to_bad } else { 1.0 - to_bad }).max(f64::MIN_POSITIVE).ln()
        });
        first + others.sum::<f64>()
    }

    fn independent_log_likelihood(&self, mean: f64) -> f64 {
        let (lost, all) = (self.lost as f64, self.packets as f64);
        lost * mean.ln() + (all - lost) * (1.0 - mean).ln()
    }

    /// Mean time between packets in the shortest and in the longest bin, nanoseconds.
    fn time_range(&self) -> (f64, f64) {
        let times = || self.counts.values().map(|&(count, time)| time / count);
        (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max))
    }
}

/// What losses are not the channel's, as far as is known.
#[derive(Debug, Clone, Copy)]
pub struct KnownDrops {
    /// Packets that a policer may have dropped.
    pub at_policer: usize,
    /// Drops for each loss from which on these may be drops, too.
    pub for_each_loss: usize,
}

impl KnownDrops {
    /// Without the rate of the link, or where frames blur it, no backlog shows which losses were a queue's.
    pub fn of(at_policer: usize, is_backlog_known: bool) -> KnownDrops {
        KnownDrops { at_policer, for_each_loss: if is_backlog_known { LIMITS.drops_beside_loss } else { 1 } }
    }
}

/// The channel by the losses that no queue explains. `ns_per_byte`: the service time at the link, if it is known.
pub fn estimate(runs: &[DirectionFacts], ns_per_byte: Option<f64>, known: KnownDrops, draws: usize, rng: &mut Rng) -> ChannelFit {
    let transitions = Transitions::of(runs, ns_per_byte);
    let (lost, packets) = (transitions.lost as f64, transitions.packets as f64);
    let evidence = |gain: f64, is_bursty: bool| ChannelLoss {
        packets: transitions.packets,
        lost: transitions.lost,
        bursts: transitions.bursts,
        seconds: transitions.time * 1e-9,
        burst_packets: (transitions.bursts > 0).then(|| lost / transitions.bursts as f64),
        gain,
        is_bursty,
        at_once: false,
        beside_drops: None,
        unrecorded: false,
    };
    if transitions.packets == 0 {
        return ChannelFit { mean: Fitted::bounded(None, None, evidence(0.0, false)), bad_sojourn: None };
    }
    if transitions.lost == 0 {
        // The rule of three.
        return ChannelFit {
            mean: Fitted::bounded(Some(0.0), Some((3.0 / packets).min(1.0)), evidence(0.0, false)),
            bad_sojourn: None,
        };
    }
    let share = (lost / packets).min(0.99);
    let (shortest, longest) = transitions.time_range();
    let ranges = Ranges {
        mean: (libm::log(share / 8.0), libm::log((share * 8.0).min(0.999))),
        sojourn: (libm::log(shortest * SOJOURN_RANGE.0), libm::log((longest * SOJOURN_RANGE.1).max(1e9))),
    };
    let grid = LikelihoodGrid::of(ranges, &|mean, sojourn| transitions.log_likelihood(mean, sojourn));
    let gain = 2.0 * (grid.best.2 - transitions.independent_log_likelihood(share));
    let is_bursty = gain > LIMITS.chi_squared_95;
    let drops = queue_drops(runs) + known.at_policer;
    if transitions.lost * known.for_each_loss < drops {
        let evidence = ChannelLoss { beside_drops: Some(drops), ..evidence(gain, is_bursty) };
        return of_another_cause(share, &grid.draws(draws, rng), evidence);
    }
    if transitions.lost as f64 <= unrecorded(runs) {
        let evidence = ChannelLoss { unrecorded: true, ..evidence(gain, is_bursty) };
        return of_another_cause(share, &grid.draws(draws, rng), evidence);
    }
    // The losses of one burst are one event.
    let events = if is_bursty { transitions.bursts } else { transitions.lost };
    let is_identified = events >= LIMITS.min_losses;
    if !is_bursty {
        let single =
            LikelihoodGrid::of(Ranges { sojourn: (0.0, 0.0), ..ranges }, &|mean, _| transitions.independent_log_likelihood(mean));
        let [_, sojourn_hi] = central_95(&grid.draws(draws, rng).sojourns).unwrap_or([0.0; 2]);
        let mean = fitted(share, single.draws(draws, rng).means, is_identified, evidence(gain, false));
        let bad_sojourn = Fitted::bounded(None, Some(sojourn_hi), ());
        return ChannelFit { mean, bad_sojourn: Some(bad_sojourn) };
    }
    let drawn = grid.draws(draws, rng);
    let (mean, sojourn) = (grid.best.0, grid.best.1);
    if sojourn < LIMITS.min_sojourn_ns {
        // A queue may have dropped all of them.
        return of_another_cause(share, &drawn, ChannelLoss { at_once: true, ..evidence(gain, true) });
    }
    let [fewer, more] = poisson_95(transitions.bursts);
    let by_bursts =
        fitted(mean, drawn.means, is_identified, evidence(gain, true)).at_least(share * fewer, (share * more).min(1.0));
    ChannelFit {
        mean: by_bursts,
        bad_sojourn: Some(fitted(sojourn, drawn.sojourns, transitions.bursts >= LIMITS.min_bursts, ())),
    }
}

/// The channel whose losses may all have another cause: from none to as many as the draws allow.
fn of_another_cause(share: f64, drawn: &ChannelDraws, evidence: ChannelLoss) -> ChannelFit {
    let hi = central_95(&drawn.means).map_or(share, |range| range[1]).max(share);
    ChannelFit { mean: Fitted::bounded(Some(0.0), Some(hi), evidence), bad_sojourn: None }
}

/// Packets that a queue dropped.
fn queue_drops(runs: &[DirectionFacts]) -> usize {
    let is_drop = |outcome| matches!(outcome, Outcome::Lost { channel } if channel < LIMITS.channel_probability);
    runs.iter().flat_map(|facts| &facts.packets).filter(|packet| is_drop(packet.outcome)).count()
}

/// Packets whose arrivals the receiver's capture may have lost, by the records of its own packets that it lost: those
/// are lost several at a time, of one direction or the other.
fn unrecorded(runs: &[DirectionFacts]) -> f64 {
    let expected: f64 = runs.iter().map(|facts| facts.receiver_misses * facts.packets.len() as f64).sum();
    if expected > 0.0 { LIMITS.unrecorded_packets.mul_add(libm::sqrt(expected).max(1.0), expected) } else { 0.0 }
}

/// The 95 % interval of the mean of a Poisson distribution of which one value is `events`, relative to it
/// (Garwood 1936, by the cube roots of chi-squared quantiles of Wilson and Hilferty 1931).
fn poisson_95(events: usize) -> [f64; 2] {
    let quantile = |count: f64, z: f64| count * (1.0 - 1.0 / (9.0 * count) + z / (3.0 * libm::sqrt(count))).max(0.0).powi(3);
    let count = events as f64;
    [quantile(count, -LIMITS.normal_95) / count, quantile(count + 1.0, LIMITS.normal_95) / count]
}

fn fitted<E>(value: f64, draws: Vec<f64>, is_identified: bool, evidence: E) -> Fitted<E> {
    let fit = Fitted::identified(value, draws, evidence);
    if is_identified { fit } else { Fitted { status: Status::Bounded, value: None, ..fit } }
}

/// Logarithms of the values that are tried.
#[derive(Debug, Clone, Copy)]
struct Ranges {
    mean: (f64, f64),
    sojourn: (f64, f64),
}

/// The likelihood on a grid that covers its likely values.
struct LikelihoodGrid {
    /// Mean, sojourn and log-likelihood of the best point.
    best: (f64, f64, f64),
    ranges: Ranges,
    /// Log-likelihoods by mean, then by sojourn.
    values: Vec<f64>,
}

struct ChannelDraws {
    means: Vec<f64>,
    sojourns: Vec<f64>,
}

fn step((from, to): (f64, f64)) -> f64 {
    (to - from) / (POINTS - 1) as f64
}

impl LikelihoodGrid {
    fn of(mut ranges: Ranges, log_likelihood: &dyn Fn(f64, f64) -> f64) -> LikelihoodGrid {
        let mut grid = LikelihoodGrid::at(ranges, log_likelihood);
        for _ in 0..ZOOMS {
            let likely = |axis: usize, range: (f64, f64)| {
                let indexes = || {
                    grid.values
                        .iter()
                        .enumerate()
                        .filter(|(_, value)| grid.best.2 - **value < UNLIKELY)
                        .map(|(i, _)| if axis == 0 { i / POINTS } else { i % POINTS })
                };
                let (first, last) = (indexes().min().unwrap_or(0), indexes().max().unwrap_or(POINTS - 1));
                let at = |index: usize| range.0 + step(range) * index as f64;
                (at(first.saturating_sub(1)), at((last + 1).min(POINTS - 1)))
            };
            ranges = Ranges { mean: likely(0, ranges.mean), sojourn: likely(1, ranges.sojourn) };
            grid = LikelihoodGrid::at(ranges, log_likelihood);
        }
        grid
    }

    fn at(ranges: Ranges, log_likelihood: &dyn Fn(f64, f64) -> f64) -> LikelihoodGrid {
        let mut values = Vec::with_capacity(POINTS * POINTS);
        let mut best = (0.0, 0.0, f64::NEG_INFINITY);
        for i in 0..POINTS {
            let mean = libm::exp(ranges.mean.0 + step(ranges.mean) * i as f64);
            for j in 0..POINTS {
                let sojourn = libm::exp(ranges.sojourn.0 + step(ranges.sojourn) * j as f64);
                let value = log_likelihood(mean, sojourn);
                if value > best.2 {
                    best = (mean, sojourn, value);
                }
                values.push(value);
            }
        }
        LikelihoodGrid { best, ranges, values }
    }

    /// Draws in proportion to the likelihood, with logarithms uniform beforehand.
    fn draws(&self, count: usize, rng: &mut Rng) -> ChannelDraws {
        let mut sums = Vec::with_capacity(self.values.len());
        let mut sum = 0.0;
        for value in &self.values {
            sum += libm::exp(value - self.best.2);
            sums.push(sum);
        }
        let mut drawn = ChannelDraws { means: Vec::with_capacity(count), sojourns: Vec::with_capacity(count) };
        for _ in 0..count {
            let at = rng.uniform() * sum;
            let index = sums.partition_point(|&sum| sum <= at).min(sums.len() - 1);
            let mut within = |range: (f64, f64), index: usize| {
                let at = range.0 + step(range) * (index as f64 + rng.uniform() - 0.5);
                libm::exp(at.clamp(range.0, range.1))
            };
            drawn.means.push(within(self.ranges.mean, index / POINTS).min(0.999));
            drawn.sojourns.push(within(self.ranges.sojourn, index % POINTS));
        }
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::LinkPacket;

    /// Packets that pass at these times; `lost` decides.
    fn run(times: impl Iterator<Item = i64>, mut lost: impl FnMut(i64) -> bool) -> Vec<DirectionFacts> {
        let packet = |at: i64| LinkPacket {
            sent: at,
            len: 1500,
            outcome: if lost(at) { Outcome::Lost { channel: 1.0 } } else { Outcome::Arrived(at + 1) },
        };
        vec![DirectionFacts { packets: times.map(packet).collect(), ..DirectionFacts::default() }]
    }

    /// Gilbert's channel with these mean sojourns in nanoseconds.
    fn gilbert(good: f64, bad: f64, rng: &mut Rng) -> impl FnMut(i64) -> bool + '_ {
        let (mut is_bad, mut until) = (false, rng.exponential(good));
        move |at| {
            while until <= at as f64 {
                is_bad = !is_bad;
                until += rng.exponential(if is_bad { bad } else { good });
            }
            is_bad
        }
    }

    fn fitted(runs: &[DirectionFacts]) -> ChannelFit {
        estimate(runs, None, KnownDrops::of(0, true), 400, &mut Rng::for_element(5, "loss"))
    }

    /// Times with pauses, as those of a window.
    fn times(count: i64) -> impl Iterator<Item = i64> {
        (0..count).map(|i| i * 1_200_000 + i / 40 * 30_000_000)
    }

    #[test]
    fn mean_and_burst_length_are_within_their_intervals_when_losses_are_bursts() {
        let (mut means, mut sojourns) = (0, 0);
        for seed in 0..100 {
            let mut rng = Rng::for_element(seed, "channel");
            let fit = fitted(&run(times(25_000), gilbert(790e6, 10e6, &mut rng)));
            let sojourn = fit.bad_sojourn.as_ref().unwrap();
            assert!(fit.mean.evidence.is_bursty && fit.mean.evidence.bursts >= 10, "{:?}", fit.mean.evidence);
            means += usize::from(fit.mean.lo.unwrap() <= 0.0125 && 0.0125 <= fit.mean.hi.unwrap());
            sojourns += usize::from(sojourn.lo.unwrap() <= 10e6 && 10e6 <= sojourn.hi.unwrap());
        }
        assert!(means >= 85 && sojourns >= 85, "{means} and {sojourns} of 100");
    }

    #[test]
    fn losses_are_independent_when_they_are_drawn_one_by_one() {
        for seed in 0..10 {
            let mut rng = Rng::for_element(seed, "independent");
            let fit = fitted(&run(times(20_000), |_| rng.chance(0.01)));
            let (lo, hi) = (fit.mean.lo.unwrap(), fit.mean.hi.unwrap());
            assert!(lo < 0.011 && 0.009 < hi && hi - lo < 0.004, "{lo} {hi}");
            if !fit.mean.evidence.is_bursty {
                assert!(fit.bad_sojourn.unwrap().hi.unwrap() < 3e6);
            }
        }
    }

    #[test]
    fn loss_is_bounded_by_the_rule_of_three_when_nothing_was_lost() {
        let fit = fitted(&run(times(3000), |_| false));
        assert_eq!((fit.mean.value, fit.mean.lo, fit.mean.hi), (None, Some(0.0), Some(0.001)));
    }

    #[test]
    fn loss_is_bounded_when_the_losses_of_a_burst_are_at_one_time() {
        // 30 times 4 ACKs that a queue of unknown rate dropped with the one before them.
        let at = (0..12_000i64).map(|i| if i % 400 >= 396 { (i / 400 * 400 + 395) * 1_200_000 } else { i * 1_200_000 });
        let mut number = 0;
        let fit = fitted(&run(at, move |_| {
            number += 1;
            (number - 1) % 400 >= 396
        }));
        assert_eq!((fit.mean.status, fit.mean.value, fit.mean.lo), (Status::Bounded, None, Some(0.0)), "{:?}", fit.mean.evidence);
        assert!(fit.mean.evidence.at_once && fit.bad_sojourn.is_none());
    }

    #[test]
    fn loss_has_no_value_when_few_bursts_have_all_losses() {
        // 3 bursts of 30 losses each in 25,000 packets, and 40 bursts.
        let of_bursts = |count: i64| {
            let every = 25_000 / count;
            let mut number = 0;
            fitted(&run(times(25_000), move |_| {
                number += 1;
                number % every >= every - 30
            }))
            .mean
        };
        let few = of_bursts(3);
        let share = few.evidence.lost as f64 / few.evidence.packets as f64;
        assert_eq!((few.status, few.evidence.bursts), (Status::Bounded, 3), "{:?}", few.evidence);
        assert!(few.lo.unwrap() < 0.3 * share && few.hi.unwrap() > 2.5 * share, "{:?} {:?}", few.lo, few.hi);
        let many = of_bursts(40);
        assert_eq!(many.status, Status::Identified, "{:?}", many.evidence);
        assert!((many.evidence.seconds / 48.75 - 1.0).abs() < 0.02, "{:?}", many.evidence);
    }

    #[test]
    fn interval_of_a_count_is_garwoods() {
        for (events, lo, hi) in [(1, 0.025, 5.57), (3, 0.62, 8.77), (10, 4.80, 18.39), (100, 81.36, 121.63)] {
            let [fewer, more] = poisson_95(events).map(|ratio| ratio * events as f64);
            assert!((fewer - lo).abs() < 0.02 && (more - hi).abs() < 0.06, "{events}: {fewer} {more}");
        }
    }

    #[test]
    fn loss_is_bounded_when_the_queue_drops_many_more() {
        // One loss of the channel in 200 packets, and ten or five drops of the queue for each.
        let beside = |drops: i64| {
            let lost = |at: i64| at / 2_000_000 % 200 == 7;
            let mut runs = run((0..20_000).map(|i| i * 2_000_000), lost);
            for (i, packet) in runs[0].packets.iter_mut().enumerate() {
                if (20..20 + drops).contains(&(i as i64 % 200)) {
                    packet.outcome = Outcome::Lost { channel: 0.0 };
                }
            }
            runs
        };
        let with =
            |drops: i64, known: KnownDrops| estimate(&beside(drops), None, known, 400, &mut Rng::for_element(5, "loss")).mean;
        let few = with(5, KnownDrops::of(0, true));
        assert_eq!((few.status, few.evidence.lost, few.evidence.beside_drops), (Status::Identified, 100, None), "{few:?}");
        let many = with(11, KnownDrops::of(0, true));
        assert_eq!((many.status, many.lo, many.evidence.beside_drops), (Status::Bounded, Some(0.0), Some(1100)), "{many:?}");
        // Without the rate of the link, or beside what may be a policer's, fewer are too many.
        let unknown = with(5, KnownDrops::of(0, false));
        assert_eq!((unknown.status, unknown.evidence.beside_drops), (Status::Bounded, Some(500)), "{unknown:?}");
        let policed = with(5, KnownDrops::of(600, true));
        assert_eq!((policed.status, policed.evidence.beside_drops), (Status::Bounded, Some(1100)), "{policed:?}");
    }

    #[test]
    fn loss_is_bounded_when_the_receivers_capture_lost_as_many_of_its_own_packets() {
        // 20 of 20,000 packets; the receiver's capture has no record of 1 in 1,000, or 1 in 10,000, of its own.
        let with = |share: f64| {
            let mut runs = run((0..20_000).map(|i| i * 2_000_000), |at| at / 2_000_000 % 1000 == 7);
            runs[0].receiver_misses = share;
            fitted(&runs).mean
        };
        let known = with(0.0);
        assert_eq!((known.status, known.evidence.lost, known.evidence.unrecorded), (Status::Identified, 20, false), "{known:?}");
        let of_capture = with(0.001);
        assert_eq!((of_capture.status, of_capture.lo, of_capture.evidence.unrecorded), (Status::Bounded, Some(0.0), true));
        assert!(of_capture.hi.unwrap() > 0.001);
        assert_eq!(with(0.0001).status, Status::Identified);
    }

    #[test]
    fn drops_of_the_queue_are_no_channel_losses() {
        let mut runs = run(times(3000), |at| at % 7 == 0);
        for packet in &mut runs[0].packets {
            if packet.is_lost() {
                packet.outcome = Outcome::Lost { channel: 0.1 };
            }
        }
        assert_eq!(fitted(&runs).mean.evidence.lost, 0);
    }
}
