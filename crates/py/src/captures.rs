//! Captures for Python: opened, read piece by piece, reported.

use ackclock_trace::analyze::{Analysis, Only};
use ackclock_trace::join::{Taken, join};
use ackclock_trace::read::{Capture, ReadError};
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

/// Two captures of the same traffic being read, one after the other. ValueError as above.
#[pyclass]
pub struct CapturePairReader {
    taken: [Taken; 2],
}

#[pymethods]
impl CapturePairReader {
    #[new]
    fn new(first: PathBuf, second: PathBuf, only: &str) -> PyResult<CapturePairReader> {
        let only: Only = serde_json::from_str(only).map_err(refusal)?;
        let open = |path: PathBuf| -> PyResult<Taken> {
            let capture = Capture::open(&path).map_err(|e| PyValueError::new_err((path.display().to_string(), e.to_string())))?;
            Ok(Taken::new(capture, only.clone()))
        };
        Ok(CapturePairReader { taken: [open(first)?, open(second)?] })
    }

    /// Takes up to `most` packets; the number taken, less than that only at the end of both.
    fn advance(&mut self, py: Python<'_>, most: u64) -> PyResult<u64> {
        let [first, second] = &mut self.taken;
        py.detach(|| {
            let taken = first.read(most)?;
            Ok::<u64, ReadError>(taken + if taken < most { second.read(most - taken)? } else { 0 })
        })
        .map_err(refusal)
    }

    fn finish(&mut self) {
        for taken in &mut self.taken {
            taken.capture.finish();
        }
    }

    /// Matches them, as JSON.
    fn report(&self, py: Python<'_>) -> PyResult<String> {
        let [first, second] = &self.taken;
        py.detach(|| serde_json::to_string(&Report::joined(first, second, &join(first, second))))
            .map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }
}

fn refusal(error: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}
