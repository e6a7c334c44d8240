//! Slots of a satellite constellation: at each change another path, with a rate and a delay of its own
//! (docs/models/leo.md).

use super::schedule::picoseconds;
use super::sides::Sides;
use crate::Keys;
use crate::controls::Number;
use crate::invalid::{Invalid, Read, Step};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::value::Value;
use crate::values::{BitRate, Count, Duration, Pair, Time, pair, time_text};
use ackclock_core::link::{GrantCycleConfig, MIN_SLOT, SlotsConfig};
use ackclock_core::medium::Direction;
use ackclock_core::units::Span;
use serde_json::json;

/// Slots of a satellite constellation, in place of a rate. In each slot the path of a client has
/// another rate and another delay, drawn from their quantiles with a stream of their own. What is sent
/// within `lost` after a change is lost, then nothing is sent for `held`. The times are those of a
/// minute: with the defaults the slots change at 12, 27, 42 and 57 s of the run. Both directions have
/// the same delays; packets stay in order.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = Slots::check, derived = Slots::derived)]
pub struct Slots {
    /// Duration of a slot.
    #[key(default = "15 s")]
    pub every: Duration,
    /// Time of the run at which the first slot ends.
    #[key(default = "12 s", example = "12 s")]
    pub first: Duration,
    /// The rate of a slot: equally spaced quantiles, the first the minimum, the last the maximum, linear
    /// between them; a rate alone is that of every slot. In both or each direction.
    #[key(example = Slots::rate_example(), unit = "b/s", allowed = "a list of rates that do not decrease, or one rate")]
    pub rate: Sides<Quantiles<BitRate>>,
    /// Correlation of the rates of successive slots, as normal scores.
    #[key(default = 0.0, example = 0.5, min = 0, below = 1, allowed = "a correlation from 0 to below 1", unit = "correlation")]
    pub correlation: f64,
    /// The delay that a slot adds in each direction: equally spaced quantiles, as of the rate.
    #[key(default = "0 s", example = Slots::delay_example())]
    pub delay: Quantiles<Time>,
    /// Time after a change in which everything sent is lost.
    #[key(default = "0 s", example = "35 ms")]
    pub lost: Time,
    /// Time after that in which nothing is sent.
    #[key(default = "0 s", example = "100 ms")]
    pub held: Time,
    /// The grants in which a client sends; without them it sends at any time.
    #[key(example = GrantCycle::example())]
    pub grants: Option<GrantCycle>,
}

/// Grants in which a client sends, in a cycle of frames that repeats within a slot: grants of one frame,
/// `every` frames apart, but for `pauses` of `pause` frames. The rate of a slot is the mean over the
/// cycle.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = GrantCycle::check)]
pub struct GrantCycle {
    /// Duration of a frame.
    #[key(example = "1.333333333 ms")]
    pub frame: Duration,
    /// Minimum and maximum of the frames of a cycle, drawn for each slot.
    #[key(example = pair(49, 55), unit = "frames", max = 10000, allowed = "two numbers of frames, such as [49, 55]")]
    pub cycle: Pair<true>,
    /// Frames from one grant to the next.
    #[key(example = 5, unit = "frames")]
    pub every: Count,
    /// Frames from the grant before a pause to the grant after it.
    #[key(example = 15, unit = "frames")]
    pub pause: Count,
    /// Minimum and maximum of the pauses of a cycle, drawn for each slot.
    #[key(example = pair(1, 2), unit = "pauses", min = 0, max = 1000, allowed = "two numbers of pauses, such as [1, 2]")]
    pub pauses: Pair<true>,
}

impl Slots {
    fn rate_example() -> Value {
        let quantiles = |rates: [&str; 3]| rates.map(Value::from).to_vec().into();
        Value::table([
            ("down", quantiles(["100 Mb/s", "250 Mb/s", "400 Mb/s"])),
            ("up", quantiles(["5 Mb/s", "15 Mb/s", "35 Mb/s"])),
        ])
    }

    fn delay_example() -> Value {
        ["0 ms", "2 ms", "6 ms"].map(Value::from).to_vec().into()
    }

    fn check(&self) -> Read<()> {
        if self.every.0 < MIN_SLOT {
            return Err(
                Invalid::value(&self.every.write(None), format!("a slot of at least {}", time_text(MIN_SLOT))).at("every")
            );
        }
        if self.lost.0 + self.held.0 >= self.every.0 {
            return Err(Invalid::value(&self.held.write(None), "a slot longer than `lost` and `held` together").at("held"));
        }
        Ok(())
    }

    fn config(&self, side: Direction) -> SlotsConfig {
        let rates = &self.rate.directions()[side as usize];
        SlotsConfig {
            every: self.every.0,
            first: self.first.0,
            bps: rates.0.iter().map(|rate| rate.0).collect(),
            correlation: self.correlation,
            delay: self.delay.0.iter().map(|delay| delay.0).collect(),
            lost: self.lost.0,
            held: self.held.0,
            grants: self.grants.as_ref().filter(|_| side == Direction::Up).map(GrantCycle::config),
        }
    }

    /// The rate of a direction as a plan has it.
    pub fn plan_json(&self, side: Direction) -> serde_json::Value {
        let mut plan = json!(self.config(side));
        plan["kind"] = "slots".into();
        plan
    }

    /// Bits per second, in the mean over the slots.
    pub fn mean_bps(&self, side: Direction) -> u64 {
        (self.config(side).mean_bps() as u64).max(1)
    }

    /// The mean of the delay that slots add.
    pub fn mean_delay(&self) -> Span {
        self.config(Direction::Down).mean_delay()
    }

    /// `mean_delay`, in ps.
    fn derived(&self, name: &str) -> Option<Attribute> {
        (name == "mean_delay").then(|| Attribute::Value(picoseconds(self.mean_delay())))
    }
}

impl GrantCycle {
    fn example() -> Value {
        Value::table([
            ("frame", "1.333333333 ms".into()),
            ("cycle", pair(49, 55)),
            ("every", 5.into()),
            ("pause", 15.into()),
            ("pauses", pair(1, 2)),
        ])
    }

    fn check(&self) -> Read<()> {
        if self.pause.0 < self.every.0 {
            return Err(Invalid::value(&self.pause.write(None), "at least the frames between two grants, `every`").at("pause"));
        }
        let shortest = self.cycle.0[0];
        if u64::from(self.pauses.0[1]) * u64::from(self.pause.0) > u64::from(shortest) || shortest < self.every.0 {
            return Err(Invalid::value(&self.cycle.write(None), "a cycle with room for its pauses and a grant").at("cycle"));
        }
        Ok(())
    }

    fn config(&self) -> GrantCycleConfig {
        GrantCycleConfig {
            frame: self.frame.0,
            cycle: self.cycle.0,
            every: self.every.0,
            pause: self.pause.0,
            pauses: self.pauses.0,
        }
    }
}

/// Equally spaced quantiles of a distribution: its minimum first, its maximum last.
#[derive(Clone, Debug, PartialEq)]
pub struct Quantiles<V>(pub Vec<V>);

/// What has quantiles: a value with an order.
pub trait Ordered: KeyValue + Clone {
    /// Such a list, in the words of the error messages.
    const LIST: &'static str;

    fn rank(&self) -> u64;
}

impl Ordered for BitRate {
    const LIST: &'static str = "a list of rates that do not decrease, or one rate";

    fn rank(&self) -> u64 {
        self.0
    }
}

impl Ordered for Time {
    const LIST: &'static str = "a list of times that do not decrease, or one time";

    fn rank(&self) -> u64 {
        self.0.0
    }
}

impl<V: Ordered> KeyValue for Quantiles<V> {
    fn read(value: &Value, bounds: &Bounds) -> Read<Quantiles<V>> {
        let Value::Array(values) = value else { return V::read(value, bounds).map(|one| Quantiles(vec![one])) };
        let mut quantiles: Vec<V> = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let quantile = V::read(value, &Bounds::NONE).map_err(|invalid| invalid.below(Step::Index(index)))?;
            if quantiles.last().is_some_and(|last| quantile.rank() < last.rank()) {
                return Err(Invalid::value(value, V::LIST).below(Step::Index(index)));
            }
            quantiles.push(quantile);
        }
        if quantiles.is_empty() { Err(Invalid::value(value, V::LIST)) } else { Ok(Quantiles(quantiles)) }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        match self.0.as_slice() {
            [one] => one.write(None),
            quantiles => quantiles.iter().map(|quantile| quantile.write(None)).collect::<Vec<_>>().into(),
        }
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(self.write(None))
    }

    fn unit() -> &'static str {
        V::unit()
    }

    fn limits(_: &Bounds) -> String {
        V::LIST.into()
    }

    fn schema(_: &Bounds, definitions: &mut Definitions) -> Value {
        let value = V::schema(&Bounds::NONE, definitions);
        schema::either(vec![value.clone(), schema::array(value, [("minItems", 1.into())])])
    }

    fn number(bounds: &Bounds) -> Option<Number> {
        V::number(bounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Slots> {
        let Value::Table(mut table) = Value::table(keys) else { unreachable!("a table") };
        if !table.iter().any(|(key, _)| key == "rate") {
            table.push(("rate".into(), "1 Mb/s".into()));
        }
        Slots::read(&Value::Table(table), &Bounds::NONE)
    }

    #[test]
    fn slots_have_the_times_of_starlink_and_the_rates_of_each_direction() {
        let slots = read([("rate", Slots::rate_example()), ("grants", GrantCycle::example()), ("delay", Slots::delay_example())])
            .expect("slots");
        let down = slots.plan_json(Direction::Down);
        assert_eq!((&down["every_ps"], &down["first_ps"]), (&json!(15_000_000_000_000_u64), &json!(12_000_000_000_000_u64)));
        assert_eq!((&down["bps"], &down["kind"]), (&json!([100_000_000, 250_000_000, 400_000_000]), &json!("slots")));
        assert_eq!(down.get("grants"), None, "grants are of the uplink");
        assert_eq!(slots.plan_json(Direction::Up)["grants"]["cycle"], json!([49, 55]));
        assert_eq!((slots.mean_bps(Direction::Down), slots.mean_delay()), (250_000_000, Span::from_us(2500)));
        assert_eq!(Slots::read(&slots.write(None), &Bounds::NONE), Ok(slots));
        assert_eq!(read([]).expect("one rate").mean_bps(Direction::Up), 1_000_000);
    }

    #[test]
    fn slots_are_refused_when_a_value_is_none_of_a_slot() {
        let list = |values: &[&str]| Value::from(values.iter().map(|&value| value.into()).collect::<Vec<Value>>());
        let grants = |key: &str, value: Value| {
            let Value::Table(keys) = GrantCycle::example() else { unreachable!("a table") };
            Value::Table(
                keys.into_iter().map(|(name, old)| if name == key { (name, value.clone()) } else { (name, old) }).collect(),
            )
        };
        for (key, value, allowed) in [
            ("rate", list(&["2 Mb/s", "1 Mb/s"]), "a list of rates that do not decrease, or one rate"),
            ("delay", list(&[]), "a list of times that do not decrease, or one time"),
            ("every", "50 ms".into(), "a slot of at least 100 ms"),
            ("held", "15 s".into(), "a slot longer than `lost` and `held` together"),
            ("correlation", 1.0.into(), "a correlation from 0 to below 1"),
            ("grants", grants("pause", 4.into()), "at least the frames between two grants, `every`"),
            ("grants", grants("pauses", pair(1, 4)), "a cycle with room for its pauses and a grant"),
        ] {
            let invalid = read([(key, value)]).expect_err(allowed);
            assert_eq!((invalid.allowed.as_str(), &invalid.path[0]), (allowed, &Step::Key(key.into())));
        }
    }
}
