//! The two ends of each flow: endpoints, applications, start times, and the sender's overhead.

use super::{Lane, parts};
use crate::plan::{Flow, OnDistribution, Plan, Tcp, Toward, Workload};
use crate::tcp_of;
use ackclock_core::app::{
    AnyApp, BulkSource, ExternalHost, Pattern, ProbeConfig, ProbeReflector, Prober, ReplyConfig, Requester, Responder, Sink,
    UdpSource,
};
use ackclock_core::element::Port;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::impairment::{Distribution, Jitter};
use ackclock_core::network::{EndpointId, NetworkBuilder, Route};
use ackclock_core::rng::Rng;
use ackclock_core::tcp::{MetricsCache, SharedPathMetrics, TcpConfig, TcpEndpoint};
use ackclock_core::{Network, Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Where a flow's ends are.
#[derive(Debug, Clone, Copy)]
pub struct Ends {
    pub server: EndpointId,
    pub client: EndpointId,
    pub toward: Toward,
    /// When it starts; of a flow after others, how long after them.
    pub start: Time,
    /// Who opens it.
    pub opener: EndpointId,
    pub follows: bool,
}

/// An end by what it does with the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Sender,
    Receiver,
}

impl Ends {
    pub fn end(&self, role: Role) -> EndpointId {
        match (self.toward, role) {
            (Toward::Down, Role::Sender) | (Toward::Up, Role::Receiver) => self.server,
            (Toward::Up, Role::Sender) | (Toward::Down, Role::Receiver) => self.client,
        }
    }

    /// When it really started: for a flow after others, when it was opened, if it was.
    pub fn started(&self, network: &Network) -> Option<Time> {
        if !self.follows {
            return Some(self.start);
        }
        tcp_of(network.endpoint(self.opener)).and_then(TcpEndpoint::called)
    }

    /// The end that packets going `toward` reach.
    pub fn target(&self, toward: Toward) -> EndpointId {
        match toward {
            Toward::Down => self.client,
            Toward::Up => self.server,
        }
    }
}

/// What each pair of hosts remembers of the path between them, server's end first. Hosts are the same where client and hops are.
#[derive(Default)]
struct Memories(BTreeMap<(u32, Vec<usize>), [SharedPathMetrics; 2]>);

impl Memories {
    fn of(&mut self, flow: &Flow, config: &TcpConfig) -> Option<[SharedPathMetrics; 2]> {
        let kept = config.metrics_cache != MetricsCache::Off;
        kept.then(|| self.0.entry((flow.client, flow.hops.clone())).or_default().clone())
    }
}

/// A TCP flow's configuration, and the memory of its server and of its client.
type Hosts = (Arc<TcpConfig>, Option<[SharedPathMetrics; 2]>);

/// Adds both ends of every flow.
pub fn add(plan: &Plan, lanes: &[Lane], builder: &mut NetworkBuilder) -> Vec<Ends> {
    let mut config: Option<Arc<TcpConfig>> = None;
    let mut memories = Memories::default();
    let flows = plan.flows.iter().enumerate();
    let ends: Vec<Ends> = flows
        .map(|(number, flow)| {
            let shared = number.checked_sub(1).is_some_and(|before| plan.flows[before].tcp == flow.tcp);
            if !shared {
                config = flow.tcp.as_ref().and_then(|tcp| configured(plan, tcp)).map(Arc::new);
            }
            let hosts = config.clone().map(|config| (config.clone(), memories.of(flow, &config)));
            add_flow(plan, lanes, number, hosts, builder)
        })
        .collect();
    for (flow, own) in plan.flows.iter().zip(&ends).filter(|(flow, _)| !flow.after.is_empty()) {
        let awaited: Vec<EndpointId> = flow.after.iter().map(|&before| ends[before].end(Role::Receiver)).collect();
        builder.open_after(&awaited, own.end(Role::Sender), own.start - Time::ZERO);
    }
    ends
}

pub fn configured(plan: &Plan, tcp: &Tcp) -> Option<TcpConfig> {
    Some(TcpConfig { user: plan.user_variant(tcp).cloned(), ..tcp.config().ok()? })
}

fn add_flow(plan: &Plan, lanes: &[Lane], number: usize, hosts: Option<Hosts>, builder: &mut NetworkBuilder) -> Ends {
    let flow = &plan.flows[number];
    // The parts of a split connection start together, whoever of them calls first.
    let start = draw_start(plan.seed, plan.last_part(number));
    // Endpoints are numbered in the order in which they are added: a flow's server is even, its client odd.
    let (server, client) = (EndpointId(2 * number as u32), EndpointId(2 * number as u32 + 1));
    let opener = if opener(flow) == Toward::Up { client } else { server };
    let ends = Ends { server, client, toward: flow.direction, start, opener, follows: !flow.after.is_empty() };
    let (server_end, client_end) = endpoints(plan.seed, flow, hosts, start);
    for (endpoint, toward, id) in [(server_end, Toward::Down, server), (client_end, Toward::Up, client)] {
        let proxied = parts::end(plan, number, toward, id == opener).map(|end| AnyEndpoint::Tcp(Box::new(end)));
        let endpoint = proxied.unwrap_or(endpoint);
        let mut entry = entry(plan, lanes, flow, &ends, toward);
        if toward == flow.direction && flow.overhead_ps > 0 {
            entry = overhead(plan.seed, flow, entry, builder);
        }
        builder.endpoint(endpoint, number as u32, entry);
    }
    ends
}

fn draw_start(seed: u64, flow: &Flow) -> Time {
    let mut rng = Rng::for_element(seed, &format!("flow.{}.start", flow.name));
    Time::ZERO + rng.uniform_span(Span(flow.start.low_ps), Span(flow.start.high_ps))
}

/// The first hop that packets going `toward` meet; the other end itself where no hop leads there.
fn entry(plan: &Plan, lanes: &[Lane], flow: &Flow, ends: &Ends, toward: Toward) -> Route {
    let first = flow.path(&plan.hops, toward).first().copied();
    let lane = first.and_then(|hop| lanes.iter().find(|l| l.hop == hop && l.toward == toward));
    lane.map_or(Route::Endpoint(ends.target(toward)), |lane| lane.chain(flow.client).entry())
}

/// A little time that the sending host takes for each packet: real hosts do, and clean runs would otherwise be phase-locked.
fn overhead(seed: u64, flow: &Flow, entry: Route, builder: &mut NetworkBuilder) -> Route {
    let rng = Rng::for_element(seed, &format!("flow.{}.overhead", flow.name));
    let distribution = Distribution::Uniform { low: Span::ZERO, high: Span(flow.overhead_ps) };
    let jitter = builder.element(Jitter::new(distribution, true, rng));
    builder.connect(jitter, Port(0), entry);
    Route::Node(jitter, Port(0))
}

/// The server's and the client's end.
fn endpoints(seed: u64, flow: &Flow, hosts: Option<Hosts>, start: Time) -> (AnyEndpoint, AnyEndpoint) {
    if flow.workload == (Workload::Live {}) {
        return (AnyEndpoint::ExternalHost(ExternalHost), AnyEndpoint::ExternalHost(ExternalHost));
    }
    let (sender, receiver) = match hosts {
        Some(hosts) => return tcp_endpoints(seed, flow, hosts, start),
        None => udp_endpoints(seed, flow, start),
    };
    match flow.direction {
        Toward::Down => (sender, receiver),
        Toward::Up => (receiver, sender),
    }
}

/// The direction in which the first SYN goes. The client opens connections, but for those of a job: there who has something to say does,
/// and who asks where both have.
fn opener(flow: &Flow) -> Toward {
    match flow.workload {
        Workload::Exchange { .. } => flow.direction.back(),
        _ if flow.job.is_some() || !flow.after.is_empty() => flow.direction,
        _ => Toward::Up,
    }
}

fn tcp_endpoints(seed: u64, flow: &Flow, (config, memories): Hosts, start: Time) -> (AnyEndpoint, AnyEndpoint) {
    let (sender, receiver) = apps(seed, flow);
    let (at_server, at_client) = match flow.direction {
        Toward::Down => (sender, receiver),
        Toward::Up => (receiver, sender),
    };
    let open = |config, app| match flow.after.is_empty() {
        true => TcpEndpoint::client(config, app, start),
        false => TcpEndpoint::called_later(config, app),
    };
    let (mut server, mut client) = match opener(flow) {
        Toward::Up => (TcpEndpoint::server(config.clone(), at_server), open(config, at_client)),
        Toward::Down => (open(config.clone(), at_server), TcpEndpoint::server(config, at_client)),
    };
    if let Some([of_server, of_client]) = memories {
        server.use_path_metrics(of_server);
        client.use_path_metrics(of_client);
    }
    (AnyEndpoint::Tcp(Box::new(server)), AnyEndpoint::Tcp(Box::new(client)))
}

/// What runs at the data's sender and at its receiver.
fn apps(seed: u64, flow: &Flow) -> (AnyApp, AnyApp) {
    let bytes = match flow.workload {
        Workload::Exchange { request, answer, jobs, think } => {
            let rng = Rng::for_element(seed, &format!("flow.{}.think", flow.name));
            let asker = Requester::new(request, answer, jobs, (Span(think.low_ps), Span(think.high_ps)), rng);
            return (AnyApp::Responder(Responder::new(request, answer)), AnyApp::Requester(Box::new(asker)));
        }
        Workload::Transfer { bytes, .. } => bytes,
        _ => u64::MAX,
    };
    let sink = Sink::new(flow.workload.read_bps().map(Rate::from_bps));
    (AnyApp::BulkSource(BulkSource::new(bytes, stop(flow))), AnyApp::Sink(sink))
}

fn udp_endpoints(seed: u64, flow: &Flow, start: Time) -> (AnyEndpoint, AnyEndpoint) {
    if let Workload::Probe { first, last, step, rounds, gap_ps, timeout_ps, reply, reply_most } = flow.workload {
        let sizes: Vec<u16> = (first..=last).step_by(usize::from(step)).collect();
        let responder = ProbeReflector::new(sizes.clone(), ReplyConfig { min_bytes: reply, max_bytes: reply_most });
        let terms = ProbeConfig { sizes, rounds, gap: Span(gap_ps), timeout: Span(timeout_ps) };
        let prober = Prober::new(terms, start, stop(flow));
        return (AnyEndpoint::Prober(Box::new(prober)), AnyEndpoint::ProbeReflector(Box::new(responder)));
    }
    let source = match flow.workload {
        Workload::Onoff { bps, on_ps, off_ps, distribution, shape, packet } => {
            let rng = Rng::for_element(seed, &format!("flow.{}.onoff", flow.name));
            let (on, off) = (Span(on_ps), Span(off_ps));
            let pattern = match distribution {
                OnDistribution::Pareto => Pattern::Pareto { on, off, shape, rng },
                OnDistribution::Exponential => Pattern::Exponential { on, off, rng },
            };
            UdpSource::new(Rate::from_bps(bps), packet, pattern, start, stop(flow))
        }
        Workload::Cbr { bps, packet } => UdpSource::new(Rate::from_bps(bps), packet, Pattern::Constant, start, stop(flow)),
        // Not here: a checked plan gives them TCP, and probes have been seen to.
        Workload::Bulk { .. }
        | Workload::Transfer { .. }
        | Workload::Exchange { .. }
        | Workload::Probe { .. }
        | Workload::Live {} => UdpSource::new(Rate::from_bps(1), 1, Pattern::Constant, start, Time::ZERO),
    };
    (AnyEndpoint::UdpSource(Box::new(source)), AnyEndpoint::UdpSink(Box::default()))
}

fn stop(flow: &Flow) -> Time {
    flow.stop_ps.map_or(Time::NEVER, Time)
}
