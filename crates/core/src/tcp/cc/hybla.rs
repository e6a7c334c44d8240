//! Hybla (Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", Int. J.
//! Satellite Communications 22, 2004): the growth of a path with a long RTT equals that of a
//! reference RTT.

use super::{Ack, Congestion, CongestionControl, CongestionWindow, reno_ssthresh, window_methods};
use crate::units::Span;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HyblaConfig {
    /// RTT_0, the reference (section 3; 25 ms, as in Linux).
    pub reference: Span,
    /// Maximum of rho (Linux).
    pub max_rho: f64,
}

impl HyblaConfig {
    pub const PAPER: HyblaConfig = HyblaConfig { reference: Span::from_ms(25), max_rho: 16.0 };
}

#[derive(Clone, Debug)]
pub struct Hybla {
    config: HyblaConfig,
    window: CongestionWindow,
    rho: f64,
}

/// Equation (4): rho = RTT/RTT_0, at least 1.
pub fn hybla_rho(rtt: Span, p: &HyblaConfig) -> f64 {
    (rtt.as_secs() / p.reference.as_secs()).clamp(1.0, p.max_rho)
}

/// Equation (10): growth per ACK in slow start, and in congestion avoidance.
pub fn hybla_growth(rho: f64, cwnd: f64, slow_start: bool) -> f64 {
    if slow_start { libm::exp2(rho) - 1.0 } else { rho * rho / cwnd }
}

impl Hybla {
    pub fn new(config: HyblaConfig, window: CongestionWindow) -> Hybla {
        Hybla { config, window, rho: 1.0 }
    }
}

impl CongestionControl for Hybla {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.min_rtt {
            self.rho = hybla_rho(rtt, &self.config);
        }
        if !ack.cwnd_limited {
            return;
        }
        let w = &mut self.window;
        if w.cwnd < w.ssthresh {
            w.cwnd = (w.cwnd + ack.growth_credit * hybla_growth(self.rho, w.cwnd, true)).min(w.ssthresh);
        } else {
            w.cwnd += ack.growth_credit * hybla_growth(self.rho, w.cwnd, false);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.cut_to(reno_ssthresh(congestion.flight), congestion.signal);
    }

    fn halving_floor(&self) -> f64 {
        self.window.ssthresh / 2.0
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, loss};
    use super::*;

    #[test]
    fn growth_is_sixteen_per_rtt_at_four_times_the_reference() {
        let p = HyblaConfig::PAPER;
        assert_eq!(hybla_rho(Span::from_ms(100), &p), 4.0);
        assert_eq!(hybla_rho(Span::from_ms(10), &p), 1.0);
        let mut cc = Hybla::new(p, CongestionWindow { cwnd: 1000.0, ssthresh: 2.0 });
        TestPath::new(Span::from_ms(100)).round(&mut cc);
        assert!((cc.cwnd() - 1016.0).abs() < 0.2, "{}", cc.cwnd());
    }

    #[test]
    fn slow_start_takes_as_long_as_at_the_reference_rtt() {
        let mut cc = Hybla::new(HyblaConfig::PAPER, CongestionWindow { cwnd: 2.0, ssthresh: 1e9 });
        let mut path = TestPath::new(Span::from_ms(100));
        // Each of two ACKs adds 2^4 - 1.
        path.round(&mut cc);
        assert_eq!(cc.cwnd(), 32.0);
        cc.on_congestion(&loss(32.0));
        assert_eq!(cc.cwnd(), 16.0);
    }
}
