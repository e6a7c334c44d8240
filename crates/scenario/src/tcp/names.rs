//! Names of a catalogue: host stacks, congestion controls, recoveries, slow starts, rules of Linux.

use crate::invalid::{Invalid, Read, choices, format_value};
use crate::keys::{Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::sources::sources;
use crate::value::Value;
use ackclock_core::tcp::{LinuxRule, LinuxRules, RecoveryKind, SlowStart, Variant};

/// A host stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostName(pub String);

/// A congestion control of the engine, or a class in Python.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VariantName {
    Engine(Variant),
    Python(String),
}

/// A slow start, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStartName(pub &'static str);

/// The rules of Linux that a host follows: all, none, or some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinuxRuleNames {
    All(bool),
    Some(Vec<LinuxRule>),
}

const PYTHON: &str = "python:";

/// The names that are allowed, after what they name.
fn listed(what: &str, names: &[&str], value: &Value) -> String {
    let found = if let Value::Text(text) = value { Some(text.as_str()) } else { None };
    format!("{what} {}", choices(names, found))
}

/// An entry by its name.
fn named<T: Copy>(value: &Value, what: &str, names: &[&str], entries: &[T]) -> Read<T> {
    let place = names.iter().position(|name| *value == Value::from(*name));
    place.map(|place| entries[place]).ok_or_else(|| Invalid::value(value, listed(what, names, value)))
}

fn variants() -> Vec<&'static str> {
    Variant::ALL.iter().map(|variant| variant.name()).collect()
}

fn recoveries() -> Vec<&'static str> {
    RecoveryKind::ALL.iter().map(|recovery| recovery.name()).collect()
}

fn slow_starts() -> Vec<&'static str> {
    SlowStart::TABLE.iter().map(|(name, _, _)| *name).collect()
}

impl VariantName {
    pub fn name(&self) -> &str {
        match self {
            VariantName::Engine(variant) => variant.name(),
            VariantName::Python(class) => class,
        }
    }
}

impl LinuxRuleNames {
    pub fn rules(&self) -> LinuxRules {
        match self {
            LinuxRuleNames::All(true) => LinuxRules::all(),
            LinuxRuleNames::All(false) => LinuxRules::default(),
            LinuxRuleNames::Some(rules) => rules.iter().copied().collect(),
        }
    }
}

impl KeyValue for HostName {
    fn read(value: &Value, _: &Bounds) -> Read<HostName> {
        let known = sources().hosts();
        match value {
            Value::Text(name) if known.contains(name) => Ok(HostName(name.clone())),
            _ => {
                let names: Vec<&str> = known.iter().map(String::as_str).collect();
                Err(Invalid::value(value, listed("a host stack:", &names, value)))
            }
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.as_str().into()
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        format!("a host stack: {}", sources().hosts().join(", "))
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let known = sources().hosts();
        schema::words(&known.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

impl KeyValue for VariantName {
    fn read(value: &Value, _: &Bounds) -> Read<VariantName> {
        if let Value::Text(name) = value
            && name.starts_with(PYTHON)
        {
            return sources().check_class(name).map(|()| VariantName::Python(name.clone()));
        }
        named(value, "a variant:", &variants(), Variant::ALL).map(VariantName::Engine).map_err(|mut invalid| {
            invalid.allowed.push_str("; or a class: \"python:module.Class\"");
            invalid
        })
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.name().into()
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        format!("a variant: {}; or a class: \"python:module.Class\"", variants().join(", "))
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let class = Value::table([("type", "string".into()), ("pattern", r"^python:.+\..+$".into())]);
        schema::either(vec![schema::words(&variants()), class])
    }
}

impl KeyValue for RecoveryKind {
    fn read(value: &Value, _: &Bounds) -> Read<RecoveryKind> {
        named(value, "a recovery:", &recoveries(), RecoveryKind::ALL)
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.name().into()
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        format!("a recovery: {}", recoveries().join(", "))
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::words(&recoveries())
    }
}

impl KeyValue for SlowStartName {
    fn read(value: &Value, _: &Bounds) -> Read<SlowStartName> {
        named(value, "a slow start:", &slow_starts(), &slow_starts()).map(SlowStartName)
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.into()
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        format!("a slow start: {}", slow_starts().join(", "))
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::words(&slow_starts())
    }
}

impl KeyValue for LinuxRuleNames {
    fn read(value: &Value, bounds: &Bounds) -> Read<LinuxRuleNames> {
        let names: Vec<&str> = LinuxRule::ALL.iter().map(|rule| rule.name()).collect();
        match value {
            Value::Bool(all) => Ok(LinuxRuleNames::All(*all)),
            Value::Array(rules) => {
                let rule = |rule| named(rule, "a rule of Linux:", &names, LinuxRule::ALL);
                rules.iter().map(rule).collect::<Read<_>>().map(LinuxRuleNames::Some)
            }
            _ => Err(Invalid::new(format_value(value), LinuxRuleNames::limits(bounds))),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        match self {
            LinuxRuleNames::All(all) => (*all).into(),
            LinuxRuleNames::Some(rules) => Value::Array(rules.iter().map(|rule| rule.name().into()).collect()),
        }
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn limits(_: &Bounds) -> String {
        "true (every rule of Linux), false, or a list of rules".into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let text = Value::table([("type", "string".into())]);
        schema::either(vec![Value::table([("type", "boolean".into())]), schema::array(text, [])])
    }
}
