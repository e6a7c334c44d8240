//! Westwood (Casetti et al., Mobicom 2001) and Westwood+ (Grieco and Mascolo 2004; Linux): Reno's
//! growth; a loss reduces the window to the estimated BDP.

use super::slow_start::SlowStart;
use super::westwood_bandwidth::BdpEstimate;
use super::{
    Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, CwndCount, LOSS_WINDOW, MIN_SSTHRESH, reno_ssthresh,
};
use crate::units::Time;

#[derive(Clone, Debug)]
pub struct Westwood {
    window: CongestionWindow,
    slow_start: SlowStart,
    counter: CwndCount,
    bdp: BdpEstimate,
    flavour: Flavour,
    /// The BDP estimate at the loss that is being repaired.
    repairing: Option<f64>,
    /// tcp_westwood.c of Linux 2.6.22: RTTs are SRTTs, so RTTmin is the minimum of SRTT.
    smooths_rtt: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavour {
    /// The estimate is taken at the loss.
    Paper,
    /// Linux takes it at the end of the recovery.
    Linux,
    /// ns-2's TCP-Linux runs Linux's code without the call at the end of a recovery: the window
    /// becomes the estimate, or half if that is more.
    Ns2,
}

impl Westwood {
    /// The variant of 2001.
    pub fn new(window: CongestionWindow, slow_start: SlowStart) -> Westwood {
        let (counter, bdp) = (CwndCount::default(), BdpEstimate::by_ack());
        Westwood { window, slow_start, counter, bdp, flavour: Flavour::Paper, repairing: None, smooths_rtt: false }
    }

    /// Westwood+ of Linux.
    pub fn plus(window: CongestionWindow, slow_start: SlowStart) -> Westwood {
        Westwood { bdp: BdpEstimate::by_round(), flavour: Flavour::Linux, ..Westwood::new(window, slow_start) }
    }

    /// Westwood+ in ns-2.
    pub fn ns2(window: CongestionWindow, slow_start: SlowStart) -> Westwood {
        Westwood { flavour: Flavour::Ns2, ..Westwood::plus(window, slow_start) }
    }

    /// As in ns-2's Agent/TCP/Linux; the filter of 2001 is not of Linux.
    pub fn in_tcp_linux(self) -> Westwood {
        Westwood { smooths_rtt: self.flavour != Flavour::Paper, ..self }
    }

    /// 2001, section 3.3: ssthresh = BWE*RTTmin/seg_size, at least two segments.
    fn bdp_ssthresh(&self) -> f64 {
        libm::floor(self.bdp.bdp()).max(MIN_SSTHRESH)
    }
}

impl CongestionControl for Westwood {
    fn wants_delivery_rate(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, ack: &Ack) {
        if self.smooths_rtt {
            self.bdp.on_ack(&Ack { rtt: ack.srtt, ..*ack });
        } else {
            self.bdp.on_ack(ack);
        }
    }

    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            self.window.cwnd += self.counter.add(credit, libm::floor(self.window.cwnd));
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let timeout = congestion.signal == CongestionSignal::Timeout;
        let (before, bdp_ssthresh) = (self.window.cwnd, self.bdp_ssthresh());
        let ssthresh = if self.flavour == Flavour::Ns2 { libm::floor(reno_ssthresh(congestion.flight)) } else { bdp_ssthresh };
        self.window.cut_to(ssthresh, congestion.signal);
        // A window below the BDP stays.
        self.window.cwnd = self.window.cwnd.min(before);
        self.repairing = (!timeout).then_some(bdp_ssthresh);
        self.counter.clear();
        if timeout && self.flavour == Flavour::Linux {
            self.bdp.reset_min_rtt();
        }
    }

    fn on_restart(&mut self, _now: Time, window: CongestionWindow) {
        self.window = window;
    }

    fn set_cwnd(&mut self, _now: Time, cwnd: f64) {
        self.window.cwnd = cwnd;
    }

    fn on_recovered(&mut self, _now: Time, cwnd: f64) {
        self.window.cwnd = cwnd;
        // The first call after a loss is the end of the recovery, unless an RTO has ended it.
        let Some(bdp_ssthresh) = self.repairing.take().filter(|_| cwnd > LOSS_WINDOW) else { return };
        match self.flavour {
            Flavour::Paper => {}
            Flavour::Linux => {
                self.window.ssthresh = self.bdp_ssthresh();
                self.window.cwnd = self.window.ssthresh;
            }
            Flavour::Ns2 => self.window.cwnd = self.window.ssthresh.max(bdp_ssthresh),
        }
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
    fn halving_floor(&self) -> f64 {
        self.bdp_ssthresh()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, classic, loss, timeout};
    use super::*;
    use crate::units::Span;

    /// A flow that has run at 1000 segments per second and an RTT of 100 ms, with a window of 150.
    fn settled(mut cc: Westwood) -> Westwood {
        let mut path = TestPath::new(Span::from_ms(100));
        path.rounds(&mut cc, 80);
        cc.window.cwnd = 150.0;
        cc
    }

    fn at(cwnd: f64) -> (CongestionWindow, SlowStart) {
        (CongestionWindow { cwnd, ssthresh: cwnd }, classic())
    }

    #[test]
    fn loss_leaves_the_bdp_and_timeout_leaves_one() {
        let (w, s) = at(100.0);
        let mut cc = settled(Westwood::new(w, s));
        let held = cc.bdp.bdp();
        assert!((100.0..=181.0).contains(&held), "a window of 100 to 180 in 100 ms each: {held}");
        let mut same = cc.clone();
        cc.window.cwnd = 500.0;
        cc.on_congestion(&loss(500.0));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (libm::floor(held), libm::floor(held)));
        same.on_congestion(&timeout(150.0));
        assert_eq!((same.cwnd(), same.ssthresh()), (1.0, libm::floor(held)));
    }

    #[test]
    fn loss_does_not_raise_a_window_below_the_bdp() {
        let (w, s) = at(100.0);
        let mut cc = settled(Westwood::new(w, s));
        cc.window.cwnd = 50.0;
        cc.on_congestion(&loss(50.0));
        assert_eq!(cc.cwnd(), 50.0);
    }

    #[test]
    fn plus_estimates_at_the_end_of_recovery_and_allows_moderation() {
        let (w, s) = at(100.0);
        let mut cc = settled(Westwood::plus(w, s));
        cc.on_congestion(&loss(150.0));
        cc.on_recovered(Time::ZERO, 60.0);
        assert_eq!(cc.cwnd(), cc.ssthresh());
        assert!(cc.cwnd() > 90.0, "{}", cc.cwnd());
        cc.on_recovered(Time::ZERO, 30.0);
        assert_eq!(cc.cwnd(), 30.0);
    }

    #[test]
    fn ns2_leaves_at_least_half() {
        let (w, s) = at(100.0);
        for (cwnd, left) in [(150.0, None), (600.0, Some(300.0))] {
            let mut cc = settled(Westwood::ns2(w, s));
            cc.window.cwnd = cwnd;
            let bdp_ssthresh = cc.bdp_ssthresh();
            cc.on_congestion(&loss(cwnd));
            cc.on_recovered(Time::ZERO, 20.0);
            assert_eq!(cc.cwnd(), left.unwrap_or(bdp_ssthresh), "from {cwnd}");
        }
    }

    #[test]
    fn rtt_min_is_that_of_srtt_in_tcp_linux() {
        let (w, s) = at(100.0);
        for (cc, rtt_min_ms) in [(Westwood::ns2(w, s), 100.0), (Westwood::ns2(w, s).in_tcp_linux(), 120.0)] {
            let mut cc = cc;
            for n in 0..200u64 {
                let now = Time::ZERO + Span::from_ms(10 * n);
                let (rtt, srtt) = (Some(Span::from_ms(100)), Some(Span::from_ms(120)));
                cc.on_delivery(&Ack { now, delivered: 1, rtt, srtt, ..Ack::default() });
            }
            let bdp = 100.0 * rtt_min_ms / 1e3;
            assert!((cc.bdp.bdp() - bdp).abs() < 0.2, "{} {bdp}", cc.bdp.bdp());
        }
    }

    #[test]
    fn growth_equals_reno() {
        let (w, s) = at(50.0);
        let mut cc = Westwood::new(w, s);
        TestPath::new(Span::from_ms(100)).rounds(&mut cc, 5);
        assert_eq!(cc.cwnd(), 55.0);
    }
}
