//! Exceptions for errors of the crates, with the fields of a `Problem`: no caller parses a message.

use ackclock_core::Problem;
use ackclock_core::problem::Location;
#[cfg(target_os = "linux")]
use ackclock_emu::EmuError;
#[cfg(target_os = "linux")]
use ackclock_measure::MeasureError;
use ackclock_sim::RunError;
use pyo3::exceptions::PyException;
#[cfg(target_os = "linux")]
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::{PyTypeInfo, create_exception};

create_exception!(
    ackclock._native,
    NativeError,
    PyException,
    "The base: file, line, key, option, found, allowed, statement, hint."
);
create_exception!(ackclock._native, InputError, NativeError, "Bad input.");
create_exception!(ackclock._native, PlanError, InputError, "A plan that cannot be run.");
create_exception!(ackclock._native, FailedError, NativeError, "The work failed.");

/// An exception of this type with the problem's fields.
pub fn raised<E: PyTypeInfo>(problem: Problem) -> PyErr {
    Python::attach(|py| {
        let error = PyErr::from_type(py.get_type::<E>(), problem.to_string());
        match set_fields(error.value(py), problem) {
            Ok(()) => error,
            Err(other) => other,
        }
    })
}

fn set_fields(error: &Bound<'_, PyAny>, problem: Problem) -> PyResult<()> {
    let Problem { at, found, allowed, statement, hint } = problem;
    let Location { file, line, key, option } = *at;
    error.setattr("file", file)?;
    error.setattr("line", line)?;
    let texts = [
        ("key", key.into()),
        ("option", option.into()),
        ("found", found),
        ("allowed", allowed),
        ("statement", statement),
        ("hint", hint),
    ];
    texts.into_iter().try_for_each(|(name, text)| error.setattr(name, &*text))
}

/// Bad input.
pub fn refusal(problem: impl Into<Problem>) -> PyErr {
    raised::<InputError>(problem.into())
}

/// An internal error: malformed JSON from the Python side, or a table of the wrong shape.
pub fn failure(error: impl std::fmt::Display) -> PyErr {
    raised::<FailedError>(Problem::new(error.to_string(), "report it with what you ran"))
}

pub fn of_plan(error: ackclock_sim::PlanError) -> PyErr {
    raised::<PlanError>(error.into())
}

pub fn of_run(error: RunError) -> PyErr {
    match error {
        RunError::Plan(error) => of_plan(error),
        error => raised::<FailedError>(error.into()),
    }
}

#[cfg(target_os = "linux")]
pub fn of_emulation(error: EmuError) -> PyErr {
    match error {
        EmuError::Plan(error) => of_plan(error),
        error => raised::<FailedError>(error.into()),
    }
}

#[cfg(target_os = "linux")]
pub fn of_measurement(error: MeasureError) -> PyErr {
    match error {
        MeasureError::Input(problem) => raised::<InputError>(problem),
        MeasureError::Failed(problem) => raised::<FailedError>(problem),
        MeasureError::Interrupted => PyKeyboardInterrupt::new_err(()),
    }
}
