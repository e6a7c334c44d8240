//! Gaps between arrivals while the link was busy: the service times of its packets.

use crate::facts::{DirectionFacts, LinkPacket, Outcome};
use crate::thresholds::LIMITS;

/// The time between two consecutive arrivals of a busy link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BusyGap {
    /// Arrival at its end, nanoseconds.
    pub at: i64,
    pub ns: f64,
    /// Bytes served in it: those that arrived at its end, and those that were lost after the link.
    pub bytes: f64,
    /// No packet was lost in it, so that it is the service time of what arrived.
    pub is_clean: bool,
}

/// Packets that arrived at one time: a receiver may merge several.
#[derive(Debug, Clone, Copy)]
struct ArrivalGroup {
    at: i64,
    /// Departure of the first of them.
    sent: i64,
    bytes: f64,
    lost_bytes: f64,
}

/// Gaps in runs of at least `min_run`, in order. `margin` is the time for which a packet must have
/// waited, nanoseconds: longer than the jitter that delays its predecessor.
pub fn busy_runs(facts: &DirectionFacts, floor: i64, margin: i64, min_run: usize) -> Vec<Vec<BusyGap>> {
    let groups = groups(facts);
    let mut runs = Vec::new();
    let mut run: Vec<BusyGap> = Vec::new();
    for pair in groups.windows(2) {
        let (before, after) = (&pair[0], &pair[1]);
        if after.sent + floor + margin <= before.at && !facts.stalled(before.at, after.at) {
            run.push(BusyGap {
                at: after.at,
                ns: (after.at - before.at) as f64,
                bytes: after.bytes + after.lost_bytes,
                is_clean: after.lost_bytes == 0.0,
            });
        } else if !run.is_empty() {
            runs.push(std::mem::take(&mut run));
        }
    }
    runs.push(run);
    runs.retain(|run| run.len() >= min_run);
    runs
}

/// The same gaps by the departures: a packet waited if a FIFO link of this rate (nanoseconds per byte)
/// still served its predecessors when it came. Jitter does not choose these gaps. The first `skip`
/// packets of each busy time are left out: packets behind others arrive later on average if jitter
/// keeps the order, which shall hold for both ends of a run.
pub fn busy_periods(facts: &DirectionFacts, ns_per_byte: f64, skip: usize) -> Vec<Vec<BusyGap>> {
    let mut free = f64::NEG_INFINITY;
    let mut last: Option<i64> = None;
    let mut bytes = 0.0;
    let mut is_clean = true;
    let mut number = 0;
    let mut runs: Vec<Vec<BusyGap>> = Vec::new();
    let mut run: Vec<BusyGap> = Vec::new();
    for packet in &facts.packets {
        let arrival = match packet.outcome {
            Outcome::Arrived(at) => Some(at),
            Outcome::Uncaptured => None,
            Outcome::Lost { channel } if channel >= LIMITS.channel_probability => None,
            Outcome::Lost { .. } | Outcome::OutsideCapture => continue,
        };
        if free <= packet.sent as f64 {
            runs.push(std::mem::take(&mut run));
            (last, number) = (None, 0);
        }
        number += 1;
        free = free.max(packet.sent as f64) + ns_per_byte * f64::from(packet.len);
        bytes += f64::from(packet.len);
        is_clean &= arrival.is_some();
        let Some(at) = arrival else { continue };
        if let Some(before) = last.filter(|_| number > skip + 1) {
            run.push(BusyGap { at, ns: (at - before) as f64, bytes, is_clean });
        }
        (last, bytes, is_clean) = (Some(at), 0.0, true);
    }
    runs.push(run);
    let in_stall = |run: &Vec<BusyGap>| {
        let (Some(first), Some(end)) = (run.first(), run.last()) else { return true };
        facts.stalled(first.at, end.at)
    };
    runs.retain(|run| run.len() >= LIMITS.min_run && !in_stall(run));
    runs
}

fn groups(facts: &DirectionFacts) -> Vec<ArrivalGroup> {
    let mut lost_bytes = 0.0;
    let mut arrivals: Vec<ArrivalGroup> = Vec::new();
    for packet in &facts.packets {
        match packet.outcome {
            Outcome::Arrived(at) => {
                let lost_bytes = std::mem::take(&mut lost_bytes);
                arrivals.push(ArrivalGroup { at, sent: packet.sent, bytes: f64::from(packet.len), lost_bytes });
            }
            Outcome::Lost { channel } => lost_bytes += channel * f64::from(packet.len),
            Outcome::Uncaptured => lost_bytes += f64::from(packet.len),
            Outcome::OutsideCapture => {}
        }
    }
    // A stable sort: of equal arrivals the first that was sent is first.
    arrivals.sort_by_key(|arrival| arrival.at);
    let mut groups: Vec<ArrivalGroup> = Vec::new();
    for arrival in arrivals {
        match groups.last_mut().filter(|group| arrival.at - group.at <= LinkPacket::SAME_TIME) {
            Some(group) => {
                group.sent = group.sent.min(arrival.sent);
                group.bytes += arrival.bytes;
                group.lost_bytes += arrival.lost_bytes;
            }
            None => groups.push(arrival),
        }
    }
    groups
}

/// The largest throughput over a window, bit/s; none with fewer than two arrivals.
pub fn max_throughput(facts: &DirectionFacts) -> Option<f64> {
    let max = max_bytes(facts, LIMITS.throughput_window_ns)?;
    Some(max as f64 * 8e9 / LIMITS.throughput_window_ns as f64)
}

/// The largest number of bytes that arrived within a time, nanoseconds; none with fewer than two
/// arrivals.
pub fn max_bytes(facts: &DirectionFacts, window: i64) -> Option<u64> {
    let mut arrivals: Vec<(i64, u32)> = facts.packets.iter().filter_map(|p| Some((p.arrival()?, p.len))).collect();
    arrivals.sort_unstable();
    let (mut from, mut bytes, mut max) = (0, 0u64, 0u64);
    for &(at, len) in &arrivals {
        bytes += u64::from(len);
        while at - arrivals[from].0 >= window {
            bytes -= u64::from(arrivals[from].1);
            from += 1;
        }
        max = max.max(bytes);
    }
    (arrivals.len() >= 2).then_some(max)
}
