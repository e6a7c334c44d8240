//! What limits the flows of a run.

use crate::objects::{from_object, to_object};
use ackclock_diagnose::limit::{self, KINDS, LimitKind, PlanFigures, RunFigures};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The kinds of limit with their words, in order of precedence.
#[pyfunction]
pub fn limit_words(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    to_object(py, &KINDS.map(LimitKind::words))
}

/// `limits`, `limit` and `why` of each flow of a summary.
#[pyfunction]
pub fn explain_limits<'py>(summary: &Bound<'py, PyAny>, plan: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let (run, plan): (RunFigures, PlanFigures) = (from_object(summary)?, from_object(plan)?);
    to_object(summary.py(), &limit::explain(&run, &plan))
}

/// The facts of each TCP flow with packets; with `connections`, of each connection with the name of its
/// last part.
#[pyfunction]
pub fn limit_facts<'py>(
    summary: &Bound<'py, PyAny>,
    plan: &Bound<'py, PyAny>,
    connections: bool,
) -> PyResult<Bound<'py, PyDict>> {
    let (run, plan): (RunFigures, PlanFigures) = (from_object(summary)?, from_object(plan)?);
    let facts = if connections {
        limit::facts::of_connections(&run, &plan)
    } else {
        limit::facts::of_run(&run, &plan).into_iter().map(|flow| (flow.flow.clone(), flow)).collect()
    };
    let by_name = PyDict::new(summary.py());
    for (name, of) in facts {
        by_name.set_item(name, LimitFacts(of))?;
    }
    Ok(by_name)
}

/// The figures of one flow's limit, or their means over several flows or runs.
#[pyclass(frozen, module = "ackclock._native")]
pub struct LimitFacts(limit::LimitFacts);

#[pymethods]
impl LimitFacts {
    #[new]
    #[pyo3(signature = (shares, direction, **figures))]
    fn new(
        py: Python<'_>,
        shares: &Bound<'_, PyDict>,
        direction: &str,
        figures: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<LimitFacts> {
        let all = figures.map_or_else(|| Ok(PyDict::new(py)), |figures| figures.copy())?;
        let known = to_object(py, &limit::LimitFacts::default())?;
        for name in all.keys() {
            if !known.contains(&name)? {
                return Err(PyTypeError::new_err(format!("LimitFacts has no {name}")));
            }
        }
        all.set_item("shares", shares)?;
        all.set_item("direction", direction)?;
        if !all.contains("window_cap")? {
            all.set_item("window_cap", "buffer")?;
        }
        from_object(&all).map(LimitFacts)
    }

    /// The means of several flows or runs.
    #[staticmethod]
    fn mean(facts: Vec<PyRef<'_, LimitFacts>>) -> PyResult<LimitFacts> {
        let facts: Vec<limit::LimitFacts> = facts.iter().map(|facts| facts.0.clone()).collect();
        limit::LimitFacts::mean(&facts).map(LimitFacts).ok_or_else(|| PyValueError::new_err("a mean of nothing"))
    }

    /// `limit` of the documents, and its sentence `why`.
    fn decide<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let limit = self.0.decide();
        let object = to_object(py, &limit)?;
        object.set_item("why", limit.why)?;
        Ok(object)
    }

    #[getter]
    fn shares<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let shares = PyDict::new(py);
        for name in KINDS.map(LimitKind::name) {
            if let Some(share) = self.0.shares.get(name) {
                shares.set_item(name, share)?;
            }
        }
        Ok(shares)
    }

    /// The kind of limit with the largest share.
    #[getter]
    fn kind(&self) -> &'static str {
        self.0.kind().name()
    }

    /// Why cwnd was reduced most often.
    #[getter]
    fn loss(&self) -> &'static str {
        self.0.loss()
    }

    #[getter]
    fn direction(&self) -> &str {
        &self.0.direction
    }

    #[getter]
    fn flow(&self) -> &str {
        &self.0.flow
    }

    #[getter]
    fn bottleneck(&self) -> &str {
        &self.0.bottleneck
    }

    #[getter]
    fn ack_hop(&self) -> &str {
        &self.0.ack_hop
    }

    #[getter]
    fn loss_hop(&self) -> &str {
        &self.0.loss_hop
    }

    #[getter]
    fn window_cap(&self) -> &str {
        &self.0.window_cap
    }

    #[getter]
    fn window_bytes(&self) -> f64 {
        self.0.window_bytes
    }

    #[getter]
    fn window_rtt_ms(&self) -> f64 {
        self.0.window_rtt_ms
    }
}
