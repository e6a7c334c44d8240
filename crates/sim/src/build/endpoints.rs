//! The two endpoints of each flow: endpoints, applications, start times, and the sender's overhead.

use super::{DirectedHop, proxies};
use crate::plan::{Direction, Flow, OnDistribution, Plan, Tcp, Workload};
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

/// Where a flow's endpoints are.
#[derive(Debug, Clone, Copy)]
pub struct FlowEndpoints {
    pub server: EndpointId,
    pub client: EndpointId,
    pub direction: Direction,
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

impl FlowEndpoints {
    pub fn by_role(&self, role: Role) -> EndpointId {
        match (self.direction, role) {
            (Direction::Down, Role::Sender) | (Direction::Up, Role::Receiver) => self.server,
            (Direction::Up, Role::Sender) | (Direction::Down, Role::Receiver) => self.client,
        }
    }

    /// When it really started: for a flow after others, when it was opened, if it was.
    pub fn started(&self, network: &Network) -> Option<Time> {
        if !self.follows {
            return Some(self.start);
        }
        tcp_of(network.endpoint(self.opener)).and_then(TcpEndpoint::called)
    }

    /// The end that packets going `direction` reach.
    pub fn target(&self, direction: Direction) -> EndpointId {
        match direction {
            Direction::Down => self.client,
            Direction::Up => self.server,
        }
    }
}

/// What each pair of hosts remembers of the path between them, server's end first. Hosts are the same where client and hops are.
#[derive(Default)]
struct PathMetrics(BTreeMap<(u32, Vec<usize>), [SharedPathMetrics; 2]>);

impl PathMetrics {
    fn of(&mut self, flow: &Flow, config: &TcpConfig) -> Option<[SharedPathMetrics; 2]> {
        let kept = config.metrics_cache != MetricsCache::Off;
        kept.then(|| self.0.entry((flow.client, flow.hops.clone())).or_default().clone())
    }
}

/// A TCP flow's configuration, and the memory of its server and of its client.
type Hosts = (Arc<TcpConfig>, Option<[SharedPathMetrics; 2]>);

/// Adds both endpoints of every flow.
pub fn add(plan: &Plan, directed_hops: &[DirectedHop], builder: &mut NetworkBuilder) -> Vec<FlowEndpoints> {
    let mut config: Option<Arc<TcpConfig>> = None;
    let mut path_metrics = PathMetrics::default();
    let flows = plan.flows.iter().enumerate();
    let endpoints: Vec<FlowEndpoints> = flows
        .map(|(number, flow)| {
            let shared = number.checked_sub(1).is_some_and(|before| plan.flows[before].tcp == flow.tcp);
            if !shared {
                config = flow.tcp.as_ref().and_then(|tcp| configured(plan, tcp)).map(Arc::new);
            }
            let hosts = config.clone().map(|config| (config.clone(), path_metrics.of(flow, &config)));
            add_flow(plan, directed_hops, number, hosts, builder)
        })
        .collect();
    for (flow, flow_endpoints) in plan.flows.iter().zip(&endpoints).filter(|(flow, _)| !flow.after.is_empty()) {
        let awaited: Vec<EndpointId> = flow.after.iter().map(|&before| endpoints[before].by_role(Role::Receiver)).collect();
        builder.open_after(&awaited, flow_endpoints.by_role(Role::Sender), flow_endpoints.start - Time::ZERO);
    }
    endpoints
}

pub fn configured(plan: &Plan, tcp: &Tcp) -> Option<TcpConfig> {
    Some(TcpConfig { user: plan.user_variant(tcp).cloned(), ..tcp.config().ok()? })
}

fn add_flow(
    plan: &Plan,
    directed_hops: &[DirectedHop],
    number: usize,
    hosts: Option<Hosts>,
    builder: &mut NetworkBuilder,
) -> FlowEndpoints {
    let flow = &plan.flows[number];
    // The parts of a split connection start together, whoever of them calls first.
    let start = draw_start(plan.seed, plan.last_part(number));
    // Endpoints are numbered in the order in which they are added: a flow's server is even, its client odd.
    let (server, client) = (EndpointId(2 * number as u32), EndpointId(2 * number as u32 + 1));
    let opener = if opener(flow) == Direction::Up { client } else { server };
    let endpoints = FlowEndpoints { server, client, direction: flow.direction, start, opener, follows: !flow.after.is_empty() };
    let (server_endpoint, client_endpoint) = build_endpoints(plan.seed, flow, hosts, start);
    for (endpoint, direction, id) in [(server_endpoint, Direction::Down, server), (client_endpoint, Direction::Up, client)] {
        let proxied = proxies::end(plan, number, direction, id == opener).map(|end| AnyEndpoint::Tcp(Box::new(end)));
        let endpoint = proxied.unwrap_or(endpoint);
        let mut entry = entry(plan, directed_hops, flow, &endpoints, direction);
        if direction == flow.direction && flow.overhead_ps > 0 {
            entry = overhead(plan.seed, flow, entry, builder);
        }
        builder.endpoint(endpoint, number as u32, entry);
    }
    endpoints
}

fn draw_start(seed: u64, flow: &Flow) -> Time {
    let mut rng = Rng::for_element(seed, &format!("flow.{}.start", flow.name));
    Time::ZERO + rng.uniform_span(Span(flow.start.low_ps), Span(flow.start.high_ps))
}

/// The first hop that packets going `direction` meet; the other end itself where no hop leads there.
fn entry(plan: &Plan, directed_hops: &[DirectedHop], flow: &Flow, endpoints: &FlowEndpoints, direction: Direction) -> Route {
    let first = flow.path(&plan.hops, direction).first().copied();
    let directed_hop = first.and_then(|hop| directed_hops.iter().find(|l| l.hop == hop && l.direction == direction));
    directed_hop.map_or(Route::Endpoint(endpoints.target(direction)), |directed_hop| directed_hop.chain(flow.client).entry())
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
fn build_endpoints(seed: u64, flow: &Flow, hosts: Option<Hosts>, start: Time) -> (AnyEndpoint, AnyEndpoint) {
    if flow.workload == (Workload::Live {}) {
        return (AnyEndpoint::ExternalHost(ExternalHost), AnyEndpoint::ExternalHost(ExternalHost));
    }
    let (sender, receiver) = match hosts {
        Some(hosts) => return tcp_endpoints(seed, flow, hosts, start),
        None => udp_endpoints(seed, flow, start),
    };
    match flow.direction {
        Direction::Down => (sender, receiver),
        Direction::Up => (receiver, sender),
    }
}

/// The direction in which the first SYN goes. The client opens connections, but for those of a job: there who has something to say does,
/// and who asks where both have.
fn opener(flow: &Flow) -> Direction {
    match flow.workload {
        Workload::Exchange { .. } => flow.direction.reverse(),
        _ if flow.job.is_some() || !flow.after.is_empty() => flow.direction,
        _ => Direction::Up,
    }
}

fn tcp_endpoints(seed: u64, flow: &Flow, (config, path_metrics): Hosts, start: Time) -> (AnyEndpoint, AnyEndpoint) {
    let (sender, receiver) = apps(seed, flow);
    let (at_server, at_client) = match flow.direction {
        Direction::Down => (sender, receiver),
        Direction::Up => (receiver, sender),
    };
    let open = |config, app| match flow.after.is_empty() {
        true => TcpEndpoint::client(config, app, start),
        false => TcpEndpoint::called_later(config, app),
    };
    let (mut server, mut client) = match opener(flow) {
        Direction::Up => (TcpEndpoint::server(config.clone(), at_server), open(config, at_client)),
        Direction::Down => (open(config.clone(), at_server), TcpEndpoint::server(config, at_client)),
    };
    if let Some([of_server, of_client]) = path_metrics {
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
