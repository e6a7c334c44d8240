//! A link file as a whole.

use super::hop::Hop;
use super::tunnel::Tunnel;
use crate::invalid::{Invalid, Read};
use crate::keys::{Bounds, KeyValue};
use crate::schema::Definitions;
use crate::value::Value;
use crate::{Keys, table};
use std::sync::Arc;

/// A path between a server and its clients, hop by hop, server first.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Link {
    /// What the link is, in a few words.
    #[key(default = "", example = "DSL, 16 Mb/s down, 1 Mb/s up", absent = "empty")]
    pub title: String,
    /// Where the numbers come from.
    #[key(default = "", example = "the subscriber's contract, and the modem's data sheet", absent = "empty")]
    pub source: String,
    /// The hops, server first.
    #[key(example = Link::hop_example(), allowed = "[[hop]] tables")]
    pub hop: Vec<Arc<Hop>>,
    /// Tunnels over some of the hops.
    #[key(default = Vec::new(), example = Link::tunnel_example(), absent = "none", allowed = "[[tunnel]] tables")]
    pub tunnel: Vec<Arc<Tunnel>>,
    /// Keys whose values have no source, each with other values, under which `compare` tries its answer.
    #[key(default = Vec::new(), example = Link::assumed_example(), absent = "none", allowed = "[[assumed]] tables")]
    pub assumed: Vec<Arc<Assumption>>,
    /// What `ackclock fit` records; no part of the link.
    #[key(example = Value::Table(Vec::new()))]
    pub fit: Option<FitRecord>,
}

impl Link {
    pub(crate) fn hop_example() -> Value {
        vec![table!("name" => "dsl", "rate" => "16 Mb/s", "delay" => "8 ms")].into()
    }

    pub(crate) fn tunnel_example() -> Value {
        vec![table!("kind" => "wireguard", "over" => vec![Value::from("dsl")])].into()
    }

    fn assumed_example() -> Value {
        vec![table!("key" => "hop.air.loss.mean", "values" => OtherValues::example())].into()
    }
}

/// A key of a link whose value has no source, and other values that are as likely.
#[derive(Clone, Debug, PartialEq, Keys)]
pub struct Assumption {
    /// A key of a hop, as a sweep names it.
    #[key(example = "hop.air.loss.mean")]
    pub key: HopPath,
    /// Values that are as likely as that of the key.
    #[key(example = OtherValues::example())]
    pub values: OtherValues,
}

const HOP_PATH: &str = "a key of a hop, such as `hop.air.loss.mean`";

/// The dotted path of a hop's key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HopPath(String);

impl KeyValue for HopPath {
    fn read(value: &Value, _: &Bounds) -> Read<HopPath> {
        match value {
            Value::Text(path) if path.starts_with("hop.") => Ok(HopPath(path.clone())),
            _ => Err(Invalid::value(value, HOP_PATH)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.as_str().into()
    }

    fn unit() -> &'static str {
        "path"
    }

    fn limits(_: &Bounds) -> String {
        HOP_PATH.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        table!("type" => "string")
    }
}

const OTHER_VALUES: &str = "a list of other values";

/// Values of another key, which are read where they are put.
#[derive(Clone, Debug, PartialEq)]
pub struct OtherValues(Vec<Value>);

impl OtherValues {
    fn example() -> Value {
        vec![Value::Float(0.001)].into()
    }
}

impl KeyValue for OtherValues {
    fn read(value: &Value, _: &Bounds) -> Read<OtherValues> {
        match value {
            Value::Array(values) if !values.is_empty() => Ok(OtherValues(values.clone())),
            _ => Err(Invalid::value(value, OTHER_VALUES)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.clone().into()
    }

    fn unit() -> &'static str {
        "list"
    }

    fn limits(_: &Bounds) -> String {
        OTHER_VALUES.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        Value::table([("type", "array".into()), ("minItems", 1.into())])
    }
}

/// The [fit] table, which `ackclock fit` writes and reads.
#[derive(Clone, Debug, PartialEq)]
pub struct FitRecord(Value);

impl KeyValue for FitRecord {
    fn read(value: &Value, _: &Bounds) -> Read<FitRecord> {
        match value {
            Value::Table(_) => Ok(FitRecord(value.clone())),
            _ => Err(Invalid::value(value, "the table that `ackclock fit` writes")),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.clone()
    }

    fn unit() -> &'static str {
        "table"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        table!("type" => "object")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Link> {
        Link::read(&Value::table(keys), &Bounds::NONE)
    }

    #[test]
    fn link_is_read_and_written_with_what_is_no_part_of_it() {
        let fit = table!("inputs" => Vec::new());
        let link = read([("hop", Link::hop_example()), ("assumed", Link::assumed_example()), ("fit", fit)]).expect("a link");
        assert_eq!((link.hop.len(), link.assumed[0].key.0.as_str(), link.tunnel.len()), (1, "hop.air.loss.mean", 0));
        assert_eq!(Link::read(&link.write(None), &Bounds::NONE), Ok(link));
    }

    #[test]
    fn assumption_is_refused_when_its_key_is_no_hops_or_it_has_no_value() {
        let refused = |key: &str, values: Vec<Value>| {
            let assumed = vec![table!("key" => key, "values" => values)];
            read([("hop", Link::hop_example()), ("assumed", assumed.into())]).expect_err("refused").allowed
        };
        assert_eq!(refused("tcp.variant", vec!["reno".into()]), HOP_PATH);
        assert_eq!(refused("hop.air.delay", Vec::new()), OTHER_VALUES);
        let empty = read([("fit", 3.into()), ("hop", Vec::new().into())]).expect_err("no table");
        assert_eq!(empty.found, "3");
    }
}
