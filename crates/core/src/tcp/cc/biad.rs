//! BIAD: BIC's binary increase with Westwood's adaptive decrease, proposed without evaluation in
//! `wimax-simulated`. `docs/models/biad.md` lists the choices that the proposal leaves open.

use super::bic::{BicConfig, Search};
use super::slow_start::SlowStart;
use super::westwood_bandwidth::BdpEstimate;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, MIN_SSTHRESH, window_methods};

#[derive(Clone, Debug)]
pub struct Biad {
    window: CongestionWindow,
    slow_start: SlowStart,
    search: Search,
    bdp: BdpEstimate,
    /// A reduction to this share of W_max or above starts max probing.
    max_probing_share: f64,
}

impl Biad {
    pub fn new(window: CongestionWindow, slow_start: SlowStart) -> Biad {
        Biad {
            window,
            slow_start,
            search: Search::new(BicConfig::LINUX_2_6_22),
            bdp: BdpEstimate::by_ack(),
            max_probing_share: 0.95,
        }
    }

    /// Westwood's ssthresh: BWE*RTTmin/seg_size.
    fn bdp_ssthresh(&self) -> f64 {
        libm::floor(self.bdp.bdp()).max(MIN_SSTHRESH)
    }
}

impl CongestionControl for Biad {
    fn wants_delivery_rate(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.bdp.on_ack(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            self.search.avoid(ack, credit, &mut self.window);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let before = self.window.cwnd;
        self.search.note_loss(before);
        self.window.cut_to(self.bdp_ssthresh(), congestion.signal);
        self.window.cwnd = self.window.cwnd.min(before);
        if congestion.signal == CongestionSignal::Timeout {
            self.search.reset();
        } else if self.window.cwnd >= self.max_probing_share * self.search.w_max {
            self.search.w_max = self.window.cwnd;
        }
    }

    window_methods!();
    fn halving_floor(&self) -> f64 {
        self.window.cwnd.min(self.window.ssthresh)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, classic, loss, timeout};
    use super::*;
    use crate::units::Span;

    /// A flow with window `cwnd` on a path with a BDP of about 100 segments.
    fn settled(cwnd: f64) -> Biad {
        let mut cc = Biad::new(CongestionWindow { cwnd: 100.0, ssthresh: 100.0 }, classic());
        let mut path = TestPath::new(Span::from_ms(100));
        for _ in 0..80 {
            path.round(&mut cc);
            cc.window.cwnd = 100.0;
        }
        cc.window.cwnd = cwnd;
        cc
    }

    #[test]
    fn congestion_loss_leaves_the_bdp_and_keeps_w_max() {
        let mut cc = settled(200.0);
        cc.on_congestion(&loss(200.0));
        assert!((95.0..=120.0).contains(&cc.cwnd()), "{}", cc.cwnd());
        assert_eq!(cc.search.w_max, 200.0);
        assert_eq!(cc.search.growth(cc.cwnd()), 16.0, "far below W_max: S_max");
    }

    #[test]
    fn random_loss_starts_max_probing() {
        let mut cc = settled(100.0);
        cc.on_congestion(&loss(100.0));
        assert!(cc.cwnd() >= 95.0, "{}", cc.cwnd());
        assert_eq!(cc.search.w_max, cc.cwnd());
    }

    #[test]
    fn timeout_leaves_one_segment_and_resets_w_max() {
        let mut cc = settled(150.0);
        cc.on_congestion(&timeout(150.0));
        assert_eq!((cc.cwnd(), cc.search.w_max), (1.0, 0.0));
        assert!(cc.ssthresh() > 90.0);
    }
}
