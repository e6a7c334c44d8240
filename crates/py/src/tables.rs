//! Tables of link files and scenarios: values to and from Python.

use ackclock_core::Problem;
use ackclock_core::units::Span;
use ackclock_scenario::flow::Flow;
use ackclock_scenario::former_names;
use ackclock_scenario::invalid::{Code, Invalid, Read, Step};
use ackclock_scenario::keys::{Attribute, Checked, Key, KeyDefault};
use ackclock_scenario::registry;
use ackclock_scenario::sources::{self, Recording, Sources};
use ackclock_scenario::tcp::keys::{End, TcpEnds, TcpKeys};
use ackclock_scenario::value::Value;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyAttributeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use std::any::Any;
use std::collections::VecDeque;
use std::ffi::CString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::errors::refusal;

/// A checked table of a link file or scenario. Its keys are attributes: times in picoseconds, rates
/// in bits per second, sizes in bytes.
#[pyclass(frozen)]
pub struct CheckedTable {
    pub(crate) table: Arc<dyn Checked>,
    /// As it was read.
    pub(crate) given: Value,
}

#[pymethods]
impl CheckedTable {
    /// The name of the table, such as `CoDel`.
    #[getter]
    fn table_name(&self) -> &'static str {
        self.table.table()
    }

    pub(crate) fn __getattr__<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match self.table.attribute(name) {
            Some(attribute) => attribute_to_python(py, attribute, self.table.given(name, &self.given).as_ref()),
            None => Err(PyAttributeError::new_err(format!("{} has no key {name}", self.table.table()))),
        }
    }

    /// The engine's configuration, as a plan has it.
    pub(crate) fn plan<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        json_to_python(py, &self.table.plan())
    }

    /// The table as a file has it: all keys, or those that it was read with.
    #[pyo3(signature = (given = false))]
    pub(crate) fn written<'py>(&self, py: Python<'py>, given: bool) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.table.written(given.then_some(&self.given)))
    }

    fn __eq__(&self, other: &CheckedTable) -> bool {
        self.table.table() == other.table.table() && self.table.written(None) == other.table.written(None)
    }

    fn __hash__(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.table.written(None).to_toml().hash(&mut hasher);
        hasher.finish()
    }

    pub(crate) fn __repr__(&self) -> String {
        format!("{}({})", self.table.table(), self.table.written(None).to_toml())
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, TableArguments<'py>)> {
        let read = py.import("ackclock._native")?.getattr("read_table")?;
        Ok((read, (self.table.table(), self.written(py, true)?)))
    }
}

/// A table of a default was given with all its keys.
pub fn attribute_to_python<'py>(py: Python<'py>, attribute: Attribute, given: Option<&Value>) -> PyResult<Bound<'py, PyAny>> {
    match attribute {
        Attribute::Value(value) => to_python(py, &value),
        Attribute::Table(table) => {
            let given = given.cloned().unwrap_or_else(|| table.written(None));
            CheckedTable { table, given }.into_bound_py_any(py)
        }
        Attribute::Array(attributes) => {
            let given = |index: usize| if let Some(Value::Array(values)) = given { values.get(index) } else { None };
            let attributes = attributes.into_iter().enumerate();
            let values = attributes.map(|(index, attribute)| attribute_to_python(py, attribute, given(index)));
            PyTuple::new(py, values.collect::<PyResult<Vec<_>>>()?)?.into_bound_py_any(py)
        }
    }
}

/// The arguments of `read_table`.
type TableArguments<'py> = (&'static str, Bound<'py, PyAny>);

/// Reads a table, such as `CoDel`, or one of several kinds, such as `Queue`. Raises InvalidValue of
/// ackclock.errors, and warns by its FormerName of a key that has another name now.
#[pyfunction]
pub fn read_table(py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<CheckedTable> {
    let given = from_python(value)?;
    let read = registry::read(name, &given).ok_or_else(|| unknown(name))?;
    warn_of_former_names(py)?;
    match read {
        Ok(table) => Ok(CheckedTable { table, given }),
        Err(invalid) => Err(invalid_value(py, invalid)?),
    }
}

/// Warns of each key that was read with its former name.
pub fn warn_of_former_names(py: Python<'_>) -> PyResult<()> {
    for (former, present) in former_names::take() {
        let kind = py.import("ackclock.errors")?.getattr("FormerName")?;
        PyErr::warn(py, &kind, &CString::new(format!("the key `{former}` is now `{present}`"))?, 2)?;
    }
    Ok(())
}

/// The TCP keys of an end in a table that has some, weakest first.
pub fn keys_at(table: &dyn Checked, end: Option<End>) -> Vec<&TcpKeys> {
    let table: &dyn Any = table;
    let ends = table.downcast_ref::<Flow>().map(|flow| &flow.tcp).or_else(|| table.downcast_ref::<TcpEnds>());
    match ends {
        Some(ends) => ends.at(end).collect(),
        None => table.downcast_ref::<TcpKeys>().into_iter().collect(),
    }
}

/// Recordings that are kept.
const MAX_RECORDINGS: usize = 16;

/// Host files, recordings and congestion controls, which Python reads.
struct PythonSources;

impl PythonSources {
    /// The value of a function of ackclock; an exception other than InvalidValue is found in its
    /// words.
    fn call<T>(module: &str, function: &str, name: &str, take: impl Fn(&Bound<'_, PyAny>) -> PyResult<T>) -> Read<T> {
        Python::attach(|py| {
            let value = py.import(module).and_then(|module| module.getattr(function)?.call1((name,)));
            value.and_then(|value| take(&value)).map_err(|error| {
                let error = error.value(py);
                let text = |key: &str| error.getattr(key).ok()?.extract::<String>().ok();
                Invalid::new(
                    text("found").unwrap_or_else(|| format!("\"{name}\", which fails ({error})")),
                    text("allowed").unwrap_or_else(|| "what Python can load".into()),
                )
            })
        })
    }
}

impl Sources for PythonSources {
    fn hosts(&self) -> Vec<String> {
        static NAMES: OnceLock<Vec<String>> = OnceLock::new();
        let read = || {
            Python::attach(|py| py.import("ackclock.input.catalogue")?.call_method0("host_names")?.extract()).unwrap_or_default()
        };
        NAMES.get_or_init(read).clone()
    }

    fn host(&self, name: &str) -> Read<Value> {
        PythonSources::call("ackclock.input.catalogue", "host_file", name, from_python)
    }

    fn check_class(&self, name: &str) -> Read<()> {
        PythonSources::call("ackclock.congestion_control", "find", name, |_| Ok(()))
    }

    fn class_digest(&self, name: &str) -> Read<String> {
        PythonSources::call("ackclock.congestion_control", "digest", name, |digest| digest.extract())
    }

    fn check_controller(&self, name: &str) -> Read<()> {
        PythonSources::call("ackclock.rate_controller", "find", name, |_| Ok(()))
    }

    fn controller_digest(&self, name: &str) -> Read<String> {
        PythonSources::call("ackclock.congestion_control", "digest", name, |digest| digest.extract())
    }

    fn metrics(&self) -> Vec<String> {
        let names = |py: Python<'_>| -> PyResult<Vec<String>> {
            py.import("ackclock.simulation.metrics")?.getattr("METRICS")?.try_iter()?.map(|name| name?.extract()).collect()
        };
        Python::attach(names).unwrap_or_default()
    }

    fn recording_period(&self, path: &str) -> Read<Span> {
        PythonSources::call("ackclock.input.link.trace", "recording_at", path, |found| {
            Ok(Span(found.getattr("period_ps")?.extract()?))
        })
    }

    /// The times of the last recordings are kept, by their digest.
    fn recording(&self, path: &str) -> Read<Arc<Recording>> {
        static KEPT: Mutex<VecDeque<Arc<Recording>>> = Mutex::new(VecDeque::new());
        PythonSources::call("ackclock.input.link.trace", "recording_at", path, |found| {
            let digest: String = found.getattr("digest")?.extract()?;
            let kept = || KEPT.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = kept().iter().find(|one| one.digest == digest) {
                return Ok(Arc::clone(known));
            }
            let recording = Arc::new(Recording { digest, times_ms: found.getattr("times_ms")?.extract()? });
            let mut kept = kept();
            kept.push_back(Arc::clone(&recording));
            if kept.len() > MAX_RECORDINGS {
                kept.pop_front();
            }
            Ok(recording)
        })
    }
}

/// Reads host files and recordings and finds classes by the functions of this package.
pub fn install_sources() {
    sources::install(&PythonSources);
}

/// The JSON Schema of a table as the value of a key, and the definitions of tables by name.
#[pyfunction]
pub fn table_schema<'py>(py: Python<'py>, name: &str) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let (schema, definitions) = registry::schema(name).ok_or_else(|| unknown(name))?;
    Ok((to_python(py, &schema)?, to_python(py, &Value::Table(definitions))?))
}

/// The tables that a table with several kinds may be: kind and name.
#[pyfunction]
pub fn table_kinds(name: &str) -> Vec<(&'static str, &'static str)> {
    registry::kinds(name)
}

/// The names of all tables with keys.
#[pyfunction]
pub fn table_names() -> Vec<&'static str> {
    registry::TABLES.into()
}

/// The keys of a table, in the order in which they are checked: name, unit, default ("required" or
/// TOML or words), limits, text, example.
#[pyfunction]
pub fn table_keys(name: &str) -> PyResult<Vec<KeyRow>> {
    let keys = registry::keys(name).ok_or_else(|| unknown(name))?;
    Ok(keys.into_iter().map(row).collect())
}

/// A key of `table_keys`.
type KeyRow = (&'static str, &'static str, String, String, &'static str, String);

fn row(key: Key) -> KeyRow {
    let default = match key.default {
        KeyDefault::Required => "required".into(),
        KeyDefault::Value(value) => value.to_short_toml(),
        KeyDefault::Words(words) => words.into(),
    };
    (key.name, key.unit, default, key.limits, key.text, key.example_text)
}

fn unknown(name: &str) -> PyErr {
    refusal(Problem::found(format!("table {name:?}"), registry::TABLES.join(", ")))
}

pub fn invalid_value(py: Python<'_>, invalid: Invalid) -> PyResult<PyErr> {
    let steps = invalid.path.iter().map(|step| match step {
        Step::Key(key) => key.into_bound_py_any(py),
        Step::Index(index) => index.into_bound_py_any(py),
    });
    let path = PyTuple::new(py, steps.collect::<PyResult<Vec<_>>>()?)?;
    let kind = py.import("ackclock.errors")?.getattr("InvalidValue")?;
    if invalid.code == Code::Combination {
        return Ok(PyErr::from_value(kind.call_method1("problem", (invalid.found, invalid.allowed, path))?));
    }
    let fields = PyDict::new(py);
    fields.set_item("code", invalid.code.name())?;
    Ok(PyErr::from_value(kind.call((invalid.found, invalid.allowed, path), Some(&fields))?))
}

pub fn from_python(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    if value.is_none() {
        return Ok(Value::Absent);
    }
    if let Ok(yes) = value.cast::<PyBool>() {
        return Ok(Value::Bool(yes.is_true()));
    }
    if let Ok(text) = value.cast::<PyString>() {
        // A lone surrogate stands for a byte that is no text.
        return Ok(Value::Text(text.to_string_lossy().into_owned()));
    }
    if value.cast::<PyInt>().is_ok() {
        return value.extract().map(Value::Int).or_else(|_| Ok(Value::Other(value.str()?.to_string())));
    }
    if let Ok(number) = value.cast::<PyFloat>() {
        return Ok(Value::Float(number.value()));
    }
    if let Ok(table) = value.cast::<PyDict>() {
        let entries = table.iter().map(|(key, value)| Ok((key.str()?.to_string(), from_python(&value)?)));
        return Ok(Value::Table(entries.collect::<PyResult<_>>()?));
    }
    if value.cast::<PyList>().is_ok() || value.cast::<PyTuple>().is_ok() {
        return value.try_iter()?.map(|one| from_python(&one?)).collect::<PyResult<_>>().map(Value::Array);
    }
    if let Ok(table) = value.cast::<CheckedTable>() {
        let table = table.get();
        return Ok(table.table.written(Some(&table.given)));
    }
    Ok(Value::Other(value.str()?.to_string()))
}

/// Keys without a value are left out of tables.
pub fn to_python<'py>(py: Python<'py>, value: &Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Absent => Ok(py.None().into_bound(py)),
        Value::Bool(yes) => yes.into_bound_py_any(py),
        Value::Int(number) => number.into_bound_py_any(py),
        Value::Float(number) => number.into_bound_py_any(py),
        Value::Text(text) | Value::Other(text) => text.into_bound_py_any(py),
        Value::Array(values) => {
            let values: Vec<_> = values.iter().map(|one| to_python(py, one)).collect::<PyResult<_>>()?;
            values.into_bound_py_any(py)
        }
        Value::Table(entries) => {
            let table = PyDict::new(py);
            for (key, value) in entries.iter().filter(|(_, value)| *value != Value::Absent) {
                table.set_item(key, to_python(py, value)?)?;
            }
            table.into_bound_py_any(py)
        }
    }
}

pub fn json_to_python<'py>(py: Python<'py>, value: &serde_json::Value) -> PyResult<Bound<'py, PyAny>> {
    match value {
        serde_json::Value::Null => Ok(py.None().into_bound(py)),
        serde_json::Value::Bool(yes) => yes.into_bound_py_any(py),
        serde_json::Value::Number(number) => match number.as_u64() {
            Some(whole) => whole.into_bound_py_any(py),
            None => number.as_f64().into_bound_py_any(py),
        },
        serde_json::Value::String(text) => text.into_bound_py_any(py),
        serde_json::Value::Array(values) => {
            let values: Vec<_> = values.iter().map(|one| json_to_python(py, one)).collect::<PyResult<_>>()?;
            values.into_bound_py_any(py)
        }
        serde_json::Value::Object(entries) => {
            let table = PyDict::new(py);
            for (key, value) in entries {
                table.set_item(key, json_to_python(py, value)?)?;
            }
            table.into_bound_py_any(py)
        }
    }
}
