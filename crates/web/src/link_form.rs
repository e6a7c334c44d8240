//! The form of a link: its hops and tunnels as a link file has them, and the controls of their keys. The tables are
//! read by ackclock-scenario, as those of a file are.

use ackclock_core::link::TunnelKind;
use ackclock_core::medium::Direction as Side;
use ackclock_scenario::controls::{Control, Number, Slider, sliders};
use ackclock_scenario::invalid::{Code, Invalid, Read, Step};
use ackclock_scenario::keys::{Attribute, Bounds, Checked, KeySet, KeyValue, is_per_direction};
use ackclock_scenario::link::acks::Acks;
use ackclock_scenario::link::hop::{Direction, Hop};
use ackclock_scenario::link::queue::Queue;
use ackclock_scenario::link::tunnel::Tunnel;
use ackclock_scenario::table;
use ackclock_scenario::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A link and what a user has changed in it.
#[derive(Debug, Deserialize)]
pub struct EditedLink {
    /// The hops as their file has them.
    hops: Vec<Value>,
    /// The tunnels over them.
    #[serde(default)]
    tunnels: Vec<Value>,
    /// By the key of a control, `hop.NAME.PATH` or `tunnel.NUMBER.PATH`: a slider's number, or the name of a
    /// choice's option.
    edits: BTreeMap<String, Value>,
}

/// A hop with its controls.
#[derive(Debug, Serialize)]
pub struct HopForm {
    name: String,
    /// The changed hop as a link file has it.
    written: Value,
    choices: Vec<Choice>,
    sliders: Vec<KeyedSlider>,
    /// A fixed rate or the maximum of the medium, by direction; of the link itself while the changed
    /// hop is invalid.
    slowest_bps: Value,
}

/// A tunnel with its controls.
#[derive(Debug, Serialize)]
pub struct TunnelForm {
    /// Its place among the tunnels of the link, from 1.
    number: usize,
    kind: &'static str,
    /// The names of the hops that it crosses.
    over: Vec<String>,
    /// The changed tunnel as a link file has it.
    written: Value,
    choices: Vec<Choice>,
    sliders: Vec<KeyedSlider>,
}

/// A slider with its key.
#[derive(Debug, Serialize)]
pub struct KeyedSlider {
    pub(crate) key: String,
    #[serde(flatten)]
    pub(crate) slider: Slider,
}

/// A table with a few kinds, of which one is selected.
#[derive(Debug, Serialize)]
pub struct Choice {
    key: String,
    pub(crate) path: Vec<String>,
    /// What the key means.
    text: &'static str,
    /// The option of the link itself.
    pub(crate) current: String,
    pub(crate) selected: String,
    options: Vec<String>,
}

impl EditedLink {
    pub fn form(&self) -> Result<Vec<HopForm>, String> {
        self.hops.iter().map(|table| HopForm::new(table, &self.edits)).collect()
    }

    pub fn tunnel_form(&self) -> Result<Vec<TunnelForm>, String> {
        (1..).zip(&self.tunnels).map(|(number, table)| TunnelForm::new(number, table, &self.edits)).collect()
    }
}

/// As the messages of a link file, without file and line.
pub(crate) fn message(table: &str, invalid: &Invalid) -> String {
    let steps = invalid.path.iter().map(|step| match step {
        Step::Key(key) => format!(".{key}"),
        Step::Index(index) => format!("[{}]", index + 1),
    });
    let place = format!("{table}{}", steps.collect::<String>());
    match invalid.code {
        Code::Combination => format!("{place}: {}; {}", invalid.found, invalid.allowed),
        _ => format!("{place}: found {}; allowed: {}", invalid.found, invalid.allowed),
    }
}

pub(crate) fn place_of_hop(name: &str) -> String {
    format!("hop.{name}")
}

fn read(table: &Value) -> Read<Hop> {
    Hop::read(table, &Bounds::NONE)
}

impl HopForm {
    fn new(table: &Value, edits: &BTreeMap<String, Value>) -> Result<HopForm, String> {
        let name = if let Some(Value::Text(name)) = table.get("name") { name.clone() } else { String::new() };
        let place = place_of_hop(&name);
        let own = read(table).map_err(|invalid| message(&place, &invalid))?;
        let mut base = expanded(own.write(Some(table)));
        let mut choices = Vec::new();
        for (path, options) in choice_paths(&base) {
            choices.extend(Choice::make(&place, &mut base, path, meaning, &options(), edits));
        }
        let is_valid = read(&base).is_ok();
        // A proxy belongs to a connection, not to the hop.
        let controls: Vec<Control> = Hop::key_controls().into_iter().filter(|control| control.key != "pep").collect();
        let found = sliders(&controls, &base, |changed| !is_valid || read(changed).is_ok());
        let sliders: Vec<KeyedSlider> =
            found.into_iter().map(|slider| KeyedSlider { key: key_of(&place, &slider.path), slider }).collect();
        let mut changed = base;
        for KeyedSlider { key, slider } in &sliders {
            if let Some(number) = edits.get(key).and_then(Value::number).filter(|number| *number != slider.value) {
                changed.put(&slider.path, Some(slider.unit.write(number)));
            }
        }
        let hop = read(&changed);
        let written = hop.as_ref().map_or_else(|_| changed.clone(), |hop| hop.write(Some(&changed)));
        let slowest_bps = match Checked::attribute(hop.as_ref().unwrap_or(&own), "slowest_bps") {
            Some(Attribute::Value(rates)) => rates,
            _ => Value::Absent,
        };
        Ok(HopForm { name, written, choices, sliders, slowest_bps })
    }
}

impl TunnelForm {
    fn new(number: usize, table: &Value, edits: &BTreeMap<String, Value>) -> Result<TunnelForm, String> {
        let place = format!("tunnel.{number}");
        let read = |table: &Value| Tunnel::read(table, &Bounds::NONE).map_err(|invalid| message(&place, &invalid));
        read(table)?;
        let mut changed = table.clone();
        let mut choices = Vec::new();
        let text = |path: &[String]| {
            Tunnel::key_controls()
                .into_iter()
                .find(|control| path.last().is_some_and(|key| key == control.key))
                .map_or("", |c| c.text)
        };
        let kinds: Vec<ChoiceOption> =
            TunnelKind::ALL.iter().map(|kind| (kind.name().into(), Some(kind.name().into()))).collect();
        choices.extend(Choice::make(&place, &mut changed, path_of(&["kind"]), text, &kinds, edits));
        let kind = read(&changed)?.kind;
        // What the kind has by default can be changed, too; the file has it once it is.
        let mut shown = changed.clone();
        if shown.get("mtu").is_none() {
            shown.put(&path_of(&["mtu"]), Some(Number::Size.write(kind.default_mtu().into())));
        }
        if shown.get("df").is_none() {
            shown.put(&path_of(&["df"]), Some(kind.default_df().into()));
        }
        let df: [ChoiceOption; 2] = [("set".into(), Some(true.into())), ("not set".into(), Some(false.into()))];
        if let Some(choice) = Choice::make(&place, &mut shown, path_of(&["df"]), text, &df, edits) {
            if choice.selected != choice.current {
                changed.put(&choice.path, shown.get("df").cloned());
            }
            choices.push(choice);
        }
        let found = sliders(&Tunnel::key_controls(), &shown, |changed| Tunnel::read(changed, &Bounds::NONE).is_ok());
        let sliders: Vec<KeyedSlider> =
            found.into_iter().map(|slider| KeyedSlider { key: key_of(&place, &slider.path), slider }).collect();
        for KeyedSlider { key, slider } in &sliders {
            if let Some(number) = edits.get(key).and_then(Value::number).filter(|number| *number != slider.value) {
                changed.put(&slider.path, Some(slider.unit.write(number)));
            }
        }
        let tunnel = read(&changed)?;
        let over = tunnel.over.0.clone();
        Ok(TunnelForm { number, kind: kind.name(), over, written: changed, choices, sliders })
    }
}

/// The key of a control in a table, such as `hop.dsl`.
pub(crate) fn key_of(table: &str, path: &[String]) -> String {
    format!("{table}.{}", path.join("."))
}

pub(crate) fn path_of(steps: &[&str]) -> Vec<String> {
    steps.iter().map(|step| (*step).to_owned()).collect()
}

/// A hop with its delay, and with each key per direction, but a delay that is equal in both.
fn expanded(mut hop: Value) -> Value {
    if hop.get("delay").is_none() {
        hop.put(&path_of(&["delay"]), Some("0 s".into()));
    }
    if hop.get("only").is_some() {
        return hop;
    }
    for key in Direction::names().into_iter().filter(|key| *key != "delay") {
        if let Some(value) = hop.get(key).filter(|value| !is_per_direction(value)).cloned() {
            hop.put(&path_of(&[key]), Some(Value::table([("down", value.clone()), ("up", value)])));
        }
    }
    hop
}

/// An option's name and its value; None leaves the key out.
pub(crate) type ChoiceOption = (String, Option<Value>);

/// The path of a choice, and its options.
type ChoicePath = (Vec<String>, fn() -> Vec<ChoiceOption>);

/// The choices of a hop in each of its directions: queue, its handling of ACKs, loss.
fn choice_paths(hop: &Value) -> Vec<ChoicePath> {
    let only = if let Some(Value::Text(side)) = hop.get("only") { Some(side.as_str()) } else { None };
    let has_queue = hop.get("rate").is_some() || hop.get("medium").is_some();
    let mut paths: Vec<ChoicePath> = Vec::new();
    for side in Side::BOTH.map(Side::name).into_iter().filter(|side| only.is_none_or(|only| only == *side)) {
        let path = |steps: [&str; 3]| -> Vec<String> {
            let is_side = |step: &&str| *step == side;
            path_of(&steps.into_iter().filter(|step| !(step.is_empty() || only.is_some() && is_side(step))).collect::<Vec<_>>())
        };
        if has_queue {
            paths.push((path(["queue", side, ""]), queues));
            paths.push((path(["queue", side, "ack"]), ack_handling));
        }
        paths.push((path(["loss", side, ""]), losses));
    }
    paths
}

/// A queue of each kind with all its keys; a droptail queue of 256 KiB.
fn queues() -> Vec<ChoiceOption> {
    let all_keys = |kind: &'static str| {
        let queue = Queue::read(&table!("kind" => kind), &Bounds::NONE).ok()?;
        let mut table = queue.write(None);
        if let Some(packets) = queue.checked().plan()["packets"].as_i64().filter(|packets| *packets < i64::from(i32::MAX)) {
            table.put(&path_of(&["packets"]), Some(packets.into()));
        }
        Some(table)
    };
    let kinds = Queue::kinds().map(|kind| match kind {
        "droptail" => (kind.to_owned(), Some(table!("kind" => kind, "bytes" => "256 KiB"))),
        _ => (kind.to_owned(), all_keys(kind)),
    });
    [("unlimited".to_owned(), None)].into_iter().chain(kinds).collect()
}

fn ack_handling() -> Vec<ChoiceOption> {
    vec![
        ("none".into(), None),
        ("filter".into(), Some(table!("filter" => "safe"))),
        ("filter as cake".into(), Some(table!("filter" => "cake"))),
        ("first".into(), Some(table!("first" => true))),
    ]
}

fn losses() -> Vec<ChoiceOption> {
    vec![
        ("none".into(), None),
        ("bernoulli".into(), Some(table!("kind" => "bernoulli", "mean" => 0.001))),
        ("gilbert-elliott".into(), Some(table!("kind" => "gilbert-elliott", "mean" => 0.001, "bad_sojourn" => "50 ms"))),
    ]
}

/// The name of the option that a table is.
fn name_of(table: Option<&Value>, options: &[ChoiceOption]) -> String {
    let read = |table: &Value| Acks::read(table, &Bounds::NONE).ok();
    let name = match table {
        None => options.first().map(|(name, _)| name),
        Some(Value::Text(word)) => return word.clone(),
        Some(Value::Bool(_)) => options.iter().find(|(_, option)| option.as_ref() == table).map(|(name, _)| name),
        Some(table) => match table.get("kind") {
            Some(Value::Text(kind)) => return kind.clone(),
            _ => options
                .iter()
                .find(|(_, option)| option.as_ref().is_some_and(|option| read(option) == read(table)))
                .map(|(name, _)| name),
        },
    };
    name.map_or_else(|| "own".to_owned(), String::clone)
}

impl Choice {
    /// The choice at a path, whose selected option is put into the hop. None: the queue is absent
    /// that would handle ACKs.
    pub(crate) fn make(
        table: &str,
        base: &mut Value,
        path: Vec<String>,
        text: impl Fn(&[String]) -> &'static str,
        options: &[ChoiceOption],
        edits: &BTreeMap<String, Value>,
    ) -> Option<Choice> {
        let (last, above) = path.split_last()?;
        if last == "ack" && base.at(above).is_none() {
            return None;
        }
        let key = key_of(table, &path);
        let current = name_of(base.at(&path), options);
        let mut selected = current.clone();
        if let Some(Value::Text(name)) = edits.get(&key)
            && let Some((name, table)) = options.iter().find(|(option, _)| option == name && *option != current)
        {
            name.clone_into(&mut selected);
            base.put(&path, table.clone());
        }
        let others = options.iter().map(|(name, _)| name.clone()).filter(|name| *name != current);
        let names: Vec<String> = [current.clone()].into_iter().chain(others).collect();
        Some(Choice { key, text: text(&path), path, current, selected, options: names })
    }
}

/// The text of the key at a path.
fn meaning(path: &[String]) -> &'static str {
    let text = |controls: Vec<Control>, key: &str| {
        controls.into_iter().find(|control| control.key == key).map_or("", |control| control.text)
    };
    match path.last().map(String::as_str) {
        Some("ack") => text(ackclock_scenario::link::queue::DropTail::key_controls(), "ack"),
        _ => text(Hop::key_controls(), path.first().map_or("", String::as_str)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn edited(hop: serde_json::Value, edits: serde_json::Value) -> EditedLink {
        serde_json::from_value(json!({"hops": [hop], "edits": edits})).expect("a link")
    }

    fn line() -> serde_json::Value {
        json!({"name": "line", "rate": {"down": "8 Mb/s", "up": "1 Mb/s"}, "queue": {"packets": 50}})
    }

    #[test]
    fn written_hop_has_the_edits_and_each_equal_key_once() {
        let keys = |form: &HopForm| form.sliders.iter().map(|control| control.key.clone()).collect::<Vec<_>>();
        let forms =
            edited(line(), json!({"hop.line.rate.down": 4_000_000, "hop.line.queue.up": "codel"})).form().expect("a form");
        let down = "hop.line.queue.down.packets".to_owned();
        assert!(keys(&forms[0]).contains(&down) && keys(&forms[0]).contains(&"hop.line.queue.up.target".to_owned()));
        let written = json!(forms[0].written);
        assert_eq!(written["rate"], json!({"down": "4 Mb/s", "up": "1 Mb/s"}));
        assert_eq!(written["queue"]["up"]["target"], "5 ms");
        assert_eq!(json!(edited(line(), json!({})).form().expect("a form")[0].written)["queue"]["packets"], 50);
        let proxy = json!({"name": "x", "pep": {"buffer": "1 MB"}});
        assert_eq!(keys(&edited(proxy, json!({})).form().expect("a form")[0]), ["hop.x.delay"]);
    }

    #[test]
    fn choice_of_acks_follows_the_queue_that_is_selected() {
        let choices = |edits: serde_json::Value| -> Vec<(String, String)> {
            let form = edited(line(), edits).form().expect("a form").remove(0);
            form.choices
                .into_iter()
                .filter(|choice| choice.path[1] == "down")
                .map(|choice| (choice.path.join("."), choice.selected))
                .collect()
        };
        let names = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(path, name)| ((*path).to_owned(), (*name).to_owned())).collect::<Vec<_>>()
        };
        assert_eq!(choices(json!({})), names(&[("queue.down", "droptail"), ("queue.down.ack", "none"), ("loss.down", "none")]));
        assert_eq!(
            choices(json!({"hop.line.queue.down": "unlimited"})),
            names(&[("queue.down", "unlimited"), ("loss.down", "none")])
        );
        let filter = choices(json!({"hop.line.queue.down": "cake", "hop.line.queue.down.ack": "filter"}));
        assert_eq!(filter[..2], names(&[("queue.down", "cake"), ("queue.down.ack", "filter")]));
    }

    #[test]
    fn form_has_the_rates_of_the_link_itself_when_an_edit_is_invalid() {
        let edits = json!({"hop.line.queue.down": "dualpi2", "hop.line.queue.down.ack": "first"});
        let form = edited(line(), edits).form().expect("the form is shown");
        assert_eq!((form[0].choices[0].selected.as_str(), form[0].sliders.is_empty()), ("dualpi2", false));
        assert_eq!(form[0].slowest_bps, Value::table([("down", Value::from(8_000_000)), ("up", Value::from(1_000_000))]));
    }

    #[test]
    fn form_has_the_tunnels_of_a_link_and_their_edits() {
        let tunnel = json!({"kind": "wireguard", "over": ["line"]});
        let link = |edits: serde_json::Value| -> EditedLink {
            let hops = json!([{"name": "core", "delay": "5 ms"}, line()]);
            serde_json::from_value(json!({"hops": hops, "tunnels": [tunnel], "edits": edits})).expect("a link")
        };
        let forms = link(json!({})).tunnel_form().expect("a form");
        assert_eq!(json!(forms[0].written), tunnel, "defaults are left out");
        let selected: Vec<&str> = forms[0].choices.iter().map(|choice| choice.selected.as_str()).collect();
        assert_eq!((selected, forms[0].sliders[0].key.as_str()), (vec!["wireguard", "not set"], "tunnel.1.mtu"));
        let edits = json!({"tunnel.1.kind": "gre", "tunnel.1.mtu": 1300, "tunnel.1.df": "not set"});
        let written = json!(link(edits).tunnel_form().expect("a form")[0].written);
        assert_eq!(written, json!({"kind": "gre", "over": ["line"], "mtu": "1300 B", "df": false}));
        assert!(edited(line(), json!({})).tunnel_form().expect("a form").is_empty());
    }
}
