//! One direction of a hop as elements, in the order in which a packet meets them:
//! queue and rate, outage, loss, duplication, delay, jitter, reordering, handover, reconstruction of ACKs.

use super::{Metering, loss, queue};
use crate::plan::{self, Direction, Hop, HopDirection, Queue, RatePlan};
use ackclock_core::element::{Port, QueueId};
use ackclock_core::impairment::{Delay, Distribution, Duplicate, Handover, HandoverConfig, Jitter, Loss, Outage, Paths, Reorder};
use ackclock_core::link::{Framing, FusedLink, LinkConfig, OPPORTUNITY_BYTES, RateLink, TraceLink};
use ackclock_core::network::{NetworkBuilder, Route};
use ackclock_core::queue::ack::{AckReconstructor, AckReconstructorConfig};
use ackclock_core::queue::{AnyQueue, Limit};
use ackclock_core::rng::Rng;
use ackclock_core::{AnyElement, NodeId, Rate, Span, Time};
use std::sync::Arc;

/// One direction of one hop for one client, or for all: a place on a link, and what comes after it.
#[derive(Debug, Clone)]
pub struct Chain {
    /// Owns the queue; joined hops share it.
    pub link: NodeId,
    pub place: QueueId,
    /// Where packets come into the link and where they leave it: a medium has two ports for each station.
    pub ports: (Port, Port),
    pub after: Vec<NodeId>,
    /// Its packets go on through another chain, which counts them.
    pub joins: bool,
}

impl Chain {
    /// A link with one way in and one way out.
    pub fn new(link: NodeId, place: QueueId, after: Vec<NodeId>) -> Chain {
        Chain { link, place, ports: (Port(0), Port(0)), after, joins: false }
    }

    pub fn entry(&self) -> Route {
        Route::Node(self.link, self.ports.0)
    }
    /// Where its packets leave.
    pub fn exit(&self) -> (NodeId, Port) {
        self.after.last().map_or((self.link, self.ports.1), |&last| (last, Port(0)))
    }
}

/// What a hop's queue and rate become.
pub enum Link {
    /// A plain queue before a fixed rate, or none: it may be joined to its neighbours.
    FusedLink(FusedLink),
    /// A queue that decides while packets wait, or a recorded rate.
    Alone(AnyElement),
}

/// Lays the chains of one direction of a hop.
pub struct HopBuilder<'a> {
    seed: u64,
    hop: &'a Hop,
    direction: Direction,
    config: &'a HopDirection,
    metered: bool,
    /// The link does nothing but queue and rate, so that what leaves it has left the queue.
    pub apart: bool,
    /// Of a recorded rate: all clients read one copy.
    times_ms: Arc<[u64]>,
}

impl<'a> HopBuilder<'a> {
    pub fn new(seed: u64, hop: &'a Hop, direction: Direction, config: &'a HopDirection, metering: Metering) -> HopBuilder<'a> {
        let times_ms = match &config.rate {
            Some(RatePlan::Trace { times_ms }) => times_ms.as_slice().into(),
            _ => Arc::default(),
        };
        HopBuilder { seed, hop, direction, config, metered: metering == Metering::On, apart: false, times_ms }
    }

    /// The link with all that it does itself, for `stations` clients, or for one that has its own.
    pub fn link(&self, stations: u32, client: Option<u32>, clients: Arc<[u32]>) -> Link {
        let framing = match self.config.framing {
            // SLIP sends the whole packet (RFC 1055); its end mark and escapes are left out.
            plan::Framing::None | plan::Framing::Slip => Framing::None,
            plan::Framing::Cslip => Framing::Cslip,
            plan::Framing::Atm { overhead } => Framing::Atm { overhead },
        };
        let rate = match self.config.rate {
            None => None,
            Some(RatePlan::Fixed { bps }) if self.queue_is_plain() => Some(Rate::from_bps(bps)),
            Some(RatePlan::Fixed { bps }) => {
                return Link::Alone(
                    RateLink::new(Rate::from_bps(bps), framing, self.queue(client, Some(Rate::from_bps(bps)))).into(),
                );
            }
            Some(RatePlan::Trace { .. }) => {
                // A checked plan's trace is never refused.
                if let Ok(link) = TraceLink::new(self.times_ms.clone(), framing, self.queue(client, self.recorded_rate())) {
                    return Link::Alone(link.into());
                }
                None
            }
        };
        let limit = match self.config.queue {
            Some(Queue::Droptail { packets, bytes, .. }) => queue::limit(packets, bytes),
            // Without a rate nothing ever waits.
            _ => Limit::NONE,
        };
        let delay = if self.link_delays() { Span(self.config.delay_ps) } else { Span::ZERO };
        Link::FusedLink(FusedLink::with_stations(LinkConfig { rate, delay, limit, framing }, stations, clients, self.metered))
    }

    fn queue_is_plain(&self) -> bool {
        self.config.acks.is_none() && self.config.queue.is_none_or(|queue| queue.is_plain())
    }

    fn queue(&self, client: Option<u32>, rate: Option<Rate>) -> AnyQueue {
        queue::build(Some(self.config), rate, self.rng("queue", client))
    }

    /// What a recorded rate is on average.
    fn recorded_rate(&self) -> Option<Rate> {
        let period = Span::from_ms(*self.times_ms.last()?).as_secs();
        let bits = self.times_ms.len() as f64 * f64::from(OPPORTUNITY_BYTES) * 8.0;
        Some(Rate::from_bps(((bits / period) as u64).max(1)))
    }

    /// Whether the link is a [`FusedLink`], which knows a packet's future on arrival.
    fn foreseen(&self) -> bool {
        match self.config.rate {
            None => self.hop.medium.is_none(),
            Some(RatePlan::Fixed { .. }) => self.queue_is_plain(),
            Some(RatePlan::Trace { .. }) => false,
        }
    }

    /// Nothing stands between the rate and the delay, so the link can see to both.
    fn link_delays(&self) -> bool {
        let config = self.config;
        !self.apart && self.foreseen() && config.outage.is_empty() && config.loss.is_none() && config.duplicate.is_none()
    }

    /// The link does all that this hop does.
    pub fn is_only_a_wire(&self) -> bool {
        let config = self.config;
        self.link_delays()
            && config.jitter.is_none()
            && config.reorder.is_none()
            && config.handover.is_none()
            && config.reconstruct.is_none()
    }

    /// Adds what comes after the link, in path order, and joins it up.
    pub fn lay_after(&self, link: NodeId, client: Option<u32>, builder: &mut NetworkBuilder) -> Vec<NodeId> {
        let nodes = self.lay_apart(client, builder);
        if let Some(&first) = nodes.first() {
            builder.connect(link, Port(0), Route::Node(first, Port(0)));
        }
        nodes
    }

    /// Adds what comes after a link, joined up, but not to a link.
    pub fn lay_apart(&self, client: Option<u32>, builder: &mut NetworkBuilder) -> Vec<NodeId> {
        let nodes: Vec<NodeId> = self.after(client).into_iter().map(|element| builder.element(element)).collect();
        for pair in nodes.windows(2) {
            builder.connect(pair[0], Port(0), Route::Node(pair[1], Port(0)));
        }
        nodes
    }

    fn after(&self, client: Option<u32>) -> Vec<AnyElement> {
        let config = self.config;
        let mut elements = self.between(client);
        if !self.link_delays() && config.delay_ps > 0 {
            elements.push(Delay::new(Span(config.delay_ps)).into());
        }
        if let Some(jitter) = config.jitter {
            elements.push(jitter_element(jitter, self.rng("jitter", client)).into());
        }
        if let Some(reorder) = config.reorder {
            elements.push(Reorder::new(reorder.mean, Span(reorder.delay_ps), self.rng("reorder", client)).into());
        }
        if let Some(handover) = config.handover {
            elements.push(self.handover(handover, client).into());
        }
        if let Some(made) = config.reconstruct {
            let settings = AckReconstructorConfig { every: made.every, within: Span(made.within_ps) };
            elements.push(AckReconstructor::new(settings).into());
        }
        elements
    }

    /// Both directions have the same paths, and lose by themselves.
    fn handover(&self, handover: plan::Handover, client: Option<u32>) -> Handover {
        let terms = HandoverConfig {
            every: Span(handover.every_ps),
            first: Span(handover.first_ps),
            gap: Span(handover.gap_ps),
            loss: handover.loss,
            paths: Paths::Drawn { low: Span(handover.low_ps), high: Span(handover.high_ps) },
        };
        let salt = self.common_rng("paths", client).salt();
        Handover::new(terms, salt, self.rng("handover", client))
    }

    /// What stands between the rate and the delay.
    fn between(&self, client: Option<u32>) -> Vec<AnyElement> {
        let mut elements = Vec::new();
        let outages: Vec<_> = self.config.outage.iter().map(|o| (Time(o.start_ps), Time(o.end_ps))).collect();
        if !outages.is_empty() {
            elements.extend(Outage::new(outages).ok().map(AnyElement::from));
        }
        if let Some(loss) = &self.config.loss {
            let (losses, signal) = (self.rng("loss", client), self.common_rng("signal", client));
            elements.push(Loss::new(loss::model(loss, losses, signal)).into());
        }
        if let Some(duplicate) = self.config.duplicate {
            elements.push(Duplicate::new(duplicate.mean, self.rng("duplicate", client)).into());
        }
        elements
    }

    /// The same for both directions of a hop.
    fn common_rng(&self, what: &str, client: Option<u32>) -> Rng {
        let station = client.map_or_else(String::new, |c| format!(".{c}"));
        Rng::for_element(self.seed, &format!("hop.{}.{what}{station}", self.hop.name))
    }

    /// Each element draws from a stream of its own, which its name and the seed fix.
    fn rng(&self, what: &str, client: Option<u32>) -> Rng {
        let station = client.map_or_else(String::new, |c| format!(".{c}"));
        Rng::for_element(self.seed, &format!("hop.{}.{what}.{}{station}", self.hop.name, self.direction.name()))
    }
}

fn jitter_element(jitter: plan::Jitter, rng: Rng) -> Jitter {
    let (distribution, in_order) = match jitter {
        plan::Jitter::Uniform { low_ps, high_ps, in_order } => {
            (Distribution::Uniform { low: Span(low_ps), high: Span(high_ps) }, in_order)
        }
        plan::Jitter::Normal { mean_ps, sd_ps, in_order } => {
            (Distribution::Normal { mean: Span(mean_ps), sd: Span(sd_ps) }, in_order)
        }
        plan::Jitter::Exponential { mean_ps, in_order } => (Distribution::Exponential { mean: Span(mean_ps) }, in_order),
        plan::Jitter::Pareto { mean_ps, shape, in_order } => (Distribution::Pareto { mean: Span(mean_ps), shape }, in_order),
    };
    Jitter::new(distribution, in_order, rng)
}
