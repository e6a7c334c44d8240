//! When each flow starts, and when it first shares a hop with another TCP flow.

use crate::plan::{Flow, Plan};
use ackclock_core::rng::Rng;
use ackclock_core::{Span, Time};
use std::collections::BTreeMap;

/// The starts of all flows of one run.
pub struct FlowStarts {
    /// By flow: its drawn start; for a flow that follows others, the drawn pause after them.
    own: Vec<Time>,
    /// By flow: the first start of another TCP flow that shares a hop.
    shared_from: Vec<Time>,
}

/// A queue that flows share: a hop, and the client where each client has its own.
type Place = (usize, Option<u32>);

/// The two earliest starts at a place, of different flows.
#[derive(Clone, Copy)]
struct Earliest {
    flow: usize,
    start: Time,
    /// Start of the second flow.
    next: Time,
}

impl FlowStarts {
    pub fn of(plan: &Plan) -> FlowStarts {
        // All parts of a split connection start at the same time.
        let own: Vec<Time> = (0..plan.flows.len()).map(|number| draw(plan.seed, plan.last_part(number))).collect();
        let mut possible: Vec<Time> = Vec::with_capacity(own.len());
        let mut places: BTreeMap<Place, Earliest> = BTreeMap::new();
        for (number, flow) in plan.flows.iter().enumerate() {
            let start = possible_start(flow, own[number], &possible);
            possible.push(start);
            if flow.tcp.is_none() {
                continue;
            }
            for place in places_of(plan, flow) {
                let first = Earliest { flow: number, start, next: Time::NEVER };
                places
                    .entry(place)
                    .and_modify(|found| {
                        *found = if start < found.start {
                            Earliest { next: found.start, ..first }
                        } else {
                            Earliest { next: found.next.min(start), ..*found }
                        };
                    })
                    .or_insert(first);
            }
        }
        let others = |number: usize, place: Place| {
            let found = places.get(&place)?;
            Some(if found.flow == number { found.next } else { found.start })
        };
        let shared_from = |number: usize| {
            let places = places_of(plan, &plan.flows[number]);
            places.filter_map(|place| others(number, place)).min().unwrap_or(Time::NEVER)
        };
        FlowStarts { shared_from: (0..own.len()).map(shared_from).collect(), own }
    }

    pub fn own(&self, number: usize) -> Time {
        self.own[number]
    }

    /// From when another TCP flow can meet this one; `Time::NEVER` without one.
    pub fn shared_from(&self, number: usize) -> Time {
        self.shared_from[number]
    }
}

fn draw(seed: u64, flow: &Flow) -> Time {
    let mut rng = Rng::for_element(seed, &format!("flow.{}.start", flow.name));
    Time::ZERO + rng.uniform_span(Span(flow.start.low_ps), Span(flow.start.high_ps))
}

/// The earliest start: a flow that follows others takes no account of how long they last.
fn possible_start(flow: &Flow, own: Time, before: &[Time]) -> Time {
    let awaited = flow.after.iter().filter_map(|&number| before.get(number)).max();
    awaited.map_or(own, |&start| start + (own - Time::ZERO))
}

fn places_of<'a>(plan: &'a Plan, flow: &'a Flow) -> impl Iterator<Item = Place> + 'a {
    flow.hops.iter().map(|&index| {
        let hop = &plan.hops[index];
        (index, (hop.per_client && hop.medium.is_none()).then_some(flow.client))
    })
}
