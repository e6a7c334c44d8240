//! What limits each flow of a run: one decision, from the account of the hops' time and the sender's
//! own account (`docs/evidence/limits.md`).
//!
//! A flow's time is divided among the kinds of limit. While a hop in the direction of the data has
//! no free capacity for an RTT, the bottleneck limits. In the rest of the time the sender's account
//! counts. A sender that waits for ACKs to open a window waits for two reasons: the window, and the
//! queue in which the ACKs wait; the queue's part of the RTT belongs to the path of the ACKs.

mod decision;
pub mod facts;
mod figures;
mod kind;

pub use decision::FlowLimit;
pub use facts::LimitFacts;
pub use figures::{PlanFigures, RunFigures};
#[cfg(feature = "capture")]
pub(crate) use kind::largest;
pub use kind::{KINDS, LimitKind, LimitWords};

use crate::number_text::sentence;
use ackclock_contract::Document;
use serde::Serialize;
use std::collections::BTreeMap;

/// What a run's document has about the limit of one flow; nulls without packets.
#[derive(Debug, Clone, Serialize, Document)]
pub struct FlowExplanation {
    pub flow: String,
    #[serde(serialize_with = "kind::by_kind_if_known")]
    pub limits: Option<BTreeMap<String, f64>>,
    pub limit: Option<FlowLimit>,
    pub why: Option<String>,
}

/// The limit of each flow, in the order of the summary.
pub fn explain(run: &RunFigures, plan: &PlanFigures) -> Vec<FlowExplanation> {
    let facts = facts::of_run(run, plan);
    let explained = |flow: &figures::FlowFigures| {
        let facts = facts.iter().find(|facts| facts.flow == flow.flow);
        let limit = facts.map(LimitFacts::decide);
        FlowExplanation {
            flow: flow.flow.clone(),
            limits: facts.map(|facts| facts.shares.clone()),
            why: limit.as_ref().map(|limit| format!("{}.", sentence(&limit.why))),
            limit,
        }
    };
    run.flows.iter().map(explained).collect()
}
