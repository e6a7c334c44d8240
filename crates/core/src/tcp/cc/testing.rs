//! Helpers for tests of variants: a path that acknowledges.

use super::slow_start::{ClassicSlowStart, SlowStart};
use super::{Ack, Congestion, CongestionControl, CongestionSignal};
use crate::units::{Span, Time};

pub fn classic() -> SlowStart {
    SlowStart::Classic(ClassicSlowStart)
}

pub fn loss(flight: f64) -> Congestion {
    Congestion { now: Time::ZERO, signal: CongestionSignal::Duplicates, flight }
}

pub fn timeout(flight: f64) -> Congestion {
    Congestion { signal: CongestionSignal::Timeout, ..loss(flight) }
}

/// The ACKs of a window, one per segment, over 100 ms.
pub fn round(cc: &mut impl CongestionControl) {
    TestPath::new(Span::from_ms(100)).round(cc);
}

/// A path on which the ACKs of a window take an RTT.
pub struct TestPath {
    pub now: Time,
    pub rtt: Span,
    pub smallest: Span,
    pub acked_total: u64,
    pub sent: u64,
}

impl TestPath {
    pub fn new(rtt: Span) -> TestPath {
        TestPath { now: Time::ZERO + Span::from_secs(1), rtt, smallest: rtt, acked_total: 0, sent: 0 }
    }

    /// The ACKs of an RTT, evenly spread. Each ACK releases as many segments as the window allows.
    pub fn round(&mut self, cc: &mut impl CongestionControl) {
        let n = (cc.cwnd() as u64).max(1);
        self.sent = self.sent.max(self.acked_total + n);
        let start = self.now;
        for i in 1..=n {
            self.now = start + Span(self.rtt.0 / n * i);
            self.ack(cc);
        }
    }

    /// The ACK of one segment.
    pub fn ack(&mut self, cc: &mut impl CongestionControl) {
        self.smallest = self.smallest.min(self.rtt);
        self.acked_total += 1;
        let ack = Ack {
            now: self.now,
            growth_credit: 1.0,
            acked: 1,
            delivered: 1,
            in_flight: (self.sent - self.acked_total.min(self.sent)) as u32,
            rtt: Some(self.rtt),
            srtt: Some(self.rtt),
            min_rtt: Some(self.smallest),
            cwnd_limited: true,
            acked_total: self.acked_total,
            sent: self.sent,
            ..Ack::default()
        };
        cc.on_delivery(&ack);
        cc.on_clean_ack(&ack);
        self.sent = self.sent.max(self.acked_total + cc.cwnd() as u64);
    }

    pub fn rounds(&mut self, cc: &mut impl CongestionControl, n: u32) -> Vec<f64> {
        (0..n)
            .map(|_| {
                self.round(cc);
                cc.cwnd()
            })
            .collect()
    }
}
