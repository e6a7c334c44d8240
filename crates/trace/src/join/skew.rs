//! How much faster one clock runs, from delays that should stay what they are. The time is cut into parts; the least delay of each part in each way is the
//! path's own wherever a packet met no queue, and at the right rate those floors are level. A queue only adds: parts in which one stood
//! throughout lie above the level and have little say, but at the right rate nothing lies below it. So a way that always has a queue is outvoted by
//! the other one, on which ACKs find none.

/// A time and a difference of clocks, nanoseconds.
pub type Point = (f64, f64);

/// A rate, and how far it may be off.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    pub rate: f64,
    pub interval: [f64; 2],
}

/// No quartz is off by more: 1 %.
pub const MOST_SKEW: f64 = 0.01;
/// How even the least delays of real hosts are.
pub const HOST_NOISE_NS: f64 = 50_000.0;

/// Parts of the time that are compared with each other.
const PARTS: usize = 32;
/// How far floors may lie from the level, tried in this order: hosts, hosts under load, media with frames, contention.
const UNEVEN_NS: [f64; 5] = [100_000.0, 300_000.0, 1_000_000.0, 3_000_000.0, 10_000_000.0];
/// A level is one when so large a share of a way's parts lies on it, and so many.
const ENOUGH_SHARE: f64 = 0.4;
const ENOUGH: usize = 5;
/// A part below the level counts as so many above it: hosts and queues add to the path's own delay and take nothing off, so the level is the parts' lowest
/// decile.
const BELOW: f64 = 9.0;
/// A rate takes so many parts to be believed, in full from this rate on.
const DOUBT: f64 = 2.0;
const COMMON: f64 = 1e-4;
/// Rates tried over the whole range, and how far to each side of the best.
const STEPS: u32 = 200;
const CLOSE: f64 = 3e-6;
/// Rounds of choosing floors at the rate found with the floors before.
const ROUNDS: usize = 3;

/// One way's floors at one rate, as they were measured; `sign` turns the way back.
struct Floors<'a> {
    points: &'a [Point],
    sign: f64,
    least: Vec<Point>,
}

impl<'a> Floors<'a> {
    fn new(points: &'a [Point], sign: f64) -> Floors<'a> {
        Floors { points, sign, least: Vec::new() }
    }

    /// The least delay of each part at this rate.
    fn choose(&mut self, rate: f64) {
        let (from, to) = self.points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p.0), b.max(p.0)));
        let mut parts: [Option<Point>; PARTS] = [None; PARTS];
        for p in self.points {
            let part = &mut parts[((p.0 - from) / (to - from + 1.0) * PARTS as f64) as usize % PARTS];
            if part.is_none_or(|least| self.value(p, rate) < self.value(&least, rate)) {
                *part = Some(*p);
            }
        }
        self.least = parts.into_iter().flatten().collect();
    }

    fn value(&self, p: &Point, rate: f64) -> f64 {
        self.sign * (p.1 - rate * p.0)
    }

    /// The level that fits best at a rate, and how many parts do not fit it, in parts.
    fn level(&self, rate: f64, uneven: f64) -> (f64, f64) {
        let values: Vec<f64> = self.least.iter().map(|p| self.value(p, rate)).collect();
        let off = |level: f64| -> f64 {
            let one =
                |v: &f64| if *v >= level { ((v - level) / uneven).min(1.0) } else { (BELOW * (level - v) / uneven).min(BELOW) };
            values.iter().map(one).sum()
        };
        let levels = values.iter().map(|&level| (level, off(level)));
        levels.min_by(|a, b| a.1.total_cmp(&b.1)).unwrap_or((0.0, 0.0))
    }

    /// The parts on the level: their times, and how far above it they are.
    fn on_level(&self, rate: f64, uneven: f64) -> Vec<Point> {
        let (level, _) = self.level(rate, uneven);
        let off = |p: &Point| (p.0, self.value(p, rate) - level);
        self.least.iter().map(off).filter(|p| p.1.abs() <= uneven).collect()
    }

    /// How far the rate may be off for all that these parts say: their spread over their time. None where too few are on one level.
    fn margin(&self, rate: f64, uneven: f64) -> Option<f64> {
        let on = self.on_level(rate, uneven);
        let share = on.len() as f64 / self.least.len().max(1) as f64;
        let (first, last) = (on.first()?, on.last()?);
        let (low, high) = on.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p.1), high.max(p.1)));
        (on.len() >= ENOUGH && share >= ENOUGH_SHARE && last.0 > first.0)
            .then(|| (high - low).max(HOST_NOISE_NS) / (last.0 - first.0))
    }
}

/// From packets towards the second capture and from those back; `possible` are the rates at which no delay is negative, and `widest` the one of them that leaves
/// most room.
pub fn estimate(first_to_second: &[Point], back: &[Point], possible: [f64; 2], widest: f64) -> Skew {
    let mut ways = [Floors::new(first_to_second, 1.0), Floors::new(back, -1.0)];
    for uneven in UNEVEN_NS {
        let found = [0.0, widest].map(|start| settle(&mut ways, start, uneven, possible));
        let best = found.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |found| found.0);
        ways.iter_mut().for_each(|way| way.choose(best));
        let margins = ways.iter().filter_map(|way| way.margin(best, uneven));
        if let Some(margin) = margins.min_by(f64::total_cmp) {
            return Skew { rate: best, interval: [best - margin, best + margin] };
        }
    }
    // Nothing is level: any rate that makes no delay negative will do, and none is the likeliest.
    Skew { rate: 0f64.clamp(possible[0], possible[1]), interval: possible }
}

/// A rate at which the floors chosen at it are as level as can be, and how many parts are not.
fn settle(ways: &mut [Floors<'_>; 2], start: f64, uneven: f64, possible: [f64; 2]) -> (f64, f64) {
    let mut rate = start;
    for _ in 0..ROUNDS {
        ways.iter_mut().for_each(|way| way.choose(rate));
        let next = steadiest(ways, uneven, possible);
        let settled = (next - rate).abs() < 1e-9;
        rate = next;
        if settled {
            break;
        }
    }
    (rate, unrest(ways, rate, uneven))
}

fn unrest(ways: &[Floors<'_>; 2], rate: f64, uneven: f64) -> f64 {
    let doubt = DOUBT * ((rate.abs() / COMMON).min(1.0) + rate.abs() / MOST_SKEW);
    ways.iter().map(|way| way.level(rate, uneven).1).sum::<f64>() + doubt
}

/// The rates at which two parts are alike are tried, and some between; then those close to the best of them.
fn steadiest(ways: &[Floors<'_>; 2], uneven: f64, possible: [f64; 2]) -> f64 {
    let alike = ways.iter().flat_map(|way| {
        let pairs = way.least.iter().enumerate().flat_map(|(i, p)| way.least[..i].iter().map(move |q| (p.1 - q.1) / (p.0 - q.0)));
        pairs.collect::<Vec<f64>>()
    });
    let inside = |rate: &f64| rate.is_finite() && (possible[0]..=possible[1]).contains(rate);
    let better = |found: (f64, f64), rate: f64| {
        let unrest = unrest(ways, rate, uneven);
        if unrest < found.1 { (rate, unrest) } else { found }
    };
    let grid =
        |middle: f64, half: f64| (0..=STEPS).map(move |step| middle + half * (2.0 * f64::from(step) / f64::from(STEPS) - 1.0));
    let zero = 0f64.clamp(possible[0], possible[1]);
    let start = (zero, unrest(ways, zero, uneven));
    let best = alike.filter(inside).chain(grid(0.0, MOST_SKEW).filter(inside)).fold(start, better);
    grid(best.0, CLOSE).filter(inside).fold(best, better).0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    /// A difference of clocks every 10 ms over 20 s, the second clock fast by `rate`; `delay` in ms by time in seconds.
    fn way(rate: f64, sign: f64, delay: impl Fn(f64) -> f64) -> Vec<Point> {
        (0..2000)
            .map(|i| (f64::from(i) * 10.0 * MS, f64::from(i)))
            .map(|(t, i)| (t, rate * t + sign * MS * (delay(t * 1e-9) + i * 0.618 % 1.0)))
            .collect()
    }

    #[test]
    fn a_queue_that_never_empties_again_is_no_rate() {
        for rate in [0.0, 50e-6, -120e-6] {
            let full = |t: f64| if t < 0.1 { 30.0 } else { 80.0 + (t * 1.7 % 1.0) * 20.0 };
            let (first_to_second, back) = (way(rate, 1.0, full), way(rate, -1.0, |_| 30.0));
            let found = estimate(&first_to_second, &back, [-3e-3, 3e-3], 2.5e-3);
            assert!((found.rate - rate).abs() < 2e-6, "{found:?} for {rate}");
            assert!(found.interval[0] <= rate && rate <= found.interval[1]);
        }
    }

    #[test]
    fn uneven_floors_make_the_interval_wide() {
        let framed = |t: f64| 30.0 + (t * 7.3 % 1.0) * 4.0 + (t * 0.9 % 1.0) * 3.0;
        let found = estimate(&way(20e-6, 1.0, framed), &way(20e-6, -1.0, framed), [-1e-3, 1e-3], 0.0);
        assert!(found.interval[0] <= 20e-6 && 20e-6 <= found.interval[1], "{found:?}");
    }

    #[test]
    fn two_packets_are_no_rate() {
        let few = [(0.0, 30.0 * MS), (10.0 * MS, 31.0 * MS)];
        let found = estimate(&few, &[(5.0 * MS, -30.0 * MS)], [-0.01, 0.01], 0.0);
        assert_eq!((found.rate, found.interval), (0.0, [-0.01, 0.01]));
    }
}
