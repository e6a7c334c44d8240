//! How packets arrive, as figures that two fits can be compared by: a link that a simulation has and one
//! that was captured are alike if their arrivals are.

use crate::arrivals::max_bytes;
use crate::delay::IsolatedDelays;
use crate::facts::DirectionFacts;
use ackclock_contract::Document;
use ackclock_core::statistics::quantile_of_sorted;
use serde::Serialize;

/// Windows of the arrival curve, milliseconds: from a slot of a radio to a few frames.
pub const WINDOWS_MS: [i64; 5] = [2, 5, 10, 20, 50];
/// Quantiles of the delays.
pub const QUANTILES: [f64; 5] = [0.1, 0.25, 0.5, 0.75, 0.95];

/// One direction.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Document)]
pub struct ArrivalShape {
    /// Largest number of bytes that arrived in each of the windows.
    pub max_bytes: Vec<u64>,
    /// Quantiles of the delays of packets that found an empty path, above their minimum, nanoseconds;
    /// empty without any.
    pub delays: Vec<f64>,
}

impl ArrivalShape {
    pub fn of(runs: &[DirectionFacts], isolated: &IsolatedDelays) -> ArrivalShape {
        let in_window = |ms: i64| runs.iter().filter_map(|facts| max_bytes(facts, ms * 1_000_000)).max().unwrap_or(0);
        let above = isolated.above_min();
        ArrivalShape {
            max_bytes: WINDOWS_MS.into_iter().map(in_window).collect(),
            delays: QUANTILES.into_iter().filter_map(|q| quantile_of_sorted(&above, q)).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{LinkPacket, Outcome};

    #[test]
    fn shape_has_the_largest_burst_and_the_quantiles_of_the_delays() {
        // Every 100 ms four packets within 3 ms; the delay of the first ones grows from 20 to 29.9 ms.
        let packets = (0..400i64).map(|i| {
            let sent = i / 4 * 100_000_000 + i % 4 * 1_000_000;
            let delay = 20_000_000 + i / 4 * 100_000;
            LinkPacket { sent, len: 1000, outcome: Outcome::Arrived(sent + delay) }
        });
        let facts = [DirectionFacts { packets: packets.collect(), ..DirectionFacts::default() }];
        let shape = ArrivalShape::of(&facts, &IsolatedDelays::of(&facts, 0.0));
        assert_eq!(shape.max_bytes, [2000, 4000, 4000, 4000, 4000]);
        let last = shape.delays[QUANTILES.len() - 1];
        assert!((8.8e6..9.9e6).contains(&last) && shape.delays.is_sorted() && shape.delays[0] < 1e6, "{shape:?}");
    }
}
