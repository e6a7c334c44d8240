//! Rate limits of a station's service.

use crate::plan::nullable;
use ackclock_core::Span;
use ackclock_core::medium::wimax::rate_limit::{Excess, LimitRate, RateLimitConfig, TrafficFilter};
use serde::Deserialize;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RateLimitPlan {
    pub traffic: TrafficPlan,
    /// Equal bounds: a fixed rate.
    pub low_bps: u64,
    pub high_bps: u64,
    /// Duration of each rate drawn between the bounds.
    pub every_ps: u64,
    pub burst: u64,
    /// Bytes of the shaper's queue. Null: a policer, which drops the excess.
    #[serde(deserialize_with = "nullable")]
    pub buffer: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrafficPlan {
    All,
    Tcp,
    Udp,
}

impl From<TrafficPlan> for TrafficFilter {
    fn from(plan: TrafficPlan) -> TrafficFilter {
        match plan {
            TrafficPlan::All => TrafficFilter::All,
            TrafficPlan::Tcp => TrafficFilter::Tcp,
            TrafficPlan::Udp => TrafficFilter::Udp,
        }
    }
}

/// The core's rate limits of one direction.
pub fn config(plans: &[RateLimitPlan]) -> Result<Vec<RateLimitConfig>, String> {
    plans.iter().map(rate_limit).collect()
}

fn rate_limit(plan: &RateLimitPlan) -> Result<RateLimitConfig, String> {
    if plan.low_bps == 0 || plan.low_bps > plan.high_bps || plan.burst == 0 || plan.every_ps == 0 {
        return Err("a cap needs 0 < low_bps <= high_bps, burst above 0 and every_ps above 0".into());
    }
    let rate = if plan.low_bps == plan.high_bps {
        LimitRate::Fixed { bps: plan.low_bps }
    } else {
        LimitRate::Varying { low_bps: plan.low_bps, high_bps: plan.high_bps, every: Span(plan.every_ps) }
    };
    let traffic = plan.traffic.into();
    let excess = plan.buffer.map_or(Excess::Police, |bytes| Excess::Shape { bytes });
    Ok(RateLimitConfig { traffic, rate, burst: plan.burst, excess })
}
