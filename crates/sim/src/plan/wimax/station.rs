//! The stations of a cell and their connections.

use super::amc::AmcPlan;
use super::rate_limits::{self, RateLimitPlan, TrafficPlan};
use super::{MAX_COUNT, PerDirection, frames, mcs, within};
use crate::plan::nullable;
use crate::plan::radio_channel::{FadingPlan, Points, curve};
use ackclock_core::medium::wimax::phy::Channel;
use ackclock_core::medium::wimax::qos_class::{QosClass, ServiceFlow};
use ackclock_core::medium::wimax::{ConnectionConfig, StationConfig};
use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StationPlan {
    pub modulation: PerDirection<String>,
    pub error: PerDirection<f64>,
    pub service: ServicePlan,
    #[serde(deserialize_with = "nullable")]
    pub fading: Option<FadingPlan>,
    pub amc: AmcPlan,
    /// Residual loss rate by SNR, for a station with fading. Absent or null: no residual loss.
    #[serde(default)]
    pub signal_loss: Option<PerDirection<Option<Points>>>,
    pub caps: PerDirection<Vec<RateLimitPlan>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServicePlan {
    pub class: ClassPlan,
    pub interval_frames: u64,
    pub bytes: u32,
}

/// A connection of each station beyond its first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConnectionPlan {
    pub traffic: TrafficPlan,
    pub service: ServicePlan,
}

impl ConnectionPlan {
    pub fn config(&self) -> Result<ConnectionConfig, String> {
        self.service.check()?;
        Ok(ConnectionConfig { traffic: self.traffic.into(), service: self.service.into() })
    }
}

impl ServicePlan {
    fn check(&self) -> Result<(), String> {
        frames("service.interval_frames", self.interval_frames)?;
        within("service.bytes", self.bytes, MAX_COUNT)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClassPlan {
    Ugs,
    Ertps,
    Rtps,
    Nrtps,
    Be,
}

impl StationPlan {
    pub fn config(&self, channel: Channel) -> Result<StationConfig, String> {
        let fading = self.fading.as_ref().map(|fading| Ok::<_, String>((fading.process()?, self.amc.config()?))).transpose()?;
        for p in [self.error.down, self.error.up] {
            if !(0.0..=1.0).contains(&p) {
                return Err(format!("an error of {p}: a probability is from 0 to 1"));
            }
        }
        self.service.check()?;
        let none = PerDirection { down: None, up: None };
        let PerDirection { down, up } = self.signal_loss.as_ref().unwrap_or(&none);
        if fading.is_none() && (down.is_some() || up.is_some()) {
            return Err("a loss by signal needs a signal that moves: its fading is null".into());
        }
        let points = |points: &Option<Points>| points.as_deref().map(curve).transpose();
        Ok(StationConfig {
            loss: [points(down)?, points(up)?],
            service: self.service.into(),
            mcs: [mcs(channel, &self.modulation.down)?, mcs(channel, &self.modulation.up)?],
            error: [self.error.down, self.error.up],
            channel: fading,
            rate_limits: [rate_limits::config(&self.caps.down)?, rate_limits::config(&self.caps.up)?],
        })
    }
}

impl From<ServicePlan> for ServiceFlow {
    fn from(plan: ServicePlan) -> ServiceFlow {
        let class = match plan.class {
            ClassPlan::Ugs => QosClass::Ugs,
            ClassPlan::Ertps => QosClass::Ertps,
            ClassPlan::Rtps => QosClass::Rtps,
            ClassPlan::Nrtps => QosClass::Nrtps,
            ClassPlan::Be => QosClass::BestEffort,
        };
        ServiceFlow { class, interval: plan.interval_frames, bytes: plan.bytes }
    }
}
