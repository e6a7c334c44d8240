//! packetdrill scripts for `ackclock.packetdrill`.

use crate::ControlError;
use crate::errors::{failure, refusal};
use crate::objects::to_object;
use crate::python_cc::{Faults, variants};
use ackclock_core::Problem;
use ackclock_core::tcp::TcpConfig;
use ackclock_core::units::Span;
use ackclock_packetdrill::{Ignored, RunOptions, Script, ScriptError, run};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde_json::json;

fn parsed(text: &str) -> PyResult<Script> {
    Script::parse(text).map_err(|error| refusal(problem(error)))
}

fn problem(error: ScriptError) -> Problem {
    Problem::found(error.found, error.expected).at_line(error.line)
}

/// What a script asks of the host: `options`, `sysctls`, `commands` (those that set no
/// sysctl), `socket_options` (the arguments of setsockopt) and `connects` (it is the client).
/// InputError: the script cannot be read.
#[pyfunction]
pub fn packetdrill_settings<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    let script = parsed(text)?;
    let commands: Vec<_> = script.other_commands().into_iter().map(|(line, text)| json!({"line": line, "text": text})).collect();
    let options: Vec<_> =
        script.calls("setsockopt").map(|(line, call)| json!({"line": line, "args": call.args, "result": call.result})).collect();
    let settings = json!({
        "options": script.options,
        "sysctls": script.sysctls(),
        "commands": commands,
        "socket_options": options,
        "connects": script.calls("connect").next().is_some(),
    });
    to_object(py, &settings)
}

/// How `packetdrill_run` judges a script.
#[derive(Deserialize)]
struct PlayOptions {
    tolerance_us: u64,
    ignored: Vec<String>,
    trace: bool,
}

impl PlayOptions {
    fn run_options(&self) -> RunOptions {
        let has = |name: &str| self.ignored.iter().any(|ignored| ignored == name);
        let ignored = Ignored { psh: has("psh"), window: has("window"), info: has("info"), time: has("time") };
        RunOptions { tolerance: Span::from_us(self.tolerance_us), ignored, trace: self.trace }
    }
}

/// Plays a script against an endpoint with this TCP table of a plan (JSON).
/// `options` (JSON): `tolerance_us`, `trace`, and `ignored`, what is not compared (psh, window, info,
/// time).
/// `control` is the class of a congestion control in place of the table's variant. InputError: the
/// script cannot be read; ControlError: the congestion control raised an exception.
#[pyfunction]
#[pyo3(signature = (text, tcp, options, control=None))]
pub fn packetdrill_run<'py>(
    py: Python<'py>,
    text: &str,
    tcp: &str,
    options: &str,
    control: Option<&Bound<'_, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let script = parsed(text)?;
    let mut config: TcpConfig = serde_json::from_str(tcp).map_err(failure)?;
    let faults = Faults::default();
    config.user = control.map(|classes| variants(classes, &faults)).transpose()?.and_then(|mut all| all.pop());
    let options = serde_json::from_str::<PlayOptions>(options).map_err(failure)?.run_options();
    let outcome = py.detach(|| run(&script, &config.resolved(), &options));
    if let Some(error) = faults.take() {
        let raised = ControlError::new_err(error.to_string());
        raised.set_cause(py, Some(error));
        return Err(raised);
    }
    to_object(py, &outcome)
}
