//! The flows of a plan: single flows, the pages of the web, and the parts of split connections with
//! the proxies between them.

use super::super::{PHASE_START, Scenario, instance_names};
use crate::flow::Flow;
use crate::flow::quic::Quic;
use crate::flow::workload::{Web, Workload};
use crate::invalid::Read;
use crate::keys::KeyValue;
use crate::sources::sources;
use crate::tcp::keys::End;
use crate::tcp::names::VariantName;
use crate::tcp::resolution::Tcp;
use ackclock_core::app::UniformTime;
use ackclock_core::host_overhead::HostOverhead;
use ackclock_core::medium::Direction;
use serde_json::{Map, Value as Json, json};

type Keys = Map<String, Json>;

#[derive(Default)]
pub struct FlowPlans {
    pub flows: Vec<Json>,
    pub proxies: Vec<Json>,
    /// Different pages.
    pub pages: Vec<Json>,
    /// Loads of pages so far.
    loads: u32,
}

/// A single flow before its connections are split or its pages spread.
struct Single<'a> {
    scenario: &'a Scenario,
    flow: &'a Flow,
    name: String,
    /// What all single flows of a table have.
    shared: &'a Keys,
    client: u64,
    start: UniformTime,
    stop_ps: Option<u64>,
}

impl FlowPlans {
    pub fn of(scenario: &Scenario, is_live: bool) -> Read<FlowPlans> {
        let mut plans = FlowPlans::default();
        let streams = scenario.flow.iter().filter(|flow| !flow.is_udp());
        let is_alone = streams.map(|flow| flow.connections()).sum::<u64>() == 1;
        for (flow, base) in scenario.flow.iter().zip(scenario.flow_names()) {
            let shared = shared(scenario, flow, is_alone, is_live)?;
            let start = scenario.start_of(flow);
            let each = flow.repeat.as_ref().map_or(0, |repeat| repeat.every.0.0);
            for (index, name) in (0u64..).zip(instance_names(flow, &base)) {
                let (later, place) = (index / u64::from(flow.count.0), index % u64::from(flow.count.0));
                let shift = later * each;
                let start = UniformTime { low_ps: start.low_ps + shift, high_ps: start.high_ps + shift };
                let client = place % u64::from(scenario.clients.0);
                let stop_ps = flow.stop.map(|stop| stop.0.0 + shift);
                let single = Single { scenario, flow, name, shared: &shared, client, start, stop_ps };
                match &flow.workload {
                    Workload::Web(web) if flow.is_spread() => single.add_pages(web, &mut plans),
                    Workload::Page(page) => single.add_connections(flow.page_connections(page), &mut plans),
                    _ => single.add_parts(&mut plans)?,
                }
            }
        }
        Ok(plans)
    }
}

/// The keys that all single flows of a table have.
fn shared(scenario: &Scenario, flow: &Flow, is_alone: bool, is_live: bool) -> Read<Keys> {
    let mut keys = Keys::new();
    let mut add = |key: &str, value: Json| keys.insert(key.to_owned(), value);
    add("direction", flow.direction.name().into());
    add("hops", json!(scenario.hops_of(flow)));
    let [overhead, alone] = scenario.overhead_ps(flow, is_alone)?;
    add("overhead_ps", json!(overhead));
    if alone.is_some() {
        add("overhead_alone_ps", json!(alone));
    }
    add("workload", flow.workload_json());
    if flow.is_udp() {
        add("tcp", Json::Null);
        return Ok(keys);
    }
    let [server, client] = End::BOTH.map(|end| tcp_plan(&scenario.tcp_of(flow, end)?));
    let (server, client) = (server?, client?);
    // Ends that differ stay two, even if their processing was all of the difference.
    if client != server {
        add("tcp_client", of_host(client, is_live));
    }
    add("tcp", of_host(server, is_live));
    if flow.is_quic() {
        add("quic", Quic::resolved(flow.quic.as_ref())?.plan_json());
    }
    Ok(keys)
}

/// TCP of a host: that of an emulation processes packets at once.
fn of_host(mut plan: Json, is_live: bool) -> Json {
    if let Some(keys) = plan.as_object_mut().filter(|_| is_live) {
        keys.remove("processing_jitter");
        keys.remove("gro_ps");
    }
    plan
}

/// TCP as a plan has it: a congestion control in Python stands beside the one whose place it takes.
fn tcp_plan(tcp: &Tcp) -> Read<Json> {
    let mut plan = tcp.plan_json();
    if let Some(VariantName::Python(name)) = &tcp.keys.variant {
        plan["variant"] = "reno".into();
        plan["user_variant"] = json!({"name": name, "digest": sources().class_digest(name)?});
    }
    Ok(plan)
}

impl Scenario {
    /// The bounds between which a flow's start is drawn, phase jitter included.
    fn start_of(&self, flow: &Flow) -> UniformTime {
        let UniformTime { low_ps, high_ps } = flow.start.0;
        if !self.phase_jitter || low_ps != high_ps {
            return flow.start.0;
        }
        // The jitter of a short flow ends before the flow.
        let end = flow.stop.map_or(self.duration.0.0, |stop| stop.0.0);
        UniformTime { low_ps, high_ps: (high_ps + PHASE_START.0).min(end - 1) }
    }

    /// The maximum random delay of a packet in its sending host, and that until another TCP flow
    /// starts on the flow's path: `overhead`, or the share of the service time at the slowest hop that
    /// keeps flows out of phase. `is_alone`: the scenario has one TCP connection.
    fn overhead_ps(&self, flow: &Flow, is_alone: bool) -> Read<[Option<u64>; 2]> {
        let tcp = self.tcp_of(flow, flow.sending_end())?;
        if let Some(overhead) = tcp.keys.overhead {
            return Ok([Some(overhead.0.0), None]);
        }
        if !self.phase_jitter || flow.is_live() {
            return Ok([Some(0), None]);
        }
        let header = tcp.keys.header.map_or(0, |header| header.0);
        let segment = tcp.keys.segment.map_or(0, |segment| u64::from(segment.0));
        let packet_bytes = flow.data_bytes().map_or(segment + header, u64::from);
        let hops = self.hops_of(flow).into_iter();
        let slowest_bps = hops.filter_map(|index| self.hop[index].slowest_bps(flow.direction)).filter(|&bps| bps > 0).min();
        let max = |alone: bool| HostOverhead { packet_bytes, slowest_bps, alone }.max().0;
        Ok(if flow.is_udp() || is_alone { [Some(max(true)), None] } else { [Some(max(false)), Some(max(true))] })
    }
}

impl Single<'_> {
    fn keys(&self) -> Keys {
        let mut keys = self.shared.clone();
        keys.insert("name".into(), self.name.as_str().into());
        keys.insert("client".into(), self.client.into());
        if let Some(device) = self.flow.device.filter(|device| device.0 > 1) {
            keys.insert("device".into(), (device.0 - 1).into());
        }
        keys.insert("start".into(), json!(self.start));
        keys.insert("stop_ps".into(), json!(self.stop_ps));
        keys
    }

    /// Web pages whose requests and answers have connections of their own (asymmetry paper, section
    /// 6).
    fn add_pages(&self, web: &Web, plans: &mut FlowPlans) {
        let single = self.keys();
        let transfer = |bytes: u64| json!({"kind": "transfer", "bytes": bytes});
        let mut previous: Vec<usize> = Vec::new();
        for number in 0..web.jobs.0 {
            let title = if web.jobs.0 > 1 { format!("{}.{}", self.name, number + 1) } else { self.name.clone() };
            let mut page = single.clone();
            page.insert("job".into(), json!({"name": self.name, "number": number}));
            let request_index = plans.flows.len();
            let mut request = page.clone();
            request.insert("name".into(), format!("{title}.request").into());
            request.insert("direction".into(), self.flow.direction.reverse().name().into());
            request.insert("workload".into(), transfer(web.request.0));
            if !previous.is_empty() {
                request.insert("after".into(), json!(previous));
                request.insert("start".into(), json!(web.think.0));
            }
            plans.flows.push(Json::Object(request));
            for number in 1..=web.answers.0 {
                let mut answer = page.clone();
                answer.insert("name".into(), format!("{title}.answer-{number}").into());
                answer.insert("workload".into(), transfer(web.size.0));
                answer.insert("after".into(), json!([request_index]));
                answer.insert("start".into(), json!({"low_ps": 0, "high_ps": 0}));
                plans.flows.push(Json::Object(answer));
            }
            previous = (request_index + 1..plans.flows.len()).collect();
        }
    }

    /// The connections of one load of a page. The first has the flow's name.
    fn add_connections(&self, connections: u64, plans: &mut FlowPlans) {
        let tree = &self.shared["workload"];
        let page = plans.pages.iter().position(|known| known == tree).unwrap_or_else(|| {
            plans.pages.push(tree.clone());
            plans.pages.len() - 1
        });
        for connection in 0..connections {
            let mut flow = self.keys();
            if connection > 0 {
                flow.insert("name".into(), format!("{}.connection-{}", self.name, connection + 1).into());
            }
            let workload = json!({"kind": "page", "page": page, "load": plans.loads, "connection": connection});
            flow.insert("workload".into(), workload);
            plans.flows.push(Json::Object(flow));
        }
        plans.loads += 1;
    }

    /// The flow, or of a split connection one for each part, server first, joined by proxies. The
    /// part that delivers the data to its receiver keeps the flow's name.
    fn add_parts(&self, plans: &mut FlowPlans) -> Read<()> {
        let (hops, cuts) = (self.scenario.hops_of(self.flow), self.scenario.cuts(self.flow));
        let last = if self.flow.direction == Direction::Down { cuts.len() } else { 0 };
        let first = plans.flows.len();
        let mut cut_names = cuts.iter().map(|&cut| format!("{}@{}", self.name, self.scenario.hop[cut].name.0));
        let begins = hops.first().into_iter().chain(&cuts);
        let ends = cuts.iter().copied().chain(hops.last().map(|hop| hop + 1));
        for (number, (&begin, end)) in begins.zip(ends).enumerate() {
            let mut part = self.keys();
            if number != last {
                part.insert("name".into(), cut_names.next().unwrap_or_default().into());
            }
            part.insert("hops".into(), (begin..end).collect());
            plans.flows.push(Json::Object(part));
        }
        for (place, &cut) in cuts.iter().enumerate() {
            let hop = &self.scenario.hop[cut];
            let Some(pep) = &hop.pep else { continue };
            let tcp = self.scenario.proxy_tcp(self.flow, pep.tcp.keys())?;
            plans.proxies.push(json!({
                "name": hop.name.0,
                "near": first + place,
                "far": first + place + 1,
                "buffer": pep.buffer.0,
                "handshake": Json::from(&pep.handshake.write(None)),
                "tcp": tcp_plan(&tcp)?,
            }));
        }
        Ok(())
    }
}
