//! Gilbert-Elliott channel (Gilbert 1960; Elliott 1963) in continuous time. The duration of a bad
//! sojourn is a time and not a number of packets, so a faster sender loses more packets per fade.

use crate::config_check::{Checked, check_fraction, check_span, ensure};
use crate::rng::Rng;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};

/// Mean sojourn times, exponentially distributed, and the loss probability in each state, with the
/// keys of a plan (docs/inside/plan.md).
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Sojourns {
    #[serde(rename = "good_ps")]
    pub good: Span,
    #[serde(rename = "bad_ps")]
    pub bad: Span,
    pub loss_good: f64,
    pub loss_bad: f64,
}

impl Sojourns {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        ensure(self.good > Span::ZERO && self.bad > Span::ZERO, || "loss.good_ps and loss.bad_ps must be above 0".into())?;
        check_span("loss.good_ps", self.good)?;
        check_span("loss.bad_ps", self.bad)?;
        check_fraction("loss.loss_good", self.loss_good)?;
        check_fraction("loss.loss_bad", self.loss_bad)
    }

    /// Share of time in the bad state.
    pub fn bad_share(&self) -> f64 {
        let (good, bad) = (self.good.as_secs(), self.bad.as_secs());
        if bad > 0.0 { bad / (good + bad) } else { 0.0 }
    }

    /// Mean loss of packets whose arrival times are independent of the channel.
    pub fn mean_loss(&self) -> f64 {
        let bad = self.bad_share();
        bad * self.loss_bad + (1.0 - bad) * self.loss_good
    }
}

#[derive(Clone, Debug)]
pub struct GilbertElliott {
    sojourns: Sojourns,
    bad: bool,
    /// End of the current sojourn.
    until: Time,
    /// Two streams: the sojourns do not depend on the traffic, so runs with the same seed are
    /// comparable.
    sojourn_rng: Rng,
    loss_rng: Rng,
}

/// After this many mean cycles the autocorrelation of the state is below e^-4000. After such an
/// idle time the state is drawn from the stationary distribution instead of stepping through every
/// sojourn.
const DECORRELATION_CYCLES: u64 = 1000;

impl GilbertElliott {
    /// Starts in the good state.
    pub fn new(sojourns: Sojourns, mut rng: Rng) -> GilbertElliott {
        let loss_rng = rng.fork();
        let mut channel = GilbertElliott { sojourns, bad: false, until: Time::ZERO, sojourn_rng: rng, loss_rng };
        channel.draw_sojourn();
        channel
    }

    pub fn loses(&mut self, now: Time) -> bool {
        self.advance(now);
        let p = if self.bad { self.sojourns.loss_bad } else { self.sojourns.loss_good };
        self.loss_rng.chance(p)
    }

    fn advance(&mut self, now: Time) {
        let cycle = self.sojourns.good + self.sojourns.bad;
        if now - self.until > cycle.saturating_mul(DECORRELATION_CYCLES) {
            self.bad = self.sojourn_rng.chance(self.sojourns.bad_share());
            self.until = now;
            // The exponential distribution is memoryless: the residual sojourn has the distribution
            // of a full one.
            self.draw_sojourn();
        }
        while self.until <= now && self.until != Time::NEVER {
            self.bad = !self.bad;
            self.draw_sojourn();
        }
    }

    /// Draws the duration of the current sojourn: at least a picosecond, so that `advance`
    /// terminates.
    fn draw_sojourn(&mut self) {
        let mean = if self.bad { self.sojourns.bad } else { self.sojourns.good };
        self.until += self.sojourn_rng.exponential_span(mean).max(Span(1));
    }
}
