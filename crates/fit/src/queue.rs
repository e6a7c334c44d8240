//! Limit of a droptail queue. The bytes that wait when a packet reaches the queue follow from the
//! departures, the arrivals and the link's rate. A droptail queue accepts every packet up to its
//! limit and drops every one above it: the limit is the step of the loss rate over the backlog, by
//! maximum likelihood, blurred by what disturbs the times.

use crate::estimate::Fitted;
use crate::facts::{DirectionFacts, LinkPacket, Outcome};
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use ackclock_core::rng::Rng;
use ackclock_core::statistics::quantile_of_sorted;
use serde::Serialize;

/// What the losses show about the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Document)]
#[serde(rename_all = "kebab-case")]
pub enum QueueFinding {
    /// All packets above a limit were dropped.
    Limit,
    /// The queue dropped nothing.
    NeverFull,
    /// A queue dropped packets at backlogs that it accepted at other times: an AQM, or several
    /// queues.
    NoSharpLimit,
    /// No queue was seen.
    NeverQueued,
    /// Packets of others, which are not known, filled it.
    SharedWithOthers,
}

/// The evidence of a limit.
#[derive(Debug, Clone, Serialize, Document)]
pub struct QueueLimit {
    pub finding: QueueFinding,
    /// The largest backlog of a packet that arrived, itself included, bytes.
    pub max_accepted: f64,
    /// Packets lost at a queue, and the overflows in which they were lost.
    pub drops: usize,
    pub overflows: usize,
    /// Length of most packets, bytes.
    pub packet: u32,
    /// Scale of the blur, bytes.
    pub blur: f64,
    /// The largest backlog by the delays, bytes, of a queue that packets of others fill, too.
    pub by_delay: Option<f64>,
}

/// The backlog that a packet met, itself included and the packet in transmission left out, bytes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Level {
    pub at: i64,
    pub bytes: f64,
    pub lost: bool,
    /// Probability that a loss is the channel's.
    pub channel: f64,
}

/// Times of a byte at the link that a queue stands before, nanoseconds.
#[derive(Debug, Clone, Copy)]
pub struct ServiceTime {
    /// From the service of one packet to that of the next.
    pub ns_per_byte: f64,
    /// From the time at which a packet leaves the queue to the end of its transmission: at a shaper it waits in the
    /// queue for its tokens.
    pub sending: f64,
}

impl ServiceTime {
    /// Of a link that sends what leaves the queue.
    pub fn of(ns_per_byte: f64) -> ServiceTime {
        ServiceTime { ns_per_byte, sending: ns_per_byte }
    }
}

/// The backlogs of all packets. `arrivals` has the arrival of each packet, without jitter where there
/// is some; `base` is the delay of a packet of length zero in nanoseconds.
pub fn levels(facts: &DirectionFacts, arrivals: &[Option<f64>], base: f64, service: ServiceTime) -> Vec<Level> {
    let ServiceTime { ns_per_byte, sending } = service;
    // Start of service by the clock of departures, and length, of the packets that still wait.
    let mut waiting: std::collections::VecDeque<(f64, u32)> = std::collections::VecDeque::new();
    let mut bytes = 0.0;
    let mut latest = f64::NEG_INFINITY;
    let mut levels = Vec::with_capacity(facts.packets.len());
    let mut last_delay = 0;
    for (packet, arrival) in facts.packets.iter().zip(&separated(facts, arrivals, base, ns_per_byte)) {
        let now = packet.sent as f64;
        while let Some(&(start, len)) = waiting.front().filter(|first| first.0 <= now) {
            debug_assert!(start <= now);
            bytes -= f64::from(len);
            waiting.pop_front();
        }
        let level = |lost, channel| Level { at: packet.sent, bytes: bytes + f64::from(packet.len), lost, channel };
        last_delay = packet.delay().unwrap_or(last_delay);
        // While the link stalls, what waits may be elsewhere.
        let is_known = !facts.stalled(packet.sent, packet.sent + last_delay);
        match packet.outcome {
            Outcome::Arrived(at) => {
                levels.extend(is_known.then(|| level(false, 0.0)));
                // Services are in order.
                let start = arrival.unwrap_or(at as f64) - base - f64::from(packet.len) * sending;
                latest = latest.max(start);
                waiting.push_back((latest, packet.len));
                bytes += f64::from(packet.len);
            }
            Outcome::Lost { channel } => {
                levels.extend(is_known.then(|| level(true, channel)));
                if channel >= LIMITS.channel_probability {
                    // Its service followed that of the packet before it.
                    let [service, sent] = [ns_per_byte, sending].map(|time| f64::from(packet.len) * time);
                    latest = arrival.map_or(latest + service, |at| at - base - sent).max(latest).max(now);
                    waiting.push_back((latest, packet.len));
                    bytes += f64::from(packet.len);
                }
            }
            Outcome::Uncaptured | Outcome::OutsideCapture => {}
        }
    }
    levels
}

/// The arrivals, with those of packets that arrived at one time one service after another up to this time:
/// a host merges what arrives, and a bucket passes a super-segment of a host at once when it has tokens for it.
fn separated(facts: &DirectionFacts, arrivals: &[Option<f64>], base: f64, ns_per_byte: f64) -> Vec<Option<f64>> {
    let mut separated = arrivals.to_vec();
    // Arrival of the packet behind, and the start of its service by the clock of arrivals.
    let mut behind: Option<(f64, f64)> = None;
    for (packet, arrival) in facts.packets.iter().zip(&mut separated).rev() {
        let (Some(at), Some(_)) = (*arrival, packet.arrival()) else { continue };
        let service = f64::from(packet.len) * ns_per_byte;
        let own = match behind {
            Some((time, start)) if (time - at).abs() <= LinkPacket::SAME_TIME as f64 => {
                start.max(packet.sent as f64 + base + service).min(at)
            }
            _ => at,
        };
        *arrival = Some(own);
        behind = Some((at, own - service));
    }
    separated
}

/// Losses and arrivals at one level of the backlog.
#[derive(Debug, Clone, Copy)]
struct LevelCount {
    bytes: f64,
    arrived: f64,
    lost: f64,
}

/// The limit in bytes.
pub fn estimate(levels: &[Level], packet: u32, draws: usize, rng: &mut Rng) -> Fitted<QueueLimit> {
    let max_accepted = levels.iter().filter(|level| !level.lost).map(|level| level.bytes).fold(0.0, f64::max);
    let dropped: Vec<&Level> = levels.iter().filter(|l| l.lost && l.channel < LIMITS.channel_probability).collect();
    let evidence = |finding, blur| QueueLimit {
        finding,
        max_accepted,
        drops: dropped.len(),
        overflows: overflows(&dropped),
        packet,
        blur,
        by_delay: None,
    };
    if levels.is_empty() {
        return Fitted::bounded(None, None, evidence(QueueFinding::NeverQueued, 0.0));
    }
    let below = LIMITS.surely_below * max_accepted;
    let counts = counts(levels, below);
    let search = LimitSearch::of(&counts, background(levels, below), weight(levels));
    let found = search.best(f64::from(packet));
    match found.filter(|found| found.is_sharp(&counts)) {
        Some(found) => {
            let (value, [lo, hi], drawn) = search.interval(&found, draws, rng);
            let fitted = Fitted::identified(value, drawn, evidence(QueueFinding::Limit, found.blur));
            fitted.at_least(lo, hi)
        }
        None if dropped.len() >= LIMITS.min_overflow_drops as usize => {
            let mut drops: Vec<f64> = dropped.iter().map(|level| level.bytes).collect();
            drops.sort_unstable_by(f64::total_cmp);
            let at = |share: f64| quantile_of_sorted(&drops, share).unwrap_or(max_accepted);
            let value = at(0.5);
            if value < LIMITS.min_blurred_drop * max_accepted {
                return Fitted::bounded(Some(max_accepted), None, evidence(QueueFinding::NoSharpLimit, 0.0));
            }
            let (lo, hi) = (at(0.1).min(max_accepted), at(0.9).max(max_accepted));
            let drawn = (0..draws).map(|_| lo + rng.uniform() * (hi - lo)).collect();
            Fitted::identified(value, drawn, evidence(QueueFinding::Limit, (hi - lo) / 2.0)).at_least(lo, hi)
        }
        None => Fitted::bounded(Some(max_accepted), None, evidence(QueueFinding::NeverFull, 0.0)),
    }
}

/// The limit of a queue with packets of others, of which these drops show nothing: at least the bytes that were seen.
/// `largest` are the largest backlogs by the delays, bytes.
pub fn of_shared_link(found: &Fitted<QueueLimit>, largest: impl Iterator<Item = f64>) -> Fitted<QueueLimit> {
    let by_delay = largest.fold(0.0, f64::max);
    let evidence = QueueLimit { finding: QueueFinding::SharedWithOthers, by_delay: Some(by_delay), ..found.evidence.clone() };
    Fitted::bounded(Some(found.evidence.max_accepted), None, evidence)
}

/// Number of groups of drops that are more than `overflow_ns` apart.
fn overflows(dropped: &[&Level]) -> usize {
    let apart = dropped.windows(2).filter(|w| w[1].at - w[0].at > LIMITS.overflow_ns).count();
    apart + usize::from(!dropped.is_empty())
}

/// Loss rate of the packets whose backlog was surely below the limit.
fn background(levels: &[Level], below: f64) -> f64 {
    let (mut all, mut lost) = (0.0, 0.0);
    for level in levels.iter().filter(|level| level.bytes < below) {
        all += 1.0;
        lost += f64::from(u8::from(level.lost));
    }
    ((lost + 0.5) / (all + 1.0f64)).clamp(1e-6, 0.5)
}

/// Losses of one overflow share its error: their share in the likelihood.
fn weight(levels: &[Level]) -> f64 {
    let lost: Vec<&Level> = levels.iter().filter(|level| level.lost).collect();
    (overflows(&lost) as f64 / lost.len().max(1) as f64).min(1.0)
}

/// Counts by level from `below` on, of at most `max_levels` levels.
fn counts(levels: &[Level], below: f64) -> Vec<LevelCount> {
    let mut sorted: Vec<(f64, bool)> = levels.iter().filter(|l| l.bytes >= below).map(|l| (l.bytes, l.lost)).collect();
    sorted.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let mut counts: Vec<LevelCount> = Vec::new();
    for (bytes, lost) in sorted {
        let (arrived, lost) = if lost { (0.0, 1.0) } else { (1.0, 0.0) };
        match counts.last_mut().filter(|count| count.bytes == bytes) {
            Some(count) => {
                count.arrived += arrived;
                count.lost += lost;
            }
            None => counts.push(LevelCount { bytes, arrived, lost }),
        }
    }
    let merged = counts.len().div_ceil(LIMITS.max_levels).max(1);
    counts
        .chunks(merged)
        .map(|chunk| {
            let arrived: f64 = chunk.iter().map(|count| count.arrived).sum();
            let lost: f64 = chunk.iter().map(|count| count.lost).sum();
            let bytes = chunk.iter().map(|count| count.bytes * (count.arrived + count.lost)).sum::<f64>() / (arrived + lost);
            LevelCount { bytes, arrived, lost }
        })
        .collect()
}

/// The likelihood of a limit between two neighbouring levels.
struct LimitSearch<'a> {
    counts: &'a [LevelCount],
    background: f64,
    weight: f64,
}

/// The most likely limit.
#[derive(Debug, Clone, Copy)]
struct BestLimit {
    /// The limit is between this level and the one before it.
    above: usize,
    blur: f64,
    log_likelihood: f64,
    /// 2 ln of the likelihood ratio against a constant loss rate.
    gain: f64,
}

impl BestLimit {
    fn is_sharp(&self, counts: &[LevelCount]) -> bool {
        let (lost, all) = counts[self.above..].iter().fold((0.0, 0.0), |sum, c| (sum.0 + c.lost, sum.1 + c.lost + c.arrived));
        self.gain >= LIMITS.min_limit_gain && lost >= f64::from(LIMITS.min_overflow_drops) && lost >= LIMITS.min_lost_above * all
    }
}

impl<'a> LimitSearch<'a> {
    fn of(counts: &'a [LevelCount], background: f64, weight: f64) -> LimitSearch<'a> {
        LimitSearch { counts, background, weight }
    }

    /// The limit below the level with this index.
    fn limit(&self, above: usize) -> f64 {
        match above.checked_sub(1) {
            Some(below) => (self.counts[below].bytes + self.counts[above].bytes) / 2.0,
            None => self.counts[above].bytes,
        }
    }

    fn log_likelihood(&self, limit: f64, blur: f64) -> f64 {
        let of_level = |count: &LevelCount| {
            let full = 0.5 * libm::erfc((limit - count.bytes) / (blur * std::f64::consts::SQRT_2));
            let lost = (self.background + (1.0 - self.background) * full).clamp(1e-9, 1.0 - 1e-9);
            count.lost * lost.ln() + count.arrived * (1.0 - lost).ln()
        };
        self.counts.iter().map(of_level).sum()
    }

    /// The scales of the blur that are tried, for packets of this length.
    fn blurs(packet: f64) -> [f64; 8] {
        [0.02, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0].map(|packets| packets * packet)
    }

    fn best(&self, packet: f64) -> Option<BestLimit> {
        let (lost, all) = self.counts.iter().fold((0.0, 0.0), |sum, c| (sum.0 + c.lost, sum.1 + c.lost + c.arrived));
        let first = self.counts.iter().position(|count| count.lost > 0.0)?;
        let term = |k: f64| if k > 0.0 { k * (k / all).ln() } else { 0.0 };
        let constant = term(lost) + term(all - lost);
        let limits = (first..self.counts.len()).flat_map(|above| LimitSearch::blurs(packet).map(|blur| (above, blur)));
        let best = limits
            .map(|(above, blur)| (above, blur, self.log_likelihood(self.limit(above), blur)))
            .max_by(|a, b| a.2.total_cmp(&b.2))?;
        let gain = 2.0 * self.weight * (best.2 - constant);
        Some(BestLimit { above: best.0, blur: best.1, log_likelihood: best.2, gain })
    }

    /// The value, the 95 % interval by profile likelihood and draws. All limits between two
    /// neighbouring levels are equally likely.
    fn interval(&self, best: &BestLimit, draws: usize, rng: &mut Rng) -> (f64, [f64; 2], Vec<f64>) {
        let packet = best.blur;
        let profile: Vec<(usize, f64)> = (1..self.counts.len())
            .map(|above| {
                let limit = self.limit(above);
                let blurs = [packet / 2.0, packet, packet * 2.0];
                (above, blurs.map(|blur| self.log_likelihood(limit, blur)).into_iter().fold(f64::NEG_INFINITY, f64::max))
            })
            .collect();
        let top = profile.iter().map(|p| p.1).fold(best.log_likelihood, f64::max);
        let drop = |log_likelihood: f64| 2.0 * self.weight * (top - log_likelihood);
        let likely = || profile.iter().filter(|p| drop(p.1) <= LIMITS.chi_squared_95);
        let lo = likely().map(|p| self.counts[p.0 - 1].bytes).fold(self.limit(best.above), f64::min);
        let hi = likely().map(|p| self.counts[p.0].bytes).fold(self.limit(best.above), f64::max);
        let weights: Vec<f64> = profile.iter().map(|p| libm::exp(-drop(p.1) / 2.0)).collect();
        let total: f64 = weights.iter().sum();
        let drawn = (0..draws)
            .map(|_| {
                let mut left = rng.uniform() * total;
                let index = weights.iter().position(|weight| {
                    left -= weight;
                    left < 0.0
                });
                let above = index.map_or(best.above, |index| profile[index].0);
                let (from, to) = (self.counts[above.saturating_sub(1)].bytes, self.counts[above].bytes);
                from + rng.uniform() * (to - from)
            })
            .collect();
        (self.limit(best.above), [lo, hi], drawn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;

    const MS: i64 = 1_000_000;
    const NS_PER_BYTE: f64 = 800.0;

    /// A sender with a sawtooth window over a droptail queue of `limit` bytes at 10 Mb/s and 20 ms;
    /// `late` delays departures on their way to the queue, `lost` packets are lost after it.
    fn link(limit: f64, late: impl Fn(usize) -> i64, lost: impl Fn(usize) -> bool) -> DirectionFacts {
        let mut free = 0i64;
        let mut sent = 0;
        let mut starts: Vec<(i64, f64)> = Vec::new();
        let packets = (0..20_000usize).map(|i| {
            // The sender is faster than the link for a while, then slower.
            sent += if (i / 1000).is_multiple_of(2) { 1_100_000 } else { 1_310_000 };
            let at = sent + late(i);
            starts.retain(|start| start.0 > at);
            let waiting: f64 = starts.iter().map(|start| start.1).sum();
            let begin = free.max(at);
            let outcome = if begin > at && waiting + 1500.0 > limit {
                Outcome::Lost { channel: 0.0 }
            } else {
                free = begin + 1_200_000;
                starts.push((begin, 1500.0));
                if lost(i) { Outcome::Lost { channel: 1.0 } } else { Outcome::Arrived(free + 20 * MS) }
            };
            LinkPacket { sent, len: 1500, outcome }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    fn fitted(facts: &DirectionFacts) -> Fitted<QueueLimit> {
        let arrivals: Vec<Option<f64>> = facts.packets.iter().map(|packet| Some(packet.arrival()? as f64)).collect();
        let levels = levels(facts, &arrivals, 20e6, ServiceTime::of(NS_PER_BYTE));
        estimate(&levels, 1500, 200, &mut Rng::for_element(1, "queue"))
    }

    #[test]
    fn limit_is_between_what_was_accepted_and_what_was_dropped() {
        for limit in [15_000.0, 64_000.0, 100_100.0] {
            let fit = fitted(&link(limit, |_| 0, |_| false));
            assert_eq!((fit.status, fit.evidence.finding), (Status::Identified, QueueFinding::Limit), "{fit:?}");
            let (lo, hi) = (fit.lo.unwrap(), fit.hi.unwrap());
            assert!(lo <= limit && limit <= hi && hi - lo <= 1500.0, "{lo} {limit} {hi}");
        }
    }

    #[test]
    fn limit_is_within_a_packet_of_its_interval_when_packets_reach_the_queue_late() {
        let late = |i: usize| ((i as f64 * 0.618_033_988_749_895).fract() * 1e6) as i64;
        let fit = fitted(&link(64_000.0, late, |i| i % 89 == 7));
        assert_eq!(fit.status, Status::Identified);
        let (lo, hi) = (fit.lo.unwrap(), fit.hi.unwrap());
        assert!(lo - 1500.0 <= 64_000.0 && 64_000.0 <= hi + 1500.0 && hi - lo < 9_000.0, "{lo} {hi} {:?}", fit.evidence);
    }

    #[test]
    fn backlog_of_a_super_segment_falls_while_it_is_served() {
        // Super-segments of 10 packets every 10 ms at 10 Mb/s: each arrives as a whole, 12 ms after it could.
        let packets = (0..400i64).map(|i| {
            let arrival = (i / 10 + 1) * 12 * MS + 20 * MS;
            LinkPacket { sent: i / 10 * 10 * MS, len: 1500, outcome: Outcome::Arrived(arrival) }
        });
        let facts = DirectionFacts { packets: packets.take(40).collect(), ..DirectionFacts::default() };
        let arrivals: Vec<Option<f64>> = facts.packets.iter().map(|packet| Some(packet.arrival()? as f64)).collect();
        let levels = levels(&facts, &arrivals, 20e6, ServiceTime::of(NS_PER_BYTE));
        // The second one finds 8 packets of the first served, one in service and one that waits.
        assert_eq!((levels[10].bytes, levels[19].bytes), (3000.0, 16_500.0), "{levels:?}");
    }

    #[test]
    fn limit_is_bounded_from_below_when_the_queue_never_overflowed() {
        let fit = fitted(&link(1e9, |_| 0, |i| i % 89 == 7));
        assert_eq!((fit.status, fit.evidence.finding), (Status::Bounded, QueueFinding::NeverFull));
        assert!(fit.lo.unwrap() > 60_000.0 && fit.hi.is_none(), "{fit:?}");
    }

    #[test]
    fn limit_is_not_found_when_drops_do_not_depend_on_the_backlog() {
        let mut facts = link(1e9, |_| 0, |i| i % 89 == 7);
        for packet in &mut facts.packets {
            if packet.is_lost() {
                packet.outcome = Outcome::Lost { channel: 0.0 };
            }
        }
        let fit = fitted(&facts);
        assert_eq!((fit.status, fit.evidence.finding), (Status::Bounded, QueueFinding::NoSharpLimit), "{fit:?}");
    }
}
