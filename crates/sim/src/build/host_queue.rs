//! Which links hold the queue of the hosts that send into them (`tsq`): those that are a flow's first hop and have a rate of their own.

use super::{DirectedHop, FlowEndpoints};
use crate::plan::{Direction, Plan};
use ackclock_core::NodeId;
use ackclock_core::network::NetworkBuilder;
use std::collections::BTreeSet;

/// The flow's end that sends `direction` bounds what waits in this hop. A medium's queues are not its own.
fn bounds(plan: &Plan, flow: usize, hop: usize, direction: Direction) -> bool {
    let host = plan.proxy_at(flow, direction).map(|proxy| &proxy.tcp).or(plan.flows[flow].tcp.as_ref());
    let rated =
        plan.hops[hop].medium.is_none() && plan.hops[hop].direction(direction).is_some_and(|config| config.rate.is_some());
    rated && host.is_some_and(|tcp| tcp.tsq.is_some()) && plan.flows[flow].path(&plan.hops, direction).first() == Some(&hop)
}

/// This direction of this hop must say when a packet leaves its queue: its delay is an element apart.
pub fn is_heard_of(plan: &Plan, hop: usize, direction: Direction) -> bool {
    (0..plan.flows.len()).any(|flow| bounds(plan, flow, hop, direction))
}

/// Lets the senders hear of the first hops that are connected already.
pub fn join(plan: &Plan, directed_hops: &[DirectedHop], flows: &[FlowEndpoints], builder: &mut NetworkBuilder) {
    for directed_hop in directed_hops.iter().filter(|directed_hop| is_heard_of(plan, directed_hop.hop, directed_hop.direction)) {
        let sender = |(flow, endpoints): (usize, &FlowEndpoints)| {
            bounds(plan, flow, directed_hop.hop, directed_hop.direction)
                .then(|| endpoints.target(directed_hop.direction.reverse()))
        };
        let senders: Vec<_> = flows.iter().enumerate().map(sender).collect();
        let links: BTreeSet<NodeId> = directed_hop.chains.iter().map(|chain| chain.link).collect();
        for link in links {
            builder.host_queue(link, senders.clone());
        }
    }
}
