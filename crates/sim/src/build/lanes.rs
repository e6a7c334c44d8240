//! Which hops become which elements: hops that are only wires and that all the same flows cross are joined to one element.

use super::chain::{Chain, Link, Mason};
use super::{Lane, Manner, Metering, first_hop, media};
use crate::plan::{Capture, End, Hop, Plan, Toward};
use ackclock_core::NodeId;
use ackclock_core::element::QueueId;
use ackclock_core::link::FusedLink;
use ackclock_core::network::NetworkBuilder;
use std::sync::Arc;

/// All lanes, hop by hop, server first, down before up.
pub(super) fn lay(plan: &Plan, manner: &Manner, builder: &mut NetworkBuilder) -> Vec<Lane> {
    let &Manner { metering, apart } = manner;
    let clients: Arc<[u32]> = plan.flows.iter().map(|f| f.client).collect();
    let media = media::lay(plan, builder);
    let mut lanes = Vec::new();
    for toward in Toward::BOTH {
        let mut road =
            Road { plan, metering, apart, toward, clients: &clients, media: &media, builder, lanes: Vec::new(), open: None };
        let mut hops: Vec<usize> = (0..plan.hops.len()).collect();
        if toward == Toward::Up {
            hops.reverse();
        }
        hops.into_iter().for_each(|hop| road.add(hop));
        road.close();
        lanes.extend(road.lanes);
    }
    lanes.sort_by_key(|lane| (lane.hop, lane.toward as usize));
    lanes
}

/// The hops of one direction in the order of travel.
struct Road<'a> {
    plan: &'a Plan,
    metering: Metering,
    apart: bool,
    toward: Toward,
    /// Each flow's client.
    clients: &'a Arc<[u32]>,
    /// By hop: the element that both directions share.
    media: &'a [Option<NodeId>],
    builder: &'a mut NetworkBuilder,
    lanes: Vec<Lane>,
    /// A wire to which the next hop may be joined, and the lanes it makes so far.
    open: Option<(FusedLink, Vec<Joined>)>,
}

#[derive(Clone, Copy)]
struct Joined {
    hop: usize,
    stations: u32,
}

impl Road<'_> {
    fn add(&mut self, at: usize) {
        let hop: &Hop = &self.plan.hops[at];
        let Some(way) = hop.way(self.toward) else { return };
        let heard_of = first_hop::is_heard_of(self.plan, at, self.toward);
        let mut mason = Mason::new(self.plan.seed, hop, self.toward, way, self.metering);
        mason.apart = heard_of;
        if heard_of {
            self.close();
        }
        if let Some(medium) = self.media[at] {
            self.close();
            let lane = media::lane(medium, (at, self.toward), self.plan, &mason, self.builder);
            return self.lanes.push(lane);
        }
        let stations = if hop.per_client { self.plan.clients.max(1) } else { 1 };
        if stations > 1 && !mason.is_only_a_wire() {
            self.close();
            self.lay_apart(at, &mason, stations);
            return;
        }
        match mason.link(stations, None, self.clients.clone()) {
            Link::FusedLink(wire) => {
                self.join_or_open(wire, Joined { hop: at, stations });
                if !mason.is_only_a_wire() {
                    self.close_with(&mason);
                }
            }
            Link::Alone(link) => {
                self.close();
                let link = self.builder.element(link);
                let after = mason.lay_after(link, None, self.builder);
                self.push_lane(at, vec![Chain::new(link, QueueId::default(), after)], false);
            }
        }
    }

    /// A link and what comes after it for every client.
    fn lay_apart(&mut self, at: usize, mason: &Mason<'_>, stations: u32) {
        let lay_one = |client: u32| {
            let link = match mason.link(1, Some(client), Arc::default()) {
                Link::FusedLink(wire) => self.builder.element(wire),
                Link::Alone(link) => self.builder.element(link),
            };
            Chain::new(link, QueueId::default(), mason.lay_after(link, Some(client), self.builder))
        };
        let chains = (0..stations).map(lay_one).collect();
        self.push_lane(at, chains, false);
    }

    fn join_or_open(&mut self, wire: FusedLink, joined: Joined) {
        let fits = !self.apart
            && self.open.as_ref().is_some_and(|(_, lanes)| lanes.last().is_some_and(|&last| self.may_follow(last, joined)));
        if !fits {
            self.close();
        }
        self.open = Some(match self.open.take() {
            None => (wire, vec![joined]),
            Some((open, mut lanes)) => {
                lanes.push(joined);
                (open.then(wire), lanes)
            }
        });
    }

    /// Nothing comes in or goes out between them: the same flows cross both, no clients' own links lead into a shared one, nobody looks on.
    fn may_follow(&self, last: Joined, next: Joined) -> bool {
        let crosses = |hop: usize| self.plan.flows.iter().map(move |f| f.path(&self.plan.hops, self.toward).contains(&hop));
        let (low, high) = (last.hop.min(next.hop), last.hop.max(next.hop));
        let seen = |c: &Capture| c.end == End::Middle && (low + 1..=high).contains(&(c.after as usize));
        (last.stations == 1 || next.stations > 1)
            && crosses(last.hop).eq(crosses(next.hop))
            && !self.plan.captures.iter().any(seen)
    }

    fn close(&mut self) {
        let Some((wire, joined)) = self.open.take() else { return };
        let link = self.builder.element(wire);
        for (number, Joined { hop, stations }) in (0..).zip(joined) {
            let chain = |station| Chain::new(link, QueueId { link: number, station }, Vec::new());
            self.push_lane(hop, (0..stations).map(chain).collect(), number > 0);
        }
    }

    /// The last hop's other elements follow the wire.
    fn close_with(&mut self, mason: &Mason<'_>) {
        self.close();
        if let Some(chain) = self.lanes.last_mut().and_then(|lane| lane.chains.first_mut()) {
            chain.after = mason.lay_after(chain.link, None, self.builder);
        }
    }

    fn push_lane(&mut self, at: usize, chains: Vec<Chain>, joined: bool) {
        let hop = &self.plan.hops[at];
        let rated = hop.way(self.toward).is_some_and(|way| way.rate.is_some());
        let (toward, per_client) = (self.toward, hop.per_client);
        self.lanes.push(Lane { hop: at, toward, per_client, medium: false, rated, joined, chains, after: Vec::new() });
    }
}
