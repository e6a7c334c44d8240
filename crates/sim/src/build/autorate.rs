//! Shapers whose rates are controlled: the pings of each controller are a flow of their own between a
//! client and the server, beside the flows of the plan, which do not change.

use super::endpoints::{FlowEndpoints, entry};
use super::{DirectedHop, hop};
use crate::plan::{Direction, Flow, Hop, Plan, UniformTime, WorkloadConfig};
use ackclock_core::Time;
use ackclock_core::autorate::{AutorateConfig, CakeAutorate, ControllerConfig, PingReflector, Pinger};
use ackclock_core::endpoint::AnyEndpoint;
use ackclock_core::network::{ControlledShaper, EndpointId, NetworkBuilder};
use std::borrow::Cow;

/// Longest IP packet that a home's line carries; cake-autorate raises its thresholds by its time.
const MAX_PACKET: u16 = 1500;

/// One pinger: the shapers of a hop that it serves, of one client or of all.
struct PingedHop {
    hop: usize,
    client: u32,
}

/// A shaper of each client where clients have their own, else one. A medium has chains for each.
fn pinged_hops(plan: &Plan) -> Vec<PingedHop> {
    let controlled = |hop: &Hop| Direction::BOTH.into_iter().any(|direction| hop.autorate(direction).is_some());
    let clients = |hop: &Hop| if hop.per_client || hop.medium.is_some() { plan.clients } else { 1 };
    let hops = plan.hops.iter().enumerate().filter(|(_, hop)| controlled(hop));
    hops.flat_map(|(number, hop)| (0..clients(hop)).map(move |client| PingedHop { hop: number, client })).collect()
}

/// The plan with a flow for the pings of each pinger after its own flows: what has to be routed.
pub fn with_pings(plan: &Plan) -> Cow<'_, Plan> {
    let pinged = pinged_hops(plan);
    if pinged.is_empty() {
        return Cow::Borrowed(plan);
    }
    let mut routed = plan.clone();
    routed.flows.extend(pinged.iter().map(|pinged| ping_flow(plan, pinged)));
    Cow::Owned(routed)
}

fn ping_flow(plan: &Plan, pinged: &PingedHop) -> Flow {
    Flow {
        name: format!("autorate.{}.{}", plan.hops[pinged.hop].name, pinged.client),
        client: pinged.client,
        device: 0,
        direction: Direction::Up,
        hops: (0..plan.hops.len()).collect(),
        start: UniformTime { low_ps: 0, high_ps: 0 },
        stop_ps: None,
        overhead_ps: 0,
        overhead_alone_ps: None,
        // Its ends are not made by its workload.
        workload: WorkloadConfig::Live {},
        tcp: None,
        tcp_client: None,
        quic: None,
        after: Vec::new(),
        job: None,
    }
}

/// Adds the pingers, at the clients, with their reflectors at the server, and the controllers of their
/// shapers. Numbers and endpoints follow those of the plan's flows.
pub fn add(plan: &Plan, directed_hops: &[DirectedHop], builder: &mut NetworkBuilder) -> Vec<FlowEndpoints> {
    let add_one = |(number, pinged): (usize, &PingedHop)| {
        let number = plan.flows.len() + number;
        let (server, client) = (EndpointId(2 * number as u32), EndpointId(2 * number as u32 + 1));
        let (direction, start) = (Direction::Up, Time::ZERO);
        let ends = FlowEndpoints { server, client, direction, start, opener: client, follows: false };
        let flow = ping_flow(plan, pinged);
        let shapers = controlled_shapers(plan, directed_hops, pinged);
        let config = Direction::BOTH.into_iter().find_map(|direction| plan.hops[pinged.hop].autorate(direction));
        if let Some(AutorateConfig { pings, monitor, .. }) = config {
            let reflector = AnyEndpoint::PingReflector(Box::new(PingReflector::new(pings.method)));
            builder.endpoint(reflector, number as u32, entry(plan, directed_hops, &flow, &ends, Direction::Down));
            let pinger = AnyEndpoint::Pinger(Box::new(Pinger::new(*pings, *monitor)));
            builder.endpoint(pinger, number as u32, entry(plan, directed_hops, &flow, &ends, Direction::Up));
            builder.control_rates(client, shapers);
        }
        ends
    };
    pinged_hops(plan).iter().enumerate().map(add_one).collect()
}

fn controlled_shapers(plan: &Plan, directed_hops: &[DirectedHop], pinged: &PingedHop) -> Vec<ControlledShaper> {
    let of_hop = directed_hops.iter().filter(|directed| directed.hop == pinged.hop);
    let controlled = of_hop.filter_map(|directed| {
        let hop::Chain { upstream, .. } = directed.chain(pinged.client);
        let shaper = plan.hops[directed.hop].direction(directed.direction)?.shaper.as_ref()?;
        let config = shaper.autorate.as_ref()?;
        let base = shaper.config.rate;
        let controller = match &config.controller {
            ControllerConfig::User(user) => plan.user_controller(user.name())?.build(&config.limits(base)),
            ControllerConfig::CakeAutorate(rules) => {
                let longest = shaper.config.framing.on_wire(MAX_PACKET);
                Some(Box::new(CakeAutorate::new(*rules, config.limits(base), config.pings.pingers, longest.into())) as Box<_>)
            }
        };
        Some(ControlledShaper::new(upstream.shaper?, directed.direction as usize, config.limits(base), controller?))
    });
    controlled.collect()
}
