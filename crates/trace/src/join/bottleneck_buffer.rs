//! Size of the bottleneck's buffer, from delays (papers: `wibro`): queueing delay in a full buffer
//! times the rate at which it drains.

use super::aggregate::Aggregate;
use super::fate::Fate;
use super::fingerprint::{PacketFingerprint, median_len};
use super::loss_attribution::{LossAttribution, LossOrigin};

/// Estimates in bytes of IP packets.
#[derive(Debug, Clone, Copy)]
pub struct BufferEstimate {
    /// From the minimum delay next to an overflow, less the minimum delay.
    pub min_based: Option<f64>,
    /// From the maximum delay, less the minimum delay.
    pub max_based: Option<f64>,
    /// Rate of arrivals while a queue stood, bit/s.
    pub rate_bps: Option<f64>,
    /// The buffer overflowed, so that `max_based` is its size and not only the part that was used.
    pub filled: bool,
    pub caveats: BufferCaveats,
}

/// Reason why the estimate may not be the buffer of a single droptail queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferCaveat {
    /// Packets were marked CE: an AQM, not limited by its size.
    Marks,
    /// Drops well below the maximum delay: an AQM, or a buffer shared by several queues.
    EarlyDrops,
    /// The maximum delays are single packets', or imply more queued bytes than were in transit:
    /// link-layer retransmissions (HARQ), not a queue. There is no `max_based`.
    DelayTail,
    /// A token bucket: the rate depends on earlier traffic.
    TokenBucket,
    /// Per-flow queues: flows overtake each other and not themselves. The estimate is that of one
    /// queue.
    FlowQueues,
}

impl BufferCaveat {
    pub const ALL: [BufferCaveat; 5] = [
        BufferCaveat::Marks,
        BufferCaveat::EarlyDrops,
        BufferCaveat::DelayTail,
        BufferCaveat::TokenBucket,
        BufferCaveat::FlowQueues,
    ];

    pub fn name(self) -> &'static str {
        match self {
            BufferCaveat::Marks => "marks",
            BufferCaveat::EarlyDrops => "early_drops",
            BufferCaveat::DelayTail => "delay_tail",
            BufferCaveat::TokenBucket => "token_bucket",
            BufferCaveat::FlowQueues => "flow_queues",
        }
    }
}

/// Indexed by [`BufferCaveat`].
pub type BufferCaveats = [bool; BufferCaveat::ALL.len()];

const NONE: BufferEstimate =
    BufferEstimate { min_based: None, max_based: None, rate_bps: None, filled: false, caveats: [false; BufferCaveat::ALL.len()] };
/// Maximum difference of the backlogs of a packet that arrived and of the next, lost one, in packets.
const MAX_STEP_PACKETS: i64 = 2;
/// Position between minimum and maximum delay from which on a queue stands.
const STANDING: f64 = 0.3;
/// A drop at a delay below this share of the range is early.
const EARLY: f64 = 0.5;
/// Share of the range by which the maximum delay of a tail exceeds nearly all delays,
const TAIL: f64 = 0.25;
/// which are all but one in this number.
const TAIL_RANK: usize = 200;
/// Maximum ratio of queued bytes to bytes in transit; lost packets do not count as in transit.
const MAX_QUEUED_RATIO: f64 = 1.25;

pub fn estimate(
    sent: &[PacketFingerprint],
    fates: &[Fate],
    attribution: &LossAttribution,
    aggregate: &Aggregate,
    number: usize,
    marked: bool,
) -> BufferEstimate {
    let backlog = |i: usize| aggregate.backlog(number, i).copied().unwrap_or_default();
    // While a link stalls, what waits for it need not be in the bottleneck's buffer.
    let arrived: Vec<(usize, i64)> =
        fates.iter().enumerate().filter(|(i, _)| !backlog(*i).in_stall).filter_map(|(i, f)| Some((i, f.delay()?))).collect();
    // Packets of about the median length only: a shorter one waits as long and has a shorter
    // service time.
    let Some(median) = median_len(sent) else { return NONE };
    let is_typical = |i: usize| u64::from(sent[i].ip_len) * 10 >= u64::from(median) * 9;
    let Some(min) = arrived.iter().filter(|a| is_typical(a.0)).map(|a| a.1).min() else { return NONE };
    // Packets that overtake others bypass the queue.
    let min = min.max(aggregate.base_delay);
    let Some(max) = arrived.iter().filter(|a| is_typical(a.0)).map(|a| a.1).max() else { return NONE };
    let Some(rate) = aggregate.rate(min + ((max - min) as f64 * STANDING) as i64) else { return NONE };
    // Bytes queued ahead of a packet, and the packet itself.
    let bytes = |delay: i64| (delay - min) as f64 * 1e-9 * rate / 8.0 + f64::from(median);
    let is_congested = matches!(attribution.origin, LossOrigin::Congestion | LossOrigin::Both);
    // Whether the queue was full for the packet after this one, which had this delay.
    let is_full_after = |i: usize, delay: i64| match attribution.overflow {
        Some((overflow, _)) => {
            let (own, next) = (backlog(i).at_arrival.bytes, backlog(i + 1).at_arrival.bytes);
            // A super-segment overflows a queue that has room for a packet.
            overflow.is_full(&backlog(i + 1)) && next - own <= MAX_STEP_PACKETS * i64::from(median)
        }
        None => attribution.edge > 0 && delay >= attribution.min_delay + attribution.edge,
    };
    let filled = is_congested && attribution.filled;
    let next_to_loss = fates.windows(2).enumerate().filter_map(|(i, w)| match w {
        [Fate::Arrived(d), Fate::Lost] if is_typical(i) && !backlog(i).in_stall && is_full_after(i, *d) => Some(*d),
        _ => None,
    });
    let min_next_to_loss = next_to_loss.min();
    let min_based = if filled { min_next_to_loss.map(bytes) } else { None };
    let mut caveats = NONE.caveats;
    let range = (max - min) as f64;
    caveats[BufferCaveat::Marks as usize] = marked;
    caveats[BufferCaveat::EarlyDrops as usize] =
        filled && (attribution.early || min_next_to_loss.is_some_and(|d| ((d - min) as f64) < EARLY * range));
    // Queued bytes are in transit (Little's law).
    let impossible = bytes(max) > MAX_QUEUED_RATIO * aggregate.max_in_transit as f64 + f64::from(median);
    caveats[BufferCaveat::DelayTail as usize] = impossible || is_tail(arrived.iter().map(|a| a.1).collect(), max, range);
    caveats[BufferCaveat::TokenBucket as usize] = aggregate.token_bucket.is_some();
    caveats[BufferCaveat::FlowQueues as usize] = aggregate.flow_queues;
    let max_based = (!caveats[BufferCaveat::DelayTail as usize]).then(|| bytes(max));
    BufferEstimate { min_based, max_based, rate_bps: Some(rate), filled, caveats }
}

/// True if few packets have much longer delays than all others. The delay of a queue changes packet
/// by packet.
fn is_tail(mut delays: Vec<i64>, max: i64, range: f64) -> bool {
    if delays.len() < TAIL_RANK {
        return false;
    }
    let rank = delays.len() - 1 - delays.len() / TAIL_RANK;
    let quantile = *delays.select_nth_unstable(rank).1;
    (max - quantile) as f64 > TAIL * range
}
