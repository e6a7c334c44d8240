//! What a hunt searches, as the classes of ackclock.hunting.space.

use crate::tables::{from_python, invalid_value, to_python};
use ackclock_scenario::hunt::vary::{HuntLosses, HuntRange, Node, Vary};
use ackclock_scenario::keys::{Bounds, KeyValue};
use ackclock_scenario::value::Value;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

/// The classes of Python.
struct Classes<'py>(Bound<'py, PyModule>);

impl<'py> Classes<'py> {
    /// A node; `name` is that of its setting.
    fn node(&self, node: &Node, name: &str) -> PyResult<Bound<'py, PyAny>> {
        match node {
            Node::Range(range) => self.range(range, name),
            Node::Losses(losses) => self.losses(losses, name),
            Node::Choice(options) => {
                let options = self.each(options, |index| format!("{name}[{}]", index + 1))?;
                self.0.getattr("Choice")?.call1((name, options))
            }
            Node::Table(parts) => {
                let table = PyDict::new(self.0.py());
                for (key, part) in parts {
                    table.set_item(key, self.node(part, &format!("{name}.{key}"))?)?;
                }
                self.0.getattr("Parts")?.call1((table,))
            }
            Node::List(items) => self.0.getattr("Parts")?.call1((self.each(items, |index| format!("{name}.{}", index + 1))?,)),
            Node::Constant(value) => self.0.getattr("Constant")?.call1((to_python(self.0.py(), value)?,)),
        }
    }

    fn each(&self, nodes: &[Node], name: impl Fn(usize) -> String) -> PyResult<Bound<'py, PyTuple>> {
        let nodes = nodes.iter().enumerate().map(|(index, node)| self.node(node, &name(index)));
        PyTuple::new(self.0.py(), nodes.collect::<PyResult<Vec<_>>>()?)
    }

    fn range(&self, range: &HuntRange, name: &str) -> PyResult<Bound<'py, PyAny>> {
        let py = self.0.py();
        let numbers = match range.numbers() {
            Ok(numbers) => numbers,
            Err(invalid) => return Err(invalid_value(py, invalid)?),
        };
        let is_whole = numbers.quantity.is_some() || [&numbers.low, &numbers.high].iter().all(|end| matches!(end, Value::Int(_)));
        let quantity = numbers.quantity.map(|of| self.0.getattr("QUANTITIES")?.get_item(of.name())).transpose()?;
        let [low, high] = [&numbers.low, &numbers.high].map(|end| to_python(py, end));
        let simple = numbers.simple.map(|simple| to_python(py, &simple)).transpose()?;
        self.0.getattr("Range")?.call1((name, low?, high?, range.scale.0 == "log", quantity, is_whole, simple))
    }

    fn losses(&self, losses: &HuntLosses, name: &str) -> PyResult<Bound<'py, PyAny>> {
        self.0.getattr("Losses")?.call1((name, losses.losses.0, losses.within.0, losses.of.0))
    }
}

/// The nodes of [hunt.vary] by dotted path. Raises InvalidValue, whose key is below [hunt.vary].
#[pyfunction]
pub fn searched_keys<'py>(py: Python<'py>, vary: &Bound<'py, PyDict>) -> PyResult<Bound<'py, PyDict>> {
    let vary = match Vary::read(&from_python(vary)?, &Bounds::NONE) {
        Ok(vary) => vary,
        Err(invalid) => return Err(invalid_value(py, invalid)?),
    };
    let classes = Classes(py.import("ackclock.hunting.space")?);
    let keys = PyDict::new(py);
    for (path, node) in &vary.paths {
        keys.set_item(path, classes.node(node, path)?)?;
    }
    Ok(keys)
}
