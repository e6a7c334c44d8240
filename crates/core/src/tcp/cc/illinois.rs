//! Illinois (Liu, Basar and Srikant, "TCP-Illinois: a loss- and delay-based congestion control
//! algorithm for high-speed networks", Performance Evaluation 65, 2008): loss triggers reductions;
//! delay sets their size and the growth.

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, RoundCounter, window_methods};
use crate::units::Span;

/// Sections 3.2 and 3.3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IllinoisConfig {
    pub alpha_min: f64,
    pub alpha_max: f64,
    pub beta_min: f64,
    pub beta_max: f64,
    /// d_1, d_2, d_3 as shares of the maximum queueing delay d_m.
    pub delay: (f64, f64, f64),
    /// W_thresh: below this window Illinois behaves like Reno.
    pub window_threshold: f64,
    /// Theta: rounds of small delay before alpha becomes its maximum.
    pub theta: u32,
}

impl IllinoisConfig {
    pub const PAPER: IllinoisConfig = IllinoisConfig {
        alpha_min: 0.3,
        alpha_max: 10.0,
        beta_min: 1.0 / 8.0,
        beta_max: 0.5,
        delay: (0.01, 0.1, 0.8),
        window_threshold: 15.0,
        theta: 5,
    };
}

#[derive(Clone, Debug)]
pub struct Illinois {
    config: IllinoisConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
    alpha: f64,
    beta: f64,
    min_rtt: Option<Span>,
    max_rtt: Span,
    round: RoundCounter,
    sum: Span,
    samples: u32,
    /// Delay has exceeded d_1 since alpha was at its maximum; rounds below d_1 since then.
    above: bool,
    low_rounds: u32,
}

/// Section 3.2: alpha = kappa_1/(kappa_2 + d), from alpha_max at d_1 to alpha_min at d_m.
pub fn illinois_alpha(p: &IllinoisConfig, d: f64, d_m: f64) -> f64 {
    let d_1 = p.delay.0 * d_m;
    if d <= d_1 {
        return p.alpha_max;
    }
    let kappa = (d_m - d_1) * p.alpha_min / (p.alpha_max - p.alpha_min);
    (kappa * p.alpha_max / (kappa + d - d_1)).max(p.alpha_min)
}

/// Section 3.2: beta rises linearly from beta_min at d_2 to beta_max at d_3.
pub fn illinois_beta(p: &IllinoisConfig, d: f64, d_m: f64) -> f64 {
    let (d_2, d_3) = (p.delay.1 * d_m, p.delay.2 * d_m);
    if d <= d_2 {
        p.beta_min
    } else if d >= d_3 {
        p.beta_max
    } else {
        p.beta_min + (p.beta_max - p.beta_min) * (d - d_2) / (d_3 - d_2)
    }
}

impl Illinois {
    pub fn new(config: IllinoisConfig, window: CongestionWindow, slow_start: SlowStart) -> Illinois {
        Illinois {
            config,
            window,
            slow_start,
            alpha: 1.0,
            beta: config.beta_max,
            min_rtt: None,
            max_rtt: Span::ZERO,
            round: RoundCounter::START,
            sum: Span::ZERO,
            samples: 0,
            above: false,
            low_rounds: 0,
        }
    }

    fn end_round(&mut self) {
        let p = self.config;
        if let (Some(min_rtt), true) = (self.min_rtt, self.samples > 0) {
            let d = (Span(self.sum.0 / u64::from(self.samples)) - min_rtt).as_secs();
            let d_m = (self.max_rtt - min_rtt).as_secs();
            self.adapt(d, d_m);
        }
        if self.window.cwnd < p.window_threshold {
            (self.alpha, self.beta) = (1.0, p.beta_max);
        }
        (self.sum, self.samples) = (Span::ZERO, 0);
    }

    /// Section 3.3: alpha becomes its maximum only after theta rounds of small delay.
    fn adapt(&mut self, d: f64, d_m: f64) {
        let p = self.config;
        let alpha = illinois_alpha(&p, d, d_m);
        if alpha < p.alpha_max {
            (self.above, self.low_rounds) = (true, 0);
            self.alpha = alpha;
        } else {
            self.low_rounds += u32::from(self.above);
            if !self.above || self.low_rounds >= p.theta {
                (self.above, self.low_rounds) = (false, 0);
                self.alpha = p.alpha_max;
            }
        }
        self.beta = illinois_beta(&p, d, d_m);
    }
}

impl CongestionControl for Illinois {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |s| s.min(rtt)));
            self.max_rtt = self.max_rtt.max(rtt);
            self.sum = self.sum + rtt;
            self.samples += 1;
        }
        if self.round.over(ack) {
            self.end_round();
        }
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        self.window.cwnd += credit * self.alpha / self.window.cwnd;
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.cut_to(self.window.cwnd * (1.0 - self.beta), congestion.signal);
        if congestion.signal == CongestionSignal::Timeout {
            (self.alpha, self.beta) = (1.0, self.config.beta_max);
            (self.above, self.low_rounds) = (false, 0);
        }
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, classic, loss};
    use super::*;

    #[test]
    fn alpha_and_beta_match_the_papers_curves() {
        let p = IllinoisConfig::PAPER;
        for (d, alpha, beta) in
            [(0.0, 10.0, 0.125), (0.01, 10.0, 0.125), (0.1, 2.5385, 0.125), (0.45, 0.6506, 0.3125), (1.0, 0.3, 0.5)]
        {
            assert!((illinois_alpha(&p, d, 1.0) - alpha).abs() < 1e-3, "{d}: {}", illinois_alpha(&p, d, 1.0));
            assert!((illinois_beta(&p, d, 1.0) - beta).abs() < 1e-9, "{d}: {}", illinois_beta(&p, d, 1.0));
        }
    }

    #[test]
    fn growth_is_ten_on_an_empty_path_and_0_3_with_a_full_queue() {
        let mut cc = Illinois::new(IllinoisConfig::PAPER, CongestionWindow { cwnd: 200.0, ssthresh: 2.0 }, classic());
        let mut path = TestPath::new(Span::from_ms(100));
        path.rounds(&mut cc, 2);
        let before = cc.cwnd();
        path.round(&mut cc);
        assert!((cc.cwnd() - before - 10.0).abs() < 0.5);
        path.rtt = Span::from_ms(200);
        path.rounds(&mut cc, 2);
        let before = cc.cwnd();
        path.round(&mut cc);
        assert!((cc.cwnd() - before - 0.3).abs() < 0.05, "{}", cc.cwnd() - before);
        let before = cc.cwnd();
        cc.on_congestion(&loss(before));
        assert!((cc.cwnd() / before - 0.5).abs() < 1e-9);
    }

    #[test]
    fn loss_on_an_empty_path_leaves_seven_eighths() {
        let mut cc = Illinois::new(IllinoisConfig::PAPER, CongestionWindow { cwnd: 200.0, ssthresh: 2.0 }, classic());
        TestPath::new(Span::from_ms(100)).rounds(&mut cc, 3);
        let before = cc.cwnd();
        cc.on_congestion(&loss(before));
        assert!((cc.cwnd() / before - 0.875).abs() < 1e-9);
    }
}
