//! HighSpeed TCP (RFC 3649): growth and reduction depend on the window, so large windows tolerate
//! realistic loss rates.

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionWindow, window_methods};

/// Section 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HighSpeedConfig {
    /// Up to this window growth and reduction are Reno's.
    pub low_window: f64,
    pub high_window: f64,
    /// Loss rates for `low_window` and `high_window`.
    pub low_p: f64,
    pub high_p: f64,
    /// Share that a loss removes at the high window.
    pub high_decrease: f64,
}

impl HighSpeedConfig {
    pub const RFC3649: HighSpeedConfig =
        HighSpeedConfig { low_window: 38.0, high_window: 83_000.0, low_p: 1e-3, high_p: 1e-7, high_decrease: 0.1 };
}

#[derive(Clone, Debug)]
pub struct HighSpeed {
    config: HighSpeedConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
}

/// Section 5: b(w), the share that a loss removes.
pub fn highspeed_decrease(p: &HighSpeedConfig, w: f64) -> f64 {
    if w <= p.low_window {
        return 0.5;
    }
    let fraction = libm::log(w / p.low_window) / libm::log(p.high_window / p.low_window);
    (0.5 + (p.high_decrease - 0.5) * fraction).clamp(p.high_decrease, 0.5)
}

/// Section 5: p(w), the loss rate at which the response function gives window w.
pub fn highspeed_loss_rate(p: &HighSpeedConfig, w: f64) -> f64 {
    let slope = libm::log(p.high_window / p.low_window) / libm::log(p.high_p / p.low_p);
    p.low_p * libm::pow(w / p.low_window, 1.0 / slope)
}

/// Section 5: a(w) = w^2 p(w) 2 b(w)/(2 - b(w)), growth per RTT.
pub fn highspeed_increase(p: &HighSpeedConfig, w: f64) -> f64 {
    if w <= p.low_window {
        return 1.0;
    }
    let b = highspeed_decrease(p, w);
    (w * w * highspeed_loss_rate(p, w) * 2.0 * b / (2.0 - b)).max(1.0)
}

impl HighSpeed {
    pub fn new(config: HighSpeedConfig, window: CongestionWindow, slow_start: SlowStart) -> HighSpeed {
        HighSpeed { config, window, slow_start }
    }
}

impl CongestionControl for HighSpeed {
    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            self.window.cwnd += credit * highspeed_increase(&self.config, self.window.cwnd) / self.window.cwnd;
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let cwnd = self.window.cwnd;
        self.window.cut_to(cwnd * (1.0 - highspeed_decrease(&self.config, cwnd)), congestion.signal);
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{classic, loss, round};
    use super::*;

    /// RFC 3649, appendix B.
    #[test]
    fn increase_and_decrease_match_the_rfcs_table() {
        let p = HighSpeedConfig::RFC3649;
        for (w, a, b) in [(38.0, 1.0, 0.50), (118.0, 2.0, 0.44), (221.0, 3.0, 0.41), (347.0, 4.0, 0.38), (495.0, 5.0, 0.37)] {
            assert!((highspeed_increase(&p, w) - a).abs() < 0.1, "a({w}) = {}", highspeed_increase(&p, w));
            assert!((highspeed_decrease(&p, w) - b).abs() < 0.006, "b({w}) = {}", highspeed_decrease(&p, w));
        }
        assert!((highspeed_decrease(&p, 83_000.0) - 0.1).abs() < 1e-12);
        assert!((highspeed_loss_rate(&p, 83_000.0) / 1e-7 - 1.0).abs() < 1e-9);
    }

    #[test]
    fn window_of_347_grows_by_four_and_loses_38_percent() {
        let start = CongestionWindow { cwnd: 347.0, ssthresh: 2.0 };
        let mut cc = HighSpeed::new(HighSpeedConfig::RFC3649, start, classic());
        round(&mut cc);
        assert!((cc.cwnd() - 351.0).abs() < 0.1, "{}", cc.cwnd());
        cc.window.cwnd = 347.0;
        cc.on_congestion(&loss(347.0));
        assert!((cc.cwnd() / 347.0 - 0.62).abs() < 0.006);
    }
}
