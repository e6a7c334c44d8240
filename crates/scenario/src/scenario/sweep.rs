//! The values that a sweep varies: each key by its dotted path, and every combination of their values.

use crate::invalid::{Invalid, Read, Step, format_value};
use crate::keys::{Bounds, KeyValue};
use crate::schema::{self, Definitions};
use crate::value::Value;

/// Values of other keys by their dotted path, which are set before a scenario is read.
#[derive(Clone, Debug, PartialEq)]
pub struct Sweep {
    given: Value,
    axes: Vec<(String, Vec<Value>)>,
}

/// A value for each swept path.
pub type Point = Vec<(String, Value)>;

impl Sweep {
    pub(super) fn example() -> Value {
        Value::table([("tcp.variant", vec!["reno".into(), "cubic".into()].into())])
    }

    /// Every combination of the swept values; the last path varies fastest. Without paths one empty point.
    pub fn points(&self) -> Vec<Point> {
        self.axes.iter().fold(vec![Point::new()], |points, (path, values)| {
            let with =
                |point: Point| values.iter().map(move |value| [point.clone(), vec![(path.clone(), value.clone())]].concat());
            points.into_iter().flat_map(with).collect()
        })
    }
}

/// The dotted paths with their values: `tcp.variant = ..`, without quotes, is a table in TOML. `is_value` says
/// whether a table is the value of a path.
pub(crate) fn flattened(table: &[(String, Value)], is_value: &dyn Fn(&Value) -> bool) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    add_flattened(&mut found, table, "", is_value);
    found
}

fn add_flattened(found: &mut Vec<(String, Value)>, table: &[(String, Value)], prefix: &str, is_value: &dyn Fn(&Value) -> bool) {
    for (key, value) in table {
        let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            Value::Table(inner) if !is_value(value) => add_flattened(found, inner, &path, is_value),
            _ => match found.iter_mut().find(|(known, _)| *known == path) {
                Some((_, known)) => *known = value.clone(),
                None => found.push((path, value.clone())),
            },
        }
    }
}

/// Different values of one axis: at least one, none twice.
fn different(values: &Value) -> Read<Vec<Value>> {
    let Value::Array(values) = values else {
        return Err(Invalid::value(values, "a list of at least one value"));
    };
    if values.is_empty() {
        return Err(Invalid::value(&Value::Array(Vec::new()), "a list of at least one value"));
    }
    check_different(values, "different values")?;
    Ok(values.clone())
}

/// An error for the first value that makes the same run as an earlier one.
pub(crate) fn check_different(values: &[Value], allowed: &str) -> Read<()> {
    let is_twice = |index: &usize| values[..*index].iter().any(|earlier| is_same(earlier, &values[*index]));
    match (0..values.len()).find(is_twice) {
        Some(index) => {
            let twice = Invalid::new(format!("{} twice", format_value(&values[index])), allowed);
            Err(twice.below(Step::Index(index)))
        }
        None => Ok(()),
    }
}

/// Whether two values make the same run: 1 and 1.0 do, and tables of the same keys in another order.
pub(crate) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Table(one), Value::Table(other)) => {
            let has = |(key, value): &(String, Value)| other.iter().any(|(name, of)| name == key && is_same(value, of));
            one.len() == other.len() && one.iter().all(has)
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Int(_), Value::Float(_)) | (Value::Float(_), Value::Int(_)) => one.number() == other.number(),
        _ => one == other,
    }
}

impl KeyValue for Sweep {
    fn read(value: &Value, _: &Bounds) -> Read<Sweep> {
        let Value::Table(table) = value else {
            return Err(Invalid::value(value, "a table such as \"tcp.variant\" = [\"reno\", \"cubic\"]"));
        };
        let read = |(path, values): (String, Value)| match different(&values) {
            Ok(values) => Ok((path, values)),
            Err(invalid) => Err(invalid.at(&path)),
        };
        Ok(Sweep { given: value.clone(), axes: flattened(table, &|_| false).into_iter().map(read).collect::<Read<_>>()? })
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.given.clone()
    }

    fn unit() -> &'static str {
        "table"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        let values = Value::table([("type", "array".into()), ("minItems", 1.into())]);
        let paths = Value::table([("type", "object".into())]);
        Value::table([("type", "object".into()), ("additionalProperties", schema::either(vec![values, paths]))])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn read(value: Value) -> Read<Sweep> {
        Sweep::read(&value, &Bounds::NONE)
    }

    fn list<const N: usize>(values: [&str; N]) -> Value {
        values.map(Value::from).to_vec().into()
    }

    #[test]
    fn points_are_the_product_when_paths_are_quoted_or_nested() {
        let quoted = read(table!("tcp.variant" => list(["reno", "cubic"]), "duration" => list(["1 s", "2 s"]))).expect("a sweep");
        let nested = read(table!("tcp" => table!("variant" => list(["reno", "cubic"])), "duration" => list(["1 s", "2 s"])));
        assert_eq!(quoted.points(), nested.expect("a sweep").points());
        let texts: Vec<String> = quoted.points().iter().map(|point| point.iter().map(|(_, v)| v.to_toml()).collect()).collect();
        assert_eq!(texts, ["\"reno\"\"1 s\"", "\"reno\"\"2 s\"", "\"cubic\"\"1 s\"", "\"cubic\"\"2 s\""]);
        assert_eq!(read(Value::Table(Vec::new())).expect("no paths").points(), [Point::new()]);
    }

    #[test]
    fn sweep_is_refused_when_an_axis_has_no_value_or_one_twice() {
        let refused = |value: Value| read(value).expect_err("refused");
        assert_eq!(refused(3.into()).found, "3");
        assert_eq!(refused(table!("tcp" => table!("variant" => list([])))).path, [Step::Key("tcp.variant".into())]);
        assert_eq!(refused(table!("clients" => 2)).allowed, "a list of at least one value");
        let twice = refused(table!("clients" => vec![Value::Int(1), 1.5.into(), 1.0.into()]));
        assert_eq!(
            (twice.found.as_str(), twice.path.as_slice()),
            ("1.0 twice", &[Step::Key("clients".into()), Step::Index(2)][..])
        );
        let queue = |keys: [(&str, Value); 2]| Value::table(keys);
        let [kind, packets] = [("kind", "red".into()), ("packets", 5.into())];
        let tables = vec![queue([kind.clone(), packets.clone()]), queue([packets, kind])];
        assert_eq!(refused(table!("hop.air.queue" => tables)).found, "a table (packets, kind) twice");
    }
}
