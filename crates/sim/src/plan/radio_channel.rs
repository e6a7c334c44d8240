//! A fading radio channel, and the loss rate by SNR.

use ackclock_core::Span;
use ackclock_core::medium::radio_channel::{Level, LossCurve, Process};
use serde::Deserialize;

/// Maximum magnitude of an SNR in dB.
const MAX_DB: f64 = 200.0;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum FadingPlan {
    Ar1 { mean_db: f64, sd_db: f64, correlation_ps: u64 },
    Markov { levels: Vec<LevelPlan> },
}

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LevelPlan {
    pub db: f64,
    pub stay_ps: u64,
}

impl FadingPlan {
    pub fn process(&self) -> Result<Process, String> {
        match self {
            FadingPlan::Ar1 { mean_db, sd_db, correlation_ps } => {
                decibels(*mean_db)?;
                decibels(*sd_db)?;
                if *sd_db < 0.0 || *correlation_ps == 0 {
                    return Err("a fading channel's sd_db must be at least 0, its correlation_ps above 0".into());
                }
                Ok(Process::Ar1 { mean_db: *mean_db, sd_db: *sd_db, correlation: Span(*correlation_ps) })
            }
            FadingPlan::Markov { levels } => {
                if levels.is_empty() || levels.iter().any(|level| level.stay_ps == 0) {
                    return Err("a channel of levels needs at least one level, each with stay_ps above 0".into());
                }
                levels.iter().try_for_each(|level| decibels(level.db))?;
                let level = |level: &LevelPlan| Level { db: level.db, stay: Span(level.stay_ps) };
                Ok(Process::Markov { levels: levels.iter().map(level).collect() })
            }
        }
    }
}

/// SNR in dB, and the loss rate.
pub type Points = Vec<(f64, f64)>;

/// The loss curve, or the error in the points.
pub fn curve(points: &[(f64, f64)]) -> Result<LossCurve, String> {
    points.iter().try_for_each(|&(db, _)| decibels(db))?;
    LossCurve::new(points.to_vec())
}

pub fn decibels(db: f64) -> Result<(), String> {
    if db.abs() <= MAX_DB { Ok(()) } else { Err(format!("{db} dB: -{MAX_DB} to {MAX_DB} are possible")) }
}
