//! The emulator.

use crate::ControlError;
use crate::errors::{FailedError, failure, of_emulation, of_plan, raised};
use crate::objects::to_object;
use crate::python_cc::{Faults, UserCode};
use ackclock_core::Problem;
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

/// Runs one end of the calls, games, pages and bulk transfers of a plan as programs over the kernel's
/// sockets, until the plan's duration is over. Plan and options are JSON
/// ([`ackclock_programs::ProgramsConfig`]); so is the result, which `program_rows` reads.
/// PlanError: bad input; FailedError: a socket was refused, or the other end did not start.
#[pyfunction]
pub fn run_programs(py: Python<'_>, plan: &str, options: &str) -> PyResult<String> {
    let plan = Plan::from_json(plan).map_err(of_plan)?;
    let config = serde_json::from_str(options).map_err(failure)?;
    let report = py.detach(|| ackclock_programs::run(&plan, &config));
    let report = report.map_err(|error| raised::<FailedError>(Problem::new(error.to_string(), "")))?;
    serde_json::to_string(&report).map_err(failure)
}

/// What the programs of a plan report, a dict for each, of the results of both ends in any order.
/// PlanError, FailedError: bad input.
#[pyfunction]
pub fn program_rows<'py>(py: Python<'py>, plan: &str, one: &str, other: &str) -> PyResult<Bound<'py, PyAny>> {
    let plan = Plan::from_json(plan).map_err(of_plan)?;
    let read = |text: &str| serde_json::from_str(text).map_err(failure);
    to_object(py, &ackclock_programs::rows(&plan, &[read(one)?, read(other)?]))
}
