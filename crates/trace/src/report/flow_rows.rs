//! The flows of a document, made one at a time: a document of a hundred thousand flows has a
//! gigabyte.

use super::{FlowReport, JoinedDirectionReport, MAX_LISTED, MptcpReport, PathEstimates, events::EventOrder};
use crate::analyze::{Analysis, FlowList, FlowRef};
use crate::congestion_control::Identifications;
use crate::decode::EndpointAddress;
use crate::flow::Flow;
use crate::join::Joined;

/// The rows of one capture's flows.
pub struct FlowRows<'a> {
    analysis: &'a Analysis,
    flows: FlowList<'a>,
    start: i64,
    estimates: Option<&'a PathEstimates>,
    identified: Option<&'a Identifications>,
    joined: Option<&'a Joined>,
    events: Option<&'a EventOrder>,
}

impl<'a> FlowRows<'a> {
    pub fn of(analysis: &'a Analysis) -> FlowRows<'a> {
        let start = analysis.totals.first_at.unwrap_or(0);
        FlowRows { analysis, flows: analysis.flows(), start, estimates: None, identified: None, joined: None, events: None }
    }

    /// Adds estimates of the path.
    pub fn with_estimates(self, estimates: &'a PathEstimates) -> FlowRows<'a> {
        FlowRows { estimates: Some(estimates), ..self }
    }

    /// Adds the congestion controls of the directions that were examined.
    pub fn with_congestion_controls(self, identified: &'a Identifications) -> FlowRows<'a> {
        FlowRows { identified: Some(identified), ..self }
    }

    /// Adds the events of each flow.
    pub fn with_events(self, events: &'a EventOrder) -> FlowRows<'a> {
        FlowRows { events: Some(events), ..self }
    }

    /// Adds the results of the comparison, of which this is the first capture.
    pub fn with_joined(self, joined: &'a Joined) -> FlowRows<'a> {
        FlowRows { joined: Some(joined), ..self }
    }

    /// Number of flows that are listed.
    pub fn len(&self) -> usize {
        self.flows.len().min(MAX_LISTED)
    }

    pub fn is_empty(&self) -> bool {
        self.flows.is_empty()
    }

    /// The flow with this number, from 0. Panics if there is none.
    pub fn flow(&self, number: usize) -> FlowRef<'a> {
        self.flows.get(number)
    }

    /// Client and server of the flow with this number, from 0, without reading all of it. Panics if there is none.
    pub fn ends(&self, number: usize) -> [EndpointAddress; 2] {
        self.flows.ends(number)
    }

    /// The row of the flow with this number, from 0. Panics if there is none.
    pub fn row(&self, number: usize) -> FlowReport {
        self.row_of(number, &self.flow(number))
    }

    /// [`FlowRows::row`] of a flow that has been read: an idle one is encoded.
    pub fn row_of(&self, number: usize, flow: &Flow) -> FlowReport {
        let mut row = FlowReport::of(flow, self.flows.frames(number), self.start);
        row.mptcp = self.analysis.mptcp(number).map(MptcpReport::of);
        if let Some([of_client, of_server]) = self.estimates.and_then(|estimates| estimates.of_flow(number)) {
            row.a2b.inferred_path.clone_from(of_client);
            row.b2a.inferred_path.clone_from(of_server);
        }
        if let Some(identified) = self.identified {
            let [of_client, of_server] = self.congestion_controls(number, identified);
            row.a2b.congestion_control = of_client.or(row.a2b.congestion_control);
            row.b2a.congestion_control = of_server.or(row.b2a.congestion_control);
        }
        if let Some(events) = self.events {
            let [of_client, of_server] = events.of_flow(number, self.start);
            (row.a2b.events, row.b2a.events) = (Some(of_client), Some(of_server));
        }
        if let Some(directions) = self.joined.and_then(|joined| joined.directions(number)) {
            let client = flow.client() as usize;
            row.a2b.joined = directions[client].as_ref().map(JoinedDirectionReport::of);
            row.b2a.joined = directions[1 - client].as_ref().map(JoinedDirectionReport::of);
        }
        row
    }
}
