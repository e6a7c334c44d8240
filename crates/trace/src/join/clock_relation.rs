//! Relation of two capture clocks, estimated from the traffic. Packets in one direction bound the
//! offset from above, packets in the other from below, each by its delay (convex hulls as in Moon,
//! Skelly and Towsley's linear program, INFOCOM 1999, for both directions at once). The skew is the
//! rate at which minimum delays are constant (`skew`). Two-way traffic does not determine the
//! offset within its bounds.

use super::MatchedPair;
use super::fingerprint::{FingerprintRecorder, PacketFingerprint};
use super::match_flows::FlowMatch;
use super::skew::{self, MAX_SKEW, Point};
use std::collections::BTreeMap;

/// The second capture's clock relative to the first's. Offsets are in nanoseconds at the first
/// capture's first packet; rates are dimensionless.
#[derive(Debug, Clone, Copy)]
pub struct ClockRelation {
    origin: i64,
    /// Subtracted from all time differences, so that they are exact in floating point.
    base: i64,
    low: f64,
    high: f64,
    /// Midpoint of the bounds at the estimated rate.
    middle: f64,
    pub skew: f64,
    /// Rates at which minimum delays are constant within their noise.
    pub skew_interval: [f64; 2],
    /// The user declared both clocks correct; else the relation is estimated from the traffic.
    pub known: bool,
    /// Amount by which declared clocks give packets negative delays beyond their declared error,
    /// nanoseconds.
    pub conflict: f64,
    /// Reasons why the offset may be wrong by more than its assumption says.
    pub caveats: ClockCaveats,
}

/// Reasons why an estimated offset is less certain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ClockCaveats {
    /// Number of packets that overtook others and arrived sooner than any that did not. The bounds
    /// include them, the offset does not: the link gives them a path of their own.
    pub overtaking: usize,
    /// Number of packets whose timestamps no offset explains: captured later than they passed. They
    /// are left out.
    pub late_timestamps: usize,
}

/// Minimum number of packets of the most common length, unless half of all packets have it. Shorter
/// packets have shorter delays and would form a separate minimum.
const MIN_COMMON: usize = 200;

/// Time differences of matched packets in both directions.
pub struct DelayPoints {
    origin: i64,
    base: Option<i64>,
    /// Towards the second capture, and towards the first; without packets that overtake others.
    directions: [Vec<Point>; 2],
    /// Packets that overtake others of their flow.
    overtaking: [Vec<Point>; 2],
    /// Without packets shorter than the most common length.
    full_length: [Vec<Point>; 2],
}

impl DelayPoints {
    pub fn new(origin: i64) -> DelayPoints {
        let none = || [Vec::new(), Vec::new()];
        DelayPoints { origin, base: None, directions: none(), overtaking: none(), full_length: none() }
    }

    /// `forward` and `backward` have each packet's times by the first and by the second clock in
    /// nanoseconds, of packets towards the second capture and towards the first.
    pub fn of(forward: &[(i64, i64)], backward: &[(i64, i64)]) -> DelayPoints {
        let all = || forward.iter().chain(backward);
        let origin = all().map(|p| p.0).min().unwrap_or(0);
        let base = all().next().map(|p| p.1.saturating_sub(p.0));
        let point = |&(first, second): &(i64, i64)| {
            let difference = second.saturating_sub(first).saturating_sub(base.unwrap_or(0));
            (first.saturating_sub(origin) as f64, difference as f64)
        };
        let directions = [forward, backward].map(|direction| {
            let mut points: Vec<Point> = direction.iter().map(point).collect();
            points.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
            points
        });
        let full_length = directions.clone();
        DelayPoints { origin, base, full_length, directions, overtaking: [Vec::new(), Vec::new()] }
    }

    /// Adds a flow's matched packets by the side that sends. The direction with the larger time
    /// differences is that towards the second capture.
    pub fn add(&mut self, m: &FlowMatch, pairs: &[Vec<MatchedPair>; 2], a: &FingerprintRecorder, b: &FingerprintRecorder) {
        let Some(&(x, y)) = pairs[0].first().or(pairs[1].first()) else { return };
        let side = usize::from(pairs[0].is_empty());
        let (x, y) = (&m.in_first(a)[side][x as usize], &m.in_second(b)[m.side(side)][y as usize]);
        let base = *self.base.get_or_insert(y.at.saturating_sub(x.at));
        let points = [0, 1].map(|side| {
            let (ours, theirs) = (&m.in_first(a)[side], &m.in_second(b)[m.side(side)]);
            let common = common_len(pairs[side].iter().map(|pair| ours[pair.0 as usize].ip_len));
            let one = |&(x, y): &MatchedPair| {
                let (x, y) = (&ours[x as usize], &theirs[y as usize]);
                (point(self.origin, base, x, y), common.is_none_or(|len| x.ip_len >= len))
            };
            let mut all: Vec<(Point, bool)> = pairs[side].iter().map(one).collect();
            all.sort_unstable_by(|p, q| p.0.0.total_cmp(&q.0.0));
            all
        });
        let order = match first_is_larger(&points[0], &points[1]) {
            Some(true) => [0, 1],
            Some(false) => [1, 0],
            None => return,
        };
        for (direction, side) in order.into_iter().enumerate() {
            let overtakes = overtaking(&points[side], direction == 0);
            let of = |wanted: bool| {
                points[side].iter().zip(&overtakes).filter(move |(_, overtakes)| **overtakes == wanted).map(|(p, _)| *p)
            };
            self.directions[direction].extend(of(false).map(|p| p.0));
            self.overtaking[direction].extend(of(true).map(|p| p.0));
            self.full_length[direction].extend(of(false).filter(|p| p.1).map(|p| p.0));
        }
    }

    /// Estimates the relation; none if packets of one direction are missing or no constant rate
    /// explains the times.
    pub fn clock(self) -> Option<ClockRelation> {
        let in_order = Bounds::of(&self.directions)?;
        let (in_order, mut caveats) = match in_order.widest()?.1 >= 0.0 {
            true => (in_order, ClockCaveats::default()),
            false => self.without_late_timestamps(&in_order)?,
        };
        let (widest, _) = in_order.widest()?;
        let possible = rates_with_gap(&|skew| in_order.gap(skew), widest);
        let estimate = skew::estimate(&self.full_length[0], &self.full_length[1], possible, widest);
        let [first, last] = estimate.interval.map(|rate| rate.clamp(possible[0], possible[1]));
        // Packets that overtake others bound the offset as well, unless their timestamps are late.
        let all = [0, 1].map(|i| [&self.directions[i][..], &self.overtaking[i][..]].concat());
        let all = Bounds::of(&all).filter(|all| caveats.late_timestamps == 0 && all.gap(estimate.rate) >= 0.0);
        let bounds = all.as_ref().unwrap_or(&in_order);
        // The bounds are extreme at the ends of the interval of rates or at corners of the hulls.
        let corners = bounds.slopes();
        let rates: Vec<f64> = corners.filter(|s| (first..=last).contains(s)).chain([first, estimate.rate, last]).collect();
        let (below, above) = (in_order.low(estimate.rate), in_order.high(estimate.rate));
        caveats.overtaking = self.sooner_than_in_order(estimate.rate, [above, below]);
        Some(ClockRelation {
            origin: self.origin,
            base: self.base?,
            low: rates.iter().map(|&s| bounds.low(s)).fold(f64::INFINITY, f64::min),
            high: rates.iter().map(|&s| bounds.high(s)).fold(f64::NEG_INFINITY, f64::max),
            middle: (below + above) / 2.0,
            skew: estimate.rate,
            skew_interval: estimate.interval,
            known: false,
            conflict: 0.0,
            caveats,
        })
    }

    /// The bounds without the packets with the smallest delays, of which the timestamps of one
    /// capture are late; none if more than `MAX_LATE` of the packets were late, or by more than a
    /// host delays a timestamp.
    fn without_late_timestamps(&self, all: &Bounds) -> Option<(Bounds, ClockCaveats)> {
        let (rate, gap) = all.widest()?;
        if gap < -MAX_LATENESS_NS {
            return None;
        }
        LATE_SHARES.into_iter().find_map(|share| {
            let mut left_out = 0;
            let kept = [(0, 1.0), (1, -1.0)].map(|(direction, sign)| {
                let mut points = self.directions[direction].clone();
                let count = (points.len() as f64 * share) as usize;
                points.sort_unstable_by(|p, q| (sign * (p.1 - rate * p.0)).total_cmp(&(sign * (q.1 - rate * q.0))));
                left_out += count;
                points.split_off(count.min(points.len()))
            });
            let bounds = Bounds::of(&kept)?;
            (bounds.widest()?.1 >= 0.0).then_some((bounds, ClockCaveats { late_timestamps: left_out, ..ClockCaveats::default() }))
        })
    }

    /// Number of packets that overtook others and have clearly smaller delays than any that did not.
    fn sooner_than_in_order(&self, rate: f64, [above, below]: [f64; 2]) -> usize {
        let value = |p: &Point| p.1 - rate * p.0;
        let sooner = self.overtaking[0].iter().filter(|p| value(p) < above - CLEARLY_SOONER_NS).count();
        sooner + self.overtaking[1].iter().filter(|p| value(p) > below + CLEARLY_SOONER_NS).count()
    }
}

/// Shares of the packets that are left out for late timestamps, until the others agree.
const LATE_SHARES: [f64; 4] = [0.001, 0.01, 0.05, 0.2];
/// Maximum contradiction of two packets for which late timestamps are the reason; more is a clock
/// that was set.
const MAX_LATENESS_NS: f64 = 20_000_000.0;
/// Minimum difference of a packet that overtook others from the minimum delay; less is jitter.
const CLEARLY_SOONER_NS: f64 = 1_000_000.0;

/// Convex hulls of the time differences: the offset is below `above` and above `below`.
struct Bounds {
    above: Vec<Point>,
    below: Vec<Point>,
}

impl Bounds {
    /// None if a direction has no packets.
    fn of(directions: &[Vec<Point>; 2]) -> Option<Bounds> {
        let bounds = Bounds { above: hull(directions[0].clone(), false), below: hull(directions[1].clone(), true) };
        (!bounds.above.is_empty() && !bounds.below.is_empty()).then_some(bounds)
    }

    fn low(&self, skew: f64) -> f64 {
        max_offset(&self.below, skew)
    }

    fn high(&self, skew: f64) -> f64 {
        min_offset(&self.above, skew)
    }

    fn gap(&self, skew: f64) -> f64 {
        self.high(skew) - self.low(skew)
    }

    fn slopes(&self) -> impl Iterator<Item = f64> + '_ {
        self.above.windows(2).chain(self.below.windows(2)).map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0))
    }

    /// The rate with the largest gap between the bounds, and the gap.
    fn widest(&self) -> Option<(f64, f64)> {
        let rates = self.slopes().chain([0.0]).filter(|s| s.abs() <= MAX_SKEW);
        rates.map(|rate| (rate, self.gap(rate))).max_by(|x, y| x.1.total_cmp(&y.1))
    }
}

/// For each packet of a flow's direction whether it overtakes another one. `points` are in order of
/// the first capture, `first_to_second` if that is the order of departure.
fn overtaking(points: &[(Point, bool)], first_to_second: bool) -> Vec<bool> {
    let arrival = |p: &(Point, bool)| p.0.0 + p.0.1;
    if first_to_second {
        let mut latest = f64::NEG_INFINITY;
        let overtakes = points.iter().map(|p| {
            let overtakes = arrival(p) < latest;
            latest = latest.max(arrival(p));
            overtakes
        });
        return overtakes.collect();
    }
    // Here `arrival` is the departure: a packet overtakes if one with an earlier departure comes
    // after it.
    let mut earliest = f64::INFINITY;
    let mut overtakes: Vec<bool> = points
        .iter()
        .rev()
        .map(|p| {
            let overtakes = arrival(p) > earliest;
            earliest = earliest.min(arrival(p));
            overtakes
        })
        .collect();
    overtakes.reverse();
    overtakes
}

/// The most common length, if enough packets have it.
fn common_len(lengths: impl Iterator<Item = u32>) -> Option<u32> {
    let (mut counts, mut all) = (BTreeMap::<u32, usize>::new(), 0);
    for len in lengths {
        *counts.entry(len).or_default() += 1;
        all += 1;
    }
    let (len, count) = counts.into_iter().max_by_key(|&(_, count)| count)?;
    (count >= MIN_COMMON || count * 2 >= all).then_some(len)
}

fn point(origin: i64, base: i64, ours: &PacketFingerprint, theirs: &PacketFingerprint) -> Point {
    let x = ours.at.saturating_sub(origin) as f64;
    (x, theirs.at.saturating_sub(ours.at).saturating_sub(base) as f64)
}

/// True if most values of the first list are larger than the nearest later ones of the second. None
/// if undecided.
fn first_is_larger(first: &[(Point, bool)], second: &[(Point, bool)]) -> Option<bool> {
    let (mut above, mut below, mut j) = (0u64, 0u64, 0);
    if second.is_empty() {
        return None;
    }
    for &((x, y), _) in first {
        while j + 1 < second.len() && second[j].0.0 < x {
            j += 1;
        }
        above += u64::from(y > second[j].0.1);
        below += u64::from(y < second[j].0.1);
    }
    (above != below).then_some(above > below)
}

/// The lower convex hull of the points; the upper one if `upper`.
fn hull(mut points: Vec<Point>, upper: bool) -> Vec<Point> {
    let sign = if upper { -1.0 } else { 1.0 };
    points.sort_unstable_by(|p, q| p.0.total_cmp(&q.0).then((sign * p.1).total_cmp(&(sign * q.1))));
    points.dedup_by_key(|p| p.0);
    let mut out: Vec<Point> = Vec::new();
    for p in points {
        while let [.., a, b] = out[..]
            && sign * ((b.1 - a.1) * (p.0 - a.0) - (p.1 - a.1) * (b.0 - a.0)) >= 0.0
        {
            out.pop();
        }
        out.push(p);
    }
    out
}

fn min_offset(points: &[Point], skew: f64) -> f64 {
    points.iter().map(|p| p.1 - skew * p.0).fold(f64::INFINITY, f64::min)
}

fn max_offset(points: &[Point], skew: f64) -> f64 {
    points.iter().map(|p| p.1 - skew * p.0).fold(f64::NEG_INFINITY, f64::max)
}

/// The interval of rates with a non-negative gap between the bounds. The gap is concave and largest
/// at `widest`.
fn rates_with_gap(gap: &impl Fn(f64) -> f64, widest: f64) -> [f64; 2] {
    [-MAX_SKEW, MAX_SKEW].map(|far| {
        if gap(far) >= 0.0 {
            return far;
        }
        let (mut inside, mut outside) = (widest, far);
        for _ in 0..60 {
            let middle = (inside + outside) / 2.0;
            *(if gap(middle) >= 0.0 { &mut inside } else { &mut outside }) = middle;
        }
        inside
    })
}

impl ClockRelation {
    /// Two clocks declared correct within `error` nanoseconds; `estimated` is their relation by the
    /// traffic.
    pub fn known(origin: i64, error: f64, estimated: Option<&ClockRelation>) -> ClockRelation {
        let [low, high] = estimated.map_or([-error, error], ClockRelation::offset_interval);
        let conflict = (low - error).max(-error - high).max(0.0);
        let (skew, skew_interval) = (0.0, [0.0; 2]);
        ClockRelation {
            origin,
            base: 0,
            low: -error,
            high: error,
            middle: 0.0,
            skew,
            skew_interval,
            known: true,
            conflict,
            caveats: ClockCaveats::default(),
        }
    }

    /// Offsets at which no packet has a negative delay, nanoseconds.
    pub fn offset_interval(&self) -> [f64; 2] {
        [self.low + self.base as f64, self.high + self.base as f64]
    }

    /// The offset if the minimum delays of both directions are equal, nanoseconds.
    pub fn offset(&self) -> f64 {
        self.middle + self.base as f64
    }

    /// Delay of a packet from the first capture point to the second in nanoseconds, under the
    /// symmetric offset. Negative for a packet in the other direction.
    pub fn delay(&self, first: i64, second: i64) -> i64 {
        let since = first.saturating_sub(self.origin) as f64;
        let difference = second.saturating_sub(first).saturating_sub(self.base);
        difference.saturating_sub((self.middle + self.skew * since) as i64)
    }

    /// Converts a time of the first capture to the second's clock, or of the second to the first's.
    pub fn convert(&self, at: i64, first_to_second: bool) -> i64 {
        let first = if first_to_second { at } else { at.saturating_sub(self.base) };
        let offset = self.delay(first, first);
        if first_to_second { at.saturating_sub(offset) } else { at.saturating_add(offset) }
    }

    /// True if the packets go from the first capture point to the second. None without packets.
    pub fn is_first_to_second(
        &self,
        ours: &[PacketFingerprint],
        theirs: &[PacketFingerprint],
        pairs: &[MatchedPair],
    ) -> Option<bool> {
        let forward = pairs.iter().filter(|&&(x, y)| self.delay(ours[x as usize].at, theirs[y as usize].at) > 0).count();
        (!pairs.is_empty()).then_some(forward * 2 > pairs.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Times by both clocks, of packets every 10 ms with this delay in one direction and in the other.
    fn points(delay: impl Fn(i64) -> i64) -> DelayPoints {
        let forward: Vec<(i64, i64)> = (0..1000).map(|i| (i * 10 * MS, i * 10 * MS + delay(i))).collect();
        let backward: Vec<(i64, i64)> = (0..1000).map(|i| (i * 10 * MS + delay(i), i * 10 * MS)).collect();
        DelayPoints::of(&forward, &backward)
    }

    // finding("C5")
    #[test]
    fn clock_is_estimated_when_few_timestamps_are_later_than_the_delay() {
        // The path takes 0.1 ms; the sender's capture is late by 2 ms once in 200 packets.
        let late = |i: i64| MS / 10 - if i % 200 == 77 { 2 * MS } else { 0 };
        let clock = points(late).clock().unwrap();
        assert!(clock.offset().abs() < 1e5 && clock.caveats.late_timestamps > 0, "{clock:?}");
        assert_eq!(points(|_| MS / 10).clock().unwrap().caveats, ClockCaveats::default());
    }

    #[test]
    fn clock_is_none_when_a_clock_is_set_during_the_capture() {
        assert!(points(|i| if i < 500 { MS } else { -100 * MS }).clock().is_none());
    }
}
