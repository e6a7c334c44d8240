//! The metrics of a run: differences of counters between start and end of the window, and meters
//! that restart with it.

mod app_score;
mod flow;
mod hop;
mod path_times;
mod window;

pub use app_score::AppScore;
pub use flow::{FlowMetrics, QuicCounts, Tcp as TcpMetrics};
pub use hop::{HopMetrics, drops, sample, shaper_rate};
pub use path_times::{FlowPath, HopShare, PathTimes};
pub use window::{Window, window};

use crate::build::{BuiltNetwork, DirectedHop};
use crate::plan::Plan;
use ackclock_core::{Network, Time};
use flow::FlowCounts;
use hop::HopCounts;

/// The metrics of every hop from the last restart of its meters until `now`.
pub fn hops(directed_hops: &[DirectedHop], network: &mut Network, now: Time) -> Vec<HopMetrics> {
    directed_hops.iter().map(|directed_hop| hop::read(directed_hop, network, now, &HopCounts::default())).collect()
}

/// A read of counters at an instant, before the events of that instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Read {
    /// The window begins: meters restart, counters are read.
    Begin,
    /// A flow stops, or the window ends.
    Flow(usize),
    Hops,
}

/// The scheduled reads, and their results.
pub struct MetricsSchedule {
    window: Window,
    /// In descending order of time.
    reads: Vec<(Time, Read)>,
    before_flows: Vec<FlowCounts>,
    before_hops: Vec<HopCounts>,
    flows: Vec<Option<FlowMetrics>>,
    hops: Vec<HopMetrics>,
    path_times: PathTimes,
}

impl MetricsSchedule {
    pub fn new(plan: &Plan, world: &BuiltNetwork, window: Window) -> MetricsSchedule {
        let mut reads = vec![(window.to, Read::Hops)];
        if window.from > Time::ZERO {
            reads.push((window.from, Read::Begin));
        }
        for (i, flow) in plan.flows.iter().enumerate() {
            let stop = flow.stop_ps.map_or(Time::NEVER, Time).max(window.from);
            reads.push((window.to.min(stop), Read::Flow(i)));
        }
        reads.sort_unstable_by(|a, b| b.cmp(a));
        MetricsSchedule {
            window,
            reads,
            before_flows: vec![FlowCounts::default(); plan.flows.len()],
            before_hops: world.directed_hops.iter().map(|_| HopCounts::default()).collect(),
            flows: vec![None; plan.flows.len()],
            hops: Vec::new(),
            path_times: PathTimes::new(world, window),
        }
    }

    /// Time of the next read.
    pub fn due(&self) -> Time {
        self.reads.last().map_or(Time::NEVER, |(due, _)| *due)
    }

    /// Reads what is due at `now`.
    pub fn read_due(&mut self, now: Time, plan: &Plan, world: &mut BuiltNetwork) {
        if now > self.window.from {
            self.path_times.read_due(now, &world.directed_hops, &world.flows, &mut world.network);
        }
        while let Some((_, read)) = self.reads.pop_if(|(due, _)| *due <= now) {
            match read {
                Read::Begin => self.begin(now, plan, world),
                Read::Flow(i) => {
                    let start = world.flows[i].started(&world.network).unwrap_or(now).min(now);
                    let span = (self.window.from.max(start), now);
                    self.flows[i] =
                        Some(flow::read(&plan.flows[i], &world.flows[i], &world.network, span, &self.before_flows[i]));
                }
                Read::Hops => {
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

    /// Metrics by flow and by directed hop; defaults for a flow that was never read.
    pub fn finish(self) -> (Vec<FlowMetrics>, Vec<HopMetrics>, PathTimes) {
        (self.flows.into_iter().map(Option::unwrap_or_default).collect(), self.hops, self.path_times)
    }
}
