//! Hops whose clients contend: one element for both directions, and what comes after it in each.

use super::hop::{Chain, HopBuilder};
use super::{DirectedHop, queue};
use crate::plan::{self, Direction, Hop, Medium, Plan};
use ackclock_core::element::Port;
use ackclock_core::impairment::{Handover, HandoverConfig, Paths};
use ackclock_core::medium::{Grants, HalfDuplex, PacketRadio, RadioConfig, Stream, Wimax, Wlan};
use ackclock_core::network::{NetworkBuilder, Route};
use ackclock_core::queue::AnyQueue;
use ackclock_core::rng::Rng;
use ackclock_core::{AnyElement, NodeId, Rate, Span};
use std::sync::Arc;

/// Every hop's medium, if it has one.
pub fn lay(plan: &Plan, builder: &mut NetworkBuilder) -> Vec<Option<NodeId>> {
    let lay_one =
        |hop: &Hop| hop.medium.as_ref().and_then(|medium| element(plan, hop, medium)).map(|medium| builder.element(medium));
    plan.hops.iter().map(lay_one).collect()
}

/// None only for what a checked plan does not have.
fn element(plan: &Plan, hop: &Hop, medium: &Medium) -> Option<AnyElement> {
    let queues = queues(plan, hop);
    let rng = Rng::for_element(plan.seed, &format!("hop.{}.medium", hop.name));
    match *medium {
        Medium::HalfDuplex { bps, turnaround_ps } => {
            Some(roam(HalfDuplex::new(Rate::from_bps(bps), Span(turnaround_ps), queues), hop))
        }
        Medium::Wimax(ref wimax) => {
            let cell = wimax.terms().and_then(|terms| Wimax::new(terms, queues.collect(), rng));
            cell.ok().map(|cell| roam(cell, hop))
        }
        Medium::PacketRadio(ref radio) => Some(PacketRadio::new(radio_config(radio), queues, rng).into()),
        Medium::Wlan(ref wlan) => {
            let network = wlan.terms().and_then(|terms| Wlan::new(terms, queues, rng));
            network.ok().map(|network| roam(network, hop))
        }
        Medium::Grants(ref grants) => {
            let channel = grants.terms().and_then(|terms| Grants::new(terms, queues, rng));
            channel.ok().map(|channel| roam(channel, hop))
        }
    }
}

/// Its stations change cells, if the hop says so.
fn roam<M: ackclock_core::medium::Medium + Into<AnyElement>>(medium: M, hop: &Hop) -> AnyElement {
    match hop.roaming.as_ref().and_then(|roaming| roaming.terms().ok()) {
        Some(terms) => medium.roaming(terms).into(),
        None => medium.into(),
    }
}

/// What a client's cells add to its delay, one after the other.
fn step(plan: &Plan, hop: &Hop, client: u32) -> Option<AnyElement> {
    let roaming = hop.roaming.as_ref()?;
    let delays: Arc<[Span]> = roaming.cells.iter().map(|cell| Span(cell.delay_ps)).collect();
    if delays.iter().all(|&delay| delay == Span::ZERO) {
        return None;
    }
    let first = Span(roaming.first_ps) + Span(roaming.spread_ps).saturating_mul(u64::from(client));
    let paths = Paths::Listed(delays);
    let terms = HandoverConfig { every: Span(roaming.every_ps), first, gap: Span::ZERO, loss: 0.0, paths };
    Some(Handover::new(terms, 0, Rng::for_element(plan.seed, "step")).into())
}

fn radio_config(radio: &plan::PacketRadio) -> RadioConfig {
    RadioConfig {
        hops: radio.hops,
        rate: Rate::from_bps(radio.bps),
        latency: Span(radio.latency_ps),
        to_receive: Span(radio.to_receive_ps),
        to_send: Span(radio.to_send_ps),
        rts_bytes: radio.rts_bytes,
        cts_bytes: radio.cts_bytes,
        header_bytes: radio.header_bytes,
        ack_bytes: radio.ack_bytes,
        backoff_base: Span(radio.backoff_base_ps),
        backoff_cap: Span(radio.backoff_cap_ps),
        defer_by_backoff: radio.defer_by_backoff,
        nack_cts: radio.nack_cts,
        piggyback: radio.piggyback,
        ack_timeout: Span(radio.ack_timeout_ps),
        tries: radio.tries,
        relay_queue: radio.relay_packets,
        frame_error: [radio.frame_error.down, radio.frame_error.up],
    }
}

/// One queue for each client and direction, in the order of [`Stream::index`]; then the same for each further connection. A direction that the hop does not allow has one too.
fn queues<'a>(plan: &'a Plan, hop: &'a Hop) -> impl Iterator<Item = AnyQueue> + 'a {
    let queue = move |client: u32, direction: Direction| {
        let rng = Rng::for_element(plan.seed, &format!("hop.{}.queue.{}.{client}", hop.name, direction.name()));
        // How fast a medium empties one of its queues is decided by the others.
        queue::build(hop.direction(direction), None, rng)
    };
    let connections = 1 + hop.medium.as_ref().map_or(0, Medium::connections);
    (0..plan.clients * connections).flat_map(move |client| Direction::BOTH.map(|direction| queue(client, direction)))
}

/// A chain that begins with a stream of a medium.
fn on_stream(medium: NodeId, stream: Stream, after: Vec<NodeId>) -> Chain {
    Chain { link: medium, place: stream.queue_id(), ports: (stream.entry(), stream.exit()), after, joins: false }
}

/// One direction of a medium: a chain for each client, and what comes after, which all share unless the hop is `per_client`.
pub fn directed_hop(
    medium: NodeId,
    (hop, direction): (usize, Direction),
    plan: &Plan,
    hop_builder: &HopBuilder<'_>,
    builder: &mut NetworkBuilder,
) -> DirectedHop {
    let own = plan.hops[hop].per_client;
    let step =
        |client: u32, builder: &mut NetworkBuilder| step(plan, &plan.hops[hop], client).map(|element| builder.element(element));
    let shared = if own { Vec::new() } else { hop_builder.lay_apart(None, builder) };
    let chain = |client: u32| {
        let stream = Stream::new(client, direction);
        let mut after: Vec<NodeId> = step(client, builder).into_iter().collect();
        if own {
            after.extend(hop_builder.lay_apart(Some(client), builder));
        }
        if let [first, second, ..] = after[..] {
            builder.connect(first, Port(0), Route::Node(second, Port(0)));
        }
        if let Some(&next) = after.first().or(shared.first()) {
            builder.connect(medium, stream.exit(), Route::Node(next, Port(0)));
        }
        if let (Some(&last), Some(&next)) = (after.last(), shared.first()) {
            builder.connect(last, Port(0), Route::Node(next, Port(0)));
        }
        on_stream(medium, stream, after)
    };
    let mut chains: Vec<Chain> = (0..plan.clients).map(chain).collect();
    // What leaves a client's further connections goes the way of its first.
    let connections = plan.hops[hop].medium.as_ref().map_or(0, Medium::connections);
    for station in plan.clients..plan.clients * (1 + connections) {
        let stream = Stream::new(station, direction);
        let first = &chains[(station % plan.clients) as usize].after;
        if let Some(&next) = first.first().or(shared.first()) {
            builder.connect(medium, stream.exit(), Route::Node(next, Port(0)));
        }
        let joins = !first.is_empty();
        chains.push(Chain { joins, ..on_stream(medium, stream, Vec::new()) });
    }
    DirectedHop { hop, direction, per_client: true, medium: true, rated: true, joined: false, chains, after: shared }
}
