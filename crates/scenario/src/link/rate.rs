//! Rates: a fixed one in bits per second, a recorded one, or one that changes at given times.

use super::schedule::RateSchedule;
use crate::Keys;
use crate::controls::{Control, Number};
use crate::invalid::{Invalid, Read, format_value};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::sources;
use crate::value::Value;
use crate::values::{BitRate, Time, time_text};
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
            LineRate::Scheduled(rate) => {
                let mut plan = json!(rate.config());
                plan["kind"] = "schedule".into();
                plan
            }
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
