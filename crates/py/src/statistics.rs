//! The statistics kernel for `ackclock.statistics`.

use crate::objects::to_object;
use ackclock_core::statistics::SummaryStats;
use pyo3::prelude::*;

/// The summary of values; all but `count` are None without values.
#[pyfunction]
pub fn summary_stats(py: Python<'_>, values: Vec<f64>) -> PyResult<Bound<'_, PyAny>> {
    to_object(py, &SummaryStats::of(values))
}
