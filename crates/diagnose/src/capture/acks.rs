//! Findings about ACKs: queueing, compression, thinning.

use super::rule::Claim;
use super::transfer::Transfer;
use crate::number_text::{milliseconds, rate, whole_percent};
use ackclock_core::statistics::SummaryStats;
use ackclock_trace::report::AckGaps;

/// Share of ACKs within 1 ms of the one before from which they are bunched.
pub const MOSTLY: f64 = 0.5;
/// Minimum number of ACKs.
pub const ENOUGH: u64 = 50;
/// Queueing delay of ACKs in ms that is worth a finding.
pub const QUEUE_MS: f64 = 50.0;
/// A queue of ACKs that limits is above this share of the minimum RTT.
const STANDS: f64 = 0.1;
const MOSTLY_QUEUED: f64 = 0.55;
/// Data below this rate, in bit/s, is a control connection.
const DATA_BPS: f64 = 10e3;
/// ACKs are bunched if the mean gap is at least this and most gaps are below 1 ms; at smaller mean
/// gaps 1 ms is no criterion.
const BUNCHED_MS: f64 = 2.5;
/// Share of ACKs with less than a quarter of the gap of the data that they acknowledge.
pub const SQUEEZED: f64 = 0.3;
const QUEUED_SHARE: f64 = 0.3;
/// Share of an upload's longest waits (p95) that ACKs in the same queue have at least, by this number of echoed
/// timestamps: medians differ where the upload is the shorter of both.
pub const SAME_QUEUE: f64 = 0.5;
const ECHOES: u64 = 10;
/// ACKs that left as close as this share of those that arrive so were not compressed by the path.
const LEFT_SO: f64 = 0.75;
const SEVERAL: u64 = 5;
/// In a bunched ACK stream, gaps above this are transmissions in the other direction on the link
/// (`wimax-measured`).
const GAP_MS: u32 = 90;
/// Segments per ACK from which ACKs are thinned.
pub const THINNED: f64 = 3.0;

/// ACKs that sometimes wait although the data's queue is the larger one; if the ACKs' queue is larger,
/// `ack_path` has the share of time.
pub fn ack_queue(transfer: &Transfer<'_>) -> Option<Claim> {
    let [there, back] = transfer.delays_ms().map(|delay| excess(delay, |delay| delay.p95));
    let (there, back) = (there?, back.filter(|_| wait_at_times(transfer))?);
    let evidence = format!(
        "ACKs also wait at times: {} above the minimum delay of their direction (p95; the data's direction {}).",
        milliseconds(back),
        milliseconds(there)
    );
    Some(Claim::new(evidence, relief(transfer)))
}

/// Whether ACKs sometimes wait longer than data, but not in most of the time with a queue.
pub fn wait_at_times(transfer: &Transfer<'_>) -> bool {
    let [there, back] = transfer.delays_ms().map(|delay| excess(delay, |delay| delay.p95));
    there.zip(back).is_some_and(|(there, back)| !ack_queue_dominates(transfer) && back >= there.max(QUEUE_MS))
}

/// A quantile of the delay of a direction above its minimum, in ms, which does not depend on the
/// clocks' offset.
pub fn excess(delay_ms: Option<&SummaryStats>, quantile: fn(&SummaryStats) -> Option<f64>) -> Option<f64> {
    let delay_ms = delay_ms?;
    Some(quantile(delay_ms)? - delay_ms.min?)
}

/// Whether the queue in the time limited by the path's rate is that of the ACKs.
pub fn ack_queue_dominates(transfer: &Transfer<'_>) -> bool {
    let [data_ms, acks_ms] = transfer.delays_ms();
    QueueDelays { data_ms, acks_ms, min_rtt_ms: transfer.min_rtt_ms(), queued_share: transfer.queued_share() }.is_of_acks()
}

/// Where a queue stands, by the delays of both directions between two captures.
#[derive(Debug, Clone, Copy)]
pub struct QueueDelays<'a> {
    pub data_ms: Option<&'a SummaryStats>,
    pub acks_ms: Option<&'a SummaryStats>,
    pub min_rtt_ms: f64,
    /// Share of the time with a queue.
    pub queued_share: f64,
}

impl QueueDelays<'_> {
    /// Whether the ACKs wait in it. A few large delays are no standing queue.
    pub fn is_of_acks(&self) -> bool {
        let quantile = Typical::of(self.queued_share).quantile();
        let [data, acks] = [self.data_ms, self.acks_ms].map(|delay| excess(delay, quantile));
        data.zip(acks).is_some_and(|(data, acks)| acks > data.max(STANDS * self.min_rtt_ms))
    }
}

/// The quantile for the median of the time with a queue: 1 - h/2 of a share h, rounded to p50 or p95.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typical {
    Median,
    P95,
}

impl Typical {
    pub fn of(queued_share: f64) -> Typical {
        if queued_share > MOSTLY_QUEUED { Typical::Median } else { Typical::P95 }
    }

    pub fn quantile(self) -> fn(&SummaryStats) -> Option<f64> {
        match self {
            Typical::Median => |delay| delay.p50,
            Typical::P95 => |delay| delay.p95,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Typical::Median => "medians",
            Typical::P95 => "p95",
        }
    }
}

/// The advice about waiting ACKs, which depends on data in their direction.
pub fn relief(transfer: &Transfer<'_>) -> &'static str {
    if transfer.has_data_beside_acks() || transfer.shared_bps > DATA_BPS {
        "Data shares the direction of the ACKs. ACKs first, or per-flow queues, in the direction of the ACKs (or a smaller \
         buffer there) restore the ACK clock."
    } else {
        "This capture has no data in the direction of the ACKs, so ACKs alone fill the link, or data of other hosts does: fewer \
         ACKs (a filter at that link, as in CAKE; GRO at the receiver), a faster uplink, or a smaller buffer help in the first \
         case. ACKs first, or per-flow queues, in the direction of the ACKs (or a smaller buffer there) restore the ACK clock \
         in the second."
    }
}

/// An upload of the same host whose queue the ACKs of this direction share, as its RTT in the same capture
/// shows. A download with its path's rate has a queue of its own, in which the upload's ACKs wait; one whose echoed
/// timestamps show a shorter wait than the upload's has another queue.
pub fn upload_slows_download(transfer: &Transfer<'_>) -> Option<Claim> {
    let against = transfer.against.filter(|against| against.queue_ms >= QUEUE_MS.max(against.min_rtt_ms))?;
    let echoes = &transfer.other.timestamp_rtt_ms;
    let waited = excess(Some(echoes), |rtt| rtt.p95).filter(|_| echoes.count >= ECHOES);
    let has_other_queue = waited.is_some_and(|waited| waited < SAME_QUEUE * against.queue_ms);
    if transfer.crossing.is_some() || transfer.has_path_rate() || has_other_queue {
        return None;
    }
    let (queue, upload) = (milliseconds(against.queue_ms), rate(against.goodput_bps));
    let evidence = format!(
        "Flow {}, which the receiver of this direction sends to the same host at {upload}, has a queue {} of its time: its RTT is \
         up to {queue} above its minimum of {} (p95). The ACKs of this direction wait in the same queue.",
        against.flow,
        whole_percent(against.share),
        milliseconds(against.min_rtt_ms)
    );
    let advice = "Give the sender's uplink a queue per flow or active queue management (FQ-CoDel, CAKE), with ACKs first, or limit \
                  the upload to somewhat less than the uplink's rate.";
    let short = format!("The upload of {upload} slows the download down: both wait {queue} in the uplink's queue.");
    Some(Claim::new(evidence, advice).in_short(short).of_share(against.share))
}

pub fn ack_compression(transfer: &Transfer<'_>) -> Option<Claim> {
    let gaps = &transfer.figures.ack_interarrival_ms;
    // At the receiver, gaps are those between departures.
    if gaps.gaps.count < ENOUGH || !transfer.shows_pace() || !transfer.is_more_than_one_segment() {
        return None;
    }
    // What spaces data most of the time is the closed window.
    if transfer.closed_share() > MOSTLY {
        return None;
    }
    let (compressed, close) = (gaps.compressed_share.unwrap_or(0.0), close_share(gaps));
    // Bunched data has bunched ACKs. With a standing queue the bottleneck has spaced the data before.
    let is_bunched = close >= MOSTLY && gaps.gaps.mean.unwrap_or(0.0) >= BUNCHED_MS && transfer.queued_share() >= QUEUED_SHARE;
    let left_so = transfer.arriving.is_some_and(|arriving| close_share(&arriving.ack_interarrival_ms) > LEFT_SO * close);
    if left_so || !(is_bunched || compressed >= SQUEEZED) {
        return None;
    }
    let mut evidence = format!(
        "{} of the ACKs arrive within 1 ms of the previous one, {} with less than a quarter of the gap of the data that they \
         acknowledge",
        whole_percent(close),
        whole_percent(compressed)
    );
    let long: u64 =
        gaps.histogram.iter().filter(|bin| bin.up_to.is_none_or(|edge| edge > GAP_MS)).map(|bin| u64::from(bin.count)).sum();
    if long > 0 {
        evidence += &format!(", with {long} gaps above {GAP_MS} ms (the longest {})", milliseconds(gaps.gaps.max));
    }
    let has_data = transfer.has_data_beside_acks();
    let own_bps = if has_data { transfer.other.goodput_bps.unwrap_or(0.0) } else { 0.0 };
    let mut advice = "Prioritise ACKs on the uplink (or use per-flow queues there), or shorten its queue: data waits, and ACKs \
                      use little capacity.";
    if own_bps != 0.0 || transfer.shared_bps > DATA_BPS {
        evidence += &format!(": the uplink is shared with {} of data", rate(own_bps + transfer.shared_bps));
    } else if long >= SEVERAL {
        evidence += ": the uplink is shared with data that this capture does not have, or transmits in frames or grants";
    } else {
        evidence += ": the link transmits in frames or grants, or a host or network card joined packets before the capture";
        advice = "Bunched ACKs release bursts of data: pacing at the sender prevents that.";
    }
    Some(Claim::new(evidence + ".", advice))
}

/// Share of gaps of 1 ms or less.
fn close_share(gaps: &AckGaps) -> f64 {
    let close: u64 =
        gaps.histogram.iter().filter(|bin| bin.up_to.is_some_and(|edge| edge <= 1)).map(|bin| u64::from(bin.count)).sum();
    close as f64 / gaps.gaps.count.max(1) as f64
}

pub fn stretch_acks(transfer: &Transfer<'_>) -> Option<Claim> {
    let gaps = &transfer.figures.ack_interarrival_ms;
    let each = gaps.segments_per_ack.filter(|each| gaps.gaps.count >= ENOUGH && *each >= THINNED)?;
    let evidence = format!(
        "One ACK for {each:.1} segments on average, {} of them for more than two: the receiver's host joins segments (GRO, \
         LRO), or a filter on the path removes ACKs.",
        whole_percent(gaps.stretched_share.unwrap_or(0.0))
    );
    Some(Claim::new(evidence, ""))
}
