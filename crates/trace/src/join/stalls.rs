//! Times in which a link sent nothing although packets waited for it, and then sent them: a stall
//! (a handover, a scheduler, a suspended host). A link that loses what it would have sent has an
//! outage instead; after it packets arrive with the delay of their queue alone.

use super::bottleneck_schedule::Transit;
use std::cmp::Reverse;

/// A stall, from the last arrival before it to the first after it, by the sender's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkStall {
    pub start: i64,
    pub end: i64,
}

/// Minimum length: less is the scheduling of a radio or a host.
const MIN_STALL_NS: i64 = 150_000_000;
/// Minimum ratio to the typical time between arrivals while packets wait: a slow link has long
/// service times.
const MIN_SERVICE_TIMES: i64 = 20;
/// Minimum share of a stall by which the delay grows over it. Packets that nothing delays were sent
/// late by their sender.
const MIN_GROWTH: f64 = 0.5;

/// The stalls of a path. `packets` are in order of departure.
pub fn find(packets: &[Transit], base_delay: i64) -> Vec<LinkStall> {
    let mut arrivals: Vec<(i64, i64)> =
        packets.iter().filter_map(|p| p.fate.delay().map(|delay| (p.at.saturating_add(delay), delay))).collect();
    // Of what arrives at once the first that was sent is first.
    arrivals.sort_unstable_by_key(|&(arrival, delay)| (arrival, Reverse(delay)));
    let mut gaps: Vec<i64> =
        arrivals.windows(2).map(|w| (w[1].0 - w[0].0).min(w[1].1 - base_delay)).filter(|gap| *gap > 0).collect();
    let Some(middle) = gaps.len().checked_sub(1).map(|last| last / 2) else { return Vec::new() };
    let typical = *gaps.select_nth_unstable(middle).1;
    let min = MIN_STALL_NS.max(typical.saturating_mul(MIN_SERVICE_TIMES));
    let is_stall = |w: &[(i64, i64)]| {
        let length = w[1].0 - w[0].0;
        length >= min && (w[1].1 - w[0].1) as f64 >= MIN_GROWTH * length as f64
    };
    arrivals.windows(2).filter(|w| is_stall(w)).map(|w| LinkStall { start: w[0].0, end: w[1].0 }).collect()
}

/// True if a stall overlaps the time between `from` and `to`. `stalls` are in order.
pub fn overlaps(stalls: &[LinkStall], from: i64, to: i64) -> bool {
    stalls.get(stalls.partition_point(|stall| stall.end <= from)).is_some_and(|stall| stall.start < to)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::join::fate::Fate;

    const MS: i64 = 1_000_000;

    /// A packet every 2 ms over a link of 1 ms a packet and 10 ms of delay that serves nothing from
    /// 400 to 1000 ms; what it would have sent then waits, or is lost.
    fn stopped(waits: bool) -> Vec<Transit> {
        let mut free = 0;
        (0..1000usize)
            .map(|index| {
                let at = index as i64 * 2 * MS;
                let stopped = (400 * MS..1000 * MS).contains(&at.max(free));
                let fate = if stopped && !waits {
                    Fate::Lost
                } else {
                    free = free.max(if stopped { 1000 * MS } else { at }) + MS;
                    Fate::Arrived(free - at + 10 * MS)
                };
                Transit { at, ip_len: 1500, fate, direction: 0, index }
            })
            .collect()
    }

    // finding("C5")
    #[test]
    fn stall_is_found_with_its_times_when_a_link_stops_and_goes_on() {
        let found = find(&stopped(true), 11 * MS);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!((found[0].start - 409 * MS).abs() <= 2 * MS && (found[0].end - 1011 * MS).abs() <= 2 * MS, "{found:?}");
    }

    #[test]
    fn outage_is_no_stall() {
        assert_eq!(find(&stopped(false), 11 * MS), []);
    }

    #[test]
    fn pause_of_the_sender_is_no_stall() {
        let paused = |i: usize| if i < 500 { 0 } else { 600 * MS };
        let packets: Vec<Transit> = (0..1000usize)
            .map(|index| {
                let at = index as i64 * 2 * MS + paused(index);
                Transit { at, ip_len: 1500, fate: Fate::Arrived(11 * MS), direction: 0, index }
            })
            .collect();
        assert_eq!(find(&packets, 11 * MS), []);
    }
}
