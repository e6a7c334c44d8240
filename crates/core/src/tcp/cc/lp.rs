//! TCP-LP (Kuzmanovic and Knightly, "TCP-LP: a distributed algorithm for low priority data transfer", Infocom 2003): takes what others
//! leave, and yields as soon as delay says that they want more.

use super::slow_start::{SlowStart, SlowStartRule};
use super::{Ack, Congestion, CongestionControl, CongestionWindow, CwndCount, reno_ssthresh, window_methods};
use crate::units::{Span, Time};

/// Section III.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LpConfig {
    /// delta: congestion is near above this share of the way from the smallest delay to the largest.
    pub delta: f64,
    /// gamma: the share of a new sample in the smoothed delay.
    pub gamma: f64,
    /// The inference phase, in round trips.
    pub inference: u64,
    /// Delays nearer than this cannot be told apart: the tick of the timestamps by which the paper measures them.
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
    smallest: f64,
    largest: f64,
    /// The smallest of segments that were alone in flight: their ACKs waited for the delayed-ACK timer, which is no queue.
    smallest_alone: f64,
    smoothed: Option<f64>,
    /// Until when it waits and sees.
    inferring_until: Time,
    /// When the last indication was answered: one is answered once a round trip.
    answered: Time,
}

/// The least window: one segment.
const MIN_CWND: f64 = 1.0;

/// Section III-B: an early indication of congestion.
pub fn lp_congested(p: &LpConfig, smoothed: f64, smallest: f64, largest: f64) -> bool {
    smoothed > smallest + (p.delta * (largest - smallest)).max(p.tick.as_secs())
}

impl Lp {
    pub fn new(config: LpConfig, window: CongestionWindow, slow_start: SlowStart) -> Lp {
        Lp {
            config,
            window,
            slow_start,
            counter: CwndCount::default(),
            smallest: f64::INFINITY,
            largest: 0.0,
            smallest_alone: f64::INFINITY,
            smoothed: None,
            inferring_until: Time::ZERO,
            answered: Time::ZERO,
        }
    }

    fn see(&mut self, delay: f64) -> bool {
        let p = self.config;
        self.smallest = self.smallest.min(delay);
        self.largest = self.largest.max(delay);
        let smoothed = self.smoothed.map_or(delay, |s| (1.0 - p.gamma) * s + p.gamma * delay);
        self.smoothed = Some(smoothed);
        lp_congested(&p, smoothed, self.smallest, self.largest)
    }

    /// Seconds on the path. A lone segment's wait for its ACK is taken off: the paper's delay is that of the way to the receiver.
    fn path_delay(&mut self, ack: &Ack) -> Option<f64> {
        let delay = ack.rtt?.as_secs();
        if ack.in_flight > 0 || ack.acked > 1 || !self.smallest.is_finite() {
            return Some(delay);
        }
        self.smallest_alone = self.smallest_alone.min(delay);
        Some(delay - (self.smallest_alone - self.smallest).max(0.0))
    }

    /// Section III-C: half at the first indication, one segment if it lasts.
    fn yield_to_others(&mut self, now: Time, rtt: Span) {
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
        let congested = self.path_delay(ack).is_some_and(|delay| self.see(delay));
        let opening = self.slow_start.applies(&self.window);
        // Slow start runs to its end as Reno's does: before it has filled the queue once, the largest delay says nothing.
        if congested && !opening {
            return self.yield_to_others(ack.now, ack.srtt.unwrap_or(Span::ZERO));
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
    use super::super::testing::{Path, classic, loss};
    use super::*;

    fn lp(cwnd: f64) -> (Lp, Path) {
        let mut cc = Lp::new(LpConfig::PAPER, CongestionWindow { cwnd, ssthresh: 2.0 }, classic());
        (cc.smallest, cc.largest) = (0.1, 0.2);
        (cc, Path::new(Span::from_ms(100)))
    }

    #[test]
    fn congestion_is_near_above_fifteen_hundredths_of_the_way() {
        for (delay, near) in [(0.114, false), (0.116, true)] {
            assert_eq!(lp_congested(&LpConfig::PAPER, delay, 0.1, 0.2), near);
        }
    }

    #[test]
    fn alone_it_grows_as_reno() {
        let (mut cc, mut path) = lp(50.0);
        path.rounds(&mut cc, 5);
        assert_eq!(cc.cwnd(), 55.0);
    }

    #[test]
    fn the_first_indication_halves_a_second_within_three_round_trips_leaves_one_and_then_it_waits() {
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
    fn the_wait_of_a_lone_segments_ack_is_no_queue() {
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
        // A queue beyond that wait still counts.
        let ack = Ack { acked: 1, rtt: Some(Span::from_ms(140)), ..Ack::default() };
        assert!((cc.path_delay(&ack).unwrap() - 0.1).abs() < 1e-9);
        let ack = Ack { rtt: Some(Span::from_ms(165)), ..ack };
        assert!((cc.path_delay(&ack).unwrap() - 0.125).abs() < 1e-9);
    }

    #[test]
    fn a_loss_is_renos() {
        let (mut cc, _) = lp(40.0);
        cc.on_congestion(&loss(40.0));
        assert_eq!(cc.cwnd(), 20.0);
    }
}
