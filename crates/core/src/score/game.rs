//! The score of a game: round trips that are too late for what happens on the screen.

use crate::statistics::Histogram;
use crate::units::Span;
use ackclock_contract::Document;
use serde::{Deserialize, Serialize};

/// Bounds of the other two shares.
const BOUNDS: [Span; 2] = [Span::from_ms(50), Span::from_ms(100)];

/// The round trips of a client's packets.
#[derive(Clone, Debug)]
pub struct RoundTrips {
    rtt: Histogram,
    deadline: Span,
    /// Longer than the deadline, than 50 ms, than 100 ms.
    longer: [u64; 3],
}

impl RoundTrips {
    pub fn new(deadline: Span) -> RoundTrips {
        RoundTrips { rtt: Histogram::default(), deadline, longer: [0; 3] }
    }

    pub fn deadline(&self) -> Span {
        self.deadline
    }

    /// After this time a packet without an answer is later than every bound.
    pub fn patience(&self) -> Span {
        self.deadline.max(BOUNDS[1])
    }

    pub fn add(&mut self, rtt: Span) {
        self.rtt.add(rtt);
        for (count, bound) in self.longer.iter_mut().zip([self.deadline, BOUNDS[0], BOUNDS[1]]) {
            *count += u64::from(rtt > bound);
        }
    }

    /// Of the packets with an answer.
    pub fn rtt(&self) -> &Histogram {
        &self.rtt
    }

    /// Packets with an answer.
    pub fn answered(&self) -> u64 {
        self.rtt.count()
    }

    /// The score of these and of `lost` packets without an answer.
    pub fn score(&self, lost: u64) -> GameScore {
        let sent = self.answered() + lost;
        let share = |count: u64| (sent > 0).then(|| count as f64 / sent as f64);
        let ms = |q: f64| self.rtt.quantile(q).map(|seconds| 1e3 * seconds);
        let [late, over_50, over_100] = self.longer.map(|longer| share(longer + lost));
        GameScore {
            deadline_ms: self.deadline.as_millis(),
            late_share: late,
            over_50_ms_share: over_50,
            over_100_ms_share: over_100,
            lost_share: share(lost),
            rtt_p50_ms: ms(0.5),
            rtt_p95_ms: ms(0.95),
        }
    }
}

/// What people feel of a game. A packet without an answer is later than every bound.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, Document)]
pub struct GameScore {
    /// Of an answer, from the client's packet on.
    pub deadline_ms: f64,
    /// Share of the client's packets whose answer came after the deadline, or never.
    pub late_share: Option<f64>,
    /// The same for 50 ms.
    pub over_50_ms_share: Option<f64>,
    /// The same for 100 ms.
    pub over_100_ms_share: Option<f64>,
    /// Share of the client's packets without an answer.
    pub lost_share: Option<f64>,
    /// Of the packets with an answer.
    pub rtt_p50_ms: Option<f64>,
    /// Of the packets with an answer.
    pub rtt_p95_ms: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trips<const N: usize>(deadline: u64, rtts: [u64; N]) -> RoundTrips {
        let mut trips = RoundTrips::new(Span::from_ms(deadline));
        for ms in rtts {
            trips.add(Span::from_ms(ms));
        }
        trips
    }

    #[test]
    fn no_round_trip_is_late_at_its_bound() {
        let score = trips(50, [30, 50, 40]).score(0);
        assert_eq!((score.late_share, score.over_50_ms_share, score.lost_share), (Some(0.0), Some(0.0), Some(0.0)));
    }

    #[test]
    fn packet_without_an_answer_is_late() {
        let score = trips(33, [30, 60, 110]).score(1);
        assert_eq!([score.late_share, score.over_50_ms_share, score.over_100_ms_share], [Some(0.75), Some(0.75), Some(0.5)]);
        assert_eq!((score.lost_share, trips(33, []).score(0).late_share), (Some(0.25), None));
    }
}
