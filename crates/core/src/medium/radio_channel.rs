//! The radio channel of one station: its signal quality (CINR, dB) frame by frame, and what is lost at a quality.

use crate::rng::Rng;
use crate::units::Span;

/// The share of packets that is lost at a signal quality: straight lines between points, and flat before the first and after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct LossCurve {
    points: Vec<(f64, f64)>,
}

impl LossCurve {
    /// Points (dB, share) from the weakest signal on; or what is wrong with them.
    pub fn new(points: Vec<(f64, f64)>) -> Result<LossCurve, String> {
        if points.is_empty() {
            return Err("a loss by signal has one point at least".into());
        }
        if !points.windows(2).all(|pair| pair[0].0 < pair[1].0) || points.iter().any(|point| !point.0.is_finite()) {
            return Err("the points of a loss by signal go from the weakest signal to the strongest".into());
        }
        if points.iter().any(|(_, share)| !(0.0..=1.0).contains(share)) {
            return Err("a share of lost packets is from 0 to 1".into());
        }
        Ok(LossCurve { points })
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

/// How signal quality moves.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// Normal around a mean, and correlated in time: x' = m + a*(x - m) + s*sqrt(1 - a^2)*N(0, 1), a = exp(-frame/correlation).
    Ar1 { mean_db: f64, sd_db: f64, correlation: Span },
    /// One of these levels for an exponential time each, then any of the others.
    Markov { levels: Vec<Level> },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    pub db: f64,
    /// Mean time at this level.
    pub stay: Span,
}

/// A channel that has come as far as some frame.
#[derive(Clone, Debug)]
pub struct Fading {
    process: Process,
    rng: Rng,
    /// Frames done.
    frame: u64,
    length: Span,
    db: f64,
    level: usize,
    /// What is left of the stay at this level, in seconds.
    left: f64,
}

/// A channel that was not looked at for longer than this many frames has forgotten where it was and is drawn anew.
const DECORRELATION_FRAMES: u64 = 1 << 20;

impl Fading {
    pub fn new(process: Process, length: Span, rng: Rng) -> Fading {
        let mut fading = Fading { process, rng, frame: 0, length, db: 0.0, level: 0, left: 0.0 };
        fading.begin();
        fading
    }

    /// Draws a state from the long run.
    fn begin(&mut self) {
        match &self.process {
            Process::Ar1 { mean_db, sd_db, .. } => self.db = self.rng.normal(*mean_db, *sd_db),
            Process::Markov { levels } => {
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

    /// The quality in `frame`, which is none that has been asked for before the last.
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

    /// One frame on. Every frame draws, whatever is sent, so that runs with one seed have the same weather.
    fn step(&mut self) {
        let frame = self.length.as_secs();
        match &self.process {
            Process::Ar1 { mean_db, sd_db, correlation } => {
                let a = libm::exp(-frame / correlation.as_secs());
                let new = self.rng.normal(0.0, sd_db * libm::sqrt(1.0 - a * a));
                self.db = mean_db + a * (self.db - mean_db) + new;
            }
            Process::Markov { levels } => {
                self.left -= frame;
                // A stay shorter than a frame cannot be seen and counts as a frame.
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

    fn series(process: Process, n: u64) -> Vec<f64> {
        let mut fading = Fading::new(process, Span::from_ms(5), Rng::for_element(3, "fading"));
        (1..=n).map(|frame| fading.at(frame)).collect()
    }

    fn moments(x: &[f64]) -> (f64, f64) {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        (mean, (x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / x.len() as f64).sqrt())
    }

    #[test]
    fn an_autoregressive_channel_has_its_mean_its_deviation_and_its_correlation() {
        let x = series(Process::Ar1 { mean_db: 20.0, sd_db: 3.0, correlation: Span::from_ms(50) }, 400_000);
        let (mean, sd) = moments(&x);
        assert!((mean - 20.0).abs() < 0.1 && (sd - 3.0).abs() < 0.1, "{mean} {sd}");
        let lagged: f64 = x.iter().zip(&x[10..]).map(|(a, b)| (a - mean) * (b - mean)).sum::<f64>() / x.len() as f64;
        assert!((lagged / (sd * sd) - (-1.0_f64).exp()).abs() < 0.02, "after 50 ms 1/e is left: {lagged}");
    }

    #[test]
    fn a_markov_channel_stays_at_each_level_for_its_share_of_the_time() {
        let level = |db, ms| Level { db, stay: Span::from_ms(ms) };
        let x = series(Process::Markov { levels: vec![level(25.0, 900), level(5.0, 300)] }, 400_000);
        let low = x.iter().filter(|&&db| db < 10.0).count() as f64 / x.len() as f64;
        assert!((low - 0.25).abs() < 0.02, "{low}");
    }

    #[test]
    fn a_loss_curve_is_straight_between_its_points_and_flat_beyond_them() {
        let curve = LossCurve::new(vec![(5.0, 1.0), (10.0, 0.2), (20.0, 0.0)]).unwrap();
        let at = [-50.0, 5.0, 7.5, 10.0, 15.0, 20.0, 90.0].map(|db| curve.at(db));
        assert_eq!(at, [1.0, 1.0, 0.6, 0.2, 0.1, 0.0, 0.0]);
        for bad in [vec![], vec![(5.0, 0.1), (5.0, 0.2)], vec![(1.0, 1.5)], vec![(f64::NAN, 0.5)]] {
            assert!(LossCurve::new(bad).is_err());
        }
    }

    #[test]
    fn how_often_a_channel_is_looked_at_does_not_change_it() {
        let process = Process::Ar1 { mean_db: 20.0, sd_db: 3.0, correlation: Span::from_ms(50) };
        let every = series(process.clone(), 1000);
        let mut seldom = Fading::new(process, Span::from_ms(5), Rng::for_element(3, "fading"));
        for frame in (7..1000).step_by(7) {
            assert_eq!(seldom.at(frame), every[frame as usize - 1]);
        }
    }
}
