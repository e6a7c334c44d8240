//! Attribution of losses: dropped by the bottleneck's queue, or lost for another reason, as on a
//! radio. The evidence is that of all flows that share the path, since they share the queue.
//!
//! 1. A droptail queue drops what exceeds its limit, and nothing else (`overflow`).
//! 2. Where the bottleneck's arrivals are regular, the service time of a packet that was lost after
//!    it passes unused (`bottleneck_schedule`).
//! 3. An AQM drops more as the delay grows, other losses are independent of it: the loss rate at
//!    short waits is theirs, and the excess at long waits the queue's (`loss_threshold`).
//! 4. Clusters of losses with arrivals between them are a queue's (`loss_clusters`).

use super::aggregate::Aggregate;
use super::backlog::Backlog;
use super::bottleneck_schedule::{BottleneckSchedule, QueueWait, ServiceSlot, Transit};
use super::fate::Fate;
use super::fingerprint::PacketFingerprint;
use super::loss_bursts::BIN;
use super::loss_clusters::in_loss_cluster;
use super::loss_threshold::{self, LossThreshold, WaitSample};
use super::overflow::{self, BacklogSample, Overflow};
use std::collections::BTreeSet;

/// What most losses are due to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossOrigin {
    Congestion,
    Radio,
    Both,
    /// No losses, or too few.
    Unclear,
}

impl LossOrigin {
    pub fn name(self) -> &'static str {
        match self {
            LossOrigin::Congestion => "congestion",
            LossOrigin::Radio => "radio",
            LossOrigin::Both => "both",
            LossOrigin::Unclear => "unclear",
        }
    }
}

/// Losses of a direction of one flow.
#[derive(Debug, Clone)]
pub struct LossAttribution {
    pub origin: LossOrigin,
    /// Share of the losses that are not the queue's; none without losses.
    pub radio_share: Option<f64>,
    /// Pearson's r between loss rate and maximum delay in bins of 100 ms.
    pub correlation: Option<f64>,
    /// All losses.
    pub losses: u32,
    /// Minimum delay, nanoseconds.
    pub min_delay: i64,
    pub evidence: LossEvidence,
    /// Losses after the bottleneck: the service time passed unused.
    pub after_bottleneck: u32,
    /// Losses before the bottleneck: other packets used the service time.
    pub before_bottleneck: u32,
    /// Losses while the link stalled.
    pub in_stalls: u32,
    /// Packets were dropped before the bottleneck at queue lengths that it accepted at other times:
    /// not a droptail queue.
    pub early: bool,
}

/// What the attribution of a direction's losses is based on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum LossEvidence {
    /// A droptail queue with this limit was full at so many losses.
    Overflow { overflow: Overflow, full: u32 },
    /// More packets are lost from this queueing delay on (nanoseconds): so many.
    Delay { wait: i64, above: u32 },
    /// The loss rate depends on no delay or backlog; the maximum queueing delay in nanoseconds.
    Independent { max_wait: i64 },
    /// At least this share of the losses in busy times was after the bottleneck.
    IdleShare { share: f64 },
}

/// Waits below this are jitter of hosts and links, not a queue, unless the arrivals are regular.
const JITTER_NS: i64 = 5_000_000;
/// Minimum number of losses.
const MIN_LOSSES: u32 = 4;
/// The same if single losses are located.
const MIN_LOCATED: u32 = 2;
/// A share below this counts as none, one above 1 minus this as all.
const NEGLIGIBLE: f64 = 0.15;
/// Ratio from which on one number is much larger than another.
const MUCH_MORE: u32 = 3;
/// Minimum share lost after the bottleneck if single losses are not located; less may be irregular
/// hosts.
const MIN_IDLE_SHARE: f64 = 0.3;
/// A drop is early below this share of the maximum wait.
const EARLY_WAIT: f64 = 0.8;
/// Minimum share of early drops.
const EARLY_SHARE: f64 = 0.25;

/// The losses of all flows of a path.
#[derive(Debug, Default)]
pub struct PathLosses {
    /// By direction and packet: probability that its loss is not the queue's.
    other_cause: Vec<Vec<f32>>,
    pub overflow: Option<Overflow>,
    threshold: Option<LossThreshold>,
    idle_share: Option<f64>,
    /// Maximum queueing delay of a packet that arrived, nanoseconds.
    max_wait: i64,
    /// Few losses show which cause they have.
    is_located: bool,
    /// Dropped before the bottleneck, at too few times to show a dependence on waits: by a queue or
    /// an earlier link.
    is_ambiguous: bool,
}

/// All packets of a path, in order of departure, with what they met.
struct PathView<'a> {
    packets: &'a [Transit],
    schedule: &'a BottleneckSchedule,
    backlogs: &'a [Vec<Backlog>],
}

impl PathView<'_> {
    fn wait(&self, i: usize) -> QueueWait {
        self.schedule.waits[self.packets[i].direction][self.packets[i].index]
    }

    fn backlog(&self, i: usize) -> &Backlog {
        &self.backlogs[self.packets[i].direction][self.packets[i].index]
    }

    fn is_lost(&self, i: usize) -> bool {
        self.packets[i].fate == Fate::Lost
    }

    fn all(&self) -> std::ops::Range<usize> {
        0..self.packets.len()
    }

    /// Packets of known fate; of the lost ones those for which `condition` holds.
    fn samples<'s>(&'s self, condition: impl Fn(usize) -> bool + 's) -> impl Iterator<Item = usize> + 's {
        self.all().filter(move |&i| match self.packets[i].fate {
            Fate::Arrived(_) => true,
            Fate::Lost => condition(i),
            _ => false,
        })
    }

    fn wait_samples(&self, among: &[usize], wait: fn(&QueueWait) -> i64) -> Vec<WaitSample> {
        let sample = |&i: &usize| WaitSample { at: self.packets[i].at, wait: wait(&self.wait(i)), lost: self.is_lost(i) };
        among.iter().map(sample).collect()
    }

    /// Number of bins in which packets were dropped before the bottleneck; `u32::MAX` if there was
    /// none.
    fn drop_bins(&self) -> u32 {
        let bins: BTreeSet<i64> = self
            .all()
            .filter(|&i| self.is_lost(i) && self.wait(i).slot == ServiceSlot::Used)
            .map(|i| self.packets[i].at.div_euclid(BIN))
            .collect();
        if bins.is_empty() { u32::MAX } else { bins.len() as u32 }
    }
}

impl PathLosses {
    /// `packets` are in order of departure, `sizes` the numbers of packets of each direction.
    pub fn of(packets: &[Transit], sizes: &[usize], schedule: &BottleneckSchedule, backlogs: &[Vec<Backlog>]) -> PathLosses {
        let view = PathView { packets, schedule, backlogs };
        let mut losses = PathLosses { other_cause: sizes.iter().map(|_| Vec::new()).collect(), ..PathLosses::default() };
        losses.max_wait = view.all().filter(|&i| packets[i].fate.delay().is_some()).map(|i| view.wait(i).wait).max().unwrap_or(0);
        let lost: Vec<usize> = view.all().filter(|&i| view.is_lost(i)).collect();
        if lost.is_empty() {
            return losses;
        }
        let slot = |i: usize| view.wait(i).slot;
        let mut other_cause: Vec<Option<f64>> = vec![None; packets.len()];
        lost.iter().filter(|&&i| slot(i) == ServiceSlot::Idle).for_each(|&i| other_cause[i] = Some(1.0));
        let backlog_samples: Vec<BacklogSample> = view
            .samples(|i| slot(i) != ServiceSlot::Idle)
            .map(|i| BacklogSample { at: packets[i].at, backlog: *view.backlog(i), lost: view.is_lost(i) })
            .filter(|sample| !sample.backlog.in_stall)
            .collect();
        losses.overflow = overflow::find(&backlog_samples);
        if let Some(overflow) = &losses.overflow {
            for &i in lost.iter().filter(|&&i| slot(i) != ServiceSlot::Idle) {
                other_cause[i] = overflow.other_cause(view.backlog(i));
            }
        }
        losses.attribute_rest(&view, &lost, &mut other_cause);
        for (direction, &size) in sizes.iter().enumerate() {
            losses.other_cause[direction] = vec![0.0; size];
        }
        for &i in &lost {
            losses.other_cause[packets[i].direction][packets[i].index] = other_cause[i].unwrap_or(1.0) as f32;
        }
        losses
    }

    /// Attributes the losses below a droptail queue's limit, or all if there is none.
    fn attribute_rest(&mut self, view: &PathView<'_>, lost: &[usize], other_cause: &mut [Option<f64>]) {
        let schedule = view.schedule;
        let in_cluster = in_loss_cluster(view.packets);
        let slot = |i: usize| view.wait(i).slot;
        let count = |other: &[Option<f64>], condition: &dyn Fn(usize) -> bool| {
            lost.iter().filter(|&&i| other[i].is_none() && condition(i)).count() as u32
        };
        let [after, before] =
            [ServiceSlot::Idle, ServiceSlot::Used].map(|kind| lost.iter().filter(|&&i| slot(i) == kind).count() as u32);
        // Where single losses are located and hardly any was the queue's, the others are taken as
        // similar.
        let unlocated_by_wait = !schedule.is_regular || f64::from(before) >= NEGLIGIBLE * f64::from(before + after);
        let is_cluster = |i: usize| in_cluster[i] && slot(i) == ServiceSlot::Used;
        let is_open = |other: &[Option<f64>], i: usize| {
            other[i].is_none()
                && !is_cluster(i)
                && (slot(i) == ServiceSlot::Used || slot(i) == ServiceSlot::Unknown && unlocated_by_wait)
        };
        let among: Vec<usize> = view.samples(|i| is_open(other_cause, i)).collect();
        let service_time = median_service_time(view).filter(|_| schedule.is_regular && self.overflow.is_none());
        let thresholds = [
            loss_threshold::find(&view.wait_samples(&among, |w| w.wait), service_time).map(|t| (t, false)),
            loss_threshold::find(&view.wait_samples(&among, |w| w.wait_after), service_time).map(|t| (t, true)),
        ];
        let threshold = thresholds
            .into_iter()
            .flatten()
            .filter(|_| schedule.is_regular || self.max_wait >= JITTER_NS)
            .max_by(|a, b| a.0.gain.total_cmp(&b.0.gain));
        let (open, overflowed) = (count(other_cause, &|i| is_open(other_cause, i)), count(other_cause, &is_cluster));
        let not_queue: Vec<(usize, f64)> = lost
            .iter()
            .filter(|&&i| other_cause[i].is_none())
            .map(|&i| {
                let share = match threshold {
                    _ if is_cluster(i) => 0.0,
                    _ if !is_open(other_cause, i) => 1.0,
                    Some((threshold, after)) => {
                        let wait = view.wait(i);
                        threshold.other_cause(if after { wait.wait_after } else { wait.wait })
                    }
                    // Losses that waits do not attribute are taken as overflows, if overflows are much more.
                    None if slot(i) == ServiceSlot::Used && overflowed >= MUCH_MORE * open => 0.0,
                    None => 1.0,
                };
                (i, share)
            })
            .collect();
        let unexplained = not_queue.len();
        not_queue.into_iter().for_each(|(i, share)| other_cause[i] = Some(share));
        self.threshold = threshold.map(|t| t.0);
        self.idle_share = schedule.idle_share.filter(|share| *share >= MIN_IDLE_SHARE && self.overflow.is_none());
        self.is_located = schedule.is_regular && after + before > 0
            || self.overflow.is_some()
            || schedule.ns_per_byte.is_some() && open as usize == lost.len() && self.max_wait < JITTER_NS;
        self.is_ambiguous = self.threshold.is_none()
            && self.overflow.is_none()
            && schedule.is_regular
            && overflowed + after == 0
            && before as usize * 2 > unexplained
            && view.drop_bins() < MIN_LOSSES;
    }

    fn not_queue(&self, direction: usize, index: usize) -> f64 {
        self.other_cause.get(direction).and_then(|all| all.get(index)).map_or(0.0, |share| f64::from(*share))
    }
}

/// Service time of a packet of the median length, nanoseconds.
fn median_service_time(view: &PathView<'_>) -> Option<f64> {
    let mut lengths: Vec<u32> = view.packets.iter().map(|p| p.ip_len).collect();
    let middle = lengths.len() / 2;
    let ns_per_byte = view.schedule.ns_per_byte?;
    (!lengths.is_empty()).then(|| ns_per_byte * f64::from(*lengths.select_nth_unstable(middle).1))
}

/// Attributes the losses of the direction with this index in `aggregate`.
pub fn attribute(sent: &[PacketFingerprint], fates: &[Fate], aggregate: &Aggregate, number: usize) -> LossAttribution {
    let (path, waits) = (&aggregate.losses, aggregate.waits(number));
    let is_lost = |i: &usize| fates[*i] == Fate::Lost;
    let losses = |condition: &dyn Fn(usize) -> bool| (0..fates.len()).filter(is_lost).filter(|&i| condition(i)).count() as u32;
    let all = losses(&|_| true);
    let slots = |slot: ServiceSlot| losses(&|i| waits.get(i).is_some_and(|wait| wait.slot == slot));
    let not_queue: f64 = (0..fates.len()).filter(is_lost).map(|i| path.not_queue(number, i)).sum();
    let share = |not_queue: f64| (not_queue / f64::from(all)).max(path.idle_share.unwrap_or(0.0)).min(1.0);
    let radio_share = (all > 0).then(|| share(not_queue));
    let min_losses = if path.overflow.is_some() {
        1
    } else if path.is_located {
        MIN_LOCATED
    } else {
        MIN_LOSSES
    };
    let evidence = match (&path.overflow, &path.threshold, path.idle_share) {
        (Some(overflow), ..) => {
            let full = losses(&|i| aggregate.backlog(number, i).is_some_and(|backlog| overflow.is_full(backlog)));
            LossEvidence::Overflow { overflow: *overflow, full }
        }
        (None, _, Some(share)) => LossEvidence::IdleShare { share },
        (None, Some(threshold), None) => {
            let wait = threshold.min_wait;
            let above = losses(&|i| waits.get(i).is_some_and(|w| w.wait.max(w.wait_after) >= wait));
            LossEvidence::Delay { wait, above }
        }
        (None, None, None) => LossEvidence::Independent { max_wait: path.max_wait },
    };
    let service_time = aggregate.median_service_time(sent).filter(|_| aggregate.schedule.is_regular);
    LossAttribution {
        origin: origin(radio_share.filter(|_| all >= min_losses && !path.is_ambiguous)),
        radio_share,
        correlation: correlation(sent, fates, aggregate),
        losses: all,
        // Packets that overtake others have a path of their own.
        min_delay: fates.iter().filter_map(Fate::delay).min().unwrap_or(0).max(aggregate.base_delay),
        evidence,
        after_bottleneck: slots(ServiceSlot::Idle),
        before_bottleneck: slots(ServiceSlot::Used),
        in_stalls: losses(&|i| aggregate.backlog(number, i).is_some_and(|backlog| backlog.in_stall)),
        early: path.overflow.is_none()
            && service_time.is_some_and(|time| has_early_drops(fates, waits, path.max_wait, time, not_queue)),
    }
}

/// True if packets were dropped early. `service_time` is that of a packet at the bottleneck,
/// `other_losses` the number of packets lost for other reasons.
fn has_early_drops(fates: &[Fate], waits: &[QueueWait], max_wait: i64, service_time: f64, other_losses: f64) -> bool {
    let full = (max_wait as f64 * EARLY_WAIT).min(max_wait as f64 - 2.0 * service_time) as i64;
    let drops = |below: i64| {
        let dropped = waits.iter().zip(fates).filter(|(w, f)| **f == Fate::Lost && w.slot == ServiceSlot::Used && w.wait < below);
        dropped.count() as f64
    };
    drops(full) - other_losses > (EARLY_SHARE * drops(i64::MAX)).max(1.0)
}

fn origin(radio_share: Option<f64>) -> LossOrigin {
    match radio_share {
        Some(share) if share < NEGLIGIBLE => LossOrigin::Congestion,
        Some(share) if share > 1.0 - NEGLIGIBLE => LossOrigin::Radio,
        Some(_) => LossOrigin::Both,
        None => LossOrigin::Unclear,
    }
}

/// Correlation of loss rate and maximum delay over bins with packets of known fate.
fn correlation(sent: &[PacketFingerprint], fates: &[Fate], aggregate: &Aggregate) -> Option<f64> {
    let origin = sent.first()?.at;
    let mut bins: Vec<(i64, f64, f64, f64)> = Vec::new();
    for (packet, fate) in sent.iter().zip(fates) {
        let delay = match fate {
            Fate::Arrived(delay) => Some(*delay),
            Fate::Lost => aggregate.delay_at(packet.at),
            _ => None,
        };
        let Some(delay) = delay else { continue };
        let number = packet.at.saturating_sub(origin) / BIN;
        let (lost, delay) = (f64::from(u8::from(*fate == Fate::Lost)), delay as f64);
        match bins.last_mut().filter(|b| b.0 == number) {
            Some(bin) => *bin = (number, bin.1 + 1.0, bin.2 + lost, bin.3.max(delay)),
            None => bins.push((number, 1.0, lost, delay)),
        }
    }
    crate::metrics::pearson(&bins.iter().map(|b| (b.2 / b.1, b.3)).collect::<Vec<_>>())
}
