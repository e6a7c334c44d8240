//! The flows of a document, made one at a time: a document of a hundred thousand flows has a
//! gigabyte.

use super::{FlowReport, JoinedDirectionReport, MAX_LISTED, PathEstimates};
use crate::analyze::{Analysis, FlowList, FlowOrder, FlowRef};
use crate::join::Joined;

/// The rows of one capture's flows.
pub struct FlowRows<'a> {
    flows: FlowList<'a>,
    start: i64,
    estimates: Option<&'a PathEstimates>,
    joined: Option<&'a Joined>,
}

impl<'a> FlowRows<'a> {
    pub fn of(analysis: &'a Analysis) -> FlowRows<'a> {
        FlowRows::in_order(analysis, &analysis.flow_order())
    }

    /// With an order that is known already: many rows are made with one sort.
    pub fn in_order(analysis: &'a Analysis, order: &FlowOrder) -> FlowRows<'a> {
        let start = analysis.totals.first_at.unwrap_or(0);
        FlowRows { flows: analysis.flows_in(order), start, estimates: None, joined: None }
    }

    /// Adds estimates of the path.
    pub fn with_estimates(self, estimates: &'a PathEstimates) -> FlowRows<'a> {
        FlowRows { estimates: Some(estimates), ..self }
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

    /// The row of the flow with this number, from 0. Panics if there is none.
    pub fn row(&self, number: usize) -> FlowReport {
        let flow = self.flows.get(number);
        let mut row = FlowReport::of(&flow, self.start);
        if let Some([of_client, of_server]) = self.estimates.and_then(|estimates| estimates.of_flow(number)) {
            row.a2b.inferred_path.clone_from(of_client);
            row.b2a.inferred_path.clone_from(of_server);
        }
        if let Some(directions) = self.joined.and_then(|joined| joined.directions(number)) {
            let client = flow.client() as usize;
            row.a2b.joined = directions[client].as_ref().map(JoinedDirectionReport::of);
            row.b2a.joined = directions[1 - client].as_ref().map(JoinedDirectionReport::of);
        }
        row
    }
}
