//! How a signal moves, and what is lost at each of its qualities.

use ackclock_core::Span;
use ackclock_core::medium::radio_channel::{Level, LossCurve, Process};
use serde::Deserialize;

/// The quality of a channel, in dB, to either side of 0.
const MOST_DB: f64 = 200.0;

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
                    return Err("a fading channel's sd is not below 0 and its correlation above".into());
                }
                Ok(Process::Ar1 { mean_db: *mean_db, sd_db: *sd_db, correlation: Span(*correlation_ps) })
            }
            FadingPlan::Markov { levels } => {
                if levels.is_empty() || levels.iter().any(|level| level.stay_ps == 0) {
                    return Err("a channel of levels has one at least, each with a time above 0".into());
                }
                levels.iter().try_for_each(|level| decibels(level.db))?;
                let level = |level: &LevelPlan| Level { db: level.db, stay: Span(level.stay_ps) };
                Ok(Process::Markov { levels: levels.iter().map(level).collect() })
            }
        }
    }
}

/// dB, and the share of packets lost.
pub type Points = Vec<(f64, f64)>;

/// Points as the core has them; or what is wrong.
pub fn curve(points: &[(f64, f64)]) -> Result<LossCurve, String> {
    points.iter().try_for_each(|&(db, _)| decibels(db))?;
    LossCurve::new(points.to_vec())
}

pub fn decibels(db: f64) -> Result<(), String> {
    if db.abs() <= MOST_DB { Ok(()) } else { Err(format!("{db} dB: at most {MOST_DB} to either side of 0 are possible")) }
}
