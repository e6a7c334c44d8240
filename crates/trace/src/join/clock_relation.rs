//! Two clocks compared by the traffic itself. Packets one direction bound the difference from above, packets the other direction from below, each
//! by its delay (the convex hulls of Moon, Skelly and Towsley's linear program, INFOCOM 1999, for both directions at once). Their rate is where least delays are
//! level (`skew`). Where between the bounds the offset lies cannot be told from two-direction traffic.

use super::Pair;
use super::fingerprint::{FingerprintRecorder, PacketFingerprint};
use super::match_flows::FlowMatch;
use super::skew::{self, MOST_SKEW, Point};
use std::collections::BTreeMap;

/// The second capture's clock against the first's. Nanoseconds at the first capture's first packet; rates are pure numbers.
#[derive(Debug, Clone, Copy)]
pub struct ClockRelation {
    origin: i64,
    /// CaptureSide off all differences, so that they are small enough for exact arithmetic.
    base: i64,
    low: f64,
    high: f64,
    /// Half direction between the bounds at the rate found.
    middle: f64,
    pub skew: f64,
    /// Rates at which least delays are as level as they can be, within their noise.
    pub skew_interval: [f64; 2],
    /// Both clocks are said to be right; else what the traffic shows.
    pub known: bool,
    /// Nanoseconds by which known clocks make some packet arrive before it was sent, beyond the error that they are said to have.
    pub conflict: f64,
}

/// A usual length is that of so many packets, or of half of all. Shorter ones take less time and come now and then: they would be a floor of their own.
const ENOUGH_ALIKE: usize = 200;

/// Differences of matched packets' times: towards the second capture, and towards the first.
pub struct DelayPoints {
    origin: i64,
    base: Option<i64>,
    /// Towards the second capture, and back.
    directions: [Vec<Point>; 2],
    /// Without those that are shorter than usual.
    alike: [Vec<Point>; 2],
}

impl DelayPoints {
    pub fn new(origin: i64) -> DelayPoints {
        DelayPoints { origin, base: None, directions: [Vec::new(), Vec::new()], alike: [Vec::new(), Vec::new()] }
    }

    /// From packets' times by the two clocks, the first's first: of those that went towards the second, and of those that came back.
    /// Nanoseconds.
    pub fn of(first_to_second: &[(i64, i64)], back: &[(i64, i64)]) -> DelayPoints {
        let all = || first_to_second.iter().chain(back);
        let origin = all().map(|p| p.0).min().unwrap_or(0);
        let base = all().next().map(|p| p.1.saturating_sub(p.0));
        let point = |&(first, second): &(i64, i64)| {
            let difference = second.saturating_sub(first).saturating_sub(base.unwrap_or(0));
            (first.saturating_sub(origin) as f64, difference as f64)
        };
        let directions = [first_to_second, back].map(|direction| {
            let mut points: Vec<Point> = direction.iter().map(point).collect();
            points.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
            points
        });
        DelayPoints { origin, base, alike: directions.clone(), directions }
    }

    /// A flow's pairs by the side that sends. Whichever side's differences are larger goes towards the second capture.
    pub fn add(&mut self, p: &FlowMatch, pairs: &[Vec<Pair>; 2], a: &FingerprintRecorder, b: &FingerprintRecorder) {
        let Some(&(x, y)) = pairs[0].first().or(pairs[1].first()) else { return };
        let side = usize::from(pairs[0].is_empty());
        let (x, y) = (&a.flows[p.first][side][x as usize], &b.flows[p.second][p.side(side)][y as usize]);
        let base = *self.base.get_or_insert(y.at.saturating_sub(x.at));
        let points = [0, 1].map(|side| {
            let (ours, theirs) = (&a.flows[p.first][side], &b.flows[p.second][p.side(side)]);
            let usual = usual(pairs[side].iter().map(|pair| ours[pair.0 as usize].ip_len));
            let one = |&(x, y): &Pair| {
                let (x, y) = (&ours[x as usize], &theirs[y as usize]);
                (point(self.origin, base, x, y), usual.is_none_or(|len| x.ip_len >= len))
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
            self.alike[direction].extend(points[side].iter().filter(|p| p.1).map(|p| p.0));
        }
    }

    pub fn clock(self) -> Option<ClockRelation> {
        let [first_to_second, back] = self.directions;
        let (above, below) = (hull(first_to_second, false), hull(back, true));
        if above.is_empty() || below.is_empty() {
            return None;
        }
        let room = |skew: f64| least(&above, skew) - most(&below, skew);
        let slopes = above.windows(2).chain(below.windows(2)).map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0));
        let widest = slopes.chain([0.0]).filter(|s| s.abs() <= MOST_SKEW).max_by(|x, y| room(*x).total_cmp(&room(*y)))?;
        if room(widest) < 0.0 {
            return None;
        }
        let possible = possible(&room, widest);
        let found = skew::estimate(&self.alike[0], &self.alike[1], possible, widest);
        let [first, last] = found.interval.map(|rate| rate.clamp(possible[0], possible[1]));
        let corners = above.windows(2).chain(below.windows(2)).map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0));
        // A bound is farthest out at an end of the interval of rates or where it goes over from one packet to the next.
        let rates: Vec<f64> = corners.filter(|s| (first..=last).contains(s)).chain([first, found.rate, last]).collect();
        Some(ClockRelation {
            origin: self.origin,
            base: self.base?,
            low: rates.iter().map(|&s| most(&below, s)).fold(f64::INFINITY, f64::min),
            high: rates.iter().map(|&s| least(&above, s)).fold(f64::NEG_INFINITY, f64::max),
            middle: (most(&below, found.rate) + least(&above, found.rate)) / 2.0,
            skew: found.rate,
            skew_interval: found.interval,
            known: false,
            conflict: 0.0,
        })
    }
}

/// The length that most packets have, if it is that of enough of them.
fn usual(lengths: impl Iterator<Item = u32>) -> Option<u32> {
    let (mut counts, mut all) = (BTreeMap::<u32, usize>::new(), 0);
    for len in lengths {
        *counts.entry(len).or_default() += 1;
        all += 1;
    }
    let (len, count) = counts.into_iter().max_by_key(|&(_, count)| count)?;
    (count >= ENOUGH_ALIKE || count * 2 >= all).then_some(len)
}

fn point(origin: i64, base: i64, ours: &PacketFingerprint, theirs: &PacketFingerprint) -> Point {
    let x = ours.at.saturating_sub(origin) as f64;
    (x, theirs.at.saturating_sub(ours.at).saturating_sub(base) as f64)
}

/// Of two lists over time, whether the first's values are above those of the second's next in time, mostly.
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

/// The lower hull of points in any order; the upper one if `upper`.
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

fn least(points: &[Point], skew: f64) -> f64 {
    points.iter().map(|p| p.1 - skew * p.0).fold(f64::INFINITY, f64::min)
}

fn most(points: &[Point], skew: f64) -> f64 {
    points.iter().map(|p| p.1 - skew * p.0).fold(f64::NEG_INFINITY, f64::max)
}

/// The rates around the one with most room that leave any; the room is concave.
fn possible(room: &impl Fn(f64) -> f64, widest: f64) -> [f64; 2] {
    [-MOST_SKEW, MOST_SKEW].map(|far| {
        if room(far) >= 0.0 {
            return far;
        }
        let (mut inside, mut outside) = (widest, far);
        for _ in 0..60 {
            let middle = (inside + outside) / 2.0;
            *(if room(middle) >= 0.0 { &mut inside } else { &mut outside }) = middle;
        }
        inside
    })
}

impl ClockRelation {
    /// Two clocks that are right to within `error` nanoseconds; `by_traffic` is what their packets say.
    pub fn known(origin: i64, error: f64, by_traffic: Option<&ClockRelation>) -> ClockRelation {
        let [low, high] = by_traffic.map_or([-error, error], ClockRelation::offset_interval);
        let conflict = (low - error).max(-error - high).max(0.0);
        let (skew, skew_interval) = (0.0, [0.0; 2]);
        ClockRelation { origin, base: 0, low: -error, high: error, middle: 0.0, skew, skew_interval, known: true, conflict }
    }

    /// Offsets that give no packet a negative delay, nanoseconds.
    pub fn offset_interval(&self) -> [f64; 2] {
        [self.low + self.base as f64, self.high + self.base as f64]
    }

    /// The offset if the least delays of both directions are equal.
    pub fn offset(&self) -> f64 {
        self.middle + self.base as f64
    }

    /// The delay of a packet from the first capture to the second, which is negative for one that goes the other direction. Nanoseconds, under the
    /// symmetric offset.
    pub fn delay(&self, first: i64, second: i64) -> i64 {
        let since = first.saturating_sub(self.origin) as f64;
        let difference = second.saturating_sub(first).saturating_sub(self.base);
        difference.saturating_sub((self.middle + self.skew * since) as i64)
    }

    /// A time of the first capture by the second's clock, or the other direction round.
    pub fn across(&self, at: i64, first_to_second: bool) -> i64 {
        let here = if first_to_second { at } else { at.saturating_sub(self.base) };
        let gap = self.delay(here, here);
        if first_to_second { at.saturating_sub(gap) } else { at.saturating_add(gap) }
    }

    /// True if these packets go from the first capture to the second. None without packets.
    pub fn is_first_to_second(&self, ours: &[PacketFingerprint], theirs: &[PacketFingerprint], pairs: &[Pair]) -> Option<bool> {
        let later = pairs.iter().filter(|&&(x, y)| self.delay(ours[x as usize].at, theirs[y as usize].at) > 0).count();
        (!pairs.is_empty()).then_some(later * 2 > pairs.len())
    }
}
