//! The two endpoints of each flow: transport, application, start time, and the sender's overhead.

use super::flow_starts::FlowStarts;
#[cfg(feature = "quic")]
use super::quic;
use super::{DirectedHop, proxies};
use crate::plan::{Direction, Flow, OnDistribution, Plan, WorkloadConfig};
use crate::{other_of, tcp_of};
use ackclock_core::app::{
    AnyApp, BrowserConnection, BulkSource, CallEnd, ExternalHost, GameClient, MediaConfig, PageConfig, PageServer, Pattern,
    ProbeConfig, ProbeReflector, Prober, ReplyConfig, Requester, Responder, SharedPage, Sink, StreamSource, UDP_HEADER,
    UdpSource, VideoConfig, conference, video,
};
use ackclock_core::element::Port;
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::gcc::RateBounds;
use ackclock_core::impairment::{SendDelay, SendDelayConfig};
use ackclock_core::network::{EndpointId, NetworkBuilder, Route};
use ackclock_core::rng::Rng;
use ackclock_core::score::PlaybackConfig;
use ackclock_core::tcp::sender::MIN_PATH_MTU;
use ackclock_core::tcp::{LinuxRule, MetricsCache, SharedPathMetrics, TcpConfig, TcpEndpoint};
use ackclock_core::{Network, Rate, Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The endpoints of one flow.
#[derive(Debug, Clone, Copy)]
pub struct FlowEndpoints {
    pub server: EndpointId,
    pub client: EndpointId,
    pub direction: Direction,
    /// Start of the flow; for a flow that follows others, the pause after them.
    pub start: Time,
    /// The endpoint that opens the connection.
    pub opener: EndpointId,
    /// The flow starts after others end.
    pub follows: bool,
}

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

    /// Start of the flow; for a flow that follows others, the time it was opened, if it was.
    pub fn started(&self, network: &Network) -> Option<Time> {
        if !self.follows {
            return Some(self.start);
        }
        let opener = network.endpoint(self.opener);
        match tcp_of(opener) {
            Some(tcp) => tcp.first_syn_sent(),
            None => other_of(opener)?.transport().first_sent,
        }
    }

    /// The endpoint that receives packets of this direction.
    pub fn target(&self, direction: Direction) -> EndpointId {
        match direction {
            Direction::Down => self.client,
            Direction::Up => self.server,
        }
    }
}

/// Client, device and hops: flows with equal ones connect the same hosts.
type HostPair = (u32, u32, Vec<usize>);

/// The metrics cache of each pair of hosts: server, client.
#[derive(Default)]
struct MetricsCaches(BTreeMap<HostPair, [SharedPathMetrics; 2]>);

impl MetricsCaches {
    /// By end: its cache, if its host has one.
    fn of_flow(&mut self, flow: &Flow, configs: &[Arc<TcpConfig>; 2]) -> [Option<SharedPathMetrics>; 2] {
        let enabled = [0, 1].map(|end: usize| configs[end].metrics_cache != MetricsCache::Off);
        if enabled == [false, false] {
            return [None, None];
        }
        let [server, client] = self.0.entry((flow.client, flow.device, flow.hops.clone())).or_default().clone();
        [enabled[0].then_some(server), enabled[1].then_some(client)]
    }
}

/// What a TCP flow's server and client have in common with others.
struct Hosts {
    configs: [Arc<TcpConfig>; 2],
    path_metrics: [Option<SharedPathMetrics>; 2],
    /// The page whose connection it is.
    page: Option<SharedPage>,
}

/// The loads of pages, by number, each with the flows that are its connections.
struct PageLoads(BTreeMap<u32, (SharedPage, Vec<usize>)>);

impl PageLoads {
    fn of(plan: &Plan, starts: &FlowStarts) -> PageLoads {
        let mut connections: BTreeMap<u32, (u32, Vec<usize>)> = BTreeMap::new();
        for (number, flow) in plan.flows.iter().enumerate() {
            if let WorkloadConfig::Page { page, load, .. } = flow.workload {
                connections.entry(load).or_insert((page, Vec::new())).1.push(number);
            }
        }
        let configs: Vec<Arc<PageConfig>> = plan.pages.iter().cloned().map(Arc::new).collect();
        let load = |(load, (page, flows)): (u32, (u32, Vec<usize>))| {
            let start = flows.first().map_or(Time::ZERO, |&first| starts.own(first));
            let page = SharedPage::new(configs[page as usize].clone(), flows.len() as u32, start);
            (load, (page, flows))
        };
        PageLoads(connections.into_iter().map(load).collect())
    }

    fn page_of(&self, flow: &Flow) -> Option<SharedPage> {
        let WorkloadConfig::Page { load, .. } = flow.workload else { return None };
        self.0.get(&load).map(|(page, _)| page.clone())
    }
}

/// Adds both endpoints of every flow.
pub fn add(plan: &Plan, directed_hops: &[DirectedHop], builder: &mut NetworkBuilder) -> Vec<FlowEndpoints> {
    let mut configs: Option<[Arc<TcpConfig>; 2]> = None;
    let mut caches = MetricsCaches::default();
    let starts = FlowStarts::of(plan);
    let pages = PageLoads::of(plan, &starts);
    let flows = plan.flows.iter().enumerate();
    let endpoints: Vec<FlowEndpoints> = flows
        .map(|(number, flow)| {
            let shared = number.checked_sub(1).is_some_and(|before| same_tcp(&plan.flows[before], flow));
            if !shared {
                configs = host_configs(plan, flow);
            }
            let hosts = configs.clone().map(|configs| {
                let path_metrics = caches.of_flow(flow, &configs);
                Hosts { configs, path_metrics, page: pages.page_of(flow) }
            });
            add_flow(plan, directed_hops, &starts, number, hosts, builder)
        })
        .collect();
    for (flow, flow_endpoints) in plan.flows.iter().zip(&endpoints).filter(|(flow, _)| !flow.after.is_empty()) {
        let receivers: Vec<EndpointId> = flow.after.iter().map(|&before| endpoints[before].by_role(Role::Receiver)).collect();
        builder.open_after(&receivers, flow_endpoints.by_role(Role::Sender), flow_endpoints.start - Time::ZERO);
    }
    for (page, connections) in pages.0.into_values() {
        builder.page(page, connections.iter().map(|&number| endpoints[number].client).collect());
    }
    endpoints
}

fn same_tcp(a: &Flow, b: &Flow) -> bool {
    a.tcp == b.tcp && a.tcp_client == b.tcp_client
}

/// Server's and client's; one in memory where both are the same.
fn host_configs(plan: &Plan, flow: &Flow) -> Option<[Arc<TcpConfig>; 2]> {
    let server = Arc::new(tcp_config(plan, flow.tcp.as_ref()?));
    let client = flow.tcp_client.as_ref().map_or_else(|| server.clone(), |tcp| Arc::new(tcp_config(plan, tcp)));
    Some([server, client])
}

pub fn tcp_config(plan: &Plan, tcp: &TcpConfig) -> TcpConfig {
    TcpConfig { user: plan.user_variant(tcp).cloned(), ..tcp.clone() }.resolved()
}

fn add_flow(
    plan: &Plan,
    directed_hops: &[DirectedHop],
    starts: &FlowStarts,
    number: usize,
    hosts: Option<Hosts>,
    builder: &mut NetworkBuilder,
) -> FlowEndpoints {
    let flow = &plan.flows[number];
    let start = starts.own(number);
    // Endpoint ids are given in the order of addition: even for servers, odd for clients.
    let (server, client) = (EndpointId(2 * number as u32), EndpointId(2 * number as u32 + 1));
    let opener = if opener(flow) == Direction::Up { client } else { server };
    let follows = is_deferred(flow);
    let endpoints = FlowEndpoints { server, client, direction: flow.direction, start, opener, follows };
    let (server_endpoint, client_endpoint) = build_endpoints(plan.seed, flow, hosts, start);
    for (endpoint, direction, id) in [(server_endpoint, Direction::Down, server), (client_endpoint, Direction::Up, client)] {
        let proxied = proxies::endpoint(plan, number, direction, id == opener).map(|tcp| AnyEndpoint::Tcp(Box::new(tcp)));
        let endpoint = proxied.unwrap_or(endpoint);
        let mut entry = entry(plan, directed_hops, flow, &endpoints, direction);
        if direction == flow.direction && flow.overhead_ps.max(flow.overhead_alone_ps.unwrap_or(0)) > 0 {
            entry = send_delay(plan.seed, flow, starts.shared_from(number), entry, builder);
        }
        builder.endpoint(endpoint, number as u32, entry);
    }
    for (id, end) in [(server, Direction::Down), (client, Direction::Up)] {
        add_host_stages(plan, number, (id, end), builder);
    }
    endpoints
}

/// Packets for this end may be divided on their path: datagrams, and segments of a host that a report of a tiny
/// MTU reaches.
fn may_be_fragmented(plan: &Plan, number: usize, end: Direction) -> bool {
    let flow = &plan.flows[number];
    let direction = end.reverse();
    let longest = match plan.tcp_at(number, direction) {
        None if flow.workload == (WorkloadConfig::Live {}) => return false,
        None => u16::MAX,
        Some(tcp) if tcp.linux_rules.has(LinuxRule::PathMtu) => MIN_PATH_MTU - 1,
        Some(_) => return false,
    };
    let limits = |&hop: &usize| {
        let mtu = plan.hops[hop].direction(direction).and_then(|config| config.mtu.as_ref());
        let tunnels = plan.tunnels.iter().filter(|tunnel| tunnel.over.contains(&hop));
        tunnels.map(|tunnel| tunnel.mtu).chain(mtu.map(|mtu| mtu.ip)).any(|mtu| mtu <= longest)
    };
    flow.path(&plan.hops, direction).iter().any(limits)
}

/// The processing time and the merging of segments of the host at one end.
fn add_host_stages(plan: &Plan, number: usize, (id, end): (EndpointId, Direction), builder: &mut NetworkBuilder) {
    if may_be_fragmented(plan, number, end) {
        builder.reassembly(id);
    }
    let Some(tcp) = plan.tcp_at(number, end) else { return };
    if let Some(jitter) = tcp.processing_jitter {
        let name = &plan.flows[number].name;
        let rng = Rng::for_element(plan.seed, &format!("flow.{name}.processing.{}", end.name()));
        builder.processing(id, jitter, rng);
    }
    if let Some(span) = tcp.gro.filter(|_| plan.flows[number].quic.is_none()) {
        builder.gro(id, span);
    }
}

/// Route of packets into their first hop; into the other endpoint if the flow crosses no hop.
pub(super) fn entry(
    plan: &Plan,
    directed_hops: &[DirectedHop],
    flow: &Flow,
    endpoints: &FlowEndpoints,
    direction: Direction,
) -> Route {
    let first = flow.path(&plan.hops, direction).first().copied();
    let directed_hop =
        first.and_then(|hop| directed_hops.iter().find(|directed| directed.hop == hop && directed.direction == direction));
    directed_hop.map_or(Route::Endpoint(endpoints.target(direction)), |directed_hop| directed_hop.chain(flow.client).entry())
}

/// Random delay of the data sender's packets. Without it, runs without loss or jitter are
/// phase-locked.
fn send_delay(seed: u64, flow: &Flow, shared_from: Time, entry: Route, builder: &mut NetworkBuilder) -> Route {
    let rng = Rng::for_element(seed, &format!("flow.{}.overhead", flow.name));
    let shared = Span(flow.overhead_ps);
    let config = SendDelayConfig { alone: flow.overhead_alone_ps.map_or(shared, Span), shared, shared_from };
    let delay = builder.element(SendDelay::new(config, rng));
    builder.connect(delay, Port(0), entry);
    Route::Node(delay, Port(0))
}

/// Server and client endpoint of a flow.
fn build_endpoints(seed: u64, flow: &Flow, hosts: Option<Hosts>, start: Time) -> (AnyEndpoint, AnyEndpoint) {
    if flow.workload == (WorkloadConfig::Live {}) {
        return (AnyEndpoint::ExternalHost(ExternalHost), AnyEndpoint::ExternalHost(ExternalHost));
    }
    let (sender, receiver) = match hosts {
        Some(hosts) => return tcp_endpoints(seed, flow, hosts, start),
        None => match bidirectional(flow, start) {
            Some(ends) => return ends,
            None => udp_endpoints(seed, flow, start),
        },
    };
    match flow.direction {
        Direction::Down => (sender, receiver),
        Direction::Up => (receiver, sender),
    }
}

/// Direction of the first SYN. The client opens connections; in a job the sender of the data does,
/// and in an exchange the requester.
fn opener(flow: &Flow) -> Direction {
    match flow.workload {
        WorkloadConfig::Exchange { .. } => flow.direction.reverse(),
        _ if flow.job.is_some() || !flow.after.is_empty() => flow.direction,
        _ => Direction::Up,
    }
}

/// Something else opens its connection: the end of other flows, or a page.
fn is_deferred(flow: &Flow) -> bool {
    !flow.after.is_empty() || matches!(flow.workload, WorkloadConfig::Page { connection: 1.., .. })
}

fn tcp_endpoints(seed: u64, flow: &Flow, hosts: Hosts, start: Time) -> (AnyEndpoint, AnyEndpoint) {
    let Hosts { configs, path_metrics, page } = hosts;
    if let (WorkloadConfig::Page { connection, .. }, Some(page)) = (flow.workload, page) {
        let server = AnyApp::PageServer(PageServer::new(page.clone(), connection));
        let browser = AnyApp::BrowserConnection(BrowserConnection::new(page, connection));
        return connection_ends(seed, flow, configs, path_metrics, start, (server, browser));
    }
    if let Some(config) = video_config(flow) {
        let (server, player) = video(config, start, stop(flow));
        let ends = (AnyApp::VideoServer(server), AnyApp::VideoPlayer(Box::new(player)));
        return connection_ends(seed, flow, configs, path_metrics, start, ends);
    }
    let (sender, receiver) = apps(seed, flow, start);
    let (at_server, at_client) = match flow.direction {
        Direction::Down => (sender, receiver),
        Direction::Up => (receiver, sender),
    };
    connection_ends(seed, flow, configs, path_metrics, start, (at_server, at_client))
}

fn video_config(flow: &Flow) -> Option<VideoConfig> {
    let WorkloadConfig::Video {
        ladder,
        adaptation,
        segment_ps,
        buffer_ps,
        start_threshold_ps,
        resume_threshold_ps,
        request,
        handshake,
    } = flow.workload
    else {
        return None;
    };
    let playback = PlaybackConfig {
        segment: Span(segment_ps),
        start_threshold: Span(start_threshold_ps),
        resume_threshold: Span(resume_threshold_ps),
    };
    Some(VideoConfig { ladder, adaptation, playback, buffer: Span(buffer_ps), request, handshake })
}

/// Both ends of a connection, with the applications of the server and of the client.
#[cfg_attr(not(feature = "quic"), expect(unused_variables, reason = "only a QUIC stack draws random numbers"))]
fn connection_ends(
    seed: u64,
    flow: &Flow,
    configs: [Arc<TcpConfig>; 2],
    path_metrics: [Option<SharedPathMetrics>; 2],
    start: Time,
    (at_server, at_client): (AnyApp, AnyApp),
) -> (AnyEndpoint, AnyEndpoint) {
    #[cfg(feature = "quic")]
    if let Some(host) = &flow.quic {
        let start = if is_deferred(flow) { Time::NEVER } else { start };
        let opening = quic::Opening { by_client: opener(flow) == Direction::Up, start };
        let configs = [&*configs[0], &*configs[1]];
        return quic::ends((seed, &flow.name), host, configs, opening, (at_server, at_client));
    }
    let opening = |config, app| match is_deferred(flow) {
        false => TcpEndpoint::client(config, app, start),
        true => TcpEndpoint::deferred_client(config, app),
    };
    let [of_server, of_client] = configs;
    let (mut server, mut client) = match opener(flow) {
        Direction::Up => (TcpEndpoint::server(of_server, at_server), opening(of_client, at_client)),
        Direction::Down => (opening(of_server, at_server), TcpEndpoint::server(of_client, at_client)),
    };
    for (end, metrics) in [&mut server, &mut client].into_iter().zip(path_metrics) {
        if let Some(metrics) = metrics {
            end.use_path_metrics(metrics);
        }
    }
    (AnyEndpoint::Tcp(Box::new(server)), AnyEndpoint::Tcp(Box::new(client)))
}

/// Applications of the sender and of the receiver.
fn apps(seed: u64, flow: &Flow, start: Time) -> (AnyApp, AnyApp) {
    let bytes = match flow.workload {
        WorkloadConfig::Exchange { request, answer, jobs, think } => {
            let rng = Rng::for_element(seed, &format!("flow.{}.think", flow.name));
            let requester = Requester::new(request, answer, jobs, (Span(think.low_ps), Span(think.high_ps)), rng);
            return (AnyApp::Responder(Responder::new(request, answer)), AnyApp::Requester(Box::new(requester)));
        }
        WorkloadConfig::Onoff { packet, .. } => {
            let stop = stop(flow);
            let source = StreamSource::new(datagram_source(seed, flow, start), u64::from(packet - UDP_HEADER), stop);
            return (AnyApp::StreamSource(Box::new(source)), AnyApp::Sink(Sink::new(None)));
        }
        WorkloadConfig::Transfer { bytes, .. } => bytes,
        _ => u64::MAX,
    };
    let sink = Sink::new(flow.workload.read_bps().map(Rate::from_bps));
    (AnyApp::BulkSource(BulkSource::new(bytes, stop(flow))), AnyApp::Sink(sink))
}

/// Server and client of a call, a game or a conference; none of other workloads.
fn bidirectional(flow: &Flow, start: Time) -> Option<(AnyEndpoint, AnyEndpoint)> {
    let source = |gap_ps, packet| UdpSource::every(Span(gap_ps), packet, start, stop(flow));
    match flow.workload {
        WorkloadConfig::Call { gap_ps, packet, .. } => {
            let end = || AnyEndpoint::CallEnd(Box::new(CallEnd::new(source(gap_ps, packet))));
            Some((end(), end()))
        }
        WorkloadConfig::Game { gap_ps, packet, deadline_ps } => {
            let client = GameClient::new(source(gap_ps, packet), Span(deadline_ps));
            let server = ProbeReflector::new(vec![packet], ReplyConfig { min_bytes: packet, max_bytes: packet });
            Some((AnyEndpoint::ProbeReflector(Box::new(server)), AnyEndpoint::GameClient(Box::new(client))))
        }
        WorkloadConfig::Conference { frame_rate, min_bps, start_bps, max_bps, both_directions } => {
            let rates = RateBounds { min: min_bps as f64, start: start_bps as f64, max: max_bps as f64 };
            let (sender, receiver) = conference(MediaConfig { frame_rate, rates }, both_directions, start, stop(flow));
            let [sender, receiver] = [sender, receiver].map(|end| AnyEndpoint::Conference(Box::new(end)));
            Some(if flow.direction == Direction::Down { (sender, receiver) } else { (receiver, sender) })
        }
        _ => None,
    }
}

fn udp_endpoints(seed: u64, flow: &Flow, start: Time) -> (AnyEndpoint, AnyEndpoint) {
    if let WorkloadConfig::Probe { first, last, step, rounds, gap_ps, timeout_ps, reply, max_reply } = flow.workload {
        let sizes: Vec<u16> = (first..=last).step_by(usize::from(step)).collect();
        let responder = ProbeReflector::new(sizes.clone(), ReplyConfig { min_bytes: reply, max_bytes: max_reply });
        let config = ProbeConfig { sizes, rounds, gap: Span(gap_ps), timeout: Span(timeout_ps) };
        let prober = Prober::new(config, start, stop(flow));
        return (AnyEndpoint::Prober(Box::new(prober)), AnyEndpoint::ProbeReflector(Box::new(responder)));
    }
    let source = datagram_source(seed, flow, start);
    (AnyEndpoint::UdpSource(Box::new(source)), AnyEndpoint::UdpSink(Box::default()))
}

fn datagram_source(seed: u64, flow: &Flow, start: Time) -> UdpSource {
    match flow.workload {
        WorkloadConfig::Onoff { bps, on_ps, off_ps, distribution, shape, packet } => {
            let rng = Rng::for_element(seed, &format!("flow.{}.onoff", flow.name));
            let (on, off) = (Span(on_ps), Span(off_ps));
            let pattern = match distribution {
                OnDistribution::Pareto => Pattern::Pareto { on, off, shape, rng },
                OnDistribution::Exponential => Pattern::Exponential { on, off, rng },
            };
            UdpSource::new(Rate::from_bps(bps), packet, pattern, start, stop(flow))
        }
        WorkloadConfig::Cbr { bps, packet, spread } => {
            let rng = Rng::for_element(seed, &format!("flow.{}.cbr", flow.name));
            let pattern = if spread == 0.0 { Pattern::Constant } else { Pattern::Spread { spread, rng } };
            UdpSource::new(Rate::from_bps(bps), packet, pattern, start, stop(flow))
        }
        // A checked plan gives these a TCP; the others are handled above.
        WorkloadConfig::Bulk { .. }
        | WorkloadConfig::Transfer { .. }
        | WorkloadConfig::Exchange { .. }
        | WorkloadConfig::Page { .. }
        | WorkloadConfig::Video { .. }
        | WorkloadConfig::Call { .. }
        | WorkloadConfig::Game { .. }
        | WorkloadConfig::Conference { .. }
        | WorkloadConfig::Probe { .. }
        | WorkloadConfig::Live {} => UdpSource::new(Rate::from_bps(1), 1, Pattern::Constant, start, Time::ZERO),
    }
}

fn stop(flow: &Flow) -> Time {
    flow.stop_ps.map_or(Time::NEVER, Time)
}
