//! Which encoding of a video a player requests next.

use crate::score::LadderStep;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// The rule by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Adaptation {
    /// By the buffer: BBA-0.
    Buffer,
    /// By the throughput, as Shaka Player.
    Throughput,
}

/// The rule and what it remembers.
#[derive(Debug, Clone)]
pub struct Rule {
    adaptation: Adaptation,
    throughput: ThroughputEstimate,
    /// The last choice, and when it was made.
    chosen: Option<(usize, Time)>,
    /// A choice was made by samples.
    settled: bool,
}

/// Shaka Player 4.x, `abr` in its configuration: `defaultBandwidthEstimate`, `bandwidthUpgradeTarget`,
/// `bandwidthDowngradeTarget`, `switchInterval`.
const DEFAULT_ESTIMATE_BPS: f64 = 1e6;
const UPGRADE_TARGET: f64 = 0.85;
const DOWNGRADE_TARGET: f64 = 0.95;
const SWITCH_INTERVAL: Span = Span::from_secs(8);

impl Rule {
    pub fn new(adaptation: Adaptation) -> Rule {
        Rule { adaptation, throughput: ThroughputEstimate::default(), chosen: None, settled: false }
    }

    /// A segment of `bytes` took `span` from its request to its last byte.
    pub fn sample(&mut self, bytes: u64, span: Span) {
        self.throughput.sample(bytes, span);
    }

    /// The step of the next segment. `buffered` media of at most `limit` wait to be played.
    pub fn choose(&mut self, now: Time, ladder: &[LadderStep], buffered: Span, limit: Span) -> usize {
        let before = self.chosen;
        let step = match (self.adaptation, before) {
            (Adaptation::Buffer, _) => bba_0(ladder, before.map(|(step, _)| step), buffered, limit),
            (Adaptation::Throughput, None) => highest(ladder, UPGRADE_TARGET * self.estimate()),
            (Adaptation::Throughput, Some((step, at))) => {
                let may = if self.settled { now - at >= SWITCH_INTERVAL } else { self.throughput.is_good() };
                if !may {
                    return step;
                }
                self.settled = true;
                // Between the two targets it stays.
                let [up, down] = [UPGRADE_TARGET, DOWNGRADE_TARGET].map(|target| highest(ladder, target * self.estimate()));
                step.clamp(up, down)
            }
        };
        self.chosen = Some((step, now));
        step
    }

    fn estimate(&self) -> f64 {
        self.throughput.estimate().unwrap_or(DEFAULT_ESTIMATE_BPS)
    }
}

/// The highest step up to `bps`; the lowest if there is none.
fn highest(ladder: &[LadderStep], bps: f64) -> usize {
    ladder.iter().rposition(|step| step.bps as f64 <= bps).unwrap_or(0)
}

/// The share of the buffer below which the lowest step is requested, and above which the highest: 90 s and
/// 216 s of 240 s.
const RESERVOIR: f64 = 90.0 / 240.0;
const UPPER: f64 = 0.9;

/// Algorithm 1 of Huang, Johari, McKeown, Trunnell and Watson, "A Buffer-Based Approach to Rate
/// Adaptation" (SIGCOMM 2014): the rate map is linear between the reservoir and the upper reservoir, and the
/// step changes when the map reaches the next one.
fn bba_0(ladder: &[LadderStep], before: Option<usize>, buffered: Span, limit: Span) -> usize {
    let top = ladder.len() - 1;
    let (level, full) = (buffered.as_secs(), limit.as_secs());
    if level <= RESERVOIR * full {
        return 0;
    }
    if level >= UPPER * full {
        return top;
    }
    let rate = |step: usize| ladder[step].bps as f64;
    let map = rate(0) + (rate(top) - rate(0)) * (level / full - RESERVOIR) / (UPPER - RESERVOIR);
    let before = before.unwrap_or(0);
    if map >= rate((before + 1).min(top)) {
        ladder.iter().rposition(|step| (step.bps as f64) < map).unwrap_or(0)
    } else if map <= rate(before.saturating_sub(1)) {
        ladder.iter().position(|step| step.bps as f64 > map).unwrap_or(top)
    } else {
        before
    }
}

/// The throughput as Shaka Player estimates it: the lower of two means with exponential weights, whose
/// half-lives are seconds of downloading.
#[derive(Debug, Clone, Copy, Default)]
struct ThroughputEstimate {
    fast: Mean,
    slow: Mean,
    bytes: u64,
}

/// `advanced.minBytes`, `minTotalBytes`, `fastHalfLife`, `slowHalfLife` of Shaka's configuration.
const MIN_BYTES: u64 = 16_000;
const MIN_TOTAL_BYTES: u64 = 128_000;
const FAST_HALF_LIFE_S: f64 = 2.0;
const SLOW_HALF_LIFE_S: f64 = 5.0;

impl ThroughputEstimate {
    fn sample(&mut self, bytes: u64, span: Span) {
        let seconds = span.as_secs();
        if bytes < MIN_BYTES || seconds <= 0.0 {
            return;
        }
        self.bytes += bytes;
        let bps = 8.0 * bytes as f64 / seconds;
        self.fast.add(bps, seconds, FAST_HALF_LIFE_S);
        self.slow.add(bps, seconds, SLOW_HALF_LIFE_S);
    }

    fn is_good(&self) -> bool {
        self.bytes >= MIN_TOTAL_BYTES
    }

    /// In bit/s; none before enough bytes.
    fn estimate(&self) -> Option<f64> {
        self.is_good().then(|| self.fast.value().min(self.slow.value()))
    }
}

/// A mean with exponential weights, without the bias of its beginning at 0.
#[derive(Debug, Clone, Copy, Default)]
struct Mean {
    sum: f64,
    /// Of all samples so far; at most 1.
    weight: f64,
}

impl Mean {
    fn add(&mut self, value: f64, seconds: f64, half_life_s: f64) {
        let kept = libm::pow(0.5, seconds / half_life_s);
        self.sum = kept * self.sum + (1.0 - kept) * value;
        self.weight = kept * self.weight + (1.0 - kept);
    }

    fn value(&self) -> f64 {
        self.sum / self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::super::LadderName;
    use super::*;

    fn netflix() -> &'static [LadderStep] {
        LadderName::Netflix2015.steps()
    }

    fn seconds(s: f64) -> Span {
        Span::from_secs_f64(s)
    }

    #[test]
    fn bba_0_follows_its_rate_map() {
        let limit = seconds(240.0);
        let at = |before, level| bba_0(netflix(), before, seconds(level), limit);
        assert_eq!([at(Some(5), 90.0), at(None, 0.0), at(Some(0), 216.0)], [0, 0, 9]);
        // In the middle the map has 3017.5 kb/s: the highest step below it, from below and from above the
        // lowest above it.
        assert_eq!([at(Some(3), 153.0), at(Some(9), 153.0)], [7, 8]);
        // 2350 to 3000 kb/s around step 7: it stays.
        assert_eq!([at(Some(7), 153.0), at(Some(7), 149.0)], [7, 7]);
        assert_eq!(at(Some(7), 137.0), 6, "the map has 2311 kb/s, below the step below: the lowest above it");
    }

    #[test]
    fn throughput_rule_starts_with_the_default_and_then_follows_the_lower_mean() {
        let mut rule = Rule::new(Adaptation::Throughput);
        let choose = |rule: &mut Rule, s: u64| rule.choose(Time::ZERO + Span::from_secs(s), netflix(), Span::ZERO, seconds(30.0));
        assert_eq!(choose(&mut rule, 0), 3, "750 kb/s, the highest up to 850");
        // 375 kB in 1 s: 3 Mb/s, and the highest step up to 0.85 times that.
        rule.sample(375_000, seconds(1.0));
        assert_eq!(choose(&mut rule, 1), 6);
        rule.sample(3_750_000, seconds(1.0));
        assert_eq!(choose(&mut rule, 8), 6, "7 s after the last choice");
        // Weights by half-lives of 2 and 5 s of downloading: (3 x 2^(-1/5) + 30) / (1 + 2^(-1/5)) = 17.4.
        assert_eq!(choose(&mut rule, 9), 9);
        // 1 Mb/s for 10 s: the fast mean falls to 1.28 Mb/s, the slow one to 2.2.
        rule.sample(1_250_000, seconds(10.0));
        assert_eq!(choose(&mut rule, 20), 4, "1050 kb/s");
    }

    #[test]
    fn throughput_rule_stays_between_its_two_targets() {
        let mut rule = Rule { chosen: Some((6, Time::ZERO)), settled: true, ..Rule::new(Adaptation::Throughput) };
        // 2350 kb/s are 0.9 of the estimate, and the step above is more than it.
        rule.sample(1_000_000, seconds(8.0 * 0.9 / 2.35));
        assert_eq!(rule.choose(Time::ZERO + Span::from_secs(10), netflix(), Span::ZERO, seconds(30.0)), 6);
        let mut down = Rule { chosen: Some((6, Time::ZERO)), settled: true, ..Rule::new(Adaptation::Throughput) };
        down.sample(1_000_000, seconds(8.0 * 0.96 / 2.35));
        assert_eq!(down.choose(Time::ZERO + Span::from_secs(10), netflix(), Span::ZERO, seconds(30.0)), 5);
    }

    #[test]
    fn small_samples_do_not_count() {
        let mut estimate = ThroughputEstimate::default();
        estimate.sample(15_999, seconds(1.0));
        estimate.sample(127_999, seconds(1.0));
        assert_eq!(estimate.estimate(), None);
        estimate.sample(16_000, seconds(0.125));
        assert!(estimate.estimate().is_some_and(|bps| bps < 1_100_000.0 && bps > 1_000_000.0));
    }
}
