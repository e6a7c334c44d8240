//! The figures a run reports: counters at the two ends of a window, and meters that start with it.

mod flow;
mod hop;
mod window;

pub use flow::{FlowFigures, Tcp as TcpFigures};
pub use hop::{HopFigures, drops};
pub use window::{Window, window};

use crate::build::{Lane, World};
use crate::plan::Plan;
use ackclock_core::{Network, Time};
use flow::Counts;
use hop::Before;

/// What every lane has done since its meters last started, until `now`.
pub fn hops(lanes: &[Lane], network: &mut Network, now: Time) -> Vec<HopFigures> {
    lanes.iter().map(|lane| hop::read(lane, network, now, &Before::default())).collect()
}

/// Something to do at an instant, before what happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Mark {
    /// The window begins: meters restart, counters are noted.
    Begin,
    /// A flow has been told to stop, or the window ends.
    ReadFlow(usize),
    ReadHops,
}

/// What to read when, and what has been read.
pub struct Measurement {
    window: Window,
    /// Last first.
    marks: Vec<(Time, Mark)>,
    before_flows: Vec<Counts>,
    before_hops: Vec<Before>,
    flows: Vec<Option<FlowFigures>>,
    hops: Vec<HopFigures>,
}

impl Measurement {
    pub fn new(plan: &Plan, world: &World, window: Window) -> Measurement {
        let mut marks = vec![(window.to, Mark::ReadHops)];
        if window.from > Time::ZERO {
            marks.push((window.from, Mark::Begin));
        }
        for (i, flow) in plan.flows.iter().enumerate() {
            let stop = flow.stop_ps.map_or(Time::NEVER, Time).max(window.from);
            marks.push((window.to.min(stop), Mark::ReadFlow(i)));
        }
        marks.sort_unstable_by(|a, b| b.cmp(a));
        Measurement {
            window,
            marks,
            before_flows: vec![Counts::default(); plan.flows.len()],
            before_hops: world.lanes.iter().map(|_| Before::default()).collect(),
            flows: vec![None; plan.flows.len()],
            hops: Vec::new(),
        }
    }

    /// When there is something to do next.
    pub fn due(&self) -> Time {
        self.marks.last().map_or(Time::NEVER, |m| m.0)
    }

    /// Does what is due at `now`.
    pub fn act(&mut self, now: Time, plan: &Plan, world: &mut World) {
        while let Some((_, mark)) = self.marks.pop_if(|m| m.0 <= now) {
            match mark {
                Mark::Begin => self.begin(now, plan, world),
                Mark::ReadFlow(i) => {
                    let start = world.flows[i].started(&world.network).unwrap_or(now).min(now);
                    let span = (self.window.from.max(start), now);
                    self.flows[i] =
                        Some(flow::read(&plan.flows[i], &world.flows[i], &world.network, span, &self.before_flows[i]));
                }
                Mark::ReadHops => {
                    let World { network, lanes, .. } = &mut *world;
                    self.hops =
                        lanes.iter().zip(&self.before_hops).map(|(lane, before)| hop::read(lane, network, now, before)).collect();
                }
            }
        }
    }

    fn begin(&mut self, now: Time, plan: &Plan, world: &mut World) {
        for (i, (flow, ends)) in plan.flows.iter().zip(&world.flows).enumerate() {
            self.before_flows[i] = flow::counts(flow, ends, &world.network, now);
            flow::restart_meters(ends, &mut world.network, now);
        }
        let World { network, lanes, .. } = &mut *world;
        self.before_hops = lanes.iter().map(|lane| hop::restart(lane, network, now)).collect();
    }

    /// Figures by flow and by lane; a flow whose mark never came has none.
    pub fn finish(self) -> (Vec<FlowFigures>, Vec<HopFigures>) {
        (self.flows.into_iter().map(Option::unwrap_or_default).collect(), self.hops)
    }
}
