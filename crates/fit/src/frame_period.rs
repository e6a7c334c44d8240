//! Period of a link that sends at fixed times alone (frames, grants, scheduled slots): the arrivals of
//! packets that waited for nothing else have one phase, and their departures have not (Rayleigh's
//! test). Clocks drift by some 100 ppm: phases are compared within windows.

use crate::facts::DirectionFacts;
use crate::thresholds::LIMITS;
use ackclock_contract::Document;
use serde::Serialize;
use std::f64::consts::TAU;

/// The evidence of a period.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Document)]
pub struct FramePeriod {
    /// Nanoseconds, with the interval that the length of the windows resolves.
    pub ns: f64,
    pub lo: f64,
    pub hi: f64,
    /// Mean resultant length of the phases of the arrivals and of the departures, 0 to 1.
    pub arrivals: f64,
    pub departures: f64,
    /// Packets.
    pub packets: usize,
}

/// Phases of one period: sums over windows of the resultant lengths, without what chance adds.
#[derive(Debug, Clone, Copy, Default)]
struct Concentration {
    squared: f64,
    packets: f64,
}

impl Concentration {
    fn of<'a>(windows: impl Iterator<Item = &'a [i64]>, period: f64) -> Concentration {
        windows.fold(Concentration::default(), |sum, times| {
            let start = times[0];
            let (mut x, mut y) = (0.0, 0.0);
            for time in times {
                let phase = ((time - start) as f64 / period).fract() * TAU;
                x += libm::cos(phase);
                y += libm::sin(phase);
            }
            let n = times.len() as f64;
            // Of uniform phases the squared length of the sum is n on average.
            Concentration { squared: sum.squared + ((x * x + y * y - n) / (n - 1.0)).max(0.0), packets: sum.packets + n }
        })
    }

    fn length(self) -> f64 {
        libm::sqrt(self.squared / self.packets.max(1.0)).min(1.0)
    }
}

/// The longest period that the arrivals of the isolated packets have; none without one.
pub fn estimate(runs: &[DirectionFacts]) -> Option<FramePeriod> {
    let mut windows: Vec<(Vec<i64>, Vec<i64>)> = Vec::new();
    for facts in runs {
        let Some(floor) = facts.floor() else { continue };
        let isolated = facts.isolated(floor);
        let times: Vec<(i64, i64)> =
            isolated.iter().filter_map(|&index| Some((facts.packets[index].sent, facts.packets[index].arrival()?))).collect();
        let mut from = 0;
        for to in 1..=times.len() {
            if times.get(to).is_none_or(|time| time.0 - times[from].0 > LIMITS.period_window_ns) {
                if to - from >= LIMITS.min_period_packets {
                    windows.push(times[from..to].iter().copied().unzip());
                }
                from = to;
            }
        }
    }
    let packets = windows.iter().map(|window| window.0.len()).sum();
    let at_period = |period: f64| FramePeriod {
        ns: period,
        lo: period - period * period / LIMITS.period_window_ns as f64,
        hi: period + period * period / LIMITS.period_window_ns as f64,
        arrivals: Concentration::of(windows.iter().map(|window| window.1.as_slice()), period).length(),
        departures: Concentration::of(windows.iter().map(|window| window.0.as_slice()), period).length(),
        packets,
    };
    let all: Vec<FramePeriod> = LIMITS.periods_ms.iter().map(|ms| at_period(ms * 1e6)).collect();
    let is_found = |period: &&FramePeriod| {
        period.arrivals >= LIMITS.min_concentration && period.arrivals - period.departures >= LIMITS.min_phase_gain
    };
    let base = *all.iter().filter(is_found).max_by(|a, b| a.arrivals.total_cmp(&b.arrivals))?;
    // The phases of a period are those of its parts as well. Departures that arrivals of the other
    // direction clock have the period of the link, too.
    all.into_iter().rfind(|period| (period.ns / base.ns).fract() == 0.0 && period.arrivals >= LIMITS.min_harmonic * base.arrivals)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{LinkPacket, Outcome};
    use ackclock_core::rng::Rng;

    /// Packets at exponential times over a link that sends at multiples of `period` (by a clock that is
    /// off by 100 ppm), or after a random delay of the same mean.
    fn link(period: Option<f64>) -> DirectionFacts {
        let mut rng = Rng::for_element(3, "frames");
        let mut now = 0.0;
        let packets = (0..3000).map(|_| {
            now += 3e6 + rng.exponential(9e6);
            let arrival = match period {
                Some(period) => libm::ceil(now / period / 1.0001) * period * 1.0001 + 10e6,
                None => now + 10e6 + 5e6 * rng.uniform(),
            };
            LinkPacket { sent: now as i64, len: 1500, outcome: Outcome::Arrived(arrival as i64) }
        });
        DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }
    }

    #[test]
    fn period_is_that_of_the_frames_when_clocks_drift() {
        for ms in [1.0, 2.0, 5.0, 10.0] {
            let found = estimate(&[link(Some(ms * 1e6))]).unwrap();
            assert!(
                (found.ns / 1e6 - ms).abs() < 1e-9 && found.lo < ms * 1.0001e6 && ms * 1.0001e6 < found.hi,
                "{ms}: {found:?}"
            );
        }
    }

    #[test]
    fn there_is_no_period_when_delays_are_random_or_departures_have_it() {
        assert_eq!(estimate(&[link(None)]), None);
        // A sender with a timer of 10 ms over a wire.
        let packets = (0..3000).map(|i| LinkPacket {
            sent: i * 10_000_000,
            len: 1500,
            outcome: Outcome::Arrived(i * 10_000_000 + 20_000_000),
        });
        assert_eq!(estimate(&[DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }]), None);
    }
}
