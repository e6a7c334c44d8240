//! Dotted paths of a scenario that is not read yet, such as `tcp.variant` or `hop.air.loss.down.mean`.
//!
//! A hop or a flow is named, not counted; a key of a hop that a file may have for each direction or for
//! both may be one direction's.

use crate::invalid::{Invalid, Read, Step, choices};
use crate::keys::KeySet;
use crate::keys::{is_direction, is_per_direction};
use crate::link::hop::Direction;
use crate::value::Value;
use ackclock_core::medium;

type Entries = Vec<(String, Value)>;

/// Keys that are no part of one run.
const OF_MANY_RUNS: [&str; 5] = ["sweep", "hunt", "seeds", "title", "source"];

const EXAMPLES: &str = "a path such as tcp.variant, hop.NAME.rate.down, flow.NAME.count, link or duration";

/// Tables whose single value is their `mean`.
const MEANS: [&str; 4] = ["down", "up", "loss", "duplicate"];

/// Sets the value at a path, or removes it if it is absent. Returns its place.
pub fn put(data: &mut Value, path: &str, value: Value) -> Read<Vec<Step>> {
    let parts: Vec<&str> = path.split('.').collect();
    let Value::Table(table) = data else { return Err(Invalid::value(data, "a table")) };
    match parts.as_slice() {
        [first, ..] if OF_MANY_RUNS.contains(first) || parts.contains(&"") => Err(Invalid::value(&path.into(), EXAMPLES)),
        ["hop" | "flow", rest @ ..] => put_in_element(table, parts[0], rest, value)
            .ok_or_else(|| unknown_element(table, parts[0], rest.first().copied().unwrap_or_default(), path)),
        keys => Ok(set(table, Vec::new(), keys, value)),
    }
}

/// The name of each element of an array; None for one that has no text there.
fn names(table: &Entries, kind: &str) -> Vec<Option<String>> {
    let Some((_, Value::Array(elements))) = table.iter().find(|(key, _)| key == kind) else { return Vec::new() };
    let name = |(index, element): (usize, &Value)| match (element, element.get("name")) {
        (Value::Table(_), None) if kind == "flow" => Some(format!("flow{}", index + 1)),
        (Value::Table(_), None) => Some(String::new()),
        (_, Some(Value::Text(name))) => Some(name.clone()),
        _ => None,
    };
    elements.iter().enumerate().map(name).collect()
}

fn unknown_element(table: &Entries, kind: &str, name: &str, path: &str) -> Invalid {
    let known = names(table, kind);
    let known: Vec<&str> = known.iter().flatten().map(String::as_str).collect();
    let allowed = format!("{kind}.NAME.KEY with NAME one of {}", choices(&known, Some(name)));
    Invalid::value(&path.into(), allowed)
}

/// None: no element has this name, or the path has no key of it.
fn put_in_element(table: &mut Entries, kind: &str, path: &[&str], value: Value) -> Option<Vec<Step>> {
    let (name, keys) = path.split_first().filter(|(_, keys)| !keys.is_empty())?;
    let index = names(table, kind).iter().position(|known| known.as_deref() == Some(name))?;
    let (_, elements) = table.iter_mut().find(|(key, _)| key == kind)?;
    let Value::Array(elements) = elements else { return None };
    let Value::Table(element) = &mut elements[index] else { return None };
    let place = vec![Step::Key(kind.into()), Step::Index(index)];
    if kind == "hop" && Direction::names().contains(&keys[0]) {
        return Some(put_in_hop(element, place, keys, value));
    }
    Some(set(element, place, keys, value))
}

fn put_in_hop(hop: &mut Entries, place: Vec<Step>, keys: &[&str], value: Value) -> Vec<Step> {
    let [key, rest @ ..] = keys else { return place };
    let current = get_key(hop, key).filter(|current| **current != Value::Absent).cloned();
    if rest.first().is_some_and(|first| is_direction(first)) {
        match current {
            None if value == Value::Absent => return below(place, keys),
            Some(current) if is_per_direction(&current) => {}
            // One value for both directions becomes one for each, of which one is replaced.
            current => {
                let sides = current.map_or_else(Vec::new, |current| both(hop, &current));
                *entry(hop, key) = Value::Table(sides);
            }
        }
        return set(hop, place, keys, value);
    }
    match current {
        Some(Value::Table(sides)) if !rest.is_empty() && is_per_direction(&Value::Table(sides.clone())) => {
            let put =
                |(side, _): &(String, Value)| set(hop, place.clone(), &[&[*key, side.as_str()], rest].concat(), value.clone());
            sides.iter().map(put).last().unwrap_or_default()
        }
        _ => set(hop, place, keys, value),
    }
}

/// A value for each direction that the hop has.
fn both(hop: &Entries, value: &Value) -> Entries {
    let only = get_key(hop, "only");
    let has = |side: &medium::Direction| match only {
        Some(Value::Text(only)) if is_direction(only) => only == side.name(),
        _ => true,
    };
    medium::Direction::BOTH.iter().filter(|side| has(side)).map(|side| (side.name().to_owned(), value.clone())).collect()
}

fn get_key<'a>(table: &'a Entries, key: &str) -> Option<&'a Value> {
    table.iter().find(|(name, _)| name == key).map(|(_, value)| value)
}

/// The value of a key, which is added if there is none.
fn entry<'a>(table: &'a mut Entries, key: &str) -> &'a mut Value {
    let index = table.iter().position(|(name, _)| name == key).unwrap_or_else(|| {
        table.push((key.to_owned(), Value::Absent));
        table.len() - 1
    });
    &mut table[index].1
}

fn below(mut place: Vec<Step>, keys: &[&str]) -> Vec<Step> {
    place.extend(keys.iter().map(|&key| Step::Key(key.into())));
    place
}

fn set(table: &mut Entries, place: Vec<Step>, keys: &[&str], value: Value) -> Vec<Step> {
    let place = below(place, keys);
    let Some((last, parents)) = keys.split_last() else { return place };
    let mut table = table;
    for parent in parents {
        if value == Value::Absent && get_key(table, parent).is_none() {
            return place;
        }
        let inner = entry(table, parent);
        if !matches!(inner, Value::Table(_)) {
            let mean = std::mem::replace(inner, Value::Table(Vec::new()));
            if let (true, Value::Table(keys)) = (MEANS.contains(parent) && mean != Value::Absent, &mut *inner) {
                keys.push(("mean".into(), mean));
            }
        }
        let Value::Table(inner) = inner else { return place };
        table = inner;
    }
    if value == Value::Absent {
        table.retain(|(name, _)| name != last);
    } else {
        *entry(table, last) = value;
    }
    place
}

/// The value at a path: of a hop's key with one value for both directions, that one.
pub fn get<'a>(data: &'a Value, path: &str) -> Option<&'a Value> {
    let parts: Vec<&str> = path.split('.').collect();
    let (kind, mut keys) = (parts[0], &parts[1..]);
    let mut value = data.get(kind)?;
    if let (Value::Array(elements), true, [name, rest @ ..]) = (value, matches!(kind, "hop" | "flow"), keys) {
        let is_named = |element: &&Value| matches!(element.get("name"), Some(Value::Text(text)) if text == name);
        let numbered = name.strip_prefix("flow").and_then(|number| number.parse::<usize>().ok()?.checked_sub(1));
        let at = numbered.filter(|_| kind == "flow").and_then(|index| elements.get(index));
        value = elements.iter().find(is_named).or(at)?;
        keys = rest;
    }
    keys.iter().try_fold(value, |value, key| {
        if kind == "hop" && is_direction(key) && !is_per_direction(value) { Some(value) } else { value.get(key) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    fn scenario() -> Value {
        let air = table!("name" => "air", "loss" => 0.1, "delay" => table!("down" => "1 ms", "up" => "2 ms"));
        let up = table!("name" => "back", "only" => "up", "rate" => "1 Mb/s");
        let flow = table!("workload" => table!("kind" => "bulk"));
        table!("hop" => vec![air, up], "flow" => vec![flow, 3.into()])
    }

    fn hop_after(index: usize, path: &str, value: Value) -> String {
        let mut data = scenario();
        put(&mut data, path, value).expect("a path");
        data.at(&["hop".into(), index.to_string()]).expect("a hop").to_toml()
    }

    #[test]
    fn path_sets_one_direction_or_both_when_a_key_has_one_value_or_two() {
        let air = |path: &str, value: Value| hop_after(0, path, value);
        assert_eq!(
            air("hop.air.loss.down.mean", 0.5.into()),
            "{ name = \"air\", loss = { down = { mean = 0.5 }, up = 0.1 }, delay = { down = \"1 ms\", up = \"2 ms\" } }"
        );
        assert!(air("hop.air.delay.down", "9 ms".into()).ends_with("delay = { down = \"9 ms\", up = \"2 ms\" } }"));
        assert!(air("hop.air.delay", "9 ms".into()).ends_with("delay = \"9 ms\" }"));
        assert!(air("hop.air.delay.mean", "9 ms".into()).contains("down = { mean = \"9 ms\" }, up = { mean = \"9 ms\" }"));
        assert!(hop_after(1, "hop.back.rate.up", "2 Mb/s".into()).ends_with("rate = { up = \"2 Mb/s\" } }"));
    }

    #[test]
    fn path_removes_a_key_when_its_value_is_absent_and_makes_no_table() {
        assert!(hop_after(0, "hop.air.delay.down", Value::Absent).ends_with("delay = { up = \"2 ms\" } }"));
        let before = scenario().at(&["hop".into(), "0".into()]).map(Value::to_toml);
        for path in ["hop.air.queue.down.packets", "hop.air.queue.packets", "hop.air.medium.rate"] {
            assert_eq!(Some(hop_after(0, path, Value::Absent)), before, "{path}");
        }
    }

    #[test]
    fn path_is_refused_when_it_names_no_element_no_key_or_another_run() {
        let refused = |path: &str| put(&mut scenario(), path, 1.into()).expect_err(path).allowed;
        assert!(refused("hop.aire.rate").ends_with("hop.NAME.KEY with NAME one of air, back (did you mean air?)"));
        assert!(refused("flow.flow2.count").ends_with("one of flow1 (did you mean flow1?)"));
        for path in ["hop", "hop.air", "flow.flow1"] {
            assert!(refused(path).contains("NAME.KEY"), "{path}");
        }
        for path in ["seeds", "sweep.duration", "tcp..variant", ""] {
            assert_eq!(refused(path), EXAMPLES, "{path}");
        }
        let place = put(&mut scenario(), "flow.flow1.count", 2.into()).expect("a flow");
        assert_eq!(place, [Step::Key("flow".into()), Step::Index(0), Step::Key("count".into())]);
    }

    #[test]
    fn value_is_that_of_both_directions_when_a_path_names_one() {
        let data = scenario();
        assert_eq!(get(&data, "hop.air.loss.up"), Some(&Value::Float(0.1)));
        assert_eq!(get(&data, "hop.air.delay.up"), Some(&Value::from("2 ms")));
        assert_eq!(get(&data, "flow.flow1.workload.kind"), Some(&Value::from("bulk")));
        for path in ["hop.none.rate", "flow.flow2.count", "flow.flow0.count", "flow.flow9.count", "tcp.variant"] {
            assert_eq!(get(&data, path), None, "{path}");
        }
    }
}
