//! Rates, delays and mean losses that change at given times of a run.

use crate::Keys;
use crate::controls::{Control, Number};
use crate::invalid::{Invalid, Read, Step};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::units::show_rate;
use crate::value::Value;
use crate::values::{BitRate, Duration, Share, Time, time_text};
use ackclock_core::link::RateScheduleConfig;
use ackclock_core::schedule::ScheduleConfig;
use ackclock_core::units::Span;
use serde_json::json;
use std::fmt::Debug;

/// A rate that changes at given times of the run; a packet in service goes on at the new rate.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = RateSchedule::plan_json, check = RateSchedule::check, derived = RateSchedule::derived)]
pub struct RateSchedule {
    /// Times of the run, the first of them "0 s", and the rates from then on; "0 b/s" is an outage.
    #[key(example = steps_example("100 Mb/s", "10 Mb/s"))]
    pub schedule: Steps<RateOrNone>,
    /// Time after which the schedule begins again.
    #[key(example = "60 s", absent = "never: the last rate stays")]
    pub repeat: Option<Duration>,
    /// The rate changes linearly from each time to the next one, in place of at once.
    #[key(default = false, example = true)]
    pub linear: bool,
}

/// A delay that changes at given times of the run. A packet has the delay of the time at which it is
/// sent; packets stay in order, so after a fall they arrive no earlier than those sent before it.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = DelaySchedule::plan_json, check = DelaySchedule::check, derived = DelaySchedule::derived)]
pub struct DelaySchedule {
    /// Times of the run, the first of them "0 s", and the delays from then on.
    #[key(example = steps_example("20 ms", "28 ms"))]
    pub schedule: Steps<Time>,
    /// Time after which the schedule begins again.
    #[key(example = "60 s", absent = "never: the last delay stays")]
    pub repeat: Option<Duration>,
    /// The delay changes linearly from each time to the next one, in place of at once.
    #[key(default = false, example = true)]
    pub linear: bool,
}

/// A mean loss that changes at given times of the run.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = LossSchedule::plan_json, check = LossSchedule::check, derived = LossSchedule::derived)]
pub struct LossSchedule {
    /// Times of the run, the first of them "0 s", and the mean losses from then on.
    #[key(example = LossSchedule::example())]
    pub schedule: Steps<Share>,
    /// Time after which the schedule begins again.
    #[key(example = "60 s", absent = "never: the last mean stays")]
    pub repeat: Option<Duration>,
    /// The mean changes linearly from each time to the next one, in place of at once.
    #[key(default = false, example = true)]
    pub linear: bool,
}

fn steps_example(first: &str, second: &str) -> Value {
    vec![Value::from(vec!["0 s".into(), first.into()]), vec!["30 s".into(), second.into()].into()].into()
}

/// An error if the schedule begins again before its last step.
fn check_repeat<V>(schedule: &Steps<V>, repeat: Option<Duration>) -> Read<()> {
    let last = schedule.0.last().map_or(Span::ZERO, |last| last.0);
    match repeat {
        Some(repeat) if repeat.0 <= last => {
            let allowed = format!("a time after the last of the schedule, {}", time_text(last));
            Err(Invalid::value(&repeat.write(None), allowed).at("repeat"))
        }
        _ => Ok(()),
    }
}

macro_rules! schedules {
    ($($table:ident, $value:ty, $step:ident => $config:expr;)*) => {$(
        impl $table {
            pub fn config(&self) -> ScheduleConfig<$value> {
                let steps = self.schedule.0.iter().map(|(at, $step)| (*at, $config)).collect();
                ScheduleConfig { steps, repeat: self.repeat.map(|repeat| repeat.0), linear: self.linear }
            }

            fn plan_json(&self) -> serde_json::Value {
                json!(self.config())
            }
        }
    )*};
}

schedules! {
    RateSchedule, u64, rate => rate.0;
    DelaySchedule, Span, delay => delay.0;
    LossSchedule, f64, mean => mean.0;
}

impl RateSchedule {
    fn check(&self) -> Read<()> {
        if self.schedule.0.iter().all(|(_, rate)| rate.0 == 0) {
            return Err(Invalid::value(&self.schedule.write(None), "a schedule with a rate above zero").at("schedule"));
        }
        check_repeat(&self.schedule, self.repeat)
    }

    /// `mean_bps`: over a repetition; without one that of the last step.
    fn derived(&self, name: &str) -> Option<Attribute> {
        (name == "mean_bps").then(|| Attribute::Value(Value::Float(RateScheduleConfig::mean_bps(&self.config()))))
    }
}

impl DelaySchedule {
    fn check(&self) -> Read<()> {
        check_repeat(&self.schedule, self.repeat)
    }

    /// `mean_ps`: over a repetition; without one that of the last step.
    fn derived(&self, name: &str) -> Option<Attribute> {
        (name == "mean_ps").then(|| Attribute::Value(picoseconds(self.config().mean())))
    }
}

impl LossSchedule {
    fn example() -> Value {
        vec![Value::from(vec!["0 s".into(), 0.into()]), vec!["30 s".into(), 0.01.into()].into()].into()
    }

    fn check(&self) -> Read<()> {
        check_repeat(&self.schedule, self.repeat)
    }

    /// `mean_share`: over a repetition; without one that of the last step.
    fn derived(&self, name: &str) -> Option<Attribute> {
        (name == "mean_share").then(|| Attribute::Value(Value::Float(self.config().mean())))
    }
}

pub fn picoseconds(time: Span) -> Value {
    Value::Int(i64::try_from(time.0).unwrap_or(i64::MAX))
}

/// What a step of a schedule has.
pub trait StepValue: KeyValue + Copy + Debug + PartialEq {
    /// A schedule, in the words of the error messages.
    const STEPS: &'static str;
    const UNIT: &'static str;
    const JSON_TYPE: &'static str;
}

impl StepValue for RateOrNone {
    const STEPS: &'static str = "a list such as [[\"0 s\", \"100 Mb/s\"], [\"30 s\", \"10 Mb/s\"]]";
    const UNIT: &'static str = "times and rates";
    const JSON_TYPE: &'static str = "string";
}

impl StepValue for Time {
    const STEPS: &'static str = "a list such as [[\"0 s\", \"20 ms\"], [\"30 s\", \"28 ms\"]]";
    const UNIT: &'static str = "times and delays";
    const JSON_TYPE: &'static str = "string";
}

impl StepValue for Share {
    const STEPS: &'static str = "a list such as [[\"0 s\", 0], [\"30 s\", 0.01]]";
    const UNIT: &'static str = "times and shares";
    const JSON_TYPE: &'static str = "number";
}

/// A rate, or none: a zero with the unit of a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateOrNone(pub u64);

impl KeyValue for RateOrNone {
    fn read(value: &Value, _: &Bounds) -> Read<RateOrNone> {
        let is_none =
            matches!(value, Value::Text(text) if text.split_whitespace().collect::<Vec<_>>().as_slice() == ["0", "b/s"]);
        if is_none { Ok(RateOrNone(0)) } else { BitRate::read(value, &Bounds::NONE).map(|rate| RateOrNone(rate.0)) }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        if self.0 == 0 { "0 b/s".into() } else { show_rate(i64::try_from(self.0).unwrap_or(i64::MAX)).into() }
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(Value::Int(i64::try_from(self.0).unwrap_or(i64::MAX)))
    }

    fn unit() -> &'static str {
        BitRate::unit()
    }

    fn limits(bounds: &Bounds) -> String {
        BitRate::limits(bounds)
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        BitRate::schema(bounds, definitions)
    }
}

/// Times and values of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct Steps<V>(pub Vec<(Span, V)>);

impl<V: StepValue> KeyValue for Steps<V> {
    fn read(value: &Value, _: &Bounds) -> Read<Steps<V>> {
        let Value::Array(values) = value else { return Err(Invalid::value(value, V::STEPS)) };
        let mut steps: Vec<(Span, V)> = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let below = |invalid: Invalid| invalid.below(Step::Index(index));
            let Value::Array(pair) = value else { return Err(below(Invalid::value(value, V::STEPS))) };
            let [at, step] = pair.as_slice() else { return Err(below(Invalid::value(value, V::STEPS))) };
            let at = Time::read(at, &Bounds::NONE).map_err(|invalid| below(invalid.below(Step::Index(0))))?;
            let step = V::read(step, &Bounds::NONE).map_err(|invalid| below(invalid.below(Step::Index(1))))?;
            let allowed = match steps.last() {
                None if at.0 > Span::ZERO => Some("\"0 s\" as the first time"),
                Some(last) if at.0 <= last.0 => Some("times that increase"),
                _ => None,
            };
            if let Some(allowed) = allowed {
                let written = Value::from(time_text(at.0));
                return Err(below(Invalid::value(&written, allowed).below(Step::Index(0))));
            }
            steps.push((at.0, step));
        }
        if steps.is_empty() { Err(Invalid::value(value, V::STEPS)) } else { Ok(Steps(steps)) }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        let step = |(at, value): &(Span, V)| Value::from(vec![time_text(*at).into(), value.write(None)]);
        self.0.iter().map(step).collect::<Vec<_>>().into()
    }

    fn attribute(&self) -> Attribute {
        let step = |(at, value): &(Span, V)| match value.attribute() {
            Attribute::Value(value) => vec![picoseconds(*at), value].into(),
            Attribute::Table(_) | Attribute::Array(_) => Value::Absent,
        };
        Attribute::Value(self.0.iter().map(step).collect::<Vec<Value>>().into())
    }

    fn unit() -> &'static str {
        V::UNIT
    }

    fn limits(_: &Bounds) -> String {
        V::STEPS.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let text = Value::table([("type", "string".into())]);
        let pair = if V::JSON_TYPE == "string" {
            schema::array(text, [("minItems", 2.into()), ("maxItems", 2.into())])
        } else {
            schema::array(Value::Table(Vec::new()), [("minItems", 2.into()), ("maxItems", 2.into())])
        };
        schema::array(pair, [("minItems", 1.into())])
    }
}

/// A value that stays, or a schedule of it.
#[derive(Clone, Debug, PartialEq)]
pub enum OverTime<V, S> {
    Constant(V),
    Scheduled(S),
}

/// The delay of a direction.
pub type LineDelay = OverTime<Time, DelaySchedule>;
/// The mean of a loss; `V` is a share with its bounds.
pub type MeanLoss<V> = OverTime<V, LossSchedule>;

impl LineDelay {
    /// As a plan has it: what stays, and what changes.
    pub fn configs(&self) -> (Span, Option<ScheduleConfig<Span>>) {
        match self {
            OverTime::Constant(delay) => (delay.0, None),
            OverTime::Scheduled(delay) => (Span::ZERO, Some(delay.config())),
        }
    }

    /// Whether it is above 0 at some time.
    pub fn is_some_time(&self) -> bool {
        match self {
            OverTime::Constant(delay) => delay.0 > Span::ZERO,
            OverTime::Scheduled(delay) => delay.schedule.0.iter().any(|(_, delay)| delay.0 > Span::ZERO),
        }
    }

    /// Of a schedule over a repetition; without one that of the last step.
    pub fn mean(&self) -> Span {
        let (delay, schedule) = self.configs();
        schedule.map_or(delay, |schedule| schedule.mean())
    }
}

impl<V: KeyValue, S: KeyValue> KeyValue for OverTime<V, S> {
    fn read(value: &Value, bounds: &Bounds) -> Read<Self> {
        match value {
            Value::Table(_) if value.get("schedule").is_some() => S::read(value, &Bounds::NONE).map(OverTime::Scheduled),
            _ => V::read(value, bounds).map(OverTime::Constant),
        }
    }

    fn write(&self, given: Option<&Value>) -> Value {
        match self {
            OverTime::Constant(value) => value.write(given),
            OverTime::Scheduled(schedule) => schedule.write(given),
        }
    }

    fn attribute(&self) -> Attribute {
        match self {
            OverTime::Constant(value) => value.attribute(),
            OverTime::Scheduled(schedule) => schedule.attribute(),
        }
    }

    fn unit() -> &'static str {
        V::unit()
    }

    fn limits(bounds: &Bounds) -> String {
        V::limits(bounds)
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        schema::either(vec![V::schema(bounds, definitions), S::schema(&Bounds::NONE, definitions)])
    }

    fn number(bounds: &Bounds) -> Option<Number> {
        V::number(bounds)
    }

    fn controls(value: &Value) -> Vec<Control> {
        V::controls(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(steps: Vec<(&str, Value)>, repeat: Option<&str>) -> Value {
        let steps: Vec<Value> = steps.into_iter().map(|(at, value)| vec![at.into(), value].into()).collect();
        let repeat = repeat.map(|repeat| ("repeat".to_owned(), repeat.into()));
        Value::Table([("schedule".to_owned(), steps.into())].into_iter().chain(repeat).collect())
    }

    #[test]
    fn delay_is_a_time_or_a_schedule_of_times() {
        let read = |value: &Value| LineDelay::read(value, &Bounds::NONE);
        assert_eq!(read(&"20 ms".into()).expect("a time").configs(), (Span::from_ms(20), None));
        let given = table(vec![("0 s", "20 ms".into()), ("15 s", "0 ms".into())], Some("30 s"));
        let delay = read(&given).expect("a schedule");
        assert_eq!(read(&delay.write(None)), Ok(delay.clone()));
        assert_eq!(delay.mean(), Span::from_ms(10));
        let plan = json!({"steps": [[0, 20_000_000_000_u64], [15_000_000_000_000_u64, 0]], "repeat_ps": 30_000_000_000_000_u64});
        assert_eq!(json!(delay.configs().1), plan);
        for (steps, repeat, allowed) in [
            (vec![("1 s", Value::from("1 ms"))], None, "\"0 s\" as the first time"),
            (vec![("0 s", "1 ms".into()), ("0 s", "2 ms".into())], None, "times that increase"),
            (vec![], None, <Time as StepValue>::STEPS),
            (vec![("0 s", "1 ms".into()), ("5 s", "2 ms".into())], Some("5 s"), "a time after the last of the schedule, 5 s"),
        ] {
            assert_eq!(read(&table(steps, repeat)).expect_err(allowed).allowed, allowed);
        }
        assert_eq!(read(&table(vec![("0 s", "-1 ms".into())], None)).expect_err("below 0").path.len(), 3);
    }

    #[test]
    fn mean_loss_is_a_share_or_a_schedule_of_shares() {
        let read = |value: &Value| MeanLoss::<Share>::read(value, &Bounds::NONE);
        assert_eq!(read(&0.5.into()), Ok(OverTime::Constant(Share(0.5))));
        let loss = read(&table(vec![("0 s", 0.into()), ("10 s", 0.25.into())], Some("40 s"))).expect("a schedule");
        let OverTime::Scheduled(schedule) = &loss else { unreachable!("a schedule") };
        assert_eq!(schedule.config().mean(), 0.1875);
        assert_eq!(read(&loss.write(None)), Ok(loss));
        assert_eq!(read(&table(vec![("0 s", 1.5.into())], None)).expect_err("above 1").path.len(), 3);
    }
}
