//! Scenarios and their plans for Python.

use crate::tables::{
    CheckedTable, attribute_to_python, from_python, invalid_value, json_to_python, keys_at, to_python, warn_of_former_names,
};
use ackclock_scenario::flow::Flow;
use ackclock_scenario::invalid::Read;
use ackclock_scenario::keys::{Bounds, Checked, KeyValue};
use ackclock_scenario::link::hop::Hop;
use ackclock_scenario::scenario::plan::{Plan, RunConfig};
use ackclock_scenario::scenario::values::{Seeds, Window};
use ackclock_scenario::scenario::{PHASE_START, Scenario, as_flow, instance_names};
use ackclock_scenario::sources::Recording;
use ackclock_scenario::tcp::keys::End;
use ackclock_scenario::tcp::resolution::{Tcp, resolve};
use ackclock_scenario::units::{Quantity, show_rate, show_size, show_time};
use ackclock_scenario::value::Value;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple};
use std::any::Any;
use std::sync::Arc;

/// A checked scenario. Times in picoseconds, rates in bits per second, sizes in bytes.
#[pyclass(frozen, module = "ackclock._native", name = "Scenario")]
pub struct CheckedScenario {
    scenario: Scenario,
    /// As it was read.
    given: Value,
    hop: PyOnceLock<Py<PyAny>>,
    flow: PyOnceLock<Py<PyAny>>,
}

/// The value, or InvalidValue.
fn valid<T>(py: Python<'_>, read: Read<T>) -> PyResult<T> {
    match read {
        Ok(value) => Ok(value),
        Err(invalid) => Err(invalid_value(py, invalid)?),
    }
}

fn end_of(end: &str) -> End {
    if end == End::Server.name() { End::Server } else { End::Client }
}

fn flow_of(table: &CheckedTable) -> PyResult<&Flow> {
    as_flow(&*table.table).ok_or_else(|| PyTypeError::new_err("a flow is needed here"))
}

/// Sets or replaces a key of a table.
fn with_key(given: &Value, key: &str, value: Value) -> Value {
    let entries = if let Value::Table(entries) = given { entries.as_slice() } else { &[] };
    let others = entries.iter().filter(|(name, _)| name != key).cloned();
    Value::Table(others.chain([(key.to_owned(), value)]).collect())
}

impl CheckedScenario {
    pub fn new(scenario: Scenario, given: Value) -> CheckedScenario {
        CheckedScenario { scenario, given, hop: PyOnceLock::new(), flow: PyOnceLock::new() }
    }

    fn key<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let attribute = Checked::attribute(&self.scenario, name);
        let attribute = attribute.ok_or_else(|| PyTypeError::new_err(format!("Scenario has no key {name}")))?;
        attribute_to_python(py, attribute, self.given.get(name))
    }
}

#[pymethods]
impl CheckedScenario {
    #[getter]
    fn title(&self) -> &str {
        &self.scenario.title
    }

    #[getter]
    fn source(&self) -> &str {
        &self.scenario.source
    }

    /// The hops, server first.
    #[getter]
    fn hop<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let hops = self.hop.get_or_try_init(py, || self.key(py, "hop").map(Bound::unbind))?;
        Ok(hops.bind(py).clone())
    }

    /// The [[tunnel]] tables.
    #[getter]
    fn tunnel<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.key(py, "tunnel")
    }

    #[getter]
    fn duration(&self) -> u64 {
        self.scenario.duration.0.0
    }

    #[getter]
    fn seeds<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.scenario.seeds.0)
    }

    #[getter]
    fn clients(&self) -> u32 {
        self.scenario.clients.0
    }

    /// Interval of the time series; 0: none.
    #[getter]
    fn sample(&self) -> u64 {
        self.scenario.sample.0.0
    }

    #[getter]
    fn phase_jitter(&self) -> bool {
        self.scenario.phase_jitter
    }

    /// The keys of [tcp].
    #[getter]
    fn tcp<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.key(py, "tcp")
    }

    /// The [[flow]] tables.
    #[getter]
    fn flow<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let flows = self.flow.get_or_try_init(py, || self.key(py, "flow").map(Bound::unbind))?;
        Ok(flows.bind(py).clone())
    }

    /// The measured part: "all", "all-active", or two times, negative ones before the end.
    #[getter]
    fn window<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        match self.scenario.measure.window {
            Window::Between(times) => PyTuple::new(py, times).map(Bound::into_any),
            word => to_python(py, &word.write(None)),
        }
    }

    /// Whether a key was given.
    fn has_key(&self, key: &str) -> bool {
        self.given.get(key).is_some()
    }

    /// Base names of the [[flow]] tables, in order: their own, or `flow1`, `flow2`, .. by position.
    fn flow_names(&self) -> Vec<String> {
        self.scenario.flow_names()
    }

    /// The hops on a flow's path, server first.
    fn hops_of<'py>(&self, py: Python<'py>, flow: &CheckedTable) -> PyResult<Bound<'py, PyTuple>> {
        let hops = self.hop(py)?;
        let crossed = self.scenario.hops_of(flow_of(flow)?).into_iter().map(|index| hops.get_item(index));
        PyTuple::new(py, crossed.collect::<PyResult<Vec<_>>>()?)
    }

    /// All TCP keys of one end of a flow, resolved: "server", "client", or the sender of the data.
    #[pyo3(signature = (flow, end = None))]
    fn tcp_of(&self, py: Python<'_>, flow: &CheckedTable, end: Option<&str>) -> PyResult<ResolvedTcp> {
        let flow = flow_of(flow)?;
        let tcp = self.scenario.tcp_of(flow, end.map_or(flow.sending_end(), end_of));
        valid(py, tcp).map(ResolvedTcp::new)
    }

    /// A sentence for each part that has no effect.
    fn warnings(&self) -> Vec<String> {
        self.scenario.warnings()
    }

    /// The scenario as plain values of a file, with all defaults. `swept`: the paths that a sweep varies;
    /// if one sets other keys, TCP keys are written as given.
    #[pyo3(signature = (swept = Vec::new()))]
    fn resolved<'py>(&self, py: Python<'py>, swept: Vec<String>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &valid(py, self.scenario.resolved(&swept))?)
    }

    /// The plan of a run. `captures` are as a plan has them; `live`: of an emulation.
    #[pyo3(signature = (seed, captures = None, live = false))]
    fn plan(&self, py: Python<'_>, seed: u64, captures: Option<&Bound<'_, PyAny>>, live: bool) -> PyResult<RunPlan> {
        let captures = match captures.map(from_python).transpose()? {
            Some(Value::Array(captures)) => captures.iter().map(serde_json::Value::from).collect(),
            _ => Vec::new(),
        };
        valid(py, self.scenario.plan(RunConfig { seed, captures, is_live: live })).map(RunPlan::new)
    }

    /// The same scenario with other seeds.
    fn with_seeds(&self, seeds: Vec<i64>) -> CheckedScenario {
        let list = seeds.iter().map(|&seed| Value::Int(seed)).collect::<Vec<_>>().into();
        let scenario = Scenario { seeds: Seeds(seeds), ..self.scenario.clone() };
        CheckedScenario::new(scenario, with_key(&self.given, "seeds", list))
    }

    /// The same scenario over other hops, which are not checked with the flows.
    fn with_hops(&self, hops: Vec<PyRef<'_, CheckedTable>>) -> PyResult<CheckedScenario> {
        let hop = |table: &PyRef<'_, CheckedTable>| {
            let table: Arc<dyn Any + Send + Sync> = Arc::clone(&table.table) as _;
            table.downcast::<Hop>().map_err(|_| PyTypeError::new_err("a hop is needed here"))
        };
        let scenario = Scenario { hop: hops.iter().map(hop).collect::<PyResult<_>>()?, ..self.scenario.clone() };
        let given = hops.iter().map(|table| table.given.clone()).collect::<Vec<_>>().into();
        Ok(CheckedScenario::new(scenario, with_key(&self.given, "hop", given)))
    }

    /// The same scenario over the link of a draw: values by dotted path, rates in bits/s, times in ms, sizes
    /// in bytes. The hops are not checked with the flows. Raises InvalidValue.
    fn drawn(&self, py: Python<'_>, draw: Vec<(String, f64)>) -> PyResult<CheckedScenario> {
        let hop = valid(py, self.scenario.drawn_hops(&draw))?;
        let given = hop.iter().map(|hop| hop.write(None)).collect::<Vec<_>>().into();
        Ok(CheckedScenario::new(Scenario { hop, ..self.scenario.clone() }, with_key(&self.given, "hop", given)))
    }

    fn __eq__(&self, other: &CheckedScenario) -> bool {
        self.scenario == other.scenario
    }

    fn __repr__(&self) -> String {
        format!("Scenario({})", self.given.to_toml())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py, (Bound<'py, PyAny>,)>> {
        let read = py.import("ackclock._native")?.getattr("read_scenario")?;
        Ok((read, (to_python(py, &self.given)?,)))
    }
}

/// Reads the tables of a scenario, whose link is among its hops. Raises InvalidValue of
/// ackclock.errors.
#[pyfunction]
pub fn read_scenario(py: Python<'_>, data: &Bound<'_, PyAny>) -> PyResult<CheckedScenario> {
    let given = from_python(data)?;
    let read = Scenario::read(&given, &Bounds::NONE);
    warn_of_former_names(py)?;
    let scenario = valid(py, read)?;
    Ok(CheckedScenario::new(scenario, given))
}

/// Names of the single flows of a [[flow]] table with this base name.
#[pyfunction]
pub fn flow_instances(flow: &CheckedTable, base: &str) -> PyResult<Vec<String>> {
    Ok(instance_names(flow_of(flow)?, base))
}

/// All TCP keys of a flow or of one of its ends, with defaults and words resolved.
#[pyclass(frozen, module = "ackclock._native", name = "Tcp")]
pub struct ResolvedTcp {
    tcp: Arc<Tcp>,
    keys: PyOnceLock<Py<PyDict>>,
}

impl ResolvedTcp {
    fn new(tcp: Tcp) -> ResolvedTcp {
        ResolvedTcp { tcp: Arc::new(tcp), keys: PyOnceLock::new() }
    }

    fn table(&self) -> CheckedTable {
        CheckedTable { table: Arc::clone(&self.tcp) as Arc<dyn Checked>, given: Value::Absent }
    }
}

#[pymethods]
impl ResolvedTcp {
    /// Name of the host stack.
    #[getter]
    fn host(&self) -> &str {
        &self.tcp.host
    }

    /// The keys that the host stack or the flow has.
    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let all = self.keys.get_or_try_init(py, || {
            let (keys, table) = (PyDict::new(py), self.table());
            if let Value::Table(written) = self.tcp.written(None) {
                for (name, _) in written.iter().filter(|(name, _)| name != "host") {
                    keys.set_item(name, table.__getattr__(py, name)?)?;
                }
            }
            PyResult::Ok(keys.unbind())
        })?;
        Ok(all.bind(py).clone())
    }

    /// The maximum random delay of a packet in its host, if it is explicit.
    #[getter]
    fn overhead(&self) -> Option<u64> {
        self.tcp.keys.overhead.map(|overhead| overhead.0.0)
    }

    /// TCP as a plan has it.
    fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.table().plan(py)
    }

    /// All keys as a [tcp] table has them.
    fn written<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.table().written(py, false)
    }

    fn __eq__(&self, other: &ResolvedTcp) -> bool {
        self.tcp.written(None) == other.tcp.written(None)
    }

    fn __repr__(&self) -> String {
        self.table().__repr__()
    }
}

/// TCP of an end, `server` or `client`, or of both, by these tables: `TcpKeys`, `TcpEnds` or `Flow`,
/// of which later ones override earlier ones. All keys of the host stack are resolved.
#[pyfunction]
#[pyo3(signature = (tables, end = None))]
pub fn resolve_tcp(py: Python<'_>, tables: Vec<PyRef<'_, CheckedTable>>, end: Option<&str>) -> PyResult<ResolvedTcp> {
    let keys = tables.iter().flat_map(|table| keys_at(&*table.table, end.map(end_of)));
    valid(py, resolve(keys)).map(ResolvedTcp::new)
}

/// The plan of a run, with digests of recordings in place of their times.
#[pyclass(frozen, module = "ackclock._native", name = "Plan")]
pub struct RunPlan {
    plan: Plan,
    digest: PyOnceLock<String>,
    document: PyOnceLock<Py<PyAny>>,
}

/// What `pickle` stores of an object: the function that makes it again, and its arguments.
type Pickled<'py, Arguments> = (Bound<'py, PyAny>, Arguments);

/// A recording that a plan has: digest and times.
type RecordingState = (String, Vec<u64>);

/// Arguments of `plan_of`: the document and the recordings.
type PlanState<'py> = (Bound<'py, PyAny>, Vec<RecordingState>);

impl RunPlan {
    fn new(plan: Plan) -> RunPlan {
        RunPlan { plan, digest: PyOnceLock::new(), document: PyOnceLock::new() }
    }
}

#[pymethods]
impl RunPlan {
    /// Its values, with digests of recordings.
    #[getter]
    fn document<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let document = self.document.get_or_try_init(py, || json_to_python(py, self.plan.document()).map(Bound::unbind))?;
        Ok(document.bind(py).clone())
    }

    /// SHA-256 over the plan without its captures; recordings count by their contents.
    #[getter]
    fn digest(&self, py: Python<'_>) -> &str {
        self.digest.get_or_init(py, || self.plan.digest())
    }

    /// Names of its flows, in order.
    #[getter]
    fn flow_names(&self) -> Vec<&str> {
        self.plan.flow_names()
    }

    /// Names of its classes in Python, congestion controls and rate controllers, without duplicates.
    #[getter]
    fn user_classes(&self) -> Vec<&str> {
        self.plan.user_classes()
    }

    /// The JSON that the engine reads.
    fn text(&self) -> String {
        self.plan.text()
    }

    /// The plan as plain values, the times of recordings included.
    fn expanded<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.plan.expanded())
    }

    fn __eq__(&self, other: &RunPlan) -> bool {
        self.plan == other.plan
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Pickled<'py, PlanState<'py>>> {
        let read = py.import("ackclock._native")?.getattr("plan_of")?;
        let state = |recording: &Arc<Recording>| (recording.digest.clone(), recording.times_ms.clone());
        Ok((read, (self.document(py)?, self.plan.recordings().iter().map(state).collect())))
    }
}

/// A plan of another process: its document, and digest and times of its recordings.
#[pyfunction]
pub fn plan_of(document: &Bound<'_, PyAny>, recordings: Vec<RecordingState>) -> PyResult<RunPlan> {
    let recordings = recordings.into_iter().map(|(digest, times_ms)| Arc::new(Recording { digest, times_ms }));
    Ok(RunPlan::new(Plan::new((&from_python(document)?).into(), recordings.collect())))
}

fn quantity_of(kind: &str) -> Quantity {
    match kind {
        "time" => Quantity::Time,
        "rate" => Quantity::Rate,
        _ => Quantity::Size,
    }
}

/// A `time` in picoseconds, a `rate` in bits per second, a `size` in bytes. Raises InvalidValue.
#[pyfunction]
pub fn read_quantity(py: Python<'_>, kind: &str, value: &Bound<'_, PyAny>) -> PyResult<i64> {
    valid(py, quantity_of(kind).read(&from_python(value)?))
}

/// The shortest text of a `time`, a `rate` or a `size` that reads back.
#[pyfunction]
pub fn show_quantity(kind: &str, number: i64) -> String {
    match quantity_of(kind) {
        Quantity::Time => show_time(number),
        Quantity::Rate => show_rate(number),
        Quantity::Size => show_size(number),
    }
}

/// Adds the classes and functions of scenarios.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("PHASE_START_PS", PHASE_START.0)?;
    module.add_class::<CheckedScenario>()?;
    module.add_class::<ResolvedTcp>()?;
    module.add_class::<RunPlan>()?;
    module.add_function(wrap_pyfunction!(read_scenario, module)?)?;
    module.add_function(wrap_pyfunction!(flow_instances, module)?)?;
    module.add_function(wrap_pyfunction!(resolve_tcp, module)?)?;
    module.add_function(wrap_pyfunction!(plan_of, module)?)?;
    module.add_function(wrap_pyfunction!(read_quantity, module)?)?;
    module.add_function(wrap_pyfunction!(show_quantity, module)?)
}
