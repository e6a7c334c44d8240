//! The emulator.

use crate::errors::{failure, of_emulation, of_plan};
use ackclock_emu::EmulationConfig;
use ackclock_sim::Plan;
use pyo3::prelude::*;

/// Runs a command behind a plan's link in real time. Plan, options and the returned report are JSON
/// (`docs/inside/plan.md`). The calling process moves into a network namespace of its own
/// permanently. PlanError, InputError: bad input; FailedError: a system call or the emulation
/// failed.
#[pyfunction]
pub fn emulate(py: Python<'_>, plan: &str, options: &str) -> PyResult<String> {
    let plan = Plan::from_json(plan).map_err(of_plan)?;
    let config = EmulationConfig::from_json(options).map_err(of_emulation)?;
    let report = py.detach(|| ackclock_emu::emulate(&plan, &config)).map_err(of_emulation)?;
    serde_json::to_string(&report).map_err(failure)
}
