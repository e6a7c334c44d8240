//! All packets of one direction, of all flows: they share the bottleneck, so that its delay and
//! rate show in all of them.

use super::MatchedDirection;
use super::backlog::{self, Backlog};
use super::bottleneck_schedule::{BottleneckSchedule, QueueWait, Transit};
use super::fate::Fate;
use super::fingerprint::{PacketFingerprint, median_len};
use super::loss_attribution::PathLosses;
use super::stalls::{self, LinkStall};
use super::token_bucket::{self, TokenBucketEstimate};

#[derive(Debug, Default)]
pub struct Aggregate {
    /// Departure time and delay of each packet that arrived, by departure.
    delays: Vec<(i64, i64)>,
    standing: StandingRates,
    /// A token bucket that shaped the aggregate.
    pub token_bucket: Option<TokenBucketEstimate>,
    /// The queueing of each packet at the bottleneck.
    pub schedule: BottleneckSchedule,
    /// The backlog that each packet met, by direction and packet.
    backlogs: Vec<Vec<Backlog>>,
    /// Minimum delay of the packets that overtake no other, nanoseconds.
    pub base_delay: i64,
    /// Times in which the link sent nothing of what waited.
    pub stalls: Vec<LinkStall>,
    /// The causes of the losses.
    pub losses: PathLosses,
    /// Packets of different flows overtake each other, packets of one flow hardly ever: per-flow
    /// queues.
    pub flow_queues: bool,
    /// Maximum number of IP bytes between the captures.
    pub max_in_transit: u64,
}

/// Maximum distance in time of a delay that is taken as the present one.
const MAX_DISTANCE_NS: i64 = 100_000_000;
/// Minimum time with a standing queue for a rate; less may be one stall of a host.
const MIN_BUSY_NS: i64 = 100_000_000;
/// Minimum number of consecutive packets of two flows for the detection of per-flow queues.
const MIN_FLOW_CHANGES: u32 = 20;
/// With per-flow queues, at least this share of consecutive packets of two flows is reordered,
const OVERTAKING_SHARE: f64 = 0.1;
/// and at most this share of consecutive packets of one flow.
const REORDERED_SHARE: f64 = 0.01;

impl Aggregate {
    pub fn of<'a>(directions: impl Iterator<Item = &'a MatchedDirection<'a>>) -> Aggregate {
        let mut aggregate = Aggregate::default();
        let (mut transits, mut sizes) = (Vec::new(), Vec::new());
        // Arrival time by the sender's clock, IP bytes and delay.
        let mut arrivals: Vec<(i64, u32, i64)> = Vec::new();
        for (direction, matched) in directions.enumerate() {
            sizes.push(matched.sent.len());
            for (index, (packet, fate)) in matched.sent.iter().zip(&matched.fates.fates).enumerate() {
                transits.push(Transit { at: packet.at, ip_len: packet.ip_len, fate: *fate, direction, index });
                if let Fate::Arrived(delay) = fate {
                    aggregate.delays.push((packet.at, *delay));
                    arrivals.push((packet.at.saturating_add(*delay), packet.ip_len, *delay));
                }
            }
        }
        // A stable sort: packets with equal times stay in capture order.
        transits.sort_by_key(|transit| transit.at);
        aggregate.base_delay = backlog::base_delay(&transits).unwrap_or(0);
        aggregate.stalls = stalls::find(&transits, aggregate.base_delay);
        aggregate.flow_queues = has_flow_queues(&transits);
        aggregate.schedule = match aggregate.flow_queues {
            true => BottleneckSchedule::of_flow_queues(&transits, &sizes, aggregate.base_delay),
            false => BottleneckSchedule::of(&transits, &sizes, &aggregate.stalls),
        };
        aggregate.backlogs = backlog::backlogs(&transits, &sizes, aggregate.base_delay, &aggregate.stalls);
        aggregate.losses = PathLosses::of(&transits, &sizes, &aggregate.schedule, &aggregate.backlogs);
        aggregate.delays.sort_unstable();
        arrivals.sort_unstable();
        aggregate.max_in_transit = max_in_transit(&transits, &arrivals);
        aggregate.standing = StandingRates::of(&arrivals, &aggregate.stalls);
        let arrivals: Vec<(i64, u32)> = arrivals.iter().map(|a| (a.0, a.1)).collect();
        aggregate.token_bucket = token_bucket::find(&arrivals);
        aggregate
    }

    /// The delay of a packet sent at this time: the larger one of the neighbours in time.
    pub fn delay_at(&self, at: i64) -> Option<i64> {
        let next = self.delays.partition_point(|d| d.0 < at);
        let is_near = |d: &&(i64, i64)| d.0.abs_diff(at) <= MAX_DISTANCE_NS as u64;
        let before = next.checked_sub(1).and_then(|i| self.delays.get(i)).filter(is_near);
        let after = self.delays.get(next).filter(is_near);
        before.into_iter().chain(after).map(|d| d.1).max()
    }

    /// The queueing of each packet of the direction with this index.
    pub fn waits(&self, direction: usize) -> &[QueueWait] {
        self.schedule.waits.get(direction).map_or(&[], Vec::as_slice)
    }

    /// The backlog that a packet met.
    pub fn backlog(&self, direction: usize, index: usize) -> Option<&Backlog> {
        self.backlogs.get(direction)?.get(index)
    }

    /// Service time at the bottleneck of a packet of the median length, nanoseconds.
    pub fn median_service_time(&self, sent: &[PacketFingerprint]) -> Option<f64> {
        Some(self.schedule.ns_per_byte? * f64::from(median_len(sent)?))
    }

    /// The bottleneck's rate in bit/s: bytes over time of consecutive arrivals with delays from
    /// `standing` on, which left a standing queue.
    pub fn rate(&self, standing: i64) -> Option<f64> {
        let (bytes, time) = self.standing.from(standing);
        (time >= MIN_BUSY_NS).then(|| bytes as f64 * 8e9 / time as f64)
    }
}

/// Bytes and time between consecutive arrivals, summed over those that both waited at least so
/// long. Every direction asks for another minimum, so the sums are kept by delay.
#[derive(Debug, Default)]
struct StandingRates {
    /// Descending minimum delay of two consecutive arrivals; bytes and time of all up to here.
    sums: Vec<(i64, u64, i64)>,
}

impl StandingRates {
    /// `arrivals`: time, IP bytes and delay, in order of time.
    fn of(arrivals: &[(i64, u32, i64)], stalls: &[LinkStall]) -> StandingRates {
        let gap = |w: &[(i64, u32, i64)]| (w[0].2.min(w[1].2), u64::from(w[1].1), w[1].0.saturating_sub(w[0].0));
        // Of what waited elsewhere while the link stalled, the rate is another link's.
        let in_stall = |a: &(i64, u32, i64)| stalls::overlaps(stalls, a.0.saturating_sub(a.2), a.0);
        let mut sums: Vec<(i64, u64, i64)> = arrivals.windows(2).filter(|w| !in_stall(&w[1])).map(gap).collect();
        sums.sort_unstable_by_key(|gap| std::cmp::Reverse(gap.0));
        let (mut bytes, mut time) = (0u64, 0i64);
        for gap in &mut sums {
            (bytes, time) = (bytes + gap.1, time.saturating_add(gap.2));
            (gap.1, gap.2) = (bytes, time);
        }
        StandingRates { sums }
    }

    /// Bytes and nanoseconds of the consecutive arrivals that both waited at least `delay`.
    fn from(&self, delay: i64) -> (u64, i64) {
        let end = self.sums.partition_point(|sum| sum.0 >= delay);
        end.checked_sub(1).map_or((0, 0), |last| (self.sums[last].1, self.sums[last].2))
    }
}

/// True if packets of different flows overtake each other, and packets of one flow do not.
/// `packets` are in order of departure. Flows whose ends are at different distances overtake each other
/// by the difference of their minimum delays, which no queue causes: it is left out. A short flow whose packets all
/// waited has a long minimum delay, without which it seems to overtake: its packets have to arrive first, too.
fn has_flow_queues(packets: &[Transit]) -> bool {
    let (mut all, mut reordered) = ([0u32; 2], [0u32; 2]);
    let directions = packets.iter().map(|packet| packet.direction + 1).max().unwrap_or(0);
    let mut min_delays = vec![i64::MAX; directions];
    for (direction, delay) in packets.iter().filter_map(|packet| Some((packet.direction, packet.fate.delay()?))) {
        min_delays[direction] = min_delays[direction].min(delay);
    }
    let waited = |packet: &Transit| Some(packet.fate.delay()? - min_delays[packet.direction]);
    let times = |packet: &Transit| {
        let delay = packet.fate.delay()?;
        Some((packet.direction, packet.at.saturating_add(delay), packet.at.saturating_add(waited(packet)?)))
    };
    let arrivals: Vec<(usize, i64, i64)> = packets.iter().filter_map(times).collect();
    for pair in arrivals.windows(2) {
        let same_flow = usize::from(pair[0].0 == pair[1].0);
        all[same_flow] += 1;
        reordered[same_flow] += u32::from(pair[1].1 < pair[0].1 && pair[1].2 < pair[0].2);
    }
    let share = |same_flow: usize| f64::from(reordered[same_flow]) / f64::from(all[same_flow].max(1));
    all[0] >= MIN_FLOW_CHANGES && share(0) >= OVERTAKING_SHARE && share(1) <= REORDERED_SHARE
}

/// Maximum of the IP bytes in transit, of the packets that arrived. Both lists are in order of
/// time.
fn max_in_transit(packets: &[Transit], arrivals: &[(i64, u32, i64)]) -> u64 {
    let (mut pending, mut in_transit, mut max) = (arrivals.iter().peekable(), 0u64, 0);
    for packet in packets.iter().filter(|p| p.fate.delay().is_some()) {
        while let Some(arrival) = pending.next_if(|a| a.0 <= packet.at) {
            in_transit = in_transit.saturating_sub(u64::from(arrival.1));
        }
        in_transit += u64::from(packet.ip_len);
        max = max.max(in_transit);
    }
    max
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two flows in turn, 1 ms apart, through one queue; the second one's path is longer by this time in ms.
    fn fifo(longer: i64) -> Vec<Transit> {
        let packet = |i: i64| {
            let direction = (i % 2) as usize;
            let delay = (20 + longer * (i % 2)) * 1_000_000 + i / 2 % 40 * 900_000;
            Transit { at: i * 1_000_000, ip_len: 1500, fate: Fate::Arrived(delay), direction, index: i as usize / 2 }
        };
        (0..400).map(packet).collect()
    }

    // finding("C39")
    #[test]
    fn flows_have_queues_of_their_own_when_they_overtake_by_more_than_their_distance() {
        assert!(!has_flow_queues(&fifo(0)) && !has_flow_queues(&fifo(30)));
        let mut sparse = fifo(0);
        for packet in sparse.iter_mut().filter(|packet| packet.direction == 1) {
            packet.fate = Fate::Arrived(20_000_000);
        }
        assert!(has_flow_queues(&sparse));
    }

    #[test]
    fn short_flows_that_all_waited_have_one_queue() {
        // Two at a time, of ten packets each, over a queue that fills and drains.
        let packet = |i: i64| {
            let waited = (i % 60 - 30).abs() * 800_000;
            let direction = (i / 20 * 2 + i % 2) as usize;
            Transit { at: i * 1_000_000, ip_len: 1500, fate: Fate::Arrived(20_000_000 + waited), direction, index: i as usize }
        };
        assert!(!has_flow_queues(&(0..2000).map(packet).collect::<Vec<_>>()));
    }

    #[test]
    fn standing_rates_equal_the_sums_over_all_arrivals_for_every_minimum_delay() {
        let arrivals: Vec<(i64, u32, i64)> =
            (0..200i64).map(|i| (i * 1000 + i * i % 37, 40 + (i * 731 % 1460) as u32, i * 271 % 97)).collect();
        let rates = StandingRates::of(&arrivals, &[]);
        for delay in -1..100 {
            let both = arrivals.windows(2).filter(|w| w[0].2 >= delay && w[1].2 >= delay);
            let sums = both.fold((0, 0), |sum, w| (sum.0 + u64::from(w[1].1), sum.1 + w[1].0 - w[0].0));
            assert_eq!(rates.from(delay), sums, "{delay}");
        }
        assert_eq!(StandingRates::of(&arrivals[..1], &[]).from(0), (0, 0));
    }
}
