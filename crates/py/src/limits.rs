//! The decision about what limits a flow. Figures and results are JSON.

use crate::errors::failure;
use ackclock_sim::limits::{self, KINDS, LimitFacts, PlanFigures, RunFigures};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

fn read<T: DeserializeOwned>(text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(failure)
}

fn write(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(failure)
}

/// The kinds of limit with their words, in order of precedence.
#[pyfunction]
pub fn limit_words() -> PyResult<String> {
    write(&KINDS.map(limits::LimitKind::words))
}

/// The kind with the largest share of the time.
#[pyfunction]
pub fn largest_limit(shares: BTreeMap<String, f64>, after_loss: bool) -> &'static str {
    limits::largest(&shares, after_loss).name()
}

/// A share in percent.
#[pyfunction]
pub fn share_text(share: f64) -> String {
    limits::share_text(share)
}

/// `limits`, `limit` and `why` of each flow of a summary.
#[pyfunction]
pub fn explain_limits(summary: &str, plan: &str) -> PyResult<String> {
    let (run, plan): (RunFigures, PlanFigures) = (read(summary)?, read(plan)?);
    write(&limits::explain(&run, &plan))
}

/// The facts of each TCP flow with packets; with `connections`, of each connection with the name of
/// its last part.
#[pyfunction]
pub fn limit_facts(summary: &str, plan: &str, connections: bool) -> PyResult<String> {
    let (run, plan): (RunFigures, PlanFigures) = (read(summary)?, read(plan)?);
    if connections {
        return write(&limits::facts::of_connections(&run, &plan));
    }
    let facts = limits::facts::of_run(&run, &plan);
    write(&facts.into_iter().map(|of| (of.flow.clone(), of)).collect::<Vec<_>>())
}

/// The limit that these facts show: `limit` of the documents and its sentence.
#[pyfunction]
pub fn decide_limit(facts: &str) -> PyResult<String> {
    let limit = read::<LimitFacts>(facts)?.decide();
    write(&(&limit, &limit.why))
}

/// The kind of limit and the cause of cwnd's reductions that these facts show.
#[pyfunction]
pub fn limit_kind(facts: &str) -> PyResult<(&'static str, &'static str)> {
    let facts = read::<LimitFacts>(facts)?;
    Ok((facts.kind().name(), facts.loss()))
}
