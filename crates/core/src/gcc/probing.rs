//! Probing: bursts above the target rate at the start of a call, by which a sender knows the capacity within a
//! second instead of after 8 % a second (libwebrtc's probe controller and probe bitrate estimator; the draft has
//! none).
//!
//! A cluster is at least five packets and 15 ms at one rate: media as long as there are any, then copies of the last
//! packet. The first two have 3 and 6 times the start rate. While the target follows, another one of twice the
//! target is sent. Left out: probes of a sender that its application limits, as there is no such detection here.

use super::{PacketResult, RateBounds};
use crate::units::{Span, Time};
use std::collections::VecDeque;

const START_SCALES: [f64; 2] = [3.0, 6.0];
const FURTHER_SCALE: f64 = 2.0;
/// Share of a probe's rate that the target has to have for another one.
const FURTHER_THRESHOLD: f64 = 0.7;
const MAX_WAIT_FOR_RESULT: Span = Span::from_secs(1);

const MIN_PACKETS: u32 = 5;
const MIN_DURATION: Span = Span::from_ms(15);

/// Share of a cluster's packets and of its bytes that has to arrive.
const MIN_RECEIVED: f64 = 0.8;
const MAX_INTERVAL: Span = Span::from_secs(1);
/// More than twice the rate of sending arrives only where the path holds packets back: no result.
const MAX_TO_SENT: f64 = 2.0;
/// Below this share of what was sent the path is full; the result is a little below its capacity.
const UNSATURATED: f64 = 0.9;
const UTILIZATION: f64 = 0.95;

/// Packets that are sent at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProbeCluster {
    pub number: u32,
    pub bps: f64,
    sent_packets: u32,
    sent_bytes: u64,
}

impl ProbeCluster {
    fn min_bytes(&self) -> f64 {
        self.bps * MIN_DURATION.as_secs() / 8.0
    }

    /// A packet of it leaves, with so many IP bytes; true if it was the last one.
    pub fn on_sent(&mut self, bytes: u16) -> bool {
        self.sent_packets += 1;
        self.sent_bytes += u64::from(bytes);
        self.sent_packets >= MIN_PACKETS && self.sent_bytes as f64 >= self.min_bytes()
    }
}

/// What arrived of a cluster.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Received {
    cluster: ProbeCluster,
    packets: u32,
    bytes: u64,
    first_sent: Time,
    /// The time and the bytes of the packet that was sent last.
    last_sent: (Time, u32),
    first_arrived: (Time, u32),
    last_arrived: Time,
}

impl Received {
    fn new(cluster: ProbeCluster) -> Received {
        Received {
            cluster,
            packets: 0,
            bytes: 0,
            first_sent: Time::NEVER,
            last_sent: (Time::ZERO, 0),
            first_arrived: (Time::NEVER, 0),
            last_arrived: Time::ZERO,
        }
    }

    fn add(&mut self, sent: Time, arrived: Time, bytes: u32) {
        self.packets += 1;
        self.bytes += u64::from(bytes);
        self.first_sent = self.first_sent.min(sent);
        if sent >= self.last_sent.0 {
            self.last_sent = (sent, bytes);
        }
        if arrived < self.first_arrived.0 {
            self.first_arrived = (arrived, bytes);
        }
        self.last_arrived = self.last_arrived.max(arrived);
    }

    /// The rate that it shows, in bit/s: the lower of what was sent and what arrived. A rate has the intervals
    /// between packets, so that the bytes of one at their end are none of it.
    fn bps(&self) -> Option<f64> {
        let is_enough = f64::from(self.packets) >= MIN_RECEIVED * f64::from(MIN_PACKETS)
            && self.bytes as f64 >= MIN_RECEIVED * self.cluster.min_bytes();
        let [sending, arriving] = [self.last_sent.0 - self.first_sent, self.last_arrived - self.first_arrived.0];
        let is_usable = |interval: Span| interval > Span::ZERO && interval <= MAX_INTERVAL;
        if !is_enough || !is_usable(sending) || !is_usable(arriving) {
            return None;
        }
        let rate = |without: u32, interval: Span| (self.bytes - u64::from(without)) as f64 * 8.0 / interval.as_secs();
        let (sent, arrived) = (rate(self.last_sent.1, sending), rate(self.first_arrived.1, arriving));
        if arrived > MAX_TO_SENT * sent {
            return None;
        }
        Some(if arrived < UNSATURATED * sent { UTILIZATION * arrived } else { arrived.min(sent) })
    }
}

/// Which clusters are to be sent, and what they show.
#[derive(Debug, Clone)]
pub struct Probing {
    max_bps: f64,
    pending: VecDeque<ProbeCluster>,
    /// By number.
    received: Vec<Received>,
    /// The target above which another cluster follows; none when probing has ended.
    further_above: Option<f64>,
    initiated: Option<Time>,
}

impl Probing {
    pub fn new(bounds: RateBounds) -> Probing {
        let (pending, received) = (VecDeque::new(), Vec::new());
        let mut probing = Probing { max_bps: bounds.max, pending, received, further_above: None, initiated: None };
        for scale in START_SCALES {
            if bounds.start < bounds.max {
                probing.add(scale * bounds.start);
            }
        }
        probing
    }

    /// Another cluster, at most at the maximum, beyond which none follows.
    fn add(&mut self, bps: f64) {
        let number = u32::try_from(self.received.len()).unwrap_or(u32::MAX);
        let cluster = ProbeCluster { number, bps: bps.min(self.max_bps), sent_packets: 0, sent_bytes: 0 };
        self.received.push(Received::new(cluster));
        self.pending.push_back(cluster);
        self.further_above = (bps < self.max_bps).then_some(FURTHER_THRESHOLD * bps);
    }

    /// The next cluster; the sender begins it now.
    pub fn next(&mut self, now: Time) -> Option<ProbeCluster> {
        let cluster = self.pending.pop_front()?;
        self.initiated = Some(now);
        Some(cluster)
    }

    /// What feedback says of clusters' packets: the rate in bit/s that the last of those clusters shows.
    pub fn on_feedback(&mut self, results: &[PacketResult]) -> Option<f64> {
        let mut shown = None;
        for result in results {
            let Some(arrived) = result.arrived else { continue };
            let cluster = result.cluster.and_then(|number| self.received.get_mut(usize::try_from(number).ok()?));
            if let Some(cluster) = cluster {
                cluster.add(result.sent, arrived, result.bytes);
                shown = cluster.bps().or(shown);
            }
        }
        shown
    }

    /// The target rate after feedback.
    pub fn on_target(&mut self, now: Time, bps: f64) {
        if self.initiated.is_some_and(|initiated| now - initiated > MAX_WAIT_FOR_RESULT) {
            self.further_above = None;
        }
        if self.further_above.is_some_and(|above| bps > above) {
            self.add(FURTHER_SCALE * bps);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: RateBounds = RateBounds { min: 50e3, start: 300e3, max: 5e6 };

    fn at(ms: f64) -> Time {
        Time::ZERO + Span::from_secs_f64(ms / 1e3)
    }

    /// A packet of the first cluster with 1000 B.
    fn packet(sent_ms: f64, arrived_ms: f64) -> PacketResult {
        PacketResult { sent: at(sent_ms), bytes: 1000, arrived: Some(at(arrived_ms)), cluster: Some(0) }
    }

    fn shown(packets: usize, sent_each_ms: f64, arrived_each_ms: f64) -> Option<f64> {
        let results: Vec<PacketResult> =
            (0..packets).map(|i| packet(i as f64 * sent_each_ms, 50.0 + i as f64 * arrived_each_ms)).collect();
        Probing::new(BOUNDS).on_feedback(&results).map(f64::round)
    }

    #[test]
    fn rate_is_what_arrives_and_a_little_less_on_a_full_path() {
        // Four intervals of 10 ms with 1000 B are 800 kb/s.
        assert_eq!(shown(5, 10.0, 10.0), Some(800e3));
        assert_eq!(shown(5, 10.0, 10.5), Some((32_000.0_f64 / 0.042).round()), "above nine tenths");
        assert_eq!(shown(5, 10.0, 20.0), Some(0.95 * 400e3));
    }

    #[test]
    fn nothing_is_shown_by_too_few_packets_or_by_some_that_were_held_back() {
        assert_eq!(shown(3, 10.0, 10.0), None);
        assert_eq!(shown(4, 10.0, 10.0), Some(800e3));
        assert_eq!(shown(5, 10.0, 4.9), None, "more than twice the rate");
        assert_eq!(shown(5, 10.0, 0.0), None, "in one burst");
        assert_eq!(shown(5, 10.0, 334.0), None, "over more than a second");
        let mut lost = packet(0.0, 0.0);
        lost.arrived = None;
        assert_eq!(Probing::new(BOUNDS).on_feedback(&[lost; 5]), None);
    }

    #[test]
    fn first_two_clusters_have_3_and_6_times_the_start_and_others_twice_the_target() {
        let mut probing = Probing::new(BOUNDS);
        let rate = |probing: &mut Probing| probing.next(Time::ZERO).map(|cluster| cluster.bps);
        assert_eq!([rate(&mut probing), rate(&mut probing), rate(&mut probing)], [Some(900e3), Some(1.8e6), None]);
        probing.on_target(at(100.0), 1.2e6);
        assert_eq!(rate(&mut probing), None, "below 0.7 times the last one");
        probing.on_target(at(200.0), 1.7e6);
        assert_eq!(rate(&mut probing), Some(3.4e6));
        probing.on_target(at(300.0), 3.3e6);
        assert_eq!(rate(&mut probing), Some(5e6), "the maximum");
        probing.on_target(at(400.0), 5e6);
        assert_eq!(rate(&mut probing), None);
    }

    #[test]
    fn probing_ends_a_second_after_the_last_cluster_without_a_result() {
        let mut probing = Probing::new(BOUNDS);
        while probing.next(Time::ZERO).is_some() {}
        probing.on_target(at(1001.0), 300e3);
        probing.on_target(at(1100.0), 1.8e6);
        assert_eq!(probing.next(at(1100.0)), None);
    }

    #[test]
    fn sender_at_its_maximum_does_not_probe() {
        assert_eq!(Probing::new(RateBounds { start: 5e6, ..BOUNDS }).next(Time::ZERO), None);
    }

    #[test]
    fn cluster_has_five_packets_and_15_ms() {
        let ends = |bps, bytes| {
            let mut cluster = Probing::new(RateBounds { start: bps / 3.0, ..BOUNDS }).next(Time::ZERO).unwrap();
            (1..).find(|_| cluster.on_sent(bytes)).unwrap()
        };
        assert_eq!(ends(900e3, 1240), 5, "1.7 kB are two packets");
        // 15 ms at 4.5 Mb/s are 8437 B.
        assert_eq!(ends(4.5e6, 1000), 9);
    }
}
