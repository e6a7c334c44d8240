//! Service times at the bottleneck. Packets leave a busy link of constant rate one service time
//! apart. A packet lost after the link used its service time, and the next packet arrives that much
//! later. A packet dropped before the link, by a full queue or an AQM, uses no service time. The
//! arrivals around a loss show which of the two it was.
//!
//! The link is modelled as a FIFO server of constant rate (Lindley 1952). The arrivals between
//! which no packet was lost show how well the model fits.

use super::fate::Fate;
use super::stalls::{self, LinkStall};

/// One packet of any flow in the direction.
#[derive(Debug, Clone, Copy)]
pub struct Transit {
    /// Departure by the sender's clock, nanoseconds.
    pub at: i64,
    pub ip_len: u32,
    pub fate: Fate,
    /// Index of the flow's direction, and of the packet in it.
    pub direction: usize,
    pub index: usize,
}

/// The service time of a lost packet at the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServiceSlot {
    /// It passed unused: the packet was lost after the bottleneck.
    Idle,
    /// Other packets used it: the packet was dropped before the bottleneck.
    Used,
    /// There was no queue, or the arrivals are too irregular.
    Unknown,
}

/// Queueing of one packet at the bottleneck.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueWait {
    /// Time that the packet waited, or would have waited, for the packets sent before it that
    /// arrived, nanoseconds.
    pub wait: i64,
    /// Queueing delay of a packet that arrives when this packet's service begins, nanoseconds.
    pub wait_after: i64,
    /// For a lost packet.
    pub slot: ServiceSlot,
}

impl QueueWait {
    const UNKNOWN: QueueWait = QueueWait { wait: 0, wait_after: 0, slot: ServiceSlot::Unknown };
}

/// Queueing of all packets in one direction.
#[derive(Debug, Default)]
pub struct BottleneckSchedule {
    /// By direction and packet.
    pub waits: Vec<Vec<QueueWait>>,
    /// Service time per byte in nanoseconds; none if there never was a queue.
    pub ns_per_byte: Option<f64>,
    /// Arrivals after the busy link are regular enough to locate single losses.
    pub is_regular: bool,
    /// If they are not: minimum share of the packets lost in busy times that were lost after the
    /// bottleneck; none if there are too few.
    pub idle_share: Option<f64>,
    /// Each flow has a queue, so that only `idle_share` is known: a packet's wait is not that for the
    /// packets sent before it.
    pub flow_queues: bool,
}

/// Minimum number of consecutive arrivals from a standing queue.
const MIN_PAIRS: usize = 20;
/// Position between minimum and maximum delay from which on a queue stands, for a first estimate of
/// the rate.
const STANDING: f64 = 0.3;
/// Maximum deviation of a regular arrival from the model, in service times.
const REGULAR: f64 = 0.3;
/// Minimum share of regular arrivals.
const REGULAR_SHARE: f64 = 0.95;
/// Minimum difference between arrivals with and without a lost packet's service time, in service
/// times.
const MIN_DIFFERENCE: f64 = 0.5;
/// Deviations are clamped to this number of service times; larger ones have other causes.
const MAX_DEVIATION: f64 = 3.0;
/// Maximum number of packets that a receiver merges.
const MAX_MERGED: usize = 64;
/// Maximum standard error of the share over all losses.
const MAX_ERROR: f64 = 0.08;

/// FIFO server with a constant rate and a constant delay.
#[derive(Debug, Clone, Copy)]
struct Server {
    ns_per_byte: f64,
    /// Delay of a packet of length zero without queueing, nanoseconds.
    base_delay: f64,
}

impl Server {
    fn service_time(&self, packet: &Transit) -> f64 {
        self.ns_per_byte * f64::from(packet.ip_len)
    }

    /// Arrival of a packet if the previous one arrived at `last`.
    fn arrival(&self, last: f64, packet: &Transit) -> f64 {
        last.max(packet.at as f64 + self.base_delay) + self.service_time(packet)
    }

    fn wait(&self, last: f64, packet: &Transit) -> f64 {
        (last - packet.at as f64 - self.base_delay).max(0.0)
    }
}

/// Departures from the server since the last arrival at a known time, `anchor`: the last one with and
/// without the service times of the packets lost since.
struct Model {
    anchor: f64,
    without: f64,
    with: f64,
    lost: Vec<usize>,
    merged: usize,
}

/// One or more consecutive losses.
struct LossGap {
    /// Delay of the next arrival relative to the model without the lost packets, in service times.
    delay: f64,
    /// The same if all lost packets had used their service time.
    max_delay: f64,
    /// Indexes of the lost packets.
    lost: Vec<usize>,
}

impl BottleneckSchedule {
    /// `packets` are in order of departure; `sizes` are the numbers of packets of each flow's
    /// direction.
    pub fn of(packets: &[Transit], sizes: &[usize], stalls: &[LinkStall]) -> BottleneckSchedule {
        if stalls.is_empty() {
            return BottleneckSchedule::without_stalls(packets, sizes);
        }
        // What the link held while it stalled says nothing about its service times.
        let mut last_delay = 0;
        let known = |packet: &Transit| {
            last_delay = packet.fate.delay().unwrap_or(last_delay);
            let in_stall = stalls::overlaps(stalls, packet.at, packet.at.saturating_add(last_delay));
            Transit { fate: if in_stall { Fate::Uncaptured } else { packet.fate }, ..*packet }
        };
        BottleneckSchedule::without_stalls(&packets.iter().map(known).collect::<Vec<_>>(), sizes)
    }

    /// The schedule of a link that serves a queue per flow. Whatever the order, a busy link leaves no
    /// service time unused but those of the packets that are lost after it.
    pub fn of_flow_queues(packets: &[Transit], sizes: &[usize], base_delay: i64) -> BottleneckSchedule {
        let lost = packets.iter().filter(|packet| packet.fate == Fate::Lost).count();
        let unused = unused_service_times(packets, base_delay);
        BottleneckSchedule {
            waits: sizes.iter().map(|&n| vec![QueueWait::UNKNOWN; n]).collect(),
            ns_per_byte: unused.map(|unused| unused.0),
            idle_share: unused.filter(|_| lost > 0).map(|unused| (unused.1 / lost as f64).clamp(0.0, 1.0)),
            flow_queues: true,
            ..BottleneckSchedule::default()
        }
    }

    fn without_stalls(packets: &[Transit], sizes: &[usize]) -> BottleneckSchedule {
        let mut schedule = BottleneckSchedule {
            waits: sizes.iter().map(|&n| vec![QueueWait::UNKNOWN; n]).collect(),
            ..BottleneckSchedule::default()
        };
        let Some(server) = server(packets) else { return schedule };
        schedule.ns_per_byte = Some(server.ns_per_byte);
        let (noise, gaps) = schedule.compute_waits(packets, server);
        schedule.compute_waits_after(packets, server);
        let near = noise.iter().filter(|x| x.abs() < REGULAR).count();
        schedule.is_regular = noise.len() >= MIN_PAIRS && near as f64 >= REGULAR_SHARE * noise.len() as f64;
        if schedule.is_regular {
            gaps.iter().for_each(|gap| schedule.locate(packets, gap));
        } else if noise.len() >= MIN_PAIRS {
            schedule.idle_share = min_idle_share(&noise, &gaps);
        }
        schedule
    }

    /// Computes all waits. Returns the deviations of arrivals from the model without losses, in
    /// service times, and the loss gaps.
    fn compute_waits(&mut self, packets: &[Transit], server: Server) -> (Vec<f64>, Vec<LossGap>) {
        let (mut noise, mut gaps) = (Vec::new(), Vec::new());
        let mut model: Option<Model> = None;
        let next = next_arrivals(packets);
        for (i, packet) in packets.iter().enumerate() {
            let wait = &mut self.waits[packet.direction][packet.index].wait;
            *wait = model.as_ref().map_or(0.0, |model| server.wait(model.without, packet)) as i64;
            match (packet.fate, &mut model) {
                (Fate::Lost, Some(model)) => {
                    model.with = server.arrival(model.with, packet);
                    model.lost.push(i);
                }
                (Fate::Lost, None) => {}
                // It used a service time that is not known.
                (Fate::Uncaptured | Fate::OutsideCapture, _) => model = None,
                (Fate::Arrived(delay), known) => {
                    let arrived = packet.at.saturating_add(delay);
                    let mut last = i64::MIN as f64;
                    if let Some(model) = known {
                        let (before, without, with) =
                            (model.without, server.arrival(model.without, packet), server.arrival(model.with, packet));
                        // Packets that a receiver merges (GRO) have the time of the last of them.
                        if next[i] == Some(arrived) && model.merged < MAX_MERGED {
                            (model.without, model.with, model.merged) = (without, with, model.merged + 1);
                            continue;
                        }
                        let unit = server.service_time(packet);
                        let delay = (arrived as f64 - without) / unit;
                        if !model.lost.is_empty() {
                            let lost = std::mem::take(&mut model.lost);
                            gaps.push(LossGap { delay, max_delay: (with - without) / unit, lost });
                        } else if server.wait(before, packet) > 0.0 {
                            noise.push(delay);
                        }
                        last = model.anchor;
                    }
                    let anchor = last.max(arrived as f64);
                    model = Some(Model { anchor, without: anchor, with: anchor, lost: Vec::new(), merged: 0 });
                }
            }
        }
        (noise, gaps)
    }

    /// Computes the queueing delay behind each packet at the time of its service.
    fn compute_waits_after(&mut self, packets: &[Transit], server: Server) {
        let mut latest: Vec<(i64, f64)> = Vec::new();
        for packet in packets {
            if let Fate::Arrived(delay) = packet.fate {
                let arrived = packet.at as f64 + delay as f64;
                latest.push((packet.at, latest.last().map_or(arrived, |last| last.1.max(arrived))));
            }
        }
        let mut next = 0;
        for packet in packets {
            let wait = &mut self.waits[packet.direction][packet.index];
            let service_at = packet.at.saturating_add(wait.wait);
            while next > 0 && latest.get(next - 1).is_some_and(|l| l.0 > service_at) {
                next -= 1;
            }
            while latest.get(next).is_some_and(|l| l.0 <= service_at) {
                next += 1;
            }
            let last = next.checked_sub(1).and_then(|i| latest.get(i));
            wait.wait_after = last.map_or(0.0, |last| (last.1 - server.base_delay - service_at as f64).max(0.0)) as i64;
        }
    }

    /// Locates the losses of one gap: its width is the number of packets lost after the bottleneck.
    /// Those with the longest waits were dropped before it.
    fn locate(&mut self, packets: &[Transit], gap: &LossGap) {
        let count = gap.lost.len();
        if gap.max_delay < MIN_DIFFERENCE * count as f64 {
            return;
        }
        let idle = (gap.delay / gap.max_delay * count as f64).round().clamp(0.0, count as f64) as usize;
        let mut by_wait = gap.lost.clone();
        by_wait.sort_by_key(|&l| self.waits[packets[l].direction][packets[l].index].wait);
        for (rank, l) in by_wait.into_iter().enumerate() {
            self.waits[packets[l].direction][packets[l].index].slot =
                if rank < idle { ServiceSlot::Idle } else { ServiceSlot::Used };
        }
    }
}

/// Service time per byte in nanoseconds, and number of service times that a busy link left unused;
/// none if arrivals are irregular.
fn unused_service_times(packets: &[Transit], base_delay: i64) -> Option<(f64, f64)> {
    let mut arrivals: Vec<(i64, i64, u32)> =
        packets.iter().filter_map(|p| Some((p.at.saturating_add(p.fate.delay()?), p.at, p.ip_len))).collect();
    arrivals.sort_unstable();
    // Packets that a receiver merges have the time of the last of them.
    let mut merged: Vec<(i64, i64, u32)> = Vec::with_capacity(arrivals.len());
    for (at, sent, ip_len) in arrivals {
        match merged.last_mut().filter(|last| last.0 == at) {
            Some(last) => *last = (at, last.1.max(sent), last.2.saturating_add(ip_len)),
            None => merged.push((at, sent, ip_len)),
        }
    }
    // The link was busy if a packet waited for it when the previous one arrived.
    let busy = merged.windows(2).filter(|w| w[1].1.saturating_add(base_delay) <= w[0].0);
    let gaps: Vec<(f64, f64)> = busy.map(|w| ((w[1].0 - w[0].0) as f64, f64::from(w[1].2.max(1)))).collect();
    let mut per_byte: Vec<f64> = gaps.iter().map(|gap| gap.0 / gap.1).collect();
    if per_byte.len() < MIN_PAIRS {
        return None;
    }
    let middle = per_byte.len() / 2;
    let ns_per_byte = *per_byte.select_nth_unstable_by(middle, f64::total_cmp).1;
    let mut lengths: Vec<u32> = packets.iter().map(|p| p.ip_len).collect();
    let middle = lengths.len() / 2;
    let unit = ns_per_byte * f64::from(*lengths.select_nth_unstable(middle).1);
    let unused = |gap: &(f64, f64)| (gap.0 - ns_per_byte * gap.1) / unit;
    let regular = gaps.iter().filter(|gap| (unused(gap) - unused(gap).round()).abs() < REGULAR).count();
    (unit > 0.0 && regular as f64 >= REGULAR_SHARE * gaps.len() as f64)
        .then(|| (ns_per_byte, gaps.iter().map(|gap| unused(gap).round()).sum()))
}

/// For each packet the arrival of the next packet that arrived.
fn next_arrivals(packets: &[Transit]) -> Vec<Option<i64>> {
    let mut next = None;
    let mut all: Vec<Option<i64>> = packets
        .iter()
        .rev()
        .map(|packet| {
            let after = next;
            next = packet.fate.delay().map(|delay| packet.at.saturating_add(delay)).or(next);
            after
        })
        .collect();
    all.reverse();
    all
}

/// Minimum share of losses after the bottleneck over all gaps: the mean width, corrected by the
/// mean deviation, less two standard errors. None if these are large.
fn min_idle_share(noise: &[f64], gaps: &[LossGap]) -> Option<f64> {
    let clamped = |x: f64, max: f64| x.clamp(-MAX_DEVIATION, max + MAX_DEVIATION);
    let n = noise.len() as f64;
    let mean = noise.iter().map(|&x| clamped(x, 0.0)).sum::<f64>() / n;
    let variance = noise.iter().map(|&x| (clamped(x, 0.0) - mean).powi(2)).sum::<f64>() / n;
    let busy = || gaps.iter().filter(|gap| gap.max_delay >= MIN_DIFFERENCE * gap.lost.len() as f64);
    let (count, all) = (busy().count() as f64, busy().map(|gap| gap.max_delay).sum::<f64>());
    let later = busy().map(|gap| clamped(gap.delay, gap.max_delay) - mean).sum::<f64>();
    let error = (variance * count).sqrt() / all;
    (all > 0.0 && error <= MAX_ERROR).then(|| (later / all - 2.0 * error).clamp(0.0, 1.0))
}

/// Fits the server. The service time per byte is that of consecutive arrivals from a standing
/// queue: the median if most are similar, else the mean.
fn server(packets: &[Transit]) -> Option<Server> {
    let delay = |p: &Transit| p.fate.delay();
    let delays = || packets.iter().filter_map(delay);
    let (min, max) = (delays().min()?, delays().max()?);
    let standing = min + ((max - min) as f64 * STANDING) as i64;
    let mut gaps: Vec<(f64, f64)> = packets
        .windows(2)
        .filter_map(|w| match (delay(&w[0])?, delay(&w[1])?) {
            (a, b) if a.min(b) >= standing => {
                Some(((w[1].at.saturating_add(b)).saturating_sub(w[0].at.saturating_add(a)) as f64, f64::from(w[1].ip_len)))
            }
            _ => None,
        })
        .collect();
    if gaps.len() < MIN_PAIRS {
        return None;
    }
    let mean = gaps.iter().map(|g| g.0).sum::<f64>() / gaps.iter().map(|g| g.1).sum::<f64>();
    gaps.sort_unstable_by(|a, b| (a.0 / a.1).total_cmp(&(b.0 / b.1)));
    let (time, bytes) = gaps[gaps.len() / 2];
    let median = time / bytes;
    let similar = gaps.iter().filter(|g| (g.0 / g.1 / median - 1.0).abs() < REGULAR).count();
    let ns_per_byte = if median > 0.0 && similar * 2 > gaps.len() { median } else { mean };
    let mut latest = i64::MIN;
    // Packets that overtake others do not pass the queue.
    let in_order = packets.iter().filter(|p| {
        let arrived = delay(p).map_or(i64::MIN, |delay| p.at.saturating_add(delay));
        let overtakes = arrived < latest;
        latest = latest.max(arrived);
        !overtakes
    });
    let base_delay =
        in_order.filter_map(|p| Some(delay(p)? as f64 - ns_per_byte * f64::from(p.ip_len))).fold(f64::INFINITY, f64::min);
    (ns_per_byte > 0.0 && ns_per_byte.is_finite()).then_some(Server { ns_per_byte, base_delay })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Packets every 0.8 ms into a link with a service time of 1 ms and a delay of 10 ms. `dropped`
    /// packets are lost before it, `lost` ones after it.
    fn link(dropped: &[usize], lost: &[usize], late: impl Fn(usize) -> i64) -> Vec<Transit> {
        let mut free = 0;
        (0..400usize)
            .map(|index| {
                let at = index as i64 * 800_000;
                let fate = if dropped.contains(&index) {
                    Fate::Lost
                } else {
                    free = free.max(at) + MS;
                    if lost.contains(&index) { Fate::Lost } else { Fate::Arrived(free - at + 10 * MS + late(index)) }
                };
                Transit { at, ip_len: 1500, fate, direction: 0, index }
            })
            .collect()
    }

    #[test]
    fn schedule_locates_single_losses_when_arrivals_are_regular() {
        let schedule = BottleneckSchedule::of(&link(&[200, 201, 300], &[150, 202, 350], |_| 0), &[400], &[]);
        assert!(schedule.is_regular && (schedule.ns_per_byte.unwrap() * 1500.0 - 1e6).abs() < 1.0);
        let of = |n: usize| schedule.waits[0][n].slot;
        assert_eq!([150, 350].map(of), [ServiceSlot::Idle; 2]);
        assert_eq!(of(300), ServiceSlot::Used);
        // Three consecutive losses, of which one used its service time: the one with the shortest
        // wait.
        assert_eq!([200, 201, 202].map(of).into_iter().filter(|slot| *slot == ServiceSlot::Idle).count(), 1);
        let wait = schedule.waits[0][300].wait;
        assert!((wait - (300 - 5 - 300 * 4 / 5) * MS).abs() <= 4 * MS, "{wait}");
    }

    #[test]
    fn schedule_gives_only_the_share_when_arrivals_are_irregular() {
        let every = |n: usize| (20..400).filter(|i| i % n == 0).collect::<Vec<_>>();
        let jitter = |n: usize| (n * 7919 % 13) as i64 * 120_000;
        for (dropped, lost) in [(vec![], every(9)), (every(9), vec![])] {
            let schedule = BottleneckSchedule::of(&link(&dropped, &lost, jitter), &[400], &[]);
            assert!(!schedule.is_regular && schedule.waits[0].iter().all(|wait| wait.slot == ServiceSlot::Unknown));
            let share = schedule.idle_share.unwrap_or(0.0);
            assert!(if lost.is_empty() { share < 0.1 } else { share > 0.6 }, "{share}");
        }
    }

    #[test]
    fn schedule_locates_losses_when_a_receiver_merges_packets() {
        // Arrivals of two packets each have the time of the second one.
        let mut packets = link(&[], &[150, 151], |_| 0);
        for i in (0..400).step_by(2) {
            let arrival = |p: &Transit| p.fate.delay().map(|delay| p.at + delay);
            if let (Some(_), Some(second)) = (arrival(&packets[i]), arrival(&packets[i + 1])) {
                packets[i].fate = Fate::Arrived(second - packets[i].at);
            }
        }
        let schedule = BottleneckSchedule::of(&packets, &[400], &[]);
        assert!(schedule.is_regular);
        assert_eq!([150, 151].map(|n: usize| schedule.waits[0][n].slot), [ServiceSlot::Idle; 2]);
    }

    #[test]
    fn unused_service_times_are_those_of_lost_packets_when_flows_overtake() {
        // Two flows, of which the second is served first; every 40th packet is lost after the link.
        let packets: Vec<Transit> = (0..400usize)
            .map(|index| {
                let (at, served) = (index as i64 * 800_000, (index ^ 1) as i64 + 1);
                let lost = index % 40 == 20 || index % 50 == 30;
                let dropped = Fate::Lost;
                let arrived = Fate::Arrived(served * MS - at + 10 * MS);
                Transit { at, ip_len: 1500, fate: if lost { dropped } else { arrived }, direction: index % 2, index: index / 2 }
            })
            .collect();
        let schedule = BottleneckSchedule::of_flow_queues(&packets, &[200, 200], 10 * MS);
        assert!(schedule.idle_share.is_some_and(|share| share > 0.9), "{:?}", schedule.idle_share);
    }
}
