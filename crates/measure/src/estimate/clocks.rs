//! The two ends' clocks, compared by all datagrams of a session.

use super::crossing::Crossing;
use crate::Nanos;
use crate::control::message::ClockState;
use crate::spec::Way;
use ackclock_trace::join::{Clock, Points};
use serde::Serialize;

/// Of datagrams that left so close together only the one with the least delay says anything of clocks.
const PER_NS: Nanos = 10_000_000;

/// The server's clock against the client's.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Compared {
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

pub struct Clocks {
    clock: Clock,
    pub compared: Compared,
}

impl Clocks {
    /// None when nothing came in one of the directions, or no two clocks of even rate explain what came.
    pub fn of(crossings: &[Crossing], ends: [ClockState; 2]) -> Option<Clocks> {
        let times = |way| -> Vec<(Nanos, Nanos)> { crossings.iter().filter(|c| c.way == way).flat_map(thinned).collect() };
        let onward = times(Way::Up);
        let back: Vec<(Nanos, Nanos)> = times(Way::Down).into_iter().map(|(sent, got)| (got, sent)).collect();
        let clock = Points::of(&onward, &back).clock()?;
        let interval = clock.offset_interval();
        let (narrow, steered) = narrowed(interval, ends);
        let compared = Compared {
            offset_ms: clock.offset() * 1e-6,
            offset_interval_ms: narrow.map(|ns| ns * 1e-6),
            skew_ppm: clock.skew * 1e6,
            skew_interval_ppm: clock.skew_interval.map(|s| s * 1e6),
            assumption: "offset_ms takes the least delays of both ways as equal; two-way traffic alone tells only offset_interval_ms",
            steered,
        };
        Some(Clocks { clock, compared })
    }

    /// A datagram's delay under the symmetric offset, nanoseconds.
    pub fn delay(&self, way: Way, sent: Nanos, got: Nanos) -> Nanos {
        match way {
            Way::Up => self.clock.delay(sent, got),
            Way::Down => self.clock.delay(got, sent).saturating_neg(),
        }
    }

    /// A time of the server's clock by the client's.
    pub fn near(&self, far: Nanos) -> Nanos {
        self.clock.across(far, false)
    }

    /// What a delay of this direction is at least and at most, for all that is known of the offset.
    pub fn bounds(&self, way: Way, delay_ms: f64) -> [f64; 2] {
        let [low, high] = self.compared.offset_interval_ms.map(|edge| edge - self.compared.offset_ms);
        match way {
            Way::Up => [delay_ms - high, delay_ms - low],
            Way::Down => [delay_ms + low, delay_ms + high],
        }
    }
}

/// Of each stretch of time the pair with the least difference.
fn thinned(crossing: &Crossing) -> Vec<(Nanos, Nanos)> {
    let mut out: Vec<(Nanos, Nanos)> = Vec::new();
    let mut stretch = None;
    for (sent, got) in crossing.pairs() {
        let now = sent.div_euclid(PER_NS);
        match out.last_mut().filter(|_| stretch == Some(now)) {
            Some(least) if got.saturating_sub(sent) < least.1.saturating_sub(least.0) => *least = (sent, got),
            Some(_) => {}
            None => out.push((sent, got)),
        }
        stretch = Some(now);
    }
    out
}

/// If both clocks are steered, true time is within their bounds.
fn narrowed(interval: [f64; 2], ends: [ClockState; 2]) -> ([f64; 2], bool) {
    let most: f64 = ends.iter().map(|e| e.most_error_ns as f64).sum();
    let both = [interval[0].max(-most), interval[1].min(most)];
    if ends.iter().all(|e| e.synchronised) && both[0] <= both[1] { (both, true) } else { (interval, false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::table::Table;
    use crate::spec::Train;
    use crate::{MS, SECOND};

    /// Datagrams every 40 ms each way over a path of unequal delays with some queue, by clocks that differ by offset and rate.
    fn path(down_ms: i64, up_ms: i64, offset: Nanos, ppm: i64) -> Vec<Crossing> {
        let train = Train { payload: 20, gap_ns: 40 * MS, count: 500 };
        let far = |t: Nanos| t + offset + t / 1_000_000 * ppm;
        let queue = |n: i64| (n * 7919 % 13) * MS;
        let mut tables = [Table::new(2), Table::new(2), Table::new(2), Table::new(2)];
        for n in 0..500 {
            let at = n * 40 * MS;
            tables[0].push(&[n, far(at)]);
            tables[1].push(&[n, at + down_ms * MS + queue(n)]);
            tables[2].push(&[n, at]);
            tables[3].push(&[n, far(at + up_ms * MS + queue(n + 3))]);
        }
        vec![Crossing::joined(train, Way::Down, &tables[0], &tables[1]), Crossing::joined(train, Way::Up, &tables[2], &tables[3])]
    }

    const LOOSE: ClockState = ClockState { synchronised: false, pps: false, most_error_ns: 0 };

    #[test]
    fn the_interval_has_the_true_delay_whatever_the_clocks_and_however_unequal_the_ways() {
        for (down, up, offset, ppm) in [(30, 30, 0, 0), (5, 80, 3600 * SECOND, 0), (120, 10, -7 * SECOND, 40), (1, 1, 5, -90)] {
            let crossings = path(down, up, offset, ppm);
            let clocks = Clocks::of(&crossings, [LOOSE; 2]).unwrap();
            for (crossing, truth) in crossings.iter().zip([down, up]) {
                let least = crossing.pairs().map(|(s, g)| clocks.delay(crossing.way, s, g)).min().unwrap() as f64 * 1e-6;
                let [low, high] = clocks.bounds(crossing.way, least);
                assert!(low - 0.01 <= truth as f64 && truth as f64 <= high + 0.01, "{truth} in {low} to {high}");
                let half = (down + up) as f64 / 2.0;
                assert!((least - half).abs() < 0.1, "the symmetric value is {half}, not {least}");
                // Variation does not depend on where the offset lies.
                let most = crossing.pairs().map(|(s, g)| clocks.delay(crossing.way, s, g)).max().unwrap() as f64 * 1e-6;
                assert!((most - least - 12.0).abs() < 0.2, "{}", most - least);
            }
            assert!((clocks.compared.skew_ppm - ppm as f64).abs() < 2.0, "{}", clocks.compared.skew_ppm);
        }
    }

    #[test]
    fn steered_clocks_narrow_the_interval_but_not_beyond_what_traffic_allows() {
        let crossings = path(5, 80, 0, 0);
        let good = ClockState { synchronised: true, pps: true, most_error_ns: MS };
        let clocks = Clocks::of(&crossings, [good; 2]).unwrap();
        let [low, high] = clocks.bounds(Way::Up, 42.5);
        assert!(low <= 80.0 && 80.0 <= high && high - low <= 4.01, "{low} to {high}");
        assert!(clocks.compared.steered);
        // A clock that lies is found out by the traffic.
        let wrong = path(5, 80, SECOND, 0);
        assert!(!Clocks::of(&wrong, [good; 2]).unwrap().compared.steered);
    }

    #[test]
    fn one_way_alone_says_nothing_of_clocks() {
        assert!(Clocks::of(&path(5, 80, 0, 0)[..1], [LOOSE; 2]).is_none());
    }
}
