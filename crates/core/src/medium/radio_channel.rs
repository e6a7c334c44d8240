//! Radio channel of one station: signal quality (CINR in dB) frame by frame, and loss as a function
//! of quality.

use crate::config_check::{Checked, ensure};
use crate::rng::Rng;
use crate::units::Span;
use serde::{Deserialize, Serialize};

/// Maximum magnitude of a signal quality in dB.
const MAX_DB: f64 = 200.0;

pub(super) fn check_decibels(db: f64) -> Checked {
    ensure(db.abs() <= MAX_DB, || format!("{db} dB: -{MAX_DB} to {MAX_DB} are possible"))
}

/// Packet loss as a function of signal quality: piecewise linear, constant outside the points, which
/// are (dB, share) in ascending order of quality.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub struct LossCurve {
    points: Vec<(f64, f64)>,
}

impl LossCurve {
    /// Returns the error in the points, if any.
    pub fn new(points: Vec<(f64, f64)>) -> Result<LossCurve, String> {
        let curve = LossCurve { points };
        curve.check().map(|()| curve)
    }

    /// Returns the error in the points, if any.
    pub fn check(&self) -> Checked {
        self.points.iter().try_for_each(|&(db, _)| check_decibels(db))?;
        ensure(!self.points.is_empty(), || "a loss curve needs at least one point".into())?;
        ensure(self.points.windows(2).all(|pair| pair[0].0 < pair[1].0), || {
            "the points of a loss curve are not in ascending order of signal quality".into()
        })?;
        let share = |&(_, share): &(f64, f64)| (0.0..=1.0).contains(&share);
        ensure(self.points.iter().all(share), || "a loss share is outside 0 to 1".into())
    }

    pub fn at(&self, db: f64) -> f64 {
        let above = self.points.partition_point(|point| point.0 <= db);
        match (above.checked_sub(1).map(|below| self.points[below]), self.points.get(above)) {
            (Some((low, share)), Some(&(high, then))) => share + (then - share) * (db - low) / (high - low),
            (Some((_, share)), None) | (None, Some(&(_, share))) => share,
            (None, None) => 0.0,
        }
    }
}

/// Stochastic process of the signal quality, with the keys of a plan (docs/inside/plan.md).
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FadingConfig {
    /// Gaussian AR(1): x' = m + a*(x - m) + s*sqrt(1 - a^2)*N(0, 1), a = exp(-frame/correlation).
    Ar1 {
        mean_db: f64,
        sd_db: f64,
        #[serde(rename = "correlation_ps")]
        correlation: Span,
    },
    /// Continuous-time Markov chain: an exponential stay at each level, then any other level with
    /// equal probability.
    Markov { levels: Vec<Level> },
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    pub db: f64,
    /// Mean time at this level.
    #[serde(rename = "stay_ps")]
    pub stay: Span,
}

impl FadingConfig {
    /// Returns the error in the configuration, if any.
    pub fn check(&self) -> Checked {
        match self {
            FadingConfig::Ar1 { mean_db, sd_db, correlation } => {
                check_decibels(*mean_db)?;
                check_decibels(*sd_db)?;
                ensure(*sd_db >= 0.0 && *correlation > Span::ZERO, || {
                    "a fading channel's sd_db must be at least 0, its correlation_ps above 0".into()
                })
            }
            FadingConfig::Markov { levels } => {
                ensure(!levels.is_empty() && levels.iter().all(|level| level.stay > Span::ZERO), || {
                    "a channel of levels needs at least one level, each with stay_ps above 0".into()
                })?;
                levels.iter().try_for_each(|level| check_decibels(level.db))
            }
        }
    }
}

/// State of a channel at some frame.
#[derive(Clone, Debug)]
pub struct Fading {
    config: FadingConfig,
    rng: Rng,
    /// The current frame.
    frame: u64,
    length: Span,
    db: f64,
    level: usize,
    /// Remaining stay at this level, in seconds.
    left: f64,
}

/// After this many frames without a query the state is drawn from the stationary distribution
/// instead of stepping through every frame.
const DECORRELATION_FRAMES: u64 = 1 << 20;

impl Fading {
    pub fn new(config: FadingConfig, length: Span, rng: Rng) -> Fading {
        let mut fading = Fading { config, rng, frame: 0, length, db: 0.0, level: 0, left: 0.0 };
        fading.begin();
        fading
    }

    /// Draws a state from the stationary distribution.
    fn begin(&mut self) {
        match &self.config {
            FadingConfig::Ar1 { mean_db, sd_db, .. } => self.db = self.rng.normal(*mean_db, *sd_db),
            FadingConfig::Markov { levels } => {
                let all: f64 = levels.iter().map(|level| level.stay.as_secs()).sum();
                let mut at = self.rng.uniform() * all;
                self.level = levels
                    .iter()
                    .position(|level| {
                        at -= level.stay.as_secs();
                        at < 0.0
                    })
                    .unwrap_or(0);
                let level = levels.get(self.level).copied().unwrap_or(Level { db: 0.0, stay: Span::MAX });
                self.db = level.db;
                self.left = self.rng.exponential(level.stay.as_secs());
            }
        }
    }

    /// Quality in `frame`, which must not be before the last queried frame.
    pub fn at(&mut self, frame: u64) -> f64 {
        if frame.saturating_sub(self.frame) > DECORRELATION_FRAMES {
            self.frame = frame;
            self.begin();
        }
        while self.frame < frame {
            self.frame += 1;
            self.step();
        }
        self.db
    }

    /// Advances by one frame. Every frame draws random numbers, whatever the traffic is, so that
    /// runs with the same seed see the same channel.
    fn step(&mut self) {
        let frame = self.length.as_secs();
        match &self.config {
            FadingConfig::Ar1 { mean_db, sd_db, correlation } => {
                let a = libm::exp(-frame / correlation.as_secs());
                let new = self.rng.normal(0.0, sd_db * libm::sqrt(1.0 - a * a));
                self.db = mean_db + a * (self.db - mean_db) + new;
            }
            FadingConfig::Markov { levels } => {
                self.left -= frame;
                // A stay shorter than a frame counts as a frame.
                if self.left > 0.0 || levels.len() < 2 {
                    return;
                }
                let step = 1 + (self.rng.uniform() * (levels.len() - 1) as f64) as usize;
                self.level = (self.level + step) % levels.len();
                self.db = levels[self.level].db;
                self.left = self.rng.exponential(levels[self.level].stay.as_secs());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(config: FadingConfig, n: u64) -> Vec<f64> {
        let mut fading = Fading::new(config, Span::from_ms(5), Rng::for_element(3, "fading"));
        (1..=n).map(|frame| fading.at(frame)).collect()
    }

    fn moments(x: &[f64]) -> (f64, f64) {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (mean, (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64).sqrt())
    }

    #[test]
    fn ar1_channel_has_the_configured_moments_and_correlation() {
        let x = series(FadingConfig::Ar1 { mean_db: 20.0, sd_db: 3.0, correlation: Span::from_ms(50) }, 400_000);
        let (mean, sd) = moments(&x);
        assert!((mean - 20.0).abs() < 0.1 && (sd - 3.0).abs() < 0.1, "{mean} {sd}");
        let lagged: f64 = x.iter().zip(&x[10..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / x.len() as f64;
        assert!((lagged / (sd * sd) - (-1.0_f64).exp()).abs() < 0.02, "after 50 ms 1/e is left: {lagged}");
    }

    #[test]
    fn markov_channel_has_the_stationary_distribution() {
        let level = |db, ms| Level { db, stay: Span::from_ms(ms) };
        let x = series(FadingConfig::Markov { levels: vec![level(25.0, 900), level(5.0, 300)] }, 400_000);
        let low = x.iter().filter(|&&db| db < 10.0).count() as f64 / x.len() as f64;
        assert!((low - 0.25).abs() < 0.02, "{low}");
    }

    #[test]
    fn loss_curve_is_piecewise_linear_and_constant_outside() {
        let curve = LossCurve::new(vec![(5.0, 1.0), (10.0, 0.2), (20.0, 0.0)]).unwrap();
        let at = [-50.0, 5.0, 7.5, 10.0, 15.0, 20.0, 90.0].map(|db| curve.at(db));
        assert_eq!(at, [1.0, 1.0, 0.6, 0.2, 0.1, 0.0, 0.0]);
        for bad in [vec![], vec![(5.0, 0.1), (5.0, 0.2)], vec![(1.0, 1.5)], vec![(f64::NAN, 0.5)]] {
            assert!(LossCurve::new(bad).is_err());
        }
    }

    #[test]
    fn channel_state_does_not_depend_on_the_query_frequency() {
        let config = FadingConfig::Ar1 { mean_db: 20.0, sd_db: 3.0, correlation: Span::from_ms(50) };
        let every = series(config.clone(), 1000);
        let mut seldom = Fading::new(config, Span::from_ms(5), Rng::for_element(3, "fading"));
        for frame in (7..1000).step_by(7) {
            assert_eq!(seldom.at(frame), every[frame as usize - 1]);
        }
    }
}
