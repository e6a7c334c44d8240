//! Which links hold the queue of the hosts that send into them (`tsq`): those that are a flow's first hop and have a rate of their own.

use super::{Ends, Lane};
use crate::plan::{Plan, Toward};
use ackclock_core::NodeId;
use ackclock_core::network::NetworkBuilder;
use std::collections::BTreeSet;

/// The flow's end that sends `toward` bounds what waits in this hop. A medium's queues are not its own.
fn bounds(plan: &Plan, flow: usize, hop: usize, toward: Toward) -> bool {
    let host = plan.proxy_at(flow, toward).map(|proxy| &proxy.tcp).or(plan.flows[flow].tcp.as_ref());
    let rated = plan.hops[hop].medium.is_none() && plan.hops[hop].way(toward).is_some_and(|way| way.rate.is_some());
    rated && host.is_some_and(|tcp| tcp.tsq.is_some()) && plan.flows[flow].path(&plan.hops, toward).first() == Some(&hop)
}

/// This direction of this hop must say when a packet leaves its queue: its delay is an element apart.
pub fn is_heard_of(plan: &Plan, hop: usize, toward: Toward) -> bool {
    (0..plan.flows.len()).any(|flow| bounds(plan, flow, hop, toward))
}

/// Lets the senders hear of the first hops that are connected already.
pub fn join(plan: &Plan, lanes: &[Lane], flows: &[Ends], builder: &mut NetworkBuilder) {
    for lane in lanes.iter().filter(|lane| is_heard_of(plan, lane.hop, lane.toward)) {
        let sender =
            |(flow, ends): (usize, &Ends)| bounds(plan, flow, lane.hop, lane.toward).then(|| ends.target(lane.toward.back()));
        let senders: Vec<_> = flows.iter().enumerate().map(sender).collect();
        let links: BTreeSet<NodeId> = lane.chains.iter().map(|chain| chain.link).collect();
        for link in links {
            builder.host_queue(link, senders.clone());
        }
    }
}
