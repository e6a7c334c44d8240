//! Gaps between arrivals while the link was busy: the service times of its packets.

use crate::facts::{DirectionFacts, LinkPacket, Outcome};
use crate::thresholds::LIMITS;
use ackclock_trace::join::policer::max_bytes_within;

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
    /// Packets that arrived at its end.
    pub packets: usize,
}

impl BusyGap {
    pub fn ns_per_byte(&self) -> f64 {
        self.ns / self.bytes
    }
}

/// The median; 0 of nothing.
fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    if values.is_empty() { 0.0 } else { *values.select_nth_unstable_by(middle, f64::total_cmp).1 }
}

/// Packets that arrived at one time: a receiver may merge several.
#[derive(Debug, Clone, Copy)]
struct ArrivalGroup {
    at: i64,
    /// Departure of the first of them.
    sent: i64,
    bytes: f64,
    lost_bytes: f64,
    packets: usize,
}

/// Gaps in runs of at least `min_run`, in order. `margin` is the time for which a packet must have
/// waited, nanoseconds: longer than the jitter that delays its predecessor. A stall divides a run; what it
/// held back behind the link and released at once shows no service.
pub fn busy_runs(facts: &DirectionFacts, floor: i64, margin: i64, min_run: usize) -> Vec<Vec<BusyGap>> {
    let groups = groups(facts);
    let waited = |pair: &[ArrivalGroup]| pair[1].sent + floor + margin <= pair[0].at;
    let gap = |pair: &[ArrivalGroup]| BusyGap {
        at: pair[1].at,
        ns: (pair[1].at - pair[0].at) as f64,
        bytes: pair[1].bytes + pair[1].lost_bytes,
        is_clean: pair[1].lost_bytes == 0.0,
        packets: pair[1].packets,
    };
    let releases = match facts.stalls.is_empty() {
        true => Vec::new(),
        false => {
            releases(facts, &groups, median(groups.windows(2).filter(|p| waited(p)).map(|p| gap(p).ns_per_byte()).collect()))
        }
    };
    let mut runs = Vec::new();
    let mut run: Vec<BusyGap> = Vec::new();
    for pair in groups.windows(2) {
        let is_stalled = facts.stalled(pair[0].at, pair[1].at);
        if waited(pair) && !is_stalled && !is_held(&releases, pair[1].sent, pair[1].at) {
            run.push(gap(pair));
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
/// it waits longer than the rate shows, so that the link is busy until later than is taken here. What it held
/// back behind the link and released at once shows no service.
pub fn busy_periods(facts: &DirectionFacts, ns_per_byte: f64, skip: usize) -> Vec<Vec<BusyGap>> {
    let mut free = f64::NEG_INFINITY;
    let mut last: Option<i64> = None;
    let mut bytes = 0.0;
    let mut is_clean = true;
    let mut number = 0;
    let releases = if facts.stalls.is_empty() { Vec::new() } else { releases(facts, &groups(facts), ns_per_byte) };
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
            if facts.stalled(before, at) || is_held(&releases, packet.sent, at) {
                runs.push(std::mem::take(&mut run));
            } else if number > skip + 1 {
                run.push(BusyGap { at, ns: (at - before) as f64, bytes, is_clean, packets: 1 });
            }
        }
        (last, bytes, is_clean) = (Some(at), 0.0, true);
    }
    runs.push(run);
    runs.retain(|run| run.len() >= LIMITS.min_run);
    runs
}

/// The stalls after which much more of what they held back than of all packets arrived faster than the link
/// serves it: something behind the link stood still, and the link did not. `ns_per_byte` is the typical time of a
/// busy link.
fn releases(facts: &DirectionFacts, groups: &[ArrivalGroup], ns_per_byte: f64) -> Vec<(i64, i64)> {
    if facts.by_acks {
        // One ACK shows several packets at one time: what a host released does not show.
        return Vec::new();
    }
    let usual = fast_share(groups.windows(2), ns_per_byte);
    let at_once = |&(_, end): &(i64, i64)| {
        let from = groups.partition_point(|group| group.at < end).max(1);
        let held = groups[from - 1..].windows(2).take_while(|pair| pair[1].sent < end);
        fast_share(held, ns_per_byte) >= usual + LIMITS.min_released
    };
    facts.stalls.iter().copied().filter(at_once).collect()
}

/// Share of the bytes that arrived faster than a link serves them.
fn fast_share<'a>(pairs: impl Iterator<Item = &'a [ArrivalGroup]>, ns_per_byte: f64) -> f64 {
    let (mut fast, mut all) = (0.0, 0.0);
    for pair in pairs {
        let bytes = pair[1].bytes + pair[1].lost_bytes;
        let is_fast = ((pair[1].at - pair[0].at) as f64) < LIMITS.max_released * ns_per_byte * bytes;
        fast += if is_fast { bytes } else { 0.0 };
        all += bytes;
    }
    if all > 0.0 { fast / all } else { 0.0 }
}

/// A packet that one of these stalls held back.
fn is_held(releases: &[(i64, i64)], sent: i64, at: i64) -> bool {
    releases.iter().any(|&(start, end)| sent < end && at > start)
}

fn groups(facts: &DirectionFacts) -> Vec<ArrivalGroup> {
    let mut lost_bytes = 0.0;
    let mut arrivals: Vec<ArrivalGroup> = Vec::new();
    for packet in &facts.packets {
        match packet.outcome {
            Outcome::Arrived(at) => {
                let lost_bytes = std::mem::take(&mut lost_bytes);
                arrivals.push(ArrivalGroup { at, sent: packet.sent, bytes: f64::from(packet.len), lost_bytes, packets: 1 });
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
                group.packets += 1;
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

/// A lower bound of the link's rate, bit/s: the bytes of consecutive packets over the time from the departure
/// of the one before them to the last arrival, less the floor of the delays. They were served in this time,
/// wherever they waited for the rest of it. `floor` and `window` are in nanoseconds; none with fewer than two
/// arrivals.
pub fn carried(facts: &DirectionFacts, floor: i64, window: i64) -> Option<f64> {
    let arrived: Vec<(i64, i64, u32)> = facts.packets.iter().filter_map(|p| Some((p.sent, p.arrival()?, p.len))).collect();
    let (mut end, mut bytes, mut max) = (0, 0u64, 0u64);
    for (start, &(sent, ..)) in arrived.iter().enumerate() {
        match end > start {
            true => bytes -= u64::from(arrived[start].2),
            false => (end, bytes) = (start + 1, 0),
        }
        while let Some(packet) = arrived.get(end).filter(|packet| packet.1 <= sent + floor + window) {
            bytes += u64::from(packet.2);
            end += 1;
        }
        max = max.max(bytes);
    }
    (arrived.len() >= 2).then(|| max as f64 * 8e9 / window as f64)
}

/// The lower bound over the windows of a burst and of what lasts, bit/s.
pub fn max_carried(runs: &[DirectionFacts]) -> Option<f64> {
    let windows = [LIMITS.throughput_window_ns, LIMITS.sustained_window_ns];
    let of_run = |facts: &DirectionFacts| {
        let floor = facts.floor()?;
        windows.iter().filter_map(|window| carried(facts, floor, *window)).max_by(f64::total_cmp)
    };
    runs.iter().filter_map(of_run).max_by(f64::total_cmp)
}

/// The largest number of bytes that arrived within a time, nanoseconds; none with fewer than two
/// arrivals.
pub fn max_bytes(facts: &DirectionFacts, window: i64) -> Option<u64> {
    let mut arrivals: Vec<(i64, u32)> = facts.packets.iter().filter_map(|p| Some((p.arrival()?, p.len))).collect();
    arrivals.sort_unstable();
    (arrivals.len() >= 2).then(|| max_bytes_within(&arrivals, window))
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

    /// A queue that stands at 1 ms for a packet; a host behind the link holds what arrives from 400 to 1000 ms
    /// of each 2 s, and releases it at once.
    fn held() -> DirectionFacts {
        let mut facts = DirectionFacts::default();
        let mut released = 0;
        for i in 0..8000i64 {
            let served = (i + 1) * MS + 20 * MS;
            let in_period = served % (2000 * MS);
            let is_held = (400 * MS..1000 * MS).contains(&in_period);
            released = if is_held { released + 1 } else { 0 };
            let at = if is_held { served - in_period + 1000 * MS - 700_000 + released * 1000 } else { served };
            facts.packets.push(LinkPacket { sent: (i - 50).max(0) * MS, len: 1500, outcome: Outcome::Arrived(at) });
        }
        facts.stalls = (0..4).map(|k| ((2000 * k + 400) * MS, (2000 * k + 999) * MS)).collect();
        facts
    }

    #[test]
    fn packets_that_a_host_held_back_show_no_service() {
        let facts = held();
        for runs in [busy_runs(&facts, 21 * MS, 0, 1), busy_periods(&facts, MS as f64 / 1500.0, 0)] {
            let (bytes, ns) = runs.iter().flatten().fold((0.0, 0.0), |sum, gap| (sum.0 + gap.bytes, sum.1 + gap.ns));
            assert!((bytes * 8e9 / ns / 12e6 - 1.0).abs() < 0.01, "{} in {}", bytes * 8e9 / ns, runs.len());
        }
        // Without the stalls, a fifth of the bytes has hardly any time.
        let unknown = DirectionFacts { stalls: Vec::new(), ..facts };
        assert!(busy_runs(&unknown, 21 * MS, 0, 1).iter().flatten().any(|gap| gap.ns < 2000.0));
    }

    #[test]
    fn carried_bytes_bound_the_rate_from_below_when_a_host_held_packets_back() {
        let facts = held();
        assert!(max_throughput(&facts).unwrap() > 30e6, "packets that were held arrive at once");
        let bound = max_carried(&[facts]).unwrap();
        assert!(bound <= 12e6 && bound > 10.5e6, "{bound}");
        let link = stalling();
        let bound = max_carried(&[link]).unwrap();
        assert!(bound <= 12e6 && bound > 10.5e6, "{bound}");
    }

    #[test]
    fn carried_bytes_are_those_of_the_window_when_no_packet_waits() {
        let packet = |i: i64| LinkPacket { sent: i * MS, len: 1500, outcome: Outcome::Arrived(i * MS + 20 * MS) };
        let facts = DirectionFacts { packets: (0..1000).map(packet).collect(), ..DirectionFacts::default() };
        assert_eq!(carried(&facts, 20 * MS, 200 * MS), Some(12e6));
        assert_eq!(carried(&DirectionFacts::default(), 0, MS), None);
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
