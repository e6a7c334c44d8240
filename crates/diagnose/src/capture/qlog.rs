//! The findings of a qlog: the rules of captures, about the sender's own account of its connection.

use super::diagnosis::FlowDiagnosis;
use super::verdict::SummaryBuilder;
use ackclock_trace::qlog::QlogConnection;
use ackclock_trace::report::{CaptureIndex, CaptureSummary, ConnectionCounts, FlowReport, Report};

/// The whole document of the connections of a qlog.
pub fn of_qlog(connections: &[QlogConnection]) -> Report {
    let mut builder = SummaryBuilder::default();
    let counts = ConnectionCounts { established: connections.len() as u64, ..ConnectionCounts::default() };
    let summary = Some(CaptureSummary { connections: counts, ..CaptureSummary::default() });
    let (head, index) = (Report { summary, ..Report::of_qlog(connections) }, CaptureIndex::default());
    let reports = (1..).zip(connections).map(|(number, connection)| FlowReport::of_qlog(connection, number));
    let flows = reports.map(|flow| FlowDiagnosis::alone(flow, &head, &index).summed(&mut builder)).collect();
    Report { summary: Some(builder.summary(&head)), flows, ..head }
}
