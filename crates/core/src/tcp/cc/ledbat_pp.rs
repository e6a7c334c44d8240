//! LEDBAT++ (draft-irtf-iccrg-ledbat-plus-plus-01): a background transport with a target queueing
//! delay of 60 ms, and periodic slowdowns to measure the base delay.

use super::{Ack, Congestion, CongestionControl, CongestionWindow, RoundCounter, reno_ssthresh, window_methods};
use crate::units::{Span, Time};

/// Section 4.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LedbatPpConfig {
    /// TARGET: the target queueing delay.
    pub target: Span,
    /// Section 4.2: maximum of the divisor 1/GAIN.
    pub max_gain_divisor: f64,
    /// Section 4.2: strength of the decrease above the target.
    pub constant: f64,
    /// Section 4.1: slow start ends above this share of the target.
    pub slow_start_exit: f64,
    /// Section 4.4: the interval between slowdowns in multiples of their length; their window in
    /// segments, and their length in RTTs.
    pub slowdown_spacing: u64,
    pub slowdown_window: f64,
    pub slowdown_rounds: u64,
    /// Delay is the minimum of this many samples (RFC 6817, CURRENT_FILTER).
    pub filter: usize,
}

impl LedbatPpConfig {
    pub const DRAFT: LedbatPpConfig = LedbatPpConfig {
        target: Span::from_ms(60),
        max_gain_divisor: 16.0,
        constant: 1.0,
        slow_start_exit: 0.75,
        slowdown_spacing: 9,
        slowdown_window: 2.0,
        slowdown_rounds: 2,
        filter: SAMPLES,
    };
}

const SAMPLES: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Slowdown {
    /// No slowdown is scheduled: the first slow start is in progress.
    None,
    At(Time),
    /// The window is at its minimum until `until`; the start, and the window before.
    Resting {
        until: Time,
        since: Time,
        window: f64,
    },
    /// Slow start to the window before.
    Returning {
        since: Time,
    },
}

#[derive(Clone, Debug)]
pub struct LedbatPp {
    p: LedbatPpConfig,
    window: CongestionWindow,
    recent: [Span; SAMPLES],
    at: usize,
    base: Option<Span>,
    round: RoundCounter,
    slowdown: Slowdown,
}

/// Section 4.2: GAIN = 1/min(16, ceil(2 TARGET/base)).
pub fn ledbat_gain(p: &LedbatPpConfig, base: Span) -> f64 {
    1.0 / libm::ceil(2.0 * p.target.as_secs() / base.as_secs().max(1e-9)).clamp(1.0, p.max_gain_divisor)
}

/// Section 4.2: change of the window per RTT.
pub fn ledbat_change(p: &LedbatPpConfig, gain: f64, cwnd: f64, delay: Span) -> f64 {
    let ratio = delay.as_secs() / p.target.as_secs();
    if ratio <= 1.0 { gain } else { (gain - p.constant * cwnd * (ratio - 1.0)).max(-cwnd / 2.0) }
}

impl LedbatPp {
    pub fn new(p: LedbatPpConfig, window: CongestionWindow) -> LedbatPp {
        let window = CongestionWindow { cwnd: window.cwnd.max(p.slowdown_window), ..window };
        let recent = [Span::MAX; SAMPLES];
        LedbatPp { p, window, recent, at: 0, base: None, round: RoundCounter::START, slowdown: Slowdown::None }
    }

    fn on_rtt(&mut self, rtt: Span) {
        self.base = Some(self.base.map_or(rtt, |b| b.min(rtt)));
        self.recent[self.at] = rtt;
        self.at = (self.at + 1) % self.p.filter;
    }

    fn delay(&self) -> Span {
        self.recent.iter().min().copied().unwrap_or(Span::ZERO) - self.base.unwrap_or(Span::ZERO)
    }

    fn rounds(&self, n: u64, ack: &Ack) -> Span {
        ack.srtt.unwrap_or(Span::ZERO).saturating_mul(n)
    }

    /// Section 4.1: slow start at the rate of GAIN.
    fn open(&mut self, ack: &Ack, gain: f64) {
        let w = &mut self.window;
        w.cwnd = (w.cwnd + ack.growth_credit * gain).min(w.ssthresh.max(w.cwnd));
        let late = self.delay().as_secs() > self.p.slow_start_exit * self.p.target.as_secs();
        if self.slowdown == Slowdown::None && late {
            self.window.ssthresh = self.window.cwnd;
        }
        if self.window.cwnd >= self.window.ssthresh {
            self.plan_slowdown(ack);
        }
    }

    /// Section 4.4: the first slowdown two RTTs after slow start, later ones after nine times the
    /// length of the last.
    fn plan_slowdown(&mut self, ack: &Ack) {
        self.slowdown = match self.slowdown {
            Slowdown::None => Slowdown::At(ack.now + self.rounds(self.p.slowdown_rounds, ack)),
            Slowdown::Returning { since } => Slowdown::At(ack.now + (ack.now - since).saturating_mul(self.p.slowdown_spacing)),
            other => other,
        };
    }

    fn run_slowdown(&mut self, ack: &Ack) {
        match self.slowdown {
            Slowdown::At(time) if ack.now >= time => {
                let window = self.window.cwnd;
                self.window.cwnd = self.p.slowdown_window;
                let until = ack.now + self.rounds(self.p.slowdown_rounds, ack);
                self.slowdown = Slowdown::Resting { until, since: ack.now, window };
            }
            Slowdown::Resting { until, since, window } if ack.now >= until => {
                self.window.ssthresh = window;
                self.slowdown = Slowdown::Returning { since };
            }
            _ => {}
        }
    }
}

impl CongestionControl for LedbatPp {
    fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.on_rtt(rtt);
        }
        let round_over = self.round.over(ack);
        self.run_slowdown(ack);
        let Some(base) = self.base else { return };
        if matches!(self.slowdown, Slowdown::Resting { .. }) {
            return;
        }
        let gain = ledbat_gain(&self.p, base);
        if self.window.cwnd < self.window.ssthresh {
            if ack.cwnd_limited {
                self.open(ack, gain);
            }
            return;
        }
        let change = ledbat_change(&self.p, gain, self.window.cwnd, self.delay());
        if change > 0.0 && ack.cwnd_limited {
            self.window.cwnd += ack.growth_credit * change / self.window.cwnd;
        } else if change < 0.0 && round_over {
            self.window.cwnd = (self.window.cwnd + change).max(self.p.slowdown_window);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.window.cut_to(reno_ssthresh(congestion.flight), congestion.signal);
        if !matches!(self.slowdown, Slowdown::At(_)) {
            self.slowdown = Slowdown::None;
        }
    }

    window_methods!();
}

#[cfg(test)]
mod tests;
