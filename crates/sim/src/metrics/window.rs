//! The window of the metrics: the whole run, the time in which all flows run, or a given interval.

use crate::build::{BuiltNetwork, Role, build};
use crate::finished_at;
use crate::plan::{Measure, Plan};
use ackclock_core::{Span, Time};

/// From `from` (inclusive) to `to` (exclusive).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub from: Time,
    pub to: Time,
}

/// The window of a run. Error: the flows never run all at once.
pub fn window(plan: &Plan, world: &BuiltNetwork) -> Result<Window, String> {
    let end = Time(plan.duration_ps);
    match plan.measure {
        Measure::All {} => Ok(Window { from: Time::ZERO, to: end }),
        Measure::Interval { from_ps, to_ps } => Ok(Window { from: Time(from_ps), to: Time(to_ps) }),
        Measure::AllActive {} => {
            let from = world.flows.iter().map(|f| f.start).max().unwrap_or(Time::ZERO);
            let stop = plan.flows.iter().filter_map(|f| f.stop_ps).min().map_or(end, |ps| end.min(Time(ps)));
            let to = first_completion(plan, stop).map_or(stop, |t| stop.min(t));
            if from < to {
                return Ok(Window { from, to });
            }
            Err(format!("the flows never all run at once: the last starts at {from:?}, the first ends at {to:?}"))
        }
    }
}

/// The completion of the first transfer, from a run of the same network ahead of the measured one.
fn first_completion(plan: &Plan, until: Time) -> Option<Time> {
    if !plan.flows.iter().any(|f| matches!(f.workload, crate::plan::WorkloadConfig::Transfer { .. })) {
        return None;
    }
    let mut world = build(plan);
    let step = Span((until.0 / 1000).max(1));
    let mut now = Time::ZERO;
    while now < until {
        now = until.min(now + step);
        world.network.run_until(now, &mut ());
        let completed = |f: &crate::build::FlowEndpoints| finished_at(world.network.endpoint(f.by_role(Role::Receiver)));
        if let Some(first) = world.flows.iter().filter_map(completed).min() {
            // The window includes the events of that instant.
            return Some(first + Span(1));
        }
    }
    None
}
