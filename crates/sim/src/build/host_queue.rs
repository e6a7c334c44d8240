//! TCP small queues: the links that hold the queue of a sending host. These are the first hops of
//! flows with `tsq` that have a rate or a shaper, up to their first element behind the MTU: a queue behind a policer
//! or a shaper is not the host's.

use super::{Chain, DirectedHop, FlowEndpoints};
use crate::plan::{Direction, HopDirection, Plan};
use ackclock_core::NodeId;
use ackclock_core::network::NetworkBuilder;
use std::collections::BTreeSet;

/// The sender of this direction bounds its bytes in the queue of this hop. Queues of a medium do
/// not count.
fn bounds(plan: &Plan, flow: usize, hop: usize, direction: Direction) -> bool {
    let host = plan.tcp_at(flow, direction);
    let has_rate = |config: &HopDirection| config.rate.is_some() || config.shaper.is_some();
    let rated = plan.hops[hop].medium.is_none() && plan.hops[hop].direction(direction).is_some_and(has_rate);
    rated && host.is_some_and(|tcp| tcp.tsq.is_some()) && plan.flows[flow].path(&plan.hops, direction).first() == Some(&hop)
}

/// A sender needs the time at which its packets leave this queue: the delay must be a separate
/// element.
pub fn bounds_any_sender(plan: &Plan, hop: usize, direction: Direction) -> bool {
    (0..plan.flows.len()).any(|flow| bounds(plan, flow, hop, direction))
}

/// Reports departures from these queues to the senders.
pub fn connect(plan: &Plan, directed_hops: &[DirectedHop], flows: &[FlowEndpoints], builder: &mut NetworkBuilder) {
    for directed_hop in
        directed_hops.iter().filter(|directed_hop| bounds_any_sender(plan, directed_hop.hop, directed_hop.direction))
    {
        let sender = |(flow, endpoints): (usize, &FlowEndpoints)| {
            bounds(plan, flow, directed_hop.hop, directed_hop.direction)
                .then(|| endpoints.target(directed_hop.direction.reverse()))
        };
        let senders: Vec<_> = flows.iter().enumerate().map(sender).collect();
        let links: BTreeSet<NodeId> = directed_hop.chains.iter().map(Chain::first).collect();
        for link in links {
            let queue = builder.host_queue(link, senders.clone());
            let checks = directed_hop.chains.iter().filter(|chain| chain.first() == link).filter_map(|chain| chain.upstream.mtu);
            checks.for_each(|check| builder.drops_before(check, queue));
        }
    }
}
