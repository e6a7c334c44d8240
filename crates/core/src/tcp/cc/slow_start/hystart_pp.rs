//! HyStart++ (RFC 9406): a rise of the RTT starts conservative slow start (CSS) at a quarter of the
//! growth. CSS ends in congestion avoidance after five rounds, or in slow start if the RTT falls
//! again.

use super::{Ack, CongestionWindow, RoundCounter, SlowStartRule, grow};
use crate::units::Span;

/// Constants of section 4.3.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Tuning {
    rise: (Span, Span),
    rtt_divisor: u64,
    samples: u32,
    css_growth_divisor: f64,
    css_rounds: u32,
    /// L: maximum growth per ACK in segments (8 without pacing).
    limit: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HystartPp {
    tuning: Tuning,
    round: RoundCounter,
    last_min: Span,
    current_min: Span,
    seen: u32,
    /// CSS: the minimum RTT at its start, and its rounds so far.
    css: Option<(Span, u32)>,
    /// The first slow start is over (section 4.3); later ones are classic.
    done: bool,
}

impl HystartPp {
    pub const RFC9406: HystartPp = HystartPp {
        tuning: Tuning {
            rise: (Span::from_ms(4), Span::from_ms(16)),
            rtt_divisor: 8,
            samples: 8,
            css_growth_divisor: 4.0,
            css_rounds: 5,
            limit: 8.0,
        },
        round: RoundCounter::START,
        last_min: Span::MAX,
        current_min: Span::MAX,
        seen: 0,
        css: None,
        done: false,
    };

    /// Section 4.2, at the start of each round.
    fn begin_round(&mut self, window: &mut CongestionWindow) {
        self.last_min = self.current_min;
        self.current_min = Span::MAX;
        self.seen = 0;
        if let Some((_, rounds)) = &mut self.css {
            *rounds += 1;
            if *rounds >= self.tuning.css_rounds {
                window.ssthresh = window.cwnd;
            }
        }
    }

    /// Section 4.2: RttThresh.
    fn threshold(&self) -> Span {
        Span(self.last_min.0 / self.tuning.rtt_divisor).clamp(self.tuning.rise.0, self.tuning.rise.1)
    }

    fn look(&mut self, rtt: Span) {
        self.current_min = self.current_min.min(rtt);
        self.seen += 1;
        if self.seen < self.tuning.samples {
            return;
        }
        match self.css {
            None if self.last_min != Span::MAX && self.current_min >= self.last_min + self.threshold() => {
                self.css = Some((self.current_min, 0));
            }
            // The RTT has fallen again: slow start continues.
            Some((baseline, _)) if self.current_min < baseline => self.css = None,
            _ => {}
        }
    }
}

impl SlowStartRule for HystartPp {
    fn open(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64 {
        if self.done || window.ssthresh.is_finite() {
            self.done = true;
            return grow(ack.growth_credit, 1.0, window);
        }
        if self.round.over(ack) {
            self.begin_round(window);
        }
        // Section 4.2: cwnd is updated before the RTT is compared.
        let share = if self.css.is_some() { 1.0 / self.tuning.css_growth_divisor } else { 1.0 };
        let credit = grow(ack.growth_credit.min(self.tuning.limit), share, window);
        if let Some(rtt) = ack.rtt {
            self.look(rtt);
        }
        credit
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rounds;
    use super::*;

    #[test]
    fn css_grows_by_a_quarter_and_ends_after_five_rounds() {
        let mut s = HystartPp::RFC9406;
        let (windows, window) = rounds(&mut s, 8.0, 20, |r| Span::from_ms(if r < 2 { 100 } else { 120 }));
        // Round 2 begins at 32: eight ACKs grow fully, the ninth and later ones by a quarter.
        assert_eq!(windows[..3], [16.0, 32.0, 32.0 + 8.0 + 24.0 / 4.0]);
        let growth = windows[3] / windows[2];
        assert!((1.2..1.26).contains(&growth), "{windows:?}");
        assert_eq!(windows.len(), 8, "five rounds of it: {windows:?}");
        assert!((window.ssthresh / windows[6] - 1.0).abs() < 0.01);
    }

    #[test]
    fn css_returns_to_slow_start_when_rtt_falls() {
        let mut s = HystartPp::RFC9406;
        let (windows, window) = rounds(&mut s, 8.0, 6, |r| Span::from_ms(if r == 2 { 120 } else { 100 }));
        assert!(s.css.is_none() && window.ssthresh.is_infinite());
        assert!(windows[5] / windows[4] > 1.95, "{windows:?}");
    }

    #[test]
    fn later_slow_start_is_classic() {
        let mut s = HystartPp::RFC9406;
        let mut window = CongestionWindow { cwnd: 1.0, ssthresh: 50.0 };
        assert_eq!(s.open(&Ack { growth_credit: 1.0, rtt: Some(Span::from_ms(900)), ..Ack::default() }, &mut window), 0.0);
        assert_eq!((window.cwnd, s.done), (2.0, true));
    }
}
