//! Who hands what to whom: elements, their wiring, and the one loop that both the simulator and the emulator run.

mod builder;
mod first_hop;
mod follow;
mod relay;
mod settle;

pub use builder::NetworkBuilder;

use crate::due::DueIndex;
use crate::element::{AnyElement, Cause, Element, Event, Move, Port, Tally};
use crate::endpoint::AnyEndpoint;
use crate::packet::Arena;
use crate::units::Time;
use follow::Followers;
use relay::Relays;

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
    Leaving(u32),
    /// It was dropped in a sender's own queue, which hears of it.
    Lost(u32),
    Nowhere,
}

/// Where an element's ports lead: the first, and the others, which most elements do not have.
#[derive(Debug)]
pub(crate) struct Ways {
    first: Route,
    others: Vec<Route>,
    /// Who hears of its drops, of elements that hold a sender's own queue.
    pub(crate) lost: Option<Route>,
}

impl Ways {
    pub(crate) const fn nowhere() -> Ways {
        Ways { first: Route::Nowhere, others: Vec::new(), lost: None }
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
    tally: Tally,
    ways: Ways,
    /// Its entry in the index of due times.
    scheduled: Time,
}

/// A first hop whose queue counts as its senders' own.
struct FirstHop {
    next: Route,
    /// By flow, the end that sends into it.
    senders: Vec<Option<EndpointId>>,
}

struct Host {
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
    hosts: Vec<Host>,
    tables: Vec<Vec<Route>>,
    first_hops: Vec<FirstHop>,
    due: DueIndex,
    pub arena: Arena,
    next_id: u64,
    /// Hand-overs of this instant, first said first done.
    moves: Vec<Move>,
    notes: Vec<Event>,
    calls: u64,
    /// Packets without a route: an endpoint's output has no tally of its own.
    unrouted: u64,
    followers: Followers,
    relays: Relays,
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

    pub fn tally(&self, id: NodeId) -> Tally {
        self.nodes[id.0 as usize].tally
    }

    pub fn nodes(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.nodes.len() as u32).map(NodeId)
    }

    pub fn endpoint(&self, id: EndpointId) -> &AnyEndpoint {
        &self.hosts[id.0 as usize].endpoint
    }

    pub fn endpoint_mut(&mut self, id: EndpointId) -> &mut AnyEndpoint {
        &mut self.hosts[id.0 as usize].endpoint
    }

    /// When something happens next.
    pub fn poll_at(&self) -> Time {
        self.due.first().0
    }

    /// Checks that every packet that ever entered an element was forwarded, dropped or is still held.
    pub fn conserved(&self) -> Result<(), String> {
        for (i, node) in self.nodes.iter().enumerate() {
            let t = node.tally;
            let (in_, out) = (t.pushed + t.copied + t.created, t.forwarded + t.drops() + node.element.held());
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
    pub fn drops(&self, cause: Cause) -> u64 {
        self.nodes.iter().map(|n| n.tally.dropped[cause as usize]).sum()
    }
}
