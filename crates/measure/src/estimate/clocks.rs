//! The two ends' clocks, compared by all datagrams of a session.

use super::one_way::OneWayTrain;
use crate::Nanos;
use crate::control::message::ClockState;
use crate::test_spec::Direction;
use ackclock_trace::join::{Clock, Points};
use serde::Serialize;

/// Of datagrams that left so close together only the one with the least delay says anything of clocks.
const PER_NS: Nanos = 10_000_000;

/// The server's clock against the client's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClockEstimate {
    /// The server's clock less the client's if the least delays of both ways are equal.
    pub offset_ms: f64,
    /// What two-way traffic allows, and what the ends' own clocks allow, if they are steered.
    pub offset_interval_ms: [f64; 2],
    pub skew_ppm: f64,
    pub skew_interval_ppm: [f64; 2],
    pub assumption: &'static str,
    /// Both clocks say how good they are, and that has narrowed the interval.
    pub steered: bool,
}

pub struct ClockModel {
    clock: Clock,
    pub estimate: ClockEstimate,
}

impl ClockModel {
    /// None when nothing came in one of the directions, or no two clocks of even rate explain what came.
    pub fn of(one_ways: &[OneWayTrain], ends: [ClockState; 2]) -> Option<ClockModel> {
        let times =
            |direction| -> Vec<(Nanos, Nanos)> { one_ways.iter().filter(|c| c.direction == direction).flat_map(thin).collect() };
        let onward = times(Direction::Up);
        let back: Vec<(Nanos, Nanos)> = times(Direction::Down).into_iter().map(|(sent, received)| (received, sent)).collect();
        let clock = Points::of(&onward, &back).clock()?;
        let interval = clock.offset_interval();
        let (narrow, steered) = narrow_by_sync(interval, ends);
        let estimate = ClockEstimate {
            offset_ms: clock.offset() * 1e-6,
            offset_interval_ms: narrow.map(|ns| ns * 1e-6),
            skew_ppm: clock.skew * 1e6,
            skew_interval_ppm: clock.skew_interval.map(|s| s * 1e6),
            assumption: "offset_ms takes the least delays of both ways as equal; two-way traffic alone tells only offset_interval_ms",
            steered,
        };
        Some(ClockModel { clock, estimate })
    }

    /// A datagram's delay under the symmetric offset, nanoseconds.
    pub fn delay(&self, direction: Direction, sent: Nanos, received: Nanos) -> Nanos {
        match direction {
            Direction::Up => self.clock.delay(sent, received),
            Direction::Down => self.clock.delay(received, sent).saturating_neg(),
        }
    }

    /// A time of the server's clock by the client's.
    pub fn near(&self, far: Nanos) -> Nanos {
        self.clock.across(far, false)
    }

    /// What a delay of this direction is at least and at most, for all that is known of the offset.
    pub fn bounds(&self, direction: Direction, delay_ms: f64) -> [f64; 2] {
        let [low, high] = self.estimate.offset_interval_ms.map(|edge| edge - self.estimate.offset_ms);
        match direction {
            Direction::Up => [delay_ms - high, delay_ms - low],
            Direction::Down => [delay_ms + low, delay_ms + high],
        }
    }
}

/// Of each stretch of time the pair with the least difference.
fn thin(one_way: &OneWayTrain) -> Vec<(Nanos, Nanos)> {
    let mut out: Vec<(Nanos, Nanos)> = Vec::new();
    let mut stretch = None;
    for (sent, received) in one_way.pairs() {
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

/// If both clocks are steered, true time is within their bounds.
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

    /// Datagrams every 40 ms each way over a path of unequal delays with some queue, by clocks that differ by offset and rate.
    fn path(down_ms: i64, up_ms: i64, offset: Nanos, ppm: i64) -> Vec<OneWayTrain> {
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
            OneWayTrain::join(train, Direction::Down, &tables[0], &tables[1]),
            OneWayTrain::join(train, Direction::Up, &tables[2], &tables[3]),
        ]
    }

    const LOOSE: ClockState = ClockState { synchronised: false, pps: false, max_error_ns: 0 };

    #[test]
    fn the_interval_has_the_true_delay_whatever_the_clocks_and_however_unequal_the_ways() {
        for (down, up, offset, ppm) in [(30, 30, 0, 0), (5, 80, 3600 * SECOND, 0), (120, 10, -7 * SECOND, 40), (1, 1, 5, -90)] {
            let one_ways = path(down, up, offset, ppm);
            let clocks = ClockModel::of(&one_ways, [LOOSE; 2]).unwrap();
            for (one_way, truth) in one_ways.iter().zip([down, up]) {
                let min = one_way.pairs().map(|(s, g)| clocks.delay(one_way.direction, s, g)).min().unwrap() as f64 * 1e-6;
                let [low, high] = clocks.bounds(one_way.direction, min);
                assert!(low - 0.01 <= truth as f64 && truth as f64 <= high + 0.01, "{truth} in {low} to {high}");
                let half = (down + up) as f64 / 2.0;
                assert!((min - half).abs() < 0.1, "the symmetric value is {half}, not {min}");
                // Variation does not depend on where the offset lies.
                let max = one_way.pairs().map(|(s, g)| clocks.delay(one_way.direction, s, g)).max().unwrap() as f64 * 1e-6;
                assert!((max - min - 12.0).abs() < 0.2, "{}", max - min);
            }
            assert!((clocks.estimate.skew_ppm - ppm as f64).abs() < 2.0, "{}", clocks.estimate.skew_ppm);
        }
    }

    #[test]
    fn steered_clocks_narrow_the_interval_but_not_beyond_what_traffic_allows() {
        let one_ways = path(5, 80, 0, 0);
        let good = ClockState { synchronised: true, pps: true, max_error_ns: MS };
        let clocks = ClockModel::of(&one_ways, [good; 2]).unwrap();
        let [low, high] = clocks.bounds(Direction::Up, 42.5);
        assert!(low <= 80.0 && 80.0 <= high && high - low <= 4.01, "{low} to {high}");
        assert!(clocks.estimate.steered);
        // A clock that lies is found out by the traffic.
        let wrong = path(5, 80, SECOND, 0);
        assert!(!ClockModel::of(&wrong, [good; 2]).unwrap().estimate.steered);
    }

    #[test]
    fn one_way_alone_says_nothing_of_clocks() {
        assert!(ClockModel::of(&path(5, 80, 0, 0)[..1], [LOOSE; 2]).is_none());
    }
}
