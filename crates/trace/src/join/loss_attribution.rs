//! Congestion or radio? Three signs. Where the bottleneck's arrivals are even, the time of a packet lost behind it passes empty (`slots`). A
//! droptail queue drops at its fullest and there only, and a managed one the more the longer packets wait; what a radio loses does not care.
//! So the loss rate at short waits is the radio's, and what is lost beyond that rate at long ones is the queue's. And losses that follow each other
//! closely with arrivals between them are an overflow (`dense`).

use super::aggregate::Aggregate;
use super::bottleneck_schedule::{QueueWait, ServiceSlot};
use super::fate::Fate;
use super::fingerprint::PacketFingerprint;
use super::loss_clusters::in_loss_cluster;
use super::loss_threshold::{self, WaitSample};
use std::collections::BTreeSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LossOrigin {
    Congestion,
    Radio,
    Both,
    /// Nothing lost, or too little to tell.
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
    pub blame: LossOrigin,
    /// Share of the losses that are not the queue's.
    pub radio_share: Option<f64>,
    /// Pearson's r over bins of 100 ms between the share lost and the greatest delay.
    pub correlation: Option<f64>,
    /// Fates next to delays in the upper part of their range, and all that were judged.
    pub at_peaks: u32,
    pub judged: u32,
    /// Nanoseconds: least delay, and where the upper part begins.
    pub least: i64,
    pub edge: i64,
    /// Lost packets whose time on the bottleneck passed empty, and whose time others had.
    pub empty: u32,
    pub taken: u32,
    /// Of the losses in busy times the share whose time passed empty, where single ones cannot be told.
    pub empty_share: Option<f64>,
    /// Packets were dropped before the bottleneck while clearly less waited than it took at other times: no droptail queue does that.
    pub early: bool,
}

/// A range of waits below this is jitter of hosts and links, and no queue, unless the arrivals are even.
const NO_QUEUE_NS: i64 = 5_000_000;
/// Fewer losses say nothing; where each is told by itself, these do.
const ENOUGH: u32 = 4;
const ENOUGH_TOLD: u32 = 2;
/// A share below this, or above one less this, is as good as none or all.
const NOISE: f64 = 0.15;
/// Much more is so many times as many.
const MOSTLY: u32 = 3;
/// Where single losses cannot be told, a share lost behind the bottleneck below this may be the unevenness of hosts.
const SHOWN: f64 = 0.3;
/// A drop is early below this share of the longest wait, and so large a share of the drops has to be.
const EARLY_WAIT: f64 = 0.8;
const EARLY_SHARE: f64 = 0.25;

/// What is known of the packets of a direction.
struct LossEvidence<'a> {
    sent: &'a [PacketFingerprint],
    fates: &'a [Fate],
    met: &'a [QueueWait],
    /// Lost one after the other, with arrivals between: the queue's, where the loss was before the bottleneck.
    in_cluster: Vec<bool>,
    /// What cannot be told by its time on the bottleneck is judged by its wait.
    doubtful: bool,
}

impl LossEvidence<'_> {
    fn lost(&self, wanted: impl Fn(usize) -> bool) -> u32 {
        (0..self.fates.len()).filter(|&i| self.fates[i] == Fate::Lost && wanted(i)).count() as u32
    }

    fn overflowed(&self, i: usize) -> bool {
        self.in_cluster[i] && self.met[i].slot == ServiceSlot::Used
    }

    /// To be judged by its wait.
    fn open(&self, i: usize) -> bool {
        !self.overflowed(i)
            && (self.met[i].slot == ServiceSlot::Used || self.met[i].slot == ServiceSlot::Unknown && self.doubtful)
    }

    /// `usual` is a packet's time on the bottleneck, and `elsewhere` how many were lost before it for other reasons.
    fn early(&self, longest: i64, usual: f64, elsewhere: f64) -> bool {
        let full = (longest as f64 * EARLY_WAIT).min(longest as f64 - 2.0 * usual) as i64;
        let taken = |below: i64| f64::from(self.lost(|i| self.met[i].slot == ServiceSlot::Used && self.met[i].wait < below));
        taken(full) - elsewhere > (EARLY_SHARE * taken(i64::MAX)).max(1.0)
    }

    /// Bins in which packets were dropped before the bottleneck; more than enough where none was.
    fn times(&self) -> u32 {
        let bins: BTreeSet<i64> = (0..self.fates.len())
            .filter(|&i| self.fates[i] == Fate::Lost && self.met[i].slot == ServiceSlot::Used)
            .map(|i| self.sent[i].at.div_euclid(super::loss_bursts::BIN))
            .collect();
        if bins.is_empty() { u32::MAX } else { bins.len() as u32 }
    }

    fn cases(&self, wait: fn(&QueueWait) -> i64) -> Vec<WaitSample> {
        let known = (0..self.fates.len()).filter(|&i| match self.fates[i] {
            Fate::Arrived(_) => true,
            Fate::Lost => self.open(i),
            _ => false,
        });
        known.map(|i| WaitSample { at: self.sent[i].at, wait: wait(&self.met[i]), lost: self.fates[i] == Fate::Lost }).collect()
    }
}

pub fn attribute(sent: &[PacketFingerprint], fates: &[Fate], stream: &Aggregate, met: &[QueueWait]) -> LossAttribution {
    let slots = &stream.slots;
    let mut seen = LossEvidence { sent, fates, met, in_cluster: in_loss_cluster(sent, fates), doubtful: true };
    let [empty, taken, all] =
        [seen.lost(|i| met[i].slot == ServiceSlot::Idle), seen.lost(|i| met[i].slot == ServiceSlot::Used), seen.lost(|_| true)];
    // Where single losses can be told and hardly any was the queue's, what cannot be told is like the others.
    seen.doubtful = !slots.even || f64::from(taken) >= NOISE * f64::from(taken + empty);
    let usual = stream.usual_time(sent).filter(|_| slots.even);
    let ahead = seen.cases(|met| met.wait);
    let range = ahead.iter().filter(|c| !c.lost).map(|c| c.wait).max().unwrap_or(0);
    let steps = [loss_threshold::find(&ahead, usual), loss_threshold::find(&seen.cases(|met| met.behind), usual)];
    let found =
        steps.into_iter().flatten().filter(|_| slots.even || range >= NO_QUEUE_NS).max_by(|a, b| a.gain.total_cmp(&b.gain));
    let (open, overflowed) = (seen.lost(|i| seen.open(i)), seen.lost(|i| seen.overflowed(i)));
    // What waits say nothing of goes with the rest of what was dropped, if that is much more.
    let undecided = seen.lost(|i| seen.open(i) && !(met[i].slot == ServiceSlot::Used && overflowed >= MOSTLY * open));
    let of_open = found.as_ref().map_or(f64::from(undecided), |step| step.anywhere);
    let elsewhere = f64::from(all - open - overflowed) + of_open;
    let radio_share = (all > 0)
        .then(|| (elsewhere / f64::from(all)).max(slots.empty_share.filter(|share| *share >= SHOWN).unwrap_or(0.0)).min(1.0));
    let told = slots.even && empty + taken > 0 || slots.per_byte.is_some() && open == all && range < NO_QUEUE_NS;
    // Dropped before the bottleneck, at too few times to tell whether waits matter: by a queue or by a link before it.
    let guess = found.is_none() && slots.even && overflowed + empty == 0 && taken * 2 > all && seen.times() < ENOUGH;
    let from = found.as_ref().map_or(range, |step| step.from);
    let least = fates.iter().filter_map(|f| if let Fate::Arrived(d) = f { Some(*d) } else { None }).min().unwrap_or(0);
    LossAttribution {
        blame: blame(radio_share.filter(|_| all >= if told { ENOUGH_TOLD } else { ENOUGH } && !guess)),
        radio_share,
        correlation: correlation(sent, fates, stream),
        at_peaks: seen.lost(|i| met[i].wait >= from && from > 0),
        judged: all,
        least,
        edge: least + from,
        empty,
        taken,
        empty_share: slots.empty_share,
        early: usual.is_some_and(|time| seen.early(range, time, found.map_or(0.0, |step| step.anywhere))),
    }
}

fn blame(radio_share: Option<f64>) -> LossOrigin {
    match radio_share {
        Some(share) if share < NOISE => LossOrigin::Congestion,
        Some(share) if share > 1.0 - NOISE => LossOrigin::Radio,
        Some(_) => LossOrigin::Both,
        None => LossOrigin::Unclear,
    }
}

/// Over bins in which something was sent whose fate is known.
fn correlation(sent: &[PacketFingerprint], fates: &[Fate], stream: &Aggregate) -> Option<f64> {
    let origin = sent.first()?.at;
    let mut bins: Vec<(i64, f64, f64, f64)> = Vec::new();
    for (mark, fate) in sent.iter().zip(fates) {
        let delay = match fate {
            Fate::Arrived(delay) => Some(*delay),
            Fate::Lost => stream.delay_at(mark.at),
            _ => None,
        };
        let Some(delay) = delay else { continue };
        let number = mark.at.saturating_sub(origin) / super::loss_bursts::BIN;
        let (lost, delay) = (f64::from(u8::from(*fate == Fate::Lost)), delay as f64);
        match bins.last_mut().filter(|b| b.0 == number) {
            Some(bin) => *bin = (number, bin.1 + 1.0, bin.2 + lost, bin.3.max(delay)),
            None => bins.push((number, 1.0, lost, delay)),
        }
    }
    crate::metrics::pearson(&bins.iter().map(|b| (b.2 / b.1, b.3)).collect::<Vec<_>>())
}
