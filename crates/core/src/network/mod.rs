//! The network: elements and endpoints, the routes between them, and the event loop that simulator
//! and emulator share.

mod any_element;
mod builder;
mod event_loop;
mod flow_dependencies;
mod host_queue;
mod host_stages;
mod pages;
mod proxy;
mod rate_controls;
pub mod route;

pub use any_element::AnyElement;
pub use builder::{HostQueueId, NetworkBuilder};
pub use rate_controls::ControlledShaper;
pub use route::{EndpointId, NodeId, Route};

use crate::element::{DropReason, Element, Event, Handoff, PacketCounts};
use crate::endpoint::AnyEndpoint;
use crate::packet::Arena;
use crate::timer_tree::TimerTree;
use crate::units::Time;
use flow_dependencies::FlowDependencies;
use pages::Pages;
use proxy::Proxies;
use rate_controls::RateControls;
use route::Ports;
use std::collections::BTreeMap;

struct Node {
    element: AnyElement,
    counts: PacketCounts,
    ports: Ports,
    /// Its entry in the timer tree.
    scheduled: Time,
}

/// A first hop whose queue is the transmit queue of its senders.
struct HostQueue {
    next: Route,
    /// By flow: the endpoint that sends into it.
    senders: Vec<Option<EndpointId>>,
}

/// In one cache line.
#[repr(align(64))]
struct EndpointSlot {
    endpoint: AnyEndpoint,
    flow: u32,
    /// Where its packets enter the network.
    entry: Route,
    /// Its entry in the timer tree, which may be earlier than its due time.
    scheduled: Time,
    /// A proxy relays its bytes, flows start after it, a page has other connections, or it controls the
    /// rates of shapers.
    followed: bool,
}

/// Elements, endpoints, and the packets between them.
pub struct Network {
    now: Time,
    nodes: Vec<Node>,
    endpoints: Vec<EndpointSlot>,
    tables: Vec<Vec<Route>>,
    host_queues: Vec<HostQueue>,
    host_arrivals: BTreeMap<EndpointId, NodeId>,
    due: TimerTree,
    pub arena: Arena,
    next_id: u64,
    /// The hand-off in execution. A field, as the compiler would take a local packet apart.
    current: Handoff,
    /// Hand-offs of this instant, executed in order.
    handoffs: Vec<Handoff>,
    events: Vec<Event>,
    calls: u64,
    /// Packets without a route. Endpoints have no counters of their own.
    unrouted: u64,
    /// An endpoint is `followed`.
    anything_followed: bool,
    dependencies: FlowDependencies,
    proxies: Proxies,
    pages: Pages,
    rate_controls: RateControls,
}

impl Network {
    pub fn builder() -> NetworkBuilder {
        NetworkBuilder::default()
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// Calls of elements and endpoints so far: the unit of the engine's speed.
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

    /// The element that packets enter when they arrive at the host of this endpoint; none if the
    /// host processes them at once, or if the network was not built with these elements
    /// ([`NetworkBuilder::separate_arrivals`]).
    pub fn host_arrival(&self, id: EndpointId) -> Option<NodeId> {
        self.host_arrivals.get(&id).copied()
    }

    /// Time of the next event.
    pub fn poll_at(&self) -> Time {
        self.due.first().0
    }

    /// Checks that every packet that entered an element was forwarded, was dropped or is still
    /// inside.
    pub fn conserved(&self) -> Result<(), String> {
        for (i, node) in self.nodes.iter().enumerate() {
            let t = node.counts;
            let (in_, out) = (t.pushed + t.copied + t.created, t.forwarded + t.merged + t.drops() + node.element.occupancy());
            if in_ != out {
                return Err(format!("element {i}: {in_} packets entered or created, {out} forwarded, dropped or still inside"));
            }
        }
        Ok(())
    }

    /// Packets without a route.
    pub fn unrouted(&self) -> u64 {
        self.unrouted
    }

    /// Drops with one reason, over all elements.
    pub fn drops(&self, cause: DropReason) -> u64 {
        self.nodes.iter().map(|n| n.counts.dropped[cause as usize]).sum()
    }
}
