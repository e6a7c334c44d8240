//! Westwood (Casetti et al., Mobicom 2001) and Westwood+ (Grieco and Mascolo 2004; Linux): Reno's growth, and after a loss the window
//! that the path itself is seen to hold.

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
    pipe: BdpEstimate,
    flavour: Flavour,
    /// What the path held when the loss was found that is now under repair.
    repairing: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavour {
    /// The estimate is taken when the loss is found.
    Paper,
    /// Linux takes it anew when the recovery ends.
    Linux,
    /// ns-2's TCP-Linux runs Linux's code without telling it of the recovery's end: the window goes to the estimate, or to half where
    /// that is more.
    Ns2,
}

impl Westwood {
    /// As of 2001.
    pub fn new(window: CongestionWindow, slow_start: SlowStart) -> Westwood {
        let (counter, pipe) = (CwndCount::default(), BdpEstimate::by_ack());
        Westwood { window, slow_start, counter, pipe, flavour: Flavour::Paper, repairing: None }
    }

    /// Westwood+, as in Linux.
    pub fn plus(window: CongestionWindow, slow_start: SlowStart) -> Westwood {
        Westwood { pipe: BdpEstimate::by_round(), flavour: Flavour::Linux, ..Westwood::new(window, slow_start) }
    }

    /// Westwood+ as ns-2 runs it.
    pub fn ns2(window: CongestionWindow, slow_start: SlowStart) -> Westwood {
        Westwood { flavour: Flavour::Ns2, ..Westwood::plus(window, slow_start) }
    }

    /// 2001, section 3.3: ssthresh = BWE*RTTmin/seg_size, at least two segments.
    fn carried(&self) -> f64 {
        libm::floor(self.pipe.holds()).max(MIN_SSTHRESH)
    }
}

impl CongestionControl for Westwood {
    fn wants_delivery_rate(&self) -> bool {
        true
    }

    fn on_delivery(&mut self, ack: &Ack) {
        self.pipe.see(ack);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            self.window.cwnd += self.counter.add(credit, libm::floor(self.window.cwnd));
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let timeout = congestion.signal == CongestionSignal::Timeout;
        let (before, carried) = (self.window.cwnd, self.carried());
        let ssthresh = if self.flavour == Flavour::Ns2 { libm::floor(reno_ssthresh(congestion.flight)) } else { carried };
        self.window.cut_to(ssthresh, congestion.signal);
        // A window below what the path holds stays.
        self.window.cwnd = self.window.cwnd.min(before);
        self.repairing = (!timeout).then_some(carried);
        self.counter.clear();
        if timeout && self.flavour == Flavour::Linux {
            self.pipe.forget_smallest();
        }
    }

    fn on_restart(&mut self, _now: Time, window: CongestionWindow) {
        self.window = window;
    }

    fn on_recovered(&mut self, _now: Time, cwnd: f64) {
        self.window.cwnd = cwnd;
        // The first call after a loss is the recovery's end, unless a timeout cut it short.
        let Some(carried) = self.repairing.take().filter(|_| cwnd > LOSS_WINDOW) else { return };
        match self.flavour {
            Flavour::Paper => {}
            Flavour::Linux => {
                self.window.ssthresh = self.carried();
                self.window.cwnd = self.window.ssthresh;
            }
            Flavour::Ns2 => self.window.cwnd = self.window.ssthresh.max(carried),
        }
    }

    fn cwnd(&self) -> f64 {
        self.window.cwnd
    }
    fn ssthresh(&self) -> f64 {
        self.window.ssthresh
    }
    fn halving_floor(&self) -> f64 {
        self.carried()
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Path, classic, loss, timeout};
    use super::*;
    use crate::units::Span;

    /// A flow that has run at 1000 segments a second, 100 ms from end to end, with a window of 150.
    fn settled(mut cc: Westwood) -> Westwood {
        let mut path = Path::new(Span::from_ms(100));
        path.rounds(&mut cc, 80);
        cc.window.cwnd = 150.0;
        cc
    }

    fn at(cwnd: f64) -> (CongestionWindow, SlowStart) {
        (CongestionWindow { cwnd, ssthresh: cwnd }, classic())
    }

    #[test]
    fn a_loss_leaves_what_the_path_holds_and_a_timeout_one() {
        let (w, s) = at(100.0);
        let mut cc = settled(Westwood::new(w, s));
        let held = cc.pipe.holds();
        assert!((100.0..=181.0).contains(&held), "a window of 100 to 180 in 100 ms each: {held}");
        let mut same = cc.clone();
        cc.window.cwnd = 500.0;
        cc.on_congestion(&loss(500.0));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (libm::floor(held), libm::floor(held)));
        same.on_congestion(&timeout(150.0));
        assert_eq!((same.cwnd(), same.ssthresh()), (1.0, libm::floor(held)));
    }

    #[test]
    fn a_window_below_what_the_path_holds_is_not_raised_by_a_loss() {
        let (w, s) = at(100.0);
        let mut cc = settled(Westwood::new(w, s));
        cc.window.cwnd = 50.0;
        cc.on_congestion(&loss(50.0));
        assert_eq!(cc.cwnd(), 50.0);
    }

    #[test]
    fn plus_takes_its_estimate_when_the_recovery_ends_and_moderation_may_still_lower_the_window() {
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
    fn in_ns2_half_is_the_least_that_is_left() {
        let (w, s) = at(100.0);
        for (cwnd, left) in [(150.0, None), (600.0, Some(300.0))] {
            let mut cc = settled(Westwood::ns2(w, s));
            cc.window.cwnd = cwnd;
            let carried = cc.carried();
            cc.on_congestion(&loss(cwnd));
            cc.on_recovered(Time::ZERO, 20.0);
            assert_eq!(cc.cwnd(), left.unwrap_or(carried), "from {cwnd}");
        }
    }

    #[test]
    fn growth_is_renos() {
        let (w, s) = at(50.0);
        let mut cc = Westwood::new(w, s);
        Path::new(Span::from_ms(100)).rounds(&mut cc, 5);
        assert_eq!(cc.cwnd(), 55.0);
    }
}
