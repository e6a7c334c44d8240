//! The Python module `ackclock._native`: converts arguments, calls the crates, converts results. It
//! decides nothing: keys and their defaults are those of `ackclock_scenario`, findings and limits
//! those of `ackclock_diagnose`.

mod batch;
mod capture_columns;
mod capture_report;
mod captures;
mod cc_events;
mod diagnosis;
mod documents;
mod drafts;
#[cfg(target_os = "linux")]
mod emulation;
mod errors;
mod hunts;
mod limits;
mod link_fit;
#[cfg(target_os = "linux")]
mod measurement;
mod models;
mod nonblocking_reader;
mod objects;
mod packetdrill;
mod python_cc;
mod python_rate_controller;
mod run_columns;
mod scenarios;
mod statistics;
mod table;
mod tables;

use ackclock_core::link::Framing;
use ackclock_core::medium::grants::DirectionConfig;
use ackclock_sim::summary::Summary;
use ackclock_sim::{Plan, RunError, catalogue::catalogue as all, run_while};
use cc_events::{PyAck, PyCongestion, PyLoss};
use errors::failure;
use pyo3::create_exception;
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use python_cc::{Faults, UserCode};
use python_rate_controller::PyRateSample;
use table::Table;

/// The results of one run.
#[pyclass(frozen)]
struct Run {
    summary: Summary,
    series: Table,
    hops: Table,
}

#[pymethods]
impl Run {
    /// The fields of `simulate --json`.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        objects::to_object(py, &self.summary)
    }

    /// Time series of TCP flows, as an Arrow table.
    fn series(&self) -> Table {
        self.series.clone()
    }

    /// Time series of queues, as an Arrow table.
    fn hops(&self) -> Table {
        self.hops.clone()
    }
}

create_exception!(ackclock._native, ControlError, PyException, "A class in Python raised; its exception is the cause.");

/// Runs a plan (JSON) with these congestion controls and rate controllers (name to class), without the
/// GIL; checks for signals. PlanError: the plan is rejected; FailedError: the run failed; ControlError:
/// one of the classes raised.
#[pyfunction]
#[pyo3(signature = (plan, controls = None))]
fn run(py: Python<'_>, plan: &str, controls: Option<&Bound<'_, PyDict>>) -> PyResult<Run> {
    let faults = Faults::default();
    let code = UserCode::of(controls, &faults)?;
    let mut signal = None;
    let outcome = py.detach(|| {
        let plan = code.pass_to(Plan::from_json(plan)?);
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
    let (plan, result) = outcome.map_err(errors::of_run)?;
    let series = run_columns::series(&plan, plan.seed, &result.series).map_err(failure)?;
    let hops = run_columns::hops(&plan, plan.seed, &result.hops).map_err(failure)?;
    Ok(Run { summary: result.summary, series: Table::new(series), hops: Table::new(hops) })
}

/// The catalogue of variants, recoveries, slow starts and queues.
#[pyfunction]
fn catalogue(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    objects::to_object(py, &all())
}

/// Bytes on the line of a TCP packet of this size that is no SYN, FIN or RST. `framing` is that of a
/// plan (JSON).
#[pyfunction]
fn on_wire(framing: &str, size: u16) -> PyResult<u16> {
    serde_json::from_str::<Framing>(framing).map(|framing| framing.on_wire(size)).map_err(failure)
}

/// IP rate of one station of a medium with grants that always has packets of this size, in bit/s.
/// `direction` is that of a plan (JSON).
#[pyfunction]
fn granted_bps(direction: &str, packet: u32) -> PyResult<u64> {
    serde_json::from_str::<DirectionConfig>(direction).map(|config| config.ip_rate_bps(packet)).map_err(failure)
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<Run>()?;
    module.add_class::<Table>()?;
    module.add_class::<captures::CaptureReader>()?;
    module.add_class::<captures::CapturePairReader>()?;
    module.add_class::<capture_report::CaptureReport>()?;
    module.add_class::<capture_report::DocumentText>()?;
    module.add_class::<link_fit::EndCapture>()?;
    module.add_class::<PyAck>()?;
    module.add_class::<PyCongestion>()?;
    module.add_class::<PyLoss>()?;
    module.add_class::<PyRateSample>()?;
    let py = module.py();
    module.add("ControlError", py.get_type::<ControlError>())?;
    module.add("NativeError", py.get_type::<errors::NativeError>())?;
    module.add("InputError", py.get_type::<errors::InputError>())?;
    module.add("PlanError", py.get_type::<errors::PlanError>())?;
    module.add("FailedError", py.get_type::<errors::FailedError>())?;
    module.add_class::<tables::CheckedTable>()?;
    tables::install_sources();
    scenarios::add_to(module)?;
    drafts::add_to(module)?;
    module.add_function(wrap_pyfunction!(hunts::searched_keys, module)?)?;
    module.add_function(wrap_pyfunction!(tables::read_table, module)?)?;
    module.add_function(wrap_pyfunction!(tables::table_schema, module)?)?;
    module.add_function(wrap_pyfunction!(tables::table_kinds, module)?)?;
    module.add_function(wrap_pyfunction!(tables::table_names, module)?)?;
    module.add_function(wrap_pyfunction!(tables::table_keys, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)?;
    module.add_class::<batch::Batch>()?;
    module.add_class::<batch::Batches>()?;
    #[cfg(target_os = "linux")]
    add_live(module)?;
    module.add_function(wrap_pyfunction!(captures::is_capture, module)?)?;
    module.add_function(wrap_pyfunction!(captures::strip_capture, module)?)?;
    module.add_function(wrap_pyfunction!(captures::is_qlog, module)?)?;
    module.add_function(wrap_pyfunction!(captures::read_qlog, module)?)?;
    module.add_function(wrap_pyfunction!(captures::kind_rules, module)?)?;
    module.add_function(wrap_pyfunction!(captures::congestion_control_families, module)?)?;
    module.add_function(wrap_pyfunction!(link_fit::fit_link, module)?)?;
    module.add_function(wrap_pyfunction!(link_fit::link_shape, module)?)?;
    module.add_function(wrap_pyfunction!(link_fit::carried_at_end, module)?)?;
    module.add_function(wrap_pyfunction!(link_fit::fit_sender_end, module)?)?;
    module.add_function(wrap_pyfunction!(catalogue, module)?)?;
    module.add_function(wrap_pyfunction!(documents::document_types, module)?)?;
    module.add_function(wrap_pyfunction!(on_wire, module)?)?;
    module.add_function(wrap_pyfunction!(granted_bps, module)?)?;
    module.add_class::<limits::LimitFacts>()?;
    module.add_function(wrap_pyfunction!(limits::limit_words, module)?)?;
    module.add_function(wrap_pyfunction!(limits::explain_limits, module)?)?;
    module.add_function(wrap_pyfunction!(limits::limit_facts, module)?)?;
    add_diagnosis(module)?;
    module.add_function(wrap_pyfunction!(statistics::summary_stats, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::packetdrill_settings, module)?)?;
    module.add_function(wrap_pyfunction!(packetdrill::packetdrill_run, module)?)?;
    module.add_function(wrap_pyfunction!(models::window_over_rtt, module)?)?;
    module.add_function(wrap_pyfunction!(models::mathis, module)?)?;
    module.add_function(wrap_pyfunction!(models::padhye_full, module)?)?;
    module.add_function(wrap_pyfunction!(models::padhye_approx, module)?)?;
    module.add_function(wrap_pyfunction!(models::cubic_response, module)?)
}

/// Findings, and the numbers of sentences.
fn add_diagnosis(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("ENOUGH_BYTES", ackclock_diagnose::capture::ENOUGH_BYTES)?;
    module.add_function(wrap_pyfunction!(diagnosis::findings, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::has_queue, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::capture_limit_shares, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::loss_models, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::significant, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::rate_text, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::rate_range_text, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::percent_text, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::milliseconds_text, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::share_text, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::size_text, module)?)?;
    module.add_function(wrap_pyfunction!(diagnosis::count_text, module)?)
}

/// What needs Linux: namespaces, TUN devices, kernel timestamps.
#[cfg(target_os = "linux")]
fn add_live(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_function(wrap_pyfunction!(emulation::emulate, module)?)?;
    module.add_function(wrap_pyfunction!(emulation::run_programs, module)?)?;
    module.add_function(wrap_pyfunction!(emulation::program_rows, module)?)?;
    module.add_class::<measurement::LiveSession>()?;
    module.add_function(wrap_pyfunction!(measurement::serve, module)?)?;
    module.add_function(wrap_pyfunction!(measurement::ackclockd, module)?)?;
    module.add_function(wrap_pyfunction!(measurement::path_walk, module)?)?;
    module.add_function(wrap_pyfunction!(measurement::default_caps, module)?)?;
    module.add_function(wrap_pyfunction!(measurement::new_token, module)?)?;
    module.add_function(wrap_pyfunction!(measurement::read_token, module)?)?;
    module.add_function(wrap_pyfunction!(measurement::stamp, module)?)?;
    module.add_function(wrap_pyfunction!(measurement::added_delay_grade, module)?)?;
    module.add_function(wrap_pyfunction!(measurement::responsiveness, module)?)
}
