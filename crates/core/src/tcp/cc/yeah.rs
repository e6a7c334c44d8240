//! YeAH (Baiocchi, Castellani and Vacirca, "YeAH-TCP: yet another highspeed TCP", PFLDnet 2007):
//! Scalable while the queue is short; otherwise Reno with precautionary decongestion.

use super::slow_start::SlowStart;
use super::vegas::vegas_queued;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, MIN_SSTHRESH, RoundCounter, window_methods};
use crate::units::Span;

/// Section 2, with the paper's and Linux's names.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct YeahConfig {
    /// Q_max: maximum of queued segments in fast mode (alpha).
    pub queue: f64,
    /// Maximum queueing delay in fast mode, as a share of the minimum RTT (1/phi).
    pub delay: f64,
    /// Maximum share of the window that decongestion removes (2^-epsilon).
    pub retreat: f64,
    /// Minimum share that a loss removes without competing Reno flows (2^-delta).
    pub min_cut: f64,
    /// Consecutive slow rounds that indicate competing Reno flows (rho).
    pub slow_rounds: u32,
    /// Fast rounds after which none compete (zeta).
    pub fast_rounds: u32,
    /// Growth per segment acknowledged in fast mode (Scalable's a).
    pub a: f64,
}

impl YeahConfig {
    pub const PAPER: YeahConfig =
        YeahConfig { queue: 80.0, delay: 1.0 / 8.0, retreat: 0.5, min_cut: 1.0 / 8.0, slow_rounds: 16, fast_rounds: 50, a: 0.01 };
}

#[derive(Clone, Debug)]
pub struct Yeah {
    config: YeahConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
    round: RoundCounter,
    base: Option<Span>,
    min_rtt: Span,
    samples: u32,
    /// Queued segments, by the last round.
    queued: f64,
    /// Window of a competing Reno flow.
    reno: f64,
    slow: u32,
    fast: u32,
}

/// A round with at most this many samples is ignored, as the receiver may delay ACKs (Linux).
const FEW_SAMPLES: u32 = 2;

impl Yeah {
    pub fn new(config: YeahConfig, window: CongestionWindow, slow_start: SlowStart) -> Yeah {
        Yeah {
            config,
            window,
            slow_start,
            round: RoundCounter::START,
            base: None,
            min_rtt: Span::MAX,
            samples: 0,
            queued: 0.0,
            reno: MIN_SSTHRESH,
            slow: 0,
            fast: 0,
        }
    }

    fn end_round(&mut self) {
        let p = self.config;
        if let Some(base) = self.base.filter(|_| self.samples > FEW_SAMPLES) {
            self.queued = vegas_queued(self.window.cwnd, base, self.min_rtt);
            let delayed = (self.min_rtt - base).as_secs() > p.delay * base.as_secs();
            if self.queued > p.queue || delayed {
                self.slow_round();
            } else {
                self.fast += 1;
                self.slow = 0;
                if self.fast > p.fast_rounds {
                    (self.reno, self.fast) = (MIN_SSTHRESH, 0);
                }
            }
        }
        (self.min_rtt, self.samples) = (Span::MAX, 0);
    }

    /// Section 2.2: precautionary decongestion, not below the competing Reno flow's window.
    fn slow_round(&mut self) {
        let p = self.config;
        let w = &mut self.window;
        if self.queued > p.queue && w.cwnd > self.reno {
            w.cwnd = (w.cwnd - self.queued.min(w.cwnd * p.retreat)).max(self.reno);
            w.ssthresh = w.cwnd;
        }
        self.reno = if self.reno <= MIN_SSTHRESH { (w.cwnd / 2.0).max(MIN_SSTHRESH) } else { self.reno + 1.0 };
        self.slow = self.slow.saturating_add(1);
    }
}

impl CongestionControl for Yeah {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            let rtt = rtt.max(Span::from_us(1));
            self.base = Some(self.base.map_or(rtt, |b| b.min(rtt)));
            self.min_rtt = self.min_rtt.min(rtt);
            self.samples += 1;
        }
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        let reno = 1.0 / self.window.cwnd;
        self.window.cwnd += credit * if self.slow == 0 { self.config.a.max(reno) } else { reno };
        if self.round.over(ack) {
            self.end_round();
        }
    }

    /// Section 2.3: removes the queue, at least an eighth; half if Reno flows compete.
    fn on_congestion(&mut self, congestion: &Congestion) {
        let (p, cwnd) = (self.config, self.window.cwnd);
        let alone = self.slow < p.slow_rounds && congestion.signal != CongestionSignal::Timeout;
        let cut = if alone { self.queued.clamp(cwnd * p.min_cut, cwnd / 2.0) } else { cwnd / 2.0 };
        self.fast = 0;
        self.reno = (self.reno / 2.0).max(MIN_SSTHRESH);
        self.window.cut_to(cwnd - cut, congestion.signal);
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, classic, loss};
    use super::*;

    fn settled(cwnd: f64, queued: f64) -> (Yeah, TestPath) {
        let mut cc = Yeah::new(YeahConfig::PAPER, CongestionWindow { cwnd, ssthresh: 2.0 }, classic());
        cc.base = Some(Span::from_ms(100));
        let path = TestPath::new(Span::from_secs_f64(0.1 * cwnd / (cwnd - queued)));
        (cc, path)
    }

    #[test]
    fn yeah_is_scalable_with_a_short_queue_and_reno_with_a_long_one() {
        for (queued, grown) in [(20.0, 5.0), (70.0, 1.0)] {
            let (mut cc, mut path) = settled(500.0, queued);
            path.rounds(&mut cc, 2);
            let before = cc.cwnd();
            path.round(&mut cc);
            assert!((cc.cwnd() - before - grown).abs() < 0.2, "{queued}: {}", cc.cwnd() - before);
        }
    }

    #[test]
    fn queue_above_80_segments_is_drained() {
        let (mut cc, mut path) = settled(500.0, 100.0);
        path.rounds(&mut cc, 2);
        assert!((395.0..=412.0).contains(&cc.cwnd()), "{}", cc.cwnd());
    }

    #[test]
    fn loss_removes_the_queue_or_half_when_reno_competes() {
        for (queued, rounds, left) in [(0.0, 3, 7.0 / 8.0), (75.0, 3, 0.85), (75.0, 20, 0.5)] {
            let (mut cc, mut path) = settled(500.0, queued);
            path.rounds(&mut cc, rounds);
            let before = cc.cwnd();
            cc.on_congestion(&loss(before));
            assert!((cc.cwnd() / before - left).abs() < 0.01, "{queued} queued: {}", cc.cwnd() / before);
        }
    }
}
