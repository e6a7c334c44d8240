//! Adaptive modulation and coding.

use super::frames;
use crate::plan::radio_channel::decibels;
use ackclock_core::medium::wimax::amc::AmcConfig;
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AmcPlan {
    pub hysteresis_db: f64,
    pub delay_frames: u64,
    pub up_offset_db: f64,
    pub decade_db: f64,
}

impl AmcPlan {
    pub fn config(&self) -> Result<AmcConfig, String> {
        let AmcPlan { hysteresis_db, delay_frames, up_offset_db, decade_db } = *self;
        frames("amc.delay_frames", delay_frames)?;
        decibels(hysteresis_db)?;
        decibels(up_offset_db)?;
        decibels(decade_db)?;
        if decade_db <= 0.0 || hysteresis_db < 0.0 {
            return Err("amc.decade_db must be above 0, amc.hysteresis_db at least 0".into());
        }
        Ok(AmcConfig { hysteresis_db, delay: delay_frames, up_offset_db, decade_db })
    }
}
