//! Metrics of one direction of one hop over a window. Those of per-client chains are added up.

use crate::build::{Chain, DirectedHop};
use ackclock_core::element::{DropReason, Element, QueueId};
use ackclock_core::meter::QueueSample;
use ackclock_core::network::Network;
use ackclock_core::statistics::Histogram;
use ackclock_core::time_account::TimeShares;
use ackclock_core::{AnyElement, NodeId, Rate, Time};

type Drops = [u64; DropReason::ALL.len()];

/// Counters of a hop.
#[derive(Debug, Clone, Copy, Default)]
pub struct HopCounts {
    drops: Drops,
    /// Of policers, which have no meter.
    marks: u64,
    delivered: u64,
}

/// The metrics of one direction of a hop.
#[derive(Debug, Clone, Default)]
pub struct HopMetrics {
    /// Share of the capacity that was used, the mean over per-client chains; none without a rate.
    /// On a medium: the share of time that this direction used.
    pub utilization: Option<f64>,
    /// The account of the time, the mean over per-client chains.
    pub time: TimeShares,
    /// Queueing delay without transmission; of a shaper and a link that of the queue in which packets
    /// waited longer.
    pub queue_delay: Histogram,
    /// Mean number of packets in all queues together.
    pub queue_packets: f64,
    pub drops: Drops,
    pub marks: u64,
    /// Packets that left the hop.
    pub delivered: u64,
    /// Control frames of the medium.
    pub control_packets: u64,
}

/// Restarts the meters and returns the counters.
pub fn restart(directed_hop: &DirectedHop, network: &mut Network, now: Time) -> HopCounts {
    for chain in &directed_hop.chains {
        for (node, queue) in chain.queues() {
            if let Some(meter) = network.element(node).meter(now, queue) {
                meter.restart(now);
            }
            // On a medium the account is one for all stations.
            if let Some(time) = network.element(node).time(now, queue) {
                time.restart(now);
            }
        }
    }
    counters(directed_hop, network, now)
}

fn counters(directed_hop: &DirectedHop, network: &mut Network, now: Time) -> HopCounts {
    let mut sum = HopCounts::default();
    for chain in &directed_hop.chains {
        for (total, more) in sum.drops.iter_mut().zip(drops(chain, network, now)) {
            *total += more;
        }
        sum.delivered += delivered(chain, network, now);
        sum.marks += policer_marks(chain, network);
    }
    for &node in &directed_hop.downstream {
        let counts = network.counts(node);
        sum.drops.iter_mut().zip(counts.dropped).for_each(|(total, more)| *total += more);
    }
    if let Some(&last) = directed_hop.downstream.last() {
        sum.delivered = network.counts(last).forwarded;
    }
    sum
}

/// Packets that left a chain before `now`.
fn delivered(chain: &Chain, network: &mut Network, now: Time) -> u64 {
    if chain.merges {
        return 0;
    }
    if let Some(&last) = chain.downstream.last() {
        return network.counts(last).forwarded;
    }
    if let Some(counts) = network.element(chain.link).counts(chain.queue) {
        return counts.forwarded;
    }
    match network.element(chain.link) {
        AnyElement::FusedLink(wire) => wire.delivered(now, chain.queue),
        _ => network.counts(chain.link).forwarded,
    }
}

/// Packets that the policer of a chain marked.
pub fn policer_marks(chain: &Chain, network: &Network) -> u64 {
    chain.upstream.policer.map_or(0, |policer| network.counts(policer).marked)
}

/// Drops on a chain before `now`, by reason. A `FusedLink` counts all its links together and ahead
/// of time, so the sample of the queue is used; a medium counts for each station.
pub fn drops(chain: &Chain, network: &mut Network, now: Time) -> Drops {
    let mut drops: Drops = std::array::from_fn(|cause| {
        let beside = chain.upstream.nodes().chain(chain.downstream.iter().copied());
        beside.map(|node| network.counts(node).dropped[cause]).sum()
    });
    let all = network.counts(chain.link);
    match network.element(chain.link) {
        AnyElement::FusedLink(wire) => {
            drops[DropReason::QueueFull as usize] += wire.sample(now, chain.queue).map_or(0, |queue| queue.drops);
        }
        link => {
            let counts = link.counts(chain.queue).unwrap_or(all);
            drops.iter_mut().zip(counts.dropped).for_each(|(sum, more)| *sum += more);
        }
    }
    drops
}

/// The state of the queues of a chain just before `now`: of a shaper and a link together.
pub fn sample(chain: &Chain, network: &mut Network, now: Time) -> Option<QueueSample> {
    let mut sum = network.element(chain.link).sample(now, chain.queue);
    if let Some(shaper) = chain.upstream.shaper
        && let Some(of_shaper) = network.element(shaper).sample(now, QueueId::default())
    {
        let of_link = sum.unwrap_or_default();
        sum = Some(QueueSample {
            packets: of_link.packets + of_shaper.packets,
            bytes: of_link.bytes + of_shaper.bytes,
            drops: of_link.drops + of_shaper.drops,
            marks: of_link.marks + of_shaper.marks,
            delivered_bytes: of_link.delivered_bytes,
        });
    }
    let of_policer = policer_marks(chain, network);
    sum.map(|sum| QueueSample { marks: sum.marks + of_policer, ..sum })
}

/// The rate of the shaper of a chain.
pub fn shaper_rate(chain: &Chain, network: &mut Network) -> Option<Rate> {
    match network.element(chain.upstream.shaper?) {
        AnyElement::Shaper(shaper) => Some(shaper.rate()),
        _ => None,
    }
}

/// The metrics of a hop from the last restart of its meters until `now`.
pub fn read(directed_hop: &DirectedHop, network: &mut Network, now: Time, before: &HopCounts) -> HopMetrics {
    let mut figures = HopMetrics::default();
    let mut used = 0.0;
    let mut times = Vec::with_capacity(directed_hop.chains.len());
    for chain in &directed_hop.chains {
        let mut longest: Option<(f64, NodeId, QueueId)> = None;
        let (mut busiest, mut fullest) = (0.0_f64, None);
        for (node, queue) in chain.queues() {
            if let Some(meter) = network.element(node).meter(now, queue) {
                figures.queue_packets += meter.mean_waiting(now);
                figures.marks += meter.marks;
                figures.control_packets += meter.control_packets;
                busiest = busiest.max(meter.utilization(now));
                let waited = meter.queue_delay.mean().unwrap_or(0.0) * meter.queue_delay.count() as f64;
                if longest.is_none_or(|(other, ..)| waited > other) {
                    longest = Some((waited, node, queue));
                }
            }
            let shares = network.element(node).time(now, queue).map(|time| time.shares(now));
            fullest = shares.filter(|new| fullest.is_none_or(|old: TimeShares| new.full >= old.full)).or(fullest);
        }
        if let Some((_, node, queue)) = longest
            && let Some(meter) = network.element(node).meter(now, queue)
        {
            figures.queue_delay.merge(&meter.queue_delay);
        }
        used += busiest;
        times.extend(fullest);
    }
    let after = counters(directed_hop, network, now);
    figures.marks += after.marks - before.marks;
    figures.drops = std::array::from_fn(|i| after.drops[i] - before.drops[i]);
    figures.delivered = after.delivered - before.delivered;
    let shares = if directed_hop.medium { 1 } else { directed_hop.chains.len().max(1) };
    figures.time = TimeShares::mean(&times);
    figures.utilization = directed_hop.rated.then(|| used / shares as f64);
    figures
}
