//! One run: the virtual clock goes from mark to mark, and between marks the network runs by itself.

use crate::build::{BuiltNetwork, Metering, build};
use crate::capture::Captures;
use crate::metrics::{MetricsSchedule, window};
use crate::plan::{Plan, PlanError};
use crate::recorder::{HopSeries, Recorder, Series};
use crate::summary::{Summary, summarize};
use ackclock_core::probe::Probe;
use ackclock_core::{Problem, Span, Time};
use std::path::Path;

/// What a run leaves behind.
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
            RunError::Plan(bad) => bad.into(),
            RunError::Failed(why) => Problem::new(why, "report it with the scenario and the seed"),
            RunError::Capture { path, error } => Problem::refused("writing a capture", &error).in_file(Path::new(&path)),
            RunError::Interrupted => Problem::new("interrupted", "run it again"),
        }
    }
}

/// Runs a checked plan to its end.
pub fn run(plan: &Plan) -> Result<RunResult, RunError> {
    run_while(plan, &mut || true)
}

/// Runs a plan as long as `keep_going` says so, which is asked some thousand times.
pub fn run_while(plan: &Plan, keep_going: &mut dyn FnMut() -> bool) -> Result<RunResult, RunError> {
    if plan.flows.iter().any(|flow| flow.workload == (crate::plan::Workload::Live {})) {
        return Err(RunError::Failed("a live flow needs real hosts: emulate it".into()));
    }
    let hosts = plan.flows.iter().filter_map(|flow| flow.tcp.as_ref()).chain(plan.proxies.iter().map(|proxy| &proxy.tcp));
    let missing = { hosts }.find(|t| t.is_user() && plan.user_variant(t).is_none());
    if let Some(tcp) = missing {
        return Err(PlanError::from(format!("there is no TCP variant '{}': it must be given with the plan", tcp.variant)).into());
    }
    let mut world = build(plan, Metering::On);
    let window = window(plan, &world).map_err(RunError::Failed)?;
    let mut measurement = MetricsSchedule::new(plan, &world, window);
    let mut recorder = Recorder::new(plan);
    let mut course = Course { plan, keep_going, measurement: &mut measurement, recorder: &mut recorder };
    if plan.captures.is_empty() {
        course.run(&mut world, &mut ())?;
    } else {
        let mut captures = Captures::create(plan, &world)?;
        course.run(&mut world, &mut captures)?;
        captures.finish()?;
    }
    check(plan, &world)?;
    let (flows, hops) = measurement.finish();
    let summary = summarize(plan, &world, &flows, &hops);
    Ok(RunResult { summary, series: recorder.series, hops: recorder.hops })
}

/// From start to end by way of everything that must be looked at on the way.
struct Course<'a> {
    plan: &'a Plan,
    keep_going: &'a mut dyn FnMut() -> bool,
    measurement: &'a mut MetricsSchedule,
    recorder: &'a mut Recorder,
}

impl Course<'_> {
    fn run<P: Probe>(&mut self, world: &mut BuiltNetwork, probe: &mut P) -> Result<(), RunError> {
        let end = Time(self.plan.duration_ps);
        let stride = Span((end.0 / 1000).max(1));
        let mut asked = Time::ZERO;
        loop {
            let now = self.recorder.due().min(self.measurement.due()).min(asked + stride).min(end);
            world.network.run_until(now, probe);
            if self.recorder.due() <= now {
                self.recorder.take(now, world);
            }
            self.measurement.act(now, self.plan, world);
            if now >= asked + stride {
                asked = now;
                if !(self.keep_going)() {
                    return Err(RunError::Interrupted);
                }
            }
            if now >= end {
                return Ok(());
            }
        }
    }
}

/// A run that lost or invented a packet is no result.
fn check(plan: &Plan, world: &BuiltNetwork) -> Result<(), RunError> {
    let unrouted = world.network.unrouted();
    let lost = if unrouted > 0 { Err(format!("{unrouted} packets had no route")) } else { Ok(()) };
    lost.and_then(|()| world.network.conserved())
        .map_err(|e| RunError::Failed(format!("seed {}: packets are not conserved: {e}", plan.seed)))
}
