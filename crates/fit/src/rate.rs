//! Rate of a link that was busy: bytes over time of consecutive arrivals, or the mode of the service
//! times where most of them agree (Dovrolis, Ramanathan and Moore 2004 on packet dispersion). The
//! interval is that of a bootstrap of blocks: neighbouring gaps are not independent.

use crate::arrivals::{BusyGap, busy_periods, busy_runs, carried, max_carried, max_throughput};
use crate::estimate::Fitted;
use crate::facts::DirectionFacts;
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use serde::Serialize;

/// How a rate was estimated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Document)]
#[serde(rename_all = "kebab-case")]
pub enum RateMethod {
    /// The mode of the service times.
    Mode,
    /// Bytes over time while the link was busy.
    Mean,
    /// Delays of packets of different sizes.
    Size,
    /// The largest throughput that was seen: a lower bound.
    Throughput,
}

/// The evidence of a rate.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ServiceRate {
    pub method: RateMethod,
    /// Gaps between arrivals while the link was busy, and their time in seconds.
    pub gaps: usize,
    pub busy_s: f64,
    /// Share of the gaps in the mode.
    pub mode_share: f64,
    /// Rate of the mode over the mean rate, less 1: time in which the busy link served others.
    #[document(nullable)]
    pub mode_above_mean: f64,
    /// Coefficient of variation of the blocks' rates, if it is more than the noise of the gaps.
    pub variation: Option<f64>,
    /// Coefficient of variation of the blocks' own modes, if most blocks have one and they differ: the
    /// rate changes in steps.
    pub steps: Option<f64>,
    /// Bursts alone passed at this rate, bit/s: much less was seen over the window of throughputs.
    pub bursts: Option<f64>,
    /// Rate of the busy link, bit/s, of which more passed over a second: it has no one rate.
    pub contradicted: Option<f64>,
    /// Rate of the service times, bit/s, of a link that serves others as well: its mean is what was left.
    pub own: Option<f64>,
    /// Rate of one link, bit/s, that takes as long for a byte as all links of the path together.
    pub all_links: Option<f64>,
    /// Lengths of packets of which the delays were compared.
    pub lens: Vec<u32>,
}

impl ServiceRate {
    pub fn without_queue(method: RateMethod, lens: Vec<u32>) -> ServiceRate {
        ServiceRate {
            method,
            gaps: 0,
            busy_s: 0.0,
            mode_share: 0.0,
            mode_above_mean: 0.0,
            variation: None,
            steps: None,
            bursts: None,
            contradicted: None,
            own: None,
            all_links: None,
            lens,
        }
    }
}

/// Bytes and nanoseconds of a block of gaps: of all, and of those in the mode.
#[derive(Debug, Clone, Copy, Default)]
struct BlockSums {
    all: (f64, f64),
    mode: (f64, f64),
}

/// The rate in bit/s of a link while it was busy. `margin` is the time for which packets must have
/// waited, nanoseconds. Without enough gaps what was carried bounds it from below.
pub fn estimate(runs: &[DirectionFacts], margin: i64, draws: usize, rng: &mut Rng) -> Fitted<ServiceRate> {
    let by_arrivals = |min_run: usize| -> Vec<BusyGap> {
        let of_run = |facts: &DirectionFacts| Some(busy_runs(facts, facts.floor()?, margin, min_run));
        runs.iter().filter_map(of_run).flatten().flatten().collect()
    };
    let gaps = by_arrivals(LIMITS.min_run);
    if gaps.len() < LIMITS.min_busy_gaps {
        let gaps = by_arrivals(LIMITS.min_mode_run);
        if gaps.len() >= LIMITS.min_busy_gaps {
            let rates = BlockRates::of(&gaps);
            if rates.is_mode {
                return rates.fitted(draws, rng);
            }
        }
        let seen = max_carried(runs);
        return Fitted::bounded(seen, None, ServiceRate::without_queue(RateMethod::Throughput, Vec::new()));
    }
    let first = BlockRates::of(&gaps);
    if first.is_mode {
        return first.fitted(draws, rng);
    }
    // An arrival that jitter delays makes the next packet look as if it had waited, and its gap short.
    let mut gaps = gaps;
    for _ in 0..LIMITS.rate_rounds {
        let ns_per_byte = 8e9 / BlockRates::of(&gaps).mean();
        let service_time = gaps.iter().map(|gap| gap.ns).sum::<f64>() / gaps.len() as f64;
        let skip = (LIMITS.settled_jitter * margin as f64 / service_time) as usize;
        let next: Vec<BusyGap> = runs.iter().flat_map(|facts| busy_periods(facts, ns_per_byte, skip)).flatten().collect();
        if next.len() < LIMITS.min_busy_gaps {
            break;
        }
        gaps = next;
    }
    BlockRates { is_mode: false, ..BlockRates::of(&gaps) }.fitted(draws, rng)
}

/// The rate, or its bounds if bursts alone show it: a token bucket may limit what lasts.
pub fn without_bursts(rate: &Fitted<ServiceRate>, runs: &[DirectionFacts]) -> Fitted<ServiceRate> {
    let seen = runs.iter().filter_map(max_throughput).fold(0.0, f64::max);
    let is_mode = rate.evidence.method == RateMethod::Mode;
    let ratio = if is_mode { LIMITS.max_burst_ratio } else { LIMITS.max_mean_burst_ratio };
    let width = rate.hi.zip(rate.lo).map_or(0.0, |(hi, lo)| hi - lo);
    let is_wide = |rate: f64| !is_mode && width > 2.0 * LIMITS.max_burst_half_width * rate;
    match rate.value.filter(|rate| *rate > ratio * seen || (*rate > seen && is_wide(*rate))) {
        Some(value) if rate.evidence.gaps > 0 && rate.evidence.busy_s < LIMITS.min_busy_s => {
            Fitted::bounded(max_carried(runs), rate.hi, ServiceRate { bursts: Some(value), ..rate.evidence.clone() })
        }
        _ => rate.clone(),
    }
}

/// The rate, or a bound from below if a second carried more: the link has no one rate. One that is known to
/// vary, or to serve others, has a mean that a second may exceed; a token bucket passes its burst beside its rate.
pub fn without_contradiction(rate: Fitted<ServiceRate>, runs: &[DirectionFacts]) -> Fitted<ServiceRate> {
    let facts = &rate.evidence;
    if facts.gaps == 0 || facts.variation.is_some() || facts.steps.is_some() || facts.mode_above_mean > LIMITS.max_mode_difference
    {
        return rate;
    }
    let of_run = |facts: &DirectionFacts| carried(facts, facts.floor()?, LIMITS.sustained_window_ns);
    let sustained = runs.iter().filter_map(of_run).fold(0.0, f64::max);
    let bursts = runs.iter().filter_map(|facts| Some(facts.token_bucket?.1));
    let burst = bursts.fold(0.0, f64::max) * 8e9 / LIMITS.sustained_window_ns as f64;
    match (rate.value, rate.hi) {
        (Some(value), Some(hi)) if sustained > LIMITS.max_sustained_ratio * hi + burst => {
            Fitted::bounded(Some(sustained), None, ServiceRate { contradicted: Some(value), ..rate.evidence })
        }
        _ => rate,
    }
}

/// Gaps of a busy link, divided into blocks.
struct BlockRates<'a> {
    gaps: &'a [BusyGap],
    blocks: Vec<BlockSums>,
    total: BlockSums,
    mode_share: f64,
    /// The mode is the rate, not the mean.
    is_mode: bool,
}

impl<'a> BlockRates<'a> {
    fn of(gaps: &'a [BusyGap]) -> BlockRates<'a> {
        let (mode_range, mode_share) = mode(gaps);
        let blocks = blocks(gaps, |gap| gap.is_clean && mode_range.contains(&(gap.ns / gap.bytes)));
        let total = blocks.iter().fold(BlockSums::default(), add);
        let rates = BlockRates { gaps, blocks, total, mode_share, is_mode: false };
        // Where all but a few gaps agree, it is the lost packets in these that were not served.
        let is_exact = mode_share >= LIMITS.min_exact_share;
        let lowest = if is_exact { f64::NEG_INFINITY } else { -LIMITS.max_mean_above_mode };
        let range = lowest..=LIMITS.max_mode_difference;
        let is_mode = mode_share >= LIMITS.min_mode_share && range.contains(&rates.mode_above_mean());
        BlockRates { is_mode, ..rates }
    }

    fn mean(&self) -> f64 {
        bit_rate(self.total.all)
    }

    fn mode_above_mean(&self) -> f64 {
        bit_rate(self.total.mode) / self.mean() - 1.0
    }

    /// The rate of the mode if many service times agree and are faster than the mean: the link serves others in
    /// between. Of a rate that changes in steps each has service times of its own.
    fn own_rate(&self) -> Option<f64> {
        let serves_others = !self.is_mode
            && self.mode_share >= LIMITS.min_serving_share
            && (LIMITS.min_serving_difference..=LIMITS.max_serving_difference).contains(&self.mode_above_mean())
            && steps(self.gaps).is_none();
        serves_others.then(|| bit_rate(self.total.mode))
    }

    fn fitted(&self, draws: usize, rng: &mut Rng) -> Fitted<ServiceRate> {
        let rate_of = |sums: &BlockSums| bit_rate(if self.is_mode { sums.mode } else { sums.all });
        let blocks = &self.blocks;
        let rate = rate_of(&self.total);
        let draws = (0..draws)
            .map(|_| {
                let resampled = (0..blocks.len()).map(|_| &blocks[(rng.uniform() * blocks.len() as f64) as usize]);
                rate_of(&resampled.fold(BlockSums::default(), add))
            })
            // Blocks without a gap in the mode have no rate.
            .map(|drawn| if drawn.is_finite() { drawn } else { rate })
            .collect();
        let evidence = ServiceRate {
            method: if self.is_mode { RateMethod::Mode } else { RateMethod::Mean },
            gaps: self.gaps.len(),
            busy_s: self.total.all.1 * 1e-9,
            mode_share: self.mode_share,
            mode_above_mean: self.mode_above_mean(),
            variation: variation(self.gaps, blocks),
            steps: steps(self.gaps),
            bursts: None,
            contradicted: None,
            own: self.own_rate(),
            all_links: None,
            lens: Vec::new(),
        };
        Fitted::identified(rate, draws, evidence).at_least(rate * (1.0 - LIMITS.clock_error), rate * (1.0 + LIMITS.clock_error))
    }
}

fn add(sum: BlockSums, block: &BlockSums) -> BlockSums {
    let plus = |a: (f64, f64), b: (f64, f64)| (a.0 + b.0, a.1 + b.1);
    BlockSums { all: plus(sum.all, block.all), mode: plus(sum.mode, block.mode) }
}

fn bit_rate((bytes, ns): (f64, f64)) -> f64 {
    bytes * 8e9 / ns
}

fn blocks(gaps: &[BusyGap], in_mode: impl Fn(&BusyGap) -> bool) -> Vec<BlockSums> {
    gaps.chunks(gaps.len().div_ceil(LIMITS.blocks))
        .map(|block| {
            let sum =
                |gaps: &mut dyn Iterator<Item = &BusyGap>| gaps.fold((0.0, 0.0), |sum, gap| (sum.0 + gap.bytes, sum.1 + gap.ns));
            BlockSums { all: sum(&mut block.iter()), mode: sum(&mut block.iter().filter(|gap| in_mode(gap))) }
        })
        .collect()
}

/// The range of service times per byte, `mode_half_width` to either side, with most of the gaps, and
/// its share of them. A packet that came before the one sent earlier was not served after it; one that came
/// with it was held behind it by jitter that keeps the order, after it was served.
fn mode(gaps: &[BusyGap]) -> (std::ops::RangeInclusive<f64>, f64) {
    let clean = || gaps.iter().filter(|gap| gap.is_clean && gap.ns >= 0.0);
    let mut per_byte: Vec<f64> = clean().filter(|gap| gap.ns > 0.0).map(|gap| gap.ns / gap.bytes).collect();
    per_byte.sort_unstable_by(f64::total_cmp);
    let (mut from, mut best) = (0, (0, 0));
    for (to, &value) in per_byte.iter().enumerate() {
        while value > per_byte[from] * (1.0 + 2.0 * LIMITS.mode_half_width) {
            from += 1;
        }
        if to + 1 - from > best.1 - best.0 {
            best = (from, to + 1);
        }
    }
    match per_byte.get(best.0..best.1) {
        Some([first, .., last]) => (*first..=*last, (best.1 - best.0) as f64 / clean().count() as f64),
        _ => (f64::INFINITY..=f64::NEG_INFINITY, 0.0),
    }
}

/// Coefficient of variation of the blocks' rates, if it is more than the gaps' noise explains.
fn variation(gaps: &[BusyGap], blocks: &[BlockSums]) -> Option<f64> {
    let total = blocks.iter().fold(BlockSums::default(), add).all;
    let per_byte = total.1 / total.0;
    // The gaps' deviations from the mean rate are correlated over a block only if the rate changes.
    let noise: f64 = gaps
        .windows(2)
        .map(|w| {
            let deviation = |gap: &BusyGap| gap.ns - per_byte * gap.bytes;
            (deviation(&w[1]) - deviation(&w[0])).powi(2) / 2.0
        })
        .sum::<f64>()
        / (gaps.len() - 1) as f64;
    let n = blocks.len() as f64;
    let relative = |block: &BlockSums| block.all.1 / (per_byte * block.all.0) - 1.0;
    let spread = libm::sqrt(blocks.iter().map(|block| relative(block).powi(2)).sum::<f64>() / n);
    let explained = libm::sqrt(noise * gaps.len() as f64 / n) / (total.1 / n);
    (spread >= LIMITS.min_variation && spread >= LIMITS.min_variation_ratio * explained).then_some(spread)
}

/// Coefficient of variation of the modes of blocks of gaps, if most blocks have one and they differ.
fn steps(gaps: &[BusyGap]) -> Option<f64> {
    let blocks = gaps.chunks(gaps.len().div_ceil(LIMITS.blocks));
    let count = blocks.len() as f64;
    let modes: Vec<f64> = blocks
        .map(mode)
        .filter(|mode| mode.1 >= LIMITS.min_step_share)
        .map(|mode| (mode.0.start() + mode.0.end()) / 2.0)
        .collect();
    let n = modes.len() as f64;
    if n < LIMITS.min_step_blocks * count {
        return None;
    }
    let mean = modes.iter().sum::<f64>() / n;
    let spread = libm::sqrt(modes.iter().map(|mode| (mode / mean - 1.0).powi(2)).sum::<f64>() / n);
    (spread >= LIMITS.min_variation).then_some(spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use crate::facts::{LinkPacket, Outcome};

    const MS: i64 = 1_000_000;

    /// Packets of 1500 B every 0.9 ms for 9 of 10 s into a link of 10 Mb/s; `service` is each one's
    /// time at the link in nanoseconds, `lost` ones are lost after it, `late` delays arrivals.
    fn link(service: impl Fn(usize) -> i64, lost: impl Fn(usize) -> bool, late: impl Fn(usize) -> i64) -> DirectionFacts {
        let (mut free, mut last) = (0, 0);
        let packets = (0..10_000usize).map(|i| {
            let sent = i as i64 * 900_000;
            free = free.max(sent) + service(i);
            last = last.max(free + 20 * MS + late(i));
            let outcome = if lost(i) { Outcome::Lost { channel: 1.0 } } else { Outcome::Arrived(last) };
            LinkPacket { sent, len: 1500, outcome }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    fn fitted(facts: DirectionFacts, margin: i64) -> Fitted<ServiceRate> {
        estimate(&[facts], margin, 200, &mut Rng::for_element(1, "rate"))
    }

    fn noise(i: usize) -> f64 {
        (i as f64 * 0.618_033_988_749_895 * 7.0).fract()
    }

    #[test]
    fn rate_is_exact_when_service_times_are_equal() {
        let fit = fitted(link(|_| 1_200_000, |i| i % 97 == 3, |_| 0), 0);
        assert_eq!((fit.status, fit.evidence.method), (Status::Identified, RateMethod::Mode));
        assert!((fit.value.unwrap() / 10e6 - 1.0).abs() < 1e-6, "{fit:?}");
        assert!(fit.lo.unwrap() < 10e6 && fit.hi.unwrap() > 10e6);
    }

    #[test]
    fn interval_of_the_rate_contains_it_when_jitter_blurs_the_gaps() {
        let fit = fitted(link(|_| 1_200_000, |_| false, |i| (noise(i) * 8e6) as i64), 8 * MS);
        assert_eq!(fit.evidence.method, RateMethod::Mean);
        let (lo, hi) = (fit.lo.unwrap(), fit.hi.unwrap());
        assert!(lo <= 10e6 && 10e6 <= hi && hi - lo < 0.01 * 10e6, "{lo} {hi}");
    }

    #[test]
    fn bytes_lost_after_the_link_count_as_served() {
        let fit = fitted(link(|_| 1_200_000, |i| i.is_multiple_of(5), |i| (noise(i) * 4e6) as i64), 4 * MS);
        assert!((fit.value.unwrap() / 10e6 - 1.0).abs() < 0.01, "{fit:?}");
    }

    #[test]
    fn rate_is_that_of_the_service_times_when_lost_packets_were_not_served() {
        // Every tenth packet never reached the link, and is taken for served.
        let dropped = |i: usize| i % 10 == 9;
        let fit = fitted(link(|i| if dropped(i) { 0 } else { 1_200_000 }, dropped, |_| 0), 0);
        assert!((fit.value.unwrap() / 10e6 - 1.0).abs() < 1e-3, "{fit:?}");
    }

    #[test]
    fn variation_is_reported_when_the_rate_changes() {
        let steps = |i: usize| if (i / 2500).is_multiple_of(2) { 1_200_000 } else { 1_500_000 };
        let evidence = fitted(link(steps, |_| false, |_| 0), 0).evidence;
        assert!(evidence.variation.is_some_and(|cv| cv > 0.08) && evidence.steps.is_some_and(|cv| cv > 0.08), "{evidence:?}");
        let jitter = |i: usize| (noise(i) * 3e6) as i64;
        assert_eq!(fitted(link(|_| 1_200_000, |_| false, jitter), 3 * MS).evidence.variation, None);
    }

    #[test]
    fn rate_is_not_biased_when_jitter_makes_an_idle_link_look_busy() {
        // Groups of 60 packets every 90 ms: the queue empties after each.
        let mut rng = Rng::for_element(8, "jitter");
        let (mut free, mut last) = (0, 0);
        let packets = (0..12_000i64).map(|i| {
            let sent = i / 60 * 90_000_000 + i % 60 * 600_000;
            free = free.max(sent) + 1_200_000;
            last = last.max(free + 20 * MS + rng.exponential(3e6) as i64);
            LinkPacket { sent, len: 1500, outcome: Outcome::Arrived(last) }
        });
        let facts = DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() };
        let fit = fitted(facts, 6 * MS);
        assert!((fit.value.unwrap() / 10e6 - 1.0).abs() < 0.02, "{fit:?}");
    }

    #[test]
    fn link_serves_no_others_when_jitter_that_keeps_the_order_holds_packets_together() {
        let mut rng = Rng::for_element(9, "jitter");
        let late: Vec<i64> = (0..10_000).map(|_| rng.exponential(2e6) as i64).collect();
        let mut facts = link(|_| 1_200_000, |_| false, |i| late[i]);
        let evidence = fitted(facts.clone(), 4 * MS).evidence;
        assert_eq!((evidence.method, evidence.own), (RateMethod::Mean, None), "{evidence:?}");
        // They leave what held them at 1 Gb/s.
        let mut last = 0;
        for packet in &mut facts.packets {
            last = packet.arrival().unwrap().max(last + 12_000);
            packet.outcome = Outcome::Arrived(last);
        }
        let evidence = fitted(facts, 4 * MS).evidence;
        assert!(evidence.own.is_none() && evidence.mode_above_mean > LIMITS.max_serving_difference, "{evidence:?}");
    }

    #[test]
    fn rate_is_bounded_from_below_when_a_second_carried_more() {
        let steady = link(|_| 1_200_000, |_| false, |_| 0);
        let floor = steady.floor().unwrap();
        let kept = without_contradiction(fitted(steady.clone(), 0), std::slice::from_ref(&steady));
        assert_eq!(kept.status, Status::Identified, "{:?} {:?}", kept.evidence, carried(&steady, floor, 1_000_000_000));
        let false_rate = Fitted { value: Some(9e6), lo: Some(8.9e6), hi: Some(9.1e6), ..kept };
        let found = without_contradiction(false_rate, &[steady]);
        assert_eq!((found.status, found.hi, found.evidence.contradicted), (Status::Bounded, None, Some(9e6)));
        assert!(found.lo.unwrap() <= 10e6 && found.lo.unwrap() > 9.4e6, "{:?}", found.lo);
    }

    #[test]
    fn rate_is_bounded_when_bursts_alone_show_it() {
        // 12 packets every 100 ms at 100 Mb/s.
        let packets = (0..3000i64).map(|i| {
            let arrival = i / 12 * 100 * MS + (i % 12 + 1) * 120_000 + 20 * MS;
            LinkPacket { sent: i / 12 * 100 * MS, len: 1500, outcome: Outcome::Arrived(arrival) }
        });
        let runs = [DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }];
        let fit = estimate(&runs, 0, 200, &mut Rng::for_element(1, "rate"));
        assert!((fit.value.unwrap() / 100e6 - 1.0).abs() < 0.01, "{fit:?}");
        let fit = without_bursts(&fit, &runs);
        assert_eq!((fit.status, fit.value), (Status::Bounded, None));
        assert!(fit.lo.unwrap() < 3e6 && fit.hi.unwrap() >= 100e6, "{fit:?}");
    }

    #[test]
    fn rate_is_bounded_by_the_throughput_when_no_queue_stood() {
        let fit = fitted(link(|_| 100_000, |_| false, |_| 0), 0);
        assert_eq!((fit.status, fit.value), (Status::Bounded, None));
        let seen = fit.lo.unwrap();
        assert!(seen > 0.98 * 1500.0 * 8.0 / 0.9e-3 && seen < 1.02 * 1500.0 * 8.0 / 0.9e-3, "{seen}");
    }

    #[test]
    fn mode_is_of_the_packets_that_did_not_overtake() {
        let gap = |ns| BusyGap { at: 0, ns, bytes: 1500.0, is_clean: true, packets: 1 };
        let gaps: Vec<BusyGap> = [-3000.0, 1500.0, 1500.0, -1500.0, 1500.0, 6000.0].map(gap).to_vec();
        let (range, share) = mode(&gaps);
        assert_eq!((*range.start(), *range.end(), share), (1.0, 1.0, 0.75));
        // Jitter that keeps the order holds packets behind another.
        let held: Vec<BusyGap> = [9000.0, 0.0, 0.0, 0.0, 0.0, 1500.0, 1500.0, 1500.0].map(gap).to_vec();
        let (range, share) = mode(&held);
        assert_eq!((*range.start(), *range.end(), share), (1.0, 1.0, 0.375));
        let (range, share) = mode(&[gap(-1.0), gap(-2.0)]);
        assert!(range.is_empty() && share == 0.0);
    }
}
