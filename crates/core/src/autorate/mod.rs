//! Controllers of a shaper's rate: they ping through the path, compare the delay of each response with
//! the lowest one, and set the rate by it and by the rate that the shaper achieves.
//!
//! A [`Pinger`] is the controller's end of the path and a [`PingReflector`] the other one. The network
//! gives what the pinger receives to the controllers (`network/rate_controls.rs`), in the simulator and
//! in the emulator.

mod cake_autorate;
mod pinger;

pub use cake_autorate::{CakeAutorate, CakeAutorateConfig};
pub use pinger::{PingConfig, PingMethod, PingReflector, PingResponse, Pinger};

use crate::config_check::{Checked, check_span, ensure};
use crate::units::{Rate, Span, Time};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// The controller of one shaper, with the keys of a plan (docs/inside/plan.md). It starts at the rate of
/// the shaper, which is the base rate.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct AutorateConfig {
    pub controller: ControllerConfig,
    #[serde(rename = "min_bps")]
    pub min: Rate,
    #[serde(rename = "max_bps")]
    pub max: Rate,
    pub pings: PingConfig,
    /// Interval in which the achieved rate is read.
    #[serde(rename = "monitor_ps")]
    pub monitor: Span,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControllerConfig {
    CakeAutorate(CakeAutorateConfig),
    User(UserController),
}

impl AutorateConfig {
    pub fn check(&self, base: Rate) -> Checked {
        let [min, base, max] = [self.min, base, self.max].map(Rate::bps);
        ensure(min <= base && base <= max, || format!("autorate: min_bps {min}, bps {base} and max_bps {max} do not increase"))?;
        check_span("autorate.monitor_ps", self.monitor)?;
        ensure(self.monitor > Span::ZERO, || "autorate.monitor_ps is 0".into())?;
        self.pings.check()?;
        match &self.controller {
            ControllerConfig::CakeAutorate(config) => config.check(),
            ControllerConfig::User(_) => Ok(()),
        }
    }

    pub fn limits(&self, base: Rate) -> RateLimits {
        RateLimits { min: self.min, base, max: self.max }
    }
}

/// The rates between which a controller chooses, and the one that it starts with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimits {
    pub min: Rate,
    pub base: Rate,
    pub max: Rate,
}

impl RateLimits {
    pub fn clamp(&self, rate: Rate) -> Rate {
        let lower = if rate.bps() > self.max.bps() { self.max } else { rate };
        if lower.bps() < self.min.bps() { self.min } else { lower }
    }
}

/// What a controller knows when a response to a ping arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateSample {
    pub now: Time,
    /// Which of the pingers got the response, from 0.
    pub reflector: u32,
    /// One-way delay in the direction of the shaper; half the round-trip time if the method measures no
    /// other.
    pub delay: Span,
    /// Round-trip time.
    pub rtt: Span,
    /// Bits per second that left the shaper in the last interval of the monitor.
    pub achieved_bps: u64,
    /// Number of readings of the achieved rate so far.
    pub readings: u64,
    /// The shaper's rate.
    pub rate: Rate,
}

/// Decides about the rate of a shaper.
pub trait RateController {
    /// The rate from now on. The caller keeps it between minimum and maximum.
    fn on_sample(&mut self, sample: &RateSample) -> Rate;
}

/// Builds a controller of the user, such as one in Python. A plan has its name and a digest of its
/// code; the code itself is passed beside the plan.
#[derive(Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct UserController {
    name: String,
    digest: String,
    #[serde(skip)]
    make: Option<Make>,
}

type Make = Arc<dyn Fn(&RateLimits) -> Box<dyn RateController + Send> + Send + Sync>;

impl UserController {
    pub fn new(
        name: &str,
        make: impl Fn(&RateLimits) -> Box<dyn RateController + Send> + Send + Sync + 'static,
    ) -> UserController {
        UserController { name: name.to_owned(), digest: String::new(), make: Some(Arc::new(make)) }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// None if the code was not passed.
    pub fn build(&self, limits: &RateLimits) -> Option<Box<dyn RateController + Send>> {
        self.make.as_ref().map(|make| make(limits))
    }
}

impl fmt::Debug for UserController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserController({})", self.name)
    }
}

/// Names are unique within a run, so equal names are equal controllers.
impl PartialEq for UserController {
    fn eq(&self, other: &UserController) -> bool {
        self.name == other.name
    }
}
