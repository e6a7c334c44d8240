//! Delay variation: jitter by distribution, and reordering of single packets.

use crate::Keys;
use crate::invalid::{Invalid, Read};
use crate::keys::Kind;
use crate::values::{Duration, Share, Time};
use ackclock_core::impairment::{JitterConfig, ReorderConfig};
use serde_json::json;

/// Any jitter.
#[derive(Clone, Debug, PartialEq, Keys)]
pub enum Jitter {
    Uniform(UniformJitter),
    Normal(NormalJitter),
    Exponential(ExponentialJitter),
    Pareto(ParetoJitter),
}

/// Extra delay drawn uniformly from `low` to `high`.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "uniform", plan = UniformJitter::plan_json, check = UniformJitter::check)]
pub struct UniformJitter {
    /// Drawn uniformly from `low` to `high`.
    #[key(kind)]
    pub kind: Kind,
    /// Maximum of the extra delay.
    #[key(example = "2 ms")]
    pub high: Duration,
    /// Minimum of the extra delay, at most `high`.
    #[key(default = "0 s", example = "0 ms")]
    pub low: Time,
    /// A packet never overtakes an earlier one.
    #[key(default = true)]
    pub in_order: bool,
}

/// Extra delay from a normal distribution cut off at zero.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "normal", plan = NormalJitter::plan_json)]
pub struct NormalJitter {
    /// Normal distribution, cut off at zero.
    #[key(kind)]
    pub kind: Kind,
    /// Mean of the distribution before the cut.
    #[key(example = "5 ms")]
    pub mean: Time,
    /// Standard deviation before the cut.
    #[key(example = "2 ms")]
    pub sd: Time,
    /// A packet never overtakes an earlier one.
    #[key(default = true)]
    pub in_order: bool,
}

/// Extra delay from an exponential distribution.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "exponential", plan = ExponentialJitter::plan_json)]
pub struct ExponentialJitter {
    /// Exponential distribution.
    #[key(kind)]
    pub kind: Kind,
    /// Mean of the extra delay.
    #[key(example = "2 ms")]
    pub mean: Duration,
    /// A packet never overtakes an earlier one.
    #[key(default = true)]
    pub in_order: bool,
}

/// Extra delay from a Pareto distribution with this mean and shape.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "pareto", plan = ParetoJitter::plan_json)]
pub struct ParetoJitter {
    /// Pareto distribution, with rare long delays.
    #[key(kind)]
    pub kind: Kind,
    /// Mean of the extra delay.
    #[key(example = "2 ms")]
    pub mean: Duration,
    /// Shape of the distribution; a smaller one has longer delays.
    #[key(default = 1.5, above = 1, allowed = "a shape above 1 (below, a Pareto mean is infinite)")]
    pub shape: f64,
    /// A packet never overtakes an earlier one.
    #[key(default = true)]
    pub in_order: bool,
}

/// With probability `mean` a packet has an additional `delay`; later packets overtake it.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Reorder::plan_json)]
pub struct Reorder {
    /// Share of packets with the extra delay.
    #[key(example = 0.01)]
    pub mean: Share,
    /// The extra delay.
    #[key(example = "5 ms")]
    pub delay: Duration,
}

impl UniformJitter {
    fn check(&self) -> Read<()> {
        if self.low.0 > self.high.0 { Err(Invalid::new("low above high", "low up to high").at("low")) } else { Ok(()) }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(JitterConfig::Uniform { low: self.low.0, high: self.high.0, in_order: self.in_order })
    }
}

impl NormalJitter {
    fn plan_json(&self) -> serde_json::Value {
        json!(JitterConfig::Normal { mean: self.mean.0, sd: self.sd.0, in_order: self.in_order })
    }
}

impl ExponentialJitter {
    fn plan_json(&self) -> serde_json::Value {
        json!(JitterConfig::Exponential { mean: self.mean.0, in_order: self.in_order })
    }
}

impl ParetoJitter {
    fn plan_json(&self) -> serde_json::Value {
        json!(JitterConfig::Pareto { mean: self.mean.0, shape: self.shape, in_order: self.in_order })
    }
}

impl Reorder {
    fn plan_json(&self) -> serde_json::Value {
        json!((self.mean.0 > 0.0).then_some(ReorderConfig { mean: self.mean.0, delay: self.delay.0 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Bounds, KeyValue};
    use crate::value::Value;

    #[test]
    fn jitter_needs_its_kind_and_a_range_in_order() {
        let none = Jitter::read(&Value::table([("mean", "1 ms".into())]), &Bounds::NONE).expect_err("no kind");
        assert_eq!(none.allowed, "the key \"kind\" is required here: uniform, normal, exponential, pareto");
        let crossed = Value::table([("kind", "uniform".into()), ("high", "1 ms".into()), ("low", "2 ms".into())]);
        assert_eq!(Jitter::read(&crossed, &Bounds::NONE).expect_err("crossed").found, "low above high");
    }

    #[test]
    fn reordering_has_no_configuration_when_its_mean_is_zero() {
        let read = |mean: f64| {
            let reorder = Value::table([("mean", mean.into()), ("delay", "5 ms".into())]);
            json!(Reorder::read(&reorder, &Bounds::NONE).map(|reorder| reorder.plan_json()).ok())
        };
        assert_eq!(read(0.0), serde_json::Value::Null);
        assert_eq!(read(0.5), json!({"mean": 0.5, "delay_ps": 5_000_000_000_u64}));
    }
}
