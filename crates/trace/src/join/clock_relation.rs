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
}

/// Minimum number of packets of the most common length, unless half of all packets have it. Shorter
/// packets have shorter delays and would form a separate minimum.
const MIN_COMMON: usize = 200;

/// Time differences of matched packets in both directions.
pub struct DelayPoints {
    origin: i64,
    base: Option<i64>,
    /// Towards the second capture, and towards the first.
    directions: [Vec<Point>; 2],
    /// Without packets shorter than the most common length.
    full_length: [Vec<Point>; 2],
}

impl DelayPoints {
    pub fn new(origin: i64) -> DelayPoints {
        DelayPoints { origin, base: None, directions: [Vec::new(), Vec::new()], full_length: [Vec::new(), Vec::new()] }
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
        DelayPoints { origin, base, full_length: directions.clone(), directions }
    }

    /// Adds a flow's matched packets by the side that sends. The direction with the larger time
    /// differences is that towards the second capture.
    pub fn add(&mut self, m: &FlowMatch, pairs: &[Vec<MatchedPair>; 2], a: &FingerprintRecorder, b: &FingerprintRecorder) {
        let Some(&(x, y)) = pairs[0].first().or(pairs[1].first()) else { return };
        let side = usize::from(pairs[0].is_empty());
        let (x, y) = (&a.flows[m.first][side][x as usize], &b.flows[m.second][m.side(side)][y as usize]);
        let base = *self.base.get_or_insert(y.at.saturating_sub(x.at));
        let points = [0, 1].map(|side| {
            let (ours, theirs) = (&a.flows[m.first][side], &b.flows[m.second][m.side(side)]);
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
            self.directions[direction].extend(points[side].iter().map(|p| p.0));
            self.full_length[direction].extend(points[side].iter().filter(|p| p.1).map(|p| p.0));
        }
    }

    /// Estimates the relation; none if packets of one direction are missing or no constant rate
    /// explains the times.
    pub fn clock(self) -> Option<ClockRelation> {
        let [forward, backward] = self.directions;
        let (above, below) = (hull(forward, false), hull(backward, true));
        if above.is_empty() || below.is_empty() {
            return None;
        }
        let gap = |skew: f64| min_offset(&above, skew) - max_offset(&below, skew);
        let slopes = above.windows(2).chain(below.windows(2)).map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0));
        let widest = slopes.chain([0.0]).filter(|s| s.abs() <= MAX_SKEW).max_by(|x, y| gap(*x).total_cmp(&gap(*y)))?;
        if gap(widest) < 0.0 {
            return None;
        }
        let possible = rates_with_gap(&gap, widest);
        let estimate = skew::estimate(&self.full_length[0], &self.full_length[1], possible, widest);
        let [first, last] = estimate.interval.map(|rate| rate.clamp(possible[0], possible[1]));
        let corners = above.windows(2).chain(below.windows(2)).map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0));
        // The bounds are extreme at the ends of the interval of rates or at corners of the hulls.
        let rates: Vec<f64> = corners.filter(|s| (first..=last).contains(s)).chain([first, estimate.rate, last]).collect();
        Some(ClockRelation {
            origin: self.origin,
            base: self.base?,
            low: rates.iter().map(|&s| max_offset(&below, s)).fold(f64::INFINITY, f64::min),
            high: rates.iter().map(|&s| min_offset(&above, s)).fold(f64::NEG_INFINITY, f64::max),
            middle: (max_offset(&below, estimate.rate) + min_offset(&above, estimate.rate)) / 2.0,
            skew: estimate.rate,
            skew_interval: estimate.interval,
            known: false,
            conflict: 0.0,
        })
    }
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
        ClockRelation { origin, base: 0, low: -error, high: error, middle: 0.0, skew, skew_interval, known: true, conflict }
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
