//! Which way out of each chain: straight on where all flows agree, else by flow.

use super::{Ends, Lane};
use crate::plan::{Plan, Toward};
use ackclock_core::network::{NetworkBuilder, Route};

/// The next stop of every flow after one lane, by flow; `None` for flows that do not cross it.
struct Onward {
    next: Vec<Option<Route>>,
}

/// Joins the chains' ends to what comes after them.
pub fn connect(plan: &Plan, lanes: &[Lane], flows: &[Ends], builder: &mut NetworkBuilder) {
    let mut onward: Vec<Onward> = lanes.iter().map(|_| Onward { next: vec![None; flows.len()] }).collect();
    let lane_of = lane_index(plan, lanes);
    for (number, (flow, ends)) in plan.flows.iter().zip(flows).enumerate() {
        for toward in Toward::BOTH {
            let path = flow.path(&plan.hops, toward);
            let stops: Vec<usize> = path.iter().filter_map(|&hop| lane_of[hop][toward as usize]).collect();
            for (place, &lane) in stops.iter().enumerate() {
                let next = stops.get(place + 1).map(|&l| &lanes[l]);
                if next.is_some_and(|lane| lane.joined) {
                    continue;
                }
                let next = next.map(|lane| lane.chain(flow.client).entry());
                onward[lane].next[number] = Some(next.unwrap_or(Route::Endpoint(ends.target(toward))));
            }
        }
    }
    for (lane, onward) in lanes.iter().zip(onward) {
        connect_lane(plan, lane, &onward, builder);
    }
}

/// Lanes by hop and direction.
fn lane_index(plan: &Plan, lanes: &[Lane]) -> Vec<[Option<usize>; 2]> {
    let mut index = vec![[None; 2]; plan.hops.len()];
    for (i, lane) in lanes.iter().enumerate() {
        index[lane.hop][lane.toward as usize] = Some(i);
    }
    index
}

fn connect_lane(plan: &Plan, lane: &Lane, onward: &Onward, builder: &mut NetworkBuilder) {
    // Clients' own links on one wire have one way out.
    let one_exit = lane.chains.windows(2).all(|pair| lane.exit(&pair[0]) == lane.exit(&pair[1]));
    // What the flows that leave by each exit agree on: nothing yet, one way, or no longer anything.
    let mut agreed: Vec<Result<Option<Route>, ()>> = vec![Ok(None); if one_exit { 1 } else { lane.chains.len() }];
    for (flow, &next) in plan.flows.iter().zip(&onward.next) {
        let Some(next) = next else { continue };
        let said = &mut agreed[if one_exit { 0 } else { flow.client as usize }];
        *said = match *said {
            Ok(None) => Ok(Some(next)),
            Ok(Some(same)) if same == next => Ok(Some(same)),
            _ => Err(()),
        };
    }
    // One table serves all exits of a lane, as a flow takes only one of them.
    let mut table = None;
    // A client's further connections go the way of its first; where that has elements of its own, they have been joined to those.
    let ways = agreed.iter().take(if one_exit { 1 } else { plan.clients as usize }).cycle();
    for (chain, &said) in
        lane.chains.iter().take(if one_exit { 1 } else { usize::MAX }).zip(ways).filter(|(chain, _)| !chain.joins)
    {
        let route = match said {
            Ok(None) => continue,
            Ok(Some(route)) => route,
            Err(()) => {
                *table.get_or_insert_with(|| builder.table(onward.next.iter().map(|r| r.unwrap_or(Route::Nowhere)).collect()))
            }
        };
        let (node, port) = lane.exit(chain);
        builder.connect(node, port, route);
    }
}
