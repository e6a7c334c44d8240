//! Who hands what to whom: elements, their wiring, and the one loop that both the simulator and the emulator run.

mod builder;
mod event_loop;
mod flow_dependencies;
mod host_queue;
mod proxy;

pub use builder::NetworkBuilder;

use crate::element::{AnyElement, DropReason, Element, Event, Handoff, PacketCounts, Port};
use crate::endpoint::AnyEndpoint;
use crate::packet::Arena;
use crate::timer_tree::TimerTree;
use crate::units::Time;
use flow_dependencies::FlowDependencies;
use proxy::Proxies;

/// An element's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// An endpoint's number.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct EndpointId(pub u32);

/// Where a packet goes next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    Node(NodeId, Port),
    Endpoint(EndpointId),
    /// Look it up by flow in this table.
    ByFlow(u32),
    /// It leaves a sender's own queue, which hears of it; then on as this first hop says.
    HostDequeue(u32),
    /// It was dropped in a sender's own queue, which hears of it.
    HostDrop(u32),
    Nowhere,
}

/// Where an element's ports lead: the first, and the others, which most elements do not have.
#[derive(Debug)]
pub(crate) struct Ports {
    first: Route,
    others: Vec<Route>,
    /// Who hears of its drops, of elements that hold a sender's own queue.
    pub(crate) lost: Option<Route>,
}

impl Ports {
    pub(crate) const fn nowhere() -> Ports {
        Ports { first: Route::Nowhere, others: Vec::new(), lost: None }
    }

    #[inline]
    pub(crate) fn to(&self, port: Port) -> Route {
        match port.0.checked_sub(1) {
            None => self.first,
            Some(other) => self.others.get(usize::from(other)).copied().unwrap_or(Route::Nowhere),
        }
    }

    fn set(&mut self, port: Port, to: Route) {
        let Some(other) = port.0.checked_sub(1).map(usize::from) else {
            self.first = to;
            return;
        };
        if self.others.len() <= other {
            self.others.resize(other + 1, Route::Nowhere);
        }
        self.others[other] = to;
    }
}

struct Node {
    element: AnyElement,
    counts: PacketCounts,
    ports: Ports,
    /// Its entry in the index of due times.
    scheduled: Time,
}

/// A first hop whose queue counts as its senders' own.
struct HostQueue {
    next: Route,
    /// By flow, the end that sends into it.
    senders: Vec<Option<EndpointId>>,
}

struct EndpointSlot {
    endpoint: AnyEndpoint,
    flow: u32,
    /// Where its packets enter the network.
    entry: Route,
    /// Its entry in the index of due times, which may be earlier than it is due.
    scheduled: Time,
}

/// Elements and endpoints, and the packets between them.
pub struct Network {
    now: Time,
    nodes: Vec<Node>,
    endpoints: Vec<EndpointSlot>,
    tables: Vec<Vec<Route>>,
    host_queues: Vec<HostQueue>,
    due: TimerTree,
    pub arena: Arena,
    next_id: u64,
    /// Hand-overs of this instant, first said first done.
    handoffs: Vec<Handoff>,
    events: Vec<Event>,
    calls: u64,
    /// Packets without a route: an endpoint's output has no counts of its own.
    unrouted: u64,
    dependencies: FlowDependencies,
    proxies: Proxies,
}

impl Network {
    pub fn builder() -> NetworkBuilder {
        NetworkBuilder::default()
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// Element and endpoint calls so far: what the engine's speed is counted in.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    pub fn element(&mut self, id: NodeId) -> &mut AnyElement {
        &mut self.nodes[id.0 as usize].element
    }

    pub fn counts(&self, id: NodeId) -> PacketCounts {
        self.nodes[id.0 as usize].counts
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    pub fn endpoint(&self, id: EndpointId) -> &AnyEndpoint {
        &self.endpoints[id.0 as usize].endpoint
    }

    pub fn endpoint_mut(&mut self, id: EndpointId) -> &mut AnyEndpoint {
        &mut self.endpoints[id.0 as usize].endpoint
    }

    /// When something happens next.
    pub fn poll_at(&self) -> Time {
        self.due.first().0
    }

    /// Checks that every packet that ever entered an element was forwarded, dropped or is still held.
    pub fn conserved(&self) -> Result<(), String> {
        for (i, node) in self.nodes.iter().enumerate() {
            let t = node.counts;
            let (in_, out) = (t.pushed + t.copied + t.created, t.forwarded + t.drops() + node.element.occupancy());
            if in_ != out {
                return Err(format!("element {i}: {in_} in or made, {out} out, dropped or held"));
            }
        }
        Ok(())
    }

    /// Packets that had no route.
    pub fn unrouted(&self) -> u64 {
        self.unrouted
    }

    /// Drops by cause, over all elements.
    pub fn drops(&self, cause: DropReason) -> u64 {
        self.nodes.iter().map(|n| n.counts.dropped[cause as usize]).sum()
    }
}
