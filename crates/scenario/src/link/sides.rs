//! Values of a medium for both directions, or for each.

use crate::Keys;
use crate::invalid::{Invalid, Read};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::units::{Quantity, RATE};
use crate::value::Value;
use crate::values::{BitRate, Duration, Share, Size};

/// A value as a table of both directions.
pub fn both(value: &Value) -> Read<Option<Value>> {
    let table = || Value::table([("down", value.clone()), ("up", value.clone())]);
    Ok((!matches!(value, Value::Table(_))).then(table))
}

/// A table of both directions, for examples.
pub fn each(down: &str, up: &str) -> Value {
    Value::table([("down", down.into()), ("up", up.into())])
}

/// A number as a table of both directions.
fn both_numbers(value: &Value) -> Read<Option<Value>> {
    if value.number().is_some() { both(value) } else { Ok(None) }
}

fn rate_schema() -> Value {
    schema::quantity(Quantity::Rate.units())
}

fn time_schema() -> Value {
    schema::quantity(Quantity::Time.units())
}

fn size_schema() -> Value {
    schema::quantity(Quantity::Size.units())
}

fn share_schema() -> Value {
    Share::schema(&Bounds::NONE, &mut Definitions::default())
}

const DURATION: &str = "a time above zero; a time of at most 100 day";
pub(super) const SHARE: &str = "a probability from 0 to 1";

/// Frame error rate by direction; a number applies to both.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = both_numbers, shorthand = share_schema, limits = SHARE)]
pub struct FrameError {
    /// Share of the frames to the clients that are damaged.
    #[key(default = 0.0, example = 0.01)]
    pub down: Share,
    /// Share of the frames from the clients that are damaged.
    #[key(default = 0.0, example = 0.01)]
    pub up: Share,
}

impl FrameError {
    pub fn none() -> Value {
        Value::table([("down", 0.0.into()), ("up", 0.0.into())])
    }

    pub fn shares(&self) -> [f64; 2] {
        [self.down.0, self.up.0]
    }
}

#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = both, shorthand = rate_schema, limits = RATE)]
pub struct Rates {
    /// Rate to the clients.
    #[key(example = "1 Gb/s")]
    pub down: BitRate,
    /// Rate from the clients.
    #[key(example = "100 Mb/s")]
    pub up: BitRate,
}

#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = both, shorthand = rate_schema, limits = RATE)]
pub struct SomeRates {
    /// Rate to a client.
    #[key(example = "100 Mb/s")]
    pub down: Option<BitRate>,
    /// Rate from a client.
    #[key(example = "20 Mb/s")]
    pub up: Option<BitRate>,
}

#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = both, shorthand = time_schema, limits = DURATION)]
pub struct Spans {
    /// Time to the clients.
    #[key(example = "1 ms", absent = "the standard's")]
    pub down: Option<Duration>,
    /// Time from the clients.
    #[key(example = "2 ms", absent = "the standard's")]
    pub up: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = both, shorthand = size_schema)]
pub struct Sizes {
    /// Size to the clients.
    #[key(example = "28 B", absent = "the standard's")]
    pub down: Option<Size>,
    /// Size from the clients.
    #[key(example = "28 B", absent = "the standard's")]
    pub up: Option<Size>,
}

#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = both, shorthand = share_schema, limits = SHARE)]
pub struct Errors {
    /// Share of the blocks to the clients.
    #[key(example = 0.1, absent = "the standard's")]
    pub down: Option<Share>,
    /// Share of the blocks from the clients.
    #[key(example = 0.1, absent = "the standard's")]
    pub up: Option<Share>,
}

/// A value for both directions, or a table with one for each, as it is written. `allowed` names such
/// a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Sides<T> {
    Both(T),
    Each(Box<[T; 2]>),
}

impl<T: Clone> Sides<T> {
    /// Downlink and uplink.
    pub fn directions(&self) -> [T; 2] {
        match self {
            Sides::Both(value) => [value.clone(), value.clone()],
            Sides::Each(values) => (**values).clone(),
        }
    }
}

impl<T: KeyValue> KeyValue for Sides<T> {
    fn read(value: &Value, bounds: &Bounds) -> Read<Self> {
        let Value::Table(entries) = value else { return T::read(value, &Bounds::NONE).map(Sides::Both) };
        match (value.get("down"), value.get("up")) {
            (Some(down), Some(up)) if entries.len() == 2 => {
                Ok(Sides::Each(Box::new([T::read(down, &Bounds::NONE)?, T::read(up, &Bounds::NONE)?])))
            }
            _ => {
                let allowed = format!("{}, or {{ down = .., up = .. }} with both", bounds.allowed.unwrap_or("a value"));
                Err(Invalid::value(value, allowed))
            }
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        match self {
            Sides::Both(value) => value.write(None),
            Sides::Each(values) => Value::table([("down", values[0].write(None)), ("up", values[1].write(None))]),
        }
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(self.write(None))
    }

    fn unit() -> &'static str {
        T::unit()
    }

    fn limits(_: &Bounds) -> String {
        T::limits(&Bounds::NONE)
    }

    fn schema(_: &Bounds, definitions: &mut Definitions) -> Value {
        let value = T::schema(&Bounds::NONE, definitions);
        let each = Value::table([
            ("type", "object".into()),
            ("properties", Value::table([("down", value.clone()), ("up", value.clone())])),
            ("required", vec!["down".into(), "up".into()].into()),
            ("additionalProperties", false.into()),
        ]);
        schema::either(vec![value, each])
    }
}
