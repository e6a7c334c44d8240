//! The handling of ACKs in a queue, and their reconstruction after it.

use crate::invalid::{Invalid, Read, choices, format_value};
use crate::schema;
use crate::value::Value;
use crate::values::{Bytes, Count, Duration, Share};
use crate::{Keys, word_enum, words};
use ackclock_core::queue::DropFrom;
use ackclock_core::queue::ack::{AckFilterConfig, AckReconstructorConfig, Duplicates, SackGuard, Survivor};
use serde_json::json;

words!(DropFrom { "tail" => DropFrom::Tail, "front" => DropFrom::Front });
words!(Survivor { "tail" => Survivor::Tail, "head" => Survivor::Head });
words!(SackGuard { "off" => SackGuard::Off, "covered" => SackGuard::Covered, "new" => SackGuard::New });
words!(Duplicates {
    "keep" => Duplicates::Keep,
    "below" => Duplicates::Below,
    "sacked" => Duplicates::Sacked,
    "mark" => Duplicates::Mark,
});

word_enum! {
    /// Filter rules by name: `Safe` removes only redundant ACKs, `P1` is `asymmetry`'s, the others are
    /// CAKE's.
    pub enum Preset {
        Safe = "safe",
        P1 = "p1",
        Cake = "cake",
        CakeAggressive = "cake-aggressive",
    }
}

const PRESETS: [&str; 4] = ["safe", "p1", "cake", "cake-aggressive"];

impl Preset {
    /// The keys that differ from those of `Safe`.
    fn keys(name: &str) -> Vec<(String, Value)> {
        let cake = |keep: i64| {
            Value::table([
                ("keep", keep.into()),
                ("window", false.into()),
                ("sack", "covered".into()),
                ("duplicates", "sacked".into()),
            ])
        };
        let table = match name {
            "p1" => Value::table([
                ("window", false.into()),
                ("sack", "off".into()),
                ("signs", false.into()),
                ("duplicates", "below".into()),
            ]),
            "cake" => cake(2),
            "cake-aggressive" => cake(1),
            _ => Value::Table(Vec::new()),
        };
        if let Value::Table(entries) = table { entries } else { Vec::new() }
    }
}

/// ACK filtering: an arriving ACK removes older ACKs of its connection from the queue.
///
/// `keep` ACKs of a connection remain; the filter is inactive while fewer than `occupancy` packets
/// wait; each removable ACK is removed with `probability`; the arriving ACK goes to the tail, or to
/// the position of the oldest removed one (`survivor`). An ACK is not removed if it differs in
/// `window`, has SACK blocks (`sack`: `new` ones, ones not `covered` by the survivor, or `off`),
/// has other ECN flags or unknown options (`signs`), or is a duplicate (`duplicates`).
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(
    plan = Filter::plan_json,
    prepare = Filter::with_preset,
    shorthand = Filter::names,
    limits = "a rule: safe, p1, cake, cake-aggressive, or a table of its keys"
)]
pub struct Filter {
    /// The rule whose values the other keys change.
    #[key(default = "safe")]
    pub preset: Preset,
    /// ACKs of a connection that remain.
    #[key(default = 1, unit = "ACKs")]
    pub keep: Count,
    /// The filter is inactive while fewer packets wait.
    #[key(default = 0, unit = "packets", min = 0, allowed = "a whole number of packets, 0 or more")]
    pub occupancy: Count,
    /// Probability with which a removable ACK is removed.
    #[key(default = 1.0, example = 1.0)]
    pub probability: Share,
    /// Where the arriving ACK goes: to the tail, or to the position of the oldest removed one.
    #[key(default = "tail")]
    pub survivor: Survivor,
    /// An ACK that differs in its window is kept.
    #[key(default = true)]
    pub window: bool,
    /// ACKs with SACK blocks that are kept: none (`off`), with blocks that the newer ACK does not
    /// cover, or with new blocks.
    #[key(default = "new")]
    pub sack: SackGuard,
    /// An ACK with other ECN flags or unknown options is kept.
    #[key(default = true)]
    pub signs: bool,
    /// Duplicate ACKs: `keep` all, keep up to the number `below` which a loss is not detected, keep
    /// those that SACK does not replace (`sacked`), or `mark` the survivor with their number.
    #[key(default = "keep")]
    pub duplicates: Duplicates,
}

impl Filter {
    /// The values of the preset beside those that are written; a name alone is a preset.
    fn with_preset(value: &Value) -> Read<Option<Value>> {
        match value {
            Value::Text(name) if PRESETS.contains(&name.as_str()) => {
                Ok(Some(merged(Preset::keys(name), &[("preset".to_owned(), value.clone())])))
            }
            Value::Text(name) => {
                let rules = choices(&PRESETS, Some(name));
                Err(Invalid::new(format_value(value), format!("a rule: {rules}, or a table of its keys")))
            }
            Value::Table(written) => match value.get("preset") {
                Some(Value::Text(name)) => Ok(Some(merged(Preset::keys(name), written))),
                _ => Ok(None),
            },
            _ => Ok(None),
        }
    }

    fn names() -> Value {
        schema::words(&PRESETS)
    }

    fn config(&self) -> AckFilterConfig {
        AckFilterConfig {
            keep: self.keep.0,
            occupancy: self.occupancy.0.into(),
            probability: self.probability.0,
            survivor: self.survivor,
            window: self.window,
            sack: self.sack,
            ecn_bits: self.signs,
            duplicates: self.duplicates,
        }
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(self.config())
    }
}

/// The keys of `base` with those of `over` in their place.
fn merged(base: Vec<(String, Value)>, over: &[(String, Value)]) -> Value {
    let kept = base.into_iter().filter(|(key, _)| !over.iter().any(|(other, _)| other == key));
    Value::Table(kept.chain(over.iter().cloned()).collect())
}

/// Handling of ACKs in a queue: `filter` them, send them `first`, or `drop` the oldest one when the
/// queue is full.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Acks::plan_json)]
pub struct Acks {
    /// Removes older ACKs when a newer one of the same connection arrives: the name of a rule
    /// (`safe`, `p1`, `cake`, `cake-aggressive`), or a table of its keys.
    #[key(example = "safe", unit = "choice or table", absent = "no filter")]
    pub filter: Option<Filter>,
    /// ACKs precede all other packets (not with dualpi2).
    #[key(default = false, example = true)]
    pub first: bool,
    /// Which ACK a full queue drops: the arriving one, or the oldest.
    #[key(default = "tail", example = "front")]
    pub drop: DropFrom,
}

impl Acks {
    pub(super) fn example() -> Value {
        Value::table([("filter", "safe".into()), ("first", true.into())])
    }

    fn plan_json(&self) -> serde_json::Value {
        json!({"first": self.first, "drop": self.drop, "filter": self.filter.as_ref().map(Filter::config)})
    }
}

/// Reconstruction of filtered ACKs at the end of the hop: one for `every` so many bytes, each
/// delayed by at most `within`.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Reconstruction::plan_json, check = Reconstruction::check)]
pub struct Reconstruction {
    /// One ACK for this much acknowledged data.
    #[key(example = "2 kB")]
    pub every: Bytes,
    /// Maximum delay of a regenerated ACK.
    #[key(default = "100 ms")]
    pub within: Duration,
}

impl Reconstruction {
    fn check(&self) -> Read<()> {
        self.every.check_32_bits("every")
    }

    fn plan_json(&self) -> serde_json::Value {
        json!(AckReconstructorConfig { every: self.every.to_u32(), within: self.within.0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Attribute, Bounds, Checked, KeyValue};

    fn filter(value: impl Into<Value>) -> Read<Filter> {
        Filter::read(&value.into(), &Bounds::NONE)
    }

    #[test]
    fn filter_has_the_keys_of_its_preset_when_it_is_a_name_or_names_one() {
        let cake = filter("cake").expect("a preset");
        assert_eq!((cake.preset, cake.keep, cake.window, cake.sack), (Preset::Cake, Count(2), false, SackGuard::Covered));
        let changed = filter([("preset", "cake".into()), ("keep", 5.into())]).expect("a table");
        assert_eq!(changed, Filter { keep: Count(5), ..cake });
        assert_eq!(changed.plan()["ecn_bits"], serde_json::Value::Null);
        assert_eq!(changed.plan()["signs"], true);
    }

    #[test]
    fn filter_is_refused_when_its_rule_is_unknown() {
        let invalid = filter("caek").expect_err("no preset");
        assert_eq!(invalid.allowed, "a rule: safe, p1, cake, cake-aggressive (did you mean cake?), or a table of its keys");
        let invalid = filter([("preset", "caek".into())]).expect_err("no preset");
        assert!(invalid.allowed.starts_with("\"safe\", \"p1\""), "{}", invalid.allowed);
    }

    #[test]
    fn given_keys_are_those_of_the_preset_when_it_is_a_name() {
        let value = Value::table([("filter", "p1".into())]);
        let acks = Acks::read(&value, &Bounds::NONE).expect("a table");
        let written = acks.write(Some(&value));
        let Some(Value::Table(keys)) = written.get("filter") else { panic!("{written:?}") };
        assert_eq!(
            keys.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(),
            ["preset", "window", "sack", "signs", "duplicates"]
        );
        assert_eq!(written.get("first"), None);
        assert!(matches!(Checked::attribute(&acks, "filter"), Some(Attribute::Table(_))));
    }
}
