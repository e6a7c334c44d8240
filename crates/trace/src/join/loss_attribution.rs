//! Attribution of losses: dropped by the bottleneck's queue, or lost on the radio link. Three kinds
//! of evidence. Where the bottleneck's arrivals are regular, the service time of a packet lost
//! after it passes unused (`bottleneck_schedule`). A droptail queue drops only when full; an AQM
//! drops more as delay grows; radio loss is independent of delay. The loss rate at short waits is
//! therefore the radio's, and the excess at long waits the queue's. Clusters of losses with
//! arrivals between them are a queue overflow (`loss_clusters`).

use super::aggregate::Aggregate;
use super::bottleneck_schedule::{QueueWait, ServiceSlot};
use super::fate::Fate;
use super::fingerprint::PacketFingerprint;
use super::loss_bursts::BIN;
use super::loss_clusters::in_loss_cluster;
use super::loss_threshold::{self, WaitSample};
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

#[derive(Debug, Clone)]
pub struct LossAttribution {
    pub origin: LossOrigin,
    /// Share of the losses that are not the queue's; none without losses.
    pub radio_share: Option<f64>,
    /// Pearson's r between loss rate and maximum delay in bins of 100 ms.
    pub correlation: Option<f64>,
    /// Losses at delays from `edge` on.
    pub at_peaks: u32,
    /// All losses.
    pub losses: u32,
    /// Minimum delay, nanoseconds.
    pub min_delay: i64,
    /// Delay from which on more packets are lost, nanoseconds.
    pub edge: i64,
    /// Losses after the bottleneck: the service time passed unused.
    pub after_bottleneck: u32,
    /// Losses before the bottleneck: other packets used the service time.
    pub before_bottleneck: u32,
    /// Minimum share of the losses in busy times that is after the bottleneck, if single losses
    /// cannot be located.
    pub idle_share: Option<f64>,
    /// Packets were dropped before the bottleneck at queue lengths that it accepted at other times:
    /// not a droptail queue.
    pub early: bool,
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

/// The packets of a direction.
struct LossEvidence<'a> {
    sent: &'a [PacketFingerprint],
    fates: &'a [Fate],
    waits: &'a [QueueWait],
    /// Lost in a cluster: a queue overflow, if the loss was before the bottleneck.
    in_cluster: Vec<bool>,
    /// Losses that cannot be located are attributed by their wait.
    unlocated_by_wait: bool,
}

impl LossEvidence<'_> {
    /// Number of losses for which `condition` holds.
    fn losses(&self, condition: impl Fn(usize) -> bool) -> u32 {
        (0..self.fates.len()).filter(|&i| self.fates[i] == Fate::Lost && condition(i)).count() as u32
    }

    fn overflowed(&self, i: usize) -> bool {
        self.in_cluster[i] && self.waits[i].slot == ServiceSlot::Used
    }

    /// To be attributed by its wait.
    fn is_open(&self, i: usize) -> bool {
        !self.overflowed(i)
            && (self.waits[i].slot == ServiceSlot::Used || self.waits[i].slot == ServiceSlot::Unknown && self.unlocated_by_wait)
    }

    /// True if packets were dropped early. `service_time` is that of a packet at the bottleneck,
    /// `other_losses` the number of packets lost before it for other reasons.
    fn has_early_drops(&self, max_wait: i64, service_time: f64, other_losses: f64) -> bool {
        let full = (max_wait as f64 * EARLY_WAIT).min(max_wait as f64 - 2.0 * service_time) as i64;
        let drops =
            |below: i64| f64::from(self.losses(|i| self.waits[i].slot == ServiceSlot::Used && self.waits[i].wait < below));
        drops(full) - other_losses > (EARLY_SHARE * drops(i64::MAX)).max(1.0)
    }

    /// Number of bins in which packets were dropped before the bottleneck; `u32::MAX` if there was
    /// none.
    fn drop_bins(&self) -> u32 {
        let bins: BTreeSet<i64> = (0..self.fates.len())
            .filter(|&i| self.fates[i] == Fate::Lost && self.waits[i].slot == ServiceSlot::Used)
            .map(|i| self.sent[i].at.div_euclid(BIN))
            .collect();
        if bins.is_empty() { u32::MAX } else { bins.len() as u32 }
    }

    fn wait_samples(&self, wait: fn(&QueueWait) -> i64) -> Vec<WaitSample> {
        let with_known_fate = (0..self.fates.len()).filter(|&i| match self.fates[i] {
            Fate::Arrived(_) => true,
            Fate::Lost => self.is_open(i),
            _ => false,
        });
        with_known_fate
            .map(|i| WaitSample { at: self.sent[i].at, wait: wait(&self.waits[i]), lost: self.fates[i] == Fate::Lost })
            .collect()
    }
}

/// Attributes the losses of a direction. `waits` are those of its packets at the aggregate's
/// bottleneck.
pub fn attribute(sent: &[PacketFingerprint], fates: &[Fate], aggregate: &Aggregate, waits: &[QueueWait]) -> LossAttribution {
    let schedule = &aggregate.schedule;
    let in_cluster = in_loss_cluster(sent, fates);
    let mut evidence = LossEvidence { sent, fates, waits, in_cluster, unlocated_by_wait: true };
    let [after, before, all] = [
        evidence.losses(|i| waits[i].slot == ServiceSlot::Idle),
        evidence.losses(|i| waits[i].slot == ServiceSlot::Used),
        evidence.losses(|_| true),
    ];
    // Where single losses are located and hardly any was the queue's, the others are taken as
    // similar.
    evidence.unlocated_by_wait = !schedule.is_regular || f64::from(before) >= NEGLIGIBLE * f64::from(before + after);
    let service_time = aggregate.median_service_time(sent).filter(|_| schedule.is_regular);
    let ahead = evidence.wait_samples(|w| w.wait);
    let range = ahead.iter().filter(|c| !c.lost).map(|c| c.wait).max().unwrap_or(0);
    let thresholds = [
        loss_threshold::find(&ahead, service_time),
        loss_threshold::find(&evidence.wait_samples(|w| w.wait_after), service_time),
    ];
    let threshold = thresholds
        .into_iter()
        .flatten()
        .filter(|_| schedule.is_regular || range >= JITTER_NS)
        .max_by(|a, b| a.gain.total_cmp(&b.gain));
    let (open, overflowed) = (evidence.losses(|i| evidence.is_open(i)), evidence.losses(|i| evidence.overflowed(i)));
    // Losses that waits do not attribute are taken as overflows, if overflows are much more.
    let undecided =
        evidence.losses(|i| evidence.is_open(i) && !(waits[i].slot == ServiceSlot::Used && overflowed >= MUCH_MORE * open));
    let open_not_queue = threshold.as_ref().map_or(f64::from(undecided), |t| t.background_losses);
    let not_queue = f64::from(all - open - overflowed) + open_not_queue;
    let radio_share = (all > 0).then(|| {
        (not_queue / f64::from(all)).max(schedule.idle_share.filter(|share| *share >= MIN_IDLE_SHARE).unwrap_or(0.0)).min(1.0)
    });
    let is_located =
        schedule.is_regular && after + before > 0 || schedule.ns_per_byte.is_some() && open == all && range < JITTER_NS;
    // Dropped before the bottleneck, at too few times to show a dependence on waits: by a queue or
    // an earlier link.
    let is_ambiguous = threshold.is_none()
        && schedule.is_regular
        && overflowed + after == 0
        && before * 2 > all
        && evidence.drop_bins() < MIN_LOSSES;
    let from = threshold.as_ref().map_or(range, |t| t.min_wait);
    let min_delay = fates.iter().filter_map(Fate::delay).min().unwrap_or(0);
    LossAttribution {
        origin: origin(radio_share.filter(|_| all >= if is_located { MIN_LOCATED } else { MIN_LOSSES } && !is_ambiguous)),
        radio_share,
        correlation: correlation(sent, fates, aggregate),
        at_peaks: evidence.losses(|i| waits[i].wait >= from && from > 0),
        losses: all,
        min_delay,
        edge: min_delay + from,
        after_bottleneck: after,
        before_bottleneck: before,
        idle_share: schedule.idle_share,
        early: service_time
            .is_some_and(|time| evidence.has_early_drops(range, time, threshold.map_or(0.0, |t| t.background_losses))),
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
