//! Puts the processing of hosts between the last part of a path and the endpoint: into the element
//! that knows the arrival times already, else as an element of its own.

use super::{AnyElement, EndpointId, NetworkBuilder, NodeId, Route};
use crate::element::Port;
use crate::host::{Gro, HostArrival, ProcessingClock, ProcessingJitter, ProcessingTimes, Reassembly};
use crate::rng::Rng;
use crate::units::Span;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The node whose packets reach an endpoint.
#[derive(Clone, Copy, Default)]
enum Source {
    #[default]
    None,
    One(NodeId),
    /// Several, or one that must not delay its packets.
    Other,
}

impl Source {
    fn add(&mut self, other: Source) {
        *self = match (*self, other) {
            (Source::None, source) | (source, Source::None) => source,
            (Source::One(a), Source::One(b)) if a == b => Source::One(a),
            _ => Source::Other,
        };
    }
}

impl NetworkBuilder {
    /// Packets reach this endpoint when its host has processed them.
    pub fn processing(&mut self, endpoint: EndpointId, jitter: ProcessingJitter, rng: Rng) {
        let times = match &self.processing_times {
            Some((of, times)) if *of == jitter => times.clone(),
            _ => Arc::new(ProcessingTimes::new(jitter)),
        };
        self.processing_times = Some((jitter, times.clone()));
        self.clocks.push((endpoint, ProcessingClock::new(times, rng)));
    }

    /// Contiguous segments that arrive within `span` reach this endpoint together.
    pub fn gro(&mut self, endpoint: EndpointId, span: Span) {
        self.gros.push((endpoint, span));
    }

    /// Datagrams reach this endpoint when all their fragments have arrived.
    pub fn reassembly(&mut self, endpoint: EndpointId) {
        self.reassemblies.push((endpoint, ()));
    }

    /// Makes each processing time an element of its own, so that a probe sees when a packet arrives
    /// at its host ([`Network::host_arrival`](super::Network::host_arrival)).
    pub fn separate_arrivals(&mut self) {
        self.separate_arrivals = true;
    }

    pub(super) fn place_host_stages(&mut self) {
        let clocks = std::mem::take(&mut self.clocks);
        if !clocks.is_empty() {
            let sources = self.sources();
            let separate = { clocks.into_iter() }.filter_map(|(endpoint, clock)| self.merge_clock(&sources, endpoint, clock));
            let separate: Vec<_> = separate.collect();
            self.host_arrivals = self.insert(
                separate,
                || HostArrival::new(Span::ZERO, Vec::new()).into(),
                |element, flow, clock| {
                    if let AnyElement::HostArrival(arrival) = element {
                        arrival.set_clock(flow, clock);
                    }
                },
            );
        }
        let reassemblies = std::mem::take(&mut self.reassemblies);
        self.insert(reassemblies, || Reassembly::default().into(), |_, _, ()| {});
        let gros = std::mem::take(&mut self.gros);
        self.insert(
            gros,
            || Gro::new(Vec::new()).into(),
            |element, flow, span| {
                if let AnyElement::Gro(gro) = element {
                    gro.set_span(flow, span);
                }
            },
        );
    }

    /// By endpoint: where its packets come from.
    fn sources(&mut self) -> Vec<Source> {
        let mut sources = vec![Source::None; self.endpoints.len()];
        let mut of_tables = vec![Source::None; self.tables.len()];
        let mut add = |route: Route, source: Source| match route {
            Route::Endpoint(id) => sources[id.0 as usize].add(source),
            Route::ByFlow(table) => of_tables[table as usize].add(source),
            Route::Node(..) | Route::HostDequeue(_) | Route::HostDrop(_) | Route::Nowhere => {}
        };
        for (number, node) in (0..).zip(&mut self.nodes) {
            node.ports.routes_mut().for_each(|route| add(*route, Source::One(NodeId(number))));
        }
        self.endpoints.iter().for_each(|slot| add(slot.entry, Source::Other));
        self.host_queues.iter().for_each(|queue| add(queue.next, Source::Other));
        for (table, source) in self.tables.iter().zip(of_tables) {
            for route in table {
                if let Route::Endpoint(id) = route {
                    sources[id.0 as usize].add(source);
                }
            }
        }
        sources
    }

    /// Gives the clock to the element before the endpoint, or returns it.
    fn merge_clock(
        &mut self,
        sources: &[Source],
        endpoint: EndpointId,
        clock: ProcessingClock,
    ) -> Option<(EndpointId, ProcessingClock)> {
        let flow = self.endpoints[endpoint.0 as usize].flow;
        let Source::One(node) = sources[endpoint.0 as usize] else { return Some((endpoint, clock)) };
        if self.separate_arrivals {
            return Some((endpoint, clock));
        }
        let element = &mut self.nodes[node.0 as usize].element;
        if let AnyElement::Delay(delay) = element {
            *element = HostArrival::new(delay.span(), Vec::new()).into();
        }
        match element {
            AnyElement::FusedLink(link) => link.set_clock(flow, clock),
            AnyElement::HostArrival(arrival) => arrival.set_clock(flow, clock),
            _ => return Some((endpoint, clock)),
        }
        None
    }

    /// Puts elements before these endpoints. One element has at most one endpoint of each flow,
    /// by which it routes. Returns the element of each.
    fn insert<T>(
        &mut self,
        ends: Vec<(EndpointId, T)>,
        make: impl Fn() -> AnyElement,
        set: impl Fn(&mut AnyElement, u32, T),
    ) -> BTreeMap<EndpointId, NodeId> {
        let mut seen: BTreeMap<u32, usize> = BTreeMap::new();
        let mut stages: Vec<(NodeId, Vec<Route>)> = Vec::new();
        let mut before: BTreeMap<EndpointId, NodeId> = BTreeMap::new();
        for (endpoint, value) in ends {
            let flow = self.endpoints[endpoint.0 as usize].flow;
            let place = seen.entry(flow).and_modify(|count| *count += 1).or_insert(0);
            if stages.len() <= *place {
                stages.push((self.element(make()), Vec::new()));
            }
            let (node, routes) = &mut stages[*place];
            if routes.len() <= flow as usize {
                routes.resize(flow as usize + 1, Route::Nowhere);
            }
            routes[flow as usize] = Route::Endpoint(endpoint);
            before.insert(endpoint, *node);
            set(&mut self.nodes[node.0 as usize].element, flow, value);
        }
        if !before.is_empty() {
            self.redirect(&before);
        }
        for (node, routes) in stages {
            let table = self.table(routes);
            self.connect(node, Port(0), table);
        }
        before
    }

    /// Replaces every route to these endpoints by one to the element before them.
    fn redirect(&mut self, before: &BTreeMap<EndpointId, NodeId>) {
        let replace = |route: &mut Route| {
            if let Route::Endpoint(id) = route
                && let Some(&node) = before.get(id)
            {
                *route = Route::Node(node, Port(0));
            }
        };
        self.nodes.iter_mut().for_each(|node| node.ports.routes_mut().for_each(replace));
        self.tables.iter_mut().flatten().for_each(replace);
        self.endpoints.iter_mut().for_each(|slot| replace(&mut slot.entry));
        self.host_queues.iter_mut().for_each(|queue| replace(&mut queue.next));
    }
}
