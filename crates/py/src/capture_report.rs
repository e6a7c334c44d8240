//! The report of one capture or two, a flow at a time: Python holds objects only of the flows that
//! it diagnoses or shows.

use crate::capture_columns::flow_columns;
use crate::captures::{CapturePairReader, CaptureReader};
use crate::errors::failure;
use crate::table::Table;
use ackclock_trace::analyze::{Analysis, DatagramFlow};
use ackclock_trace::report::{
    CaptureIndex, CaptureSummary, DirectionLimits, EventOrder, Finding, FlatTable, FlowReport, FlowRows, PathEstimates, Report,
    UdpFlowReport, json_text, with_end,
};
use ackclock_trace::series::Packets;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::collections::HashMap;

/// What has been read.
pub enum ReportSource {
    One(Py<CaptureReader>),
    Two(Py<CapturePairReader>),
}

/// The report of the packets that a reader has read. Flows have numbers from 1.
#[pyclass(frozen)]
pub struct CaptureReport {
    source: ReportSource,
    /// Of the first capture, and of the second if there is one.
    indexes: [CaptureIndex; 2],
    events: [EventOrder; 2],
    /// Of the first flows of a single capture.
    estimates: PathEstimates,
    /// The document without flows.
    head: String,
    counts: [usize; 2],
}

/// About the length of a flow's text.
const FLOW_TEXT: usize = 6 << 10;

/// Indentation of a flow in the document, and in the second capture's part of it.
const FLOW_LEVELS: [usize; 2] = [2, 3];

impl CaptureReport {
    pub fn new(py: Python<'_>, source: ReportSource, thresholds: &str) -> PyResult<CaptureReport> {
        let thresholds = serde_json::from_str(thresholds).map_err(failure)?;
        let (report, estimates, indexes, counts) = match &source {
            ReportSource::One(reader) => {
                let reader = reader.borrow(py);
                let report = Report::without_flows(&reader.analysis, &reader.capture);
                let rows = FlowRows::of(&reader.analysis);
                let report = Report { summary: Some(CaptureSummary::of(&rows)), ..report };
                let index = CaptureIndex::of(&rows, thresholds, &report.concurrent, None);
                let estimates = PathEstimates::of(&rows, &reader.arrivals);
                (report, Some(estimates), [index, CaptureIndex::default()], [rows.len(), 0])
            }
            ReportSource::Two(reader) => {
                let reader = reader.borrow(py);
                let ([first, second], joined) = (&reader.sides, reader.joined());
                let report = Report::joined_without_flows(first, second, joined);
                let [here, there] = [first, second].map(|side| FlowRows::of(&side.analysis));
                let report = Report { summary: Some(CaptureSummary::of(&here)), ..report };
                let index = CaptureIndex::of(&here, thresholds, &report.concurrent, Some(joined)).with_ends(&here);
                let counts = [here.len(), there.len()];
                (report, None, [index, CaptureIndex::default().with_ends(&there)], counts)
            }
        };
        let order = |packets: Option<&Packets>| packets.map(EventOrder::of).unwrap_or_default();
        let events = match &source {
            ReportSource::One(reader) => [EventOrder::of(&reader.borrow(py).packets), EventOrder::default()],
            ReportSource::Two(reader) => reader.borrow(py).sides.each_ref().map(|side| order(side.packets.as_ref())),
        };
        let head = serde_json::to_string(&report).map_err(failure)?;
        Ok(CaptureReport { source, indexes, events, estimates: estimates.unwrap_or_default(), head, counts })
    }

    /// Calls `make` with the rows of the first (0) or second (1) capture.
    fn with_rows<T>(&self, py: Python<'_>, capture: usize, make: impl FnOnce(&FlowRows<'_>) -> PyResult<T>) -> PyResult<T> {
        match &self.source {
            ReportSource::One(reader) => {
                let reader = reader.borrow(py);
                let rows = FlowRows::of(&reader.analysis).with_estimates(&self.estimates);
                make(&rows.with_events(&self.events[0]))
            }
            ReportSource::Two(reader) => {
                let reader = reader.borrow(py);
                let side = &reader.sides[capture];
                let rows = FlowRows::of(&side.analysis).with_events(&self.events[capture]);
                make(&if capture == 0 { rows.with_joined(reader.joined()) } else { rows })
            }
        }
    }

    /// Calls `make` with the first capture's UDP flows, and the time of its first packet.
    fn with_udp<T>(&self, py: Python<'_>, make: impl FnOnce(&[DatagramFlow], i64) -> PyResult<T>) -> PyResult<T> {
        let of = |analysis: &Analysis| make(analysis.datagram_flows(), analysis.totals.first_at.unwrap_or(0));
        match &self.source {
            ReportSource::One(reader) => of(&reader.borrow(py).analysis),
            ReportSource::Two(reader) => of(&reader.borrow(py).sides[0].analysis),
        }
    }

    /// The index of flow `number` of a capture.
    fn index(&self, capture: usize, number: usize) -> PyResult<usize> {
        number
            .checked_sub(1)
            .filter(|&index| index < self.counts[capture])
            .ok_or_else(|| PyIndexError::new_err(format!("flow {number} of {} flows", self.counts[capture])))
    }

    /// The row of a flow; numbered in the first capture.
    fn row(&self, py: Python<'_>, capture: usize, number: usize) -> PyResult<FlowReport> {
        let index = self.index(capture, number)?;
        let row = self.with_rows(py, capture, |rows| Ok(rows.row(index)))?;
        Ok(FlowReport { flow: (capture == 0).then_some(number), ..row })
    }

    fn json(&self, py: Python<'_>, capture: usize, number: usize) -> PyResult<String> {
        serde_json::to_string(&self.row(py, capture, number)?).map_err(failure)
    }

    /// Rows as text, separated by commas, each on a line of its own.
    fn lines(&self, py: Python<'_>, capture: usize, numbers: &[usize], edit: impl Fn(&mut FlowReport)) -> PyResult<Vec<u8>> {
        let level = FLOW_LEVELS[capture];
        let mut text = Vec::with_capacity(numbers.len() * FLOW_TEXT);
        for (i, &number) in numbers.iter().enumerate() {
            let mut row = self.row(py, capture, number)?;
            edit(&mut row);
            if i > 0 {
                text.push(b',');
            }
            json_text::append_line_break(&mut text, level);
            json_text::append(&mut text, &row).map_err(failure)?;
        }
        Ok(text)
    }
}

#[pymethods]
impl CaptureReport {
    /// The document as JSON, with empty lists of flows.
    fn head(&self) -> &str {
        &self.head
    }

    /// Number of flows listed of the first and of the second capture.
    fn counts(&self) -> [usize; 2] {
        self.counts
    }

    /// A flow of the first capture as JSON, without its diagnosis.
    fn flow(&self, py: Python<'_>, number: usize) -> PyResult<String> {
        self.json(py, 0, number)
    }

    /// A flow of the second capture as JSON.
    fn second_flow(&self, py: Python<'_>, number: usize) -> PyResult<String> {
        self.json(py, 1, number)
    }

    /// The number in the second capture of a flow of the first.
    fn partner(&self, py: Python<'_>, number: usize) -> PyResult<Option<usize>> {
        let index = self.index(0, number)?;
        let ReportSource::Two(reader) = &self.source else { return Ok(None) };
        Ok(reader.borrow(py).joined().partner(index).map(|other| other + 1).filter(|&other| other <= self.counts[1]))
    }

    /// Numbers of the flows of each capture with the addresses and ports of this flow of the first;
    /// none with one capture.
    fn with_ends_of(&self, py: Python<'_>, number: usize) -> PyResult<[Vec<usize>; 2]> {
        let index = self.index(0, number)?;
        self.with_rows(py, 0, |rows| {
            let flow = rows.flow(index);
            Ok(self.indexes.each_ref().map(|capture| from_one(capture.with_ends_of(&flow))))
        })
    }

    /// Rate at which the sender of each direction, `a2b` first, sends in its other flows, bit/s.
    fn rates_of_others(&self, py: Python<'_>, number: usize) -> PyResult<[f64; 2]> {
        let index = self.index(0, number)?;
        self.with_rows(py, 0, |rows| Ok(self.indexes[0].rates_of_others(&rows.flow(index))))
    }

    /// Numbers of the flows that a finding may be about, ascending.
    fn to_diagnose(&self) -> Vec<usize> {
        from_one(self.indexes[0].to_diagnose())
    }

    /// Numbers of the `count` flows with most bytes, ascending.
    fn largest(&self, count: usize) -> Vec<usize> {
        from_one(&self.indexes[0].largest(count))
    }

    /// Numbers of the flows with this end, `ADDRESS:PORT`.
    fn with_end(&self, py: Python<'_>, end: &str) -> PyResult<Vec<usize>> {
        self.with_rows(py, 0, |rows| Ok(from_one(&with_end(rows, end))))
    }

    /// Flows of the first capture as text, a line each, with these findings by number; the others have
    /// none.
    fn flows_text<'py>(
        &self,
        py: Python<'py>,
        numbers: Vec<usize>,
        diagnoses: HashMap<usize, DiagnosisFields>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let diagnose = |row: &mut FlowReport| {
            let (findings, (a2b, b2a)) = row.flow.and_then(|number| diagnoses.get(&number)).cloned().unwrap_or_default();
            row.diagnosis = Some(findings.into_iter().map(finding).collect());
            row.limit = Some(DirectionLimits { a2b, b2a });
        };
        Ok(PyBytes::new(py, &self.lines(py, 0, &numbers, diagnose)?))
    }

    /// UDP flows of the first capture with these numbers, from 0, as text, a line each, separated
    /// by commas.
    fn udp_text<'py>(&self, py: Python<'py>, numbers: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
        let text = self.with_udp(py, |flows, start| {
            let mut text = Vec::new();
            for flow in numbers.iter().filter_map(|&number| flows.get(number)) {
                if !text.is_empty() {
                    text.push(b',');
                }
                json_text::append_line_break(&mut text, FLOW_LEVELS[0]);
                json_text::append(&mut text, &UdpFlowReport::of(flow, start)).map_err(failure)?;
            }
            Ok(text)
        })?;
        Ok(PyBytes::new(py, &text))
    }

    /// Numbers of the `count` UDP flows of the first capture with most bytes, the largest first.
    fn largest_udp(&self, py: Python<'_>, count: usize) -> PyResult<Vec<usize>> {
        self.with_udp(py, |flows, _| {
            let mut numbers: Vec<usize> = (0..flows.len()).collect();
            numbers.sort_by_key(|&number| std::cmp::Reverse(flows[number].ip_bytes.iter().sum::<u64>()));
            numbers.truncate(count);
            Ok(numbers)
        })
    }

    /// Flows of the second capture as text, a line each.
    fn second_flows_text<'py>(&self, py: Python<'py>, numbers: Vec<usize>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.lines(py, 1, &numbers, |_| ())?))
    }

    /// Flows of the first capture as rows of a table: the fields of the JSON, lists left out.
    fn rows(&self, py: Python<'_>, numbers: Vec<usize>) -> PyResult<Table> {
        let mut table = FlatTable::default();
        for number in numbers {
            table.add(&self.row(py, 0, number)?).map_err(failure)?;
        }
        flow_columns(table).map(Table::new).map_err(failure)
    }
}

/// The fields of a [`Finding`] in their order. As JSON the share would be rounded: this JSON reader's
/// numbers are exact to one unit in the last place only.
type FindingFields = (String, String, Option<f64>, String, String);
/// A flow's findings, and the limits of its directions.
type DiagnosisFields = (Vec<FindingFields>, (Option<String>, Option<String>));

fn finding((direction, finding, share, evidence, advice): FindingFields) -> Finding {
    Finding { direction, finding, share, evidence, advice }
}

/// Numbers from 1 of indexes.
fn from_one(indexes: &[u32]) -> Vec<usize> {
    indexes.iter().map(|&index| index as usize + 1).collect()
}
