//! Several runs on several threads, with their results in order.

use crate::plan::Plan;
use crate::run::{RunError, RunResult, run_while};
use rayon::prelude::*;

/// One run of a batch: a plan with another seed, with or without its time series.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchRun {
    /// Index into the batch's plans.
    pub plan: usize,
    pub seed: u64,
    pub series: bool,
}

/// An error of a batch, and the index of the run that failed.
#[derive(Debug, thiserror::Error)]
#[error("run {run}: {error}")]
pub struct BatchError {
    pub run: usize,
    pub error: RunError,
}

/// Threads that run batches. Several batches may be in progress at a time.
#[derive(Debug)]
pub struct BatchPool(rayon::ThreadPool);

impl BatchPool {
    /// `threads` threads; 0: one for each core.
    ///
    /// # Errors
    ///
    /// The threads cannot be started.
    pub fn new(threads: usize) -> Result<BatchPool, RunError> {
        rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|number| format!("run-{number}"))
            .build()
            .map(BatchPool)
            .map_err(|error| RunError::Failed(format!("no threads: {error}")))
    }

    /// Runs a batch while `keep_going` returns true. The results have the order of `runs` and do
    /// not depend on the number of threads.
    ///
    /// # Errors
    ///
    /// One of the errors that occurred. No further run starts after an error.
    ///
    /// # Panics
    ///
    /// A run names a plan that does not exist.
    pub fn run(
        &self,
        plans: &[Plan],
        runs: &[BatchRun],
        keep_going: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<RunResult>, BatchError> {
        let one = |(index, run): (usize, &BatchRun)| {
            let plan = &plans[run.plan];
            let sample_ps = if run.series { plan.sample_ps } else { 0 };
            let plan = Plan { seed: run.seed, sample_ps, ..plan.clone() };
            run_while(&plan, &mut || keep_going()).map_err(|error| BatchError { run: index, error })
        };
        self.0.install(|| runs.par_iter().enumerate().map(one).collect())
    }
}
