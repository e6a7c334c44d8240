//! HyStart (Ha and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 2011), with
//! Linux's numbers: slow start ends when a train of closely spaced ACKs has lasted half an RTT, or
//! when the RTT has risen.

use super::{Ack, CongestionWindow, RoundCounter, SlowStartRule, grow};
use crate::units::{Span, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hystart {
    /// HyStart is inactive below this window in segments (section 4; `hystart_low_window`).
    low_window: f64,
    /// ACKs further apart do not belong to one train (`hystart_ack_delta`).
    train_gap: Span,
    /// Samples at the start of a round that represent it (`HYSTART_MIN_SAMPLES`).
    samples: u32,
    /// Tolerance of a train's length for segments sent in bursts (`hystart_ack_delay()`, which is
    /// less only above 2 Gb/s).
    train_slack: Span,
    /// Limits of the RTT rise that ends slow start, an eighth of the minimum RTT
    /// (`HYSTART_DELAY_MIN`, `HYSTART_DELAY_MAX`).
    rise: (Span, Span),
    round: RoundCounter,
    /// Minimum RTT of data segments; the handshake does not count, as its packets are short.
    min_rtt: Span,
    round_start: Time,
    last_in_train: Time,
    seen: u32,
    round_rtt: Span,
}

impl Hystart {
    pub const LINUX: Hystart = Hystart {
        low_window: 16.0,
        train_gap: Span::from_ms(2),
        samples: 8,
        train_slack: Span::from_ms(1),
        rise: (Span::from_ms(4), Span::from_ms(16)),
        round: RoundCounter::START,
        min_rtt: Span::MAX,
        round_start: Time::ZERO,
        last_in_train: Time::ZERO,
        seen: 0,
        round_rtt: Span::MAX,
    };

    fn begin_round(&mut self, now: Time) {
        self.round_start = now;
        self.last_in_train = now;
        self.seen = 0;
        self.round_rtt = Span::MAX;
    }

    /// Section 4.1: the train is as long as the forward path.
    fn train_is_long(&mut self, ack: &Ack) -> bool {
        if ack.now - self.last_in_train > self.train_gap {
            return false;
        }
        self.last_in_train = ack.now;
        ack.now - self.round_start > Span((self.min_rtt + self.train_slack).0 / 2)
    }

    /// Section 4.2: all samples of the round exceed the minimum RTT by a threshold. Checked from
    /// the ninth sample on; a later sample may still lower the round's minimum (newer Linux).
    fn delay_has_risen(&mut self, ack: &Ack) -> bool {
        let Some(rtt) = ack.rtt else { return false };
        self.round_rtt = self.round_rtt.min(rtt);
        self.seen += 1;
        self.seen > self.samples && self.round_rtt > self.min_rtt + rise_threshold(self.min_rtt, self.rise)
    }
}

/// Section 4.2: an eighth of the minimum RTT, within limits.
pub fn rise_threshold(min_rtt: Span, bounds: (Span, Span)) -> Span {
    Span(min_rtt.0 / 8).clamp(bounds.0, bounds.1)
}

impl SlowStartRule for Hystart {
    fn open(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64 {
        self.observe(ack, window);
        grow(ack.growth_credit, 1.0, window)
    }

    /// Linux samples each ACK, whether the window grows or not (`cubictcp_acked()`).
    fn observe(&mut self, ack: &Ack, window: &mut CongestionWindow) {
        // Rounds count from the start, even while HyStart is inactive.
        if self.round.over(ack) {
            self.begin_round(ack.now);
        }
        self.min_rtt = self.min_rtt.min(ack.rtt.unwrap_or(Span::MAX));
        if self.min_rtt < Span::MAX && window.cwnd >= self.low_window {
            let train = self.train_is_long(ack);
            if self.delay_has_risen(ack) || train {
                window.ssthresh = window.cwnd;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rounds;
    use super::*;

    #[test]
    fn slow_start_doubles_at_a_constant_rtt() {
        let (windows, window) = rounds(&mut Hystart::LINUX.clone(), 2.0, 6, |_| Span::from_ms(100));
        assert_eq!(windows, [4.0, 8.0, 16.0, 32.0, 64.0, 128.0]);
        assert_eq!(window.ssthresh, f64::INFINITY);
    }

    #[test]
    fn slow_start_ends_at_the_ninth_sample_when_rtt_rises_by_an_eighth() {
        let (_, window) = rounds(&mut Hystart::LINUX.clone(), 2.0, 9, |r| Span::from_ms(if r < 4 { 100 } else { 113 }));
        // Round 4 begins at 32: eight ACKs grow it to 40, the ninth ends slow start.
        assert_eq!((window.cwnd, window.ssthresh), (40.0, 40.0));
        let (windows, _) = rounds(&mut Hystart::LINUX.clone(), 2.0, 7, |r| Span::from_ms(if r < 4 { 100 } else { 112 }));
        assert_eq!(windows.last(), Some(&256.0), "12 ms are not more than the threshold of 12.5 ms");
    }

    #[test]
    fn slow_start_ends_when_an_ack_train_lasts_half_an_rtt() {
        let mut s = Hystart::LINUX;
        let mut window = CongestionWindow { cwnd: 100.0, ssthresh: f64::INFINITY };
        let start = Time::ZERO + Span::from_secs(1);
        for i in 0..60 {
            let now = start + Span::from_ms(i);
            let ack =
                Ack { now, growth_credit: 1.0, rtt: Some(Span::from_ms(100)), acked_total: 1 + i, sent: 500, ..Ack::default() };
            s.open(&ack, &mut window);
        }
        assert_eq!(window.ssthresh, 151.0, "the ACK 51 ms after the round's first");
    }

    #[test]
    fn rise_threshold_has_limits() {
        for (rtt, threshold) in [(8, 4), (100, 12), (400, 16)] {
            assert_eq!(rise_threshold(Span::from_ms(rtt), Hystart::LINUX.rise).0 / 1_000_000_000, threshold, "{rtt}");
        }
    }
}
