//! Construction of a network.

use super::AnyElement;
use super::flow_dependencies::FlowDependencies;
use super::pages::Pages;
use super::proxy::Proxies;
use super::rate_controls::{ControlledShaper, RateControls};
use super::{EndpointId, EndpointSlot, HostQueue, Network, Node, NodeId, Ports, Route};
use crate::app::SharedPage;
use crate::element::{Element, Handoff, PacketCounts, Port};
use crate::endpoint::{AnyEndpoint, Endpoint};
use crate::host::{ProcessingClock, ProcessingJitter, ProcessingTimes};
use crate::packet::Arena;
use crate::timer_tree::{TimerOwner, TimerTree};
use crate::units::{Span, Time};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A host queue of the network.
#[derive(Clone, Copy, Debug)]
pub struct HostQueueId(u32);

/// Collects elements, endpoints and routes. Nothing runs before `build`.
#[derive(Default)]
pub struct NetworkBuilder {
    pub(super) nodes: Vec<Node>,
    pub(super) endpoints: Vec<EndpointSlot>,
    pub(super) tables: Vec<Vec<Route>>,
    pub(super) host_queues: Vec<HostQueue>,
    pub(super) clocks: Vec<(EndpointId, ProcessingClock)>,
    /// The last table of processing times: most hosts have the same.
    pub(super) processing_times: Option<(ProcessingJitter, Arc<ProcessingTimes>)>,
    pub(super) gros: Vec<(EndpointId, Span)>,
    pub(super) reassemblies: Vec<(EndpointId, ())>,
    /// Processing times are elements of their own ([`Network::host_arrival`]).
    pub(super) separate_arrivals: bool,
    /// By endpoint: the element of its processing time.
    pub(super) host_arrivals: BTreeMap<EndpointId, NodeId>,
    dependencies: FlowDependencies,
    proxies: Proxies,
    pages: Pages,
    rate_controls: RateControls,
}

impl NetworkBuilder {
    pub fn element(&mut self, element: impl Into<AnyElement>) -> NodeId {
        let element = element.into();
        let scheduled = element.due();
        let counts = PacketCounts::default();
        self.nodes.push(Node { element, counts, ports: Ports::nowhere(), scheduled });
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Routes packets that leave `from` through `port` to `to`.
    pub fn connect(&mut self, from: NodeId, port: Port, to: Route) {
        self.nodes[from.0 as usize].ports.set(port, to);
    }

    /// Adds a table of routes, indexed by flow.
    pub fn table(&mut self, routes: Vec<Route>) -> Route {
        self.tables.push(routes);
        Route::ByFlow(self.tables.len() as u32 - 1)
    }

    /// Adds an endpoint of `flow`. Its packets enter the network at `entry`.
    pub fn endpoint(&mut self, endpoint: AnyEndpoint, flow: u32, entry: Route) -> EndpointId {
        let scheduled = endpoint.due();
        self.endpoints.push(EndpointSlot { endpoint, flow, entry, scheduled, followed: false });
        EndpointId(self.endpoints.len() as u32 - 1)
    }

    /// Makes `node`, whose port 0 is already connected, the host queue of these senders, indexed by
    /// flow. Each sender is notified when its packets leave or are dropped there, which bounds what
    /// it queues ([`crate::tcp::TcpConfig::tsq`]).
    pub fn host_queue(&mut self, node: NodeId, senders: Vec<Option<EndpointId>>) -> HostQueueId {
        for sender in senders.iter().flatten() {
            if let AnyEndpoint::Tcp(end) = &mut self.endpoints[sender.0 as usize].endpoint {
                end.enable_tsq();
            }
        }
        let number = self.host_queues.len() as u32;
        let ports = &mut self.nodes[node.0 as usize].ports;
        self.host_queues.push(HostQueue { next: ports.to(Port(0)), senders });
        ports.set(Port(0), Route::HostDequeue(number));
        ports.drops = Some(Route::HostDrop(number));
        HostQueueId(number)
    }

    /// What `node`, an element before a host queue, drops has left the queue, too.
    pub fn drops_before(&mut self, node: NodeId, queue: HostQueueId) {
        self.nodes[node.0 as usize].ports.drops = Some(Route::HostDrop(queue.0));
    }

    /// Opens the connection of `opener` (made by [`crate::tcp::TcpEndpoint::deferred_client`])
    /// `pause` after all of `awaited` have received all data of their peers.
    pub fn open_after(&mut self, awaited: &[EndpointId], opener: EndpointId, pause: Span) {
        self.follow(awaited);
        self.dependencies.add(awaited, opener, pause);
    }

    /// Joins two endpoints of one host into a split-TCP proxy ([`crate::tcp::relay_bytes`]) with a
    /// buffer of `buffer` bytes per direction.
    pub fn proxy(&mut self, ends: [EndpointId; 2], buffer: u64) {
        self.follow(&ends);
        self.proxies.add(ends, buffer);
    }

    /// Joins the browser's ends of a page's connections, in their order.
    pub fn page(&mut self, page: SharedPage, browser: Vec<EndpointId>) {
        self.follow(&browser);
        self.pages.add(page, browser);
    }

    /// Gives what `pinger` receives to the controllers of these shapers.
    pub fn control_rates(&mut self, pinger: EndpointId, shapers: Vec<ControlledShaper>) {
        self.follow(&[pinger]);
        self.rate_controls.add(pinger, shapers);
    }

    fn follow(&mut self, ids: &[EndpointId]) {
        for id in ids {
            self.endpoints[id.0 as usize].followed = true;
        }
    }

    pub fn build(mut self) -> Network {
        self.place_host_stages();
        let NetworkBuilder {
            nodes,
            endpoints,
            tables,
            host_queues,
            dependencies,
            proxies,
            pages,
            rate_controls,
            host_arrivals,
            ..
        } = self;
        let mut due = TimerTree::with_owners(nodes.len(), endpoints.len());
        for (i, node) in nodes.iter().enumerate() {
            due.set(TimerOwner::Element(i), node.scheduled);
        }
        for (i, slot) in endpoints.iter().enumerate() {
            due.set(TimerOwner::Endpoint(i), slot.scheduled);
        }
        let anything_followed = endpoints.iter().any(|slot| slot.followed);
        Network {
            now: Time::ZERO,
            nodes,
            endpoints,
            tables,
            host_queues,
            host_arrivals,
            due,
            arena: Arena::default(),
            next_id: 1,
            current: Handoff::NOWHERE,
            handoffs: Vec::new(),
            events: Vec::new(),
            calls: 0,
            unrouted: 0,
            anything_followed,
            dependencies,
            proxies,
            pages,
            rate_controls,
        }
    }
}
