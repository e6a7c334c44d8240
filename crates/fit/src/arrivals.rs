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
/// keeps the order, which shall hold for both ends of a run. A stall divides a run: what waited during
/// it waits longer than the rate shows, so that the link is busy until later than is taken here.
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
        if let Some(before) = last {
            if facts.stalled(before, at) {
                runs.push(std::mem::take(&mut run));
            } else if number > skip + 1 {
                run.push(BusyGap { at, ns: (at - before) as f64, bytes, is_clean });
            }
        }
        (last, bytes, is_clean) = (Some(at), 0.0, true);
    }
    runs.push(run);
    runs.retain(|run| run.len() >= LIMITS.min_run);
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

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A queue that never empties, at 1 ms for a packet, and stalls of 300 ms after every 500 packets.
    fn stalling() -> DirectionFacts {
        let mut free = 0;
        let mut facts = DirectionFacts::default();
        for i in 0..4000 {
            let sent = i * MS * 9 / 10;
            if i % 500 == 499 {
                facts.stalls.push((free, free + 300 * MS));
                free += 300 * MS;
            }
            free = free.max(sent) + MS;
            facts.packets.push(LinkPacket { sent, len: 1500, outcome: Outcome::Arrived(free + 20 * MS) });
        }
        facts.stalls.iter_mut().for_each(|stall| *stall = (stall.0 + 20 * MS, stall.1 + 20 * MS));
        facts
    }

    #[test]
    fn busy_period_keeps_its_gaps_when_the_link_stalls_within_it() {
        let facts = stalling();
        let runs = busy_periods(&facts, MS as f64 / 1500.0, 0);
        let gaps: Vec<&BusyGap> = runs.iter().flatten().collect();
        assert!(runs.len() == 8 && gaps.len() == 3991, "{} runs of {} gaps", runs.len(), gaps.len());
        assert!(gaps.iter().all(|gap| gap.ns == MS as f64), "no gap has the time of a stall");
        let without = DirectionFacts { stalls: Vec::new(), ..facts };
        assert_eq!(busy_periods(&without, MS as f64 / 1500.0, 0).len(), 1, "a stall that is not known divides no run");
    }
}
