//! The objective of a hunt: the figure of a run of which one end is bad, by its name.

use super::names;
use crate::Keys;
use crate::invalid::{Invalid, Read, choices};
use crate::keys::{Attribute, Bounds, KeyValue};
use crate::scenario::sweep::is_same;
use crate::schema::{self, Definitions};
use crate::table;
use crate::value::Value;

/// The objective that compares two values of a key.
const DIFFERENCE: &str = "difference";
/// The names of the objectives.
const NAMES: [&str; 7] = ["share", "goodput", "delay", "retransmissions", "mos", "repair", DIFFERENCE];
/// Before the module and the function of an objective in Python.
const PYTHON: &str = "python:";

/// An objective by its name, or as a table.
#[derive(Clone, Debug, PartialEq)]
pub struct Objective(pub HuntObjective);

/// What is bad.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(check = HuntObjective::check)]
pub struct HuntObjective {
    /// An objective, or a function in Python.
    #[key(example = "share", unit = "name")]
    pub name: ObjectiveName,
    /// The flow that the objective is about.
    #[key(example = "download", unit = "name", absent = "all flows; of share the first one")]
    pub flow: Option<FlowName>,
    /// Of `difference`: the figure that is compared.
    #[key(example = "delay", absent = "goodput")]
    pub of: Option<Compared>,
    /// Of `difference`: the key that differs, which is not searched.
    #[key(example = "tcp.variant", unit = "path")]
    pub key: Option<ComparedKey>,
    /// Of `difference`: the value that may break, and the one that it is compared with.
    #[key(example = TwoValues::example(), unit = "list")]
    pub values: Option<TwoValues>,
}

impl HuntObjective {
    fn check(&self) -> Read<()> {
        if self.name.0 == DIFFERENCE {
            let missing = |key: &str, allowed: &str| Err(Invalid::value(&Value::Absent, allowed).at(key));
            return match (&self.key, &self.values) {
                (None, _) => missing("key", COMPARED_KEY),
                (_, None) => missing("values", TWO_VALUES),
                _ => Ok(()),
            };
        }
        let others = [("of", self.of.is_some()), ("key", self.key.is_some()), ("values", self.values.is_some())];
        match others.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => {
                let statement = format!("`{key}` is of the objective difference");
                Err(Invalid::problem(&statement, &format!("leave {key} out")).at(key))
            }
            None => Ok(()),
        }
    }
}

impl KeyValue for Objective {
    fn read(value: &Value, bounds: &Bounds) -> Read<Objective> {
        let Value::Table(entries) = value else {
            let named = HuntObjective::read(&table!("name" => value.clone()), bounds);
            // There is no key `name`, but the value itself.
            return named.map(Objective).map_err(|invalid| Invalid { path: Vec::new(), ..invalid });
        };
        let mut entries = entries.clone();
        if value.get("name").is_none() {
            entries.push(("name".into(), Value::Absent));
        }
        HuntObjective::read(&Value::Table(entries), bounds).map(Objective)
    }

    fn write(&self, given: Option<&Value>) -> Value {
        if let Some(Value::Text(_)) = given { self.0.name.write(None) } else { self.0.write(given) }
    }

    fn attribute(&self) -> Attribute {
        self.0.attribute()
    }

    fn unit() -> &'static str {
        "table"
    }

    fn limits(bounds: &Bounds) -> String {
        ObjectiveName::limits(bounds)
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        schema::either(vec![ObjectiveName::schema(bounds, definitions), HuntObjective::schema(bounds, definitions)])
    }
}

names!(
    /// The figure of which two values of a key make a difference.
    Compared["share", "goodput", "delay", "retransmissions", "repair"]
);

/// The name of an objective.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectiveName(pub String);

impl KeyValue for ObjectiveName {
    fn read(value: &Value, _: &Bounds) -> Read<ObjectiveName> {
        match value {
            Value::Text(name) if NAMES.contains(&name.as_str()) || name.starts_with(PYTHON) => Ok(ObjectiveName(name.clone())),
            Value::Text(name) => Err(Invalid::value(value, of_names(Some(name)))),
            _ => Err(Invalid::value(value, of_names(None))),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.as_str().into()
    }

    fn unit() -> &'static str {
        "name"
    }

    fn limits(_: &Bounds) -> String {
        of_names(None)
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let of_user = table!("type" => "string", "pattern" => format!("^{PYTHON}"));
        schema::either(vec![schema::words(&NAMES), of_user])
    }
}

fn of_names(found: Option<&str>) -> String {
    format!("{}, or python:module.function", choices(&NAMES, found))
}

/// The name of a flow. Whether the scenario has it is asked where its flows are known.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowName(Value);

impl KeyValue for FlowName {
    fn read(value: &Value, _: &Bounds) -> Read<FlowName> {
        Ok(FlowName(value.clone()))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.clone()
    }

    fn unit() -> &'static str {
        "name"
    }

    fn limits(_: &Bounds) -> String {
        "the name of a flow".into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        table!("type" => "string")
    }
}

const COMPARED_KEY: &str = "the key that differs, such as key = \"tcp.variant\"";

/// The dotted path of a key of which two values are compared.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComparedKey(pub String);

impl KeyValue for ComparedKey {
    fn read(value: &Value, _: &Bounds) -> Read<ComparedKey> {
        match value {
            Value::Text(path) if !path.is_empty() => Ok(ComparedKey(path.clone())),
            _ => Err(Invalid::value(value, COMPARED_KEY)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.as_str().into()
    }

    fn unit() -> &'static str {
        "path"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        table!("type" => "string", "minLength" => 1)
    }
}

const TWO_VALUES: &str = "two different values, such as [\"bbr\", \"cubic\"]: the first is the one that may break";

/// Two values of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct TwoValues(pub [Value; 2]);

impl TwoValues {
    fn example() -> Value {
        vec![Value::from("bbr"), "cubic".into()].into()
    }
}

impl KeyValue for TwoValues {
    fn read(value: &Value, _: &Bounds) -> Read<TwoValues> {
        match value {
            Value::Array(values) => match values.as_slice() {
                [first, second] if !is_same(first, second) => Ok(TwoValues([first.clone(), second.clone()])),
                _ => Err(Invalid::value(value, TWO_VALUES)),
            },
            _ => Err(Invalid::value(value, TWO_VALUES)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.to_vec().into()
    }

    fn unit() -> &'static str {
        "list"
    }

    fn limits(_: &Bounds) -> String {
        "two different values".into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        table!("type" => "array", "minItems" => 2, "maxItems" => 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::invalid::Step;

    fn refused(value: Value) -> Invalid {
        Objective::read(&value, &Bounds::NONE).expect_err("an error")
    }

    #[test]
    fn objective_is_read_and_written_as_a_name_and_as_a_table() {
        for name in NAMES.into_iter().filter(|name| *name != DIFFERENCE) {
            let objective = Objective::read(&name.into(), &Bounds::NONE).expect("an objective");
            assert_eq!((objective.0.name.0.as_str(), objective.write(Some(&name.into()))), (name, name.into()));
        }
        let difference = table!("name" => DIFFERENCE, "key" => "tcp.variant", "values" => TwoValues::example());
        let read = Objective::read(&difference, &Bounds::NONE).expect("an objective");
        assert_eq!((read.0.of, read.write(Some(&difference))), (None, difference));
    }

    #[test]
    fn objective_is_refused_with_the_place_of_the_error() {
        let name = refused("godput".into());
        assert!(name.path.is_empty() && name.allowed.contains("did you mean goodput?"), "{name:?}");
        assert_eq!(refused(table!("flow" => "a")).path, [Step::Key("name".into())]);
        assert_eq!(refused(table!("name" => DIFFERENCE)).allowed, COMPARED_KEY);
        assert_eq!(refused(table!("name" => DIFFERENCE, "key" => "tcp.variant")).allowed, TWO_VALUES);
        let same = vec![Value::Int(1), 1.0.into()];
        assert_eq!(refused(table!("name" => DIFFERENCE, "key" => "clients", "values" => same)).allowed, TWO_VALUES);
        assert_eq!(refused(table!("name" => "mos", "of" => "delay")).found, "`of` is of the objective difference");
    }
}
