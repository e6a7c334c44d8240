//! Which way out of each chain: straight on where all flows agree, else by flow.

use super::{DirectedHop, FlowEndpoints};
use crate::plan::{Direction, Plan};
use ackclock_core::network::{NetworkBuilder, Route};

/// The next stop of every flow after one directed_hop, by flow; `None` for flows that do not cross it.
struct NextHops {
    next: Vec<Option<Route>>,
}

/// Joins the chains' endpoints to what comes after them.
pub fn connect(plan: &Plan, directed_hops: &[DirectedHop], flows: &[FlowEndpoints], builder: &mut NetworkBuilder) {
    let mut next_hops: Vec<NextHops> = directed_hops.iter().map(|_| NextHops { next: vec![None; flows.len()] }).collect();
    let lane_of = lane_index(plan, directed_hops);
    for (number, (flow, endpoints)) in plan.flows.iter().zip(flows).enumerate() {
        for direction in Direction::BOTH {
            let path = flow.path(&plan.hops, direction);
            let stops: Vec<usize> = path.iter().filter_map(|&hop| lane_of[hop][direction as usize]).collect();
            for (place, &directed_hop) in stops.iter().enumerate() {
                let next = stops.get(place + 1).map(|&l| &directed_hops[l]);
                if next.is_some_and(|directed_hop| directed_hop.joined) {
                    continue;
                }
                let next = next.map(|directed_hop| directed_hop.chain(flow.client).entry());
                next_hops[directed_hop].next[number] = Some(next.unwrap_or(Route::Endpoint(endpoints.target(direction))));
            }
        }
    }
    for (directed_hop, next_hops) in directed_hops.iter().zip(next_hops) {
        connect_lane(plan, directed_hop, &next_hops, builder);
    }
}

/// Lanes by hop and direction.
fn lane_index(plan: &Plan, directed_hops: &[DirectedHop]) -> Vec<[Option<usize>; 2]> {
    let mut index = vec![[None; 2]; plan.hops.len()];
    for (i, directed_hop) in directed_hops.iter().enumerate() {
        index[directed_hop.hop][directed_hop.direction as usize] = Some(i);
    }
    index
}

fn connect_lane(plan: &Plan, directed_hop: &DirectedHop, next_hops: &NextHops, builder: &mut NetworkBuilder) {
    // Clients' own links on one wire have one way out.
    let one_exit = directed_hop.chains.windows(2).all(|pair| directed_hop.exit(&pair[0]) == directed_hop.exit(&pair[1]));
    // What the flows that leave by each exit agree on: nothing yet, one way, or no longer anything.
    let mut agreed: Vec<Result<Option<Route>, ()>> = vec![Ok(None); if one_exit { 1 } else { directed_hop.chains.len() }];
    for (flow, &next) in plan.flows.iter().zip(&next_hops.next) {
        let Some(next) = next else { continue };
        let said = &mut agreed[if one_exit { 0 } else { flow.client as usize }];
        *said = match *said {
            Ok(None) => Ok(Some(next)),
            Ok(Some(same)) if same == next => Ok(Some(same)),
            _ => Err(()),
        };
    }
    // One table serves all exits of a directed_hop, as a flow takes only one of them.
    let mut table = None;
    // A client's further connections go the way of its first; where that has elements of its own, they have been joined to those.
    let ways = agreed.iter().take(if one_exit { 1 } else { plan.clients as usize }).cycle();
    for (chain, &said) in
        directed_hop.chains.iter().take(if one_exit { 1 } else { usize::MAX }).zip(ways).filter(|(chain, _)| !chain.joins)
    {
        let route = match said {
            Ok(None) => continue,
            Ok(Some(route)) => route,
            Err(()) => {
                *table.get_or_insert_with(|| builder.table(next_hops.next.iter().map(|r| r.unwrap_or(Route::Nowhere)).collect()))
            }
        };
        let (node, port) = directed_hop.exit(chain);
        builder.connect(node, port, route);
    }
}
