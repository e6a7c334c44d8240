//! The time series of runs as Arrow columns: `series.parquet` and `hops.parquet`.

use ackclock_sim::Plan;
use ackclock_sim::recorder::{HopSeries, Series};
use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array};
use arrow_schema::ArrowError;
use std::sync::Arc;

/// One run of several: its number, plan and seed, and its samples.
pub type Numbered<'a, T> = (u64, &'a Plan, u64, &'a T);

/// The time series of several runs, with the number of the run in the column `run`.
pub fn series_of_runs<'a>(runs: impl Iterator<Item = Numbered<'a, Series>>) -> Result<RecordBatch, ArrowError> {
    concatenated(runs.map(|(run, plan, seed, s)| numbered(run, &series(plan, seed, s)?)))
}

/// The samples of the queues of several runs, with the number of the run in the column `run`.
pub fn hops_of_runs<'a>(runs: impl Iterator<Item = Numbered<'a, HopSeries>>) -> Result<RecordBatch, ArrowError> {
    let runs: Vec<Numbered<'a, HopSeries>> = runs.collect();
    let with_rates = runs.iter().any(|(_, plan, ..)| plan.controls_rates());
    concatenated(runs.into_iter().map(|(run, plan, seed, s)| numbered(run, &hop_columns(plan, seed, s, with_rates)?)))
}

/// The summaries of several runs as JSON, with the number of the run in the column `run`.
pub fn summaries_of_runs(first: u64, texts: &[String]) -> Result<RecordBatch, ArrowError> {
    table([
        ("run", Arc::new((first..).take(texts.len()).map(Some).collect::<UInt64Array>()) as ArrayRef),
        ("summary", text(texts.iter().map(String::as_str))),
    ])
}

fn numbered(run: u64, batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let number = constant(run, batch.num_rows());
    let schema = batch.schema();
    let columns = schema.fields().iter().map(|field| field.name().clone()).zip(batch.columns().iter().cloned());
    RecordBatch::try_from_iter_with_nullable(
        std::iter::once(("run".to_owned(), number)).chain(columns).map(|(name, array)| (name, array, true)),
    )
}

fn concatenated(batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>) -> Result<RecordBatch, ArrowError> {
    let batches = batches.collect::<Result<Vec<_>, _>>()?;
    let first = batches.first().ok_or_else(|| ArrowError::InvalidArgumentError("no runs".into()))?;
    arrow_select::concat::concat_batches(&first.schema(), &batches)
}

/// A row for each flow and sample.
pub fn series(plan: &Plan, seed: u64, s: &Series) -> Result<RecordBatch, ArrowError> {
    let flow = s.flow.iter().map(|&i| plan.flows[i as usize].name.as_str());
    table([
        ("seed", constant(seed, s.flow.len())),
        ("flow", text(flow)),
        ("time_s", real(&s.time_s)),
        ("cwnd_bytes", real(&s.cwnd_bytes)),
        ("ssthresh_bytes", nullable(&s.ssthresh_bytes)),
        ("srtt_ms", nullable(&s.srtt_ms)),
        ("flight_bytes", count(&s.flight_bytes)),
        ("delivered_bytes", count(&s.delivered_bytes)),
        ("retransmitted_segments", count(&s.retransmitted_segments)),
    ])
}

/// A row for each queue and sample; with the rates of shapers if one of them is controlled.
pub fn hops(plan: &Plan, seed: u64, s: &HopSeries) -> Result<RecordBatch, ArrowError> {
    hop_columns(plan, seed, s, plan.controls_rates())
}

fn hop_columns(plan: &Plan, seed: u64, s: &HopSeries, with_rates: bool) -> Result<RecordBatch, ArrowError> {
    let hop = s.hop.iter().map(|&i| plan.hops[i as usize].name.as_str());
    let mut columns = vec![
        ("seed", constant(seed, s.hop.len())),
        ("hop", text(hop)),
        ("direction", text(s.direction.iter().copied())),
        ("station", Arc::new(UInt32Array::from(s.station.clone()))),
        ("time_s", real(&s.time_s)),
        ("queue_packets", count(&s.queue_packets)),
        ("queue_bytes", count(&s.queue_bytes)),
        ("drops", count(&s.drops)),
        ("marks", count(&s.marks)),
        ("delivered_bytes", count(&s.delivered_bytes)),
    ];
    if with_rates {
        columns.push(("shaper_rate_bps", Arc::new(UInt64Array::from(s.shaper_rate_bps.clone()))));
    }
    table(columns)
}

pub fn table<'a>(columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    // Every column is nullable, so that an empty table has the schema of a full one.
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true)))
}

fn constant(value: u64, rows: usize) -> ArrayRef {
    Arc::new(UInt64Array::from_value(value, rows))
}

fn text<'a>(values: impl Iterator<Item = &'a str>) -> ArrayRef {
    Arc::new(StringArray::from_iter_values(values))
}

fn real(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn nullable(values: &[Option<f64>]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

fn count(values: &[u64]) -> ArrayRef {
    Arc::new(UInt64Array::from(values.to_vec()))
}
