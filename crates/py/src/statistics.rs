//! The statistics kernel for `ackclock.statistics`.

use crate::errors::failure;
use ackclock_core::statistics::SummaryStats;
use pyo3::prelude::*;

/// The summary of values as JSON; all but `count` are null without values.
#[pyfunction]
pub fn summary_stats(values: Vec<f64>) -> PyResult<String> {
    serde_json::to_string(&SummaryStats::of(values)).map_err(failure)
}
