//! TCP-LP (Kuzmanovic and Knightly, "TCP-LP: a distributed algorithm for low priority data
//! transfer", Infocom 2003): uses spare bandwidth, and yields as soon as delay indicates other
//! traffic.

use super::slow_start::{SlowStart, SlowStartRule};
use super::{Ack, Congestion, CongestionControl, CongestionWindow, CwndCount, reno_ssthresh, window_methods};
use crate::units::{Span, Time};

/// Section III.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LpConfig {
    /// delta: the threshold of early congestion, as a share of the range from minimum to maximum
    /// delay.
    pub delta: f64,
    /// gamma: weight of a new sample in the smoothed delay.
    pub gamma: f64,
    /// The inference phase, in RTTs.
    pub inference: u64,
    /// Granularity of the timestamps by which the paper measures delay.
    pub tick: Span,
}

impl LpConfig {
    pub const PAPER: LpConfig = LpConfig { delta: 0.15, gamma: 1.0 / 8.0, inference: 3, tick: Span::from_ms(1) };
}

#[derive(Clone, Debug)]
pub struct Lp {
    config: LpConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
    counter: CwndCount,
    /// Delays in seconds.
    min_delay: f64,
    max_delay: f64,
    /// Minimum delay of segments that were alone in flight: their ACKs waited for the delayed-ACK
    /// timer.
    min_delay_alone: f64,
    smoothed: Option<f64>,
    /// End of the inference phase.
    inferring_until: Time,
    /// Time of the last response: at most one response per RTT.
    answered: Time,
}

/// Minimum window, in segments.
const MIN_CWND: f64 = 1.0;

/// Section III-B: an early indication of congestion.
pub fn lp_congested(p: &LpConfig, smoothed: f64, min_delay: f64, max_delay: f64) -> bool {
    smoothed > min_delay + (p.delta * (max_delay - min_delay)).max(p.tick.as_secs())
}

impl Lp {
    pub fn new(config: LpConfig, window: CongestionWindow, slow_start: SlowStart) -> Lp {
        Lp {
            config,
            window,
            slow_start,
            counter: CwndCount::default(),
            min_delay: f64::INFINITY,
            max_delay: 0.0,
            min_delay_alone: f64::INFINITY,
            smoothed: None,
            inferring_until: Time::ZERO,
            answered: Time::ZERO,
        }
    }

    fn on_delay(&mut self, delay: f64) -> bool {
        let p = self.config;
        self.min_delay = self.min_delay.min(delay);
        self.max_delay = self.max_delay.max(delay);
        let smoothed = self.smoothed.map_or(delay, |s| (1.0 - p.gamma) * s + p.gamma * delay);
        self.smoothed = Some(smoothed);
        lp_congested(&p, smoothed, self.min_delay, self.max_delay)
    }

    /// Delay in seconds, less the delayed-ACK time of a single segment: the paper uses the one-way
    /// delay.
    fn path_delay(&mut self, ack: &Ack) -> Option<f64> {
        let delay = ack.rtt?.as_secs();
        if ack.in_flight > 0 || ack.acked > 1 || !self.min_delay.is_finite() {
            return Some(delay);
        }
        self.min_delay_alone = self.min_delay_alone.min(delay);
        Some(delay - (self.min_delay_alone - self.min_delay).max(0.0))
    }

    /// Section III-C: half at the first indication, one segment at a second within the inference
    /// phase.
    fn reduce_early(&mut self, now: Time, rtt: Span) {
        if now < self.answered + rtt {
            return;
        }
        self.answered = now;
        let inferring = now < self.inferring_until;
        self.window.cwnd = if inferring { MIN_CWND } else { libm::floor(self.window.cwnd / 2.0).max(MIN_CWND) };
        self.window.ssthresh = self.window.cwnd.max(super::MIN_SSTHRESH);
        self.inferring_until = now + rtt.saturating_mul(self.config.inference);
        self.counter.clear();
    }
}

impl CongestionControl for Lp {
    fn on_ack(&mut self, ack: &Ack) {
        let congested = self.path_delay(ack).is_some_and(|delay| self.on_delay(delay));
        let opening = self.slow_start.applies(&self.window);
        // Slow start ends as Reno's does: before the queue has been full once, the maximum delay is
        // meaningless.
        if congested && !opening {
            return self.reduce_early(ack.now, ack.srtt.unwrap_or(Span::ZERO));
        }
        if ack.now < self.inferring_until {
            return;
        }
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            self.window.cwnd += self.counter.add(credit, libm::floor(self.window.cwnd));
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.cut_to(libm::floor(reno_ssthresh(congestion.flight)), congestion.signal);
        self.counter.clear();
    }

    fn halving_floor(&self) -> f64 {
        libm::floor(self.window.ssthresh / 2.0)
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, classic, loss};
    use super::*;

    fn lp(cwnd: f64) -> (Lp, TestPath) {
        let mut cc = Lp::new(LpConfig::PAPER, CongestionWindow { cwnd, ssthresh: 2.0 }, classic());
        (cc.min_delay, cc.max_delay) = (0.1, 0.2);
        (cc, TestPath::new(Span::from_ms(100)))
    }

    #[test]
    fn early_congestion_is_above_15_percent_of_the_delay_range() {
        for (delay, near) in [(0.114, false), (0.116, true)] {
            assert_eq!(lp_congested(&LpConfig::PAPER, delay, 0.1, 0.2), near);
        }
    }

    #[test]
    fn lp_grows_like_reno_without_other_traffic() {
        let (mut cc, mut path) = lp(50.0);
        path.rounds(&mut cc, 5);
        assert_eq!(cc.cwnd(), 55.0);
    }

    #[test]
    fn first_indication_halves_and_second_within_three_rtts_leaves_one() {
        let (mut cc, mut path) = lp(64.0);
        path.rtt = Span::from_ms(190);
        for _ in 0..12 {
            path.ack(&mut cc);
        }
        assert_eq!(cc.cwnd(), 32.0);
        path.now += Span::from_ms(200);
        path.ack(&mut cc);
        assert_eq!(cc.cwnd(), 1.0);
        path.rtt = Span::from_ms(100);
        for _ in 0..40 {
            path.now += Span::from_ms(1);
            path.ack(&mut cc);
        }
        assert_eq!(cc.cwnd(), 1.0, "it waits");
    }

    #[test]
    fn delayed_ack_time_of_a_single_segment_is_not_a_queue() {
        let (mut cc, _) = lp(1.0);
        for (alone, delay, grown) in [(true, 140, true), (false, 140, false)] {
            let mut cc = cc.clone();
            for i in 0..40 {
                let now = Time::ZERO + Span::from_ms(1000 + 140 * i);
                let (in_flight, rtt) = (u32::from(!alone), Some(Span::from_ms(delay)));
                cc.on_ack(&Ack {
                    now,
                    growth_credit: 1.0,
                    acked: 1,
                    in_flight,
                    rtt,
                    srtt: rtt,
                    cwnd_limited: true,
                    ..Ack::default()
                });
            }
            assert_eq!(cc.cwnd() > 1.0, grown, "alone: {alone}, {}", cc.cwnd());
        }
        // A queue above that delay still counts.
        let ack = Ack { acked: 1, rtt: Some(Span::from_ms(140)), ..Ack::default() };
        assert!((cc.path_delay(&ack).unwrap() - 0.1).abs() < 1e-9);
        let ack = Ack { rtt: Some(Span::from_ms(165)), ..ack };
        assert!((cc.path_delay(&ack).unwrap() - 0.125).abs() < 1e-9);
    }

    #[test]
    fn loss_halves_like_reno() {
        let (mut cc, _) = lp(40.0);
        cc.on_congestion(&loss(40.0));
        assert_eq!(cc.cwnd(), 20.0);
    }
}
