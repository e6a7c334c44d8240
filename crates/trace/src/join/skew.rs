//! Skew of two clocks, from minimum delays. The capture is divided into intervals. The minimum
//! delay of an interval is the path's own if some packet found no queue, and at the right rate
//! these minima are constant (the floor). Queueing only adds delay: an interval with a standing
//! queue lies above the floor and has little weight, and none lies below. A direction that always
//! has a queue is outweighed by the other, on which ACKs find none.

/// A time and a difference of the two clocks, nanoseconds.
pub type Point = (f64, f64);

/// A rate and its interval of confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Skew {
    pub rate: f64,
    pub interval: [f64; 2],
}

/// Maximum skew, far beyond that of a quartz.
pub const MAX_SKEW: f64 = 0.01;
/// Noise of the minimum delays of real hosts.
pub const HOST_NOISE_NS: f64 = 50_000.0;

/// Minimum number of values of an interval whose smallest may be outliers, their number, and the part of all that they
/// may be.
const MIN_EDGE_POINTS: usize = 20;
const MAX_OUTLIERS: usize = 2;
const OUTER_PART: usize = 40;
/// Distance of an outlier from the others, relative to that over which the next three times as many values lie, and at
/// least, nanoseconds.
const OUTLIER_EDGES: f64 = 3.5;
const OUTLIER_NS: f64 = 150_000.0;
/// Number of intervals.
const INTERVALS: usize = 32;
/// Tolerances of the floor, tried in this order: hosts, loaded hosts, framed media, contention.
const TOLERANCES_NS: [f64; 5] = [100_000.0, 300_000.0, 1_000_000.0, 3_000_000.0, 10_000_000.0];
/// Minimum share of a direction's intervals on the floor,
const MIN_FLOOR_SHARE: f64 = 0.4;
/// and their minimum number.
const MIN_ON_FLOOR: usize = 5;
/// Weight of an interval below the floor, relative to one above it: queueing only adds delay, so
/// the floor is the lowest decile.
const BELOW_WEIGHT: f64 = 9.0;
/// Penalty of a non-zero rate, in intervals,
const RATE_PENALTY: f64 = 2.0;
/// which applies in full from this rate on.
const COMMON_SKEW: f64 = 1e-4;
/// Number of rates tried over the range, and again around the best one.
const STEPS: u32 = 200;
/// Half-width of the second search.
const REFINEMENT: f64 = 3e-6;
/// Maximum number of iterations between minima and rate.
const ROUNDS: usize = 3;

/// Minimum delays of one direction at one rate. `sign` is -1 for the direction towards the first
/// capture.
struct Minima<'a> {
    points: &'a [Point],
    sign: f64,
    minima: Vec<Point>,
}

impl<'a> Minima<'a> {
    fn new(points: &'a [Point], sign: f64) -> Minima<'a> {
        Minima { points, sign, minima: Vec::new() }
    }

    /// Selects the minimum of each interval at this rate.
    fn select(&mut self, rate: f64) {
        let (from, to) = self.points.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), p| (a.min(p.0), b.max(p.0)));
        let mut intervals: Vec<Vec<(f64, Point)>> = vec![Vec::new(); INTERVALS];
        for p in self.points {
            let interval = ((p.0 - from) / (to - from + 1.0) * INTERVALS as f64) as usize % INTERVALS;
            intervals[interval].push((self.value(p, rate), *p));
        }
        self.minima = intervals.into_iter().filter_map(lower_edge).collect();
    }

    fn value(&self, p: &Point, rate: f64) -> f64 {
        self.sign * (p.1 - rate * p.0)
    }

    /// The floor that fits best at a rate, and the misfit in intervals.
    fn floor(&self, rate: f64, tolerance: f64) -> (f64, f64) {
        self.floor_below(rate, tolerance, f64::INFINITY).unwrap_or((0.0, 0.0))
    }

    /// As `floor`; none if the misfit is not less than `limit`. A sum that reaches it, or that of another floor, is not
    /// added up further.
    fn floor_below(&self, rate: f64, tolerance: f64, limit: f64) -> Option<(f64, f64)> {
        let values: Vec<f64> = self.minima.iter().map(|p| self.value(p, rate)).collect();
        let mut best = None;
        let mut lowest = limit;
        for &floor in &values {
            let mut sum = 0.0;
            for v in &values {
                sum += if *v >= floor {
                    ((v - floor) / tolerance).min(1.0)
                } else {
                    (BELOW_WEIGHT * (floor - v) / tolerance).min(BELOW_WEIGHT)
                };
                if sum >= lowest {
                    break;
                }
            }
            if sum < lowest {
                (best, lowest) = (Some((floor, sum)), sum);
            }
        }
        best
    }

    /// Time and distance from the floor of the intervals on it.
    fn on_floor(&self, rate: f64, tolerance: f64) -> Vec<Point> {
        let (floor, _) = self.floor(rate, tolerance);
        let off = |p: &Point| (p.0, self.value(p, rate) - floor);
        self.minima.iter().map(off).filter(|p| p.1.abs() <= tolerance).collect()
    }

    /// Uncertainty of the rate: spread of the minima over their time. None if too few are on the
    /// floor.
    fn margin(&self, rate: f64, tolerance: f64) -> Option<f64> {
        let on = self.on_floor(rate, tolerance);
        let share = on.len() as f64 / self.minima.len().max(1) as f64;
        let (first, last) = (on.first()?, on.last()?);
        let (low, high) = on.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), p| (low.min(p.1), high.max(p.1)));
        (on.len() >= MIN_ON_FLOOR && share >= MIN_FLOOR_SHARE && last.0 > first.0)
            .then(|| (high - low).max(HOST_NOISE_NS) / (last.0 - first.0))
    }
}

/// The smallest of an interval's values; without those that a stall of a host makes much smaller than all others,
/// which it timestamps late.
fn lower_edge(mut values: Vec<(f64, Point)>) -> Option<Point> {
    let by_value = |a: &(f64, Point), b: &(f64, Point)| a.0.total_cmp(&b.0);
    let count = values.len();
    if count < MIN_EDGE_POINTS {
        return values.into_iter().min_by(by_value).map(|min| min.1);
    }
    let outer = (count / OUTER_PART).max(MAX_OUTLIERS);
    let (smaller, inner, _) = values.select_nth_unstable_by((4 * outer).min(count - 1), by_value);
    let inner = inner.0;
    let (smallest, edge, _) = smaller.select_nth_unstable_by(outer, by_value);
    let min = smallest.iter().copied().min_by(by_value)?;
    let is_outlier = edge.0 - min.0 > (OUTLIER_EDGES * (inner - edge.0)).max(OUTLIER_NS);
    Some(if is_outlier { edge.1 } else { min.1 })
}

/// Estimates the skew from packets towards the second capture and towards the first. `possible` are
/// the rates at which no delay is negative, and `widest` the one of them with the largest gap
/// between the bounds of the offset.
pub fn estimate(forward: &[Point], backward: &[Point], possible: [f64; 2], widest: f64) -> Skew {
    let mut directions = [Minima::new(forward, 1.0), Minima::new(backward, -1.0)];
    for tolerance in TOLERANCES_NS {
        let candidates = [0.0, widest].map(|start| iterate(&mut directions, start, tolerance, possible));
        let best = candidates.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0.0, |candidate| candidate.0);
        directions.iter_mut().for_each(|direction| direction.select(best));
        let margins = directions.iter().filter_map(|direction| direction.margin(best, tolerance));
        if let Some(margin) = margins.min_by(f64::total_cmp) {
            return Skew { rate: best, interval: [best - margin, best + margin] };
        }
    }
    // There is no floor: any possible rate fits, and zero is the most likely.
    Skew { rate: 0f64.clamp(possible[0], possible[1]), interval: possible }
}

/// Iterates between rate and minima; returns the rate and its misfit.
fn iterate(directions: &mut [Minima<'_>; 2], start: f64, tolerance: f64, possible: [f64; 2]) -> (f64, f64) {
    let mut rate = start;
    for _ in 0..ROUNDS {
        directions.iter_mut().for_each(|direction| direction.select(rate));
        let next = best_rate(directions, tolerance, possible);
        let converged = (next - rate).abs() < 1e-9;
        rate = next;
        if converged {
            break;
        }
    }
    (rate, misfit(directions, rate, tolerance))
}

/// The misfit at a rate; a number that is not less than `limit` if it is not.
fn misfit_below(directions: &[Minima<'_>; 2], rate: f64, tolerance: f64, limit: f64) -> f64 {
    let penalty = RATE_PENALTY * ((rate.abs() / COMMON_SKEW).min(1.0) + rate.abs() / MAX_SKEW);
    let mut misfit = 0.0;
    for direction in directions.iter().filter(|direction| !direction.minima.is_empty()) {
        match direction.floor_below(rate, tolerance, limit) {
            Some((_, of_direction)) => misfit += of_direction,
            None => return f64::INFINITY,
        }
    }
    misfit + penalty
}

fn misfit(directions: &[Minima<'_>; 2], rate: f64, tolerance: f64) -> f64 {
    misfit_below(directions, rate, tolerance, f64::INFINITY)
}

/// The rate with the lowest misfit: of the rates at which two minima are equal, of a grid over the
/// range, and of a finer grid around the best.
fn best_rate(directions: &[Minima<'_>; 2], tolerance: f64, possible: [f64; 2]) -> f64 {
    let equal_at = directions.iter().flat_map(|direction| {
        let pairs = direction
            .minima
            .iter()
            .enumerate()
            .flat_map(|(i, p)| direction.minima[..i].iter().map(move |q| (p.1 - q.1) / (p.0 - q.0)));
        pairs.collect::<Vec<f64>>()
    });
    let is_possible = |rate: &f64| rate.is_finite() && (possible[0]..=possible[1]).contains(rate);
    let better = |found: (f64, f64), rate: f64| {
        let misfit = misfit_below(directions, rate, tolerance, found.1);
        if misfit < found.1 { (rate, misfit) } else { found }
    };
    let grid =
        |middle: f64, half: f64| (0..=STEPS).map(move |step| middle + half * (2.0 * f64::from(step) / f64::from(STEPS) - 1.0));
    let zero = 0f64.clamp(possible[0], possible[1]);
    let start = (zero, misfit(directions, zero, tolerance));
    let best = equal_at.filter(is_possible).chain(grid(0.0, MAX_SKEW).filter(is_possible)).fold(start, better);
    grid(best.0, REFINEMENT).filter(is_possible).fold(best, better).0
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: f64 = 1e6;

    /// Clock differences every 10 ms over 20 s, the second clock fast by `rate`; `delay` in ms by
    /// time in seconds.
    fn direction(rate: f64, sign: f64, delay: impl Fn(f64) -> f64) -> Vec<Point> {
        (0..2000)
            .map(|i| (f64::from(i) * 10.0 * MS, f64::from(i)))
            .map(|(t, i)| (t, rate * t + sign * MS * (delay(t * 1e-9) + i * 0.618 % 1.0)))
            .collect()
    }

    #[test]
    fn estimate_is_not_biased_when_a_queue_never_empties() {
        for rate in [0.0, 50e-6, -120e-6] {
            let full = |t: f64| if t < 0.1 { 30.0 } else { 80.0 + (t * 1.7 % 1.0) * 20.0 };
            let (forward, backward) = (direction(rate, 1.0, full), direction(rate, -1.0, |_| 30.0));
            let skew = estimate(&forward, &backward, [-3e-3, 3e-3], 2.5e-3);
            assert!((skew.rate - rate).abs() < 2e-6, "{skew:?} for {rate}");
            assert!(skew.interval[0] <= rate && rate <= skew.interval[1]);
        }
    }

    #[test]
    fn floor_is_the_lowest_decile_when_the_other_intervals_have_queues() {
        let floor = |below: usize, above: usize| {
            let minima: Vec<Point> = (0..below + above).map(|i| (i as f64, if i < below { 0.0 } else { 10.0 * MS })).collect();
            Minima { points: &[], sign: 1.0, minima }.floor(0.0, MS)
        };
        assert_eq!(floor(10, 89), (0.0, 89.0));
        assert_eq!(floor(10, 91), (10.0 * MS, 90.0));
        // Within the tolerance the misfit grows with the distance, nine times as fast below the floor.
        let minima = vec![(0.0, 0.0), (1.0, 0.1 * MS), (2.0, 0.1 * MS)];
        let (floor, misfit) = Minima { points: &[], sign: 1.0, minima }.floor(0.0, MS);
        assert!(floor == 0.0 && (misfit - 0.2).abs() < 1e-9, "{floor} {misfit}");
    }

    #[test]
    fn rate_is_that_of_the_clocks_when_few_timestamps_are_late() {
        for rate in [0.0, 50e-6, -120e-6] {
            // One packet in 300 has a departure that is late by up to 4 ms: its delay is too small.
            let late = |mut points: Vec<Point>, sign: f64, every: usize| {
                for (i, point) in points.iter_mut().enumerate().filter(|(i, _)| i % every == 7) {
                    point.1 -= sign * MS * (1.0 + (i as f64 * 0.37) % 3.0);
                }
                points
            };
            let full = |t: f64| if t < 0.1 { 30.0 } else { 80.0 + (t * 1.7 % 1.0) * 20.0 };
            let forward = late(direction(rate, 1.0, full), 1.0, 211);
            let backward = late(direction(rate, -1.0, |_| 30.0), -1.0, 307);
            let skew = estimate(&forward, &backward, [-3e-3, 3e-3], 2.5e-3);
            assert!((skew.rate - rate).abs() < 6e-6, "{skew:?} for {rate}");
        }
    }

    #[test]
    fn single_packets_of_an_empty_path_are_no_outliers() {
        let of = |values: &[f64]| lower_edge(values.iter().map(|value| (*value, (0.0, *value))).collect());
        // A sawtooth of a queue that empties once.
        let sawtooth: Vec<f64> = (0..100).map(|i| f64::from(i) * 0.3 * MS).collect();
        assert_eq!(of(&sawtooth), Some((0.0, 0.0)));
        assert_eq!(of(&[3.0 * MS, 1.0 * MS]), Some((0.0, MS)));
        let mut late = vec![30.0 * MS; 100];
        late[50] = 27.0 * MS;
        assert_eq!(of(&late), Some((0.0, 30.0 * MS)));
    }

    #[test]
    fn interval_contains_the_rate_when_minima_are_noisy() {
        let framed = |t: f64| 30.0 + (t * 7.3 % 1.0) * 4.0 + (t * 0.9 % 1.0) * 3.0;
        let skew = estimate(&direction(20e-6, 1.0, framed), &direction(20e-6, -1.0, framed), [-1e-3, 1e-3], 0.0);
        assert!(skew.interval[0] <= 20e-6 && 20e-6 <= skew.interval[1], "{skew:?}");
    }

    #[test]
    fn estimate_returns_zero_and_the_possible_rates_when_there_are_two_packets() {
        let few = [(0.0, 30.0 * MS), (10.0 * MS, 31.0 * MS)];
        let skew = estimate(&few, &[(5.0 * MS, -30.0 * MS)], [-0.01, 0.01], 0.0);
        assert_eq!((skew.rate, skew.interval), (0.0, [-0.01, 0.01]));
    }
}
