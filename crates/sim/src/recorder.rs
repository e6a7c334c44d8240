//! Time series as columns, sampled at exact multiples of the step, before the events of that
//! instant.

use crate::build::{BuiltNetwork, Role};
use crate::metrics;
use crate::plan::Plan;
use crate::{finished_at, other_of, tcp_of};
use ackclock_core::endpoint::{AnyEndpoint, OtherEndpoint};
use ackclock_core::tcp::SenderSample;
use ackclock_core::{Rate, Span, Time};

/// Samples of TCP flows from start to end. Counters count from the start of the flow.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Series {
    /// Index into the plan's flows.
    pub flow: Vec<u32>,
    pub time_s: Vec<f64>,
    pub cwnd_bytes: Vec<f64>,
    /// None while ssthresh is infinite.
    pub ssthresh_bytes: Vec<Option<f64>>,
    pub srtt_ms: Vec<Option<f64>>,
    pub flight_bytes: Vec<u64>,
    /// Payload acknowledged at the sender.
    pub delivered_bytes: Vec<u64>,
    pub retransmitted_segments: Vec<u64>,
}

/// Samples of every queue. Counters count from the start of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct HopSeries {
    /// Index into the plan's hops.
    pub hop: Vec<u32>,
    pub direction: Vec<&'static str>,
    /// The client of the queue; none for a queue that all clients share.
    pub station: Vec<Option<u32>>,
    pub time_s: Vec<f64>,
    pub queue_packets: Vec<u64>,
    pub queue_bytes: Vec<u64>,
    /// On the whole hop, for any reason.
    pub drops: Vec<u64>,
    pub marks: Vec<u64>,
    /// Bytes sent by the link.
    pub delivered_bytes: Vec<u64>,
    /// Bits per second of the shaper; none without one.
    pub shaper_rate_bps: Vec<Option<u64>>,
}

/// Takes the samples of a run.
pub struct Recorder {
    step: Span,
    due: Time,
    /// Flows whose end has been recorded.
    ended: Vec<bool>,
    pub series: Series,
    pub hops: HopSeries,
}

impl Recorder {
    /// `sample_ps` 0: no samples.
    pub fn new(plan: &Plan) -> Recorder {
        let step = Span(plan.sample_ps);
        let due = if step == Span::ZERO { Time::NEVER } else { Time::ZERO + step };
        Recorder { step, due, ended: vec![false; plan.flows.len()], series: Series::default(), hops: HopSeries::default() }
    }

    pub fn due(&self) -> Time {
        self.due
    }

    /// Takes a sample at `now`.
    pub fn take(&mut self, now: Time, world: &mut BuiltNetwork) {
        self.due = now + self.step;
        for (number, endpoints) in world.flows.iter().enumerate() {
            let sender = world.network.endpoint(endpoints.by_role(Role::Sender));
            let (has_ended, sample) = match (tcp_of(sender), other_of(sender)) {
                (Some(tcp), _) => (tcp.finished(), tcp.sample()),
                (None, Some(other)) => of_other(other, world.network.endpoint(endpoints.by_role(Role::Receiver))),
                (None, None) => continue,
            };
            if endpoints.started(&world.network).is_none_or(|start| now <= start) || self.ended[number] {
                continue;
            }
            self.ended[number] = has_ended;
            self.series.push(number, now, &sample);
        }
        self.sample_hops(now, world);
    }

    fn sample_hops(&mut self, now: Time, world: &mut BuiltNetwork) {
        for directed_hop in &world.directed_hops {
            for (station, chain) in directed_hop.chains.iter().enumerate() {
                let Some(queue) = metrics::sample(chain, &mut world.network, now) else { continue };
                let hops = &mut self.hops;
                hops.hop.push(directed_hop.hop as u32);
                hops.direction.push(directed_hop.direction.name());
                hops.station.push(directed_hop.per_client.then_some(station as u32));
                hops.time_s.push(now.as_secs());
                hops.queue_packets.push(queue.packets);
                hops.queue_bytes.push(queue.bytes);
                hops.drops.push(metrics::drops(chain, &mut world.network, now).iter().sum());
                hops.marks.push(queue.marks);
                hops.delivered_bytes.push(queue.delivered_bytes);
                hops.shaper_rate_bps.push(metrics::shaper_rate(chain, &mut world.network).map(Rate::bps));
            }
        }
    }
}

/// Whether a flow of another transport has ended, and the sender's sample.
fn of_other(sender: &dyn OtherEndpoint, receiver: &AnyEndpoint) -> (bool, SenderSample) {
    let view = sender.transport();
    let sample = SenderSample {
        cwnd_bytes: view.cwnd as f64,
        ssthresh_bytes: view.ssthresh.map_or(f64::INFINITY, |bytes| bytes as f64),
        srtt_ms: view.srtt.map(Span::as_millis),
        flight_bytes: view.in_flight,
        delivered_bytes: other_of(receiver).map_or(0, |receiver| receiver.transport().received),
        retransmitted_segments: view.lost_packets,
    };
    (finished_at(receiver).is_some(), sample)
}

impl Series {
    fn push(&mut self, flow: usize, now: Time, sample: &ackclock_core::tcp::SenderSample) {
        self.flow.push(flow as u32);
        self.time_s.push(now.as_secs());
        self.cwnd_bytes.push(sample.cwnd_bytes);
        self.ssthresh_bytes.push(Some(sample.ssthresh_bytes).filter(|s| s.is_finite()));
        self.srtt_ms.push(sample.srtt_ms);
        self.flight_bytes.push(sample.flight_bytes);
        self.delivered_bytes.push(sample.delivered_bytes);
        self.retransmitted_segments.push(sample.retransmitted_segments);
    }
}
