//! Putting a network together.

use super::follow::Followers;
use super::relay::Relays;
use super::{EndpointId, FirstHop, Host, Network, Node, NodeId, Route, Ways};
use crate::due::{DueIndex, Member};
use crate::element::{AnyElement, Element, Port, Tally};
use crate::endpoint::{AnyEndpoint, Endpoint};
use crate::packet::Arena;
use crate::units::{Span, Time};

/// Puts a network together; nothing moves until it is built.
#[derive(Default)]
pub struct NetworkBuilder {
    nodes: Vec<Node>,
    hosts: Vec<Host>,
    tables: Vec<Vec<Route>>,
    first_hops: Vec<FirstHop>,
    followers: Followers,
    relays: Relays,
}

impl NetworkBuilder {
    pub fn element(&mut self, element: impl Into<AnyElement>) -> NodeId {
        let element = element.into();
        let scheduled = element.due();
        let tally = Tally::default();
        self.nodes.push(Node { element, tally, ways: Ways::nowhere(), scheduled });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Packets that leave `from` by `port` go to `to`.
    pub fn connect(&mut self, from: NodeId, port: Port, to: Route) {
        self.nodes[from.0 as usize].ways.set(port, to);
    }

    /// A table of routes by flow number.
    pub fn table(&mut self, routes: Vec<Route>) -> Route {
        self.tables.push(routes);
        Route::ByFlow(self.tables.len() as u32 - 1)
    }

    /// An end of `flow` whose packets enter the network at `entry`.
    pub fn endpoint(&mut self, endpoint: AnyEndpoint, flow: u32, entry: Route) -> EndpointId {
        let scheduled = endpoint.due();
        self.hosts.push(Host { endpoint, flow, entry, scheduled });
        EndpointId(self.hosts.len() as u32 - 1)
    }

    /// `node`, whose way out is connected already, is the first hop of these ends, by flow: of what leaves its first port and of what
    /// it drops they hear, and bound what waits in it ([`crate::tcp::TcpConfig::tsq`]).
    pub fn first_hop(&mut self, node: NodeId, senders: Vec<Option<EndpointId>>) {
        for sender in senders.iter().flatten() {
            if let AnyEndpoint::Tcp(end) = &mut self.hosts[sender.0 as usize].endpoint {
                end.hears_of_its_queue();
            }
        }
        let number = self.first_hops.len() as u32;
        let ways = &mut self.nodes[node.0 as usize].ways;
        self.first_hops.push(FirstHop { next: ways.to(Port(0)), senders });
        ways.set(Port(0), Route::Leaving(number));
        ways.lost = Some(Route::Lost(number));
    }

    /// `opener`, which waits to be told ([`crate::tcp::TcpEndpoint::called_later`]), opens its connection `pause` after all of `awaited`
    /// have heard everything that their peers had to say.
    pub fn open_after(&mut self, awaited: &[EndpointId], opener: EndpointId, pause: Span) {
        self.followers.add(awaited, opener, pause);
    }

    /// These two stand on one host and pass on what they receive ([`crate::tcp::pass`]), each way through a buffer of so many bytes.
    pub fn proxy(&mut self, ends: [EndpointId; 2], buffer: u64) {
        self.relays.add(ends, buffer);
    }

    pub fn build(self) -> Network {
        let NetworkBuilder { nodes, hosts, tables, first_hops, followers, relays } = self;
        let mut due = DueIndex::with_members(nodes.len(), hosts.len());
        for (i, node) in nodes.iter().enumerate() {
            due.set(Member::Element(i), node.scheduled);
        }
        for (i, host) in hosts.iter().enumerate() {
            due.set(Member::Endpoint(i), host.scheduled);
        }
        Network {
            now: Time::ZERO,
            nodes,
            hosts,
            tables,
            first_hops,
            due,
            arena: Arena::default(),
            next_id: 1,
            moves: Vec::new(),
            notes: Vec::new(),
            calls: 0,
            unrouted: 0,
            followers,
            relays,
        }
    }
}
