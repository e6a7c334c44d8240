//! One run: the network advances from one sample boundary to the next.

use crate::build::{BuiltNetwork, Metering, build};
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
    if plan.flows.iter().any(|flow| flow.workload == (crate::plan::Workload::Live {})) {
        return Err(RunError::Failed("a live flow needs real hosts: emulate it".into()));
    }
    let hosts = plan.flows.iter().filter_map(|flow| flow.tcp.as_ref()).chain(plan.proxies.iter().map(|proxy| &proxy.tcp));
    let missing = { hosts }.find(|tcp| tcp.user.is_some() && plan.user_variant(tcp).is_none());
    if let Some(tcp) = missing {
        return Err(
            PlanError::from(format!("there is no TCP variant '{}': it must be given with the plan", tcp.variant_name())).into()
        );
    }
    let mut world = build(plan, Metering::On);
    let window = window(plan, &world).map_err(RunError::Failed)?;
    let mut metrics = MetricsSchedule::new(plan, &world, window);
    let mut recorder = Recorder::new(plan);
    let mut simulation = Simulation { plan, keep_going, metrics: &mut metrics, recorder: &mut recorder };
    if plan.captures.is_empty() {
        simulation.run(&mut world, &mut ())?;
    } else {
        let mut captures = Captures::create(plan, &world)?;
        simulation.run(&mut world, &mut captures)?;
        captures.finish()?;
    }
    check_conservation(plan, &world)?;
    let (flows, hops, path_times) = metrics.finish();
    let summary = summarize(plan, &world, &RunMetrics { flows: &flows, hops: &hops, path_times: &path_times });
    Ok(RunResult { summary, series: recorder.series, hops: recorder.hops })
}

/// Advances the network and stops at each sample boundary.
struct Simulation<'a> {
    plan: &'a Plan,
    keep_going: &'a mut dyn FnMut() -> bool,
    metrics: &'a mut MetricsSchedule,
    recorder: &'a mut Recorder,
}

impl Simulation<'_> {
    fn run<P: Probe>(&mut self, world: &mut BuiltNetwork, probe: &mut P) -> Result<(), RunError> {
        let end = Time(self.plan.duration_ps);
        let stride = Span((end.0 / 1000).max(1));
        let mut last_check = Time::ZERO;
        loop {
            let now = self.recorder.due().min(self.metrics.due()).min(last_check + stride).min(end);
            world.network.run_until(now, probe);
            if self.recorder.due() <= now {
                self.recorder.take(now, world);
            }
            self.metrics.read_due(now, self.plan, world);
            if now >= last_check + stride {
                last_check = now;
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

/// Packet conservation: every packet is delivered, dropped or in flight.
fn check_conservation(plan: &Plan, world: &BuiltNetwork) -> Result<(), RunError> {
    let unrouted = world.network.unrouted();
    let routed = if unrouted > 0 { Err(format!("{unrouted} packets had no route")) } else { Ok(()) };
    routed
        .and_then(|()| world.network.conserved())
        .map_err(|e| RunError::Failed(format!("seed {}: packets are not conserved: {e}", plan.seed)))
}
