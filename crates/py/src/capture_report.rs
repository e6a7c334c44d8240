//! The report of one capture or two, a flow at a time: objects are made only of the flows that Python
//! shows.

use crate::capture_columns::flow_columns;
use crate::captures::{CapturePairReader, CaptureReader};
use crate::errors::failure;
use crate::objects::to_object;
use crate::table::Table;
use ackclock_diagnose::capture::{CaptureDiagnosis, Outline, SummaryBuilder, THRESHOLDS, diagnosed_datagrams};
use ackclock_trace::analyze::{Analysis, DatagramFlow};
use ackclock_trace::congestion_control::Identifications;
use ackclock_trace::join::Joined;
use ackclock_trace::report::{
    CaptureIndex, EventOrder, FlatTable, FlowRows, PathEstimates, Report, UdpFlowReport, json_text, with_end,
};
use ackclock_trace::series::Packets;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::mem;
use std::ops::Range;

/// What has been read.
pub enum ReportSource {
    One(Py<CaptureReader>),
    Two(Py<CapturePairReader>),
}

/// The report of the packets that a reader has read. Flows have numbers from 1.
#[pyclass]
pub struct CaptureReport {
    source: ReportSource,
    /// Of the first capture, and of the second if there is one.
    indexes: [CaptureIndex; 2],
    events: [EventOrder; 2],
    /// Of the first flows of a single capture.
    estimates: PathEstimates,
    /// Of the first capture.
    identified: Identifications,
    /// The document without flows. Its summary has no verdict before all flows are diagnosed.
    head: Report,
    counts: [usize; 2],
    /// The numbers of the flows in the document.
    numbers: Vec<usize>,
}

/// The UDP flows of the first capture.
struct UdpRows<'a> {
    flows: &'a [DatagramFlow],
    /// Time of the first packet.
    start: i64,
    joined: Option<&'a Joined>,
}

impl UdpRows<'_> {
    /// The row of the flow with this number, from 0. Panics if there is none.
    fn row(&self, number: usize) -> UdpFlowReport {
        let flow = &self.flows[number];
        let row = UdpFlowReport::of(flow, self.start);
        match self.joined {
            Some(joined) => diagnosed_datagrams(row.with_joined(flow, joined, number)),
            None => row,
        }
    }
}

/// About the length of a flow's text.
const FLOW_TEXT: usize = 6 << 10;
/// Flows whose text is in memory at once.
const BATCH: usize = 256;
/// Indentation of a flow in the document, and in the second capture's part of it.
const FLOW_LEVELS: [usize; 2] = [2, 3];

impl CaptureReport {
    pub fn new(py: Python<'_>, source: ReportSource, names: Vec<String>, identified: Identifications) -> CaptureReport {
        let (mut head, estimates, indexes, counts) = match &source {
            ReportSource::One(reader) => {
                let reader = reader.borrow(py);
                let report = Report::without_flows(&reader.analysis, &reader.capture);
                let rows = FlowRows::of(&reader.analysis);
                let index = CaptureIndex::of(&rows, THRESHOLDS, &report.concurrent, None);
                let report = Report { summary: Some(index.summary().clone()), ..report };
                let estimates = PathEstimates::of(&rows, &reader.arrivals);
                (report, Some(estimates), [index, CaptureIndex::default()], [rows.len(), 0])
            }
            ReportSource::Two(reader) => {
                let reader = reader.borrow(py);
                let ([first, second], joined) = (&reader.sides, reader.joined());
                let report = Report::joined_without_flows(first, second, joined);
                let [here, there] = [first, second].map(|side| FlowRows::of(&side.analysis));
                let index = CaptureIndex::of(&here, THRESHOLDS, &report.concurrent, Some(joined)).with_ends(&here);
                let report = Report { summary: Some(index.summary().clone()), ..report };
                let counts = [here.len(), there.len()];
                (report, None, [index, CaptureIndex::default().with_ends(&there)], counts)
            }
        };
        let order = |packets: Option<&Packets>| packets.map(EventOrder::of).unwrap_or_default();
        let events = match &source {
            ReportSource::One(reader) => [EventOrder::of(&reader.borrow(py).packets), EventOrder::default()],
            ReportSource::Two(reader) => reader.borrow(py).sides.each_ref().map(|side| order(side.packets.as_ref())),
        };
        let mut names = names.into_iter();
        head.capture = names.next();
        if let Some(joined) = &mut head.joined {
            joined.second.capture = names.next();
        }
        CaptureReport {
            source,
            indexes,
            events,
            estimates: estimates.unwrap_or_default(),
            identified,
            head,
            counts,
            numbers: (1..=counts[0]).collect(),
        }
    }

    /// Calls `make` with the facts of all flows.
    fn with_diagnosis<T>(&self, py: Python<'_>, make: impl FnOnce(&CaptureDiagnosis<'_>) -> PyResult<T>) -> PyResult<T> {
        match &self.source {
            ReportSource::One(reader) => {
                let reader = reader.borrow(py);
                let rows = FlowRows::of(&reader.analysis)
                    .with_estimates(&self.estimates)
                    .with_congestion_controls(&self.identified)
                    .with_events(&self.events[0]);
                make(&CaptureDiagnosis::of_one(&self.head, rows, &self.indexes[0]))
            }
            ReportSource::Two(reader) => {
                let reader = reader.borrow(py);
                let ([first, second], joined) = (&reader.sides, reader.joined());
                let first = FlowRows::of(&first.analysis)
                    .with_congestion_controls(&self.identified)
                    .with_events(&self.events[0])
                    .with_joined(joined);
                let second = FlowRows::of(&second.analysis).with_events(&self.events[1]);
                make(&CaptureDiagnosis::of_two(&self.head, [first, second], joined, self.indexes.each_ref()))
            }
        }
    }

    /// Calls `make` with the first capture's UDP flows.
    fn with_udp<T>(&self, py: Python<'_>, make: impl FnOnce(&UdpRows<'_>) -> PyResult<T>) -> PyResult<T> {
        let of = |analysis: &Analysis, joined| {
            let start = analysis.totals.first_at.unwrap_or(0);
            make(&UdpRows { flows: analysis.datagram_flows(), start, joined })
        };
        match &self.source {
            ReportSource::One(reader) => of(&reader.borrow(py).analysis, None),
            ReportSource::Two(reader) => {
                let reader = reader.borrow(py);
                of(&reader.sides[0].analysis, Some(reader.joined()))
            }
        }
    }

    /// The index of flow `number` of a capture.
    fn index(&self, capture: usize, number: usize) -> PyResult<usize> {
        number
            .checked_sub(1)
            .filter(|&index| index < self.counts[capture])
            .ok_or_else(|| PyIndexError::new_err(format!("flow {number} of {} flows", self.counts[capture])))
    }

    /// Appends flows to `text`, separated by commas, each on a line of its own, with their findings, which are added
    /// to a summary; and as rows to `table`, if there is one.
    fn add_lines(
        &self,
        py: Python<'_>,
        text: &mut Vec<u8>,
        numbers: &[usize],
        builder: &mut SummaryBuilder,
        mut table: Option<&mut FlatTable>,
    ) -> PyResult<()> {
        text.reserve(numbers.len() * FLOW_TEXT);
        self.with_diagnosis(py, |diagnosis| {
            for (place, &number) in numbers.iter().enumerate() {
                let flow = diagnosis.flow(self.index(0, number)?);
                if let Some(table) = table.as_deref_mut() {
                    table.add(&flow.flow).map_err(failure)?;
                }
                append_flow(text, place == 0, 0, &flow.summed(builder))?;
            }
            Ok(())
        })
    }

    /// Appends flows of the second capture.
    fn add_second_lines(&self, py: Python<'_>, text: &mut Vec<u8>, indexes: Range<usize>) -> PyResult<()> {
        text.reserve(indexes.len() * FLOW_TEXT);
        self.with_diagnosis(py, |diagnosis| {
            for index in indexes.clone() {
                append_flow(text, index == indexes.start, 1, &diagnosis.second_flow(index))?;
            }
            Ok(())
        })
    }

    fn add_udp_lines(&self, py: Python<'_>, text: &mut Vec<u8>, indexes: Range<usize>) -> PyResult<()> {
        self.with_udp(py, |udp| {
            for index in indexes.clone() {
                append_flow(text, index == indexes.start, 0, &udp.row(index))?;
            }
            Ok(())
        })
    }

    fn has_verdict(&self) -> bool {
        self.head.summary.as_ref().is_some_and(|summary| summary.verdict.is_some())
    }
}

/// Appends a flow on a line of its own, after a comma if it is not the first of a piece.
fn append_flow(text: &mut Vec<u8>, is_first: bool, capture: usize, flow: &impl serde::Serialize) -> PyResult<()> {
    if !is_first {
        text.push(b',');
    }
    json_text::append_line_break(text, FLOW_LEVELS[capture]);
    json_text::append(text, flow).map_err(failure)
}

#[pymethods]
impl CaptureReport {
    /// The document, with empty lists of flows.
    fn head<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.head)
    }

    /// Number of flows listed of the first and of the second capture.
    fn counts(&self) -> [usize; 2] {
        self.counts
    }

    /// Selects the flows of the document by their numbers, before any other call.
    fn select(&mut self, numbers: Vec<usize>) -> PyResult<()> {
        numbers.iter().try_for_each(|&number| self.index(0, number).map(|_| ()))?;
        self.numbers = numbers;
        Ok(())
    }

    /// Flows of the first capture with their findings and limits.
    fn flows<'py>(&self, py: Python<'py>, numbers: Vec<usize>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.with_diagnosis(py, |diagnosis| {
            numbers.iter().map(|&number| to_object(py, &diagnosis.flow(self.index(0, number)?).diagnosed())).collect()
        })
    }

    /// Flows of the second capture.
    fn second_flows<'py>(&self, py: Python<'py>, numbers: Vec<usize>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.with_diagnosis(py, |diagnosis| {
            numbers.iter().map(|&number| to_object(py, &diagnosis.second_flow(self.index(1, number)?))).collect()
        })
    }

    /// The number in the second capture of a flow of the first.
    fn partner(&self, py: Python<'_>, number: usize) -> PyResult<Option<usize>> {
        let index = self.index(0, number)?;
        let ReportSource::Two(reader) = &self.source else { return Ok(None) };
        Ok(reader.borrow(py).joined().partner(index).map(|other| other + 1).filter(|&other| other <= self.counts[1]))
    }

    /// The summary with its verdict: all flows of the document are diagnosed, unless they have been.
    fn summary<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if !self.has_verdict() {
            let mut builder = SummaryBuilder::default();
            self.with_diagnosis(py, |diagnosis| {
                for index in self.numbers.iter().map(|number| number - 1).filter(|&index| diagnosis.may_have_findings(index)) {
                    diagnosis.flow(index).summed(&mut builder);
                }
                Ok(())
            })?;
            self.head.summary = Some(builder.summary(&self.head));
        }
        to_object(py, &self.head.summary)
    }

    /// Numbers of the `count` flows with most bytes, ascending.
    fn largest(&self, count: usize) -> Vec<usize> {
        self.indexes[0].largest(count).into_iter().map(|index| index as usize + 1).collect()
    }

    /// Numbers of the flows with this end, `ADDRESS:PORT`.
    fn with_end(&self, py: Python<'_>, end: &str) -> Vec<usize> {
        let find =
            |analysis: &Analysis| with_end(&FlowRows::of(analysis), end).into_iter().map(|index| index as usize + 1).collect();
        match &self.source {
            ReportSource::One(reader) => find(&reader.borrow(py).analysis),
            ReportSource::Two(reader) => find(&reader.borrow(py).sides[0].analysis),
        }
    }

    /// UDP flows of the first capture with these numbers, from 0.
    fn udp_flows<'py>(&self, py: Python<'py>, numbers: Vec<usize>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.with_udp(py, |udp| {
            numbers.iter().filter(|&&number| number < udp.flows.len()).map(|&number| to_object(py, &udp.row(number))).collect()
        })
    }

    /// Numbers of the `count` UDP flows of the first capture with most bytes, the largest first.
    fn largest_udp(&self, py: Python<'_>, count: usize) -> PyResult<Vec<usize>> {
        self.with_udp(py, |udp| {
            let mut numbers: Vec<usize> = (0..udp.flows.len()).collect();
            numbers.sort_by_key(|&number| std::cmp::Reverse(udp.flows[number].ip_bytes.iter().sum::<u64>()));
            numbers.truncate(count);
            Ok(numbers)
        })
    }

    /// Flows of the first capture as rows of a table: the fields of the JSON, lists left out.
    fn rows(&self, py: Python<'_>, numbers: Vec<usize>) -> PyResult<Table> {
        let mut table = FlatTable::default();
        self.with_diagnosis(py, |diagnosis| {
            numbers.iter().try_for_each(|&number| table.add(&diagnosis.row(self.index(0, number)?)).map_err(failure))
        })?;
        flow_columns(table).map(Table::new).map_err(failure)
    }

    /// The document as JSON in pieces: indented by 2, with a line for each flow. `series_left_out`: packets
    /// beyond the maximum number of rows, with a series. `with_rows`: for `DocumentText.rows`.
    #[pyo3(signature = (series_left_out = None, with_rows = false))]
    fn text(slf: Py<Self>, py: Python<'_>, series_left_out: Option<u64>, with_rows: bool) -> PyResult<DocumentText> {
        let mut report = slf.borrow_mut(py);
        report.head.series_left_out = series_left_out;
        let outline = Outline::of(&report.head).map_err(failure)?;
        drop(report);
        let table = with_rows.then(FlatTable::default);
        Ok(DocumentText { report: slf, outline, part: Part::Before, done: 0, builder: SummaryBuilder::default(), table })
    }
}

/// A part of the document's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Before,
    Flows,
    ToUdp,
    Udp,
    ToSecond,
    Second,
    After,
    End,
}

/// The text of a document in pieces.
#[pyclass]
pub struct DocumentText {
    report: Py<CaptureReport>,
    outline: Outline,
    part: Part,
    /// Flows of the present list that are written.
    done: usize,
    builder: SummaryBuilder,
    /// The rows of flows that are written and not taken.
    table: Option<FlatTable>,
}

#[pymethods]
impl DocumentText {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __next__<'py>(&mut self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyBytes>>> {
        let text = match self.part {
            Part::Before => {
                self.part = Part::Flows;
                mem::take(&mut self.outline.before).into_bytes()
            }
            Part::Flows => self.flows(py)?,
            Part::ToUdp => {
                self.part = Part::Udp;
                mem::take(&mut self.outline.to_udp).into_bytes()
            }
            Part::Udp => self.udp_flows(py)?,
            Part::ToSecond => {
                self.part = if self.outline.to_second.is_some() { Part::Second } else { Part::After };
                self.outline.to_second.take().unwrap_or_default().into_bytes()
            }
            Part::Second => self.second_flows(py)?,
            Part::After => {
                self.part = Part::End;
                mem::take(&mut self.outline.after).into_bytes()
            }
            Part::End => return Ok(None),
        };
        Ok(Some(PyBytes::new(py, &text)))
    }

    /// The rows of the flows of the first capture that are written since the last call, as `CaptureReport.rows` makes
    /// them; none if there are fewer than `min`.
    #[pyo3(signature = (min = 1))]
    fn rows(&mut self, min: usize) -> PyResult<Option<Table>> {
        let taken = self.table.as_mut().filter(|table| table.len() >= min.max(1)).map(mem::take);
        taken.map(|table| flow_columns(table).map(Table::new).map_err(failure)).transpose()
    }
}

impl DocumentText {
    /// The next numbers of a list of `count` flows, from `first`.
    fn batch(&self, count: usize) -> Range<usize> {
        self.done..count.min(self.done + BATCH)
    }

    /// The front of a piece of a list: a bracket, or a comma after the piece before.
    fn front(&self) -> Vec<u8> {
        vec![if self.done == 0 { b'[' } else { b',' }]
    }

    /// The piece with a bracket after the whole list of `count` flows, of which it has `written`; after its end the text
    /// goes on with `next`.
    fn list(&mut self, mut text: Vec<u8>, written: usize, count: usize, level: usize, next: Part) -> Vec<u8> {
        self.done += written;
        if self.done == count {
            if count > 0 {
                json_text::append_line_break(&mut text, level);
            }
            text.push(b']');
            (self.part, self.done) = (next, 0);
        }
        text
    }

    /// After the last flow the summary is known.
    fn flows(&mut self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let mut report = self.report.borrow_mut(py);
        let (count, batch) = (report.numbers.len(), self.batch(report.numbers.len()));
        let mut text = self.front();
        report.add_lines(py, &mut text, &report.numbers[batch.clone()], &mut self.builder, self.table.as_mut())?;
        if batch.end == count {
            report.head.summary = Some(self.builder.summary(&report.head));
            self.outline = Outline::of(&report.head).map_err(failure)?;
        }
        drop(report);
        Ok(self.list(text, batch.len(), count, 1, Part::ToUdp))
    }

    fn udp_flows(&mut self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let report = self.report.borrow(py);
        let count = report.with_udp(py, |udp| Ok(udp.flows.len()))?;
        let batch = self.batch(count);
        let mut text = self.front();
        report.add_udp_lines(py, &mut text, batch.clone())?;
        drop(report);
        Ok(self.list(text, batch.len(), count, 1, Part::ToSecond))
    }

    fn second_flows(&mut self, py: Python<'_>) -> PyResult<Vec<u8>> {
        let report = self.report.borrow(py);
        let (count, batch) = (report.counts[1], self.batch(report.counts[1]));
        let mut text = self.front();
        report.add_second_lines(py, &mut text, batch.clone())?;
        drop(report);
        Ok(self.list(text, batch.len(), count, 2, Part::After))
    }
}
