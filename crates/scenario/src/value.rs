//! A value as a file or Python gives it, before any key is known.

use crate::number_text::{general, shortest};

/// A TOML value, or what Python has in its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Python's None. TOML has no such value.
    Absent,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    Array(Vec<Value>),
    /// In the order of the file.
    Table(Vec<(String, Value)>),
    /// Anything else, by its text: a date, an integer beyond 64 bits, an object of Python.
    Other(String),
}

impl Value {
    /// A table of these keys.
    pub fn table<const N: usize>(entries: [(&str, Value); N]) -> Value {
        Value::Table(entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
    }

    /// The value of a key of a table.
    pub fn get(&self, key: &str) -> Option<&Value> {
        match self {
            Value::Table(entries) => entries.iter().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// A number: an integer is one, too.
    pub fn number(&self) -> Option<f64> {
        match *self {
            Value::Int(number) => Some(number as f64),
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    /// As a file has it, in one line.
    pub fn to_toml(&self) -> String {
        self.toml(shortest)
    }

    /// In one line, with at most six digits for a number.
    pub fn to_short_toml(&self) -> String {
        self.toml(general)
    }

    fn toml(&self, number_text: fn(f64) -> String) -> String {
        match self {
            Value::Absent => String::new(),
            Value::Bool(yes) => yes.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number_text(*number),
            Value::Text(text) | Value::Other(text) => format!("\"{text}\""),
            Value::Array(values) => {
                format!("[{}]", values.iter().map(|value| value.toml(number_text)).collect::<Vec<_>>().join(", "))
            }
            Value::Table(entries) => {
                let present = entries.iter().filter(|(_, value)| *value != Value::Absent);
                let pairs: Vec<String> = present.map(|(key, value)| format!("{key} = {}", value.toml(number_text))).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }
}

/// A table, such as `table!("segments" => 2, "timer" => "40 ms")`.
#[macro_export]
macro_rules! table {
    ($($key:literal => $value:expr),+ $(,)?) => {
        $crate::value::Value::table([$(($key, $crate::value::Value::from($value))),+])
    };
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<bool> for Value {
    fn from(yes: bool) -> Value {
        Value::Bool(yes)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Float(number)
    }
}

impl From<Vec<Value>> for Value {
    fn from(values: Vec<Value>) -> Value {
        Value::Array(values)
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Value {
    fn from(entries: [(&str, Value); N]) -> Value {
        Value::table(entries)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn value_is_written_as_toml_when_it_is_a_table_with_an_absent_key() {
        let value = Value::table([("mean", 0.5.into()), ("of", Value::Absent), ("list", vec![Value::Int(1), "x".into()].into())]);
        assert_eq!((Value::Float(1.0).to_toml(), Value::Float(1.0).to_short_toml()), ("1.0".into(), "1".into()));
        assert_eq!(value.to_toml(), "{ mean = 0.5, list = [1, \"x\"] }");
        assert_eq!(value.get("mean").and_then(Value::number), Some(0.5));
        assert_eq!(value.get("none"), None);
    }
}
