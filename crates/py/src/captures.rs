//! Captures for Python: opened, read piece by piece, reported.

use ackclock_trace::analyze::{Analysis, Only};
use ackclock_trace::read::Capture;
use ackclock_trace::report::Report;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use std::path::PathBuf;

/// A capture being read. ValueError: not a capture, or not readable.
#[pyclass]
pub struct CaptureReader {
    capture: Capture,
    analysis: Analysis,
}

#[pymethods]
impl CaptureReader {
    /// `only` is JSON: which packets count.
    #[new]
    fn new(path: PathBuf, only: &str) -> PyResult<CaptureReader> {
        let only: Only = serde_json::from_str(only).map_err(refusal)?;
        let capture = Capture::open(&path).map_err(refusal)?;
        Ok(CaptureReader { capture, analysis: Analysis::new(only) })
    }

    /// Takes up to `most` packets of what there is now; the number taken. Other threads run meanwhile.
    fn advance(&mut self, py: Python<'_>, most: u64) -> PyResult<u64> {
        let CaptureReader { capture, analysis } = self;
        py.detach(|| analysis.read(capture, &mut (), most)).map_err(refusal)
    }

    /// Nothing more will come: a record that is not whole is damage.
    fn finish(&mut self) {
        self.capture.finish();
    }

    /// The figures so far, as JSON.
    fn report(&self) -> PyResult<String> {
        serde_json::to_string(&Report::of(&self.analysis, &self.capture)).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

fn refusal(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
