//! Congestion or radio? Overflow strikes where the queue stands high; what a radio loses does not care. The loss rate at low delays is
//! therefore the radio's, and what is lost beyond that rate at high delays is overflow.

use super::losses::Fate;
use super::marks::Mark;
use super::stream::Stream;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    Congestion,
    Radio,
    Both,
    /// Nothing lost, or too little to tell.
    Unclear,
}

#[derive(Debug, Clone)]
pub struct Verdict {
    pub blame: Blame,
    /// Share of the losses that the rate at low delays explains.
    pub radio_share: Option<f64>,
    /// Pearson's r over bins of 100 ms between the share lost and the greatest delay.
    pub correlation: Option<f64>,
    /// Losses next to delays in the upper part of their range, and all that were judged.
    pub at_peaks: u32,
    pub judged: u32,
    /// Nanoseconds: least delay, and where the upper part begins.
    pub least: i64,
    pub edge: i64,
}

/// The upper part of the delays' range begins at one of these: at the first that leaves enough of the packets below it to give a rate of
/// their own. A queue that is managed drops below its top; one that always stands high tells overflow from radio only close to its top.
const HIGH: [f64; 3] = [0.6, 0.75, 0.9];
const ENOUGH_BELOW: usize = 4;
/// A range below this is jitter of hosts and links, and no queue.
const NO_QUEUE_NS: i64 = 5_000_000;
/// Fewer losses say nothing.
const ENOUGH: u32 = 4;
/// A share below this, or above one less this, is as good as none or all.
const NOISE: f64 = 0.15;

/// For each packet the delay at its time: its own, or what its neighbours of all flows met.
fn delays(sent: &[Mark], fates: &[Fate], stream: &Stream) -> Vec<Option<i64>> {
    let delay = |(mark, fate): (&Mark, &Fate)| match fate {
        Fate::Arrived(delay) => Some(*delay),
        _ => stream.delay_at(mark.at),
    };
    sent.iter().zip(fates).map(delay).collect()
}

/// Where the upper part of these delays begins.
fn edge(sorted: &[i64], least: i64, top: i64) -> i64 {
    let at = |share: f64| least + ((top - least) as f64 * share) as i64;
    let below = |share: f64| sorted.partition_point(|&delay| delay < at(share));
    let chosen = HIGH.into_iter().find(|&share| below(share) * ENOUGH_BELOW >= sorted.len());
    at(chosen.unwrap_or(HIGH[HIGH.len() - 1]))
}

pub fn judge(sent: &[Mark], fates: &[Fate], stream: &Stream) -> Verdict {
    let near = delays(sent, fates, stream);
    let mut sorted: Vec<i64> = fates.iter().filter_map(|f| if let Fate::Arrived(d) = f { Some(*d) } else { None }).collect();
    sorted.sort_unstable();
    let least = sorted.first().copied().unwrap_or(0);
    // One late packet in a thousand does not make the range.
    let top = sorted.get(sorted.len().saturating_sub(1 + sorted.len() / 1000)).copied().unwrap_or(0);
    let edge = edge(&sorted, least, top);
    let (mut lost, mut all) = ([0u32; 2], [0u32; 2]);
    for (fate, delay) in fates.iter().zip(&near) {
        if let (Fate::Arrived(_) | Fate::Lost, Some(delay)) = (fate, delay) {
            let high = usize::from(top - least >= NO_QUEUE_NS && *delay >= edge);
            all[high] += 1;
            lost[high] += u32::from(*fate == Fate::Lost);
        }
    }
    let judged = lost[0] + lost[1];
    let radio_share = (judged > 0).then(|| {
        let rate = if all[0] > 0 { f64::from(lost[0]) / f64::from(all[0]) } else { 0.0 };
        (rate * f64::from(all[0] + all[1]) / f64::from(judged)).min(1.0)
    });
    let blame = match radio_share {
        Some(share) if judged >= ENOUGH && share < NOISE => Blame::Congestion,
        Some(share) if judged >= ENOUGH && share > 1.0 - NOISE => Blame::Radio,
        Some(_) if judged >= ENOUGH => Blame::Both,
        _ => Blame::Unclear,
    };
    Verdict { blame, radio_share, correlation: correlation(sent, fates, &near), at_peaks: lost[1], judged, least, edge }
}

/// Over bins in which something was sent whose fate is known.
fn correlation(sent: &[Mark], fates: &[Fate], near: &[Option<i64>]) -> Option<f64> {
    let origin = sent.first()?.at;
    let mut bins: Vec<(i64, f64, f64, f64)> = Vec::new();
    for ((mark, fate), delay) in sent.iter().zip(fates).zip(near) {
        let (Fate::Arrived(_) | Fate::Lost, Some(delay)) = (fate, delay) else { continue };
        let number = mark.at.saturating_sub(origin) / super::bursts::BIN;
        let (lost, delay) = (f64::from(u8::from(*fate == Fate::Lost)), *delay as f64);
        match bins.last_mut().filter(|b| b.0 == number) {
            Some(bin) => *bin = (number, bin.1 + 1.0, bin.2 + lost, bin.3.max(delay)),
            None => bins.push((number, 1.0, lost, delay)),
        }
    }
    crate::metrics::pearson(&bins.iter().map(|b| (b.2 / b.1, b.3)).collect::<Vec<_>>())
}
