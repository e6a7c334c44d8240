//! Scenarios before they are read, for Python.

use crate::scenarios::CheckedScenario;
use crate::tables::{from_python, invalid_value, to_python, warn_of_former_names};
use ackclock_scenario::invalid::{Invalid, Read};
use ackclock_scenario::scenario::draft::{self, DraftError, Files, LinkFile, Place, Written};
use ackclock_scenario::scenario::sweep_path;
use ackclock_scenario::value::Value;
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The functions of this package that read links and HAR files.
struct PythonFiles<'a, 'py> {
    py: Python<'py>,
    folder: &'a str,
}

impl Files for PythonFiles<'_, '_> {
    type Error = PyErr;

    fn link(&self, name: &str) -> PyResult<Read<LinkFile>> {
        let read = self.py.import("ackclock.input.scenario.draft")?.getattr("link_file")?;
        match read.call1((name, self.folder)) {
            Ok(file) => {
                let (path, tables, remark): (String, Bound<'_, PyAny>, String) = file.extract()?;
                Ok(Ok(LinkFile { path, tables: from_python(&tables)?, remark }))
            }
            Err(error) => {
                let value = error.value(self.py);
                if !value.is_instance(&self.py.import("ackclock.errors")?.getattr("InvalidValue")?)? {
                    return Err(error);
                }
                let text = |key: &str| value.getattr(key)?.extract::<String>();
                Ok(Err(Invalid::new(text("found")?, text("allowed")?)))
            }
        }
    }

    fn page(&self, name: &str) -> PyResult<Value> {
        from_python(&self.py.import("ackclock.input.scenario.har")?.call_method1("har_objects", (name,))?)
    }
}

/// Values by their dotted path.
fn point_of(point: &Bound<'_, PyDict>) -> PyResult<Vec<(String, Value)>> {
    point.iter().map(|(path, value)| Ok((path.str()?.to_string(), from_python(&value)?))).collect()
}

/// InvalidValue with the file, or the path of a point, where it stands.
fn error_of(py: Python<'_>, error: DraftError<PyErr>) -> PyErr {
    let placed = |invalid, place| {
        let error = invalid_value(py, invalid)?;
        match place {
            Place::File => {}
            Place::Link(path) => error.value(py).setattr("link", path)?,
            Place::Point(path) => error.value(py).setattr("varied", path)?,
        }
        Ok(error)
    };
    match error {
        DraftError::Invalid(invalid, place) => placed(invalid, place).unwrap_or_else(|error| error),
        DraftError::Files(error) => error,
    }
}

/// A scenario that is not read yet: its tables, and the folder to which its paths are relative.
#[pyclass(frozen, module = "ackclock._native", name = "Draft")]
pub struct PyDraft(draft::Draft);

impl PyDraft {
    fn at(&self, py: Python<'_>, point: &Bound<'_, PyDict>) -> PyResult<Written> {
        let files = PythonFiles { py, folder: &self.0.folder };
        self.0.written(&point_of(point)?, &files).map_err(|error| error_of(py, error))
    }
}

#[pymethods]
impl PyDraft {
    #[new]
    fn new(tables: &Bound<'_, PyDict>, folder: String) -> PyResult<PyDraft> {
        Ok(PyDraft(draft::Draft { tables: from_python(tables)?, folder }))
    }

    /// Every combination of the swept values by dotted path; one empty point without a sweep. Raises
    /// InvalidValue.
    fn points<'py>(&self, py: Python<'py>) -> PyResult<Vec<Bound<'py, PyAny>>> {
        match self.0.points() {
            Ok(points) => points.into_iter().map(|point| to_python(py, &Value::Table(point))).collect(),
            Err(invalid) => Err(invalid_value(py, invalid)?),
        }
    }

    /// The keys of a point as written, with those of the link. None removes a key.
    fn written<'py>(&self, py: Python<'py>, point: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.at(py, point)?.tables)
    }

    /// The scenario at a point. Raises InvalidValue, whose `varied` is the path of a wrong value of the point,
    /// and `link` the link's file if it is there.
    fn scenario(&self, py: Python<'_>, point: &Bound<'_, PyDict>) -> PyResult<CheckedScenario> {
        let files = PythonFiles { py, folder: &self.0.folder };
        let read = self.0.scenario(&point_of(point)?, &files);
        warn_of_former_names(py)?;
        let (scenario, given) = read.map_err(|error| error_of(py, error))?;
        Ok(CheckedScenario::new(scenario, given))
    }

    /// A resolved scenario of a point, with each table whose kind the point sets as it is written.
    fn with_swept_kinds<'py>(
        &self,
        py: Python<'py>,
        point: &Bound<'py, PyDict>,
        resolved: &Bound<'py, PyDict>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self.at(py, point)?.with_swept_kinds(from_python(resolved)?) {
            Ok(tables) => to_python(py, &tables),
            Err(invalid) => Err(invalid_value(py, invalid)?),
        }
    }
}

/// The value at a dotted path of a scenario's tables; None without one.
#[pyfunction]
pub fn value_at<'py>(py: Python<'py>, tables: &Bound<'py, PyDict>, path: &str) -> PyResult<Bound<'py, PyAny>> {
    to_python(py, sweep_path::get(&from_python(tables)?, path).unwrap_or(&Value::Absent))
}

/// The same tables with absolute paths of recorded rates, which are relative to `folder`.
#[pyfunction]
pub fn with_absolute_traces<'py>(py: Python<'py>, tables: &Bound<'py, PyAny>, folder: &str) -> PyResult<Bound<'py, PyAny>> {
    let mut tables = from_python(tables)?;
    draft::absolute_traces(&mut tables, folder);
    to_python(py, &tables)
}

/// Adds the class and the functions of drafts.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<PyDraft>()?;
    module.add_function(wrap_pyfunction!(value_at, module)?)?;
    module.add_function(wrap_pyfunction!(with_absolute_traces, module)?)
}
