//! A hop: the elements between two machines, in each direction.

use super::acks::Reconstruction;
use super::framing::LineFraming;
use super::handover::Handover;
use super::jitter::{Jitter, Reorder};
use super::loss::{Duplicate, Loss, Outage};
use super::medium::Medium;
use super::mtu::Mtu;
use super::pep::Pep;
use super::policer::Policer;
use super::queue::Queue;
use super::rate::LineRate;
use super::schedule::{LineDelay, picoseconds};
use super::shaper::Shaper;
use super::slots::Slots;
use crate::Keys;
use crate::controls::Control;
use crate::invalid::{Code, Invalid, Read, Step};
use crate::keys::{Attribute, Bounds, Checked, Key, KeySet, KeyValue, entries, is_direction, is_per_direction};
use crate::schema::Definitions;
use crate::value::Value;
use crate::values::read_word;
use ackclock_core::medium::Direction as Side;
use ackclock_core::units::Span;
use serde_json::json;
use std::sync::Arc;

/// One direction of a hop: MTU, policer, shaper, queue, rate (and framing), outage, loss and duplicates,
/// delay, jitter, reordering, handover, reconstruction of ACKs, in this order. Defaults: no queue
/// limit, no rate limit, no loss, no delay.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Direction::plan_json, written = Direction::present)]
pub struct Direction {
    /// The longest packet that passes, checked before everything else.
    #[key(example = Direction::mtu_example())]
    pub mtu: Option<Mtu>,
    /// A token bucket without a queue, before the shaper and the queue: what exceeds it is dropped or marked.
    #[key(example = Direction::policer_example())]
    pub policer: Option<Policer>,
    /// A queue and a token bucket before the queue of the line: tbf, CAKE's bandwidth, SQM.
    #[key(example = Direction::shaper_example())]
    pub shaper: Option<Shaper>,
    /// Where packets wait for the rate or the medium: see the queues below.
    #[key(example = Direction::queue_example(), absent = "unlimited")]
    pub queue: Option<Queue>,
    /// How fast packets leave the queue: a fixed rate, a recording, or a schedule.
    #[key(example = "16 Mb/s", absent = "unlimited")]
    pub rate: Option<LineRate>,
    /// How many bytes a packet takes on the line: as it is, SLIP, compressed SLIP (RFC 1144), whole ATM
    /// cells, or what an encapsulation adds to it.
    #[key(default = "none", example = "atm")]
    pub framing: LineFraming,
    /// Times at which everything that leaves the rate is lost.
    #[key(default = Vec::new(), example = Outages::example())]
    pub outage: Outages,
    /// Loss of packets after the rate. A number alone is the mean of an independent loss.
    #[key(example = 1e-4, unit = "share")]
    pub loss: Option<Loss>,
    /// Share of packets that arrive twice.
    #[key(example = 0.001, unit = "share")]
    pub duplicate: Option<Duplicate>,
    /// Propagation delay of this direction, constant or a schedule; without .down and .up, of each
    /// direction.
    #[key(default = "0 s", example = "8 ms")]
    pub delay: LineDelay,
    /// A random delay of each packet in addition.
    #[key(example = Direction::jitter_example())]
    pub jitter: Option<Jitter>,
    /// Some packets take longer, and later packets overtake them.
    #[key(example = Direction::reorder_example())]
    pub reorder: Option<Reorder>,
    /// The path changes periodically, such as that of a satellite constellation.
    #[key(example = Direction::handover_example())]
    pub handover: Option<Handover>,
    /// Filtered ACKs are regenerated at the end of the hop (RFC 3449, section 5.3.1).
    #[key(example = Direction::reconstruct_example())]
    pub reconstruct: Option<Reconstruction>,
}

impl Direction {
    fn queue_example() -> Value {
        Value::table([("kind", "droptail".into()), ("bytes", "256 KiB".into())])
    }

    fn mtu_example() -> Value {
        Value::table([("ip", "1400 B".into())])
    }

    fn policer_example() -> Value {
        Value::table([("rate", "20 Mb/s".into()), ("burst", "40 kB".into())])
    }

    fn shaper_example() -> Value {
        Value::table([("rate", "18 Mb/s".into()), ("queue", Value::table([("kind", "cake".into())]))])
    }

    /// The minimum of the fixed rates of policer, shaper and line; `line` is that of a medium in its place.
    fn slowest_bps(&self, line: Option<u64>) -> Option<u64> {
        let line = line.or(self.rate.as_ref().and_then(LineRate::fixed_bps));
        let limits = [self.policer.as_ref().map(|policer| policer.rate.0), self.shaper.as_ref().map(Shaper::max_bps)];
        limits.into_iter().flatten().chain(line).min()
    }

    fn jitter_example() -> Value {
        Value::table([("kind", "uniform".into()), ("high", "2 ms".into())])
    }

    fn reorder_example() -> Value {
        Value::table([("mean", 0.01.into()), ("delay", "5 ms".into())])
    }

    fn handover_example() -> Value {
        Value::table([("every", "15 s".into()), ("gap", "40 ms".into())])
    }

    fn reconstruct_example() -> Value {
        Value::table([("every", "2 kB".into())])
    }

    /// The keys that have another value than absent ones.
    fn present(&self, written: Vec<(String, Value)>) -> Vec<(String, Value)> {
        let is_default = |name: &str, value: &Value| match name {
            "framing" => *value == "none".into(),
            "outage" => *value == Vec::new().into(),
            "delay" => *value == "0 s".into(),
            _ => *value == Value::Absent,
        };
        written.into_iter().filter(|(name, value)| !is_default(name, value)).collect()
    }

    fn plan_json(&self) -> serde_json::Value {
        let planned = |table: Option<&dyn Checked>| table.map(Checked::plan);
        let (delay, delay_schedule) = self.delay.configs();
        let mut plan = json!({
            "queue": self.queue.as_ref().map(Queue::config),
            "rate": self.rate.as_ref().map(LineRate::plan_json),
            "framing": self.framing.config(),
            "outage": self.outage.0.iter().map(Checked::plan).collect::<Vec<_>>(),
            "loss": planned(self.loss.as_ref().map(Loss::checked)),
            "duplicate": planned(self.duplicate.as_ref().map(|table| table as &dyn Checked)),
            "delay_ps": delay,
            "jitter": planned(self.jitter.as_ref().map(Jitter::checked)),
            "reorder": planned(self.reorder.as_ref().map(|table| table as &dyn Checked)),
        });
        let framing = self.framing.config();
        let optional = [
            ("mtu", self.mtu.as_ref().map(|mtu| json!(mtu.config()))),
            ("policer", self.policer.as_ref().map(|policer| json!(policer.config(framing)))),
            ("shaper", self.shaper.as_ref().map(|shaper| shaper.on_hop(framing))),
            ("delay_schedule", delay_schedule.map(|schedule| json!(schedule))),
            ("acks", planned(self.queue.as_ref().and_then(Queue::acks).map(|table| table as &dyn Checked))),
            ("handover", planned(self.handover.as_ref().map(|table| table as &dyn Checked))),
            ("reconstruct", planned(self.reconstruct.as_ref().map(|table| table as &dyn Checked))),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                plan[key] = value;
            }
        }
        plan
    }
}

/// Outages in order of time.
#[derive(Clone, Debug, PartialEq)]
pub struct Outages(pub Vec<Outage>);

const OUTAGES: &str = "a list such as [{ start = \"10 s\", end = \"12 s\" }]";

impl Outages {
    fn example() -> Value {
        vec![Value::table([("start", "10 s".into()), ("end", "12 s".into())])].into()
    }
}

impl KeyValue for Outages {
    fn read(value: &Value, bounds: &Bounds) -> Read<Outages> {
        let Value::Array(values) = value else { return Err(Invalid::value(value, OUTAGES)) };
        let outages: Vec<Outage> = values.iter().map(|value| Outage::read(value, bounds)).collect::<Read<_>>()?;
        let mut ended = None;
        for (index, outage) in outages.iter().enumerate() {
            let (found, allowed) = if outage.end.0 <= outage.start.0 {
                ("an outage that ends before it starts", "end later than start")
            } else if ended.is_some_and(|ended| outage.start.0 < ended) {
                ("outages that overlap", "outages in order of time, without overlap")
            } else {
                ended = Some(outage.end.0);
                continue;
            };
            return Err(Invalid::new(found, allowed).below(Step::Index(index)));
        }
        Ok(Outages(outages))
    }

    fn write(&self, given: Option<&Value>) -> Value {
        self.0.write(given)
    }

    fn attribute(&self) -> Attribute {
        self.0.attribute()
    }

    fn unit() -> &'static str {
        Vec::<Outage>::unit()
    }

    fn limits(_: &Bounds) -> String {
        OUTAGES.into()
    }

    fn schema(bounds: &Bounds, definitions: &mut Definitions) -> Value {
        Vec::<Outage>::schema(bounds, definitions)
    }

    fn controls(value: &Value) -> Vec<Control> {
        Outage::controls(value)
    }
}

/// A name without dots or slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name(pub String);

const NAME: &str = "a name without dots or slashes";

impl KeyValue for Name {
    fn read(value: &Value, _: &Bounds) -> Read<Name> {
        match value {
            Value::Text(text) if !text.trim().is_empty() && !text.contains(['.', '/']) => Ok(Name(text.clone())),
            _ => Err(Invalid::value(value, NAME)),
        }
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.as_str().into()
    }

    fn unit() -> &'static str {
        "name"
    }

    fn limits(_: &Bounds) -> String {
        NAME.into()
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        Value::table([("type", "string".into()), ("pattern", r"^[^./]*[^./\s][^./]*$".into())])
    }
}

/// The one direction of a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Only(pub Side);

impl KeyValue for Only {
    fn read(value: &Value, _: &Bounds) -> Read<Only> {
        let words = [("down", Only(Side::Down)), ("up", Only(Side::Up))];
        read_word(value, &words).map_err(|_| Invalid::value(value, "\"down\" or \"up\""))
    }

    fn write(&self, _: Option<&Value>) -> Value {
        self.0.name().into()
    }

    fn unit() -> &'static str {
        "choice"
    }

    fn schema(_: &Bounds, _: &mut Definitions) -> Value {
        Value::table([("enum", vec!["down".into(), "up".into()].into())])
    }
}

/// The directions of a hop; `only` restricts it to one. Each key has one value for both, or one for
/// each.
#[derive(Clone, Debug, PartialEq)]
pub struct Directions {
    down: Option<Box<Direction>>,
    up: Option<Box<Direction>>,
}

fn entry<'a>(entries: &'a [(String, Value)], name: &str) -> Option<&'a Value> {
    entries.iter().find(|(key, _)| key == name).map(|(_, value)| value)
}

/// The direction that the hop is restricted to.
fn only(entries: &[(String, Value)]) -> Read<Option<Side>> {
    match entry(entries, "only") {
        None | Some(Value::Absent) => Ok(None),
        Some(value) => Only::read(value, &Bounds::NONE).map(|Only(side)| Some(side)).map_err(|invalid| invalid.at("only")),
    }
}

/// The keys of one direction as a table.
fn one_side(entries: &[(String, Value)], side: Side, only: Option<Side>) -> Read<Value> {
    let mut table = Vec::new();
    for key in Direction::names() {
        let Some(value) = entry(entries, key) else { continue };
        let Value::Table(keys) = value else {
            table.push((key.to_owned(), value.clone()));
            continue;
        };
        if !is_per_direction(value) {
            if keys.iter().any(|(name, _)| is_direction(name)) {
                let allowed = format!("either {key}.down and {key}.up, or one {key} for both");
                return Err(Invalid::value(value, allowed).at(key));
            }
            table.push((key.to_owned(), value.clone()));
        } else if let Some(only) = only.filter(|only| keys.iter().any(|(name, _)| name != only.name())) {
            let (extra, only) = (only.reverse().name(), only.name());
            let found = format!("{key}.{extra} on a hop with only = \"{only}\"");
            return Err(Invalid::new(found, format!("{key} or {key}.{only}")).at(extra).at(key));
        } else if let Some(value) = value.get(side.name()) {
            table.push((key.to_owned(), value.clone()));
        }
    }
    Ok(Value::Table(table))
}

impl Directions {
    pub fn sides(&self) -> impl Iterator<Item = (Side, &Direction)> {
        let sides = [(Side::Down, &self.down), (Side::Up, &self.up)];
        sides.into_iter().filter_map(|(side, direction)| Some((side, &**direction.as_ref()?)))
    }

    pub fn of(&self, side: Side) -> Option<&Direction> {
        if side == Side::Down { self.down.as_deref() } else { self.up.as_deref() }
    }
}

impl KeySet for Directions {
    fn keys() -> Vec<Key> {
        Direction::keys().into_iter().map(Key::per_direction).collect()
    }

    fn names() -> Vec<&'static str> {
        Direction::names()
    }

    fn key_controls() -> Vec<Control> {
        Direction::key_controls().into_iter().map(Control::per_direction).collect()
    }

    fn require(_: &[(String, Value)], _: &[&str]) -> Read<()> {
        Ok(())
    }

    fn read_keys(entries: &[(String, Value)]) -> Read<Directions> {
        let only = only(entries)?;
        let side = |side: Side| -> Read<Option<Box<Direction>>> {
            if only.is_some_and(|only| only != side) {
                return Ok(None);
            }
            let direction = Direction::read(&one_side(entries, side, only)?, &Bounds::NONE);
            direction.map(|direction| Some(Box::new(direction))).map_err(|mut invalid| {
                // The place as the hop is written.
                let is_each =
                    matches!(invalid.path.first(), Some(Step::Key(key)) if entry(entries, key).is_some_and(is_per_direction));
                if is_each {
                    invalid.path.insert(1, Step::Key(side.name().into()));
                }
                invalid
            })
        };
        Ok(Directions { down: side(Side::Down)?, up: side(Side::Up)? })
    }

    /// Keys that are equal in both directions appear once.
    fn write_keys(&self, given: Option<&Value>) -> Vec<(String, Value)> {
        let of_side = |side: Side| {
            let Some(Value::Table(entries)) = given else { return None };
            let own = entries.iter().filter_map(|(key, value)| {
                Some((key.clone(), if is_per_direction(value) { value.get(side.name())?.clone() } else { value.clone() }))
            });
            Some(Value::Table(own.collect()))
        };
        let written: Vec<_> =
            self.sides().map(|(side, direction)| (side, direction.write_keys(of_side(side).as_ref()))).collect();
        let mut keys = Vec::new();
        for key in Direction::names() {
            let values: Vec<(&str, &Value)> =
                written.iter().filter_map(|(side, keys)| Some((side.name(), entry(keys, key)?))).collect();
            let Some((_, first)) = values.first() else { continue };
            let value = if values.len() == written.len() && values.iter().all(|(_, value)| value == first) {
                (*first).clone()
            } else {
                Value::Table(values.into_iter().map(|(side, value)| (side.to_owned(), value.clone())).collect())
            };
            keys.push((key.to_owned(), value));
        }
        keys
    }

    fn key_attribute(&self, key: &str) -> Option<Attribute> {
        let side = Side::BOTH.into_iter().find(|side| side.name() == key)?;
        Some(match self.of(side) {
            Some(direction) => Attribute::Table(Arc::new(direction.clone())),
            None => Attribute::Value(Value::Absent),
        })
    }
}

/// One hop. Clients share it unless `per_client`; `only` restricts it to one direction (the other
/// one is None).
///
/// With a `medium` each client is a station with a queue for each direction; `per_client` then
/// applies to the elements after the medium. A `pep` is at the hop's server side.
#[derive(Clone, Debug, PartialEq, Keys)]
#[keys(plan = Hop::plan_json, check = Hop::check, prepare = Hop::check_form, derived = Hop::derived, written = Hop::present, given = Hop::given)]
pub struct Hop {
    /// Name of the hop. Flows and sweeps refer to it: `hop.NAME.rate.down`.
    #[key(example = "dsl")]
    pub name: Name,
    /// The one direction that the hop has; packets of the other direction do not cross it.
    #[key(example = "down", absent = "both directions")]
    pub only: Option<Only>,
    /// Each client has its own copy of the hop; else all clients share one. Beside a medium it
    /// applies to loss, delay and what follows them.
    #[key(default = false, example = true)]
    pub per_client: bool,
    /// A channel that clients share, for both directions, in place of a rate: see the media below.
    #[key(example = Medium::example(), unit = "table")]
    pub medium: Option<Medium>,
    /// Slots of a satellite constellation, with the rates of both directions.
    #[key(example = Hop::slots_example())]
    pub slots: Option<Slots>,
    /// A split-TCP proxy at the server's side of the hop.
    #[key(example = Pep::example())]
    pub pep: Option<Pep>,
    /// The keys of its directions.
    #[key(flatten)]
    pub directions: Directions,
}

impl Hop {
    /// Checks the keys as written, before their values.
    fn check_form(value: &Value) -> Read<Option<Value>> {
        if !matches!(value, Value::Table(_)) {
            return Err(Invalid::value(value, "a [[hop]] table"));
        }
        let keys = entries(value, &Hop::names())?;
        if entry(keys, "name").is_none() {
            return Err(Invalid::new("a hop without a name", "name = \"...\" in every [[hop]]").with_code(Code::MissingKey));
        }
        for key in ["rate", "framing"] {
            if entry(keys, "medium").is_some() && entry(keys, key).is_some() {
                let allowed = format!("either a medium or a {key} on one hop");
                return Err(Invalid::new(format!("a medium and a {key}"), allowed).at(key));
            }
        }
        for key in ["rate", "medium", "handover"] {
            if entry(keys, "slots").is_some() && entry(keys, key).is_some() {
                let allowed = format!("either slots or a {key} on one hop");
                return Err(Invalid::new(format!("slots and a {key}"), allowed).at(key));
            }
        }
        let only = only(keys)?;
        for side in Side::BOTH {
            if only.is_none_or(|only| only == side) {
                one_side(keys, side, only)?;
            }
        }
        Ok(None)
    }

    /// An error for controllers of both directions with different pings: one pinger serves both.
    fn check(&self) -> Read<()> {
        let controllers = self.directions.sides().filter_map(|(_, direction)| direction.shaper.as_ref());
        let pings: Vec<_> = { controllers }.filter_map(Shaper::pings).collect();
        if pings.windows(2).any(|pair| pair[0] != pair[1]) {
            let allowed =
                "no_pingers, reflector_ping_interval, pinger_method and monitor_achieved_rates_interval equal in both directions";
            return Err(Invalid::new("other pings downstream than upstream", allowed).at("shaper"));
        }
        Ok(())
    }

    fn present(&self, written: Vec<(String, Value)>) -> Vec<(String, Value)> {
        written.into_iter().filter(|(key, value)| *value != Value::Absent && (key != "per_client" || self.per_client)).collect()
    }

    /// What a direction was given, from the keys of the hop.
    fn given(key: &str, given: &Value) -> Option<Value> {
        let side = Side::BOTH.into_iter().find(|side| side.name() == key);
        match (side, given) {
            (Some(side), Value::Table(keys)) => one_side(keys, side, only(keys).ok()?).ok(),
            _ => given.get(key).cloned(),
        }
    }

    /// A fixed rate of a direction, of the line, a shaper or a policer, the maximum of the medium, or the
    /// mean of slots.
    pub fn slowest_bps(&self, side: Side) -> Option<u64> {
        let of_medium = self.medium.as_ref().map(|medium| medium.nominal_bps()[side as usize]);
        let of_slots = self.slots.as_ref().map(|slots| slots.mean_bps(side));
        self.directions.of(side)?.slowest_bps(of_medium.or(of_slots))
    }

    fn slots_example() -> Value {
        Value::table([("rate", super::sides::each("200 Mb/s", "20 Mb/s")), ("lost", "35 ms".into()), ("held", "100 ms".into())])
    }

    /// Each client has its own queues here.
    pub fn has_stations(&self) -> bool {
        self.per_client || self.medium.is_some()
    }

    /// `slowest_bps` and `mean_delay` (ps) of each direction, and `has_stations`.
    fn derived(&self, name: &str) -> Option<Attribute> {
        match name {
            "slowest_bps" => {
                let bps = |bps: u64| Value::Int(i64::try_from(bps).unwrap_or(i64::MAX));
                let of_side = |side: Side| (side.name().to_owned(), self.slowest_bps(side).map_or(Value::Absent, bps));
                Some(Attribute::Value(Value::Table(self.directions.sides().map(|(side, _)| of_side(side)).collect())))
            }
            "mean_delay" => {
                let of_slots = self.slots.as_ref().map_or(Span::ZERO, Slots::mean_delay);
                let delay = |side: &Direction| picoseconds(side.delay.mean() + of_slots);
                let sides = self.directions.sides();
                Some(Attribute::Value(Value::Table(sides.map(|(name, side)| (name.name().to_owned(), delay(side))).collect())))
            }
            "has_stations" => Some(Attribute::Value(self.has_stations().into())),
            _ => None,
        }
    }

    fn plan_json(&self) -> serde_json::Value {
        let side = |side: Side| self.directions.of(side).map(Direction::plan_json);
        let mut plan = json!({
            "name": self.name.0,
            "per_client": self.per_client,
            "medium": self.medium.as_ref().map(|medium| medium.checked().plan()),
            "down": side(Side::Down),
            "up": side(Side::Up),
        });
        for side in Side::BOTH {
            if let Some(slots) = self.slots.as_ref().filter(|_| self.directions.of(side).is_some()) {
                plan[side.name()]["rate"] = slots.plan_json(side);
            }
        }
        if let Some(roaming) = self.medium.as_ref().and_then(Medium::handover) {
            plan["roaming"] = roaming.plan();
        }
        plan
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read<const N: usize>(keys: [(&str, Value); N]) -> Read<Hop> {
        let Value::Table(mut table) = Value::table(keys) else { unreachable!("a table") };
        table.insert(0, ("name".into(), "line".into()));
        Hop::read(&Value::Table(table), &Bounds::NONE)
    }

    fn sides(down: impl Into<Value>, up: impl Into<Value>) -> Value {
        Value::table([("down", down.into()), ("up", up.into())])
    }

    fn path(invalid: &Invalid) -> Vec<&str> {
        invalid.path.iter().map(|step| if let Step::Key(key) = step { key.as_str() } else { "[]" }).collect()
    }

    #[test]
    fn key_is_written_once_when_it_is_equal_in_both_directions() {
        let hop = read([("rate", "1 Mb/s".into()), ("delay", sides("1 ms", "2 ms"))]).expect("a hop");
        let written = hop.write(None);
        assert_eq!(written.to_toml(), "{ name = \"line\", rate = \"1 Mb/s\", delay = { down = \"1 ms\", up = \"2 ms\" } }");
        assert_eq!(Hop::read(&written, &Bounds::NONE), Ok(hop));
        let half = read([("rate", Value::table([("down", "1 Mb/s".into())]))]).expect("a hop");
        assert_eq!(half.write(None).get("rate"), Some(&Value::table([("down", "1 Mb/s".into())])));
    }

    #[test]
    fn hop_has_one_direction_when_only_names_it() {
        let hop = read([("only", "up".into()), ("rate", "1 Mb/s".into())]).expect("a hop");
        assert_eq!(
            (hop.plan_json()["down"].clone(), hop.plan_json()["up"]["rate"]["bps"].as_u64()),
            (serde_json::Value::Null, Some(1_000_000))
        );
        assert_eq!(hop.write(None).to_toml(), "{ name = \"line\", only = \"up\", rate = \"1 Mb/s\" }");
        let other = read([("only", "down".into()), ("rate", sides("1 Mb/s", "1 Mb/s"))]).expect_err("the other direction");
        assert_eq!((other.found.as_str(), path(&other)), ("rate.up on a hop with only = \"down\"", vec!["rate", "up"]));
        assert_eq!(path(&read([("only", "x".into())]).expect_err("no direction")), ["only"]);
    }

    #[test]
    fn error_has_the_place_as_the_hop_is_written() {
        assert_eq!(path(&read([("rate", "0 b/s".into())]).expect_err("0")), ["rate"]);
        assert_eq!(path(&read([("rate", sides("1 Mb/s", "0 b/s"))]).expect_err("0")), ["rate", "up"]);
        let queue = Value::table([("kind", "codel".into()), ("target", "1".into())]);
        assert_eq!(path(&read([("queue", sides(queue.clone(), queue))]).expect_err("no unit")), ["queue", "down", "target"]);
        let mixed = Value::table([("down", "1 ms".into()), ("mean", 0.1.into())]);
        assert_eq!(read([("loss", mixed)]).expect_err("mixed").allowed, "either loss.down and loss.up, or one loss for both");
    }

    #[test]
    fn slots_are_in_place_of_a_rate_a_medium_and_a_handover() {
        let hop = read([("slots", Hop::slots_example())]).expect("a hop");
        assert_eq!([Side::Down, Side::Up].map(|side| hop.slowest_bps(side)), [Some(198_666_666), Some(19_866_666)]);
        assert_eq!(hop.plan_json()["up"]["rate"]["bps"], json!([20_000_000]));
        assert_eq!(Hop::read(&hop.write(None), &Bounds::NONE), Ok(hop));
        let handover = Value::table([("every", "1 s".into())]);
        for (key, value) in
            [("rate", "1 Mb/s".into()), ("medium", Value::table([("kind", "wlan".into())])), ("handover", handover)]
        {
            let both = read([("slots", Hop::slots_example()), (key, value)]).expect_err("both");
            assert_eq!((both.found, both.allowed), (format!("slots and a {key}"), format!("either slots or a {key} on one hop")));
        }
    }

    #[test]
    fn medium_is_in_place_of_a_rate() {
        let medium = || Value::table([("kind", "wlan".into())]);
        let both = read([("medium", medium()), ("rate", "1 Mb/s".into())]).expect_err("both");
        assert_eq!(both.found, "a medium and a rate");
        let hop = read([("medium", medium())]).expect("a hop");
        assert!(matches!(Checked::attribute(&hop, "has_stations"), Some(Attribute::Value(Value::Bool(true)))));
    }

    #[test]
    fn outages_are_in_order_of_time() {
        let outage = |start: &str, end: &str| Value::table([("start", start.into()), ("end", end.into())]);
        let read = |outages: Vec<Value>| Outages::read(&outages.into(), &Bounds::NONE);
        assert_eq!(read(vec![outage("1 s", "1 s")]).expect_err("empty").allowed, "end later than start");
        let overlap = read(vec![outage("1 s", "3 s"), outage("2 s", "4 s")]).expect_err("overlap");
        assert_eq!((overlap.found.as_str(), overlap.path), ("outages that overlap", vec![Step::Index(1)]));
        assert!(read(vec![outage("1 s", "3 s"), outage("3 s", "4 s")]).is_ok());
    }
}
