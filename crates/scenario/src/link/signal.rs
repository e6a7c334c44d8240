//! Signal quality over time, and the loss at each quality.

use crate::Keys;
use crate::invalid::{Invalid, Read, Step};
use crate::keys::{Attribute, Bounds, KeyValue, Kind};
use crate::number_text::general;
use crate::schema::{self, Definitions};
use crate::value::Value;
use crate::values::Duration;
use ackclock_core::medium::radio_channel::{FadingConfig, Level as LevelConfig, LossCurve};
use serde_json::json;

/// How a signal moves.
#[derive(Clone, Debug, PartialEq, Keys)]
pub enum Fading {
    Ar1(Ar1),
    Markov(Markov),
}

/// Signal quality (CINR) in dB: normal with mean `mean`; the autocorrelation is 1/e at
/// `correlation`.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "ar1", plan = Ar1::plan_json)]
pub struct Ar1 {
    /// A normal process whose autocorrelation is 1/e at `correlation`.
    #[key(kind)]
    pub kind: Kind,
    /// Mean quality (CINR).
    #[key(example = 20, unit = "dB", min = -200, max = 200, allowed = "decibels from -200 to 200")]
    pub mean: f64,
    /// Standard deviation of the quality.
    #[key(example = 5, unit = "dB", min = 0, max = 200, allowed = "decibels from 0 to 200")]
    pub sd: f64,
    /// Time after which the autocorrelation is 1/e.
    #[key(example = "1 s")]
    pub correlation: Duration,
}

/// Signal quality with exponential durations at each level and a uniform choice of the next level.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(kind = "markov", plan = Markov::plan_json, check = Markov::check)]
pub struct Markov {
    /// Levels with exponential durations; the next level is drawn uniformly.
    #[key(kind)]
    pub kind: Kind,
    /// The levels.
    #[key(example = Level::example(), unit = "tables", allowed = "a list such as [{ cinr = 25, stay = '10 s' }]")]
    pub levels: Vec<Level>,
}

/// A signal quality and its mean duration.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Level {
    /// Quality at this level.
    #[key(example = 25, unit = "dB", min = -200, max = 200, allowed = "decibels from -200 to 200")]
    pub cinr: f64,
    /// Mean duration at this level.
    #[key(example = "10 s")]
    pub stay: Duration,
}

impl Level {
    fn example() -> Value {
        let level = |cinr: i64, stay: &str| Value::table([("cinr", cinr.into()), ("stay", stay.into())]);
        vec![level(25, "10 s"), level(8, "2 s")].into()
    }
}

impl Fading {
    pub fn config(&self) -> FadingConfig {
        match self {
            Fading::Ar1(fading) => fading.config(),
            Fading::Markov(fading) => fading.config(),
        }
    }
}

impl Ar1 {
    fn config(&self) -> FadingConfig {
        FadingConfig::Ar1 { mean_db: self.mean, sd_db: self.sd, correlation: self.correlation.0 }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(self.config())
    }
}

impl Markov {
    fn check(&self) -> Read<()> {
        if self.levels.is_empty() { Err(Invalid::new("[]", "at least one level").at("levels")) } else { Ok(()) }
    }

    fn config(&self) -> FadingConfig {
        let levels = self.levels.iter().map(|level| LevelConfig { db: level.cinr, stay: level.stay.0 });
        FadingConfig::Markov { levels: levels.collect() }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(self.config())
    }
}

/// Points of quality in dB and share lost, in increasing order of quality.
#[derive(Clone, Debug, PartialEq)]
pub struct Points(pub Vec<(f64, f64)>);

const POINTS: &str = "a list of [decibels, share lost] in increasing order of decibels, such as [[5, 1.0], [15, 0.0]]";

impl Points {
    pub fn example() -> Value {
        let point = |db: i64, share: f64| Value::from(vec![Value::Int(db), Value::Float(share)]);
        vec![point(5, 1.0), point(15, 0.0)].into()
    }

    pub fn curve(&self) -> LossCurve {
        LossCurve::new(self.0.clone()).expect("points were checked when they were read")
    }
}

/// Two numbers, the second one a share.
fn point(value: &Value) -> Option<(f64, f64)> {
    let Value::Array(numbers) = value else { return None };
    let [db, share] = numbers.as_slice() else { return None };
    let (db, share) = (db.number()?, share.number()?);
    ((-200.0..=200.0).contains(&db) && (0.0..=1.0).contains(&share)).then_some((db, share))
}

impl KeyValue for Points {
    fn read(value: &Value, _: &Bounds) -> Read<Points> {
        let Value::Array(values) = value else { return Err(Invalid::value(value, POINTS)) };
        if values.is_empty() {
            return Err(Invalid::value(value, POINTS));
        }
        let mut points: Vec<(f64, f64)> = Vec::with_capacity(values.len());
        for (index, value) in values.iter().enumerate() {
            let found = point(value).ok_or_else(|| Invalid::value(value, POINTS).below(Step::Index(index)))?;
            if let Some(last) = points.last().filter(|last| found.0 <= last.0) {
                let order = format!("{} dB after {} dB", general(found.0), general(last.0));
                return Err(Invalid::new(order, POINTS).below(Step::Index(index)));
            }
            points.push(found);
        }
        Ok(Points(points))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.iter().map(|&(db, share)| Value::from(vec![Value::Float(db), Value::Float(share)])).collect::<Vec<_>>().into()
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(self.write(None))
    }

    fn unit() -> &'static str {
        "dB, share"
    }

    fn limits(_: &Bounds) -> String {
        POINTS.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let pair = schema::array(schema::number("number", &Bounds::NONE), [("minItems", 2.into()), ("maxItems", 2.into())]);
        schema::array(pair, [("minItems", 1.into())])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_refused_at_their_index_when_they_are_out_of_order_or_range() {
        let read = |points: &[&[f64]]| {
            let points =
                points.iter().map(|point| Value::from(point.iter().map(|number| Value::Float(*number)).collect::<Vec<_>>()));
            Points::read(&points.collect::<Vec<_>>().into(), &Bounds::NONE)
        };
        assert_eq!(read(&[&[5.0, 1.0], &[15.0, 0.0]]), Ok(Points(vec![(5.0, 1.0), (15.0, 0.0)])));
        let invalid = read(&[&[5.0, 1.0], &[5.0, 0.5]]).expect_err("out of order");
        assert_eq!((invalid.found.as_str(), invalid.path), ("5 dB after 5 dB", vec![Step::Index(1)]));
        assert_eq!(read(&[&[5.0, 1.5]]).expect_err("out of range").found, "[5.0, 1.5]");
        assert_eq!(read(&[]).expect_err("empty").found, "an empty list");
    }

    #[test]
    fn level_is_refused_at_its_index_when_a_value_is_wrong() {
        let level = Value::table([("cinr", 300.into()), ("stay", "1 s".into())]);
        let markov = Value::table([("kind", "markov".into()), ("levels", vec![level].into())]);
        let invalid = Fading::read(&markov, &Bounds::NONE).expect_err("300 dB");
        assert_eq!(invalid.path, [Step::Key("levels".into()), Step::Index(0), Step::Key("cinr".into())]);
        let none = Value::table([("kind", "markov".into()), ("levels", Vec::new().into())]);
        assert_eq!(Fading::read(&none, &Bounds::NONE).expect_err("no level").allowed, "at least one level");
    }
}
