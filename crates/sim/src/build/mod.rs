//! From a checked plan to a network: the hops' elements in path order, the flows' endpoints, and the routes between them.

mod endpoints;
mod fuse_links;
mod hop;
mod host_queue;
mod loss;
mod media;
mod proxies;
mod queue;
mod routes;

pub use endpoints::{FlowEndpoints, Role};
pub use hop::Chain;

use crate::plan::{Direction, Plan};
use ackclock_core::element::Port;
use ackclock_core::network::NetworkBuilder;
use ackclock_core::{Network, NodeId};

/// One direction of one hop: a chain of elements that all share, or one for each client.
#[derive(Debug, Clone)]
pub struct DirectedHop {
    pub hop: usize,
    pub direction: Direction,
    pub per_client: bool,
    /// Its chains' links are the stations of one medium, so what they use of it adds up.
    pub medium: bool,
    /// Whether it has a rate, without which nothing ever waits and no share of it is used.
    pub rated: bool,
    /// It continues the wire of the directed_hop before it, so nothing is handed over between them.
    pub joined: bool,
    pub chains: Vec<Chain>,
    /// What all its chains lead into.
    pub after: Vec<NodeId>,
}

impl DirectedHop {
    /// The chain that a client's packets take.
    pub fn chain(&self, client: u32) -> &Chain {
        &self.chains[if self.per_client { client as usize } else { 0 }]
    }

    /// Where the packets of one of its chains leave.
    pub fn exit(&self, chain: &Chain) -> (NodeId, Port) {
        self.after.last().map_or(chain.exit(), |&last| (last, Port(0)))
    }
}

/// A network and where its hops and flows are in it.
pub struct BuiltNetwork {
    pub network: Network,
    /// Hop by hop, server first; down before up.
    pub directed_hops: Vec<DirectedHop>,
    /// In the plan's order.
    pub flows: Vec<FlowEndpoints>,
}

/// Whether links measure their queues. A benchmark may leave that out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metering {
    On,
    Off,
}

/// Puts the network together; nothing has moved yet.
pub fn build(plan: &Plan, metering: Metering) -> BuiltNetwork {
    lay(plan, &BuildOptions { metering, apart: false })
}

/// The same network, slower: hops in a row that are only wires stay elements of their own, so that each drop happens where and when it does,
/// not on the packet's arrival at the first of them.
pub fn build_unfused(plan: &Plan) -> BuiltNetwork {
    lay(plan, &BuildOptions { metering: Metering::On, apart: true })
}

/// How a network is laid.
struct BuildOptions {
    metering: Metering,
    /// No hop is joined to its neighbour.
    apart: bool,
}

fn lay(plan: &Plan, options: &BuildOptions) -> BuiltNetwork {
    let mut builder = NetworkBuilder::default();
    let directed_hops = fuse_links::lay(plan, options, &mut builder);
    let flows = endpoints::add(plan, &directed_hops, &mut builder);
    proxies::join(plan, &flows, &mut builder);
    routes::connect(plan, &directed_hops, &flows, &mut builder);
    host_queue::join(plan, &directed_hops, &flows, &mut builder);
    let mut network = builder.build();
    network.arena.set_clients(plan.flows.iter().map(|flow| flow.client).collect());
    BuiltNetwork { network, directed_hops, flows }
}
