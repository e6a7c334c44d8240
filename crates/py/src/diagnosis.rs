//! The findings' table, the numbers of sentences, and what tables of an analysis show of a stored
//! document.

use crate::objects::{from_object, to_object};
use ackclock_contract::Document;
use ackclock_core::statistics::SummaryStats;
use ackclock_diagnose::capture::{self, LimitShares, QueueDelays, RULES};
use ackclock_diagnose::number_text;
use ackclock_trace::report::{AckGaps, DirectionReport, Limits};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::{Deserialize, Serialize};

/// A finding in `ackclock explain` and in the reference.
#[derive(Serialize, Document)]
pub struct FindingText {
    name: &'static str,
    group: &'static str,
    text: &'static str,
}

/// The findings of `analyze` in the order of the reference.
#[pyfunction]
pub fn findings(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let mut rules: Vec<_> = RULES.iter().collect();
    rules.sort_by_key(|rule| (rule.group, rule.place));
    let texts: Vec<FindingText> =
        rules.iter().map(|rule| FindingText { name: rule.code, group: rule.group.title(), text: rule.explanation }).collect();
    to_object(py, &texts)
}

/// Whether an inferred buffer is more than jitter.
#[pyfunction]
pub fn has_queue(max_bytes: Option<f64>, rate_bps: Option<f64>) -> bool {
    capture::has_queue(max_bytes, rate_bps)
}

/// The share of a direction's time by kind of limit, from its `limited` and the delays of its data and
/// of its ACKs between two captures.
#[pyfunction]
pub fn capture_limit_shares<'py>(
    py: Python<'py>,
    limited: &Bound<'py, PyAny>,
    data_ms: Option<&Bound<'py, PyAny>>,
    acks_ms: Option<&Bound<'py, PyAny>>,
    min_rtt_ms: f64,
) -> PyResult<Bound<'py, PyDict>> {
    let limited: Limits = from_object(limited)?;
    let delay = |object: Option<&Bound<'py, PyAny>>| object.map(from_object::<SummaryStats>).transpose();
    let (data_ms, acks_ms) = (delay(data_ms)?, delay(acks_ms)?);
    let queued_share = limited.path_rate.unwrap_or(0.0);
    let delays = QueueDelays { data_ms: data_ms.as_ref(), acks_ms: acks_ms.as_ref(), min_rtt_ms, queued_share };
    let shares = LimitShares::new(&limited, delays.is_of_acks());
    let by_kind = PyDict::new(py);
    for kind in LimitShares::KINDS {
        by_kind.set_item(kind.name(), shares.share(kind))?;
    }
    Ok(by_kind)
}

/// What the throughput models read of a direction.
#[derive(Deserialize)]
struct ModelFigures {
    segments: u64,
    largest_segment_bytes: u32,
    rtt_ms: SummaryStats,
    limited: Option<Limits>,
    repairs: LossEvents,
    ack_interarrival_ms: AckFigures,
    advertised_window_bytes: MaxWindow,
}

#[derive(Deserialize)]
struct LossEvents {
    recoveries: u32,
    timeouts: u32,
}

#[derive(Deserialize)]
struct AckFigures {
    segments_per_ack: Option<f64>,
}

#[derive(Deserialize)]
struct MaxWindow {
    max: Option<u32>,
}

/// Rates of throughput models for a direction's losses, in bit/s: of Reno by ACKs and by segments, and
/// of CUBIC. None below three loss events, and where the capture does not show the sender's RTT.
#[pyfunction]
pub fn loss_models(figures: &Bound<'_, PyAny>) -> PyResult<Option<(f64, f64, f64)>> {
    let figures: ModelFigures = from_object(figures)?;
    let acks = AckGaps { segments_per_ack: figures.ack_interarrival_ms.segments_per_ack, ..AckGaps::default() };
    let mut report = DirectionReport {
        segments: figures.segments,
        largest_segment_bytes: figures.largest_segment_bytes,
        rtt_ms: figures.rtt_ms,
        limited: figures.limited,
        ack_interarrival_ms: acks,
        ..DirectionReport::default()
    };
    report.repairs.recoveries = figures.repairs.recoveries;
    report.repairs.timeouts = figures.repairs.timeouts;
    report.advertised_window_bytes.max = figures.advertised_window_bytes.max;
    Ok(capture::models_of(&report).map(|rates| (rates.padhye_bps, rates.counted_bps, rates.cubic_bps)))
}

#[pyfunction]
pub fn significant(value: f64, digits: usize) -> String {
    number_text::significant(value, digits.max(1))
}

#[pyfunction]
pub fn rate_text(bps: Option<f64>) -> String {
    number_text::rate(bps)
}

#[pyfunction]
pub fn rate_range_text(low: f64, high: f64) -> String {
    number_text::rate_range(low, high)
}

#[pyfunction]
pub fn percent_text(share: Option<f64>) -> String {
    number_text::percent(share)
}

#[pyfunction]
pub fn milliseconds_text(value: Option<f64>) -> String {
    number_text::milliseconds(value)
}

/// A share in percent, without decimals from 10 % on.
#[pyfunction]
pub fn share_text(share: f64) -> String {
    number_text::share_text(share)
}

/// Measured bytes with a decimal prefix.
#[pyfunction]
pub fn size_text(bytes: f64) -> String {
    number_text::size(bytes)
}

/// A mean number of things.
#[pyfunction]
pub fn count_text(number: f64, noun: &str, nouns: &str) -> String {
    number_text::count(number, noun, nouns)
}
