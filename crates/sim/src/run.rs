//! One run: the network advances from one sample boundary to the next.

use crate::build::{BuiltNetwork, build};
use crate::capture::Captures;
use crate::metrics::{MetricsSchedule, window};
use crate::plan::{Plan, PlanError};
use crate::recorder::{HopSeries, Recorder, Series};
use crate::summary::{RunMetrics, Summary, summarize};
use ackclock_core::probe::Probe;
use ackclock_core::{Problem, Span, Time};
use std::path::Path;

/// The results of a run.
#[derive(Debug, Clone)]
pub struct RunResult {
    pub summary: Summary,
    pub series: Series,
    pub hops: HopSeries,
}

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error(transparent)]
    Plan(#[from] PlanError),
    #[error("{0}")]
    Failed(String),
    #[error("capture {path}: {error}")]
    Capture { path: String, error: std::io::Error },
    #[error("interrupted")]
    Interrupted,
}

impl From<RunError> for Problem {
    fn from(error: RunError) -> Problem {
        match error {
            RunError::Plan(error) => error.into(),
            RunError::Failed(reason) => Problem::new(reason, "report it with the scenario and the seed"),
            RunError::Capture { path, error } => Problem::refused("writing a capture", &error).in_file(Path::new(&path)),
            RunError::Interrupted => Problem::new("interrupted", "run it again"),
        }
    }
}

/// Runs a checked plan to its end.
pub fn run(plan: &Plan) -> Result<RunResult, RunError> {
    run_while(plan, &mut || true)
}

/// Runs a plan while `keep_going` returns true. It is called about 1000 times a run.
pub fn run_while(plan: &Plan, keep_going: &mut dyn FnMut() -> bool) -> Result<RunResult, RunError> {
    let mut run = SteppedRun::new(plan, build)?;
    if plan.captures.is_empty() {
        run.advance_while(plan, &mut (), keep_going)?;
    } else {
        let mut captures = Captures::create(plan, &run.world)?;
        run.advance_while(plan, &mut captures, keep_going)?;
        captures.finish()?;
    }
    run.finish(plan)
}

/// A run that advances in steps, so that its series can be read before its end. Each call gets the
/// plan that the run was made of.
pub struct SteppedRun {
    world: BuiltNetwork,
    metrics: MetricsSchedule,
    recorder: Recorder,
    now: Time,
    end: Time,
    /// A thousandth of the run.
    stride: Span,
    stride_due: Time,
}

impl SteppedRun {
    /// The run at time 0. `build` is [`build`] or, for a packet's place among the hops,
    /// [`build_unfused`](crate::build::build_unfused).
    pub fn new(plan: &Plan, build: fn(&Plan) -> BuiltNetwork) -> Result<SteppedRun, RunError> {
        if plan.flows.iter().any(|flow| flow.workload == (crate::plan::WorkloadConfig::Live {})) {
            return Err(RunError::Failed("a live flow needs real hosts: emulate it".into()));
        }
        plan.check_user_code()?;
        let world = build(plan);
        let window = window(plan, &world).map_err(RunError::Failed)?;
        let metrics = MetricsSchedule::new(plan, &world, window);
        let stride = Span((plan.duration_ps / 1000).max(1));
        Ok(SteppedRun {
            world,
            metrics,
            recorder: Recorder::new(plan),
            now: Time::ZERO,
            end: Time(plan.duration_ps),
            stride,
            stride_due: Time::ZERO + stride,
        })
    }

    pub fn now(&self) -> Time {
        self.now
    }

    /// True at the end of the plan's duration.
    pub fn is_over(&self) -> bool {
        self.now >= self.end
    }

    /// The elements of the hops and the endpoints of the flows.
    pub fn world(&self) -> &BuiltNetwork {
        &self.world
    }

    /// Samples of flows so far.
    pub fn series(&self) -> &Series {
        &self.recorder.series
    }

    /// Samples of queues so far.
    pub fn hops(&self) -> &HopSeries {
        &self.recorder.hops
    }

    /// Advances to the last stop up to `until`. A run stops at its samples, at the reads of its
    /// metrics, at each thousandth of its duration and at its end, where it also reads what the hops
    /// did. The results do not depend on `until`, as no other time is a stop.
    pub fn advance<P: Probe>(&mut self, plan: &Plan, until: Time, probe: &mut P) {
        while !self.is_over() {
            let now = self.recorder.due().min(self.metrics.due()).min(self.stride_due).min(self.end);
            if now > until {
                break;
            }
            self.world.network.run_until(now, probe);
            if self.recorder.due() <= now {
                self.recorder.take(now, &mut self.world);
            }
            self.metrics.read_due(now, plan, &mut self.world);
            if now >= self.stride_due {
                self.stride_due = now + self.stride;
            }
            self.now = now;
        }
    }

    /// Advances to the end, in about 1000 steps.
    fn advance_while<P: Probe>(
        &mut self,
        plan: &Plan,
        probe: &mut P,
        keep_going: &mut dyn FnMut() -> bool,
    ) -> Result<(), RunError> {
        while !self.is_over() {
            self.advance(plan, self.stride_due.min(self.end), probe);
            if !keep_going() {
                return Err(RunError::Interrupted);
            }
        }
        Ok(())
    }

    /// The results of a run that is over.
    pub fn finish(self, plan: &Plan) -> Result<RunResult, RunError> {
        check_conservation(plan, &self.world)?;
        let (flows, hops, path_times) = self.metrics.finish();
        let summary = summarize(plan, &self.world, &RunMetrics { flows: &flows, hops: &hops, path_times: &path_times });
        Ok(RunResult { summary, series: self.recorder.series, hops: self.recorder.hops })
    }
}

/// Packet conservation: every packet is delivered, dropped or in flight.
fn check_conservation(plan: &Plan, world: &BuiltNetwork) -> Result<(), RunError> {
    let unrouted = world.network.unrouted();
    let routed = if unrouted > 0 { Err(format!("{unrouted} packets had no route")) } else { Ok(()) };
    routed
        .and_then(|()| world.network.conserved())
        .map_err(|e| RunError::Failed(format!("seed {}: packets are not conserved: {e}", plan.seed)))
}
