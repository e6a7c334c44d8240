//! A channel that is good or bad for a while (Gilbert 1960; Elliott 1963), in continuous time: how long it stays bad is the channel's
//! own, not a number of packets, so a faster sender loses more packets of one fade.

use crate::rng::Rng;
use crate::units::{Span, Time};

/// Mean sojourns, which are exponential, and the probability of loss in either state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sojourns {
    pub good: Span,
    pub bad: Span,
    pub loss_good: f64,
    pub loss_bad: f64,
}

impl Sojourns {
    /// The share of time in which the channel is bad.
    pub fn bad_share(&self) -> f64 {
        let (good, bad) = (self.good.as_secs(), self.bad.as_secs());
        if bad > 0.0 { bad / (good + bad) } else { 0.0 }
    }

    /// The share of packets lost when they come at times that know nothing of the channel.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.bad_share();
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

#[derive(Clone, Debug)]
pub struct GilbertElliott {
    sojourns: Sojourns,
    bad: bool,
    /// When the present sojourn ends.
    until: Time,
    /// Two streams, so that the channel fades at the same instants whatever is sent over it: runs with one seed stay comparable.
    fades: Rng,
    losses: Rng,
}

/// After so many mean cycles the channel has forgotten its state (its autocorrelation is below e^-4000), and its
/// state is drawn anew instead of followed through every sojourn of a long silence.
const FORGETS_AFTER_CYCLES: u64 = 1000;

impl GilbertElliott {
    /// Starts good.
    pub fn new(sojourns: Sojourns, mut rng: Rng) -> GilbertElliott {
        let losses = rng.fork();
        let mut channel = GilbertElliott { sojourns, bad: false, until: Time::ZERO, fades: rng, losses };
        channel.stay();
        channel
    }

    pub fn loses(&mut self, now: Time) -> bool {
        self.advance(now);
        let p = if self.bad { self.sojourns.loss_bad } else { self.sojourns.loss_good };
        self.losses.chance(p)
    }

    fn advance(&mut self, now: Time) {
        let cycle = self.sojourns.good + self.sojourns.bad;
        if now - self.until > cycle.saturating_mul(FORGETS_AFTER_CYCLES) {
            self.bad = self.fades.chance(self.sojourns.bad_share());
            self.until = now;
            // What is left of an exponential sojourn is as long as a whole one.
            self.stay();
        }
        while self.until <= now && self.until != Time::NEVER {
            self.bad = !self.bad;
            self.stay();
        }
    }

    /// Draws how long the present state lasts: at least a picosecond, so that `advance` always comes to an end.
    fn stay(&mut self) {
        let mean = if self.bad { self.sojourns.bad } else { self.sojourns.good };
        self.until += self.fades.exponential_span(mean).max(Span(1));
    }
}
