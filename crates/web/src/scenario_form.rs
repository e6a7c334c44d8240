//! The flows of the page: the controls of a workload's keys, and the plan of the page's scenario. Both are read by
//! ackclock-scenario, as a scenario's file is.

use crate::link_form::{Choice, ChoiceOption, KeyedSlider, key_of, message, path_of, place_of_hop};
use ackclock_scenario::controls::sliders;
use ackclock_scenario::flow::workload::Workload;
use ackclock_scenario::invalid::{Invalid, Step};
use ackclock_scenario::keys::{Bounds, KeyValue};
use ackclock_scenario::scenario::Scenario;
use ackclock_scenario::scenario::plan::RunConfig;
use ackclock_scenario::table;
use ackclock_scenario::value::Value;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A workload and what a user has changed in it.
#[derive(Debug, Deserialize)]
pub struct EditedWorkload {
    /// What precedes its keys in those of controls, such as `flow1.workload`.
    place: String,
    kind: String,
    /// By the key of a control: a slider's number, or the name of a choice's option.
    edits: BTreeMap<String, Value>,
}

/// A workload with its controls.
#[derive(Debug, Serialize)]
pub struct WorkloadForm {
    /// As a scenario has it: its kind, the keys that it must have, and those that were changed.
    written: Value,
    choices: Vec<Choice>,
    sliders: Vec<KeyedSlider>,
}

impl EditedWorkload {
    /// Error: there is no such kind.
    pub fn form(&self) -> Result<WorkloadForm, String> {
        let read = |table: &Value| Workload::read(table, &Bounds::NONE);
        let invalid = |invalid: Invalid| message(&self.place, &invalid);
        let mut written = table!("kind" => self.kind.as_str());
        let controls = Workload::controls(&written);
        for control in &controls {
            if let Some(example) = control.example {
                written.put(&path_of(&[control.key]), Some(example()));
            }
        }
        let mut all_keys = read(&written).map_err(invalid)?.write(None);
        let mut choices = Vec::new();
        for control in &controls {
            let (path, options) = (path_of(&[control.key]), (control.options)());
            if options.is_empty() || all_keys.at(&path).is_none() {
                continue;
            }
            // Those of a switch as its words.
            let options: Vec<ChoiceOption> = options.into_iter().map(|value| (name_of(&value), Some(value))).collect();
            let chosen = Choice::make(&self.place, &mut all_keys, path, |_| control.text, &options, &self.edits);
            if let Some(choice) = chosen {
                if choice.selected != choice.current {
                    written.put(&choice.path, all_keys.at(&choice.path).cloned());
                }
                choices.push(choice);
            }
        }
        let sliders: Vec<KeyedSlider> = sliders(&controls, &all_keys, |changed| read(changed).is_ok())
            .into_iter()
            .map(|slider| KeyedSlider { key: key_of(&self.place, &slider.path), slider })
            .collect();
        for KeyedSlider { key, slider } in &sliders {
            if let Some(number) = self.edits.get(key).and_then(Value::number).filter(|number| *number != slider.value) {
                written.put(&slider.path, Some(slider.unit.write(number)));
            }
        }
        Ok(WorkloadForm { written, choices, sliders })
    }
}

fn name_of(value: &Value) -> String {
    match value {
        Value::Text(word) => word.clone(),
        Value::Bool(true) => "yes".into(),
        Value::Bool(false) => "no".into(),
        other => other.to_toml(),
    }
}

/// A scenario as a file has it, and the seed of a run.
#[derive(Debug, Deserialize)]
pub struct SeededScenario {
    scenario: Value,
    seed: u64,
}

impl SeededScenario {
    /// The plan with the times of its recordings. Error: the message of the first invalid key.
    pub fn plan(&self) -> Result<serde_json::Value, String> {
        let planned = Scenario::read(&self.scenario, &Bounds::NONE)
            .and_then(|scenario| scenario.plan(RunConfig { seed: self.seed, ..RunConfig::default() }));
        planned.map(|plan| plan.expanded()).map_err(|invalid| self.message(invalid))
    }

    /// A hop by its name, as the keys of controls have it.
    fn message(&self, mut invalid: Invalid) -> String {
        if let [Step::Key(table), Step::Index(index), ..] = invalid.path.as_slice()
            && table == "hop"
        {
            let name = self.scenario.at(&path_of(&["hop", &index.to_string(), "name"]));
            let place = place_of_hop(if let Some(Value::Text(name)) = name { name } else { "" });
            invalid.path.drain(..2);
            return message(&place, &invalid);
        }
        message("", &invalid).trim_start_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page_sources::{Names, PageSources, install};
    use serde_json::json;

    fn workload(kind: &str, edits: serde_json::Value) -> serde_json::Value {
        let edited = json!({"place": "flow1.workload", "kind": kind, "edits": edits});
        json!(serde_json::from_value::<EditedWorkload>(edited).expect("a workload").form().expect("a form"))
    }

    fn keys(form: &serde_json::Value, part: &str) -> Vec<String> {
        form[part].as_array().expect("controls").iter().map(|one| one["key"].as_str().expect("a key").to_owned()).collect()
    }

    #[test]
    fn keys_of_a_workload_are_controls_by_their_types() {
        let call = workload("call", json!({}));
        assert_eq!(call["written"], json!({"kind": "call"}));
        assert_eq!(keys(&call, "choices"), ["flow1.workload.codec", "flow1.workload.concealment"]);
        assert_eq!(keys(&call, "sliders"), ["flow1.workload.ptime"]);
        assert_eq!(call["choices"][1]["options"], json!(["yes", "no"]));
        let page = workload("page", json!({}));
        assert_eq!(page["choices"][0]["options"], json!(["shop", "light", "news"]));
    }

    #[test]
    fn changed_keys_are_written_and_those_as_by_default_are_not() {
        let edits = json!({"flow1.workload.ladder": "apple-hevc", "flow1.workload.tls": "no", "flow1.workload.buffer": 60e12,
            "flow1.workload.segment": 4e12, "flow2.workload.adaptation": "buffer", "flow1.workload.adaptation": "guess"});
        let expected = json!({"kind": "video", "ladder": "apple-hevc", "tls": false, "buffer": "60 s"});
        assert_eq!(workload("video", edits)["written"], expected);
    }

    #[test]
    fn key_that_a_workload_must_have_is_written_with_its_example() {
        assert_eq!(workload("transfer", json!({}))["written"], json!({"kind": "transfer", "size": "10 MB"}));
        assert_eq!(keys(&workload("cbr", json!({})), "sliders")[0], "flow1.workload.rate");
        let unknown = EditedWorkload { place: "flow1.workload".into(), kind: "ftp".into(), edits: BTreeMap::new() };
        assert!(unknown.form().expect_err("no such kind").starts_with("flow1.workload.kind: found \"ftp\"; allowed: "));
    }

    /// On the page's hosts: one with a few keys.
    fn scenario(hop: serde_json::Value, flow: serde_json::Value) -> SeededScenario {
        ackclock_scenario::sources::install(&PageSources);
        let delayed_ack = json!({"segments": 2, "timer": "40 ms"});
        let host = json!({"title": "a test", "source": "a test", "tcp": {"variant": "cubic", "recovery": "rack", "sack": true,
            "segment": "1448 B", "header": "40 B", "send_buffer": "64 KiB", "receive_buffer": "64 KiB", "delayed_ack": true},
            "words": {"delayed_ack": delayed_ack}});
        let hosts = json!({"linux-6": host, "linux-2.6.20": host});
        let names: Names = serde_json::from_value(json!({"hosts": hosts, "recordings": {"a.down": [0, 5, 12]}})).expect("names");
        install(names);
        let scenario = json!({"duration": "10 s", "hop": [hop], "flow": [flow]});
        serde_json::from_value(json!({"scenario": scenario, "seed": 7})).expect("a scenario")
    }

    fn line() -> serde_json::Value {
        json!({"name": "line", "rate": {"down": "8 Mb/s", "up": "1 Mb/s"}, "queue": {"packets": 50}})
    }

    fn bulk() -> serde_json::Value {
        json!({"workload": {"kind": "bulk"}})
    }

    #[test]
    fn plan_has_the_scenario_with_its_seed_and_the_keys_of_its_host() {
        let plan = scenario(line(), bulk()).plan().expect("a plan");
        assert_eq!(
            (&plan["seed"], &plan["duration_ps"], &plan["clients"]),
            (&json!(7), &json!(10_000_000_000_000_u64), &json!(1))
        );
        assert_eq!(
            (&plan["hops"][0]["up"]["rate"]["bps"], &plan["flows"][0]["tcp"]["variant"]),
            (&json!(1_000_000), &json!("cubic"))
        );
        let call = scenario(line(), json!({"workload": {"kind": "call"}, "device": 2})).plan().expect("a plan");
        assert_eq!((&call["flows"][0]["workload"]["kind"], &call["flows"][0]["device"]), (&json!("call"), &json!(1)));
    }

    #[test]
    fn plan_is_refused_with_the_name_of_the_hop_when_its_key_is_invalid() {
        let mut hop = line();
        hop["queue"] = json!({"down": {"kind": "dualpi2", "ack": {"first": true}}});
        let message = scenario(hop, bulk()).plan().expect_err("dualpi2 has its own order");
        assert!(message.starts_with("hop.line.queue.down.ack.first: found first = true; allowed: false"), "{message}");
        let late = scenario(line(), json!({"workload": {"kind": "bulk"}, "start": "10 s"})).plan().expect_err("at the end");
        assert!(late.starts_with("flow[1].start: found \"10 s\"; allowed: "), "{late}");
    }

    #[test]
    fn recording_is_in_the_plan_in_place_of_its_path_when_the_page_has_it() {
        let air = |path: &str| json!({"name": "air", "rate": {"down": {"trace": path}, "up": "1 Mb/s"}});
        let plan = scenario(air("a.down"), bulk()).plan().expect("a plan");
        assert_eq!(plan["hops"][0]["down"]["rate"]["times_ms"], json!([0, 5, 12]));
        let message = scenario(air("b.down"), bulk()).plan().expect_err("unknown");
        assert!(message.contains("a recording that the page was given"), "{message}");
    }
}
