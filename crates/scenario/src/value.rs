//! A value as a file or Python gives it, before any key is known.

use crate::number_text::{general, shortest};
use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::fmt;

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

    /// The value at a path of keys, and of indices of arrays.
    pub fn at(&self, path: &[String]) -> Option<&Value> {
        path.iter().try_fold(self, |value, step| match value {
            Value::Array(values) => values.get(step.parse::<usize>().ok()?),
            _ => value.get(step),
        })
    }

    /// Sets a value at a path, and makes the tables in between. None removes the key, and the tables
    /// that this leaves empty.
    pub fn put(&mut self, path: &[String], value: Option<Value>) {
        let Some((step, rest)) = path.split_first() else {
            *self = value.unwrap_or(Value::Absent);
            return;
        };
        match self {
            Value::Array(values) => {
                if let Some(inner) = step.parse::<usize>().ok().and_then(|index| values.get_mut(index)) {
                    inner.put(rest, value);
                }
            }
            Value::Table(entries) => {
                let place = entries.iter().position(|(key, _)| key == step).unwrap_or_else(|| {
                    entries.push((step.clone(), Value::Table(Vec::new())));
                    entries.len() - 1
                });
                entries[place].1.put(rest, value);
                let is_empty = matches!(&entries[place].1, Value::Table(inner) if inner.is_empty());
                if entries[place].1 == Value::Absent || is_empty {
                    entries.remove(place);
                }
            }
            _ => {}
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
                let pairs: Vec<String> =
                    present.map(|(key, value)| format!("{} = {}", key_text(key), value.toml(number_text))).collect();
                format!("{{ {} }}", pairs.join(", "))
            }
        }
    }
}

/// As JSON: a table without its absent keys.
impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Value::Absent => serializer.serialize_none(),
            Value::Bool(yes) => serializer.serialize_bool(*yes),
            Value::Int(number) => serializer.serialize_i64(*number),
            Value::Float(number) => serializer.serialize_f64(*number),
            Value::Text(text) | Value::Other(text) => serializer.serialize_str(text),
            Value::Array(values) => serializer.collect_seq(values),
            Value::Table(entries) => {
                let mut map = serializer.serialize_map(None)?;
                for (key, value) in entries.iter().filter(|(_, value)| *value != Value::Absent) {
                    map.serialize_entry(key, value)?;
                }
                map.end()
            }
        }
    }
}

/// A key as TOML has it: in quotes unless it is bare.
fn key_text(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_bare { key.into() } else { format!("\"{key}\"") }
}

impl From<&Value> for serde_json::Value {
    /// An integer is one, a float is none, and an absent value is null.
    fn from(value: &Value) -> serde_json::Value {
        match value {
            Value::Absent => serde_json::Value::Null,
            Value::Bool(yes) => (*yes).into(),
            Value::Int(number) => (*number).into(),
            Value::Float(number) => (*number).into(),
            Value::Text(text) | Value::Other(text) => text.as_str().into(),
            Value::Array(values) => values.iter().map(serde_json::Value::from).collect(),
            Value::Table(entries) => entries.iter().map(|(key, value)| (key.clone(), serde_json::Value::from(value))).collect(),
        }
    }
}

/// From JSON, the keys of a table in their order.
impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value of a link file")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Absent)
    }

    fn visit_bool<E: Error>(self, yes: bool) -> Result<Value, E> {
        Ok(Value::Bool(yes))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Int(number))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or_else(|_| Value::Other(number.to_string()), Value::Int))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Float(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = elements.next_element()? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = pairs.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Table(entries))
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

    #[test]
    fn value_is_the_same_after_json_and_its_keys_keep_their_order() {
        let text = r#"{"rate":{"up":"1 Mb/s","down":"8 Mb/s"},"mean":0.5,"packets":50,"list":[true]}"#;
        let value: Value = serde_json::from_str(text).expect("JSON");
        assert_eq!(serde_json::to_string(&value).expect("a value"), text);
        let absent: Value = serde_json::from_str("{\"a\":null,\"b\":18446744073709551615}").expect("JSON");
        assert_eq!(serde_json::to_string(&absent).expect("a value"), "{\"b\":\"18446744073709551615\"}");
    }

    #[test]
    fn table_disappears_when_its_last_key_is_removed() {
        let path = |text: &str| text.split('.').map(str::to_owned).collect::<Vec<_>>();
        let mut value = table!("list" => vec![table!("start" => "1 s")]);
        value.put(&path("queue.down.packets"), Some(5.into()));
        value.put(&path("list.0.start"), Some("2 s".into()));
        value.put(&path("list.7.start"), Some("3 s".into()));
        assert_eq!(value.to_toml(), "{ list = [{ start = \"2 s\" }], queue = { down = { packets = 5 } } }");
        assert_eq!(value.at(&path("queue.down.packets")), Some(&Value::Int(5)));
        value.put(&path("queue.down.packets"), None);
        assert_eq!((value.at(&path("queue")), value.at(&path("list.1"))), (None, None));
    }
}
