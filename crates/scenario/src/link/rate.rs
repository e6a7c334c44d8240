//! Rates: a fixed one in bits per second, a recorded one, or one that changes at given times.

use crate::Keys;
use crate::controls::{Control, Number};
use crate::invalid::{Invalid, Read, Step, format_value};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::sources;
use crate::units::show_rate;
use crate::value::Value;
use crate::values::{BitRate, Duration, Time, time_text};
use ackclock_core::link::RateScheduleConfig;
use ackclock_core::units::Span;
use serde_json::json;

/// A recorded rate: opportunities to send 1500 bytes (mahimahi's format); the recording repeats.
///
/// `start` is the time of the recording, in ps, at which a run starts; None: drawn for each seed.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = TraceRate::check)]
pub struct TraceRate {
    /// A file with one line for each opportunity to send 1500 B, its time in ms (mahimahi's format),
    /// plain or gzip; the path is relative to the file that names it. The recording repeats.
    #[key(example = "lte.down")]
    pub trace: RecordingPath,
    /// The time of the recording at which a run starts.
    #[key(example = "10 s", absent = "drawn for each seed, the same for all variants")]
    pub start: Option<Time>,
}

impl TraceRate {
    fn check(&self) -> Read<()> {
        match self.start {
            Some(start) if start.0 >= self.trace.period.0 => {
                let allowed = format!("a time of the recording, which lasts {}", time_text(self.trace.period.0));
                Err(Invalid::new(format_value(&time_text(start.0).into()), allowed).at("start"))
            }
            _ => Ok(()),
        }
    }
}

/// The path of a recording that can be read, and the time after which it repeats.
#[derive(Clone, Debug, PartialEq)]
pub struct RecordingPath {
    path: String,
    period: Time,
}

const PATH: &str = "the path of a trace file";

impl KeyValue for RecordingPath {
    fn read(value: &Value, _: &Bounds) -> Read<RecordingPath> {
        match value {
            Value::Text(path) if !path.is_empty() => {
                Ok(RecordingPath { path: path.clone(), period: Time(sources::sources().recording_period(path)?) })
            }
            _ => Err(Invalid::value(value, PATH)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.path.as_str().into()
    }

    fn unit() -> &'static str {
        "file"
    }

    fn limits(_: &Bounds) -> String {
        format!("a file in mahimahi's format; {PATH}")
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        Value::table([("type", "string".into()), ("minLength", 1.into())])
    }
}

/// A rate that changes at given times of the run; a packet in service goes on at the new rate.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = RateSchedule::plan_json, check = RateSchedule::check, derived = RateSchedule::derived)]
pub struct RateSchedule {
    /// Times of the run, the first of them "0 s", and the rates from then on; "0 b/s" is an outage.
    #[key(example = RateSchedule::example())]
    pub schedule: RateSteps,
    /// Time after which the schedule begins again.
    #[key(example = "60 s", absent = "never: the last rate stays")]
    pub repeat: Option<Duration>,
    /// The rate changes linearly from each time to the next one, in place of at once.
    #[key(default = false, example = true)]
    pub linear: bool,
}

impl RateSchedule {
    fn example() -> Value {
        let step = |at: &str, rate: &str| Value::from(vec![at.into(), rate.into()]);
        vec![step("0 s", "100 Mb/s"), step("30 s", "10 Mb/s")].into()
    }

    fn config(&self) -> RateScheduleConfig {
        RateScheduleConfig { steps: self.schedule.0.clone(), repeat: self.repeat.map(|repeat| repeat.0), linear: self.linear }
    }

    fn check(&self) -> Read<()> {
        let last = self.schedule.0.last().map_or(Span::ZERO, |last| last.0);
        match self.repeat {
            Some(repeat) if repeat.0 <= last => {
                let allowed = format!("a time after the last of the schedule, {}", time_text(last));
                Err(Invalid::value(&repeat.write(None), allowed).at("repeat"))
            }
            _ => Ok(()),
        }
    }

    fn plan_json(&self) -> serde_json::Value {
        let mut plan = json!(self.config());
        plan["kind"] = "schedule".into();
        plan
    }

    /// `mean_bps`: over a repetition; without one that of the last step.
    fn derived(&self, name: &str) -> Option<Attribute> {
        (name == "mean_bps").then(|| Attribute::Value(Value::Float(self.config().mean_bps())))
    }
}

/// Times and rates of a schedule.
#[derive(Clone, Debug, PartialEq)]
pub struct RateSteps(pub Vec<(Span, u64)>);

const STEPS: &str = "a list such as [[\"0 s\", \"100 Mb/s\"], [\"30 s\", \"10 Mb/s\"]]";

impl RateSteps {
    /// A rate, or none: a zero with the unit of a rate.
    fn rate(value: &Value) -> Read<u64> {
        let is_none =
            matches!(value, Value::Text(text) if text.split_whitespace().collect::<Vec<_>>().as_slice() == ["0", "b/s"]);
        if is_none { Ok(0) } else { BitRate::read(value, &Bounds::NONE).map(|rate| rate.0) }
    }
}

impl KeyValue for RateSteps {
    fn read(value: &Value, _: &Bounds) -> Read<RateSteps> {
        let Value::Array(values) = value else { return Err(Invalid::value(value, STEPS)) };
        let mut steps: Vec<(Span, u64)> = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let below = |invalid: Invalid| invalid.below(Step::Index(index));
            let Value::Array(pair) = value else { return Err(below(Invalid::value(value, STEPS))) };
            let [at, rate] = pair.as_slice() else { return Err(below(Invalid::value(value, STEPS))) };
            let at = Time::read(at, &Bounds::NONE).map_err(|invalid| below(invalid.below(Step::Index(0))))?;
            let rate = RateSteps::rate(rate).map_err(|invalid| below(invalid.below(Step::Index(1))))?;
            let allowed = match steps.last() {
                None if at.0 > Span::ZERO => Some("\"0 s\" as the first time"),
                Some(last) if at.0 <= last.0 => Some("times that increase"),
                _ => None,
            };
            if let Some(allowed) = allowed {
                let written = Value::from(time_text(at.0));
                return Err(below(Invalid::value(&written, allowed).below(Step::Index(0))));
            }
            steps.push((at.0, rate));
        }
        if !steps.iter().any(|step| step.1 > 0) {
            return Err(Invalid::value(value, "a schedule with a rate above zero"));
        }
        Ok(RateSteps(steps))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        let step = |&(at, bps): &(Span, u64)| {
            let rate = if bps == 0 { "0 b/s".to_owned() } else { show_rate(i64::try_from(bps).unwrap_or(i64::MAX)) };
            Value::from(vec![time_text(at).into(), rate.into()])
        };
        self.0.iter().map(step).collect::<Vec<_>>().into()
    }

    fn attribute(&self) -> Attribute {
        let int = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
        Attribute::Value(self.0.iter().map(|&(at, bps)| vec![int(at.0), int(bps)].into()).collect::<Vec<Value>>().into())
    }

    fn unit() -> &'static str {
        "times and rates"
    }

    fn limits(_: &Bounds) -> String {
        STEPS.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let pair = schema::array(Value::table([("type", "string".into())]), [("minItems", 2.into()), ("maxItems", 2.into())]);
        schema::array(pair, [("minItems", 1.into())])
    }
}

/// The rate of a line.
#[derive(Clone, Debug, PartialEq)]
pub enum LineRate {
    Fixed(BitRate),
    Recorded(TraceRate),
    Scheduled(RateSchedule),
}

impl LineRate {
    /// As a plan has it, with the path of a recording in place of its times.
    pub fn plan_json(&self) -> serde_json::Value {
        match self {
            LineRate::Fixed(rate) => json!({"kind": "fixed", "bps": rate.0}),
            LineRate::Recorded(TraceRate { trace, start: None }) => json!({"kind": "trace", "times_ms": trace.path}),
            LineRate::Scheduled(rate) => rate.plan_json(),
            LineRate::Recorded(TraceRate { trace, start: Some(start) }) => {
                json!({"kind": "trace", "times_ms": trace.path, "start_ps": start.0})
            }
        }
    }

    pub fn fixed_bps(&self) -> Option<u64> {
        if let LineRate::Fixed(rate) = self { Some(rate.0) } else { None }
    }
}

impl KeyValue for LineRate {
    fn read(value: &Value, bounds: &Bounds) -> Read<LineRate> {
        match value {
            Value::Table(_) if value.get("schedule").is_some() => RateSchedule::read(value, bounds).map(LineRate::Scheduled),
            Value::Table(_) if value.get("trace").is_none() => {
                let allowed =
                    "a rate such as \"10 Mb/s\", { trace = \"FILE\" }, { schedule = [..] }, or .down and .up with one of these";
                Err(Invalid::value(value, allowed))
            }
            Value::Table(_) => TraceRate::read(value, bounds).map(LineRate::Recorded),
            _ => BitRate::read(value, bounds).map(LineRate::Fixed),
        }
    }

    fn write(&self, given: Option<&Value>) -> Value {
        match self {
            LineRate::Fixed(rate) => rate.write(given),
            LineRate::Recorded(rate) => rate.write(given),
            LineRate::Scheduled(rate) => rate.write(given),
        }
    }

    fn attribute(&self) -> Attribute {
        match self {
            LineRate::Fixed(rate) => rate.attribute(),
            LineRate::Recorded(rate) => rate.attribute(),
            LineRate::Scheduled(rate) => rate.attribute(),
        }
    }

    fn unit() -> &'static str {
        BitRate::unit()
    }

    fn limits(bounds: &Bounds) -> String {
        BitRate::limits(bounds)
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        schema::either(vec![
            BitRate::schema(bounds, definitions),
            TraceRate::schema(bounds, definitions),
            RateSchedule::schema(bounds, definitions),
        ])
    }

    fn number(bounds: &Bounds) -> Option<Number> {
        BitRate::number(bounds)
    }

    fn controls(value: &Value) -> Vec<Control> {
        TraceRate::controls(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(steps: &[(&str, &str)], repeat: Option<&str>) -> Read<LineRate> {
        let steps: Vec<Value> = steps.iter().map(|&(at, rate)| vec![at.into(), rate.into()].into()).collect();
        let repeat = repeat.map(|repeat| ("repeat".to_owned(), repeat.into()));
        let table = [("schedule".to_owned(), steps.into())].into_iter().chain(repeat).collect();
        LineRate::read(&Value::Table(table), &Bounds::NONE)
    }

    #[test]
    fn schedule_has_times_from_zero_and_rates_of_which_some_may_be_zero() {
        let rate = read(&[("0 s", "100 Mb/s"), ("30 s", "0 b/s")], Some("60 s")).expect("a schedule");
        let plan = json!({"kind": "schedule", "steps": [[0, 100_000_000], [30_000_000_000_000_u64, 0]], "repeat_ps": 60_000_000_000_000_u64});
        assert_eq!((rate.plan_json(), rate.fixed_bps()), (plan, None));
        assert_eq!(LineRate::read(&rate.write(None), &Bounds::NONE), Ok(rate));
        for (steps, repeat, allowed) in [
            (vec![("1 s", "1 Mb/s")], None, "\"0 s\" as the first time"),
            (vec![("0 s", "1 Mb/s"), ("0 s", "2 Mb/s")], None, "times that increase"),
            (vec![("0 s", "0 b/s")], None, "a schedule with a rate above zero"),
            (vec![("0 s", "1 Mb/s"), ("5 s", "2 Mb/s")], Some("5 s"), "a time after the last of the schedule, 5 s"),
        ] {
            assert_eq!(read(&steps, repeat).expect_err(allowed).allowed, allowed);
        }
        assert_eq!(read(&[("0 s", "x")], None).expect_err("no rate").path.len(), 3);
    }
}
