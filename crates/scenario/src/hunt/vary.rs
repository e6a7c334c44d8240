//! The space that a hunt searches: for each dotted path a range, a list of choices, losses, or a value of
//! which some parts are such.

use super::names;
use crate::Keys;
use crate::invalid::{Invalid, Read, Step, format_value};
use crate::keys::{Bounds, KeySet, KeyValue, entries};
use crate::scenario::sweep::{check_different, flattened};
use crate::schema::{self, Definitions};
use crate::table;
use crate::units::Quantity;
use crate::value::Value;
use crate::values::Count;

/// What may vary, by dotted path.
#[derive(Clone, Debug, PartialEq)]
pub struct Vary {
    given: Value,
    pub paths: Vec<(String, Node)>,
}

/// A value of a scenario, or how it is drawn.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    Range(HuntRange),
    Losses(HuntLosses),
    /// One of these.
    Choice(Vec<Node>),
    /// A table, and a list, some of whose parts are drawn.
    Table(Vec<(String, Node)>),
    List(Vec<Node>),
    Constant(Value),
}

const FORMS: &str = "a range such as { from = \"1 ms\", to = \"100 ms\", scale = \"log\" }, a list of choices, or { losses = 3, \
                     within = 1000 }";

impl Vary {
    pub(super) fn example() -> Value {
        table!("hop.dsl.delay" => table!("from" => "5 ms", "to" => "100 ms"))
    }
}

/// A range or losses, and no table of a scenario's keys.
fn is_drawn(table: &Value) -> bool {
    table.get("from").is_some() || table.get("losses").is_some()
}

impl Node {
    /// `inner`: a part of a value, which may be constant.
    fn read(value: &Value, inner: bool) -> Read<Node> {
        match value {
            Value::Table(_) if value.get("losses").is_some() => HuntLosses::read(value, &Bounds::NONE).map(Node::Losses),
            Value::Table(_) if is_drawn(value) => HuntRange::read(value, &Bounds::NONE).map(Node::Range),
            Value::Table(parts) => {
                let part = |(key, part): &(String, Value)| match Node::read(part, true) {
                    Ok(node) => Ok((key.clone(), node)),
                    Err(invalid) => Err(invalid.at(key)),
                };
                parts.iter().map(part).collect::<Read<_>>().map(Node::Table)
            }
            // A list of lists inside a value is the value's own, such as a schedule.
            Value::Array(items) if inner && items.iter().any(|item| matches!(item, Value::Array(_))) => Node::list(items),
            Value::Array(options) if options.is_empty() => Err(Invalid::value(value, "a list of at least one choice")),
            Value::Array(options) => {
                check_different(options, "different choices")?;
                each(options, |option| Node::read(option, true)).map(Node::Choice)
            }
            _ if inner => Ok(Node::Constant(value.clone())),
            _ => Err(Invalid::value(value, FORMS)),
        }
    }

    fn list(items: &[Value]) -> Read<Node> {
        let item = |item: &Value| if let Value::Array(inner) = item { Node::list(inner) } else { Node::read(item, true) };
        each(items, item).map(Node::List)
    }
}

fn each(values: &[Value], read: impl Fn(&Value) -> Read<Node>) -> Read<Vec<Node>> {
    values.iter().enumerate().map(|(index, value)| read(value).map_err(|invalid| invalid.below(Step::Index(index)))).collect()
}

impl KeyValue for Vary {
    fn read(value: &Value, _: &Bounds) -> Read<Vary> {
        let Value::Table(entries) = value else {
            return Err(Invalid::value(value, "a table of ranges by dotted path"));
        };
        let is_value = |value: &Value| is_drawn(value) || *value == Value::Table(Vec::new());
        let read = |(path, value): (String, Value)| match Node::read(&value, false) {
            Ok(node) => Ok((path, node)),
            Err(invalid) => Err(invalid.at(&path)),
        };
        let paths = flattened(entries, &is_value).into_iter().map(read).collect::<Read<_>>()?;
        Ok(Vary { given: value.clone(), paths })
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.given.clone()
    }

    fn unit() -> &'static str {
        "table"
    }

    /// The ranges stand at any depth; that their tables are defined is all that a schema says of them.
    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        HuntRange::schema(bounds, definitions);
        HuntLosses::schema(bounds, definitions);
        table!("type" => "object", "minProperties" => 1)
    }
}

names!(
    /// What is equally likely: equal ratios, or equal differences.
    Scale["log", "linear"]
);

/// A number, or a rate, a time or a size, between two ends.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = HuntRange::check_form, check = HuntRange::check)]
pub struct HuntRange {
    /// The minimum. Its form is that of the other numbers; whole numbers are drawn if both ends are.
    #[key(example = "5 ms")]
    pub from: RangeEnd,
    /// The maximum.
    #[key(example = "100 ms")]
    pub to: RangeEnd,
    /// What is equally likely: equal ratios, or equal differences.
    #[key(default = "linear", example = "log")]
    pub scale: Scale,
    /// The simplest value, toward which a case is made simple.
    #[key(example = "5 ms", absent = "the scenario's own, else the middle")]
    pub simple: Option<RangeEnd>,
}

/// The ends of a range and its simplest value, in the base unit of its quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeNumbers {
    pub quantity: Option<Quantity>,
    pub low: Value,
    pub high: Value,
    pub simple: Option<Value>,
}

impl HuntRange {
    fn check_form(value: &Value) -> Read<Option<Value>> {
        entries(value, &HuntRange::names())?;
        match value.get("to") {
            Some(_) => Ok(None),
            None => Err(Invalid::new("no `to`", "the end of the range, such as to = \"100 ms\"")),
        }
    }

    fn check(&self) -> Read<()> {
        let numbers = self.numbers()?;
        let [low, high] = [&numbers.low, &numbers.high].map(|end| end.number().unwrap_or(f64::NAN));
        if high < low {
            let allowed = format!("at least `from`, {}", format_value(&self.from.0));
            return Err(Invalid::value(&self.to.0, allowed).at("to"));
        }
        if self.scale.0 == "log" && low <= 0.0 {
            return Err(Invalid::value(&self.from.0, "above zero, or scale = \"linear\"").at("from"));
        }
        Ok(())
    }

    /// The numbers; an error for an end without a number, or of another form than `from`.
    pub fn numbers(&self) -> Read<RangeNumbers> {
        let from = &self.from.0;
        let (quantity, low) = match (from.number(), Quantity::of(from)) {
            (Some(_), _) => (None, from.clone()),
            (None, Some((quantity, number))) => (Some(quantity), Value::Int(number)),
            (None, None) => {
                return Err(Invalid::value(from, "a number, a rate, a time or a size, such as \"10 ms\"").at("from"));
            }
        };
        let number = |end: &RangeEnd, key: &str| {
            let found = match quantity {
                None => end.0.number().map(|_| end.0.clone()),
                Some(quantity) => quantity.read(&end.0).ok().map(Value::Int),
            };
            let allowed =
                || quantity.map_or("a number, as `from`".into(), |of| format!("a {} with its unit, as `from`", of.name()));
            found.ok_or_else(|| Invalid::value(&end.0, allowed()).at(key))
        };
        let high = number(&self.to, "to")?;
        let simple = self.simple.as_ref().map(|simple| number(simple, "simple")).transpose()?;
        Ok(RangeNumbers { quantity, low, high, simple })
    }
}

/// A number, or a quantity with its unit. What it must be hangs on the other end of its range.
#[derive(Clone, Debug, PartialEq)]
pub struct RangeEnd(Value);

impl KeyValue for RangeEnd {
    fn read(value: &Value, _: &Bounds) -> Read<RangeEnd> {
        Ok(RangeEnd(value.clone()))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.clone()
    }

    fn unit() -> &'static str {
        "number or quantity"
    }

    fn limits(_: &Bounds) -> String {
        "a number, a rate, a time or a size".into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::number_or_text()
    }
}

names!(
    /// Which packets are counted.
    LossOf["data", "all"]
);

/// A list of lost packets, of which the first, and each gap to the next, is on a log scale.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct HuntLosses {
    /// Maximum number of lost packets.
    #[key(example = 3, max = 64, allowed = "a number of packets from 1 to 64", unit = "packets")]
    pub losses: Count,
    /// The packets are among the first ones, so many.
    #[key(default = 1000, min = 2, allowed = "a number of packets, 2 or more", unit = "packets")]
    pub within: Count,
    /// Which packets are counted: those with data, or all.
    #[key(default = "data", example = "all")]
    pub of: LossOf,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vary(value: Value) -> Read<Vec<(String, Node)>> {
        Vary::read(&table!("hop.air.delay" => value), &Bounds::NONE).map(|vary| vary.paths)
    }

    fn range<T: Into<Value>>(from: T, to: T) -> Value {
        Value::table([("from", from.into()), ("to", to.into())])
    }

    #[test]
    fn numbers_of_a_range_are_in_the_base_unit_of_its_first_end() {
        let paths = vary(range("5 ms", "0.1 s")).expect("a range");
        let [(path, Node::Range(delay))] = paths.as_slice() else { panic!("{paths:?}") };
        let numbers = delay.numbers().expect("numbers");
        assert_eq!((path.as_str(), numbers.quantity), ("hop.air.delay", Some(Quantity::Time)));
        assert_eq!((numbers.low, numbers.high, numbers.simple), (Value::Int(5_000_000_000), Value::Int(100_000_000_000), None));
    }

    #[test]
    fn range_is_refused_when_its_ends_are_of_two_forms_or_in_the_wrong_order() {
        let refused = |value: Value| vary(value).expect_err("an error");
        assert_eq!(refused(range("5 ms", "1 Mb/s")).allowed, "a time with its unit, as `from`");
        assert_eq!(refused(range(Value::Int(1), "1 Mb/s".into())).allowed, "a number, as `from`");
        assert_eq!(refused(range(Value::Bool(true), 1.into())).allowed, "a number, a rate, a time or a size, such as \"10 ms\"");
        assert_eq!(refused(range("5 ms", "1 ms")).allowed, "at least `from`, \"5 ms\"");
        let log = table!("from" => 0, "to" => 1, "scale" => "log");
        assert_eq!(refused(log).path, [Step::Key("hop.air.delay".into()), Step::Key("from".into())]);
        assert_eq!(refused(table!("from" => 0)).found, "no `to`");
        assert_eq!(refused(table!("losses" => 65)).allowed, "a number of packets from 1 to 64");
        assert_eq!(refused("5 ms".into()).allowed, FORMS);
    }

    #[test]
    fn value_keeps_its_own_lists_when_ranges_stand_inside() {
        let step = |delay: Value| Value::Array(vec!["0 s".into(), delay]);
        let schedule = table!("schedule" => vec![step(range("5 ms", "9 ms")), step("5 ms".into())]);
        let paths = vary(vec![Value::from("1 ms"), schedule].into()).expect("a choice");
        let Node::Choice(options) = &paths[0].1 else { panic!("{paths:?}") };
        let [Node::Constant(_), Node::Table(table)] = options.as_slice() else { panic!("{options:?}") };
        let Node::List(steps) = &table[0].1 else { panic!("{table:?}") };
        assert!(matches!(&steps[0], Node::List(step) if matches!(step.as_slice(), [Node::Constant(_), Node::Range(_)])));
    }

    #[test]
    fn choice_is_refused_when_it_is_empty_or_has_an_option_twice() {
        let refused = |options: Vec<Value>| vary(options.into()).expect_err("an error").allowed;
        assert_eq!(
            (refused(vec![]), refused(vec!["a".into(), "a".into()])),
            ("a list of at least one choice".into(), "different choices".into())
        );
    }
}
