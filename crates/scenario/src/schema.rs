//! JSON Schema (draft 2020-12) of tables and values.

use crate::keys::{Bounds, Key, KeyDefault, Table};
use crate::number_text::general;
use crate::units::{Quantity, sort_units};
use crate::value::Value;

/// The definitions of tables, by name, collected while keys refer to them.
#[derive(Default)]
pub struct Definitions(Vec<(String, Value)>);

impl Definitions {
    /// A reference to a table's definition, which is made on first use.
    pub fn reference<T: Table>(&mut self, default_kind: bool) -> Value {
        if !self.0.iter().any(|(name, _)| name == T::NAME) {
            self.0.push((T::NAME.into(), Value::Absent));
            let definition = self.definition::<T>(default_kind);
            for (name, place) in &mut self.0 {
                if name == T::NAME {
                    *place = definition.clone();
                }
            }
        }
        Value::table([("$ref", format!("#/$defs/{}", T::NAME).into())])
    }

    fn definition<T: Table>(&mut self, default_kind: bool) -> Value {
        let keys = T::keys();
        let properties = keys.iter().map(|key| (key.name.to_owned(), self.described(key))).collect();
        let is_required = |key: &&Key| key.default == KeyDefault::Required && !(default_kind && key.is_kind);
        let required: Vec<Value> = keys.iter().filter(is_required).map(|key| key.name.into()).collect();
        let mut definition = vec![
            ("type".to_owned(), "object".into()),
            ("description".to_owned(), T::description().into()),
            ("properties".to_owned(), Value::Table(properties)),
        ];
        if !required.is_empty() || default_kind {
            definition.push(("required".to_owned(), Value::Array(required)));
        }
        definition.push(("additionalProperties".to_owned(), false.into()));
        Value::Table(definition)
    }

    /// The schema of a key with its text, default and example.
    fn described(&mut self, key: &Key) -> Value {
        let mut schema = match key.value_schema(self) {
            Value::Table(entries) => entries,
            _ => Vec::new(),
        };
        let mut add = |name: &str, value: Value| schema.push((name.to_owned(), value));
        add("description", key.text.into());
        add("examples", vec![key.example.clone()].into());
        add("x-unit", key.unit.into());
        if !key.limits.is_empty() {
            add("x-range", key.limits.as_str().into());
        }
        match &key.default {
            KeyDefault::Required => {}
            KeyDefault::Words(words) => add("x-default", (*words).into()),
            KeyDefault::Value(value) => add("default", rounded(value)),
        }
        if key.is_kind {
            add("const", key.example.clone());
        }
        Value::Table(schema)
    }

    pub fn into_entries(self) -> Vec<(String, Value)> {
        self.0
    }
}

/// A default as it is shown: with six digits, and without a point where it is whole.
fn rounded(value: &Value) -> Value {
    match value {
        Value::Float(number) => {
            let text = general(*number);
            text.parse().map(Value::Int).unwrap_or_else(|_| Value::Float(text.parse().unwrap_or(*number)))
        }
        Value::Table(entries) => Value::Table(entries.iter().map(|(key, value)| (key.clone(), rounded(value))).collect()),
        _ => value.clone(),
    }
}

/// One of a few words.
pub fn words(words: &[&str]) -> Value {
    Value::table([("type", "string".into()), ("enum", words.iter().map(|word| Value::from(*word)).collect::<Vec<_>>().into())])
}

/// A number within bounds; `kind` is "number" or "integer".
pub fn number(kind: &str, bounds: &Bounds) -> Value {
    let limits = [
        ("minimum", bounds.min),
        ("exclusiveMinimum", bounds.above),
        ("maximum", bounds.max),
        ("exclusiveMaximum", bounds.below),
    ];
    let limits = limits.into_iter().filter_map(|(name, bound)| Some((name.to_owned(), bound?.value())));
    Value::Table([("type".to_owned(), kind.into())].into_iter().chain(limits).collect())
}

/// A pattern of a number with one of these units.
pub fn number_with_unit(units: Vec<String>) -> String {
    signed_number_with_unit(r"\+?", units)
}

fn signed_number_with_unit(sign: &str, mut units: Vec<String>) -> String {
    sort_units(&mut units);
    format!(r"\s*{sign}(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?\s*({})\s*", units.join("|"))
}

/// A text: a number with one of these units.
pub fn quantity(units: Vec<String>) -> Value {
    Value::table([("type", "string".into()), ("pattern", format!("^{}$", number_with_unit(units)).into())])
}

/// A text: a number with one of these units, which may be negative.
pub fn signed_quantity(units: Vec<String>) -> Value {
    let pattern = format!("^{}$", signed_number_with_unit("[+-]?", units));
    Value::table([("type", "string".into()), ("pattern", pattern.into())])
}

/// An array; limits are keywords of JSON Schema.
pub fn array<const N: usize>(items: Value, limits: [(&str, Value); N]) -> Value {
    let entries = [("type", "array".into()), ("items", items)].into_iter().chain(limits);
    Value::Table(entries.map(|(name, value)| (name.to_owned(), value)).collect())
}

/// A number, or a text such as a quantity.
pub fn number_or_text() -> Value {
    Value::table([("type", vec![Value::from("number"), "string".into()].into())])
}

/// The units of several quantities together.
pub fn units_of(quantities: &[Quantity]) -> Vec<String> {
    quantities.iter().flat_map(|quantity| quantity.units()).collect()
}

/// A value for both directions, or a table with one for each.
pub fn or_per_direction(value: Value) -> Value {
    let table = Value::table([
        ("type", "object".into()),
        ("properties", Value::table([("down", value.clone()), ("up", value.clone())])),
        ("minProperties", 1.into()),
        ("additionalProperties", false.into()),
    ]);
    either(vec![value, table])
}

/// A value of one of several forms.
pub fn either(forms: Vec<Value>) -> Value {
    Value::table([("anyOf", forms.into())])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Bound;

    #[test]
    fn number_has_the_keywords_of_its_bounds() {
        let bounds = Bounds { above: Some(Bound::Int(0)), max: Some(Bound::Float(1e6)), ..Bounds::NONE };
        let schema = number("number", &bounds);
        assert_eq!(schema.to_toml(), "{ type = \"number\", exclusiveMinimum = 0, maximum = 1000000.0 }");
    }

    #[test]
    fn default_is_an_integer_when_it_is_whole() {
        assert_eq!(rounded(&Value::Float(2.0)), Value::Int(2));
        assert_eq!(rounded(&Value::Float(0.125)), Value::Float(0.125));
        assert_eq!(rounded(&"5 ms".into()), "5 ms".into());
    }
}
