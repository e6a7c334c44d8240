//! Gilbert-Elliott channel (Gilbert 1960; Elliott 1963) in continuous time. The duration of a bad
//! sojourn is a time and not a number of packets, so a faster sender loses more packets per fade.

use crate::config_check::{Checked, check_fraction, check_span, ensure};
use crate::rng::Rng;
use crate::schedule::ScheduleConfig;
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

    /// Fades of which each loses all, and between them none is lost; none for a mean of 0.
    pub fn of_mean(bad: Span, mean: f64) -> Option<Sojourns> {
        let good = Span((bad.0 as f64 * (1.0 - mean) / mean).round_ties_even() as u64);
        (mean > 0.0).then_some(Sojourns { good, bad, loss_good: 0.0, loss_bad: 1.0 })
    }

    /// With this share of the fades.
    fn rarer(self, share: f64) -> Sojourns {
        if share >= 1.0 { self } else { Sojourns { good: Span((self.good.0 as f64 / share) as u64), ..self } }
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

/// Fades in which every packet is lost, and between them none, with a mean loss that changes: the mean
/// duration of a fade is constant, that of the time between fades follows the mean. With the keys of a
/// plan (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduledFades {
    #[serde(rename = "bad_ps")]
    pub bad: Span,
    pub mean: ScheduleConfig<f64>,
}

impl ScheduledFades {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        self.mean.check_shares()?;
        ensure(self.mean.max() < 1.0, || "loss.mean is 1 at times: fades need a mean below 1".into())?;
        self.at_most().map_or(Ok(()), |sojourns| sojourns.check())
    }

    /// The sojourns while the mean is at its maximum; none if that is 0.
    pub fn at_most(&self) -> Option<Sojourns> {
        Sojourns::of_mean(self.bad, self.mean.max())
    }

    /// Fades at a time, as a share of those at the maximum of the mean. A fade begins at a rate of
    /// mean / (1 - mean) / bad.
    fn share(&self, now: Time) -> f64 {
        let odds = |mean: f64| mean / (1.0 - mean);
        odds(self.mean.at(now)) / odds(self.mean.max())
    }
}

#[derive(Clone, Debug)]
pub struct GilbertElliott {
    sojourns: Sojourns,
    /// The mean loss changes: `sojourns` are those at its maximum.
    scheduled: Option<Box<ScheduledFades>>,
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
        let mut channel = GilbertElliott { sojourns, scheduled: None, bad: false, until: Time::ZERO, sojourn_rng: rng, loss_rng };
        channel.draw_sojourn();
        channel
    }

    /// None if the mean loss is always 0. Of the fades at the maximum of the mean (`thinning`, Lewis and
    /// Shedler 1979) each begins with the share that the mean of its time has.
    pub fn scheduled(fades: ScheduledFades, rng: Rng) -> Option<GilbertElliott> {
        let channel = GilbertElliott::new(fades.at_most()?, rng);
        Some(GilbertElliott { scheduled: Some(Box::new(fades)), ..channel })
    }

    pub fn loses(&mut self, now: Time) -> bool {
        self.advance(now);
        let p = if self.bad { self.sojourns.loss_bad } else { self.sojourns.loss_good };
        self.loss_rng.chance(p)
    }

    fn advance(&mut self, now: Time) {
        let cycle = self.sojourns.good + self.sojourns.bad;
        if now - self.until > cycle.saturating_mul(DECORRELATION_CYCLES) {
            // Of a scheduled mean that of this time: the state forgets in some fades.
            let share = self.scheduled.as_ref().map_or(1.0, |fades| fades.share(now));
            self.bad = self.sojourn_rng.chance(self.sojourns.rarer(share).bad_share());
            self.until = now;
            // The exponential distribution is memoryless: the residual sojourn has the distribution
            // of a full one.
            self.draw_sojourn();
        }
        while self.until <= now && self.until != Time::NEVER {
            self.bad = !self.bad && self.fades();
            self.draw_sojourn();
        }
    }

    /// Whether a fade begins at the end of a good sojourn.
    fn fades(&mut self) -> bool {
        let share = self.scheduled.as_ref().map_or(1.0, |fades| fades.share(self.until));
        share >= 1.0 || self.sojourn_rng.chance(share)
    }

    /// Draws the duration of the current sojourn: at least a picosecond, so that `advance`
    /// terminates.
    fn draw_sojourn(&mut self) {
        let mean = if self.bad { self.sojourns.bad } else { self.sojourns.good };
        self.until += self.sojourn_rng.exponential_span(mean).max(Span(1));
    }
}
