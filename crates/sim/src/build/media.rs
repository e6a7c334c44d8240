//! Hops whose clients share a medium: one element for both directions, and the elements after it.

use super::hop::{Chain, HopBuilder, Upstream};
use super::{DirectedHop, queue};
use crate::plan::{Direction, Hop, MediumPlan, Plan};
use ackclock_core::element::Port;
use ackclock_core::impairment::Handover;
use ackclock_core::medium::{Grants, HalfDuplex, Medium, PacketRadio, Stream, Wimax, Wlan};
use ackclock_core::network::{NetworkBuilder, Route};
use ackclock_core::queue::AnyQueue;
use ackclock_core::rng::Rng;
use ackclock_core::{AnyElement, NodeId, Span};
use std::sync::Arc;

/// Adds the medium of each hop that has one.
pub fn add(plan: &Plan, builder: &mut NetworkBuilder) -> Vec<Option<NodeId>> {
    let add_one =
        |hop: &Hop| hop.medium.as_ref().and_then(|medium| element(plan, hop, medium)).map(|medium| builder.element(medium));
    plan.hops.iter().map(add_one).collect()
}

/// None only for a medium that the check of the plan rejects.
fn element(plan: &Plan, hop: &Hop, medium: &MediumPlan) -> Option<AnyElement> {
    let queues = queues(plan, hop);
    let rng = Rng::for_element(plan.seed, &format!("hop.{}.medium", hop.name));
    match medium {
        MediumPlan::HalfDuplex(config) => Some(roam(HalfDuplex::new(*config, queues), hop)),
        MediumPlan::Wimax(cell) => {
            let cell = cell.config().and_then(|config| Wimax::new(config, queues.collect(), rng));
            cell.ok().map(|cell| roam(cell, hop))
        }
        MediumPlan::PacketRadio(config) => Some(PacketRadio::new((**config).clone(), queues, rng).into()),
        MediumPlan::Wlan(config) => Wlan::new((**config).clone(), queues, rng).ok().map(|network| roam(network, hop)),
        MediumPlan::Grants(config) => Grants::new((**config).clone(), queues, rng).ok().map(|channel| roam(channel, hop)),
    }
}

/// Adds roaming between cells, if the hop has it.
fn roam<M: Medium + Into<AnyElement>>(medium: M, hop: &Hop) -> AnyElement {
    match &hop.roaming {
        Some(config) => medium.roaming(config.clone()).into(),
        None => medium.into(),
    }
}

/// The delay that a client's current cell adds.
fn cell_delay(hop: &Hop, client: u32) -> Option<AnyElement> {
    let roaming = hop.roaming.as_ref()?;
    let delays: Arc<[Span]> = roaming.cells.iter().map(|cell| cell.delay).collect();
    let delayed = delays.iter().any(|&delay| delay > Span::ZERO);
    delayed.then(|| Handover::with_delays(roaming.every, roaming.first_change(client), delays).into())
}

/// A queue for each client and direction in the order of [`Stream::index`], then the same for each
/// further connection. A direction that the hop does not allow has a queue, too.
fn queues<'a>(plan: &'a Plan, hop: &'a Hop) -> impl Iterator<Item = AnyQueue> + 'a {
    let queue = move |client: u32, direction: Direction| {
        let rng = Rng::for_element(plan.seed, &format!("hop.{}.queue.{}.{client}", hop.name, direction.name()));
        // The rate of one queue of a medium depends on the others.
        let config = hop.direction(direction);
        queue::build(config.and_then(|config| config.queue), config.and_then(|config| config.acks), None, rng)
    };
    let connections = 1 + hop.medium.as_ref().map_or(0, MediumPlan::connections);
    (0..plan.clients * connections).flat_map(move |client| Direction::BOTH.map(|direction| queue(client, direction)))
}

/// A chain that begins with a stream of a medium.
fn on_stream(medium: NodeId, stream: Stream, upstream: Upstream, downstream: Vec<NodeId>) -> Chain {
    Chain { upstream, link: medium, queue: stream.queue_id(), ports: (stream.entry(), stream.exit()), downstream, merges: false }
}

/// One direction of a medium: a chain for each client. The elements after the medium are shared
/// unless the hop is `per_client`.
pub fn directed_hop(
    medium: NodeId,
    (hop, direction): (usize, Direction),
    plan: &Plan,
    hop_builder: &HopBuilder<'_>,
    builder: &mut NetworkBuilder,
) -> DirectedHop {
    let per_client = plan.hops[hop].per_client;
    let step =
        |client: u32, builder: &mut NetworkBuilder| cell_delay(&plan.hops[hop], client).map(|element| builder.element(element));
    let shared = if per_client { Vec::new() } else { hop_builder.add_chain(None, builder) };
    let chain = |client: u32| {
        let stream = Stream::new(client, direction);
        let mut downstream: Vec<NodeId> = step(client, builder).into_iter().collect();
        if per_client {
            downstream.extend(hop_builder.add_chain(Some(client), builder));
        }
        if let [first, second, ..] = downstream[..] {
            builder.connect(first, Port(0), Route::Node(second, Port(0)));
        }
        if let Some(&next) = downstream.first().or(shared.first()) {
            builder.connect(medium, stream.exit(), Route::Node(next, Port(0)));
        }
        if let (Some(&last), Some(&next)) = (downstream.last(), shared.first()) {
            builder.connect(last, Port(0), Route::Node(next, Port(0)));
        }
        let upstream = hop_builder.add_upstream(Some(client), Route::Node(medium, stream.entry()), builder);
        on_stream(medium, stream, upstream, downstream)
    };
    let mut chains: Vec<Chain> = (0..plan.clients).map(chain).collect();
    // Packets of a client's further connections take the route of its first connection.
    let connections = plan.hops[hop].medium.as_ref().map_or(0, MediumPlan::connections);
    for station in plan.clients..plan.clients * (1 + connections) {
        let stream = Stream::new(station, direction);
        let first = &chains[(station % plan.clients) as usize].downstream;
        if let Some(&next) = first.first().or(shared.first()) {
            builder.connect(medium, stream.exit(), Route::Node(next, Port(0)));
        }
        let merges = !first.is_empty();
        chains.push(Chain { merges, ..on_stream(medium, stream, Upstream::default(), Vec::new()) });
    }
    DirectedHop { hop, direction, per_client: true, medium: true, rated: true, fused: false, chains, downstream: shared }
}
