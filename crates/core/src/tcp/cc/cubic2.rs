//! CUBIC 2.0 and 2.1 of Linux 2.6.15 to 2.6.22 (Rhee and Xu, "CUBIC: a new TCP-friendly high-speed
//! TCP variant", PFLDnet 2005; Ha, Rhee and Xu, "CUBIC: a new TCP-friendly high-speed TCP variant",
//! ACM SIGOPS OSR 2008).

use super::slow_start::SlowStart;
use super::{
    Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, CwndCount, DelayedAckRatio, cubic_k, cubic_window,
    window_methods,
};
use crate::units::{Span, Time};

/// The kernel's module parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cubic2Config {
    /// C, segments per second cubed: `bic_scale`/1024*10.
    pub c: f64,
    /// Share of the window that a loss leaves: 819/1024, the paper's 0.8.
    pub beta: f64,
    pub fast_convergence: bool,
    pub friendly: bool,
    /// S_max: maximum growth above the origin, in segments per 100 ms (`max_increment`).
    pub s_max: f64,
    /// Maximum of ACKs per segment of growth before the first loss.
    pub first_count: f64,
    /// ACKs per segment of growth at and above the target, in windows.
    pub hold: f64,
    /// Lifetime of a count while the window is unchanged (HZ/32).
    pub recompute: Span,
    /// The kernel grows one ACK after the count is reached.
    pub spare_ack: f64,
}

impl Cubic2Config {
    pub const LINUX_2_6: Cubic2Config = Cubic2Config {
        c: 410.0 / 1024.0,
        beta: 819.0 / 1024.0,
        fast_convergence: true,
        friendly: true,
        s_max: 16.0,
        first_count: 50.0,
        hold: 100.0,
        recompute: Span::from_us(31_250),
        spare_ack: 1.0,
    };
}

/// The interval of S_max, in seconds.
const S_MAX_INTERVAL: f64 = 0.1;

#[derive(Clone, Debug)]
pub struct Cubic2 {
    config: Cubic2Config,
    window: CongestionWindow,
    slow_start: SlowStart,
    /// The window at the last loss, reduced by fast convergence; 0 before.
    w_max: f64,
    epoch: Option<Cubic2Epoch>,
    /// Minimum RTT since the last RTO, in seconds.
    min_rtt: Option<f64>,
    counter: CwndCount,
    ratio: DelayedAckRatio,
    /// ACKs per segment of growth, the time of the computation, and its window.
    count: (f64, Time, f64),
}

/// State from the first ACK after a loss to the next loss.
#[derive(Clone, Copy, Debug)]
struct Cubic2Epoch {
    start: Time,
    k: f64,
    origin: f64,
    /// The window of a Reno flow.
    friendly: f64,
    /// ACKs not yet counted in `friendly`.
    acks: f64,
}

/// 2008, section 3.1: growth per RTT of a Reno flow with this beta.
pub fn friendly_growth(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// ACKs per segment that bring the window from `cwnd` to `target` in an RTT.
pub fn count_to(target: f64, cwnd: f64, hold: f64) -> f64 {
    if target > cwnd { cwnd / (target - cwnd) } else { hold * cwnd }
}

/// Above the origin at most `s_max` segments per 100 ms (2.0 and 2.1 only): the minimum of ACKs per
/// segment.
pub fn capped_count(cwnd: f64, s_max: f64, rtt: f64) -> f64 {
    cwnd * S_MAX_INTERVAL / (s_max * rtt)
}

impl Cubic2 {
    pub fn new(config: Cubic2Config, window: CongestionWindow, slow_start: SlowStart) -> Cubic2 {
        Cubic2 {
            config,
            window,
            slow_start,
            w_max: 0.0,
            epoch: None,
            min_rtt: None,
            counter: CwndCount::default(),
            ratio: DelayedAckRatio::LINUX,
            count: (0.0, Time::ZERO, 0.0),
        }
    }

    fn begin_epoch(&self, now: Time) -> Cubic2Epoch {
        let (cwnd, p) = (self.window.cwnd, &self.config);
        let k = cubic_k(p.c, self.w_max, cwnd);
        Cubic2Epoch { start: now, k, origin: self.w_max.max(cwnd), friendly: cwnd, acks: 0.0 }
    }

    fn every(&mut self, now: Time) -> f64 {
        let (cwnd, p) = (self.window.cwnd, self.config);
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(now));
        epoch.acks += 1.0;
        let (held, since, at) = self.count;
        let fresh = self.epoch.is_some() && at == cwnd && now - since <= p.recompute;
        self.epoch = Some(epoch);
        if fresh {
            return held;
        }
        let rtt = self.min_rtt.unwrap_or(0.0);
        let t = (now - epoch.start).as_secs() + rtt;
        let mut count = count_to(libm::floor(cubic_window(p.c, epoch.k, epoch.origin, t)), cwnd, p.hold);
        if t >= epoch.k && rtt > 0.0 {
            count = count.max(capped_count(cwnd, p.s_max, rtt));
        }
        if self.w_max == 0.0 {
            count = p.first_count;
        }
        if p.friendly {
            count = count.min(self.friendly_count(cwnd));
        }
        let count = libm::floor(libm::floor(count) / self.ratio.get()).max(1.0);
        self.count = (count, now, cwnd);
        count
    }

    /// ACKs per segment that follow a Reno flow, if its window is larger.
    fn friendly_count(&mut self, cwnd: f64) -> f64 {
        let Some(epoch) = &mut self.epoch else { return f64::INFINITY };
        let acks_each = libm::floor(cwnd / friendly_growth(self.config.beta)).max(1.0);
        let grown = libm::floor(epoch.acks / acks_each);
        epoch.acks -= grown * acks_each;
        epoch.friendly += grown;
        if epoch.friendly > cwnd { cwnd / (epoch.friendly - cwnd) } else { f64::INFINITY }
    }
}

impl CongestionControl for Cubic2 {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt.map(Span::as_secs) {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |s| s.min(rtt)));
        }
        self.ratio.on_ack(ack);
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            let every = self.every(ack.now);
            self.window.cwnd += self.counter.add(credit, every + self.config.spare_ack);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let (cwnd, p) = (self.window.cwnd, self.config);
        self.w_max = if cwnd < self.w_max && p.fast_convergence { cwnd * (1.0 + p.beta) / 2.0 } else { cwnd };
        self.epoch = None;
        self.counter.clear();
        self.window.cut_to(libm::floor(cwnd * p.beta), congestion.signal);
        if congestion.signal == CongestionSignal::Timeout {
            (self.w_max, self.min_rtt) = (0.0, None);
            self.ratio = DelayedAckRatio::LINUX;
        }
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, classic, loss, timeout};
    use super::*;

    fn cubic(cwnd: f64) -> Cubic2 {
        Cubic2::new(Cubic2Config::LINUX_2_6, CongestionWindow { cwnd, ssthresh: 2.0 }, classic())
    }

    #[test]
    fn ack_counts_match_the_kernel() {
        assert_eq!(count_to(220.0, 200.0, 100.0), 10.0);
        assert_eq!(count_to(200.0, 200.0, 100.0), 20_000.0);
        assert_eq!(capped_count(200.0, 16.0, 0.1), 12.5, "16 segments in a round trip of 100 ms");
        assert!((friendly_growth(0.8) - 1.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn window_returns_to_w_max_after_k() {
        let mut cc = cubic(1000.0);
        cc.on_congestion(&loss(1000.0));
        assert_eq!((cc.cwnd(), cc.w_max), (799.0, 1000.0));
        let k = cubic_k(cc.config.c, 1000.0, 799.0);
        let mut path = TestPath::new(Span::from_ms(200));
        while (path.now - (Time::ZERO + Span::from_secs(1))).as_secs() < k {
            path.round(&mut cc);
        }
        assert!((970.0..=1010.0).contains(&cc.cwnd()), "{} after {k} s", cc.cwnd());
    }

    #[test]
    fn growth_above_the_origin_is_at_most_s_max_per_100_ms() {
        let mut cc = cubic(1000.0);
        cc.on_congestion(&loss(1000.0));
        let mut path = TestPath::new(Span::from_ms(100));
        path.rounds(&mut cc, 250);
        let before = cc.cwnd();
        path.round(&mut cc);
        // Twice that if every segment is acknowledged and the ratio is 31/16.
        assert!((24.0..=32.0).contains(&(cc.cwnd() - before)), "{}", cc.cwnd() - before);
    }

    #[test]
    fn growth_takes_50_acks_over_the_ratio_before_the_first_loss() {
        let mut cc = cubic(520.0);
        TestPath::new(Span::from_ms(100)).round(&mut cc);
        assert_eq!(cc.cwnd(), 520.0 + libm::floor(520.0 / 26.0), "50 over 31/16, and one to spare");
    }

    #[test]
    fn loss_leaves_819_of_1024_and_timeout_resets() {
        let mut cc = cubic(100.0);
        cc.on_congestion(&loss(100.0));
        cc.on_congestion(&loss(79.0));
        assert!((cc.w_max - 79.0 * (1.0 + 819.0 / 1024.0) / 2.0).abs() < 1e-9);
        cc.on_congestion(&timeout(63.0));
        assert_eq!((cc.cwnd(), cc.ssthresh(), cc.w_max), (1.0, 50.0, 0.0));
    }
}
