//! Sender of STAMP probes (RFC 8762, section 4.2).

use super::packet::{StampKey, StampProbe, StampReply};
use super::time::{ErrorEstimate, ntp, time_of};
use crate::Nanos;
use crate::control::message::ClockState;
use crate::control::table::IntTable;
use crate::estimate::clocks::{ClockEstimate, ClockModel};
use crate::estimate::direction::{DirectionStats, direction_stats};
use crate::estimate::train_times::TrainTimes;
use crate::estimate::wilson::{Proportion, wilson_interval};
use crate::test_spec::{Direction, IPV4_UDP_HEADERS, Train};
use ackclock_contract::Document;
use ackclock_core::statistics::SummaryStats;
use serde::Serialize;

/// Times of a probe and its reply: T1 sent, T2 received by the reflector, T3 reply sent, T4 reply
/// received.
type ReplyTimes = [Nanos; 4];

pub struct StampSender {
    key: StampKey,
    train: Train,
    clock: ClockState,
    sent: Vec<Nanos>,
    round_trips: Vec<Option<ReplyTimes>>,
    duplicated: u64,
    /// Error estimate of the reflector's clock.
    there: Option<ErrorEstimate>,
}

#[derive(Debug, Clone, Serialize, Document)]
pub struct StampResults {
    pub authenticated: bool,
    pub sent: usize,
    pub received: usize,
    /// Loss of round trips: replies of a stateless reflector do not show the direction of a loss.
    pub loss: Option<Proportion>,
    pub duplicated: u64,
    /// RTT less the reflector's processing time.
    pub round_trip_ms: Option<SummaryStats>,
    pub reflector_us: Option<SummaryStats>,
    pub reflector_synchronised: Option<bool>,
    pub clock: Option<ClockEstimate>,
    /// Answered probes and their replies, by direction.
    pub directions: Vec<DirectionStats>,
}

impl StampSender {
    pub fn new(key: StampKey, gap_ns: i64, count: u32, clock: ClockState) -> StampSender {
        let bytes = StampProbe { number: 0, timestamp: 0, error: ErrorEstimate(1) }.write(&key).len();
        let train = Train { payload: bytes as u32, gap_ns, count };
        StampSender { key, train, clock, sent: Vec::new(), round_trips: Vec::new(), duplicated: 0, there: None }
    }

    /// Time of the next probe; none after the last.
    pub fn due(&self, now: Nanos) -> Option<Nanos> {
        let next = self.sent.len() as u32;
        let first = self.sent.first().copied().unwrap_or(now);
        (next < self.train.count).then(|| first.saturating_add(self.train.gap_ns.saturating_mul(i64::from(next))))
    }

    pub fn packet(&mut self, now: Nanos) -> Vec<u8> {
        let number = self.sent.len() as u32;
        self.sent.push(now);
        self.round_trips.push(None);
        let error = ErrorEstimate::of(self.clock.synchronised, self.clock.max_error_ns);
        StampProbe { number, timestamp: ntp(now), error }.write(&self.key)
    }

    /// Handles a packet that arrived at `at`. Packets that match no sent probe are ignored.
    pub fn on_reply(&mut self, packet: &[u8], at: Nanos) {
        let Some(reflection) = StampReply::read(packet, &self.key) else { return };
        let number = reflection.probe.number as usize;
        let Some(sent_at) = self.sent.get(number).copied().filter(|sent_at| ntp(*sent_at) == reflection.probe.timestamp) else {
            return;
        };
        if self.round_trips[number].is_some() {
            self.duplicated += 1;
            return;
        }
        let there = |timestamp| time_of(timestamp, reflection.error.is_ptp(), sent_at);
        self.there = Some(reflection.error);
        self.round_trips[number] = Some([sent_at, there(reflection.received), there(reflection.sent), at]);
    }

    pub fn has_all(&self) -> bool {
        self.sent.len() as u32 == self.train.count && self.round_trips.iter().all(Option::is_some)
    }

    pub fn results(&self) -> StampResults {
        let round_trips: Vec<(i64, ReplyTimes)> =
            self.round_trips.iter().enumerate().filter_map(|(n, t)| Some((n as i64, (*t)?))).collect();
        let log = |i: usize| {
            let mut table = IntTable::new(2);
            round_trips.iter().for_each(|(number, trip)| table.push(&[*number, trip[i]]));
            table
        };
        let directions = [
            TrainTimes::join(self.train, Direction::Up, &log(0), &log(1)),
            TrainTimes::join(self.train, Direction::Down, &log(2), &log(3)),
        ];
        let there = ClockState {
            synchronised: self.there.is_some_and(ErrorEstimate::is_synchronised),
            pps: false,
            max_error_ns: self.there.map_or(0, |e| e.error_ns() as i64),
        };
        let clocks = ClockModel::of(&directions, [self.clock, there]);
        let lost: Vec<bool> = self.round_trips.iter().map(Option::is_none).collect();
        StampResults {
            authenticated: self.key.is_some(),
            sent: self.sent.len(),
            received: round_trips.len(),
            loss: wilson_interval(&lost),
            duplicated: self.duplicated,
            round_trip_ms: SummaryStats::of(round_trips.iter().map(|(_, t)| (t[3] - t[0] - (t[2] - t[1])) as f64 * 1e-6))
                .non_empty(),
            reflector_us: SummaryStats::of(round_trips.iter().map(|(_, t)| (t[2] - t[1]) as f64 * 1e-3)).non_empty(),
            reflector_synchronised: self.there.map(ErrorEstimate::is_synchronised),
            clock: clocks.as_ref().map(|c| c.estimate.clone()),
            directions: directions.iter().map(|w| direction_stats(w, clocks.as_ref())).collect(),
        }
    }

    /// Rate of the probes in b/s of IP.
    pub fn rate_bps(&self) -> f64 {
        f64::from(self.train.payload + IPV4_UDP_HEADERS) * 8e9 / self.train.gap_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::reflector::{ReceivedProbe, StampReflector};
    use super::*;
    use crate::MS;

    #[test]
    fn results_contain_the_true_delays_when_the_reflectors_clock_is_wrong() {
        let loose = ClockState { synchronised: false, pps: false, max_error_ns: 0 };
        let start = 1_700_000_000_000_000_000;
        for key in [None, Some(b"shared".to_vec())] {
            let (mut sender, mut reflector) =
                (StampSender::new(key.clone(), 20 * MS, 200, loose), StampReflector::new(key, u32::MAX));
            for n in 0..200 {
                let at = start + n * 20 * MS;
                assert!(sender.due(at) == Some(at));
                let probe = sender.packet(at);
                // 15 ms to the reflector, 100 us of processing, 40 ms back; every tenth reply is
                // lost. The reflector's clock is 2 s behind.
                let there = at + 15 * MS - 2_000 * MS;
                let received = ReceivedProbe { packet: &probe, from: "192.0.2.1".parse().unwrap(), at: there, ttl: 60 };
                let answer = reflector.answer(&received, there + MS / 10, &loose).unwrap();
                if n % 10 != 3 {
                    sender.on_reply(&answer, at + 55 * MS + MS / 10 + n % 3 * MS);
                }
                sender.on_reply(&answer[1..], at);
            }
            let results = sender.results();
            assert_eq!((results.sent, results.received), (200, 180));
            assert!((results.round_trip_ms.unwrap().min.unwrap() - 55.0).abs() < 1e-5);
            assert!((results.reflector_us.unwrap().mean.unwrap() - 100.0).abs() < 0.01);
            for (direction, truth) in results.directions.iter().zip([15.0, 40.0]) {
                let [low, high] = direction.min_delay_interval_ms.unwrap();
                assert!(low <= truth + 0.01 && truth <= high + 0.01, "{low} to {high}");
            }
            assert!((results.directions[1].delay_variation_ms.as_ref().unwrap().max.unwrap() - 2.0).abs() < 0.05);
        }
    }
}
