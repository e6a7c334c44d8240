//! The plan: one run of a scenario in integers, which `ackclock_sim::plan` builds. It is private to
//! ackclock: workers of a cluster and stored runs have it as JSON, and a run's identity is a digest of
//! that text, so its bytes stay what they are.

mod flows;
mod text;

use super::Scenario;
use super::values::Window;
use crate::invalid::Read;
use crate::keys::Checked;
use crate::link::tunnel::Tunnel;
use crate::sources::{Recording, sources};
use flows::FlowPlans;
use serde_json::{Map, Value as Json, json};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::sync::Arc;

/// A plan with the digest of a recording in place of its times.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    document: Json,
    recordings: Vec<Arc<Recording>>,
}

/// Hops, and the recordings of their rates without duplicates.
#[derive(Default)]
struct HopPlans {
    hops: Vec<Json>,
    recordings: Vec<Arc<Recording>>,
}

/// What a run has beside its scenario.
#[derive(Clone, Debug, Default)]
pub struct RunConfig {
    pub seed: u64,
    /// Captures to write, as a plan has them.
    pub captures: Vec<Json>,
    /// An emulation: simulated hosts beside real ones process packets at once, and what the emulator
    /// is late is their processing time (ADR 9).
    pub is_live: bool,
}

impl Scenario {
    /// The plan of a run.
    pub fn plan(&self, run: RunConfig) -> Read<Plan> {
        let HopPlans { hops, recordings } = self.hop_plans()?;
        let FlowPlans { flows, proxies, pages, .. } = FlowPlans::of(self, run.is_live)?;
        let mut document = json!({
            "seed": run.seed,
            "duration_ps": self.duration.0.0,
            "sample_ps": self.sample.0.0,
            "clients": self.clients.0,
            "measure": self.measure_plan(),
            "hops": hops,
            "flows": flows,
            "captures": run.captures,
        });
        if !pages.is_empty() {
            document["pages"] = pages.into();
        }
        if !proxies.is_empty() {
            document["proxies"] = proxies.into();
        }
        if !self.tunnel.is_empty() {
            document["tunnels"] = self.tunnel.iter().map(|tunnel| self.tunnel_plan(tunnel)).collect();
        }
        Ok(Plan { document, recordings })
    }

    fn tunnel_plan(&self, tunnel: &Tunnel) -> Json {
        let mut plan = json!(tunnel.config());
        plan["over"] = self.hops_under(tunnel).into();
        plan
    }

    fn measure_plan(&self) -> Json {
        match (self.measure.window, self.measured_ps()) {
            (_, Some([from_ps, to_ps])) => json!({"kind": "interval", "from_ps": from_ps, "to_ps": to_ps}),
            (Window::AllActive, None) => json!({"kind": "all-active"}),
            (_, None) => json!({"kind": "all"}),
        }
    }

    fn hop_plans(&self) -> Read<HopPlans> {
        let HopPlans { mut hops, mut recordings } = HopPlans::default();
        for hop in &self.hop {
            let mut plan = Checked::plan(&**hop);
            for side in ["down", "up"] {
                if let Some(Json::String(times)) = plan.pointer_mut(&format!("/{side}/rate/times_ms")) {
                    let recording = sources().recording(times)?;
                    times.clone_from(&recording.digest);
                    if !recordings.iter().any(|known| known.digest == recording.digest) {
                        recordings.push(recording);
                    }
                }
            }
            hops.push(plan);
        }
        Ok(HopPlans { hops, recordings })
    }
}

impl Plan {
    pub fn new(document: Json, recordings: Vec<Arc<Recording>>) -> Plan {
        Plan { document, recordings }
    }

    /// Its values, with digests of recordings.
    pub fn document(&self) -> &Json {
        &self.document
    }

    pub fn recordings(&self) -> &[Arc<Recording>] {
        &self.recordings
    }

    /// SHA-256 over the plan without its captures; recordings count by their contents.
    pub fn digest(&self) -> String {
        let without_captures = self.document.as_object().into_iter().flatten().filter(|(key, _)| *key != "captures");
        let hashed: Map<String, Json> = without_captures.map(|(key, value)| (key.clone(), value.clone())).collect();
        let hash = Sha256::digest(text::compact(&Json::Object(hashed)));
        hash.iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}");
            digits
        })
    }

    /// The JSON that the engine reads.
    pub fn text(&self) -> String {
        let mut whole = text::compact(&self.document);
        for recording in &self.recordings {
            let times = text::compact(&json!(recording.times_ms));
            whole = whole.replace(&format!("\"{}\"", recording.digest), &times);
        }
        whole
    }

    /// The plan with the times of its recordings.
    pub fn expanded(&self) -> Json {
        let mut whole = self.document.clone();
        let hops = whole.get_mut("hops").and_then(Json::as_array_mut).into_iter().flatten();
        for hop in hops {
            for side in ["down", "up"] {
                let Some(times) = hop.pointer_mut(&format!("/{side}/rate/times_ms")) else { continue };
                if let Some(recording) = self.recordings.iter().find(|one| times.as_str() == Some(&one.digest)) {
                    *times = json!(recording.times_ms);
                }
            }
        }
        whole
    }

    /// The names of the flows, in order.
    pub fn flow_names(&self) -> Vec<&str> {
        let flows = self.document["flows"].as_array().into_iter().flatten();
        flows.filter_map(|flow| flow["name"].as_str()).collect()
    }

    /// The classes in Python without duplicates: congestion controls of hosts and proxies, and rate
    /// controllers of shapers.
    pub fn user_classes(&self) -> Vec<&str> {
        let parts = ["flows", "proxies"].into_iter().filter_map(|part| self.document[part].as_array()).flatten();
        let hosts = parts.flat_map(|part| ["tcp", "tcp_client"].into_iter().map(move |host| &part[host]));
        let variants = hosts.filter_map(|host| host.pointer("/user_variant/name")?.as_str());
        let hops = self.document["hops"].as_array().into_iter().flatten();
        let shapers = hops.flat_map(|hop| ["down", "up"].into_iter().filter_map(|side| hop.get(side)?.get("shaper")));
        let controllers = shapers.filter_map(|shaper| shaper.pointer("/autorate/controller/user/name")?.as_str());
        let mut names = Vec::new();
        for name in variants.chain(controllers) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Bounds, KeyValue};
    use crate::table;
    use crate::value::Value;

    fn scenario(hops: Vec<Value>, flow: Value) -> Scenario {
        let data = table!("hop" => hops, "duration" => "10 s", "clients" => 2, "flow" => vec![flow]);
        Scenario::read(&data, &Bounds::NONE).expect("a scenario")
    }

    fn plan(hops: Vec<Value>, flow: Value) -> Plan {
        scenario(hops, flow).plan(RunConfig::default()).expect("a plan")
    }

    fn hop(name: &str) -> Value {
        table!("name" => name, "rate" => "1 Mb/s", "delay" => "5 ms")
    }

    fn each(plan: &Plan, key: &str) -> Vec<Json> {
        let flows = plan.document()["flows"].as_array().into_iter().flatten();
        flows.map(|flow| flow.pointer(key).cloned().unwrap_or_default()).collect()
    }

    #[test]
    fn recording_is_its_digest_in_the_document_and_its_times_in_the_text() {
        let rate = table!("down" => table!("trace" => "lte.down", "start" => "2 ms"), "up" => "1 Mb/s");
        let plan = plan(vec![table!("name" => "air", "rate" => rate)], table!("workload" => table!("kind" => "bulk")));
        assert_eq!(plan.document().pointer("/hops/0/down/rate/times_ms"), Some(&json!("0a")));
        assert_eq!(plan.expanded().pointer("/hops/0/down/rate/times_ms"), Some(&json!([1, 3, 40])));
        assert!(plan.text().contains(r#""rate":{"kind":"trace","start_ps":2000000000,"times_ms":[1,3,40]}"#));
        assert_eq!(plan.digest().len(), 64);
    }

    #[test]
    fn digest_is_without_captures_and_with_the_seed() {
        let scenario = scenario(vec![hop("a")], table!("workload" => table!("kind" => "bulk")));
        let digest = |run: RunConfig| scenario.plan(run).expect("a plan").digest();
        let captured = RunConfig { captures: vec![json!({"flow": "flow1"})], ..RunConfig::default() };
        assert_eq!(digest(captured), digest(RunConfig::default()));
        assert_ne!(digest(RunConfig { seed: 1, ..RunConfig::default() }), digest(RunConfig::default()));
    }

    #[test]
    fn single_flows_are_shared_out_among_clients_and_shifted_by_their_repeat() {
        let repeat = table!("every" => "2 s", "times" => 2);
        let flow = table!("workload" => table!("kind" => "bulk"), "count" => 3, "start" => "uniform(1 ms, 2 ms)",
            "stop" => "1 s", "repeat" => repeat);
        let plan = plan(vec![hop("a")], flow);
        let names: Vec<String> = (1..=6).map(|number| format!("flow1-{number}")).collect();
        assert_eq!(plan.flow_names(), names);
        assert_eq!(each(&plan, "/client"), [0, 1, 0, 0, 1, 0].map(|client| json!(client)));
        assert_eq!(each(&plan, "/start/high_ps")[2..4], [json!(2_000_000_000_u64), json!(2_002_000_000_000_u64)]);
        assert_eq!(each(&plan, "/stop_ps")[3], json!(3_000_000_000_000_u64));
    }

    #[test]
    fn device_of_a_flow_is_in_its_plan_when_it_is_not_the_first() {
        let device = |number: i64| {
            let flow = table!("workload" => table!("kind" => "bulk"), "device" => number, "count" => 3);
            each(&plan(vec![hop("a")], flow), "/device")
        };
        assert_eq!(device(1), vec![Json::Null; 3]);
        assert_eq!(device(3), vec![json!(2); 3]);
    }

    #[test]
    fn connection_is_split_at_proxies_and_its_last_part_has_the_flow_s_name() {
        let pep = table!("handshake" => "through");
        let with_pep = table!("name" => "b", "rate" => "1 Mb/s", "delay" => "5 ms", "pep" => pep);
        let flow = |direction: &str| table!("name" => "x", "direction" => direction, "workload" => table!("kind" => "bulk"));
        let down = plan(vec![hop("a"), with_pep.clone(), hop("c")], flow("down"));
        assert_eq!((down.flow_names(), each(&down, "/hops")), (vec!["x@b", "x"], vec![json!([0]), json!([1, 2])]));
        let proxy = &down.document()["proxies"][0];
        assert_eq!((&proxy["near"], &proxy["far"], &proxy["handshake"]), (&json!(0), &json!(1), &json!("through")));
        assert_eq!(plan(vec![hop("a"), with_pep], flow("up")).flow_names(), ["x", "x@b"]);
    }

    #[test]
    fn pages_are_requests_with_answers_after_them() {
        let web = table!("kind" => "web", "jobs" => 2, "answers" => 2);
        let plan = plan(vec![hop("a")], table!("workload" => web));
        assert_eq!(plan.flow_names()[2..4], ["flow1.1.answer-2", "flow1.2.request"]);
        assert_eq!(each(&plan, "/direction")[..2], [json!("up"), json!("down")]);
        assert_eq!(each(&plan, "/after")[..4], [Json::Null, json!([0]), json!([0]), json!([1, 2])]);
        assert_eq!(each(&plan, "/job/number")[3], json!(1));
    }

    #[test]
    fn loads_of_a_page_have_connections_of_their_own_and_the_page_once() {
        let repeat = table!("every" => "2 s", "times" => 2);
        let flow = table!("name" => "p", "workload" => table!("kind" => "page", "connections" => 2), "repeat" => repeat);
        let plan = plan(vec![hop("a")], flow);
        assert_eq!(plan.flow_names(), ["p-1", "p-1.connection-2", "p-2", "p-2.connection-2"]);
        let pages = plan.document()["pages"].as_array().expect("pages");
        assert_eq!((pages.len(), pages[0]["objects"][0].clone()), (1, json!([9000, null])));
        let numbers = ["page", "load", "connection"].map(|key| each(&plan, &format!("/workload/{key}")));
        assert_eq!(numbers, [[0, 0, 0, 0], [0, 0, 1, 1], [0, 1, 0, 1]].map(|row| row.map(|number| json!(number)).to_vec()));
    }

    #[test]
    fn hosts_process_at_once_and_without_jitter_when_the_run_is_live() {
        let tcp = table!("gro" => "20 us", "workload" => table!("kind" => "bulk"));
        let scenario = scenario(vec![hop("a")], tcp);
        let gro = |is_live: bool| {
            let plan = scenario.plan(RunConfig { is_live, ..RunConfig::default() }).expect("a plan");
            each(&plan, "/tcp/gro_ps")[0].clone()
        };
        assert_eq!((gro(false), gro(true)), (json!(20_000_000), Json::Null));
    }

    #[test]
    fn congestion_control_in_python_stands_beside_reno() {
        let flow = table!("workload" => table!("kind" => "bulk"), "variant" => "python:my.Control");
        let of_client = table!("workload" => table!("kind" => "bulk"), "client" => table!("variant" => "python:my.Control"));
        assert_eq!(plan(vec![hop("a")], of_client).user_classes(), ["python:my.Control"]);
        let plan = plan(vec![hop("a")], flow);
        assert_eq!(plan.user_classes(), ["python:my.Control"]);
        assert_eq!(each(&plan, "/tcp/variant"), [json!("reno")]);
        assert_eq!(each(&plan, "/tcp/user_variant/digest"), [json!("0123456789abcdef")]);
    }
}
