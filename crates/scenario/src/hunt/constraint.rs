//! What a case of a hunt must hold: bounds of a metric, or of a key.

use crate::Keys;
use crate::invalid::{Invalid, Read, choices};
use crate::keys::{Attribute, Bounds, KeySet, KeyValue, entries};
use crate::schema::{self, Definitions};
use crate::sources::sources;
use crate::table;
use crate::units::Quantity;
use crate::value::Value;

/// A metric of a case's run, or a key of it, with its bounds.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(prepare = HuntConstraint::check_form)]
pub struct HuntConstraint {
    /// A metric, as `ackclock.list_metrics()` names it.
    #[key(example = "drops", unit = "name", absent = "`key`")]
    pub metric: Option<MetricName>,
    /// The dotted path of a key, in place of a metric.
    #[key(example = "hop.dsl.rate.down", unit = "path", absent = "`metric`")]
    pub key: Option<AnyName>,
    /// The path of a key by which the value is divided.
    #[key(example = "hop.dsl.rate.up", unit = "path", absent = "1")]
    pub over: Option<AnyName>,
    /// The minimum: a number, or a quantity with its unit.
    #[key(example = 1, absent = "none, with `max`")]
    pub min: Option<Limit>,
    /// The maximum.
    #[key(example = "20 Mb/s", absent = "none, with `min`")]
    pub max: Option<Limit>,
}

impl HuntConstraint {
    pub(super) fn examples() -> Value {
        vec![table!("metric" => "drops", "min" => 1)].into()
    }

    fn check_form(value: &Value) -> Read<Option<Value>> {
        if !matches!(value, Value::Table(_)) {
            return Err(Invalid::value(value, "a table such as { metric = \"drops\", max = 0 }"));
        }
        entries(value, &HuntConstraint::names())?;
        let has = |key: &str| value.get(key).is_some();
        if has("metric") == has("key") {
            return Err(Invalid::problem("a constraint is of a metric or of a key", "write one of both"));
        }
        if !has("min") && !has("max") {
            return Err(Invalid::new("neither min nor max", "min, max or both"));
        }
        Ok(None)
    }
}

/// A text.
fn name(value: &Value) -> Read<&str> {
    if let Value::Text(name) = value { Ok(name) } else { Err(Invalid::value(value, "a name")) }
}

/// The name of a metric, which the program that reads tables knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricName(pub String);

impl KeyValue for MetricName {
    fn read(value: &Value, _: &Bounds) -> Read<MetricName> {
        let (found, known) = (name(value)?, sources().metrics());
        if known.iter().any(|known| known == found) {
            return Ok(MetricName(found.into()));
        }
        let known: Vec<&str> = known.iter().map(String::as_str).collect();
        Err(Invalid::value(value, choices(&known, Some(found))))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.as_str().into()
    }

    fn unit() -> &'static str {
        "name"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        table!("type" => "string")
    }
}

/// The dotted path of a key. Whether a case has it is seen in the case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnyName(pub String);

impl KeyValue for AnyName {
    fn read(value: &Value, _: &Bounds) -> Read<AnyName> {
        name(value).map(|name| AnyName(name.into()))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.as_str().into()
    }

    fn unit() -> &'static str {
        "path"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        table!("type" => "string")
    }
}

const LIMIT: &str = "a number, or a quantity with its unit";

/// A bound, in the base unit of its quantity.
#[derive(Clone, Debug, PartialEq)]
pub struct Limit {
    given: Value,
    pub number: f64,
}

impl KeyValue for Limit {
    fn read(value: &Value, _: &Bounds) -> Read<Limit> {
        let quantity = || Quantity::of(value).map(|(_, number)| number as f64);
        let number = value.number().filter(|number| !number.is_nan()).or_else(quantity);
        match number {
            Some(number) => Ok(Limit { given: value.clone(), number }),
            None => Err(Invalid::value(value, LIMIT)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.given.clone()
    }

    fn attribute(&self) -> Attribute {
        Attribute::Value(self.number.into())
    }

    fn unit() -> &'static str {
        "number or quantity"
    }

    fn limits(_: &Bounds) -> String {
        LIMIT.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        schema::number_or_text()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_a_number_in_the_base_unit_of_its_quantity() {
        let number = |value: Value| Limit::read(&value, &Bounds::NONE).map(|limit| limit.number).ok();
        assert_eq!((number(1.into()), number("20 Mb/s".into())), (Some(1.0), Some(20e6)));
        assert_eq!((number("5 ms".into()), number("1 kB".into())), (Some(5e9), Some(1000.0)));
        assert_eq!((number("5".into()), number(true.into()), number(f64::NAN.into())), (None, None, None));
    }

    #[test]
    fn constraint_is_refused_when_it_has_no_bound_two_subjects_or_an_unknown_metric() {
        let refused = |value: Value| HuntConstraint::read(&value, &Bounds::NONE).expect_err("an error");
        assert_eq!(refused(table!("metric" => "drops")).found, "neither min nor max");
        assert_eq!(refused(table!("metric" => "drops", "key" => "clients", "max" => 1)).allowed, "write one of both");
        assert_eq!(refused(table!("max" => 1)).allowed, "write one of both");
        assert!(refused(table!("metric" => "drop", "max" => 1)).allowed.ends_with("(did you mean drops?)"));
        assert_eq!(refused(table!("key" => 3, "max" => 1)).allowed, "a name");
        assert_eq!(refused("drops".into()).found, "\"drops\"");
    }
}
