//! Builds the network of a checked plan: the elements of each hop in path order, the endpoints of
//! each flow, and the routes between them.

mod autorate;
mod endpoints;
mod flow_starts;
mod fuse_links;
mod hop;
mod host_queue;
mod media;
mod proxies;
mod queue;
#[cfg(feature = "quic")]
mod quic;
mod routes;

pub use endpoints::{FlowEndpoints, Role};
pub use hop::Chain;

use crate::plan::{Direction, Flow, Plan};
use ackclock_core::element::Port;
use ackclock_core::network::NetworkBuilder;
use ackclock_core::{Network, NodeId};
use std::collections::BTreeMap;

/// One direction of one hop: a chain of elements that all clients share, or a chain for each
/// client.
#[derive(Debug, Clone)]
pub struct DirectedHop {
    pub hop: usize,
    pub direction: Direction,
    pub per_client: bool,
    /// The links of the chains are the stations of one medium, so their utilizations add up.
    pub medium: bool,
    /// The hop has a rate. Without a rate there is no queue and no utilization.
    pub rated: bool,
    /// The hop is part of the previous hop's `FusedLink`: no packet is handed over between them.
    pub fused: bool,
    pub chains: Vec<Chain>,
    /// Elements that all chains lead into.
    pub downstream: Vec<NodeId>,
}

impl DirectedHop {
    /// The chain that a client's packets take.
    pub fn chain(&self, client: u32) -> &Chain {
        &self.chains[if self.per_client { client as usize } else { 0 }]
    }

    /// The node and port from which the packets of a chain leave the hop.
    pub fn exit(&self, chain: &Chain) -> (NodeId, Port) {
        self.downstream.last().map_or(chain.exit(), |&last| (last, Port(0)))
    }
}

/// A network, with the nodes of its hops and the endpoints of its flows.
pub struct BuiltNetwork {
    pub network: Network,
    /// In path order from the server; down before up.
    pub directed_hops: Vec<DirectedHop>,
    /// In the plan's order.
    pub flows: Vec<FlowEndpoints>,
}

/// Builds the network at time 0.
pub fn build(plan: &Plan) -> BuiltNetwork {
    assemble(plan, false)
}

/// Builds the network with one link for each hop. A `FusedLink` of several hops decides about a
/// drop when the packet arrives at the first hop; here each drop happens at its own hop and time.
pub fn build_unfused(plan: &Plan) -> BuiltNetwork {
    assemble(plan, true)
}

/// `unfused`: each hop is a link of its own.
fn assemble(plan: &Plan, unfused: bool) -> BuiltNetwork {
    let mut builder = NetworkBuilder::default();
    if !plan.captures.is_empty() {
        builder.separate_arrivals();
    }
    let routed = autorate::with_pings(plan);
    let directed_hops = fuse_links::add(&routed, unfused, &mut builder);
    let flows = endpoints::add(plan, &directed_hops, &mut builder);
    proxies::connect(plan, &flows, &mut builder);
    let pings = autorate::add(plan, &directed_hops, &mut builder);
    routes::connect(&routed, &directed_hops, &[flows.as_slice(), pings.as_slice()].concat(), &mut builder);
    host_queue::connect(plan, &directed_hops, &flows, &mut builder);
    let mut network = builder.build();
    network.arena.set_client_hosts(client_hosts(&routed));
    BuiltNetwork { network, directed_hops, flows }
}

/// By flow: the number of the host at its client's end. The first device of a client has the client's number, and
/// all others follow the clients.
fn client_hosts(plan: &Plan) -> Vec<u32> {
    let mut further: BTreeMap<(u32, u32), u32> = BTreeMap::new();
    let host = |flow: &Flow| {
        let next = plan.clients + further.len() as u32;
        if flow.device == 0 { flow.client } else { *further.entry((flow.client, flow.device)).or_insert(next) }
    };
    plan.flows.iter().map(host).collect()
}
