//! CUBIC (RFC 9438).

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnAgreement, MIN_SSTHRESH, window_methods};
use crate::units::{Span, Time};

/// Constants of RFC 9438, sections 4 and 5.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CubicConfig {
    /// C, segments per second cubed (section 5.1).
    pub c: f64,
    /// beta_cubic: share of the window that a loss leaves (section 4.6).
    pub beta: f64,
    /// Section 4.7.
    pub fast_convergence: bool,
    /// Section 4.3.
    pub reno_friendly: bool,
}

impl CubicConfig {
    pub const RFC9438: CubicConfig = CubicConfig { c: 0.4, beta: 0.7, fast_convergence: true, reno_friendly: true };
}

#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
    /// W_max: the window before the last reduction, reduced by fast convergence.
    w_max: f64,
    /// The window at the last reduction, at which alpha_cubic becomes 1 (section 4.3).
    cwnd_prior: f64,
    epoch: Option<Epoch>,
    /// Share of the window that a mark leaves: beta_cubic (section 4.6), or the value of RFC 8511,
    /// which proposes 0.85.
    beta_ecn: f64,
    /// Minimum growth per RTT before the first loss, as a share of cwnd: 0 in the RFC, 1/20 in
    /// Linux.
    first_climb: f64,
    /// A loss or a mark has occurred since the last RTO.
    limit_known: bool,
    /// alpha_cubic never becomes 1 (Linux).
    keeps_reno_rate: bool,
}

/// A congestion avoidance stage.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// The last ACK of the stage.
    last: Time,
    /// Seconds from the start to W_max.
    k: f64,
    /// W_est: the window of a Reno flow (section 4.3).
    w_est: f64,
}

/// RFC 9438 (Eq. 1): W_cubic(t) = C*(t - K)^3 + W_max.
pub fn cubic_window(c: f64, k: f64, w_max: f64, t: f64) -> f64 {
    let d = t - k;
    c * d * d * d + w_max
}

/// RFC 9438 (Eq. 2): K = cbrt((W_max - cwnd_epoch)/C).
pub fn cubic_k(c: f64, w_max: f64, cwnd_epoch: f64) -> f64 {
    libm::cbrt(((w_max - cwnd_epoch) / c).max(0.0))
}

/// RFC 9438 (Eq. 4), before W_est reaches cwnd_prior: alpha = 3*(1 - beta)/(1 + beta).
pub fn cubic_alpha(beta: f64) -> f64 {
    3.0 * (1.0 - beta) / (1.0 + beta)
}

/// RFC 9438, section 4.2: the target lies between cwnd and 1.5*cwnd.
pub fn cubic_target(w_next_rtt: f64, cwnd: f64) -> f64 {
    w_next_rtt.clamp(cwnd, 1.5 * cwnd)
}

impl Cubic {
    pub fn new(config: CubicConfig, window: CongestionWindow, slow_start: SlowStart) -> Cubic {
        Cubic {
            config,
            window,
            slow_start,
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
            beta_ecn: config.beta,
            first_climb: 0.0,
            limit_known: false,
            keeps_reno_rate: false,
        }
    }

    /// Linux leaves out the second part of section 4.3: alpha_cubic is below 1 above the window of
    /// the last reduction, too.
    pub fn with_reno_rate(self, keeps_reno_rate: bool) -> Cubic {
        Cubic { keeps_reno_rate, ..self }
    }

    /// Sets Linux's minimum growth before the first loss (`bictcp_update()`), as a share of cwnd
    /// per RTT. After an early end of slow start the RFC's curve stays on its plateau for seconds.
    pub fn with_min_growth(self, share: f64) -> Cubic {
        Cubic { first_climb: share, ..self }
    }

    fn begin_epoch(&mut self, now: Time) -> Epoch {
        let cwnd = self.window.cwnd;
        // A stage that follows no loss starts at the plateau (section 4.10).
        self.w_max = self.w_max.max(cwnd);
        Epoch { start: now, last: now, k: cubic_k(self.config.c, self.w_max, cwnd), w_est: cwnd }
    }

    /// Sections 4.2 to 4.5.
    fn avoid(&mut self, ack: &Ack, credit: f64) {
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(ack.now));
        let rtt = ack.srtt.unwrap_or(Span::ZERO).as_secs();
        let t = (ack.now - epoch.start).as_secs();
        let cwnd = self.window.cwnd;
        let target = cubic_target(cubic_window(self.config.c, epoch.k, self.w_max, t + rtt), cwnd);
        let alpha = if epoch.w_est >= self.cwnd_prior && !self.keeps_reno_rate { 1.0 } else { cubic_alpha(self.config.beta) };
        epoch.w_est += alpha * credit / cwnd;
        let friendly = self.config.reno_friendly && cubic_window(self.config.c, epoch.k, self.w_max, t) < epoch.w_est;
        let grown = if friendly { cwnd.max(epoch.w_est) } else { cwnd + credit * (target - cwnd) / cwnd };
        let min_cwnd = if self.limit_known { cwnd } else { cwnd + credit * self.first_climb };
        self.window.cwnd = grown.max(min_cwnd);
        epoch.last = ack.now;
        self.epoch = Some(epoch);
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, ack: &Ack) {
        if !ack.cwnd_limited {
            // Section 5.8: time in which cwnd did not limit the sender does not count.
            if let Some(epoch) = &mut self.epoch {
                epoch.start += ack.now - epoch.last;
                epoch.last = ack.now;
            }
        }
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            self.avoid(ack, credit);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let cwnd = self.window.cwnd;
        let p = self.config;
        // Section 4.7: a loss below the previous W_max releases bandwidth to other flows.
        self.w_max = if cwnd < self.w_max && p.fast_convergence { cwnd * (1.0 + p.beta) / 2.0 } else { cwnd };
        self.cwnd_prior = cwnd;
        let beta = if congestion.signal == CongestionSignal::Ecn { self.beta_ecn } else { p.beta };
        self.window.cut_to((cwnd * beta).max(MIN_SSTHRESH), congestion.signal);
        self.epoch = None;
        if congestion.signal == CongestionSignal::Timeout {
            // Section 4.8: the stage after slow start begins with K = 0.
            self.w_max = 0.0;
        }
        self.limit_known = congestion.signal != CongestionSignal::Timeout;
    }

    fn on_ecn_negotiated(&mut self, agreement: &EcnAgreement) {
        self.beta_ecn = agreement.beta.unwrap_or(self.config.beta);
    }

    fn on_idle(&mut self, now: Time, idle: Span) {
        // Section 5.8: idle time does not count.
        if let Some(epoch) = &mut self.epoch {
            epoch.start = (epoch.start + idle).min(now);
        }
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::slow_start::ClassicSlowStart;
    use super::*;

    fn ack(now: Time, rtt: Span) -> Ack {
        Ack {
            now,
            growth_credit: 1.0,
            acked: 1,
            rtt: Some(rtt),
            srtt: Some(rtt),
            min_rtt: Some(rtt),
            cwnd_limited: true,
            ..Ack::default()
        }
    }

    #[test]
    fn window_follows_the_rfcs_curve_between_losses() {
        let start = CongestionWindow { cwnd: 1000.0, ssthresh: 500.0 };
        let mut cc = Cubic::new(CubicConfig::RFC9438, start, SlowStart::Classic(ClassicSlowStart));
        cc.on_congestion(&Congestion { now: Time::ZERO, signal: CongestionSignal::Duplicates, flight: 1000.0 });
        assert!((cc.cwnd() - 700.0).abs() < 1e-9);
        let k = cubic_k(0.4, 1000.0, 700.0);
        assert!((k - 9.0856).abs() < 1e-4, "cbrt(300/0.4) s: {k}");
        // The RTT is long, so that a Reno flow is slower (section 4.3).
        let rtt = Span::from_ms(100);
        let mut now = Time::ZERO;
        while now.as_secs() < 15.0 {
            // The ACKs of an RTT, evenly spread.
            let n = cc.cwnd() as u64;
            for i in 0..n {
                cc.on_ack(&ack(now + Span(rtt.0 * i / n), rtt));
            }
            now += rtt;
            // Each ACK covers 1/cwnd of the distance to the window one RTT ahead, so the window
            // follows the curve.
            let expected = cubic_window(0.4, k, 1000.0, now.as_secs());
            assert!((cc.cwnd() / expected - 1.0).abs() < 0.01, "at {now:?}: {} not {expected}", cc.cwnd());
        }
    }

    /// Section 4.2: far above the curve's target the window grows by half in an RTT, and below it never
    /// shrinks.
    #[test]
    fn window_grows_by_half_in_an_rtt_when_the_curve_is_farther_away() {
        assert_eq!(cubic_target(151.0, 100.0), 150.0);
        assert_eq!(cubic_target(149.0, 100.0), 149.0);
        assert_eq!(cubic_target(99.0, 100.0), 100.0);
        let start = CongestionWindow { cwnd: 10.0, ssthresh: 5.0 };
        let mut cc = Cubic::new(CubicConfig::RFC9438, start, SlowStart::Classic(ClassicSlowStart));
        let rtt = Span::from_ms(100);
        cc.on_ack(&ack(Time::ZERO, rtt));
        let before = cc.cwnd();
        // After 20 s the curve stands at 0.4*20^3 = 3200 segments above its plateau.
        for _ in 0..10 {
            cc.on_ack(&ack(Time::ZERO + Span::from_secs(20), rtt));
        }
        assert!((cc.cwnd() - before - 5.0).abs() < 1e-9, "{} after {before}", cc.cwnd());
    }

    #[test]
    fn small_window_grows_in_the_reno_friendly_region() {
        let mut cc = Cubic::new(
            CubicConfig::RFC9438,
            CongestionWindow { cwnd: 20.0, ssthresh: 10.0 },
            SlowStart::Classic(ClassicSlowStart),
        );
        cc.on_congestion(&Congestion { now: Time::ZERO, signal: CongestionSignal::Duplicates, flight: 20.0 });
        let (mut now, rtt) = (Time::ZERO, Span::from_ms(10));
        for _ in 0..5 {
            for _ in 0..cc.cwnd() as u32 {
                cc.on_ack(&ack(now, rtt));
            }
            now += rtt;
        }
        assert!((cc.cwnd() - (14.0 + 5.0 * cubic_alpha(0.7))).abs() < 0.15, "{}", cc.cwnd());
    }

    #[test]
    fn app_limited_time_does_not_count() {
        let rtt = Span::from_ms(100);
        let after = |pause: Span| {
            let mut cc = Cubic::new(
                CubicConfig::RFC9438,
                CongestionWindow { cwnd: 1000.0, ssthresh: 500.0 },
                SlowStart::Classic(ClassicSlowStart),
            );
            cc.on_congestion(&Congestion { now: Time::ZERO, signal: CongestionSignal::Duplicates, flight: 1000.0 });
            cc.on_ack(&ack(Time::ZERO, rtt));
            cc.on_ack(&Ack { cwnd_limited: false, ..ack(Time::ZERO + pause, rtt) });
            cc.on_ack(&ack(Time::ZERO + pause + rtt, rtt));
            cc.cwnd()
        };
        assert_eq!(after(Span::from_secs(60)), after(Span::ZERO));
    }

    /// 5 % per RTT with the ACKs of 100 segments; the RFC's curve grows by 0.4*0.1^3 in that time,
    /// Reno by one.
    #[test]
    fn min_growth_applies_until_the_first_loss_or_mark() {
        let rtt = Span::from_ms(100);
        let round = |share: f64, before: Option<CongestionSignal>| {
            let start = CongestionWindow { cwnd: 100.0, ssthresh: 100.0 };
            let mut cc = Cubic::new(CubicConfig::RFC9438, start, SlowStart::Classic(ClassicSlowStart)).with_min_growth(share);
            if let Some(signal) = before {
                cc.on_congestion(&Congestion { now: Time::ZERO, signal, flight: 100.0 });
                cc.window = start;
            }
            for i in 0..100 {
                cc.on_ack(&ack(Time::ZERO + Span::from_ms(i), rtt));
            }
            cc.cwnd() - 100.0
        };
        assert!(round(0.0, None) < 1.1, "RFC 9438");
        assert!((round(0.05, None) - 5.0).abs() < 1e-6);
        assert!((round(0.05, Some(CongestionSignal::Timeout)) - 5.0).abs() < 1e-6, "a timeout resets");
        assert!(round(0.05, Some(CongestionSignal::Duplicates)) < 1.1 && round(0.05, Some(CongestionSignal::Ecn)) < 1.1);
    }

    #[test]
    fn loss_below_w_max_lowers_it() {
        let mut cc = Cubic::new(
            CubicConfig::RFC9438,
            CongestionWindow { cwnd: 100.0, ssthresh: 10.0 },
            SlowStart::Classic(ClassicSlowStart),
        );
        let loss = Congestion { now: Time::ZERO, signal: CongestionSignal::Duplicates, flight: 100.0 };
        cc.on_congestion(&loss);
        assert_eq!(cc.w_max, 100.0);
        cc.on_congestion(&loss);
        assert!((cc.w_max - 70.0 * 0.85).abs() < 1e-9);
    }
}
