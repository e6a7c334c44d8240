//! A fixed or random time, such as a flow's start or a user's think time.

use crate::invalid::{Invalid, Read};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::units::{Quantity, show_time};
use crate::value::Value;
use ackclock_core::app::UniformTime;

const ALLOWED: &str = "a time of zero or more; in uniform(a, b), b at least a";

/// A time, uniformly distributed between two bounds. Equal bounds are a fixed time. Python has the
/// bounds, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SomeTime(pub UniformTime);

/// The bounds of `uniform(5 s, 10 s)`; None for a text of another form.
fn bounds_of(text: &str) -> Option<[&str; 2]> {
    let inner = text.trim().strip_prefix("uniform")?.trim_start().strip_prefix('(')?.strip_suffix(')')?;
    let (low, high) = inner.split_once(',')?;
    let is_one = |bound: &str| !bound.contains([',', '(', ')']);
    (is_one(low) && is_one(high)).then_some([low, high])
}

fn written(ps: u64) -> String {
    show_time(i64::try_from(ps).unwrap_or(i64::MAX))
}

impl KeyValue for SomeTime {
    fn read(value: &Value, _: &Bounds) -> Read<SomeTime> {
        let time = |value: &Value| {
            let form = |invalid: Invalid| Invalid::new(invalid.found, format!("{}; or uniform(5 s, 10 s)", invalid.allowed));
            Quantity::Time.read(value).map_err(form)
        };
        let text = if let Value::Text(text) = value { text.as_str() } else { "" };
        let (low, high) = match bounds_of(text) {
            Some([low, high]) => (time(&low.into())?, time(&high.into())?),
            None => (time(value)?, time(value)?),
        };
        if low < 0 || high < low {
            return Err(Invalid::value(value, ALLOWED));
        }
        Ok(SomeTime(UniformTime { low_ps: low.unsigned_abs(), high_ps: high.unsigned_abs() }))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        let UniformTime { low_ps, high_ps } = self.0;
        if low_ps == high_ps {
            return written(low_ps).into();
        }
        format!("uniform({}, {})", written(low_ps), written(high_ps)).into()
    }

    fn attribute(&self) -> Attribute {
        let ps = |time: u64| Value::Int(i64::try_from(time).unwrap_or(i64::MAX));
        Attribute::Value(vec![ps(self.0.low_ps), ps(self.0.high_ps)].into())
    }

    fn unit() -> &'static str {
        "time"
    }

    fn limits(_: &Bounds) -> String {
        ALLOWED.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let time = schema::number_with_unit(Quantity::Time.units());
        Value::table([("type", "string".into()), ("pattern", format!(r"^({time}|\s*uniform\s*\({time},{time}\)\s*)$").into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Read<(u64, u64)> {
        SomeTime::read(&text.into(), &Bounds::NONE).map(|time| (time.0.low_ps, time.0.high_ps))
    }

    #[test]
    fn time_is_fixed_or_between_two_bounds() {
        assert_eq!(read("5 ps"), Ok((5, 5)));
        assert_eq!(read(" uniform ( 1 ns, 2 ns )"), Ok((1_000, 2_000)));
        let written = |text: &str| SomeTime::read(&text.into(), &Bounds::NONE).map(|time| time.write(None));
        assert_eq!(written("uniform(1000 ms, 2 s)"), Ok("uniform(1 s, 2 s)".into()));
        assert_eq!(written("uniform(2 s, 2 s)"), Ok("2 s".into()));
    }

    #[test]
    fn time_is_refused_when_its_bounds_are_negative_or_crossed() {
        for wrong in ["-1 s", "uniform(2 s, 1 s)", "uniform(-1 s, 1 s)"] {
            assert_eq!(read(wrong).expect_err(wrong).allowed, ALLOWED);
        }
        let no_unit = read("uniform(1 s, 5)").expect_err("no unit");
        assert_eq!(no_unit.found, "\" 5\" without a unit");
        assert!(no_unit.allowed.ends_with("; or uniform(5 s, 10 s)"), "{no_unit:?}");
        assert!(read("uniform(1 s)").is_err() && read("uniform(1 s, 2 s, 3 s)").is_err());
    }
}
