//! The packets of a capture as Arrow columns: `series.parquet` and `delays.parquet`
//! (docs/reference/analyze.md).

use crate::run_columns::table;
use ackclock_trace::flow::{KindRule, Side};
use ackclock_trace::join::{CaptureSide, Joined};
use ackclock_trace::report::{FlatTable, FlatValues};
use ackclock_trace::series::{Packets, Row};
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, NullArray, RecordBatch, StringArray};
use arrow_array::{UInt8Array, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use std::sync::Arc;

/// The rows of one capture, and their place in the table.
pub struct CaptureRows<'a> {
    pub packets: &'a Packets,
    /// 1: the first capture, 2: the second.
    pub capture: u8,
    /// Number of a flow in the document, from 1; none for flows that are not in the document.
    pub flow: Box<dyn Fn(u32) -> Option<u32> + 'a>,
    /// Seconds since the first packet of the first capture.
    pub time_s: Box<dyn Fn(i64) -> f64 + 'a>,
}

/// A row for each packet.
pub fn packets(captures: &[CaptureRows<'_>]) -> Result<RecordBatch, ArrowError> {
    let (mut numbers, mut flows, mut times) = (Vec::new(), Vec::new(), Vec::new());
    let mut rows: Vec<&Row> = Vec::new();
    let mut sacks = ListBuilder::new(Int64Builder::new());
    for capture in captures {
        let count = capture.packets.rows.len();
        numbers.reserve(count);
        flows.reserve(count);
        times.reserve(count);
        rows.reserve(count);
        let mut next_sack = 0;
        for (number, row) in capture.packets.rows.iter().enumerate() {
            let first_sack = next_sack;
            while capture.packets.sacks.get(next_sack).is_some_and(|sack| sack.0 as usize == number) {
                next_sack += 1;
            }
            let Some(flow) = (capture.flow)(row.flow) else { continue };
            numbers.push(capture.capture);
            flows.push(flow);
            times.push((capture.time_s)(row.at));
            rows.push(row);
            for &(_, left, right) in &capture.packets.sacks[first_sack..next_sack] {
                sacks.values().append_value(left);
                sacks.values().append_value(right);
            }
            sacks.append(true);
        }
    }
    let count = |f: fn(&Row) -> u32| -> ArrayRef { Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| f(r)))) };
    let flag = |f: fn(&Row) -> bool| -> ArrayRef { Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(f(r))))) };
    let directions = rows.iter().map(|r| if r.from_client { "a2b" } else { "b2a" });
    table([
        ("capture", Arc::new(UInt8Array::from(numbers)) as ArrayRef),
        ("flow", Arc::new(UInt32Array::from(flows))),
        ("frame", Arc::new(UInt64Array::from_iter_values(rows.iter().map(|r| r.frame)))),
        ("time_s", Arc::new(Float64Array::from(times))),
        ("way", Arc::new(StringArray::from_iter_values(directions))),
        ("kind", Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.kind.name())))),
        ("confidence", Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.confidence)))),
        ("rule", Arc::new(StringArray::from_iter(rows.iter().map(|r| r.rule.map(KindRule::name))))),
        ("seq", Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.seq)))),
        ("payload_bytes", count(|r| r.payload)),
        ("ip_bytes", count(|r| r.ip_len)),
        ("ack", Arc::new(Int64Array::from_iter(rows.iter().map(|r| r.ack)))),
        ("duplicate_ack", flag(|r| r.duplicate_ack)),
        ("window_bytes", count(|r| r.window)),
        ("sack", Arc::new(sacks.finish()) as Arc<dyn Array>),
        ("outstanding_bytes", count(|r| r.in_flight)),
        ("peer_outstanding_bytes", count(|r| r.peer_in_flight)),
        ("rtt_ms", Arc::new(Float64Array::from_iter(rows.iter().map(|r| r.rtt.map(|ns| ns as f64 * 1e-6))))),
        ("spurious", count(|r| r.spurious)),
    ])
}

/// A row for each flow.
pub fn flow_columns(table: FlatTable) -> Result<RecordBatch, ArrowError> {
    let columns = table.into_columns().into_iter().map(|column| {
        let values: ArrayRef = match column.values {
            FlatValues::Null(rows) => Arc::new(NullArray::new(rows)),
            FlatValues::Bool(values) => Arc::new(BooleanArray::from(values)),
            FlatValues::Int(values) => Arc::new(Int64Array::from(values)),
            FlatValues::Real(values) => Arc::new(Float64Array::from(values)),
            FlatValues::Text(values) => Arc::new(StringArray::from(values)),
        };
        (column.name, values, true)
    });
    RecordBatch::try_from_iter_with_nullable(columns)
}

/// A row for each packet that arrived or was lost between the captures. The delay of a lost packet
/// is null.
pub fn delays(first: &CaptureSide, second: &CaptureSide, joined: &Joined) -> Result<RecordBatch, ArrowError> {
    let (mut flow, mut names, mut time, mut delay) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let origin = first.analysis.totals.first_at.unwrap_or(0);
    let flows = first.analysis.flows();
    for f in &joined.flows {
        let client = flows.get(f.number).client();
        for side in [Side::Low, Side::High] {
            let Some(direction) = &f.directions[side as usize] else { continue };
            let name = if side == client { "a2b" } else { "b2a" };
            for &(at, ns) in &direction.timeline {
                flow.push(f.number as u32 + 1);
                names.push(name);
                time.push(seconds_since(
                    joined,
                    origin,
                    if direction.first_to_second { at } else { on_first_clock(joined, second, at) },
                ));
                delay.push(ns.map(|ns| ns as f64 * 1e-6));
            }
        }
    }
    table([
        ("flow", Arc::new(UInt32Array::from(flow)) as ArrayRef),
        ("way", Arc::new(StringArray::from_iter_values(names))),
        ("time_s", Arc::new(Float64Array::from(time))),
        ("delay_ms", Arc::new(Float64Array::from(delay))),
    ])
}

/// A time of the second capture on the clock of the first; without a clock comparison, the time
/// since the second capture's first packet.
pub fn on_first_clock(joined: &Joined, second: &CaptureSide, at: i64) -> i64 {
    match &joined.clock {
        Some(clock) => clock.convert(at, false),
        None => at - second.analysis.totals.first_at.unwrap_or(0),
    }
}

/// Seconds since the first packet of the first capture.
pub fn seconds_since(joined: &Joined, origin: i64, at: i64) -> f64 {
    let since = if joined.clock.is_some() { at.saturating_sub(origin) } else { at };
    since as f64 * 1e-9
}
