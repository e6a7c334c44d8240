//! What the programs report: each end its own, and both together a row for each program.

use crate::lateness::Lateness;
use crate::{End, Program};
use ackclock_contract::Document;
use ackclock_core::Span;
use ackclock_core::score::{CallScore, CallWindow, Codec, GameScore, PageScore};
use ackclock_sim::Plan;
use ackclock_sim::metrics::AppScore;
use ackclock_sim::plan::{Measure, WorkloadConfig};
use ackclock_sim::summary::AppRow;
use serde::{Deserialize, Serialize};

/// The programs of one end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EndReport {
    pub end: End,
    pub flows: Vec<FlowReport>,
}

/// One end of a program.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// Number of the flow in the plan.
    pub flow: usize,
    /// What this end played, by windows.
    pub call: Option<Vec<CallWindow>>,
    /// Of the client.
    pub game: Option<GameScore>,
    /// Of the client.
    pub page: Option<PageScore>,
    /// Bytes of payload that arrived in the measured time; none at the end that sends.
    pub received: Option<u64>,
    pub lateness: Lateness,
}

impl FlowReport {
    pub(crate) fn of(program: &Program<'_>) -> FlowReport {
        FlowReport { flow: program.number, ..FlowReport::default() }
    }
}

/// A program of `emulate --beside`.
#[derive(Debug, Clone, Serialize, Document)]
pub struct ProgramRow {
    pub flow: String,
    #[document(names("down", "up"))]
    pub direction: &'static str,
    /// Of a bulk transfer in the measured time; null for others.
    pub goodput_bps: Option<f64>,
    /// As in the flows of `simulate`. Absent for a bulk transfer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub app: Option<AppRow>,
    pub lateness: Lateness,
    /// At most 1 % of what the program did was later than 1 ms, or one thing.
    pub valid: bool,
}

/// The rows of the programs of a plan, by what its two ends report, in any order.
pub fn rows(plan: &Plan, ends: &[EndReport; 2]) -> Vec<ProgramRow> {
    let of_end = |end: End| ends.iter().find(|one| one.end == end);
    let report = |end: End, number: usize| of_end(end)?.flows.iter().find(|report| report.flow == number);
    let row = |(number, flow): (usize, &ackclock_sim::plan::Flow)| {
        let (server, client) = (report(End::Server, number)?, report(End::Client, number)?);
        let score = match flow.workload {
            WorkloadConfig::Call { gap_ps, impairment, loss_robustness, .. } => {
                let windows = client.call.iter().flatten().copied().zip(server.call.iter().flatten().copied());
                let windows: Vec<[CallWindow; 2]> = windows.map(|(down, up)| [down, up]).collect();
                Some(AppScore::Call(CallScore::of(&windows, Codec { impairment, loss_robustness }, Span(gap_ps))))
            }
            WorkloadConfig::Game { .. } => client.game.map(AppScore::Game),
            WorkloadConfig::Page { .. } => client.page.map(AppScore::Page),
            _ => None,
        };
        let measured = match plan.measure {
            Measure::Interval { from_ps, to_ps } => Span(to_ps - from_ps),
            Measure::All {} | Measure::AllActive {} => Span(plan.duration_ps.saturating_sub(flow.start.low_ps)),
        };
        let is_bulk = matches!(flow.workload, WorkloadConfig::Bulk { .. });
        let received = client.received.or(server.received).filter(|_| is_bulk);
        let lateness = server.lateness.with(client.lateness);
        Some(ProgramRow {
            flow: flow.name.clone(),
            direction: flow.direction.name(),
            goodput_bps: received.map(|bytes| 8.0 * bytes as f64 / measured.as_secs()),
            app: score.map(|score| AppRow { kind: score.kind(), score, grade: score.grade() }),
            valid: lateness.is_valid(),
            lateness,
        })
    };
    plan.flows.iter().enumerate().filter_map(row).collect()
}
