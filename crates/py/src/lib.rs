//! The Python module `ackclock._native`: unwrap, call, wrap. Defaults, units and documents are Python's; models are the core's.

mod capture_columns;
mod captures;
mod columns;
mod control;
mod errors;
mod hear;
mod live;
mod models;
mod patient;
mod statistics;
mod table;

use ackclock_core::Problem;
use ackclock_emu::EmulationConfig;
use ackclock_sim::{Plan, RunError, catalogue::catalogue as all, run_while};
use control::Faults;
use errors::failure;
use hear::{PyAck, PyCongestion, PyLoss};
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use table::Table;

/// What one run leaves behind.
#[pyclass(frozen)]
struct Run {
    summary: String,
    series: Table,
    hops: Table,
}

#[pymethods]
impl Run {
    /// The figures, as JSON.
    fn summary(&self) -> &str {
        &self.summary
    }

    /// TCP flows over time, as an Arrow table.
    fn series(&self) -> Table {
        self.series.clone()
    }

    /// Queues over time, as an Arrow table.
    fn hops(&self) -> Table {
        self.hops.clone()
    }
}

create_exception!(ackclock._native, ControlError, PyException, "A congestion control raised; its exception is the cause.");

/// Runs a plan (JSON) with these congestion controls (name to class). PlanError; FailedError: a failed run; ControlError: one
/// of the congestion controls raised. Other threads run meanwhile, and signals are seen.
#[pyfunction]
#[pyo3(signature = (plan, controls = None))]
fn run(py: Python<'_>, plan: &str, controls: Option<&Bound<'_, PyDict>>) -> PyResult<Run> {
    let faults = Faults::default();
    let variants = controls.map_or_else(|| Ok(Vec::new()), |classes| control::variants(classes, &faults))?;
    let mut signal = None;
    let done = py.detach(|| {
        let plan = Plan::from_json(plan)?.with_variants(variants);
        let mut keep_going = || {
            signal = Python::attach(|py| py.check_signals()).err();
            signal.is_none() && !faults.any()
        };
        let result = run_while(&plan, &mut keep_going)?;
        Ok::<_, RunError>((plan, result))
    });
    if let Some(raised) = signal {
        return Err(raised);
    }
    if let Some(raised) = faults.take() {
        let error = ControlError::new_err(raised.to_string());
        error.set_cause(py, Some(raised));
        return Err(error);
    }
    let (plan, result) = done.map_err(errors::of_run)?;
    let summary = serde_json::to_string(&result.summary).map_err(failure)?;
    let series = columns::series(&plan, &result.series).map_err(failure)?;
    let hops = columns::hops(&plan, &result.hops).map_err(failure)?;
    Ok(Run { summary, series: Table::new(series), hops: Table::new(hops) })
}

/// Runs a command behind a plan's link, in real time; both are JSON (`docs/plan.md`), and so is what comes back. The process moves into a
/// network namespace of its own for good. PlanError, InputError; FailedError: the machine refused, or the emulation failed.
#[pyfunction]
fn emulate(py: Python<'_>, plan: &str, options: &str) -> PyResult<String> {
    let plan = Plan::from_json(plan).map_err(errors::of_plan)?;
    let config = EmulationConfig::from_json(options).map_err(errors::of_emulation)?;
    let report = py.detach(|| ackclock_emu::emulate(&plan, &config)).map_err(errors::of_emulation)?;
    serde_json::to_string(&report).map_err(failure)
}

/// What a plan may name, as JSON.
#[pyfunction]
fn catalogue() -> PyResult<String> {
    serde_json::to_string(&all()).map_err(failure)
}

/// The most that an 802.16 cell (JSON, as in a plan) carries down and up in bits a second. InputError: what is wrong with it.
#[pyfunction]
fn wimax_bps(cell: &str) -> PyResult<(u64, u64)> {
    let [down, up] = Plan::wimax_bps(cell).map_err(|why| errors::refusal(Problem::new(why, "change the medium's keys")))?;
    Ok((down, up))
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Run>()?;
    module.add_class::<Table>()?;
    module.add_class::<captures::CaptureReader>()?;
    module.add_class::<captures::CapturePairReader>()?;
    module.add_class::<PyAck>()?;
    module.add_class::<PyCongestion>()?;
    module.add_class::<PyLoss>()?;
    let py = module.py();
    module.add("ControlError", py.get_type::<ControlError>())?;
    module.add("NativeError", py.get_type::<errors::NativeError>())?;
    module.add("InputError", py.get_type::<errors::InputError>())?;
    module.add("PlanError", py.get_type::<errors::PlanError>())?;
    module.add("FailedError", py.get_type::<errors::FailedError>())?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_function(wrap_pyfunction!(emulate, module)?)?;
    module.add_class::<live::LiveSession>()?;
    module.add_function(wrap_pyfunction!(live::serve, module)?)?;
    module.add_function(wrap_pyfunction!(live::ackclockd, module)?)?;
    module.add_function(wrap_pyfunction!(live::path_walk, module)?)?;
    module.add_function(wrap_pyfunction!(live::default_caps, module)?)?;
    module.add_function(wrap_pyfunction!(live::new_token, module)?)?;
    module.add_function(wrap_pyfunction!(live::read_token, module)?)?;
    module.add_function(wrap_pyfunction!(live::stamp, module)?)?;
    module.add_function(wrap_pyfunction!(live::responsiveness, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(wimax_bps, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::summary_stats, module)?)?;
    module.add_function(wrap_pyfunction!(statistics::nearest_rank, module)?)?;
    module.add_function(wrap_pyfunction!(models::window_over_rtt, module)?)?;
    module.add_function(wrap_pyfunction!(models::mathis, module)?)?;
    module.add_function(wrap_pyfunction!(models::padhye_full, module)?)?;
    module.add_function(wrap_pyfunction!(models::padhye_approx, module)?)?;
    module.add_function(wrap_pyfunction!(models::cubic_response, module)?)
}
