//! A shaper: a token bucket behind a queue. A packet passes at once while there are tokens, and later
//! leaves with the ones that are earned: packet n leaves when `bytes up to n - burst = rate * t`. What
//! is missing from a full bucket when a packet is sent, less what is earned while it waits, is
//! therefore the burst, for each packet that waits.

use crate::estimate::Fitted;
use crate::facts::{DirectionFacts, Outcome};
use crate::rate::{RateMethod, ServiceRate};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use ackclock_core::statistics::quantile_of_sorted;
use ackclock_trace::join::policer::{Deficit, MAX_SINGLE_BURST_NS, MIN_BURSTS, used_up};
use serde::Serialize;

/// The evidence of a shaper.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ShaperEvidence {
    /// Packets that waited for tokens, and those that passed at once from a bucket partly used.
    pub waited: usize,
    pub at_once: usize,
    /// Number of times that the bucket was used up after it had been nearly full.
    pub bursts: usize,
    /// Bit/s at which bursts passed.
    pub peak: f64,
}

/// The bucket of a shaper: bit/s and bytes.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ShaperFit {
    pub rate: Fitted<()>,
    pub burst: Fitted<()>,
    pub evidence: ShaperEvidence,
}

impl ShaperFit {
    /// Of packets that hosts timestamped late. A smallest delay that is too small by `floor_error` nanoseconds makes
    /// each wait longer, and the burst smaller.
    pub fn by_late_hosts(self, floor_error: f64) -> ShaperFit {
        let more = self.rate.value.unwrap_or_default() / 8e9 * floor_error;
        let burst = match self.burst.lo.zip(self.burst.hi) {
            Some((lo, hi)) => self.burst.at_least(lo, hi + more),
            None => self.burst,
        };
        ShaperFit { rate: self.rate.widened(LIMITS.late_rate_error), burst, ..self }
    }

    /// The packets that found too few tokens, and waited in the queue of the shaper or were dropped there: the others
    /// passed it at once.
    pub fn waiting(&self, facts: &DirectionFacts) -> DirectionFacts {
        let (Some(rate), Some(burst)) = (self.rate.value, self.burst.value) else { return facts.clone() };
        let found = levels(facts, rate / 8e9, Some(burst)).zip(&facts.packets);
        let packets = found.filter(|(level, _)| *level > burst).map(|(_, packet)| *packet).collect();
        DirectionFacts { packets, flows: Vec::new(), ..facts.clone() }
    }
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy)]
struct Passage {
    /// What is missing from a full bucket with its own tokens, bytes.
    level: f64,
    /// Delay above that of the fastest packets, nanoseconds.
    wait: f64,
    arrival: i64,
    len: u32,
}

/// The shaper before a link whose busy rate is `rate`; none without a burst.
pub fn estimate(runs: &[DirectionFacts], rate: &Fitted<ServiceRate>, draws: usize, rng: &mut Rng) -> Option<ShaperFit> {
    let is_busy = matches!(rate.evidence.method, RateMethod::Mode | RateMethod::Mean);
    let packet = f64::from(runs.iter().find_map(DirectionFacts::common_len)?);
    let best_of = |rates: &mut dyn Iterator<Item = f64>| {
        let spread = |rate: f64| Some((rate, bursts(&passages(runs, rate, None), rate, packet).spread()?));
        rates.filter_map(spread).min_by(|a, b| a.1.total_cmp(&b.1)).map(|best| best.0)
    };
    // Long bursts have a share in the mean rate, and none in the rate of most arrivals.
    let first = [rate.value.filter(|_| is_busy)? / 8e9, common_rate(runs)?];
    let mut best = best_of(&mut first.into_iter())?;
    for step in LIMITS.shaper_steps {
        best = best_of(&mut (-LIMITS.shaper_side..=LIMITS.shaper_side).map(move |i| best * (1.0 + step * f64::from(i))))?;
    }
    let mut passed = passages(runs, best, None);
    let mut waited = bursts(&passed, best, packet);
    let mut burst = waited.quantile(0.5)?;
    for _ in 0..LIMITS.rate_rounds {
        passed = passages(runs, best, Some(burst));
        waited = bursts(&passed, best, packet);
        let before = std::mem::replace(&mut burst, waited.quantile(0.5)?);
        if burst == before {
            break;
        }
    }
    let (passages, bursts) = (passed, waited);
    let at_once: Vec<&Passage> = passages.iter().filter(|p| p.level >= burst / 4.0 && p.level <= burst - 2.0 * packet).collect();
    let mut shares: Vec<f64> = at_once.iter().map(|p| p.wait * best / p.level).collect();
    shares.sort_unstable_by(f64::total_cmp);
    let is_burst = burst >= LIMITS.min_shaper_burst * packet
        && bursts.sorted.len() >= LIMITS.min_shaper_waits
        && at_once.len() >= LIMITS.min_shaper_passes
        && bursts.spread()? <= (2.0 * packet).max(LIMITS.max_shaper_spread * burst)
        && quantile_of_sorted(&shares, 0.5)? <= LIMITS.max_shaper_delay;
    let used_up = used_up(passages.iter().map(|passage| passage.level), burst);
    // A rate that falls once is as likely as a bucket that is used up once, unless it is soon.
    let is_once = used_up < MIN_BURSTS && burst / best > MAX_SINGLE_BURST_NS;
    if !is_burst || is_once {
        return None;
    }
    let peak = peak(&passages, burst, packet)?;
    let evidence = ShaperEvidence { waited: bursts.sorted.len(), at_once: at_once.len(), bursts: used_up, peak };
    let (lo, hi) = (bursts.quantile(0.1)?.min(burst - packet), bursts.quantile(0.9)?.max(burst + packet));
    let value = best * 8e9;
    let drawn = |value: f64, half: f64, rng: &mut Rng| (0..draws).map(|_| value + half * (2.0 * rng.uniform() - 1.0)).collect();
    let half = value * (LIMITS.clock_error + LIMITS.shaper_steps[LIMITS.shaper_steps.len() - 1]);
    Some(ShaperFit {
        rate: Fitted::identified(value, drawn(value, half, rng), ()).at_least(value - half, value + half),
        burst: Fitted::identified(burst, (0..draws).map(|_| lo + rng.uniform() * (hi - lo)).collect(), ()).at_least(lo, hi),
        evidence,
    })
}

/// The median rate of arrivals, bytes per nanosecond, over groups of them.
fn common_rate(runs: &[DirectionFacts]) -> Option<f64> {
    let mut rates = Vec::new();
    for facts in runs {
        let mut arrivals: Vec<(i64, u32)> = facts.packets.iter().filter_map(|p| Some((p.arrival()?, p.len))).collect();
        arrivals.sort_unstable();
        for group in arrivals.windows(LIMITS.shaper_group).step_by(LIMITS.shaper_group - 1) {
            let bytes: u64 = group[1..].iter().map(|arrival| u64::from(arrival.1)).sum();
            let time = group[group.len() - 1].0 - group[0].0;
            rates.extend((time > 0).then(|| bytes as f64 / time as f64));
        }
    }
    rates.sort_unstable_by(f64::total_cmp);
    quantile_of_sorted(&rates, 0.5)
}

/// What is missing from a bucket that earns `rate` bytes per nanosecond, with the tokens of each packet. A packet that is
/// dropped while a bucket of `burst` has tokens for it used them: the queue of the line behind dropped it.
fn levels(facts: &DirectionFacts, rate: f64, burst: Option<f64>) -> impl Iterator<Item = f64> + '_ {
    let mut bucket = Deficit::new(rate);
    facts.packets.iter().map(move |packet| {
        let level = bucket.level(packet.sent, packet.len);
        let is_drop = matches!(packet.outcome, Outcome::Lost { channel } if channel < LIMITS.channel_probability);
        if !is_drop || burst.is_some_and(|burst| level <= burst) {
            bucket.take(packet.len);
        }
        level
    })
}

/// The packets that arrived.
fn passages(runs: &[DirectionFacts], rate: f64, burst: Option<f64>) -> Vec<Passage> {
    let mut passages = Vec::new();
    for facts in runs {
        let common = facts.common_len();
        let of_common = facts.packets.iter().filter(|packet| Some(packet.len) == common);
        let Some(floor) = of_common.filter_map(crate::facts::LinkPacket::delay).min() else { continue };
        for (level, packet) in levels(facts, rate, burst).zip(&facts.packets) {
            if let Outcome::Arrived(arrival) = packet.outcome {
                let wait = (arrival - packet.sent - floor) as f64;
                passages.push(Passage { level, wait, arrival, len: packet.len });
            }
        }
    }
    passages
}

/// The burst by each packet that waited, ascending.
struct Bursts {
    sorted: Vec<f64>,
}

impl Bursts {
    fn quantile(&self, share: f64) -> Option<f64> {
        quantile_of_sorted(&self.sorted, share)
    }

    fn spread(&self) -> Option<f64> {
        Some(self.quantile(0.95)? - self.quantile(0.05)?)
    }
}

fn bursts(passages: &[Passage], rate: f64, packet: f64) -> Bursts {
    let waited = passages.iter().filter(|p| p.wait * rate > 2.0 * packet + LIMITS.host_noise_ns * rate);
    let mut sorted: Vec<f64> = waited.map(|p| p.level - p.wait * rate).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    Bursts { sorted }
}

/// The rate of bursts, bit/s: the median of the gaps between packets that passed at once, one behind the
/// other.
fn peak(passages: &[Passage], burst: f64, packet: f64) -> Option<f64> {
    let is_within = |p: &Passage| p.level >= 4.0 * packet && p.level <= burst - packet;
    let pairs = passages.windows(2).filter(|w| is_within(&w[0]) && is_within(&w[1]) && w[1].arrival > w[0].arrival);
    let mut per_byte: Vec<f64> = pairs.map(|w| (w[1].arrival - w[0].arrival) as f64 / f64::from(w[1].len)).collect();
    per_byte.sort_unstable_by(f64::total_cmp);
    Some(8e9 / quantile_of_sorted(&per_byte, 0.25)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::LinkPacket;
    use crate::rate;

    const MS: i64 = 1_000_000;

    /// A sender with a growing window every 40 ms, through a shaper of `rate` bytes/s with `burst` bytes into a
    /// line of 12.5 MB/s.
    fn shaped(rate: f64, burst: f64) -> Vec<DirectionFacts> {
        let (mut tokens, mut free) = (burst, 0.0f64);
        let sent = (0..500i64).flat_map(|round| (0..20 + round * 7 % 120).map(move |i| round * 40 * MS + i * 20_000));
        let packets = sent.map(|sent| {
            let start = free.max(sent as f64);
            tokens = (tokens + (start - free) * rate / 1e9).min(burst);
            let wait = ((1500.0 - tokens) / rate * 1e9).max(0.0);
            let end = start + wait.max(120_000.0);
            tokens += (end - start) * rate / 1e9 - 1500.0;
            free = end;
            LinkPacket { sent, len: 1500, outcome: Outcome::Arrived(end as i64 + 20 * MS) }
        });
        vec![DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }]
    }

    fn fitted(runs: &[DirectionFacts]) -> Option<ShaperFit> {
        let rate = rate::estimate(runs, 0, 100, &mut Rng::for_element(1, "rate"));
        estimate(runs, &rate, 100, &mut Rng::for_element(1, "shaper"))
    }

    #[test]
    fn rate_and_burst_are_within_their_intervals_when_packets_wait_for_tokens() {
        for (rate, burst) in [(2.5e6, 40e3), (2.4e6, 64e3), (2.6e6, 25e3)] {
            let fit = fitted(&shaped(rate, burst)).unwrap_or_else(|| panic!("{rate} {burst}"));
            assert!((fit.rate.value.unwrap() / rate / 8.0 - 1.0).abs() < 0.005, "{fit:?}");
            assert!((fit.burst.value.unwrap() - burst).abs() < 3000.0, "{burst} {fit:?}");
            assert!(fit.burst.lo.unwrap() <= burst && burst <= fit.burst.hi.unwrap(), "{burst} {fit:?}");
        }
    }

    #[test]
    fn burst_has_the_tokens_of_packets_that_the_line_behind_drops() {
        // The line's queue drops one of ten that follow each other at once; then many wait for tokens.
        let (rate, burst) = (2.5e6, 64e3);
        let mut runs = shaped(rate, burst);
        let floor = runs[0].floor().unwrap();
        for (i, packet) in runs[0].packets.iter_mut().enumerate() {
            if i % 10 == 3 && packet.delay().is_some_and(|delay| delay < floor + MS) {
                packet.outcome = Outcome::Lost { channel: 0.0 };
            }
        }
        let fit = fitted(&runs).unwrap();
        assert!((fit.burst.value.unwrap() - burst).abs() < 2000.0, "{fit:?}");
    }

    #[test]
    fn no_shaper_is_found_when_all_packets_pass_at_the_rate() {
        assert!(fitted(&shaped(2.5e6, 1500.0)).is_none());
    }
}
