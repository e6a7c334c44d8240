//! `snd_cwnd`, `snd_ssthresh` and `snd_cwnd_cnt` of `struct tcp_sock`, and the functions of
//! `tcp_cong.c` that most controls share.

use super::super::slow_start::{ClassicSlowStart, SlowStart, SlowStartRule};
use super::super::{Ack, CongestionWindow};

/// In segments.
#[derive(Clone, Debug)]
pub struct LinuxWindow {
    pub cwnd: u32,
    /// `u32::MAX`: unlimited (`TCP_INFINITE_SSTHRESH` is no less in effect).
    pub ssthresh: u32,
    /// Credit towards the next segment of growth (`snd_cwnd_cnt`).
    pub count: u32,
    /// None is the kernel's own; another rule of the host keeps its fraction of a segment here.
    other_slow_start: Option<Box<(SlowStart, f64)>>,
}

fn whole(window: f64) -> u32 {
    if window.is_finite() { window.clamp(0.0, f64::from(u32::MAX)) as u32 } else { u32::MAX }
}

impl LinuxWindow {
    pub const CLASSIC: SlowStart = SlowStart::Classic(ClassicSlowStart);

    pub fn new(window: CongestionWindow, slow_start: SlowStart) -> LinuxWindow {
        let other_slow_start = (slow_start != Self::CLASSIC).then(|| Box::new((slow_start, 0.0)));
        LinuxWindow { cwnd: whole(window.cwnd), ssthresh: whole(window.ssthresh), count: 0, other_slow_start }
    }

    pub fn set_cwnd(&mut self, cwnd: f64) {
        self.cwnd = whole(cwnd).max(1);
    }

    /// `tcp_current_ssthresh()` outside a reduction: at least a half and a quarter of cwnd.
    pub fn current_ssthresh(&self) -> u32 {
        self.ssthresh.max(three_quarters(self.cwnd))
    }

    /// The window after an idle or unused period. The sender computes three quarters of cwnd; the
    /// kernel adds a half and a quarter, each rounded down.
    pub fn restart(&mut self, window: CongestionWindow) {
        let ssthresh = whole(window.ssthresh);
        let unused = u64::from(ssthresh) == u64::from(self.cwnd) * 3 / 4 && ssthresh > self.ssthresh;
        self.ssthresh = if unused { self.current_ssthresh() } else { ssthresh };
        self.set_cwnd(window.cwnd);
    }

    /// `tcp_in_slow_start()`.
    #[inline]
    pub fn in_slow_start(&self) -> bool {
        match &self.other_slow_start {
            None => self.cwnd < self.ssthresh,
            Some(other) => other.0.applies(&self.with_fraction(other.1)),
        }
    }

    fn with_fraction(&self, fraction: f64) -> CongestionWindow {
        let ssthresh = if self.ssthresh == u32::MAX { f64::INFINITY } else { f64::from(self.ssthresh) };
        CongestionWindow { cwnd: f64::from(self.cwnd) + fraction, ssthresh }
    }

    /// `tcp_slow_start()`: one segment per segment acknowledged, up to ssthresh. Returns what the
    /// growth leaves of the credit.
    #[inline]
    pub fn slow_start(&mut self, ack: &Ack, credit: u32) -> u32 {
        if self.other_slow_start.is_some() {
            return self.slow_start_by_rule(ack);
        }
        let cwnd = self.cwnd.saturating_add(credit).min(self.ssthresh);
        let left = credit - (cwnd - self.cwnd);
        self.cwnd = cwnd;
        left
    }

    /// A slow start that Linux does not have.
    #[cold]
    fn slow_start_by_rule(&mut self, ack: &Ack) -> u32 {
        let Some(mut other) = self.other_slow_start.take() else { return 0 };
        let mut window = self.with_fraction(other.1);
        let left = other.0.open(ack, &mut window);
        (self.cwnd, self.ssthresh) = (whole(window.cwnd), whole(window.ssthresh));
        other.1 = window.cwnd - f64::from(self.cwnd);
        self.other_slow_start = Some(other);
        left as u32
    }

    /// What an ACK leaves for congestion avoidance, after slow start has taken its part; None if the
    /// window does not grow any more on it. The credit of an ACK that covers only what SACK has
    /// reported before is 0.
    #[inline]
    pub fn avoidance_credit(&mut self, ack: &Ack) -> Option<u32> {
        if !ack.cwnd_limited {
            self.observe(ack);
            return None;
        }
        let credit = ack.growth_credit as u32;
        if !self.in_slow_start() {
            return Some(credit);
        }
        Some(self.slow_start(ack, credit)).filter(|&left| left > 0)
    }

    /// For controls whose slow start takes an ACK whole: whether congestion avoidance gets it.
    #[inline]
    pub fn is_left_to_avoidance(&mut self, ack: &Ack) -> bool {
        if !ack.cwnd_limited {
            self.observe(ack);
            return false;
        }
        if self.in_slow_start() {
            self.slow_start(ack, ack.growth_credit as u32);
            return false;
        }
        true
    }

    /// An ACK at which the window does not grow; a rule of the host may watch it.
    pub fn observe(&mut self, ack: &Ack) {
        let Some(mut other) = self.other_slow_start.take() else { return };
        let mut window = self.with_fraction(other.1);
        if other.0.applies(&window) {
            other.0.observe(ack, &mut window);
            self.ssthresh = whole(window.ssthresh);
        }
        self.other_slow_start = Some(other);
    }

    /// `tcp_cong_avoid_ai()`: a segment per `every` of credit. Credit counted towards a larger
    /// `every` earns one segment at most.
    #[inline]
    pub fn cong_avoid_ai(&mut self, every: u32, credit: u32) {
        if self.count >= every {
            self.count = 0;
            self.cwnd = self.cwnd.saturating_add(1);
        }
        self.count = self.count.saturating_add(credit);
        if self.count >= every {
            let grown = self.count / every;
            self.count -= grown * every;
            self.cwnd = self.cwnd.saturating_add(grown);
        }
    }

    /// `tcp_reno_cong_avoid()`.
    #[inline]
    pub fn reno_cong_avoid(&mut self, ack: &Ack) {
        if let Some(credit) = self.avoidance_credit(ack) {
            self.cong_avoid_ai(self.cwnd, credit);
        }
    }
}

/// A half and a quarter, each rounded down.
fn three_quarters(cwnd: u32) -> u32 {
    (cwnd >> 1) + (cwnd >> 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(cwnd: u32, ssthresh: u32) -> LinuxWindow {
        LinuxWindow::new(CongestionWindow { cwnd: f64::from(cwnd), ssthresh: f64::from(ssthresh) }, LinuxWindow::CLASSIC)
    }

    fn ack(credit: u32) -> Ack {
        Ack { growth_credit: f64::from(credit), acked: credit, cwnd_limited: true, ..Ack::default() }
    }

    #[test]
    fn credit_above_ssthresh_counts_towards_congestion_avoidance() {
        let mut w = window(8, 10);
        w.reno_cong_avoid(&ack(5));
        assert_eq!((w.cwnd, w.count), (10, 3));
        w.reno_cong_avoid(&ack(7));
        assert_eq!((w.cwnd, w.count), (11, 0));
    }

    #[test]
    fn credit_of_a_larger_window_earns_one_segment_when_the_window_is_cut() {
        let mut w = window(40, 2);
        w.cong_avoid_ai(40, 39);
        w.cong_avoid_ai(3, 1);
        assert_eq!((w.cwnd, w.count), (41, 1), "not thirteen");
        w.cong_avoid_ai(3, 8);
        assert_eq!((w.cwnd, w.count), (44, 0), "several of one ACK");
    }

    #[test]
    fn ack_without_credit_spends_what_a_full_count_holds() {
        let mut w = window(10, 2);
        w.count = 11;
        w.reno_cong_avoid(&ack(0));
        assert_eq!((w.cwnd, w.count), (11, 0));
        let mut opening = window(10, 20);
        opening.count = 11;
        opening.reno_cong_avoid(&ack(0));
        assert_eq!((opening.cwnd, opening.count), (10, 11), "slow start takes it");
    }

    #[test]
    fn unused_window_leaves_a_half_and_a_quarter_of_cwnd_as_ssthresh() {
        for (cwnd, kept) in [(7u32, 4), (5, 3), (40, 30)] {
            let mut w = window(cwnd, 2);
            w.restart(CongestionWindow { cwnd: 3.0, ssthresh: 0.75 * f64::from(cwnd) });
            assert_eq!((w.cwnd, w.ssthresh), (3, kept), "{cwnd}");
        }
        let mut cached = window(10, u32::MAX);
        cached.restart(CongestionWindow { cwnd: 10.0, ssthresh: 25.0 });
        assert_eq!((cached.cwnd, cached.ssthresh), (10, 25));
    }
}
