//! The findings of a qlog: the rules of captures, about the sender's own account of its connection.

use super::diagnosis::FlowDiagnosis;
use super::verdict::SummaryBuilder;
use ackclock_trace::qlog::QlogConnection;
use ackclock_trace::report::{CaptureSummary, ConnectionCounts, FlowReport, Report};

/// The whole document of the connections of a qlog.
pub fn of_qlog(connections: &[QlogConnection]) -> Report {
    let mut builder = SummaryBuilder::default();
    let flows: Vec<FlowReport> = connections
        .iter()
        .enumerate()
        .map(|(index, connection)| FlowDiagnosis::alone(FlowReport::of_qlog(connection, index + 1)).summed(&mut builder))
        .collect();
    let counts = ConnectionCounts { established: flows.len() as u64, ..ConnectionCounts::default() };
    let summary = Some(CaptureSummary { connections: counts, ..CaptureSummary::default() });
    let head = Report { summary, ..Report::of_qlog(connections) };
    Report { summary: Some(builder.summary(&head)), flows, ..head }
}
