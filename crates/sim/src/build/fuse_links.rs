//! Which hops become which elements: hops that are only wires and that all the same flows cross are joined to one element.

use super::hop::{Chain, HopBuilder, Link};
use super::{BuildOptions, DirectedHop, Metering, host_queue, media};
use crate::plan::{Capture, Direction, End, Hop, Plan};
use ackclock_core::NodeId;
use ackclock_core::element::QueueId;
use ackclock_core::link::FusedLink;
use ackclock_core::network::NetworkBuilder;
use std::sync::Arc;

/// All directed_hops, hop by hop, server first, down before up.
pub(super) fn lay(plan: &Plan, options: &BuildOptions, builder: &mut NetworkBuilder) -> Vec<DirectedHop> {
    let &BuildOptions { metering, apart } = options;
    let clients: Arc<[u32]> = plan.flows.iter().map(|f| f.client).collect();
    let media = media::lay(plan, builder);
    let mut directed_hops = Vec::new();
    for direction in Direction::BOTH {
        let mut path = PathBuilder {
            plan,
            metering,
            apart,
            direction,
            clients: &clients,
            media: &media,
            builder,
            directed_hops: Vec::new(),
            open: None,
        };
        let mut hops: Vec<usize> = (0..plan.hops.len()).collect();
        if direction == Direction::Up {
            hops.reverse();
        }
        hops.into_iter().for_each(|hop| path.add(hop));
        path.close();
        directed_hops.extend(path.directed_hops);
    }
    directed_hops.sort_by_key(|directed_hop| (directed_hop.hop, directed_hop.direction as usize));
    directed_hops
}

/// The hops of one direction in the order of travel.
struct PathBuilder<'a> {
    plan: &'a Plan,
    metering: Metering,
    apart: bool,
    direction: Direction,
    /// Each flow's client.
    clients: &'a Arc<[u32]>,
    /// By hop: the element that both directions share.
    media: &'a [Option<NodeId>],
    builder: &'a mut NetworkBuilder,
    directed_hops: Vec<DirectedHop>,
    /// A wire to which the next hop may be joined, and the directed_hops it makes so far.
    open: Option<(FusedLink, Vec<FusedHop>)>,
}

#[derive(Clone, Copy)]
struct FusedHop {
    hop: usize,
    stations: u32,
}

impl PathBuilder<'_> {
    fn add(&mut self, at: usize) {
        let hop: &Hop = &self.plan.hops[at];
        let Some(config) = hop.direction(self.direction) else { return };
        let heard_of = host_queue::is_heard_of(self.plan, at, self.direction);
        let mut hop_builder = HopBuilder::new(self.plan.seed, hop, self.direction, config, self.metering);
        hop_builder.apart = heard_of;
        if heard_of {
            self.close();
        }
        if let Some(medium) = self.media[at] {
            self.close();
            let directed_hop = media::directed_hop(medium, (at, self.direction), self.plan, &hop_builder, self.builder);
            return self.directed_hops.push(directed_hop);
        }
        let stations = if hop.per_client { self.plan.clients.max(1) } else { 1 };
        if stations > 1 && !hop_builder.is_only_a_wire() {
            self.close();
            self.lay_apart(at, &hop_builder, stations);
            return;
        }
        match hop_builder.link(stations, None, self.clients.clone()) {
            Link::FusedLink(wire) => {
                self.join_or_open(wire, FusedHop { hop: at, stations });
                if !hop_builder.is_only_a_wire() {
                    self.close_with(&hop_builder);
                }
            }
            Link::Alone(link) => {
                self.close();
                let link = self.builder.element(link);
                let after = hop_builder.lay_after(link, None, self.builder);
                self.push_lane(at, vec![Chain::new(link, QueueId::default(), after)], false);
            }
        }
    }

    /// A link and what comes after it for every client.
    fn lay_apart(&mut self, at: usize, hop_builder: &HopBuilder<'_>, stations: u32) {
        let lay_one = |client: u32| {
            let link = match hop_builder.link(1, Some(client), Arc::default()) {
                Link::FusedLink(wire) => self.builder.element(wire),
                Link::Alone(link) => self.builder.element(link),
            };
            Chain::new(link, QueueId::default(), hop_builder.lay_after(link, Some(client), self.builder))
        };
        let chains = (0..stations).map(lay_one).collect();
        self.push_lane(at, chains, false);
    }

    fn join_or_open(&mut self, wire: FusedLink, joined: FusedHop) {
        let fits = !self.apart
            && self
                .open
                .as_ref()
                .is_some_and(|(_, directed_hops)| directed_hops.last().is_some_and(|&last| self.may_follow(last, joined)));
        if !fits {
            self.close();
        }
        self.open = Some(match self.open.take() {
            None => (wire, vec![joined]),
            Some((open, mut directed_hops)) => {
                directed_hops.push(joined);
                (open.then(wire), directed_hops)
            }
        });
    }

    /// Nothing comes in or goes out between them: the same flows cross both, no clients' own links lead into a shared one, nobody looks on.
    fn may_follow(&self, last: FusedHop, next: FusedHop) -> bool {
        let crosses = |hop: usize| self.plan.flows.iter().map(move |f| f.path(&self.plan.hops, self.direction).contains(&hop));
        let (low, high) = (last.hop.min(next.hop), last.hop.max(next.hop));
        let seen = |c: &Capture| c.end == End::Middle && (low + 1..=high).contains(&(c.after as usize));
        (last.stations == 1 || next.stations > 1)
            && crosses(last.hop).eq(crosses(next.hop))
            && !self.plan.captures.iter().any(seen)
    }

    fn close(&mut self) {
        let Some((wire, joined)) = self.open.take() else { return };
        let link = self.builder.element(wire);
        for (number, FusedHop { hop, stations }) in (0..).zip(joined) {
            let chain = |station| Chain::new(link, QueueId { link: number, station }, Vec::new());
            self.push_lane(hop, (0..stations).map(chain).collect(), number > 0);
        }
    }

    /// The last hop's other elements follow the wire.
    fn close_with(&mut self, hop_builder: &HopBuilder<'_>) {
        self.close();
        if let Some(chain) = self.directed_hops.last_mut().and_then(|directed_hop| directed_hop.chains.first_mut()) {
            chain.after = hop_builder.lay_after(chain.link, None, self.builder);
        }
    }

    fn push_lane(&mut self, at: usize, chains: Vec<Chain>, joined: bool) {
        let hop = &self.plan.hops[at];
        let rated = hop.direction(self.direction).is_some_and(|config| config.rate.is_some());
        let (direction, per_client) = (self.direction, hop.per_client);
        self.directed_hops.push(DirectedHop {
            hop: at,
            direction,
            per_client,
            medium: false,
            rated,
            joined,
            chains,
            after: Vec::new(),
        });
    }
}
