//! DCTCP (RFC 8257): the window is reduced by half the share of marked segments, so short queues
//! suffice.

use super::reno::{reno_increase, reno_ssthresh};
use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnResponse, RoundCounter, window_methods};

/// RFC 8257, section 4.2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DctcpConfig {
    /// g: weight of one RTT in the estimate.
    pub gain: f64,
    /// Initial alpha: the first mark halves the window.
    pub alpha: f64,
}

impl DctcpConfig {
    pub const RFC8257: DctcpConfig = DctcpConfig { gain: 1.0 / 16.0, alpha: 1.0 };
}

/// Share of marked segments: the current round, and its moving average.
#[derive(Clone, Copy, Debug)]
pub struct MarkShare {
    pub alpha: f64,
    gain: f64,
    delivered: f64,
    marked: f64,
}

/// RFC 8257, section 3.3: alpha = alpha*(1 - g) + g*M.
pub fn dctcp_alpha(alpha: f64, gain: f64, share: f64) -> f64 {
    alpha * (1.0 - gain) + gain * share
}

/// RFC 8257, section 3.3: cwnd = cwnd*(1 - alpha/2).
pub fn dctcp_window(cwnd: f64, alpha: f64) -> f64 {
    cwnd * (1.0 - alpha / 2.0)
}

impl MarkShare {
    pub fn new(config: DctcpConfig) -> MarkShare {
        MarkShare { alpha: config.alpha, gain: config.gain, delivered: 0.0, marked: 0.0 }
    }

    pub fn count(&mut self, delivered: u32, marked: f64) {
        self.delivered += f64::from(delivered);
        self.marked += marked;
    }

    /// A round ends.
    pub fn end_round(&mut self) {
        if self.delivered > 0.0 {
            let share = (self.marked / self.delivered).min(1.0);
            self.alpha = dctcp_alpha(self.alpha, self.gain, share);
        }
        (self.delivered, self.marked) = (0.0, 0.0);
    }
}

#[derive(Clone, Debug)]
pub struct Dctcp {
    window: CongestionWindow,
    slow_start: SlowStart,
    /// Credit towards the next segment of growth.
    counted: f64,
    share: MarkShare,
    round: RoundCounter,
}

impl Dctcp {
    pub fn new(config: DctcpConfig, window: CongestionWindow, slow_start: SlowStart) -> Dctcp {
        Dctcp { window, slow_start, counted: 0.0, share: MarkShare::new(config), round: RoundCounter::START }
    }
}

impl CongestionControl for Dctcp {
    fn ecn_response(&self) -> EcnResponse {
        EcnResponse::Share
    }

    fn on_marks(&mut self, ack: &Ack) {
        self.share.count(ack.delivered, ack.marked);
        if self.round.over(ack) {
            self.share.end_round();
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            reno_increase(&mut self.window, &mut self.counted, credit);
        }
    }

    /// Sections 3.3 and 3.4: a loss reduces the window as in Reno.
    fn on_congestion(&mut self, congestion: &Congestion) {
        let left = match congestion.signal {
            CongestionSignal::Ecn => dctcp_window(self.window.cwnd, self.share.alpha),
            _ => libm::floor(reno_ssthresh(congestion.flight)),
        };
        self.window.cut_to(left, congestion.signal);
        self.counted = 0.0;
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{classic, loss};
    use super::*;

    fn dctcp(cwnd: f64) -> Dctcp {
        Dctcp::new(DctcpConfig::RFC8257, CongestionWindow { cwnd, ssthresh: cwnd }, classic())
    }

    /// A round of 16 segments, `marked` of them marked.
    fn round(cc: &mut Dctcp, n: u64, marked: f64) {
        cc.on_marks(&Ack { delivered: 16, marked, acked_total: 16 * n, sent: 16 * (n + 1) - 1, ..Ack::default() });
    }

    fn mark(flight: f64) -> Congestion {
        Congestion { signal: CongestionSignal::Ecn, ..loss(flight) }
    }

    /// 15/16 of 1; 15/16 of that and 1/16 of a quarter: 0.89453125.
    #[test]
    fn alpha_is_an_average_with_weight_one_sixteenth() {
        let mut cc = dctcp(16.0);
        round(&mut cc, 1, 0.0);
        assert_eq!(cc.share.alpha, 0.9375);
        round(&mut cc, 2, 4.0);
        assert_eq!(cc.share.alpha, 0.894_531_25);
        round(&mut cc, 3, 16.0);
        assert_eq!(cc.share.alpha, 0.901_123_046_875);
    }

    /// With g = 1/16 alpha falls to (15/16)^16 = 0.356 in 16 RTTs without marks.
    #[test]
    fn mark_reduces_by_half_of_alpha_and_loss_by_half() {
        let mut cc = dctcp(100.0);
        for n in 1..=16 {
            round(&mut cc, n, 0.0);
        }
        cc.on_congestion(&mark(100.0));
        assert!((cc.cwnd() - 82.196).abs() < 1e-3, "{}", cc.cwnd());
        let mut cc = dctcp(100.0);
        cc.on_congestion(&loss(100.0));
        assert_eq!(cc.cwnd(), 50.0);
    }

    #[test]
    fn first_mark_halves_the_window() {
        let mut cc = dctcp(40.0);
        cc.on_congestion(&mark(40.0));
        assert_eq!(cc.cwnd(), 20.0);
    }

    /// RFC 8257, section 3.3: the share is of acknowledged segments, so it is at most one.
    #[test]
    fn alpha_is_at_most_one() {
        let mut cc = dctcp(16.0);
        for n in 1..=100 {
            round(&mut cc, n, 40.0);
        }
        assert!(cc.share.alpha <= 1.0, "{}", cc.share.alpha);
    }
}
