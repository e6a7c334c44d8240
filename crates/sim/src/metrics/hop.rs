//! What one direction of one hop did in a window. Where each client has its own, their figures are added up.

use crate::build::{Chain, DirectedHop};
use ackclock_core::element::{DropReason, Element};
use ackclock_core::network::Network;
use ackclock_core::statistics::Histogram;
use ackclock_core::{AnyElement, Time};

type Drops = [u64; DropReason::ALL.len()];

/// Counters of a directed_hop when the window began.
#[derive(Debug, Clone, Copy, Default)]
pub struct Before {
    drops: Drops,
    delivered: u64,
}

/// A directed_hop's figures.
#[derive(Debug, Clone, Default)]
pub struct HopMetrics {
    /// The used share of what could have been sent, the mean over clients where each has its own; none without a rate. On a medium the
    /// share of its time that this direction used.
    pub utilization: Option<f64>,
    /// Waiting times, service not included.
    pub queue_delay: Histogram,
    /// Packets waiting, on average, in all queues together.
    pub waiting: f64,
    pub drops: Drops,
    pub marks: u64,
    /// Packets that left the hop at its far end.
    pub delivered: u64,
    /// Frames of the medium's own.
    pub control: u64,
}

/// Meters start again; says what the counters were.
pub fn restart(directed_hop: &DirectedHop, network: &mut Network, now: Time) -> Before {
    for chain in &directed_hop.chains {
        if let Some(meter) = network.element(chain.link).meter(now, chain.place) {
            meter.restart(now);
        }
    }
    counters(directed_hop, network, now)
}

fn counters(directed_hop: &DirectedHop, network: &mut Network, now: Time) -> Before {
    let mut sum = Before::default();
    for chain in &directed_hop.chains {
        for (total, more) in sum.drops.iter_mut().zip(drops(chain, network, now)) {
            *total += more;
        }
        sum.delivered += delivered(chain, network, now);
    }
    for &node in &directed_hop.after {
        let counts = network.counts(node);
        sum.drops.iter_mut().zip(counts.dropped).for_each(|(total, more)| *total += more);
    }
    if let Some(&last) = directed_hop.after.last() {
        sum.delivered = network.counts(last).forwarded;
    }
    sum
}

/// Packets that left a chain at its far end before `now`.
fn delivered(chain: &Chain, network: &mut Network, now: Time) -> u64 {
    if chain.joins {
        return 0;
    }
    if let Some(&last) = chain.after.last() {
        return network.counts(last).forwarded;
    }
    if let Some(counts) = network.element(chain.link).counts(chain.place) {
        return counts.forwarded;
    }
    match network.element(chain.link) {
        AnyElement::FusedLink(wire) => wire.delivered(now, chain.place),
        _ => network.counts(chain.link).forwarded,
    }
}

/// Drops anywhere on a chain before `now`, by cause. A wire knows its queues' own: its counts is that of all its links, and runs ahead;
/// a medium keeps a counts for each station.
pub fn drops(chain: &Chain, network: &mut Network, now: Time) -> Drops {
    let mut drops: Drops = std::array::from_fn(|cause| chain.after.iter().map(|&node| network.counts(node).dropped[cause]).sum());
    let all = network.counts(chain.link);
    match network.element(chain.link) {
        AnyElement::FusedLink(wire) => {
            drops[DropReason::QueueFull as usize] += wire.sample(now, chain.place).map_or(0, |queue| queue.drops);
        }
        link => {
            let counts = link.counts(chain.place).unwrap_or(all);
            drops.iter_mut().zip(counts.dropped).for_each(|(sum, more)| *sum += more);
        }
    }
    drops
}

/// A directed_hop's figures from when its meters last started until `now`.
pub fn read(directed_hop: &DirectedHop, network: &mut Network, now: Time, before: &Before) -> HopMetrics {
    let mut figures = HopMetrics::default();
    let mut used = 0.0;
    for chain in &directed_hop.chains {
        if let Some(meter) = network.element(chain.link).meter(now, chain.place) {
            figures.queue_delay.merge(&meter.queue_delay);
            figures.waiting += meter.mean_waiting(now);
            figures.marks += meter.marks;
            figures.control += meter.control_packets;
            used += meter.utilization(now);
        }
    }
    let after = counters(directed_hop, network, now);
    figures.drops = std::array::from_fn(|i| after.drops[i] - before.drops[i]);
    figures.delivered = after.delivered - before.delivered;
    let shares = if directed_hop.medium { 1 } else { directed_hop.chains.len().max(1) };
    figures.utilization = directed_hop.rated.then(|| used / shares as f64);
    figures
}
