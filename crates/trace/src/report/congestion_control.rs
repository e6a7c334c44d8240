//! Which congestion control the sender of a direction uses.

use super::FlowRows;
use crate::congestion_control::{CcFamily, CcIdentification, Identifications};
use ackclock_contract::Document;
use serde::Serialize;

/// By the replay of each congestion control with the ACKs that the sender received.
#[derive(Debug, Clone, Serialize, Document)]
pub struct CongestionControlReport {
    /// [`CcFamily::name`]; `unknown` unless `confident`.
    pub family: &'static str,
    /// The likeliest first; empty if the direction was not examined.
    pub candidates: Vec<CandidateReport>,
    /// The family is stated.
    pub confident: bool,
}

/// A congestion control, or `other` for none of those known.
#[derive(Debug, Clone, Serialize, Document)]
pub struct CandidateReport {
    pub name: &'static str,
    /// 0 to 1; the likelihoods of all congestion controls sum to one.
    pub likelihood: f64,
}

impl CongestionControlReport {
    /// Of a direction that was not examined.
    pub fn unknown() -> CongestionControlReport {
        CongestionControlReport { family: CcFamily::Unknown.name(), candidates: Vec::new(), confident: false }
    }

    fn of(found: &CcIdentification) -> CongestionControlReport {
        let candidate = |&(name, likelihood): &(&'static str, f64)| CandidateReport { name, likelihood };
        CongestionControlReport {
            family: found.family.name(),
            candidates: found.candidates.iter().map(candidate).collect(),
            confident: found.is_confident,
        }
    }
}

/// The reports of a capture's examined directions, by the flow's number.
impl FlowRows<'_> {
    /// Of the client and of the server of a flow; none for one that was not examined.
    pub(super) fn congestion_controls(&self, number: usize, found: &Identifications) -> [Option<CongestionControlReport>; 2] {
        let client = self.flow(number).client();
        [client, client.other()].map(|side| found.of_direction(number, side).map(CongestionControlReport::of))
    }
}
