//! The elements of all hops. Consecutive hops that are links only and that the same flows cross are
//! fused into one element, which handles a packet once instead of once a hop.

use super::hop::{Chain, HopBuilder, Link, tunnel_entered};
use super::{DirectedHop, host_queue, media};
use crate::plan::{Capture, Direction, End, Hop, Plan};
use ackclock_core::NodeId;
use ackclock_core::element::{Port, QueueId};
use ackclock_core::link::FusedLink;
use ackclock_core::network::{NetworkBuilder, Route};
use std::sync::Arc;

/// Adds all hops: in path order from the server, down before up. `unfused`: each hop is a link of its own.
pub(super) fn add(plan: &Plan, unfused: bool, builder: &mut NetworkBuilder) -> Vec<DirectedHop> {
    let clients: Arc<[u32]> = plan.flows.iter().map(|f| f.client).collect();
    let media = media::add(plan, builder);
    let mut directed_hops = Vec::new();
    for direction in Direction::BOTH {
        let mut path = PathBuilder {
            plan,
            unfused,
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

/// Adds the hops of one direction in the order in which packets cross them.
struct PathBuilder<'a> {
    plan: &'a Plan,
    unfused: bool,
    direction: Direction,
    /// Client of each flow.
    clients: &'a Arc<[u32]>,
    /// By hop: the medium that both directions share.
    media: &'a [Option<NodeId>],
    builder: &'a mut NetworkBuilder,
    directed_hops: Vec<DirectedHop>,
    /// A link into which the next hop may be fused, and its hops so far.
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
        let separate_delay = host_queue::bounds_any_sender(self.plan, at, self.direction);
        let mut hop_builder = HopBuilder::new(self.plan.seed, hop, self.direction, config).with_tunnels(self.plan, at);
        hop_builder.unfused = separate_delay;
        if separate_delay {
            self.close();
        }
        if let Some(medium) = self.media[at] {
            self.close();
            let directed_hop = media::directed_hop(medium, (at, self.direction), self.plan, &hop_builder, self.builder);
            return self.directed_hops.push(directed_hop);
        }
        let stations = if hop.per_client { self.plan.clients.max(1) } else { 1 };
        if hop_builder.has_upstream() || stations > 1 && !hop_builder.is_fused_link_only() {
            self.close();
            self.add_per_client(at, &hop_builder, stations);
            return;
        }
        match hop_builder.link(stations, None, self.clients.clone()) {
            Link::FusedLink(wire) => {
                self.fuse_or_open(wire, FusedHop { hop: at, stations });
                if !hop_builder.is_fused_link_only() {
                    self.close_with(&hop_builder);
                }
            }
            Link::Separate(link) => {
                self.close();
                let link = self.builder.element(link);
                let downstream = hop_builder.add_downstream(link, None, self.builder);
                self.push_hop(at, vec![Chain::new(link, QueueId::default(), downstream)], false);
            }
        }
    }

    /// Adds a link and the elements before and after it for each client.
    fn add_per_client(&mut self, at: usize, hop_builder: &HopBuilder<'_>, stations: u32) {
        let add_one = |client: u32| {
            // The first client has the random streams that it has alone.
            let client = (client > 0).then_some(client);
            let link = match hop_builder.link(1, client, Arc::default()) {
                Link::FusedLink(wire) => self.builder.element(wire),
                Link::Separate(link) => self.builder.element(link),
            };
            let upstream = hop_builder.add_upstream(client, Route::Node(link, Port(0)), self.builder);
            Chain { upstream, ..Chain::new(link, QueueId::default(), hop_builder.add_downstream(link, client, self.builder)) }
        };
        let chains = (0..stations).map(add_one).collect();
        self.push_hop(at, chains, false);
    }

    fn fuse_or_open(&mut self, wire: FusedLink, fused: FusedHop) {
        let fusible = !self.unfused
            && self
                .open
                .as_ref()
                .is_some_and(|(_, directed_hops)| directed_hops.last().is_some_and(|&last| self.can_fuse(last, fused)));
        if !fusible {
            self.close();
        }
        self.open = Some(match self.open.take() {
            None => (wire, vec![fused]),
            Some((open, mut directed_hops)) => {
                directed_hops.push(fused);
                (open.then(wire), directed_hops)
            }
        });
    }

    /// Two hops may be fused where the same flows cross both, no per-client link leads into a
    /// shared one, and neither a capture point nor the way of a router's reports is between them.
    fn can_fuse(&self, last: FusedHop, next: FusedHop) -> bool {
        let crosses = |hop: usize| self.plan.flows.iter().map(move |f| f.path(&self.plan.hops, self.direction).contains(&hop));
        let (low, high) = (last.hop.min(next.hop), last.hop.max(next.hop));
        let between = |c: &Capture| c.end == End::Middle && (low + 1..=high).contains(&(c.after as usize));
        (last.stations == 1 || next.stations > 1)
            && crosses(last.hop).eq(crosses(next.hop))
            && !self.plan.captures.iter().any(between)
            && !self.reports_enter_between(low, high)
    }

    /// Routers between these hops report what is too long to senders in the direction against this one.
    fn reports_enter_between(&self, low: usize, high: usize) -> bool {
        let against = self.direction.reverse();
        let routers = if against == Direction::Down { low + 1..high + 1 } else { low..high };
        routers.into_iter().any(|hop| {
            let config = self.plan.hops[hop].direction(against);
            let reports = config.is_some_and(|config| config.mtu.is_some_and(|mtu| mtu.icmp));
            reports || tunnel_entered(self.plan, hop, against).is_some()
        })
    }

    fn close(&mut self) {
        let Some((wire, fused)) = self.open.take() else { return };
        let link = self.builder.element(wire);
        for (number, FusedHop { hop, stations }) in (0..).zip(fused) {
            let chain = |station| Chain::new(link, QueueId { link: number, station }, Vec::new());
            self.push_hop(hop, (0..stations).map(chain).collect(), number > 0);
        }
    }

    /// Closes the link and adds the other elements of its last hop.
    fn close_with(&mut self, hop_builder: &HopBuilder<'_>) {
        self.close();
        if let Some(chain) = self.directed_hops.last_mut().and_then(|directed_hop| directed_hop.chains.first_mut()) {
            chain.downstream = hop_builder.add_downstream(chain.link, None, self.builder);
        }
    }

    fn push_hop(&mut self, at: usize, chains: Vec<Chain>, fused: bool) {
        let hop = &self.plan.hops[at];
        let rated = hop.direction(self.direction).is_some_and(|config| config.rate.is_some() || config.shaper.is_some());
        let (direction, per_client) = (self.direction, hop.per_client);
        self.directed_hops.push(DirectedHop {
            hop: at,
            direction,
            per_client,
            medium: false,
            rated,
            fused,
            chains,
            downstream: Vec::new(),
        });
    }
}
