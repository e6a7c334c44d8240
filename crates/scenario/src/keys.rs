//! What the derive macro joins: values with their bounds, tables with their keys.

use crate::controls::{Control, Number};
use crate::invalid::{Code, Invalid, MAX_NAMES, Read, Step, choices};
use crate::schema::{self, Definitions};
use crate::value::Value;
use ackclock_core::medium::Direction;
use std::any::Any;
use std::sync::Arc;

/// A value of a key: it reads, writes, and says its unit, its limits and its form.
pub trait KeyValue: Sized {
    /// An absent key has a value without a default.
    const OPTIONAL: bool = false;

    fn read(value: &Value, bounds: &Bounds) -> Read<Self>;

    /// As a file has it. `given`: of tables only the keys that this value had; None: all keys.
    fn write(&self, given: Option<&Value>) -> Value;

    /// For a program: times in picoseconds, rates in bits per second, sizes in bytes.
    fn attribute(&self) -> Attribute {
        Attribute::Value(self.write(None))
    }

    /// Of the value: b/s, time, size, share, choice, table.
    fn unit() -> &'static str;

    /// The values that are allowed, in the words of the error messages; empty: any of the unit.
    fn limits(_: &Bounds) -> String {
        String::new()
    }

    /// The JSON Schema of the value in a file; tables are added to the definitions.
    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value;

    /// The value of an absent key, if `OPTIONAL`.
    fn absent() -> Option<Self> {
        None
    }

    /// What the value counts, if it is one number or an array of such.
    fn number(_: &Bounds) -> Option<Number> {
        None
    }

    /// The values of a key that has a few ones, such as words; a page offers them.
    fn options() -> Vec<Value> {
        Vec::new()
    }

    /// The controls of a value that is a table, or of each element of an array.
    fn controls(_: &Value) -> Vec<Control> {
        Vec::new()
    }
}

/// The key `kind` of a table, which has one value there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Kind;

/// What a key's attributes say about its value. The words are those of the error message.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bounds {
    pub min: Option<Bound>,
    pub max: Option<Bound>,
    /// Exclusive bounds.
    pub above: Option<Bound>,
    pub below: Option<Bound>,
    pub allowed: Option<&'static str>,
    /// Instead of `allowed` above `max`.
    pub beyond: Option<&'static str>,
}

impl Bounds {
    pub const NONE: Bounds = Bounds { min: None, max: None, above: None, below: None, allowed: None, beyond: None };
}

/// A number, or a quantity with its unit.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    Int(i64),
    Float(f64),
    Text(&'static str),
}

impl Bound {
    pub fn value(self) -> Value {
        match self {
            Bound::Int(number) => Value::Int(number),
            Bound::Float(number) => Value::Float(number),
            Bound::Text(text) => Value::from(text),
        }
    }

    pub fn number(self) -> f64 {
        self.value().number().unwrap_or(f64::NAN)
    }
}

/// An attribute of a table that was read.
#[derive(Clone, Debug)]
pub enum Attribute {
    Value(Value),
    Table(Arc<dyn Checked>),
    Array(Vec<Attribute>),
}

/// A table that was read, whatever its kind.
pub trait Checked: Any + std::fmt::Debug + Send + Sync {
    /// The name of its struct.
    fn table(&self) -> &'static str;
    /// The value of a key.
    fn attribute(&self, key: &str) -> Option<Attribute>;
    /// What was given for an attribute of a table that was read from `given`.
    fn given(&self, key: &str, given: &Value) -> Option<Value> {
        given.get(key).cloned()
    }
    /// As a file has it; see [`KeyValue::write`].
    fn written(&self, given: Option<&Value>) -> Value;
    /// The configuration of the engine as a plan has it; null for a table that is none by itself.
    fn plan(&self) -> serde_json::Value;
}

/// Keys that stand in a table: all of it, or those that another table has among its own.
pub trait KeySet: Sized {
    /// In the order in which they are checked.
    fn keys() -> Vec<Key>;

    fn names() -> Vec<&'static str>;

    /// What changes the keys. Apart from `keys`, whose limits and schemas a page has no use for.
    fn key_controls() -> Vec<Control>;

    /// An error if a key is missing; `names` are those of the whole table.
    fn require(entries: &[(String, Value)], names: &[&str]) -> Read<()>;

    /// The values of the keys, without the checks over several.
    fn read_keys(entries: &[(String, Value)]) -> Read<Self>;

    /// See [`KeyValue::write`].
    fn write_keys(&self, given: Option<&Value>) -> Vec<(String, Value)>;

    fn key_attribute(&self, key: &str) -> Option<Attribute>;
}

/// A written table, with `#[derive(Keys)]`.
pub trait Table: KeyValue + KeySet + Checked {
    const NAME: &'static str;
    /// Its value of the key `kind`.
    const KIND: Option<&'static str>;

    /// What the table is: its doc comment.
    fn description() -> &'static str;
}

/// The description of a key.
pub struct Key {
    pub name: &'static str,
    /// What it means: its doc comment.
    pub text: &'static str,
    pub unit: &'static str,
    pub default: KeyDefault,
    pub limits: String,
    pub example: Value,
    /// The example as TOML.
    pub example_text: String,
    /// The key whose value is the table's kind.
    pub is_kind: bool,
    /// A table of both directions may stand for the value.
    is_per_direction: bool,
    bounds: Bounds,
    check: fn(&Value, &Bounds) -> Read<()>,
    schema: fn(&Bounds, &mut Definitions) -> Value,
}

/// What an absent key means.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyDefault {
    Required,
    Value(Value),
    Words(&'static str),
}

/// What a key's attributes say beside its bounds.
#[derive(Default)]
pub struct Notes {
    pub text: &'static str,
    pub unit: Option<&'static str>,
    pub default: Option<Value>,
    pub absent: Option<&'static str>,
    /// As a value, and as TOML.
    pub example: Option<(Value, &'static str)>,
}

impl Key {
    pub fn of<T: KeyValue>(name: &'static str, bounds: Bounds, notes: Notes) -> Key {
        let default = match (notes.absent, notes.default) {
            (Some(words), _) => KeyDefault::Words(words),
            (None, Some(value)) => KeyDefault::Value(value),
            (None, None) if T::OPTIONAL => KeyDefault::Words("none"),
            (None, None) => KeyDefault::Required,
        };
        let (example, example_text) = match (notes.example, &default) {
            (Some((value, "")), _) => (value.clone(), value.to_toml()),
            (Some((value, text)), _) => (value, text.into()),
            (None, KeyDefault::Value(value)) => (value.clone(), value.to_short_toml()),
            (None, _) => (Value::Absent, String::new()),
        };
        Key {
            name,
            text: notes.text,
            unit: notes.unit.unwrap_or(T::unit()),
            default,
            limits: T::limits(&bounds),
            example,
            example_text,
            is_kind: false,
            is_per_direction: false,
            bounds,
            check: |value, bounds| T::read(value, bounds).map(|_| ()),
            schema: T::schema,
        }
    }

    /// The key `kind` of a table; `default`: the kind of a table without the key.
    pub fn kind(kind: &'static str, text: &'static str, default: bool) -> Key {
        Key {
            name: "kind",
            text,
            unit: "choice",
            default: if default { KeyDefault::Words(kind) } else { KeyDefault::Required },
            limits: format!("\"{kind}\""),
            example: kind.into(),
            example_text: format!("\"{kind}\""),
            is_kind: true,
            is_per_direction: false,
            bounds: Bounds::NONE,
            check: |_, _| Ok(()),
            schema: |_, _| Value::Table(Vec::new()),
        }
    }

    /// An error if this is no value of the key.
    pub fn check(&self, value: &Value) -> Read<()> {
        (self.check)(value, &self.bounds)
    }

    /// The same key of a table that has two directions.
    pub fn per_direction(self) -> Key {
        Key { is_per_direction: true, ..self }
    }

    pub fn value_schema(&self, definitions: &mut Definitions) -> Value {
        let schema = (self.schema)(&self.bounds, definitions);
        if self.is_per_direction { schema::or_per_direction(schema) } else { schema }
    }
}

/// Whether a key has the form `key.down = .., key.up = ..`.
pub fn is_per_direction(value: &Value) -> bool {
    match value {
        Value::Table(entries) => !entries.is_empty() && entries.iter().all(|(key, _)| is_direction(key)),
        _ => false,
    }
}

pub fn is_direction(key: &str) -> bool {
    Direction::BOTH.iter().any(|side| side.name() == key)
}

/// How people write the size of a buffer that they measured as a delay.
const TIMES: [&str; 5] = ["time", "ms", "delay", "latency", "duration"];

/// The keys of a table as written; an error for another value, then for an unknown key.
pub fn entries<'a>(value: &'a Value, names: &[&str]) -> Read<&'a [(String, Value)]> {
    let Value::Table(entries) = value else {
        return Err(Invalid::value(value, format!("a table with the keys {}", names.join(", "))));
    };
    match entries.iter().find(|(key, _)| !names.contains(&key.as_str())) {
        Some((key, _)) => {
            let mut allowed = choices(names, Some(key));
            if TIMES.contains(&key.as_str()) && names.contains(&"bytes") {
                allowed += "; a time is rate x time / 8 in bytes: 400 ms at 12 Mb/s are 600 kB";
            }
            let unknown = Invalid::new(format!("unknown key \"{key}\""), allowed);
            Err(unknown.with_code(Code::UnknownKey).at(key))
        }
        None => Ok(entries),
    }
}

/// An error if a key is missing; `needed`: its words in place of the usual ones.
pub fn require(entries: &[(String, Value)], name: &str, names: &[&str], needed: Option<&str>) -> Read<()> {
    if entries.iter().any(|(key, _)| key == name) {
        return Ok(());
    }
    let keys = if names.len() <= MAX_NAMES { format!("; keys: {}", names.join(", ")) } else { String::new() };
    let needed = needed.map_or_else(|| format!("the key \"{name}\" is required here{keys}"), str::to_owned);
    let missing = Invalid::new(format!("no \"{name}\""), needed);
    Err(missing.with_code(Code::MissingKey))
}

/// The value of a key, or that of an absent one. A function for each type, not for each key.
pub fn value<T: KeyValue>(entries: &[(String, Value)], name: &str, bounds: &Bounds, default: Option<fn() -> Value>) -> Read<T> {
    if let Some((_, value)) = entries.iter().find(|(key, _)| key == name) {
        return T::read(value, bounds).map_err(|invalid| invalid.at(name));
    }
    match default {
        Some(default) => T::read(&default(), bounds),
        None => T::absent().ok_or_else(|| Invalid::new(format!("no \"{name}\""), "a value").with_code(Code::MissingKey)),
    }
}

/// Adds a key to a written table; see [`KeyValue::write`].
pub fn write<T: KeyValue>(written: &mut Vec<(String, Value)>, name: &str, value: &T, given: Option<&Value>) {
    if given.is_none_or(|given| given.get(name).is_some()) {
        written.push((name.to_owned(), value.write(given.and_then(|given| given.get(name)))));
    }
}

impl<T: KeyValue> KeyValue for Option<T> {
    const OPTIONAL: bool = true;

    fn read(value: &Value, bounds: &Bounds) -> Read<Self> {
        if *value == Value::Absent { Ok(None) } else { T::read(value, bounds).map(Some) }
    }

    fn write(&self, given: Option<&Value>) -> Value {
        self.as_ref().map_or(Value::Absent, |value| value.write(given))
    }

    fn attribute(&self) -> Attribute {
        self.as_ref().map_or(Attribute::Value(Value::Absent), KeyValue::attribute)
    }

    fn unit() -> &'static str {
        T::unit()
    }

    fn limits(bounds: &Bounds) -> String {
        T::limits(bounds)
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        T::schema(bounds, definitions)
    }

    fn absent() -> Option<Self> {
        Some(None)
    }

    fn number(bounds: &Bounds) -> Option<Number> {
        T::number(bounds)
    }

    fn options() -> Vec<Value> {
        T::options()
    }

    fn controls(value: &Value) -> Vec<Control> {
        T::controls(value)
    }
}

/// A table that attributes share.
impl<T: Table> KeyValue for Arc<T> {
    fn read(value: &Value, bounds: &Bounds) -> Read<Self> {
        T::read(value, bounds).map(Arc::new)
    }

    fn write(&self, given: Option<&Value>) -> Value {
        T::write(self, given)
    }

    fn attribute(&self) -> Attribute {
        Attribute::Table(Arc::<T>::clone(self))
    }

    fn unit() -> &'static str {
        T::unit()
    }

    fn limits(bounds: &Bounds) -> String {
        T::limits(bounds)
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        T::schema(bounds, definitions)
    }
}

/// An array, of which `allowed` says what it should be.
impl<T: KeyValue> KeyValue for Vec<T> {
    fn read(value: &Value, bounds: &Bounds) -> Read<Self> {
        let Value::Array(values) = value else {
            return Err(Invalid::value(value, bounds.allowed.unwrap_or("a list")));
        };
        let read = |(index, value)| T::read(value, &Bounds::NONE).map_err(|invalid| invalid.below(Step::Index(index)));
        values.iter().enumerate().map(read).collect()
    }

    fn write(&self, given: Option<&Value>) -> Value {
        let given_at = |index: usize| match given {
            Some(Value::Array(values)) => values.get(index),
            _ => given,
        };
        Value::Array(self.iter().enumerate().map(|(index, value)| value.write(given_at(index))).collect())
    }

    fn attribute(&self) -> Attribute {
        Attribute::Array(self.iter().map(KeyValue::attribute).collect())
    }

    fn unit() -> &'static str {
        "tables"
    }

    fn limits(bounds: &Bounds) -> String {
        bounds.allowed.unwrap_or("a list").into()
    }

    fn schema(_: &Bounds, definitions: &mut Definitions) -> Value {
        schema::array(T::schema(&Bounds::NONE, definitions), [])
    }

    fn number(_: &Bounds) -> Option<Number> {
        T::number(&Bounds::NONE)
    }

    fn controls(value: &Value) -> Vec<Control> {
        T::controls(value)
    }
}

/// The kind of a table that several tables may stand for.
pub fn kind<'a>(value: &'a Value, kinds: &[&'static str], default: Option<&'static str>) -> Read<&'a str> {
    let Value::Table(_) = value else {
        let example = match value {
            Value::Text(name) if kinds.contains(&name.as_str()) => format!(", such as {{ kind = \"{name}\" }}"),
            _ => String::new(),
        };
        return Err(Invalid::value(value, format!("a table with a kind: {}{example}", kinds.join(", "))));
    };
    let required = || Invalid::value(value, format!("the key \"kind\" is required here: {}", kinds.join(", ")));
    let found = match value.get("kind") {
        None => return default.ok_or_else(required),
        Some(Value::Absent) => return Err(required()),
        Some(found) => found,
    };
    match found {
        Value::Text(name) if kinds.contains(&name.as_str()) => Ok(name),
        Value::Text(name) => Err(Invalid::value(found, format!("kind {}", choices(kinds, Some(name)))).at("kind")),
        _ => Err(Invalid::value(found, format!("kind {}", choices(kinds, None))).at("kind")),
    }
}
