//! H-TCP (Leith and Shorten, "H-TCP: TCP for high-speed and long-distance networks", PFLDnet 2004;
//! draft-leith-tcp-htcp-06): growth rises with the time since the last loss; a reduction empties
//! the queue.

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, RoundCounter, window_methods};
use crate::units::{Span, Time};

/// Section 4 of the draft.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HtcpConfig {
    /// Delta_L: seconds after a loss in Reno mode.
    pub delta_l: f64,
    /// Limits of beta.
    pub beta_min: f64,
    pub beta_max: f64,
    /// Delta_B: a larger relative change of throughput between losses resets beta to its minimum.
    pub delta_b: f64,
}

impl HtcpConfig {
    pub const DRAFT: HtcpConfig = HtcpConfig { delta_l: 1.0, beta_min: 0.5, beta_max: 0.8, delta_b: 0.2 };
}

#[derive(Clone, Debug)]
pub struct Htcp {
    config: HtcpConfig,
    window: CongestionWindow,
    slow_start: SlowStart,
    last_loss: Option<Time>,
    beta: f64,
    /// Minimum RTT between losses.
    min_rtt: Option<Span>,
    max_rtt: Span,
    round: RoundCounter,
    round_start: (Time, u64),
    /// Maximum throughput since the last loss, and between the two before it, in segments per
    /// second.
    throughput: f64,
    throughput_before: f64,
}

/// Draft, section 4.1: growth per RTT, `since` seconds after a loss.
pub fn htcp_alpha(since: f64, delta_l: f64, beta: f64) -> f64 {
    let d = (since - delta_l).max(0.0);
    (2.0 * (1.0 - beta) * (1.0 + 10.0 * d + (d / 2.0) * (d / 2.0))).max(1.0)
}

/// Draft, section 4.2: the share that empties the queue.
pub fn htcp_beta(p: &HtcpConfig, min_rtt: Span, max_rtt: Span) -> f64 {
    (min_rtt.as_secs() / max_rtt.as_secs().max(1e-12)).clamp(p.beta_min, p.beta_max)
}

impl Htcp {
    pub fn new(config: HtcpConfig, window: CongestionWindow, slow_start: SlowStart) -> Htcp {
        Htcp {
            config,
            window,
            slow_start,
            last_loss: None,
            beta: config.beta_min,
            min_rtt: None,
            max_rtt: Span::ZERO,
            round: RoundCounter::START,
            round_start: (Time::ZERO, 0),
            throughput: 0.0,
            throughput_before: 0.0,
        }
    }

    fn note_rtt(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |s| s.min(rtt)));
            self.max_rtt = self.max_rtt.max(rtt);
        }
        if self.round.over(ack) {
            let (start, acked_total) = self.round_start;
            let took = (ack.now - start).as_secs();
            if took > 0.0 && start > Time::ZERO {
                self.throughput = self.throughput.max(ack.acked_total.saturating_sub(acked_total) as f64 / took);
            }
            self.round_start = (ack.now, ack.acked_total);
        }
    }

    fn adapt(&mut self) {
        let p = self.config;
        let changed = (self.throughput - self.throughput_before).abs() > p.delta_b * self.throughput_before;
        self.beta = match self.min_rtt {
            Some(min_rtt) if !changed => htcp_beta(&p, min_rtt, self.max_rtt),
            _ => p.beta_min,
        };
        self.throughput_before = self.throughput;
        self.throughput = 0.0;
        self.max_rtt = self.min_rtt.unwrap_or(Span::ZERO);
    }
}

impl CongestionControl for Htcp {
    fn on_ack(&mut self, ack: &Ack) {
        self.note_rtt(ack);
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        let since = self.last_loss.map_or(0.0, |at| (ack.now - at).as_secs());
        self.window.cwnd += credit * htcp_alpha(since, self.config.delta_l, self.beta) / self.window.cwnd;
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.last_loss = Some(congestion.now);
        self.adapt();
        self.window.cut_to(self.window.cwnd * self.beta, congestion.signal);
        if congestion.signal == CongestionSignal::Timeout {
            (self.min_rtt, self.max_rtt) = (None, Span::ZERO);
        }
    }

    fn on_idle(&mut self, now: Time, _idle: Span) {
        self.last_loss = Some(now);
        self.round_start = (Time::ZERO, 0);
    }

    window_methods!();
}

#[cfg(test)]
mod tests {
    use super::super::testing::{TestPath, classic, loss, timeout};
    use super::*;

    #[test]
    fn increase_and_beta_match_the_draft() {
        for (since, alpha) in [(0.0, 1.0), (1.0, 1.0), (2.0, 11.25), (5.0, 45.0)] {
            assert_eq!(htcp_alpha(since, 1.0, 0.5), alpha, "{since} s");
        }
        assert_eq!(htcp_alpha(2.0, 1.0, 0.8), 2.0 * (1.0 - 0.8) * 11.25);
        let p = HtcpConfig::DRAFT;
        for (short, long, beta) in [(100, 150, 100.0 / 150.0), (100, 400, 0.5), (100, 101, 0.8)] {
            assert!((htcp_beta(&p, Span::from_ms(short), Span::from_ms(long)) - beta).abs() < 1e-12);
        }
    }

    #[test]
    fn first_loss_halves_and_loss_at_equal_throughput_empties_the_queue() {
        let mut cc = Htcp::new(HtcpConfig::DRAFT, CongestionWindow { cwnd: 100.0, ssthresh: 50.0 }, classic());
        let mut path = TestPath::new(Span::from_ms(100));
        path.rounds(&mut cc, 3);
        cc.on_congestion(&Congestion { now: path.now, ..loss(100.0) });
        assert!((50.0..=53.0).contains(&cc.cwnd()), "{}", cc.cwnd());
        for rtt in [100, 140] {
            path.rtt = Span::from_ms(rtt);
            cc.window.cwnd = 103.0 * rtt as f64 / 100.0;
            path.rounds(&mut cc, 2);
        }
        let before = cc.cwnd();
        cc.on_congestion(&Congestion { now: path.now, ..loss(before) });
        assert!((cc.cwnd() / before - 100.0 / 140.0).abs() < 1e-9, "{}", cc.cwnd() / before);
        cc.on_congestion(&timeout(80.0));
        assert_eq!(cc.cwnd(), 1.0);
    }
}
