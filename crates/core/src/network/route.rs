//! Identifiers of elements, endpoints and ports, and the routes between them.

use crate::packet::Packet;

/// An input or output of an element. Most elements use `Port(0)` only; on a medium the port encodes
/// station and side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Port(pub u16);

/// Index of an element.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

/// Index of an endpoint.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub struct EndpointId(pub u32);

/// The next hop of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Route {
    Node(NodeId, Port),
    Endpoint(EndpointId),
    /// Look the route up by flow in this table.
    ByFlow(u32),
    /// Dequeued from this host queue: notify the sender, then forward.
    HostDequeue(u32),
    /// Dropped in this host queue: notify the sender.
    HostDrop(u32),
    Nowhere,
}

/// Routes of an element's ports: port 0, and the others, which most elements lack.
#[derive(Debug)]
pub(crate) struct Ports {
    first: Route,
    others: Vec<Route>,
    /// Route of dropped packets, for host queues.
    pub(crate) drops: Option<Route>,
}

impl Ports {
    pub(crate) const fn nowhere() -> Ports {
        Ports { first: Route::Nowhere, others: Vec::new(), drops: None }
    }

    #[inline]
    pub(crate) fn to(&self, port: Port) -> Route {
        match port.0.checked_sub(1) {
            None => self.first,
            Some(other) => self.others.get(usize::from(other)).copied().unwrap_or(Route::Nowhere),
        }
    }

    pub(super) fn routes_mut(&mut self) -> impl Iterator<Item = &mut Route> {
        std::iter::once(&mut self.first).chain(&mut self.others)
    }

    pub(super) fn set(&mut self, port: Port, to: Route) {
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

/// A packet that leaves an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    pub to: Route,
    /// The port through which it left.
    pub port: Port,
    pub packet: Packet,
}

impl Handoff {
    /// No packet.
    pub(super) const NOWHERE: Handoff = Handoff { to: Route::Nowhere, port: Port(0), packet: Packet::NONE };
}
