//! A key that is a table, or off.

use crate::invalid::{Invalid, Read};
use crate::keys::{Attribute, Bounds, KeyValue, Table};
use crate::schema::{self, Definitions};
use crate::value::Value;

/// `false`, `true` where it has a meaning, or a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Switch<R: SwitchRule> {
    Off,
    /// `true`, which the host stack says in detail.
    OfHost,
    On(R::Table),
}

/// A key that may be `false` or a table.
pub trait SwitchRule: Sized {
    type Table: Table;
    /// The forms, in the words of the error message.
    const ALLOWED: &'static str;

    /// The value of `true`; None: it has none.
    fn of_true() -> Option<Switch<Self>> {
        None
    }
}

impl<R: SwitchRule> Switch<R> {
    pub fn table(&self) -> Option<&R::Table> {
        if let Switch::On(table) = self { Some(table) } else { None }
    }
}

/// `false` alone, as a schema.
fn off_schema() -> Value {
    Value::table([("enum", vec![false.into()].into())])
}

impl<R: SwitchRule> KeyValue for Switch<R> {
    fn read(value: &Value, _: &Bounds) -> Read<Switch<R>> {
        let of_true = if *value == Value::Bool(true) { R::of_true() } else { None };
        match (value, of_true) {
            (Value::Bool(false), _) => Ok(Switch::Off),
            (_, Some(on)) => Ok(on),
            (Value::Table(_), _) => R::Table::read(value, &Bounds::NONE).map(Switch::On),
            _ => Err(Invalid::value(value, R::ALLOWED)),
        }
    }

    fn write(&self, given: Option<&Value>) -> Value {
        match self {
            Switch::Off => false.into(),
            Switch::OfHost => true.into(),
            Switch::On(table) => table.write(given),
        }
    }

    fn attribute(&self) -> Attribute {
        match self {
            Switch::On(table) => KeyValue::attribute(table),
            _ => Attribute::Value(self.write(None)),
        }
    }

    fn unit() -> &'static str {
        "table or false"
    }

    fn limits(_: &Bounds) -> String {
        R::ALLOWED.into()
    }

    fn schema(_: &Bounds, definitions: &mut Definitions) -> Value {
        let flag = if R::of_true().is_some() { Value::table([("type", "boolean".into())]) } else { off_schema() };
        schema::either(vec![flag, R::Table::schema(&Bounds::NONE, definitions)])
    }
}
