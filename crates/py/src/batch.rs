//! Runs of a chunk: several plans, each with several seeds, on several threads.

use crate::errors::{self, failure};
use crate::objects::to_object;
use crate::python_cc::{Faults, UserCode};
use crate::table::Table;
use crate::{ControlError, run_columns};
use ackclock_sim::summary::Summary;
use ackclock_sim::{BatchPool, BatchRun, Plan};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::sync::atomic::{AtomicBool, Ordering};

/// The results of a batch in the order of its runs.
#[pyclass(frozen)]
pub struct Batch {
    summaries: Vec<Summary>,
    stored_summaries: Table,
    series: Table,
    hops: Table,
}

#[pymethods]
impl Batch {
    /// The fields of `simulate --json` of each run.
    fn summaries<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_object(py, &self.summaries)
    }

    /// The summaries as a dataset keeps them: an Arrow table with the number of the run and JSON.
    fn stored_summaries(&self) -> Table {
        self.stored_summaries.clone()
    }

    /// Time series of TCP flows, as an Arrow table; `run` is the number of the run.
    fn series(&self) -> Table {
        self.series.clone()
    }

    /// Time series of queues, as an Arrow table; `run` is the number of the run.
    fn hops(&self) -> Table {
        self.hops.clone()
    }
}

/// Threads that run chunks. Several Python threads may call `run` at a time.
#[pyclass(frozen)]
pub struct Batches {
    pool: BatchPool,
    stopped: AtomicBool,
}

#[pymethods]
impl Batches {
    /// `threads` threads; 0: one for each core. FailedError: they cannot be started.
    #[new]
    fn new(threads: usize) -> PyResult<Batches> {
        Ok(Batches { pool: BatchPool::new(threads).map_err(errors::of_run)?, stopped: AtomicBool::new(false) })
    }

    /// Ends the runs in progress with FailedError. No further run starts.
    fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Runs plans (JSON) without the GIL. `runs` has the index of the plan, the seed, and whether the
    /// time series are kept; the first run has the number `first`. `controls` are congestion
    /// controls and rate controllers of the user (name to class). PlanError: a plan is rejected;
    /// FailedError: a run failed or was stopped; ControlError: one of the classes raised. Each error
    /// has the index of the run as `run`.
    #[pyo3(signature = (plans, runs, first, controls = None))]
    fn run(
        &self,
        py: Python<'_>,
        plans: Vec<String>,
        runs: Vec<(usize, u64, bool)>,
        first: u64,
        controls: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Batch> {
        run_chunk(self, py, &plans, &runs, first, controls)
    }
}

fn run_chunk(
    batches: &Batches,
    py: Python<'_>,
    plans: &[String],
    runs: &[(usize, u64, bool)],
    first: u64,
    controls: Option<&Bound<'_, PyDict>>,
) -> PyResult<Batch> {
    let faults = Faults::default();
    let code = UserCode::of(controls, &faults)?;
    let runs: Vec<BatchRun> = runs.iter().map(|&(plan, seed, series)| BatchRun { plan, seed, series }).collect();
    let at = |error: PyErr, run: usize| {
        let _ = error.value(py).setattr("run", run);
        error
    };
    let read = |(number, text): (usize, &String)| match Plan::from_json(text) {
        Ok(plan) => Ok(code.clone().pass_to(plan)),
        Err(error) => Err(at(errors::of_plan(error), runs.iter().position(|run| run.plan == number).unwrap_or_default())),
    };
    let plans: Vec<Plan> = plans.iter().enumerate().map(read).collect::<PyResult<_>>()?;
    if let Some(run) = runs.iter().position(|run| run.plan >= plans.len()) {
        return Err(at(failure("a run of a plan that does not exist"), run));
    }
    let done = py.detach(|| {
        let keep_going = || !batches.stopped.load(Ordering::Relaxed) && !faults.any();
        batches.pool.run(&plans, &runs, &keep_going)
    });
    if let Some(raised) = faults.take() {
        let error = ControlError::new_err(raised.to_string());
        error.set_cause(py, Some(raised));
        return Err(match &done {
            Err(failed) => at(error, failed.run),
            Ok(_) => error,
        });
    }
    let done = done.map_err(|failed| at(errors::of_run(failed.error), failed.run))?;
    py.detach(|| {
        let numbered =
            || (first..).zip(&runs).zip(&done).map(|((number, run), result)| (number, &plans[run.plan], run.seed, result));
        let texts = done.iter().map(|result| serde_json::to_string(&result.summary)).collect::<Result<Vec<_>, _>>();
        Ok(Batch {
            stored_summaries: Table::new(run_columns::summaries_of_runs(first, &texts.map_err(failure)?).map_err(failure)?),
            series: Table::new(
                run_columns::series_of_runs(numbered().map(|(n, p, seed, r)| (n, p, seed, &r.series))).map_err(failure)?,
            ),
            hops: Table::new(
                run_columns::hops_of_runs(numbered().map(|(n, p, seed, r)| (n, p, seed, &r.hops))).map_err(failure)?,
            ),
            summaries: done.into_iter().map(|result| result.summary).collect(),
        })
    })
}
