//! The scenario over a link that its fit does not exclude: a joint draw of the parameters of the link.

use super::Scenario;
use super::sweep_path::put;
use crate::invalid::Read;
use crate::keys::{Attribute, Bounds, KeySet, KeyValue, is_direction};
use crate::link::hop::{Direction, Hop};
use crate::link::medium::Medium;
use crate::value::Value;
use std::sync::Arc;

/// Picoseconds in a millisecond, the unit of drawn times.
const PS_PER_MS: f64 = 1e9;

impl Scenario {
    /// Its hops with drawn values by dotted path: rates in bits per second, times in milliseconds, sizes in
    /// bytes. Only keys that a hop has are drawn. The hops are not checked with the flows.
    pub fn drawn_hops(&self, draw: &[(String, f64)]) -> Read<Vec<Arc<Hop>>> {
        self.hop.iter().map(|hop| Hop::read(&drawn(hop, draw)?, &Bounds::NONE).map(Arc::new)).collect()
    }
}

/// A hop as a file has it, with the draws of its parameters.
fn drawn(hop: &Hop, draw: &[(String, f64)]) -> Read<Value> {
    let start = format!("hop.{}.", hop.name.0);
    let mut tables = Value::table([("hop", vec![hop.write(None)].into())]);
    for (path, value) in draw {
        let Some(keys) = path.strip_prefix(&start) else { continue };
        let keys: Vec<&str> = keys.split('.').collect();
        if keys[0] == "medium" {
            if matches!(hop.medium, Some(Medium::Grants(_))) {
                put(&mut tables, path, written(&keys, *value, 0.0))?;
            }
            continue;
        }
        for (side, direction) in hop.directions.sides() {
            let others: Vec<&str> = keys.iter().copied().filter(|key| *key != side.name()).collect();
            if others[1..].iter().any(|key| is_direction(key)) {
                continue;
            }
            let at = format!("{start}{}.{}", others[0], side.name());
            if has(direction, &others) {
                let path = [at.as_str()].into_iter().chain(others[1..].iter().copied()).collect::<Vec<_>>().join(".");
                put(&mut tables, &path, written(&others, *value, if others == ["delay"] { 0.0 } else { 1.0 }))?;
            }
        }
    }
    Ok(tables.at(&["hop".into(), "0".into()]).cloned().unwrap_or(Value::Absent))
}

/// Whether a direction has the key: a delay always, a rate if it is fixed.
fn has(side: &Direction, keys: &[&str]) -> bool {
    match (keys, side.key_attribute(keys[0])) {
        (["delay"], _) | (["rate"], Some(Attribute::Value(Value::Int(_)))) => true,
        ([_, key, ..], Some(Attribute::Table(table))) => {
            table.attribute(key).is_some_and(|value| !matches!(value, Attribute::Value(Value::Absent)))
        }
        _ => false,
    }
}

/// A draw as a file has it, of at least `min` in the unit of the engine.
fn written(keys: &[&str], value: f64, min: f64) -> Value {
    let whole = |value: f64, unit: &str| Value::from(format!("{:.0} {unit}", value.round_ties_even().max(min)));
    match keys {
        ["loss" | "reorder", "mean"] => value.into(),
        ["framing", "overhead"] => format!("{:.0} B", value.round_ties_even()).into(),
        [.., "bytes" | "burst"] => whole(value, "B"),
        ["medium", "rate" | "cap", _] | [.., "rate"] => whole(value, "b/s"),
        _ => whole(value * PS_PER_MS, "ps"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn drawn_toml(keys: Value, draw: &[(&str, f64)]) -> String {
        let hop = Hop::read(&keys, &Bounds::NONE).expect("a hop");
        let draw: Vec<_> = draw.iter().map(|(path, value)| ((*path).to_owned(), *value)).collect();
        Hop::read(&drawn(&hop, &draw).expect("a draw"), &Bounds::NONE).expect("a hop").write(None).to_toml()
    }

    #[test]
    fn drawn_hop_has_the_values_of_its_directions_in_their_units() {
        let hop = table!(
            "name" => "air", "rate" => table!("down" => "4 Mb/s", "up" => "1 Mb/s"), "delay" => "20 ms", "loss" => 0.1,
            "queue" => table!("down" => table!("bytes" => "40 kB")),
        );
        let draw = [
            ("hop.air.rate.down", 3.6e6),
            ("hop.air.delay", 19.0),
            ("hop.air.loss.down.mean", 0.2),
            ("hop.air.queue.down.bytes", 38e3 + 0.5),
            ("hop.air.queue.up.bytes", 9.0),
            ("hop.core.delay", 1.0),
            ("hop.air.jitter.mean", 3.0),
            ("hop.air.medium.burst", 9.0),
        ];
        let text = drawn_toml(hop, &draw);
        for part in ["down = \"3.6 Mb/s\", up = \"1 Mb/s\"", "delay = \"19 ms\"", "0.2", "0.1", "bytes = \"38 kB\""] {
            assert!(text.contains(part), "{part} in {text}");
        }
        assert!(!text.contains("jitter") && !text.contains("medium") && text.matches("bytes").count() == 1, "{text}");
    }

    #[test]
    fn delay_may_be_drawn_as_zero_and_a_rate_not() {
        let hop = table!("name" => "air", "rate" => "4 Mb/s", "delay" => table!("down" => "1 ms", "up" => "2 ms"));
        let text = drawn_toml(hop, &[("hop.air.rate.up", 0.2), ("hop.air.delay.up", -1.0)]);
        assert!(text.contains("up = \"1 b/s\"") && text.contains("delay = { down = \"1 ms\" }"), "{text}");
    }
}
