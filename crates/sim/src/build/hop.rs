//! One direction of a hop as elements, in the order in which a packet passes them: entry of a tunnel, MTU,
//! policer, shaper, queue and rate, outage, loss, duplication, delay, jitter, reordering, handover, ACK reconstruction, exit of the
//! tunnel.

use super::queue;
use crate::plan::{Direction, Hop, HopDirection, Plan, RatePlan, Tunnel};
use ackclock_core::element::{Port, QueueId};
use ackclock_core::impairment::{Delay, Duplicate, Handover, HandoverConfig, Jitter, Loss, Outage, Reorder, VaryingDelay};
use ackclock_core::link::{FusedLink, LinkConfig, MtuCheck, MtuConfig, OPPORTUNITY_BYTES, Policer, RateLink};
use ackclock_core::link::{RateSchedule, Shaper, SlottedRate, TraceLink, TunnelEntry, TunnelExit};
use ackclock_core::network::{NetworkBuilder, Route};
use ackclock_core::queue::ack::AckReconstructor;
use ackclock_core::queue::{AnyQueue, Limit, QueueConfig};
use ackclock_core::rng::Rng;
use ackclock_core::{AnyElement, NodeId, Rate, Span};
use std::sync::Arc;

/// One direction of one hop, for one client or for all: a queue of a link, and the elements after
/// it.
#[derive(Debug, Clone)]
pub struct Chain {
    /// The elements before the link.
    pub upstream: Upstream,
    /// The element with the queue. Fused hops share one link.
    pub link: NodeId,
    pub queue: QueueId,
    /// Input and output port of the link: a medium has two ports for each station.
    pub ports: (Port, Port),
    pub downstream: Vec<NodeId>,
    /// The packets continue through another chain, which counts them.
    pub merges: bool,
}

impl Chain {
    /// A chain on a link with one input and one output.
    pub fn new(link: NodeId, queue: QueueId, downstream: Vec<NodeId>) -> Chain {
        Chain { upstream: Upstream::default(), link, queue, ports: (Port(0), Port(0)), downstream, merges: false }
    }

    pub fn entry(&self) -> Route {
        self.upstream.first().map_or(Route::Node(self.link, self.ports.0), |first| Route::Node(first, Port(0)))
    }
    /// The first element in which packets may wait, or that may drop them when too many arrive.
    pub fn first(&self) -> NodeId {
        self.upstream.nodes().find(|&node| Some(node) != self.upstream.mtu).unwrap_or(self.link)
    }
    /// The queues in path order: that of a shaper, that of the link.
    pub fn queues(&self) -> impl Iterator<Item = (NodeId, QueueId)> + use<> {
        let of_shaper = self.upstream.shaper.map(|shaper| (shaper, QueueId::default()));
        of_shaper.into_iter().chain([(self.link, self.queue)])
    }
    /// The node and port from which packets leave the chain.
    pub fn exit(&self) -> (NodeId, Port) {
        self.downstream.last().map_or((self.link, self.ports.1), |&last| (last, Port(0)))
    }
}

/// The elements before a link, in path order.
#[derive(Debug, Clone, Copy, Default)]
pub struct Upstream {
    pub tunnel: Option<TunnelNodes>,
    pub mtu: Option<NodeId>,
    pub policer: Option<NodeId>,
    pub shaper: Option<NodeId>,
}

/// Where packets enter a tunnel: the check of its MTU, then the headers.
#[derive(Debug, Clone, Copy)]
pub struct TunnelNodes {
    pub check: NodeId,
    pub entry: NodeId,
}

impl Upstream {
    fn first(&self) -> Option<NodeId> {
        self.nodes().next()
    }

    /// The elements that report what is too long.
    pub fn checks(&self) -> impl Iterator<Item = NodeId> + use<> {
        self.tunnel.map(|tunnel| tunnel.check).into_iter().chain(self.mtu)
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        let tunnel = self.tunnel.into_iter().flat_map(|tunnel| [tunnel.check, tunnel.entry]);
        tunnel.chain(self.mtu).chain(self.policer).chain(self.shaper)
    }
}

/// The element for a hop's queue and rate.
pub enum Link {
    /// A plain queue before a fixed rate, or no rate: neighbouring hops may be fused with it.
    FusedLink(FusedLink),
    /// An AQM queue or a recorded rate: an element of its own.
    Separate(AnyElement),
}

/// Builds the chains of one direction of a hop.
pub struct HopBuilder<'a> {
    seed: u64,
    hop: &'a Hop,
    direction: Direction,
    config: &'a HopDirection,
    /// The link has no delay of its own: a packet that leaves the link has just left the queue.
    pub unfused: bool,
    /// Transmission opportunities of a recorded rate, shared by all clients.
    times_ms: Arc<[u64]>,
    /// The tunnel that packets enter before the hop, and the one that they leave behind it.
    enters: Option<(u32, &'a Tunnel)>,
    leaves: Option<(u32, &'a Tunnel)>,
}

/// The tunnel that packets of this direction enter before a hop, with its number.
pub fn tunnel_entered(plan: &Plan, hop: usize, direction: Direction) -> Option<(u32, &Tunnel)> {
    let at = |tunnel: &Tunnel| if direction == Direction::Down { tunnel.over.first() } else { tunnel.over.last() } == Some(&hop);
    (0..).zip(&plan.tunnels).find(|(_, tunnel)| at(tunnel))
}

impl<'a> HopBuilder<'a> {
    pub fn new(seed: u64, hop: &'a Hop, direction: Direction, config: &'a HopDirection) -> HopBuilder<'a> {
        let times_ms = match &config.rate {
            Some(RatePlan::Trace { times_ms, .. }) => times_ms.as_slice().into(),
            _ => Arc::default(),
        };
        HopBuilder { seed, hop, direction, config, unfused: false, times_ms, enters: None, leaves: None }
    }

    /// With the tunnels that begin and end at this hop, number `at` of the plan.
    pub fn with_tunnels(mut self, plan: &'a Plan, at: usize) -> HopBuilder<'a> {
        self.enters = tunnel_entered(plan, at, self.direction);
        self.leaves = tunnel_entered(plan, at, self.direction.reverse());
        self
    }

    /// The link, with the delay where it can include it: for `stations` clients, or for one client.
    pub fn link(&self, stations: u32, client: Option<u32>, clients: Arc<[u32]>) -> Link {
        let framing = self.config.framing;
        let rate = match &self.config.rate {
            None => None,
            &Some(RatePlan::Fixed { bps }) if self.queue_is_plain() => Some(Rate::from_bps(bps)),
            &Some(RatePlan::Fixed { bps }) => {
                return Link::Separate(
                    RateLink::new(Rate::from_bps(bps), framing, self.queue(client, Some(Rate::from_bps(bps)))).into(),
                );
            }
            Some(RatePlan::Schedule(schedule)) => {
                let mean = Rate::from_bps((schedule.mean_bps() as u64).max(1));
                return Link::Separate(
                    RateLink::new(RateSchedule::new(schedule), framing, self.queue(client, Some(mean))).into(),
                );
            }
            Some(RatePlan::Slots(slots)) => {
                let mean = Rate::from_bps((slots.mean_bps() as u64).max(1));
                let rate = SlottedRate::new(slots, self.rng("slots", client));
                return Link::Separate(RateLink::new(rate, framing, self.queue(client, Some(mean))).into());
            }
            Some(RatePlan::Trace { .. }) => {
                // The check of the plan accepts only traces that TraceLink accepts.
                if let Ok(link) = TraceLink::new(self.times_ms.clone(), framing, self.queue(client, self.recorded_rate())) {
                    return Link::Separate(link.starting_at(self.recording_start()).into());
                }
                None
            }
        };
        let limit = match self.config.queue {
            Some(QueueConfig::DropTail(config)) => config.limit,
            // No queue in the plan: no limit. Without a rate there is no queue either.
            _ => Limit::NONE,
        };
        let delay = if self.link_delays() { self.config.delay } else { Span::ZERO };
        Link::FusedLink(FusedLink::with_stations(LinkConfig { rate, delay, limit, framing }, stations, clients))
    }

    fn queue_is_plain(&self) -> bool {
        self.config.acks.is_none() && self.config.queue.is_none_or(|queue| queue.is_plain())
    }

    fn queue(&self, client: Option<u32>, rate: Option<Rate>) -> AnyQueue {
        queue::build(self.config.queue, self.config.acks, rate, self.rng("queue", client))
    }

    fn shaper(&self, client: Option<u32>) -> Option<Shaper> {
        let plan = self.config.shaper.as_ref()?;
        let queue = queue::build(plan.queue, plan.acks, Some(plan.config.rate), self.rng("shaper", client));
        Some(Shaper::new(plan.config, queue))
    }

    /// Time of the recording at which all clients' links start.
    fn recording_start(&self) -> Span {
        let recording = self.config.rate.as_ref().and_then(|rate| rate.recording_start(self.seed));
        recording.map_or(Span::ZERO, |recording| recording.start)
    }

    /// Mean of a recorded rate.
    fn recorded_rate(&self) -> Option<Rate> {
        let period = Span::from_ms(*self.times_ms.last()?).as_secs();
        let bits = self.times_ms.len() as f64 * f64::from(OPPORTUNITY_BYTES) * 8.0;
        Some(Rate::from_bps(((bits / period) as u64).max(1)))
    }

    /// The link is a [`FusedLink`], which computes a packet's departure on its arrival.
    fn is_fused_link(&self) -> bool {
        match &self.config.rate {
            None => self.hop.medium.is_none(),
            Some(RatePlan::Fixed { .. }) => self.queue_is_plain(),
            Some(RatePlan::Schedule(_) | RatePlan::Slots(_) | RatePlan::Trace { .. }) => false,
        }
    }

    /// No element comes between rate and delay, so the link includes the delay.
    fn link_delays(&self) -> bool {
        let config = self.config;
        !self.unfused && self.is_fused_link() && config.outage.is_empty() && config.loss.is_none() && config.duplicate.is_none()
    }

    /// The hop has no element beside the link.
    pub fn is_fused_link_only(&self) -> bool {
        let config = self.config;
        self.link_delays()
            && config.delay_schedule.is_none()
            && config.jitter.is_none()
            && config.reorder.is_none()
            && config.handover.is_none()
            && config.reconstruct.is_none()
            && self.leaves.is_none()
            && !self.has_upstream()
    }

    /// The hop has an element before the link.
    pub fn has_upstream(&self) -> bool {
        self.enters.is_some() || self.checks_mtu() || self.config.policer.is_some() || self.config.shaper.is_some()
    }

    /// The hop has an MTU in this direction, or changes the SYNs of it.
    fn checks_mtu(&self) -> bool {
        self.config.mtu.is_some() || self.mss_clamp().is_some()
    }

    /// The minimum of the MTUs to which the hop clamps the MSS: that of a SYN limits the other direction.
    fn mss_clamp(&self) -> Option<u16> {
        let both = Direction::BOTH.into_iter().filter_map(|direction| self.hop.direction(direction)?.mtu);
        both.filter(|mtu| mtu.clamp_mss).map(|mtu| mtu.ip).min()
    }

    /// Adds the elements before `link` in path order, and connects them with it.
    pub fn add_upstream(&self, client: Option<u32>, link: Route, builder: &mut NetworkBuilder) -> Upstream {
        let tunnel = self.enters.map(|(number, tunnel)| {
            let limit = MtuConfig { ip: tunnel.mtu, icmp: true, clamp_mss: false };
            let check = builder.element(MtuCheck::new(Some(limit), None));
            TunnelNodes { check, entry: builder.element(TunnelEntry::new(tunnel.config(), number)) }
        });
        let upstream = Upstream {
            tunnel,
            mtu: self.checks_mtu().then(|| builder.element(MtuCheck::new(self.config.mtu, self.mss_clamp()))),
            policer: self.config.policer.map(|policer| builder.element(Policer::new(policer))),
            shaper: self.shaper(client).map(|shaper| builder.element(shaper)),
        };
        let mut next = link;
        let nodes: Vec<NodeId> = upstream.nodes().collect();
        for node in nodes.into_iter().rev() {
            builder.connect(node, Port(0), next);
            next = Route::Node(node, Port(0));
        }
        upstream
    }

    /// Adds the elements after the link in path order, and connects them with it.
    pub fn add_downstream(&self, link: NodeId, client: Option<u32>, builder: &mut NetworkBuilder) -> Vec<NodeId> {
        let nodes = self.add_chain(client, builder);
        if let Some(&first) = nodes.first() {
            builder.connect(link, Port(0), Route::Node(first, Port(0)));
        }
        nodes
    }

    /// Adds the elements after a link in path order, and connects them with each other.
    pub fn add_chain(&self, client: Option<u32>, builder: &mut NetworkBuilder) -> Vec<NodeId> {
        let nodes: Vec<NodeId> = self.downstream(client).into_iter().map(|element| builder.element(element)).collect();
        for pair in nodes.windows(2) {
            builder.connect(pair[0], Port(0), Route::Node(pair[1], Port(0)));
        }
        nodes
    }

    fn downstream(&self, client: Option<u32>) -> Vec<AnyElement> {
        let config = self.config;
        let mut elements = self.impairments(client);
        if !self.link_delays() && config.delay > Span::ZERO {
            elements.push(Delay::new(config.delay).into());
        }
        if let Some(schedule) = &config.delay_schedule {
            elements.push(VaryingDelay::new(schedule.clone()).into());
        }
        if let Some(jitter) = config.jitter {
            elements.push(Jitter::new(jitter, self.rng("jitter", client)).into());
        }
        if let Some(reorder) = config.reorder {
            elements.push(Reorder::new(reorder, self.rng("reorder", client)).into());
        }
        if let Some(handover) = config.handover {
            elements.push(self.handover(handover, client).into());
        }
        // Both directions have the same satellite.
        if let Some(slots) = config.slots() {
            elements.push(Handover::of_slots(slots, self.common_rng("slots", client).salt()).into());
        }
        if let Some(config) = config.reconstruct {
            elements.push(AckReconstructor::new(config).into());
        }
        if let Some((number, _)) = self.leaves {
            elements.push(TunnelExit::new(number).into());
        }
        elements
    }

    /// Both directions draw the same paths; losses are drawn for each direction.
    fn handover(&self, config: HandoverConfig, client: Option<u32>) -> Handover {
        let salt = self.common_rng("paths", client).salt();
        Handover::new(config, salt, self.rng("handover", client))
    }

    /// The elements between rate and delay.
    fn impairments(&self, client: Option<u32>) -> Vec<AnyElement> {
        let mut elements = Vec::new();
        if !self.config.outage.is_empty() {
            // The check of the plan accepts only what Outage accepts.
            elements.extend(Outage::new(&self.config.outage).ok().map(AnyElement::from));
        }
        if let Some(loss) = &self.config.loss {
            let (losses, signal) = (self.rng("loss", client), self.common_rng("signal", client));
            elements.push(Loss::new(loss, losses, signal).into());
        }
        if let Some(duplicate) = self.config.duplicate {
            elements.push(Duplicate::new(duplicate, self.rng("duplicate", client)).into());
        }
        elements
    }

    /// A stream that both directions of the hop share.
    fn common_rng(&self, element: &str, client: Option<u32>) -> Rng {
        let station = client.map_or_else(String::new, |c| format!(".{c}"));
        Rng::for_element(self.seed, &format!("hop.{}.{element}{station}", self.hop.name))
    }

    /// A stream for one element, derived from its name and the seed.
    fn rng(&self, element: &str, client: Option<u32>) -> Rng {
        let station = client.map_or_else(String::new, |c| format!(".{c}"));
        Rng::for_element(self.seed, &format!("hop.{}.{element}.{}{station}", self.hop.name, self.direction.name()))
    }
}
