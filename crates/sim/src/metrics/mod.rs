//! The figures a run reports: counters at the two endpoints of a window, and meters that start with it.

mod flow;
mod hop;
mod window;

pub use flow::{FlowMetrics, Tcp as TcpMetrics};
pub use hop::{HopMetrics, drops};
pub use window::{Window, window};

use crate::build::{BuiltNetwork, DirectedHop};
use crate::plan::Plan;
use ackclock_core::{Network, Time};
use flow::Counts;
use hop::Before;

/// What every directed_hop has done since its meters last started, until `now`.
pub fn hops(directed_hops: &[DirectedHop], network: &mut Network, now: Time) -> Vec<HopMetrics> {
    directed_hops.iter().map(|directed_hop| hop::read(directed_hop, network, now, &Before::default())).collect()
}

/// Something to do at an instant, before what happens then.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Read {
    /// The window begins: meters restart, counters are noted.
    Begin,
    /// A flow has been told to stop, or the window endpoints.
    ReadFlow(usize),
    ReadHops,
}

/// What to read when, and what has been read.
pub struct MetricsSchedule {
    window: Window,
    /// Last first.
    marks: Vec<(Time, Read)>,
    before_flows: Vec<Counts>,
    before_hops: Vec<Before>,
    flows: Vec<Option<FlowMetrics>>,
    hops: Vec<HopMetrics>,
}

impl MetricsSchedule {
    pub fn new(plan: &Plan, world: &BuiltNetwork, window: Window) -> MetricsSchedule {
        let mut marks = vec![(window.to, Read::ReadHops)];
        if window.from > Time::ZERO {
            marks.push((window.from, Read::Begin));
        }
        for (i, flow) in plan.flows.iter().enumerate() {
            let stop = flow.stop_ps.map_or(Time::NEVER, Time).max(window.from);
            marks.push((window.to.min(stop), Read::ReadFlow(i)));
        }
        marks.sort_unstable_by(|a, b| b.cmp(a));
        MetricsSchedule {
            window,
            marks,
            before_flows: vec![Counts::default(); plan.flows.len()],
            before_hops: world.directed_hops.iter().map(|_| Before::default()).collect(),
            flows: vec![None; plan.flows.len()],
            hops: Vec::new(),
        }
    }

    /// When there is something to do next.
    pub fn due(&self) -> Time {
        self.marks.last().map_or(Time::NEVER, |m| m.0)
    }

    /// Does what is due at `now`.
    pub fn act(&mut self, now: Time, plan: &Plan, world: &mut BuiltNetwork) {
        while let Some((_, mark)) = self.marks.pop_if(|m| m.0 <= now) {
            match mark {
                Read::Begin => self.begin(now, plan, world),
                Read::ReadFlow(i) => {
                    let start = world.flows[i].started(&world.network).unwrap_or(now).min(now);
                    let span = (self.window.from.max(start), now);
                    self.flows[i] =
                        Some(flow::read(&plan.flows[i], &world.flows[i], &world.network, span, &self.before_flows[i]));
                }
                Read::ReadHops => {
                    let BuiltNetwork { network, directed_hops, .. } = &mut *world;
                    self.hops = directed_hops
                        .iter()
                        .zip(&self.before_hops)
                        .map(|(directed_hop, before)| hop::read(directed_hop, network, now, before))
                        .collect();
                }
            }
        }
    }

    fn begin(&mut self, now: Time, plan: &Plan, world: &mut BuiltNetwork) {
        for (i, (flow, endpoints)) in plan.flows.iter().zip(&world.flows).enumerate() {
            self.before_flows[i] = flow::counts(flow, endpoints, &world.network, now);
            flow::restart_meters(endpoints, &mut world.network, now);
        }
        let BuiltNetwork { network, directed_hops, .. } = &mut *world;
        self.before_hops = directed_hops.iter().map(|directed_hop| hop::restart(directed_hop, network, now)).collect();
    }

    /// Figures by flow and by directed_hop; a flow whose mark never came has none.
    pub fn finish(self) -> (Vec<FlowMetrics>, Vec<HopMetrics>) {
        (self.flows.into_iter().map(Option::unwrap_or_default).collect(), self.hops)
    }
}
