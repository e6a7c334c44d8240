//! Values of a scenario's keys.

use crate::invalid::{Invalid, Read, Step};
use crate::keys::{Attribute, Bound, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::units::{Quantity, show_time};
use crate::value::Value;

/// The name of a link, which is read before the scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkName(String);

impl KeyValue for LinkName {
    fn read(value: &Value, bounds: &Bounds) -> Read<LinkName> {
        String::read(value, bounds).map(LinkName)
    }

    fn write(&self, given: Option<&Value>) -> Value {
        self.0.write(given)
    }

    fn unit() -> &'static str {
        "name"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        Value::table([("type", "string".into()), ("minLength", 1.into())])
    }
}

/// The seeds of a scenario's runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seeds(pub Vec<i64>);

const SEEDS: &str = "how many (10 means 1..10), or a list of different whole numbers from 0";
const MAX_SEEDS: i64 = 1_000_000;

/// A value as Python's text of it: two are the same seed if that is.
fn text(value: &Value) -> String {
    match value {
        Value::Text(text) => text.clone(),
        Value::Bool(yes) => if *yes { "True" } else { "False" }.into(),
        _ => value.to_toml(),
    }
}

impl KeyValue for Seeds {
    fn read(value: &Value, _: &Bounds) -> Read<Seeds> {
        let values = match value {
            Value::Int(count @ 1..=MAX_SEEDS) => return Ok(Seeds((1..=*count).collect())),
            Value::Array(values) if !values.is_empty() => values,
            _ => return Err(Invalid::value(value, SEEDS)),
        };
        let different: std::collections::HashSet<String> = values.iter().map(text).collect();
        if different.len() < values.len() {
            return Err(Invalid::value(value, SEEDS));
        }
        let seed = |(index, value): (usize, &Value)| match value {
            Value::Int(seed @ 0..) => Ok(*seed),
            _ => Err(Invalid::value(value, SEEDS).below(Step::Index(index))),
        };
        values.iter().enumerate().map(seed).collect::<Read<_>>().map(Seeds)
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.iter().map(|&seed| Value::Int(seed)).collect::<Vec<_>>().into()
    }

    fn unit() -> &'static str {
        "numbers"
    }

    fn limits(_: &Bounds) -> String {
        SEEDS.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let from = |min: i64| Bounds { min: Some(Bound::Int(min)), ..Bounds::NONE };
        let count = Bounds { max: Some(Bound::Int(MAX_SEEDS)), ..from(1) };
        let list = schema::array(schema::number("integer", &from(0)), [("minItems", 1.into()), ("uniqueItems", true.into())]);
        schema::either(vec![schema::number("integer", &count), list])
    }
}

/// The measured part of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Window {
    /// Each flow's whole time.
    All,
    /// The time while every flow runs.
    AllActive,
    /// Two times in picoseconds; a negative one counts from the end.
    Between([i64; 2]),
}

const WINDOW: &str = "\"all\", \"all-active\", or two times such as [\"5 s\", \"-5 s\"] (negative: before the end)";

impl Window {
    pub(super) fn example() -> Value {
        vec![Value::from("5 s"), "-5 s".into()].into()
    }
}

impl KeyValue for Window {
    fn read(value: &Value, _: &Bounds) -> Read<Window> {
        match value {
            Value::Text(text) if text == "all" => Ok(Window::All),
            Value::Text(text) if text == "all-active" => Ok(Window::AllActive),
            Value::Array(times) => match times.as_slice() {
                [from, to] => Ok(Window::Between([Quantity::Time.read(from)?, Quantity::Time.read(to)?])),
                _ => Err(Invalid::value(value, WINDOW)),
            },
            _ => Err(Invalid::value(value, WINDOW)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        match self {
            Window::All => "all".into(),
            Window::AllActive => "all-active".into(),
            Window::Between(times) => times.map(|time| Value::from(show_time(time))).to_vec().into(),
        }
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(match self {
            Window::Between(times) => times.map(Value::Int).to_vec().into(),
            _ => self.write(None),
        })
    }

    fn unit() -> &'static str {
        "choice or times"
    }

    fn limits(_: &Bounds) -> String {
        WINDOW.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let time = schema::signed_quantity(Quantity::Time.units());
        let times = schema::array(time, [("minItems", 2.into()), ("maxItems", 2.into())]);
        schema::either(vec![schema::words(&["all", "all-active"]), times])
    }
}
