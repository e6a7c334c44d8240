//! Scalable TCP (Kelly, "Scalable TCP: improving performance in highspeed wide area networks", CCR
//! 33(2), 2003): growth and reduction are shares of the window, so the time between losses is
//! independent of it.

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionWindow, reno_ssthresh, window_methods};

/// Section 3.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScalableConfig {
    /// a: growth per segment acknowledged.
    pub a: f64,
    /// b: the share that a loss removes.
    pub b: f64,
    /// Legacy window: below it growth and reduction are Reno's.
    pub legacy: f64,
}

impl ScalableConfig {
    pub const PAPER: ScalableConfig = ScalableConfig { a: 0.01, b: 0.125, legacy: 16.0 };
}

#[derive(Clone, Debug)]
pub struct Scalable {
    config: ScalableConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
}

impl Scalable {
    pub fn new(config: ScalableConfig, window: CongestionWindow, slow_start: SlowStart) -> Scalable {
        Scalable { config, window, slow_start }
    }
}

impl CongestionControl for Scalable {
    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        let cwnd = self.window.cwnd;
        self.window.cwnd += credit * if cwnd > self.config.legacy { self.config.a } else { 1.0 / cwnd };
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let cwnd = self.window.cwnd;
        let legacy = cwnd <= self.config.legacy;
        let left = if legacy { reno_ssthresh(congestion.flight) } else { cwnd * (1.0 - self.config.b) };
        self.window.cut_to(left, congestion.signal);
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{classic, loss, round};
    use super::*;

    #[test]
    fn scalable_adds_a_hundredth_per_rtt_and_loses_an_eighth() {
        for (cwnd, grown, left) in [(100.0, 101.0, 87.5), (1000.0, 1010.0, 875.0), (10.0, 11.0, 5.0)] {
            let start = CongestionWindow { cwnd, ssthresh: 2.0 };
            let mut cc = Scalable::new(ScalableConfig::PAPER, start, classic());
            round(&mut cc);
            assert!((cc.cwnd() - grown).abs() < 0.06, "{cwnd}: {}", cc.cwnd());
            cc.window.cwnd = cwnd;
            cc.on_congestion(&loss(cwnd));
            assert_eq!(cc.cwnd(), left);
        }
    }
}
