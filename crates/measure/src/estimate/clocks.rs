//! Comparison of the two ends' clocks by all datagrams of a session.

use super::train_times::TrainTimes;
use crate::Nanos;
use crate::control::message::ClockState;
use crate::test_spec::Direction;
use ackclock_contract::Document;
use ackclock_trace::join::{ClockRelation, DelayPoints};
use serde::Serialize;

/// Interval in which only the datagram with the minimum delay is compared.
const PER_NS: Nanos = 10_000_000;

/// The server's clock relative to the client's.
#[derive(Debug, Clone, PartialEq, Serialize, Document)]
pub struct ClockEstimate {
    /// Server clock minus client clock, if the minimum delays of both directions are equal.
    pub offset_ms: f64,
    /// Bounds of the offset: by the traffic in both directions, and by the error bounds of
    /// synchronised clocks.
    pub offset_interval_ms: [f64; 2],
    pub skew_ppm: f64,
    pub skew_interval_ppm: [f64; 2],
    pub assumption: &'static str,
    /// Both clocks are synchronised, and their error bounds narrow the interval.
    pub steered: bool,
}

pub struct ClockModel {
    clock: ClockRelation,
    pub estimate: ClockEstimate,
}

impl ClockModel {
    /// None if a direction has no datagram, or if no offset and constant skew fit the delays.
    pub fn of(trains: &[TrainTimes], ends: [ClockState; 2]) -> Option<ClockModel> {
        let times =
            |direction| -> Vec<(Nanos, Nanos)> { trains.iter().filter(|c| c.direction == direction).flat_map(thin).collect() };
        let onward = times(Direction::Up);
        let back: Vec<(Nanos, Nanos)> = times(Direction::Down).into_iter().map(|(sent, received)| (received, sent)).collect();
        let clock = DelayPoints::of(&onward, &back).clock()?;
        let interval = clock.offset_interval();
        let (narrow, steered) = narrow_by_sync(interval, ends);
        let estimate = ClockEstimate {
            offset_ms: clock.offset() * 1e-6,
            offset_interval_ms: narrow.map(|ns| ns * 1e-6),
            skew_ppm: clock.skew * 1e6,
            skew_interval_ppm: clock.skew_interval.map(|s| s * 1e6),
            assumption: "offset_ms assumes equal minimum delays in both directions; the traffic alone bounds it by offset_interval_ms",
            steered,
        };
        Some(ClockModel { clock, estimate })
    }

    /// Delay of a datagram under the symmetric offset, nanoseconds.
    pub fn delay(&self, direction: Direction, sent: Nanos, received: Nanos) -> Nanos {
        match direction {
            Direction::Up => self.clock.delay(sent, received),
            Direction::Down => self.clock.delay(received, sent).saturating_neg(),
        }
    }

    /// Converts a time of the server's clock to the client's.
    pub fn near(&self, far: Nanos) -> Nanos {
        self.clock.convert(far, false)
    }

    /// Bounds of a delay in this direction, under all possible offsets.
    pub fn bounds(&self, direction: Direction, delay_ms: f64) -> [f64; 2] {
        let [low, high] = self.estimate.offset_interval_ms.map(|edge| edge - self.estimate.offset_ms);
        match direction {
            Direction::Up => [delay_ms - high, delay_ms - low],
            Direction::Down => [delay_ms + low, delay_ms + high],
        }
    }
}

/// The pair with the minimum difference of each interval.
fn thin(train_times: &TrainTimes) -> Vec<(Nanos, Nanos)> {
    let mut out: Vec<(Nanos, Nanos)> = Vec::new();
    let mut stretch = None;
    for (sent, received) in train_times.pairs() {
        let now = sent.div_euclid(PER_NS);
        match out.last_mut().filter(|_| stretch == Some(now)) {
            Some(min) if received.saturating_sub(sent) < min.1.saturating_sub(min.0) => *min = (sent, received),
            Some(_) => {}
            None => out.push((sent, received)),
        }
        stretch = Some(now);
    }
    out
}

/// Intersects the interval with the error bounds of the two clocks, if both are synchronised.
fn narrow_by_sync(interval: [f64; 2], ends: [ClockState; 2]) -> ([f64; 2], bool) {
    let max: f64 = ends.iter().map(|e| e.max_error_ns as f64).sum();
    let both = [interval[0].max(-max), interval[1].min(max)];
    if ends.iter().all(|e| e.synchronised) && both[0] <= both[1] { (both, true) } else { (interval, false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::table::IntTable;
    use crate::test_spec::Train;
    use crate::{MS, SECOND};

    /// Datagrams every 40 ms in both directions over a path with unequal delays and a queue. The
    /// clocks differ by offset and rate.
    fn path(down_ms: i64, up_ms: i64, offset: Nanos, ppm: i64) -> Vec<TrainTimes> {
        let train = Train { payload: 20, gap_ns: 40 * MS, count: 500 };
        let far = |t: Nanos| t + offset + t / 1_000_000 * ppm;
        let queue = |n: i64| (n * 7919 % 13) * MS;
        let mut tables = [IntTable::new(2), IntTable::new(2), IntTable::new(2), IntTable::new(2)];
        for n in 0..500 {
            let at = n * 40 * MS;
            tables[0].push(&[n, far(at)]);
            tables[1].push(&[n, at + down_ms * MS + queue(n)]);
            tables[2].push(&[n, at]);
            tables[3].push(&[n, far(at + up_ms * MS + queue(n + 3))]);
        }
        vec![
            TrainTimes::join(train, Direction::Down, &tables[0], &tables[1]),
            TrainTimes::join(train, Direction::Up, &tables[2], &tables[3]),
        ]
    }

    const LOOSE: ClockState = ClockState { synchronised: false, pps: false, max_error_ns: 0 };

    #[test]
    fn delay_bounds_contain_the_true_delay_when_clocks_and_directions_differ() {
        for (down, up, offset, ppm) in [(30, 30, 0, 0), (5, 80, 3600 * SECOND, 0), (120, 10, -7 * SECOND, 40), (1, 1, 5, -90)] {
            let trains = path(down, up, offset, ppm);
            let clocks = ClockModel::of(&trains, [LOOSE; 2]).unwrap();
            for (train_times, truth) in trains.iter().zip([down, up]) {
                let min =
                    train_times.pairs().map(|(s, g)| clocks.delay(train_times.direction, s, g)).min().unwrap() as f64 * 1e-6;
                let [low, high] = clocks.bounds(train_times.direction, min);
                assert!(low - 0.01 <= truth as f64 && truth as f64 <= high + 0.01, "{truth} in {low} to {high}");
                let half = (down + up) as f64 / 2.0;
                assert!((min - half).abs() < 0.1, "the symmetric value is {half}, not {min}");
                // The variation does not depend on the offset.
                let max =
                    train_times.pairs().map(|(s, g)| clocks.delay(train_times.direction, s, g)).max().unwrap() as f64 * 1e-6;
                assert!((max - min - 12.0).abs() < 0.2, "{}", max - min);
            }
            assert!((clocks.estimate.skew_ppm - ppm as f64).abs() < 2.0, "{}", clocks.estimate.skew_ppm);
        }
    }

    #[test]
    fn bounds_are_narrower_when_clocks_are_synchronised_but_contain_the_true_delay() {
        let trains = path(5, 80, 0, 0);
        let good = ClockState { synchronised: true, pps: true, max_error_ns: MS };
        let clocks = ClockModel::of(&trains, [good; 2]).unwrap();
        let [low, high] = clocks.bounds(Direction::Up, 42.5);
        assert!(low <= 80.0 && 80.0 <= high && high - low <= 4.01, "{low} to {high}");
        assert!(clocks.estimate.steered);
        // The traffic contradicts a clock that is wrong by a second.
        let wrong = path(5, 80, SECOND, 0);
        assert!(!ClockModel::of(&wrong, [good; 2]).unwrap().estimate.steered);
    }

    #[test]
    fn clock_estimate_is_none_when_one_direction_has_no_datagrams() {
        assert!(ClockModel::of(&path(5, 80, 0, 0)[..1], [LOOSE; 2]).is_none());
    }
}
