//! The route out of each chain: one next hop if all its flows agree, otherwise a table by flow. The reports of
//! its router have one of their own.

use super::{DirectedHop, FlowEndpoints};
use crate::plan::{Direction, Plan};
use ackclock_core::link::REPORT_PORT;
use ackclock_core::network::{NetworkBuilder, Route};

/// The next hop after one directed hop, by flow; `None` for flows that do not cross it.
type NextHops = Vec<Option<Route>>;

/// Connects the exit of each chain with its next hop.
pub fn connect(plan: &Plan, directed_hops: &[DirectedHop], flows: &[FlowEndpoints], builder: &mut NetworkBuilder) {
    let mut next_hops: Vec<NextHops> = directed_hops.iter().map(|_| vec![None; flows.len()]).collect();
    let index = index_by_hop(plan, directed_hops);
    for (number, (flow, endpoints)) in plan.flows.iter().zip(flows).enumerate() {
        for direction in Direction::BOTH {
            let path = flow.path(&plan.hops, direction);
            let crossed: Vec<usize> = path.iter().filter_map(|&hop| index[hop][direction as usize]).collect();
            for (position, &directed_hop) in crossed.iter().enumerate() {
                let next = crossed.get(position + 1).map(|&next| &directed_hops[next]);
                if next.is_some_and(|directed_hop| directed_hop.fused) {
                    continue;
                }
                let next = next.map(|directed_hop| directed_hop.chain(flow.client).entry());
                next_hops[directed_hop][number] = Some(next.unwrap_or(Route::Endpoint(endpoints.target(direction))));
            }
        }
    }
    for (directed_hop, next_hops) in directed_hops.iter().zip(next_hops) {
        connect_hop(plan, directed_hop, &next_hops, builder);
    }
    for directed_hop in directed_hops.iter().filter(|directed_hop| reports(plan, directed_hop)) {
        let back = flows.iter().enumerate().map(|(number, endpoints)| {
            let back = return_hop(plan, directed_hop, number, &index)
                .map(|hop| directed_hops[hop].chain(plan.flows[number].client).entry());
            back.unwrap_or(Route::Endpoint(endpoints.target(directed_hop.direction.reverse())))
        });
        let back = builder.table(back.collect());
        for check in directed_hop.chains.iter().flat_map(|chain| chain.upstream.checks()) {
            builder.connect(check, REPORT_PORT, back);
        }
    }
}

/// The router before this hop reports what is too long.
fn reports(plan: &Plan, directed_hop: &DirectedHop) -> bool {
    let config = plan.hops[directed_hop.hop].direction(directed_hop.direction);
    let of_hop = config.and_then(|config| config.mtu).is_some_and(|mtu| mtu.icmp);
    of_hop || directed_hop.chains.iter().any(|chain| chain.upstream.tunnel.is_some())
}

/// The first directed hop from the router before this one back to the sender of a flow; none if the router
/// is beside the sender.
fn return_hop(plan: &Plan, directed_hop: &DirectedHop, flow: usize, index: &[[Option<usize>; 2]]) -> Option<usize> {
    let (at, direction) = (directed_hop.hop, directed_hop.direction);
    let behind = |hop: &usize| if direction == Direction::Down { *hop < at } else { *hop > at };
    let hop = plan.flows[flow].path(&plan.hops, direction.reverse()).into_iter().find(behind)?;
    index[hop][direction.reverse() as usize]
}

/// Directed hops by hop and direction.
fn index_by_hop(plan: &Plan, directed_hops: &[DirectedHop]) -> Vec<[Option<usize>; 2]> {
    let mut index = vec![[None; 2]; plan.hops.len()];
    for (i, directed_hop) in directed_hops.iter().enumerate() {
        index[directed_hop.hop][directed_hop.direction as usize] = Some(i);
    }
    index
}

fn connect_hop(plan: &Plan, directed_hop: &DirectedHop, next_hops: &[Option<Route>], builder: &mut NetworkBuilder) {
    // Per-client links that are fused with others have one exit.
    let one_exit = directed_hop.chains.windows(2).all(|pair| directed_hop.exit(&pair[0]) == directed_hop.exit(&pair[1]));
    // The route of all flows that leave by an exit: none yet, one, or an error where they differ.
    let mut agreed: Vec<Result<Option<Route>, ()>> = vec![Ok(None); if one_exit { 1 } else { directed_hop.chains.len() }];
    for (flow, &next) in plan.flows.iter().zip(next_hops) {
        let Some(next) = next else { continue };
        let route = &mut agreed[if one_exit { 0 } else { flow.client as usize }];
        *route = match *route {
            Ok(None) => Ok(Some(next)),
            Ok(Some(same)) if same == next => Ok(Some(same)),
            _ => Err(()),
        };
    }
    // One table serves all exits of a hop, as a flow takes only one of them.
    let mut table = None;
    // A client's further connections take the route of its first connection; chains that merge into
    // that connection's elements have a route already.
    let agreed_by_chain = agreed.iter().take(if one_exit { 1 } else { plan.clients as usize }).cycle();
    for (chain, &route) in directed_hop
        .chains
        .iter()
        .take(if one_exit { 1 } else { usize::MAX })
        .zip(agreed_by_chain)
        .filter(|(chain, _)| !chain.merges)
    {
        let route = match route {
            Ok(None) => continue,
            Ok(Some(route)) => route,
            Err(()) => {
                *table.get_or_insert_with(|| builder.table(next_hops.iter().map(|r| r.unwrap_or(Route::Nowhere)).collect()))
            }
        };
        let (node, port) = directed_hop.exit(chain);
        builder.connect(node, port, route);
    }
}
