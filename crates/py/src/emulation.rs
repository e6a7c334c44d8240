//! The emulator.

use crate::ControlError;
use crate::errors::{of_emulation, of_plan};
use crate::objects::to_object;
use crate::python_cc::{Faults, UserCode};
use ackclock_emu::EmulationConfig;
use ackclock_sim::Plan;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Runs a command behind a plan's link in real time. Plan and options are JSON
/// (`docs/inside/plan.md`). The calling process moves into a network namespace of its own
/// permanently. `classes` are congestion controls and rate controllers of the user (name to class).
/// PlanError, InputError: bad input; FailedError: a system call or the emulation failed; ControlError:
/// one of the classes raised.
#[pyfunction]
#[pyo3(signature = (plan, options, classes = None))]
pub fn emulate<'py>(
    py: Python<'py>,
    plan: &str,
    options: &str,
    classes: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let faults = Faults::default();
    let plan = UserCode::of(classes, &faults)?.pass_to(Plan::from_json(plan).map_err(of_plan)?);
    let config = EmulationConfig::from_json(options).map_err(of_emulation)?;
    let report = py.detach(|| ackclock_emu::emulate(&plan, &config)).map_err(of_emulation);
    if let Some(raised) = faults.take() {
        let error = ControlError::new_err(raised.to_string());
        error.set_cause(py, Some(raised));
        return Err(error);
    }
    let report = report?;
    to_object(py, &report)
}
