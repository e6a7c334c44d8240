//! Attribution of losses: dropped by the bottleneck's queue, or lost for another reason, as on a
//! radio. The evidence is that of all flows that share the path, since they share the queue.
//!
//! 1. A droptail queue drops what exceeds its limit, and nothing else (`overflow`).
//! 2. Where the bottleneck's arrivals are regular, the service time of a packet that was lost after
//!    it passes unused (`bottleneck_schedule`).
//! 3. An AQM drops nothing while hardly anything waits. The loss rate of the packets that found no
//!    queue is therefore not the queue's, and neither are as many of the others.
//! 4. Where all packets waited, an AQM drops more as the delay grows (`loss_threshold`).

use super::aggregate::Aggregate;
use super::backlog::Backlog;
use super::bottleneck_schedule::{BottleneckSchedule, QueueWait, ServiceSlot, Transit};
use super::fate::Fate;
use super::fingerprint::PacketFingerprint;
use super::loss_bursts::BIN;
use super::loss_threshold::{self, LevelCounts, LossThreshold, WaitSample};
use super::overflow::{self, BacklogSample, Overflow};
use super::policed_path::PolicedPath;
use super::policer::PolicerEstimate;
use super::size_limit::SizeLimit;
use std::collections::BTreeSet;

/// What most losses are due to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossOrigin {
    Congestion,
    Radio,
    Both,
    /// A token bucket without a queue.
    Policer,
    /// The packets' size.
    PathMtu,
    /// No losses, or too few.
    Unclear,
}

impl LossOrigin {
    pub fn name(self) -> &'static str {
        match self {
            LossOrigin::Congestion => "congestion",
            LossOrigin::Radio => "radio",
            LossOrigin::Both => "both",
            LossOrigin::Policer => "policer",
            LossOrigin::PathMtu => "path_mtu",
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
    /// The limit of a droptail queue, and the number of losses above it.
    pub overflow: Option<(Overflow, u32)>,
    /// Loss rates of the path at short waits and at others.
    pub short_waits: Option<ShortWaits>,
    /// Share of the path's losses after the bottleneck, by the service times that passed unused, where
    /// single losses are not located.
    pub idle_share: Option<f64>,
    /// Queueing delay from which on the queue drops, nanoseconds.
    pub edge: i64,
    /// The queue dropped packets at this delay or a longer one.
    pub filled: bool,
    /// Losses after the bottleneck: the service time passed unused.
    pub after_bottleneck: u32,
    /// Losses before the bottleneck: other packets used the service time.
    pub before_bottleneck: u32,
    /// Losses while the link stalled.
    pub in_stalls: u32,
    /// Packets were dropped before the bottleneck at queue lengths that it accepted at other times:
    /// not a droptail queue.
    pub early: bool,
    /// The policer of the path, and its part of the losses.
    pub policed: Option<PolicedLosses>,
    pub size_limit: Option<SizeLimit>,
}

/// What a policer dropped of a direction.
#[derive(Debug, Clone, Copy)]
pub struct PolicedLosses {
    pub policer: PolicerEstimate,
    /// Losses of this direction at an empty bucket.
    pub drops: u32,
}

/// Packets of a path that waited hardly, and the others.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShortWaits {
    /// Maximum of a short wait, nanoseconds.
    pub wait: i64,
    pub short: LevelCounts,
    pub others: LevelCounts,
}

/// A wait up to this, or up to one service time, is short: AQMs begin to drop above it (RFC 8033,
/// section 4.2; RFC 8289, section 4.2).
const SHORT_NS: i64 = 2_500_000;
/// Waits below this are jitter of hosts and links, not a queue, unless the arrivals are regular.
const JITTER_NS: i64 = 5_000_000;
/// Minimum number of losses expected at short waits, if all losses were independent of the queue, for
/// their loss rate to be significant.
const EXPOSED: f64 = 4.0;
/// Number of consecutive losses that are one event, as in an outage.
const LONG_RUN: usize = 4;
/// Minimum time between the arrivals before and after it, relative to the service times of the lost
/// packets.
const MIN_IDLE: f64 = 0.5;
/// Minimum number of losses expected at short waits for them to show a loss before the bottleneck that
/// is not the queue's.
const EXPOSED_BEFORE: f64 = 8.0;
/// The same if the loss rate does not depend on the wait,
const EXPOSED_ALL: f64 = 2.0;
/// and minimum ratio of the losses at short waits to the expected ones.
const INDEPENDENT: f64 = 0.5;
/// Minimum loss rate above the limit of a queue that surely is droptail.
const SURELY_DROPTAIL: f64 = 0.5;
/// Share below which losses at short waits are those of an AQM that averages the queue, if the loss
/// rate depends on the wait.
const AVERAGING: f64 = 0.5;
/// Maximum backlog in packets at which a link with a queue per flow was idle.
const IDLE_PACKETS: i64 = 2;
/// Significance of a difference, in standard deviations.
const SIGNIFICANT: f64 = 2.0;
/// Minimum number of losses.
const MIN_LOSSES: u32 = 4;
/// The same if single losses are located.
const MIN_LOCATED: u32 = 2;
/// Share of the losses from which a policer is their origin.
const POLICED: f64 = 0.5;
/// A share below this counts as none, one above 1 minus this as all.
const NEGLIGIBLE: f64 = 0.15;
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
    short_waits: Option<ShortWaits>,
    /// Share of the losses after the bottleneck, by the service times that passed unused.
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

    /// For each packet whether it was lost in an outage: `LONG_RUN` losses or more without an arrival
    /// between, during which the link was idle, or sent what was lost.
    fn in_outages(&self) -> Vec<bool> {
        let mut in_outage = vec![false; self.packets.len()];
        let service_time = median_service_time(self).unwrap_or(0.0);
        let (mut run, mut last): (Vec<usize>, Option<i64>) = (Vec::new(), None);
        let close = |run: &mut Vec<usize>, in_outage: &mut Vec<bool>, gap: Option<i64>| {
            let is_idle = gap.is_none_or(|gap| gap as f64 >= MIN_IDLE * run.len() as f64 * service_time);
            if run.len() >= LONG_RUN && is_idle {
                run.iter().filter(|&&i| self.wait(i).slot == ServiceSlot::Unknown).for_each(|&i| in_outage[i] = true);
            }
            run.clear();
        };
        for (i, packet) in self.packets.iter().enumerate() {
            match packet.fate {
                Fate::Lost => run.push(i),
                Fate::Uncaptured | Fate::OutsideCapture => {}
                Fate::Arrived(delay) => {
                    let arrived = packet.at.saturating_add(delay);
                    close(&mut run, &mut in_outage, last.map(|last| arrived.saturating_sub(last)));
                    last = Some(arrived);
                }
            }
        }
        close(&mut run, &mut in_outage, None);
        in_outage
    }

    /// Packets and losses at short waits and at others, of `known` ones.
    fn short_waits(&self, known: &[usize]) -> ShortWaits {
        let wait = SHORT_NS.max(median_service_time(self).unwrap_or(0.0) as i64);
        let count = |short: bool| {
            let part = || known.iter().filter(move |&&i| (self.wait(i).wait <= wait) == short);
            LevelCounts { all: part().count(), lost: part().filter(|&&i| self.is_lost(i)).count() as u32 }
        };
        ShortWaits { wait, short: count(true), others: count(false) }
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
        let in_outage = view.in_outages();
        let sample = |i: usize| BacklogSample {
            at: packets[i].at,
            backlog: *view.backlog(i),
            lost: view.is_lost(i),
            in_outage: in_outage[i],
        };
        let backlog_samples: Vec<BacklogSample> =
            view.samples(|i| slot(i) != ServiceSlot::Idle).map(sample).filter(|sample| !sample.backlog.in_stall).collect();
        // The limit of one of several queues is not that of all, unless all drop above it.
        losses.overflow =
            overflow::find(&backlog_samples).filter(|overflow| !schedule.flow_queues || overflow.rate_above >= SURELY_DROPTAIL);
        if let Some(overflow) = &losses.overflow {
            for &i in lost.iter().filter(|&&i| slot(i) != ServiceSlot::Idle) {
                other_cause[i] = overflow.other_cause(view.backlog(i));
            }
        }
        losses.attribute_rest(&view, &lost, &in_outage, &mut other_cause);
        for (direction, &size) in sizes.iter().enumerate() {
            losses.other_cause[direction] = vec![0.0; size];
        }
        for &i in &lost {
            losses.other_cause[packets[i].direction][packets[i].index] = other_cause[i].unwrap_or(1.0) as f32;
        }
        losses
    }

    /// Attributes the losses below a droptail queue's limit, or all if there is none.
    fn attribute_rest(&mut self, view: &PathView<'_>, lost: &[usize], in_outage: &[bool], other_cause: &mut [Option<f64>]) {
        let schedule = view.schedule;
        let slot = |i: usize| view.wait(i).slot;
        let known: Vec<usize> = view.samples(|i| !in_outage[i]).filter(|&i| !view.backlog(i).in_stall).collect();
        let short_waits = view.short_waits(&known);
        self.short_waits = Some(short_waits).filter(|_| !schedule.flow_queues);
        let [idle, used] = [ServiceSlot::Idle, ServiceSlot::Used].map(|kind| lost.iter().filter(|&&i| slot(i) == kind).count());
        self.attribute_head_drops(view, lost, other_cause);
        let rest: Vec<usize> = lost.iter().copied().filter(|&i| other_cause[i].is_none() && !view.backlog(i).in_stall).collect();
        let among: Vec<usize> = view.samples(|i| other_cause[i].is_none() && slot(i) != ServiceSlot::Idle).collect();
        self.threshold = self.wait_threshold(view, &among);
        let is_short = |i: usize| view.wait(i).wait <= short_waits.wait;
        let single = rest.iter().filter(|&&i| !in_outage[i]).count();
        let used_rest = rest.iter().filter(|&&i| slot(i) == ServiceSlot::Used).count();
        let share_of_used = self.share_before(&short_waits, idle, used_rest, single);
        let located = (idle as f64 + share_of_used * used as f64) / (idle + used).max(1) as f64;
        let others = rest.iter().filter(|&&i| !in_outage[i] && !is_short(i) && slot(i) == ServiceSlot::Unknown).count();
        let share_of_others = match schedule.is_regular && idle + used > 0 {
            true => Some(located),
            false => {
                let idle_share = schedule.idle_share.filter(|_| self.overflow.is_none());
                let by_waits = self.share_by_short_waits(&short_waits, single, others).filter(|_| !schedule.flow_queues);
                by_waits.filter(|share| *share >= AVERAGING).or(idle_share).or(by_waits)
            }
        };
        let by_flow = schedule.flow_queues && share_of_others.is_some();
        self.idle_share = share_of_others.filter(|_| !schedule.is_regular && share_of_others == schedule.idle_share);
        for &i in &rest {
            let wait = view.wait(i);
            other_cause[i] = Some(match (wait.slot, share_of_others, &self.threshold) {
                (ServiceSlot::Used, ..) => share_of_used,
                // No queue drops many packets in a row while its link is idle: an outage does.
                _ if in_outage[i] => 1.0,
                _ if by_flow && view.backlog(i).at_arrival.packets <= IDLE_PACKETS => 1.0,
                _ if !by_flow && is_short(i) => 1.0,
                (_, Some(share), _) => share,
                (_, None, Some(threshold)) => threshold.other_cause(wait.wait),
                (_, None, None) => 1.0,
            });
        }
        // Of what was lost while the link stalled, as much as otherwise is the queue's.
        let attributed: Vec<f64> = lost.iter().filter_map(|&i| other_cause[i]).collect();
        let mean = attributed.iter().sum::<f64>() / attributed.len().max(1) as f64;
        lost.iter().for_each(|&i| _ = other_cause[i].get_or_insert(mean));
        self.is_located = schedule.is_regular && idle + used > 0
            || self.overflow.is_some()
            || schedule.ns_per_byte.is_some() && rest.len() == lost.len() && self.max_wait < JITTER_NS;
        self.is_ambiguous = self.threshold.is_none()
            && self.overflow.is_none()
            && schedule.is_regular
            && idle == 0
            && used * 2 > lost.len()
            && !short_waits.is_exposed(rest.len())
            && view.drop_bins() < MIN_LOSSES;
    }

    /// The queueing delay from which on more packets are lost.
    fn wait_threshold(&self, view: &PathView<'_>, among: &[usize]) -> Option<LossThreshold> {
        let is_regular = view.schedule.is_regular;
        let service_time = median_service_time(view).filter(|_| is_regular && self.overflow.is_none());
        let found = [
            loss_threshold::find(&view.wait_samples(among, |w| w.wait), service_time),
            loss_threshold::find(&view.wait_samples(among, |w| w.wait_after), service_time),
        ];
        let found = found.into_iter().flatten().filter(|_| is_regular || self.max_wait >= JITTER_NS);
        found.max_by(|a, b| a.gain.total_cmp(&b.gain))
    }

    /// Share of the losses before the bottleneck that are not the queue's: as many as the loss rate
    /// at short waits exceeds that of losses after the bottleneck. `single` are all losses that are
    /// not attributed yet, outages left out.
    fn share_before(&self, short_waits: &ShortWaits, idle: usize, used: usize, single: usize) -> f64 {
        if used == 0 {
            return 0.0;
        }
        let (short, busy) = (short_waits.short, short_waits.others.all.max(1) as f64);
        let after = idle as f64 / busy * short.all as f64;
        let excess = f64::from(short.lost) - after;
        // A droptail queue with room loses nothing.
        let is_droptail = |overflow: Overflow| !overflow.measure.is_at_head() && overflow.rate_above >= SURELY_DROPTAIL;
        let has_room = self.overflow.is_some_and(is_droptail);
        let expected = short_waits.expected(single);
        let is_independent = self.threshold.is_none() && expected >= EXPOSED_ALL && excess >= INDEPENDENT * expected;
        if is_independent && (has_room || self.overflow.is_none()) {
            return 1.0;
        }
        if short_waits.expected(used) < EXPOSED_BEFORE {
            return f64::from(u8::from(has_room && self.threshold.is_none()));
        }
        if excess < SIGNIFICANT * after.max(1.0).sqrt() {
            return 0.0;
        }
        let share = (excess / short.all as f64 * busy / used as f64).min(1.0);
        let min = if self.threshold.is_some() { AVERAGING } else { NEGLIGIBLE };
        if share < min { 0.0 } else { share }
    }

    /// A queue that drops at its head drops packets that met a shorter queue than the limit, at the
    /// times at which it is full.
    fn attribute_head_drops(&self, view: &PathView<'_>, lost: &[usize], other_cause: &mut [Option<f64>]) {
        let Some(overflow) = self.overflow.filter(|overflow| overflow.measure.is_at_head()) else { return };
        let bin = |i: usize| view.packets[i].at.div_euclid(BIN);
        let full: BTreeSet<i64> = lost.iter().filter(|&&i| overflow.is_full(view.backlog(i))).map(|&i| bin(i)).collect();
        for &i in lost.iter().filter(|&&i| view.wait(i).slot == ServiceSlot::Used) {
            if (-1..=1).any(|next| full.contains(&(bin(i) + next))) {
                other_cause[i] = Some(0.0);
            }
        }
    }

    /// The same for all losses at longer waits, where single ones cannot be located; none if too few
    /// packets found no queue.
    fn share_by_short_waits(&self, short_waits: &ShortWaits, single: usize, others: usize) -> Option<f64> {
        let (short, all) = (short_waits.short, short_waits.short.all + short_waits.others.all);
        if others == 0 || !short_waits.is_exposed(single) {
            return None;
        }
        let expected = short_waits.expected(single);
        // Losses that are independent of the queue occur at short waits as often as at others.
        if self.threshold.is_none() && (f64::from(short.lost) - expected).abs() <= SIGNIFICANT * expected.sqrt() {
            return Some(1.0);
        }
        Some((short.rate() * (all - short.all) as f64 / others as f64).min(1.0))
    }

    /// Probability that the loss of a packet is not the queue's.
    pub fn not_queue(&self, direction: usize, index: usize) -> f64 {
        self.other_cause.get(direction).and_then(|all| all.get(index)).map_or(0.0, |share| f64::from(*share))
    }
}

impl ShortWaits {
    /// Enough packets found no queue to show their loss rate, if `lost` losses were independent of it.
    fn is_exposed(&self, lost: usize) -> bool {
        self.expected(lost) >= EXPOSED
    }

    /// Losses expected at short waits, if `lost` losses were independent of the queue.
    fn expected(&self, lost: usize) -> f64 {
        lost as f64 * self.short.all as f64 / (self.short.all + self.others.all).max(1) as f64
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
    let radio_share = (all > 0).then(|| (not_queue / f64::from(all)).min(1.0));
    let min_losses = if path.overflow.is_some() {
        1
    } else if path.is_located {
        MIN_LOCATED
    } else {
        MIN_LOSSES
    };
    let is_full = |i: usize| {
        path.overflow.is_some_and(|overflow| aggregate.backlog(number, i).is_some_and(|backlog| overflow.is_full(backlog)))
    };
    let wait = |i: usize| waits.get(i).map_or(0, |wait| wait.wait);
    let edge = path.threshold.map_or(path.max_wait, |threshold| threshold.min_wait);
    let by_queue = |i: usize| path.not_queue(number, i) < 0.5;
    let (dropped, full) = (losses(&by_queue), losses(&is_full));
    let early_wait = (path.max_wait as f64 * EARLY_WAIT) as i64;
    let early = losses(&|i| by_queue(i) && !is_full(i) && wait(i) < early_wait);
    LossAttribution {
        origin: origin(radio_share.filter(|_| all >= min_losses && !path.is_ambiguous)),
        radio_share,
        correlation: correlation(sent, fates, aggregate),
        losses: all,
        // Packets that overtake others have a path of their own.
        min_delay: fates.iter().filter_map(Fate::delay).min().unwrap_or(0).max(aggregate.base_delay),
        overflow: path.overflow.map(|overflow| (overflow, full)),
        short_waits: path.short_waits,
        idle_share: path.idle_share,
        edge,
        filled: full > 0 || aggregate.flow_queues && dropped > 0 || edge > 0 && losses(&|i| by_queue(i) && wait(i) >= edge) > 0,
        after_bottleneck: slots(ServiceSlot::Idle),
        before_bottleneck: slots(ServiceSlot::Used),
        in_stalls: losses(&|i| aggregate.backlog(number, i).is_some_and(|backlog| backlog.in_stall)),
        early: aggregate.schedule.is_regular && early > 1 && f64::from(early) > EARLY_SHARE * f64::from(dropped),
        policed: None,
        size_limit: None,
    }
}

impl LossAttribution {
    /// The same where the packets' size is the reason of most losses.
    pub fn limited(self, limit: SizeLimit) -> LossAttribution {
        let others = f64::from(self.losses.saturating_sub(limit.lost)) / f64::from(self.losses.max(1));
        let radio_share = self.radio_share.map(|share| share.min(others));
        LossAttribution { origin: LossOrigin::PathMtu, radio_share, size_limit: Some(limit), ..self }
    }

    /// The same with the losses at a policer, which neither a queue nor a radio lost. `number` is the
    /// index of the direction in both.
    pub fn policed(self, fates: &[Fate], aggregate: &Aggregate, path: &PolicedPath, number: usize) -> LossAttribution {
        let Some(policer) = path.policer else { return self };
        let lost = (0..fates.len()).filter(|&i| fates[i] == Fate::Lost);
        let (drops, others): (Vec<usize>, Vec<usize>) = lost.partition(|&i| path.is_drop(number, i));
        let not_queue: f64 = others.iter().map(|&i| aggregate.losses.not_queue(number, i)).sum();
        let is_policed = drops.len() as f64 >= POLICED * f64::from(self.losses);
        LossAttribution {
            origin: if is_policed && !drops.is_empty() { LossOrigin::Policer } else { self.origin },
            radio_share: self.radio_share.map(|_| (not_queue / f64::from(self.losses)).min(1.0)),
            policed: Some(PolicedLosses { policer, drops: drops.len() as u32 }),
            ..self
        }
    }
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
