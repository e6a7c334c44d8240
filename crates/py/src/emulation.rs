//! The emulator.

use crate::errors::{of_emulation, of_plan};
use crate::objects::to_object;
use ackclock_emu::EmulationConfig;
use ackclock_sim::Plan;
use pyo3::prelude::*;

/// Runs a command behind a plan's link in real time. Plan and options are JSON
/// (`docs/inside/plan.md`). The calling process moves into a network namespace of its own
/// permanently. PlanError, InputError: bad input; FailedError: a system call or the emulation
/// failed.
#[pyfunction]
pub fn emulate<'py>(py: Python<'py>, plan: &str, options: &str) -> PyResult<Bound<'py, PyAny>> {
    let plan = Plan::from_json(plan).map_err(of_plan)?;
    let config = EmulationConfig::from_json(options).map_err(of_emulation)?;
    let report = py.detach(|| ackclock_emu::emulate(&plan, &config)).map_err(of_emulation)?;
    to_object(py, &report)
}
