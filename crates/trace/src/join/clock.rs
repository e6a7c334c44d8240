//! Two clocks compared by the traffic itself. Packets one way bound the difference from above, packets the other way from below, each
//! by its delay. The rate is near the one that leaves most room between the two (the convex-hull form of Moon, Skelly and Towsley's linear
//! program, INFOCOM 1999, for both directions at once). That one hangs on a few extreme delays, so among the rates that leave nearly as much
//! room the one is taken at which the least delays over the whole time are steadiest. Where in that room the offset lies cannot be told from two-way traffic.

use super::Pair;
use super::flows::Partner;
use super::marks::{Mark, Recorder};

/// The second capture's clock against the first's. Nanoseconds at the first capture's first packet; rates are pure numbers.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    origin: i64,
    /// Taken off all differences, so that they are small enough for exact arithmetic.
    base: i64,
    low: f64,
    high: f64,
    pub skew: f64,
    /// Rates that need delays to be uneven by no more than `HOST_NOISE_NS`.
    pub skew_interval: [f64; 2],
    /// Both clocks are said to be right; else what the traffic shows.
    pub known: bool,
    /// Nanoseconds by which known clocks make some packet arrive before it was sent, beyond the error that they are said to have.
    pub conflict: f64,
}

/// No quartz is off by more: 1 %.
const MOST_SKEW: f64 = 0.01;
/// What a stamp's last digit may hide.
const RESOLUTION_NS: f64 = 2_000.0;
/// How even the least delays of real hosts are.
const HOST_NOISE_NS: f64 = 50_000.0;

/// Parts of the time that are compared with each other.
const PARTS: usize = 32;
/// A least delay so far from the others has a queue in it.
const QUEUED_NS: f64 = 100_000.0;
/// Rates tried over a range, and how far to each side of the best.
const STEPS: u32 = 200;
const CLOSE: f64 = 3e-6;

/// A time and a difference of clocks.
type Point = (f64, f64);

/// Differences of matched packets' times: towards the second capture, and towards the first.
pub struct Points {
    origin: i64,
    base: Option<i64>,
    onward: Vec<Point>,
    back: Vec<Point>,
}

impl Points {
    pub fn new(origin: i64) -> Points {
        Points { origin, base: None, onward: Vec::new(), back: Vec::new() }
    }

    /// From packets' times by the two clocks, the first's first: of those that went towards the second, and of those that came back.
    /// Nanoseconds.
    pub fn of(onward: &[(i64, i64)], back: &[(i64, i64)]) -> Points {
        let all = || onward.iter().chain(back);
        let origin = all().map(|p| p.0).min().unwrap_or(0);
        let base = all().next().map(|p| p.1.saturating_sub(p.0));
        let point = |&(first, second): &(i64, i64)| {
            let difference = second.saturating_sub(first).saturating_sub(base.unwrap_or(0));
            (first.saturating_sub(origin) as f64, difference as f64)
        };
        let [onward, back] = [onward, back].map(|way| {
            let mut points: Vec<Point> = way.iter().map(point).collect();
            points.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
            points
        });
        Points { origin, base, onward, back }
    }

    /// A flow's pairs by the side that sends. Whichever side's differences are larger goes towards the second capture.
    pub fn add(&mut self, p: &Partner, pairs: &[Vec<Pair>; 2], a: &Recorder, b: &Recorder) {
        let Some(&(x, y)) = pairs[0].first().or(pairs[1].first()) else { return };
        let side = usize::from(pairs[0].is_empty());
        let (x, y) = (&a.flows[p.first][side][x as usize], &b.flows[p.second][p.side(side)][y as usize]);
        let base = *self.base.get_or_insert(y.at.saturating_sub(x.at));
        let points = [0, 1].map(|side| {
            let (ours, theirs) = (&a.flows[p.first][side], &b.flows[p.second][p.side(side)]);
            let mut all: Vec<Point> =
                pairs[side].iter().map(|&(x, y)| point(self.origin, base, &ours[x as usize], &theirs[y as usize])).collect();
            all.sort_unstable_by(|p, q| p.0.total_cmp(&q.0));
            all
        });
        let [low, high] = points;
        match first_is_larger(&low, &high) {
            Some(true) => {
                self.onward.extend(low);
                self.back.extend(high);
            }
            Some(false) => {
                self.onward.extend(high);
                self.back.extend(low);
            }
            None => {}
        }
    }

    pub fn clock(self) -> Option<Clock> {
        let (above, below) = (hull(self.onward.clone(), false), hull(self.back.clone(), true));
        if above.is_empty() || below.is_empty() {
            return None;
        }
        let room = |skew: f64| least(&above, skew) - most(&below, skew);
        let slopes = above.windows(2).chain(below.windows(2)).map(|w| (w[1].1 - w[0].1) / (w[1].0 - w[0].0));
        let best = slopes.chain([0.0]).filter(|s| s.abs() <= MOST_SKEW).max_by(|x, y| room(*x).total_cmp(&room(*y)))?;
        if room(best) < 0.0 {
            return None;
        }
        let [low, high] = span(&room, best, RESOLUTION_NS);
        let skew_interval = span(&room, best, HOST_NOISE_NS);
        let skew = steadiest([&minima(&self.onward, best, 1.0), &minima(&self.back, best, -1.0)], skew_interval, &room);
        let at = |skew: f64| (most(&below, skew), least(&above, skew));
        let (edges, middle) = ([at(low), at(high)], at(skew));
        Some(Clock {
            origin: self.origin,
            base: self.base?,
            low: edges[0].0.min(edges[1].0).min(middle.0),
            high: edges[0].1.max(edges[1].1).max(middle.1),
            skew,
            skew_interval,
            known: false,
            conflict: 0.0,
        })
    }
}

fn point(origin: i64, base: i64, ours: &Mark, theirs: &Mark) -> Point {
    let x = ours.at.saturating_sub(origin) as f64;
    (x, theirs.at.saturating_sub(ours.at).saturating_sub(base) as f64)
}

/// Of two lists over time, whether the first's values are above those of the second's next in time, mostly.
fn first_is_larger(first: &[Point], second: &[Point]) -> Option<bool> {
    let (mut above, mut below, mut j) = (0u64, 0u64, 0);
    if second.is_empty() {
        return None;
    }
    for &(x, y) in first {
        while j + 1 < second.len() && second[j].0 < x {
            j += 1;
        }
        above += u64::from(y > second[j].1);
        below += u64::from(y < second[j].1);
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

/// The rates around the best one at which the room is smaller by `loss` at most; the room is concave.
fn span(room: &impl Fn(f64) -> f64, best: f64, loss: f64) -> [f64; 2] {
    let enough = room(best) - loss;
    [-MOST_SKEW, MOST_SKEW].map(|far| {
        if room(far) >= enough {
            return far;
        }
        let (mut inside, mut outside) = (best, far);
        for _ in 0..60 {
            let middle = (inside + outside) / 2.0;
            *(if room(middle) >= enough { &mut inside } else { &mut outside }) = middle;
        }
        inside
    })
}

/// The least delays of each part of the time, as they are at one rate; `sign` is -1 for packets that go back.
fn minima(points: &[Point], skew: f64, sign: f64) -> Vec<Point> {
    let value = |p: &Point| sign * (p.1 - skew * p.0);
    let (from, to) = points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p.0), b.max(p.0)));
    let mut parts: [Option<Point>; PARTS] = [None; PARTS];
    for p in points {
        let part = &mut parts[((p.0 - from) / (to - from + 1.0) * PARTS as f64) as usize % PARTS];
        if part.is_none_or(|least| value(p) < value(&least)) {
            *part = Some(*p);
        }
    }
    parts.into_iter().flatten().collect()
}

/// Within a range of rates the one at which the least delays of the parts differ least from each way's common level. Parts in which a
/// queue stood throughout are far from it, count as that and no more, and so have no say.
fn steadiest(minima: [&[Point]; 2], range: [f64; 2], room: &impl Fn(f64) -> f64) -> f64 {
    let unrest = |skew: f64| -> f64 {
        let one_way = |points: &&[Point]| {
            let levels: Vec<f64> = points.iter().map(|p| p.1 - skew * p.0).collect();
            let around = |level: f64| levels.iter().map(|l| (l - level).abs().min(QUEUED_NS)).sum::<f64>();
            levels.iter().map(|&level| around(level)).fold(f64::INFINITY, f64::min)
        };
        // Room given up counts as much as unrest of the average part: where few packets give noisy parts, room decides.
        minima.iter().map(one_way).sum::<f64>() / PARTS as f64 - room(skew)
    };
    // A range of thousands of parts in a million is wide where a queue stands to the end; what is steady is steady within a few. So the rates at
    // which two parts are alike are tried, then those close to the best of them.
    let alike = minima.iter().flat_map(|points| {
        points.iter().enumerate().flat_map(|(i, p)| points[..i].iter().map(move |q| (p.1 - q.1) / (p.0 - q.0)))
    });
    let better = |found: f64, rate: f64| if unrest(rate) < unrest(found) { rate } else { found };
    let inside = |rate: &f64| rate.is_finite() && (range[0]..=range[1]).contains(rate);
    let even = (0..=STEPS).map(|step| range[0] + (range[1] - range[0]) * f64::from(step) / f64::from(STEPS));
    let best = even.chain(alike.filter(inside)).fold(range[0], better);
    let near = (0..=STEPS).map(|step| best + CLOSE * (2.0 * f64::from(step) / f64::from(STEPS) - 1.0));
    near.filter(inside).fold(best, better)
}

impl Clock {
    /// Two clocks that are right to within `error` nanoseconds; `by_traffic` is what their packets say.
    pub fn known(origin: i64, error: f64, by_traffic: Option<&Clock>) -> Clock {
        let [low, high] = by_traffic.map_or([-error, error], Clock::offset_interval);
        let conflict = (low - error).max(-error - high).max(0.0);
        let (skew, skew_interval) = (0.0, [0.0; 2]);
        Clock { origin, base: 0, low: -error, high: error, skew, skew_interval, known: true, conflict }
    }

    /// Offsets that give no packet a negative delay, nanoseconds.
    pub fn offset_interval(&self) -> [f64; 2] {
        [self.low + self.base as f64, self.high + self.base as f64]
    }

    /// The offset if the least delays of both ways are equal.
    pub fn offset(&self) -> f64 {
        (self.low + self.high) / 2.0 + self.base as f64
    }

    /// The delay of a packet from the first capture to the second, which is negative for one that goes the other way. Nanoseconds, under the
    /// symmetric offset.
    pub fn delay(&self, first: i64, second: i64) -> i64 {
        let since = first.saturating_sub(self.origin) as f64;
        let difference = second.saturating_sub(first).saturating_sub(self.base);
        difference.saturating_sub(((self.low + self.high) / 2.0 + self.skew * since) as i64)
    }

    /// A time of the first capture by the second's clock, or the other way round.
    pub fn across(&self, at: i64, onward: bool) -> i64 {
        let here = if onward { at } else { at.saturating_sub(self.base) };
        let gap = self.delay(here, here);
        if onward { at.saturating_sub(gap) } else { at.saturating_add(gap) }
    }

    /// True if these packets go from the first capture to the second. None without packets.
    pub fn is_onward(&self, ours: &[Mark], theirs: &[Mark], pairs: &[Pair]) -> Option<bool> {
        let later = pairs.iter().filter(|&&(x, y)| self.delay(ours[x as usize].at, theirs[y as usize].at) > 0).count();
        (!pairs.is_empty()).then_some(later * 2 > pairs.len())
    }
}
