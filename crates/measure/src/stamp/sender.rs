//! The end that asks (RFC 8762, section 4.2).

use super::packet::{Key, Probe, Reflection};
use super::time::{ErrorEstimate, ntp, time_of};
use crate::Nanos;
use crate::control::message::ClockState;
use crate::control::table::Table;
use crate::estimate::clocks::{Clocks, Compared};
use crate::estimate::crossing::Crossing;
use crate::estimate::interval::{Share, share};
use crate::estimate::spread::Spread;
use crate::estimate::way::{WayFigures, figures};
use crate::spec::{HEADERS, Train, Way};
use serde::Serialize;

/// Four times of a round trip: left here, came there, left there, came here.
type Trip = [Nanos; 4];

pub struct Sender {
    key: Key,
    train: Train,
    clock: ClockState,
    sent: Vec<Nanos>,
    trips: Vec<Option<Trip>>,
    duplicated: u64,
    /// What the reflector says of its clock.
    there: Option<ErrorEstimate>,
}

#[derive(Debug, Clone, Serialize)]
pub struct StampFound {
    pub authenticated: bool,
    pub sent: usize,
    pub received: usize,
    /// Of round trips: a stateless reflector cannot say on which way.
    pub loss: Option<Share>,
    pub duplicated: u64,
    /// Without the reflector's own time.
    pub round_trip_ms: Option<Spread>,
    pub reflector_us: Option<Spread>,
    pub reflector_synchronised: Option<bool>,
    pub clock: Option<Compared>,
    /// Of what was answered.
    pub ways: Vec<WayFigures>,
}

impl Sender {
    pub fn new(key: Key, gap_ns: i64, count: u32, clock: ClockState) -> Sender {
        let bytes = Probe { number: 0, stamp: 0, error: ErrorEstimate(1) }.write(&key).len();
        let train = Train { payload: bytes as u32, gap_ns, count };
        Sender { key, train, clock, sent: Vec::new(), trips: Vec::new(), duplicated: 0, there: None }
    }

    /// When the next probe is due after the first has left; none after the last.
    pub fn due(&self, now: Nanos) -> Option<Nanos> {
        let next = self.sent.len() as u32;
        let first = self.sent.first().copied().unwrap_or(now);
        (next < self.train.count).then(|| first.saturating_add(self.train.gap_ns.saturating_mul(i64::from(next))))
    }

    pub fn packet(&mut self, now: Nanos) -> Vec<u8> {
        let number = self.sent.len() as u32;
        self.sent.push(now);
        self.trips.push(None);
        let error = ErrorEstimate::of(self.clock.synchronised, self.clock.most_error_ns);
        Probe { number, stamp: ntp(now), error }.write(&self.key)
    }

    /// A packet that came at `at`. What is no answer to what was sent is left out.
    pub fn hear(&mut self, packet: &[u8], at: Nanos) {
        let Some(reflection) = Reflection::read(packet, &self.key) else { return };
        let number = reflection.probe.number as usize;
        let Some(left) = self.sent.get(number).copied().filter(|left| ntp(*left) == reflection.probe.stamp) else { return };
        if self.trips[number].is_some() {
            self.duplicated += 1;
            return;
        }
        let there = |stamp| time_of(stamp, reflection.error.is_ptp(), left);
        self.there = Some(reflection.error);
        self.trips[number] = Some([left, there(reflection.received), there(reflection.sent), at]);
    }

    pub fn has_all(&self) -> bool {
        self.sent.len() as u32 == self.train.count && self.trips.iter().all(Option::is_some)
    }

    pub fn found(&self) -> StampFound {
        let trips: Vec<(i64, Trip)> = self.trips.iter().enumerate().filter_map(|(n, t)| Some((n as i64, (*t)?))).collect();
        let log = |i: usize| {
            let mut table = Table::new(2);
            trips.iter().for_each(|(number, trip)| table.push(&[*number, trip[i]]));
            table
        };
        let ways =
            [Crossing::joined(self.train, Way::Up, &log(0), &log(1)), Crossing::joined(self.train, Way::Down, &log(2), &log(3))];
        let there = ClockState {
            synchronised: self.there.is_some_and(ErrorEstimate::is_synchronised),
            pps: false,
            most_error_ns: self.there.map_or(0, |e| e.error_ns() as i64),
        };
        let clocks = Clocks::of(&ways, [self.clock, there]);
        let lost: Vec<bool> = self.trips.iter().map(Option::is_none).collect();
        StampFound {
            authenticated: self.key.is_some(),
            sent: self.sent.len(),
            received: trips.len(),
            loss: share(&lost),
            duplicated: self.duplicated,
            round_trip_ms: Spread::of(trips.iter().map(|(_, t)| (t[3] - t[0] - (t[2] - t[1])) as f64 * 1e-6)),
            reflector_us: Spread::of(trips.iter().map(|(_, t)| (t[2] - t[1]) as f64 * 1e-3)),
            reflector_synchronised: self.there.map(ErrorEstimate::is_synchronised),
            clock: clocks.as_ref().map(|c| c.compared.clone()),
            ways: ways.iter().map(|w| figures(w, clocks.as_ref())).collect(),
        }
    }

    /// IP bytes a second that this sends.
    pub fn rate_bps(&self) -> f64 {
        f64::from(self.train.payload + HEADERS) * 8e9 / self.train.gap_ns as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::reflector::{Came, Reflector};
    use super::*;
    use crate::MS;

    #[test]
    fn a_reflector_with_a_wrong_clock_gives_round_trips_and_an_interval_that_has_the_truth() {
        let loose = ClockState { synchronised: false, pps: false, most_error_ns: 0 };
        let start = 1_700_000_000_000_000_000;
        for key in [None, Some(b"shared".to_vec())] {
            let (mut sender, mut reflector) = (Sender::new(key.clone(), 20 * MS, 200, loose), Reflector::new(key, u32::MAX));
            for n in 0..200 {
                let at = start + n * 20 * MS;
                assert!(sender.due(at) == Some(at));
                let probe = sender.packet(at);
                // 15 ms there, 100 us of thinking, 40 ms back; every tenth is lost. The clock there is 2 s behind.
                let there = at + 15 * MS - 2_000 * MS;
                let came = Came { packet: &probe, from: "192.0.2.1".parse().unwrap(), at: there, ttl: 60 };
                let answer = reflector.answer(&came, there + MS / 10, &loose).unwrap();
                if n % 10 != 3 {
                    sender.hear(&answer, at + 55 * MS + MS / 10 + n % 3 * MS);
                }
                sender.hear(&answer[1..], at);
            }
            let found = sender.found();
            assert_eq!((found.sent, found.received), (200, 180));
            assert!((found.round_trip_ms.unwrap().min - 55.0).abs() < 1e-5);
            assert!((found.reflector_us.unwrap().mean - 100.0).abs() < 0.01);
            for (way, truth) in found.ways.iter().zip([15.0, 40.0]) {
                let [low, high] = way.least_delay_interval_ms.unwrap();
                assert!(low <= truth + 0.01 && truth <= high + 0.01, "{low} to {high}");
            }
            assert!((found.ways[1].delay_variation_ms.as_ref().unwrap().max - 2.0).abs() < 0.05);
        }
    }
}
