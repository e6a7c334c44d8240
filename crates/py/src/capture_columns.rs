//! A capture's packets as Arrow, under the names of `series.parquet` and `delays.parquet` (docs/analyze.md).

use crate::columns::table;
use ackclock_trace::flow::Side;
use ackclock_trace::join::{CaptureSide, Joined};
use ackclock_trace::series::{Packets, Row};
use arrow_array::builder::{Int64Builder, ListBuilder};
use arrow_array::{Array, ArrayRef, BooleanArray, Float32Array, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_array::{UInt8Array, UInt32Array};
use arrow_schema::ArrowError;
use std::sync::Arc;

/// How one capture's rows come into a table.
pub struct Placing<'a> {
    pub packets: &'a Packets,
    /// 1 or 2: the first capture named, or the second.
    pub capture: u8,
    /// The number of a flow in the document, from 1; none for flows that are not in it.
    pub flow: Box<dyn Fn(u32) -> Option<u32> + 'a>,
    /// Seconds from the first capture's first packet.
    pub time_s: Box<dyn Fn(i64) -> f64 + 'a>,
}

/// One row for each packet.
pub fn packets(placings: &[Placing<'_>]) -> Result<RecordBatch, ArrowError> {
    let mut rows: Vec<(u8, u32, f64, &Row)> = Vec::new();
    let mut sacks = ListBuilder::new(Int64Builder::new());
    for p in placings {
        let mut next = 0;
        for (number, row) in p.packets.rows.iter().enumerate() {
            let from = next;
            while p.packets.sacks.get(next).is_some_and(|s| s.0 as usize == number) {
                next += 1;
            }
            let Some(flow) = (p.flow)(row.flow) else { continue };
            rows.push((p.capture, flow, (p.time_s)(row.at), row));
            for &(_, left, right) in &p.packets.sacks[from..next] {
                sacks.values().append_value(left);
                sacks.values().append_value(right);
            }
            sacks.append(true);
        }
    }
    let of = |f: fn(&Row) -> u32| -> ArrayRef { Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| f(r.3)))) };
    let yes = |f: fn(&Row) -> bool| -> ArrayRef { Arc::new(BooleanArray::from_iter(rows.iter().map(|r| Some(f(r.3))))) };
    let ways = rows.iter().map(|r| if r.3.from_client { "a2b" } else { "b2a" });
    table([
        ("capture", Arc::new(UInt8Array::from_iter_values(rows.iter().map(|r| r.0))) as ArrayRef),
        ("flow", Arc::new(UInt32Array::from_iter_values(rows.iter().map(|r| r.1)))),
        ("time_s", Arc::new(Float64Array::from_iter_values(rows.iter().map(|r| r.2)))),
        ("way", Arc::new(StringArray::from_iter_values(ways))),
        ("kind", Arc::new(StringArray::from_iter_values(rows.iter().map(|r| r.3.kind.name())))),
        ("confidence", Arc::new(Float32Array::from_iter_values(rows.iter().map(|r| r.3.confidence)))),
        ("seq", Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.3.seq)))),
        ("payload_bytes", of(|r| r.payload)),
        ("ip_bytes", of(|r| r.ip_len)),
        ("ack", Arc::new(Int64Array::from_iter(rows.iter().map(|r| r.3.ack)))),
        ("duplicate_ack", yes(|r| r.duplicate_ack)),
        ("window_bytes", of(|r| r.window)),
        ("sack", Arc::new(sacks.finish()) as Arc<dyn Array>),
        ("outstanding_bytes", of(|r| r.in_flight)),
        ("peer_outstanding_bytes", of(|r| r.peer_in_flight)),
        ("rtt_ms", Arc::new(Float64Array::from_iter(rows.iter().map(|r| r.3.rtt.map(|ns| ns as f64 * 1e-6))))),
        ("spurious", of(|r| r.spurious)),
    ])
}

/// One row for each packet whose fate between the captures is known; a lost one has no delay.
pub fn delays(first: &CaptureSide, second: &CaptureSide, joined: &Joined) -> Result<RecordBatch, ArrowError> {
    let (mut flow, mut way, mut time, mut delay) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let origin = first.analysis.totals.first_at.unwrap_or(0);
    let known = first.analysis.flows();
    for f in &joined.flows {
        let client = known.get(f.number).client();
        for side in [Side::Low, Side::High] {
            let Some(direction) = &f.directions[side as usize] else { continue };
            let name = if side == client { "a2b" } else { "b2a" };
            for &(at, ns) in &direction.timeline {
                flow.push(f.number as u32 + 1);
                way.push(name);
                time.push(second_of(joined, origin, if direction.first_to_second { at } else { across(joined, second, at) }));
                delay.push(ns.map(|ns| ns as f64 * 1e-6));
            }
        }
    }
    table([
        ("flow", Arc::new(UInt32Array::from(flow)) as ArrayRef),
        ("way", Arc::new(StringArray::from_iter_values(way))),
        ("time_s", Arc::new(Float64Array::from(time))),
        ("delay_ms", Arc::new(Float64Array::from(delay))),
    ])
}

/// A time of the second capture by the first's clock; where the clocks could not be compared, its own since its beginning.
pub fn across(joined: &Joined, second: &CaptureSide, at: i64) -> i64 {
    match &joined.clock {
        Some(clock) => clock.across(at, false),
        None => at - second.analysis.totals.first_at.unwrap_or(0),
    }
}

/// Seconds from the first capture's first packet.
pub fn second_of(joined: &Joined, origin: i64, at: i64) -> f64 {
    let since = if joined.clock.is_some() { at.saturating_sub(origin) } else { at };
    since as f64 * 1e-9
}
