//! What a flow's path did over time: in which hops no capacity was free, and how long ACKs waited.
//!
//! Both are read in steps of the window, since a flow that fills its bottleneck for a part of each
//! RTT differs from one that always fills it, and ACKs that wait later in the run limit the flow only
//! then.

use super::window::Window;
use crate::build::{BuiltNetwork, Chain, DirectedHop, FlowEndpoints, Role};
use crate::{other_of, tcp_of};
use ackclock_core::element::Element;
use ackclock_core::medium::Direction;
use ackclock_core::network::Network;
use ackclock_core::{Span, Time};

/// Length of a step, within the bounds of the number of steps: enough for a transfer that takes a
/// fiftieth of a long window, and few in a short run.
const STEP: Span = Span::from_ms(50);
const MIN_STEPS: u64 = 64;
const MAX_STEPS: u64 = 512;
/// Above this share of an RTT no other limit matters: without it the flow would gain less than
/// 1/0.95 - 1, 5 %.
const SATURATED: f64 = 0.95;

/// Cumulated from the start of the window to the end of a step.
#[derive(Clone, Copy, Debug, Default)]
struct HopStep {
    full: Span,
    /// Queueing delay in seconds of all packets, and their number.
    delay: f64,
    packets: u64,
    /// Mean delay of access to a medium in seconds, a part of `delay`.
    access: f64,
}

/// The steps of a run.
pub struct PathTimes {
    step: Span,
    due: Time,
    times: Vec<Time>,
    /// By directed hop and chain.
    hops: Vec<Vec<Vec<HopStep>>>,
    /// By flow.
    srtt_ms: Vec<SrttSeries>,
}

/// The smoothed RTT of a flow in milliseconds, from the first step that has one.
#[derive(Default)]
struct SrttSeries {
    first: usize,
    values: Vec<f32>,
}

impl SrttSeries {
    fn push(&mut self, step: usize, srtt_ms: Option<f64>) {
        match srtt_ms {
            None if self.values.is_empty() => self.first = step + 1,
            srtt_ms => self.values.push(srtt_ms.unwrap_or(0.0) as f32),
        }
    }

    /// 0 before the first.
    fn at(&self, step: usize) -> f64 {
        let value = step.checked_sub(self.first).and_then(|at| self.values.get(at));
        value.copied().map_or(0.0, f64::from)
    }
}

/// A flow and the hops of its path.
#[derive(Clone, Copy)]
pub struct FlowPath<'a> {
    /// The number of the flow.
    pub flow: usize,
    pub client: u32,
    pub direction: Direction,
    pub hops: &'a [usize],
    /// Its measured time.
    pub span: (Time, Time),
    /// Mean RTT in seconds.
    pub rtt: f64,
    /// Propagation delay of the path in both directions, in seconds. The minimum RTT is no base: a
    /// flow that starts beside an upload never sees an empty queue.
    pub propagation: f64,
}

/// A directed hop by its number, and a share of the flow's time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HopShare {
    pub hop: usize,
    pub share: f64,
}

/// What the path of a flow did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathLimits {
    /// The hop in the direction of the data that had no free capacity, for an RTT, for the largest
    /// share of the flow's time.
    pub saturated: Option<HopShare>,
    /// The same in the direction of the ACKs.
    pub ack_saturated: Option<HopShare>,
    /// The hop with the longest queue of ACKs while `saturated` had free capacity, and the part of the
    /// RTT that the flow's ACKs waited in all queues; `ack_wait_ms` is that time.
    pub ack_wait: Option<HopShare>,
    pub ack_wait_ms: f64,
}

impl PathTimes {
    pub fn new(world: &BuiltNetwork, window: Window) -> PathTimes {
        let chains = |hop: &DirectedHop| vec![Vec::new(); hop.chains.len()];
        let length = window.to - window.from;
        let steps = (length.0 / STEP.0).clamp(MIN_STEPS, MAX_STEPS);
        PathTimes {
            step: Span((length.0 / steps).max(1)),
            due: window.from,
            times: Vec::new(),
            hops: world.directed_hops.iter().map(chains).collect(),
            srtt_ms: world.flows.iter().map(|_| SrttSeries::default()).collect(),
        }
    }

    /// Reads the meters once a step, just before the events of `now`. They have restarted at the
    /// start of the window.
    pub fn read_due(&mut self, now: Time, directed_hops: &[DirectedHop], flows: &[FlowEndpoints], network: &mut Network) {
        if now < self.due {
            return;
        }
        self.due = now + self.step;
        let step = self.times.len();
        self.times.push(now);
        for (hop, series) in directed_hops.iter().zip(&mut self.hops) {
            for (chain, steps) in hop.chains.iter().zip(series) {
                steps.push(read(chain, network, now));
            }
        }
        for (endpoints, series) in flows.iter().zip(&mut self.srtt_ms) {
            let sender = network.endpoint(endpoints.by_role(Role::Sender));
            let srtt_ms = match tcp_of(sender) {
                Some(tcp) => tcp.sample().srtt_ms,
                None => other_of(sender).and_then(|other| Some(other.transport().srtt?.as_millis())),
            };
            series.push(step, srtt_ms);
        }
    }

    /// What the path of a flow did in its time.
    pub fn limits(&self, directed_hops: &[DirectedHop], path: &FlowPath<'_>) -> PathLimits {
        let from = self.times.partition_point(|&at| at < path.span.0);
        let to = self.times.partition_point(|&at| at <= path.span.1);
        let steps = from + 1..to.max(from + 1);
        let on_path = |direction: Direction| {
            let on_path = move |&number: &usize| {
                let hop = &directed_hops[number];
                hop.direction == direction && path.hops.contains(&hop.hop)
            };
            (0..directed_hops.len()).filter(on_path)
        };
        let fullest = |direction| {
            let saturated = on_path(direction).map(|hop| (hop, self.saturated_steps(self.series(hop, path), &steps, path.rtt)));
            saturated
                .map(|(hop, flags)| (HopShare { hop, share: share(&flags) }, flags))
                .max_by(|(a, _), (b, _)| a.share.total_cmp(&b.share))
        };
        let data = fullest(path.direction);
        let free = |at: usize| data.as_ref().is_none_or(|(_, flags)| flags.get(at) != Some(&true));
        let delays = |hop: usize| delays_ms(self.series(hop, path), &steps);
        let waits = |hop: usize| {
            // A medium's grants and frames take their time without a queue, too.
            let access_ms = 1e3 * self.series(hop, path).last().map_or(0.0, |step| step.access);
            let mut waits = delays(hop);
            waits.iter_mut().for_each(|delay| *delay = (*delay - access_ms).max(0.0));
            (hop, waits)
        };
        let back: Vec<(usize, Vec<f64>)> = on_path(path.direction.reverse()).map(waits).collect();
        let ahead: Vec<Vec<f64>> = on_path(path.direction).map(delays).collect();
        let (mut waited, mut rtts, mut by_hop) = (0.0, 0.0, vec![0.0; back.len()]);
        for (at, step) in steps.clone().enumerate().filter(|&(at, _)| free(at)) {
            let rtt = self.srtt_ms[path.flow].at(step);
            let behind: f64 = back.iter().map(|(_, delays)| delays[at]).sum();
            let data_delay: f64 = ahead.iter().map(|delays| delays[at]).sum();
            // An ACK is a small packet that a scheduler may prefer, so the queue's mean is a bound.
            waited += (rtt - path.propagation * 1e3 - data_delay).min(behind).max(0.0);
            rtts += rtt;
            by_hop.iter_mut().zip(&back).for_each(|(sum, (_, delays))| *sum += delays[at]);
        }
        let longest = (0..back.len()).max_by(|&a, &b| by_hop[a].total_cmp(&by_hop[b]));
        let free_steps = (0..steps.len()).filter(|&at| free(at)).count().max(1);
        PathLimits {
            ack_wait: longest.filter(|_| rtts > 0.0).map(|at| HopShare { hop: back[at].0, share: waited / rtts }),
            ack_wait_ms: waited / free_steps as f64,
            ack_saturated: fullest(path.direction.reverse()).map(|(hop, _)| hop),
            saturated: data.map(|(hop, _)| hop),
        }
    }

    /// The steps of the chain that a client's packets take.
    fn series(&self, hop: usize, path: &FlowPath<'_>) -> &[HopStep] {
        let chains = &self.hops[hop];
        chains.get(path.client as usize).or_else(|| chains.first()).map_or(&[], Vec::as_slice)
    }

    /// For each step, whether the hop had no free capacity for the RTT before its end.
    fn saturated_steps(&self, series: &[HopStep], steps: &std::ops::Range<usize>, rtt: f64) -> Vec<bool> {
        let rtt = Span::from_secs_f64(rtt);
        let mut start = steps.start - 1;
        let saturated = |end: usize| {
            while start + 1 < end && self.times[end] - self.times[start + 1] >= rtt {
                start += 1;
            }
            let full = (series[end].full - series[start].full).as_secs();
            full >= SATURATED * (self.times[end] - self.times[start]).as_secs()
        };
        steps.clone().filter(|&step| step < series.len()).map(saturated).collect()
    }
}

fn share(flags: &[bool]) -> f64 {
    flags.iter().filter(|&&flag| flag).count() as f64 / flags.len().max(1) as f64
}

fn read(chain: &Chain, network: &mut Network, now: Time) -> HopStep {
    let mut step = HopStep::default();
    // Behind a shaper the packets wait in two queues, one after the other.
    for (node, queue) in chain.queues() {
        let element = network.element(node);
        step.full = step.full.max(element.time(now, queue).map_or(Span::ZERO, |time| time.full_time()));
        let Some(meter) = element.meter(now, queue) else { continue };
        step.packets = meter.queue_delay.count();
        step.delay += meter.queue_delay.mean().unwrap_or(0.0) * step.packets as f64;
        step.access = meter.access.mean();
    }
    step
}

/// Mean queueing delay in each step in milliseconds, or in the last one before with packets.
fn delays_ms(series: &[HopStep], steps: &std::ops::Range<usize>) -> Vec<f64> {
    let mut delay = 0.0;
    let in_step = |step: usize| {
        if let (Some(last), Some(before)) = (series.get(step), series.get(step - 1))
            && last.packets > before.packets
        {
            // Sums of means: rounding may leave less than nothing.
            delay = (1e3 * (last.delay - before.delay) / (last.packets - before.packets) as f64).max(0.0);
        }
        delay
    };
    steps.clone().map(in_step).collect()
}
