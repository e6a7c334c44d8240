//! Identifiers of elements, endpoints and ports, and routes between them.

use crate::packet::Packet;

/// A way in or out of an element. One-in-one-out elements use only `Port(0)`; on a medium it is station and side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Port(pub u16);

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

/// A packet on its way out of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handoff {
    pub to: Route,
    /// By which it left.
    pub port: Port,
    pub packet: Packet,
}
