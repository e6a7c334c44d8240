//! The statistics kernel for `ackclock.statistics`.

use crate::errors::failure;
use ackclock_core::statistics;
use pyo3::prelude::*;

/// The summary of a list of values as JSON; all but `count` are null without values.
#[pyfunction]
pub fn summary_stats(values: Vec<f64>) -> PyResult<String> {
    serde_json::to_string(&statistics::SummaryStats::of(values)).map_err(failure)
}

/// The rank (from 1) of the quantile `q` (0 to 1) of `count` values; 0 without values.
#[pyfunction]
pub fn nearest_rank(count: u64, q: f64) -> u64 {
    statistics::nearest_rank(count, q)
}
