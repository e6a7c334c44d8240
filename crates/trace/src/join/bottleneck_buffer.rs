//! How large the bottleneck's buffer is, from what it does to delays (papers: `wibro`): time in a full buffer times the rate at which it empties.

use super::aggregate::Aggregate;
use super::fate::Fate;
use super::fingerprint::{PacketFingerprint, usual_len};
use super::loss_attribution::{LossAttribution, LossOrigin};

/// Bytes of IP packets.
#[derive(Debug, Clone, Copy)]
pub struct BufferEstimate {
    /// From the least delay met next to an overflow, less the least of all.
    pub min_based: Option<f64>,
    /// From the greatest delay.
    pub max_based: Option<f64>,
    /// Bits a second that arrived while a queue stood.
    pub rate_bps: Option<f64>,
    /// Something overflowed, so that `max_based` is the buffer and not only what was used of it.
    pub filled: bool,
    pub caveats: BufferCaveats,
}

/// Why the estimate may not be the buffer of one droptail queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferCaveat {
    /// Packets were marked (CE): the queue is managed, and its size is not what limits it.
    Marks,
    /// Drops well below the greatest delay: a managed queue, or one that several share or each has of its own.
    EarlyDrops,
    /// The greatest delays are single packets', or would need more bytes to wait than there were: retransmissions of a radio (HARQ), not a queue.
    /// `max_based` is refused.
    DelayTail,
    /// A token bucket: the rate depends on what passed before.
    TokenBucket,
    /// Flows overtake each other and not themselves: each has a queue of its own, and this is one of them.
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

/// By the caveats' order.
pub type BufferCaveats = [bool; BufferCaveat::ALL.len()];

const NONE: BufferEstimate =
    BufferEstimate { min_based: None, max_based: None, rate_bps: None, filled: false, caveats: [false; BufferCaveat::ALL.len()] };
/// A queue stands from this share of the way to the greatest delay.
const STANDING: f64 = 0.3;
/// A drop at a delay below this share of the range is early; a queue that overflows drops near its top.
const EARLY: f64 = 0.5;
/// A delay above all but one in two hundred by more than this share of the range is a tail.
const TAIL: f64 = 0.25;
const TAIL_RANK: usize = 200;
/// More than what was between the captures, by this factor, never waited; lost packets are not counted there.
const MORE_THAN_SENT: f64 = 1.25;

pub fn estimate(
    sent: &[PacketFingerprint],
    fates: &[Fate],
    verdict: &LossAttribution,
    stream: &Aggregate,
    marked: bool,
) -> BufferEstimate {
    let delay = |fate: &Fate| if let Fate::Arrived(d) = fate { Some(*d) } else { None };
    let arrived: Vec<(usize, i64)> = fates.iter().enumerate().filter_map(|(i, f)| Some((i, delay(f)?))).collect();
    // Packets of the usual size only: a small one waits as long and takes less time on the link.
    let Some(usual) = usual_len(sent) else { return NONE };
    let alike = |i: usize| u64::from(sent[i].ip_len) * 10 >= u64::from(usual) * 9;
    let Some(least) = arrived.iter().filter(|a| alike(a.0)).map(|a| a.1).min() else { return NONE };
    let Some(most) = arrived.iter().filter(|a| alike(a.0)).map(|a| a.1).max() else { return NONE };
    let Some(rate) = stream.rate(least + ((most - least) as f64 * STANDING) as i64) else { return NONE };
    // What waits ahead of a packet, and the packet.
    let bytes = |delay: i64| (delay - least) as f64 * 1e-9 * rate / 8.0 + f64::from(usual);
    let filled = matches!(verdict.blame, LossOrigin::Congestion | LossOrigin::Both) && verdict.at_peaks > 0;
    let beside_loss = fates.windows(2).enumerate().filter_map(|(i, w)| match w {
        [Fate::Arrived(d), Fate::Lost] if alike(i) && *d >= verdict.edge => Some(*d),
        _ => None,
    });
    let beside = beside_loss.min();
    let min_based = if filled { beside.map(bytes) } else { None };
    let mut caveats = NONE.caveats;
    let range = (most - least) as f64;
    caveats[BufferCaveat::Marks as usize] = marked;
    caveats[BufferCaveat::EarlyDrops as usize] =
        filled && (verdict.early || beside.is_some_and(|d| ((d - least) as f64) < EARLY * range));
    // Little's law: what waits is on its way.
    let impossible = bytes(most) > MORE_THAN_SENT * stream.most_between as f64 + f64::from(usual);
    caveats[BufferCaveat::DelayTail as usize] = impossible || is_tail(arrived.iter().map(|a| a.1).collect(), most, range);
    caveats[BufferCaveat::TokenBucket as usize] = stream.bucket.is_some();
    caveats[BufferCaveat::FlowQueues as usize] = stream.flow_queues;
    let max_based = (!caveats[BufferCaveat::DelayTail as usize]).then(|| bytes(most));
    BufferEstimate { min_based, max_based, rate_bps: Some(rate), filled, caveats }
}

/// A queue's delay rises and falls packet by packet; what stands alone above all others is no queue.
fn is_tail(mut delays: Vec<i64>, most: i64, range: f64) -> bool {
    if delays.len() < TAIL_RANK {
        return false;
    }
    let rank = delays.len() - 1 - delays.len() / TAIL_RANK;
    let usual = *delays.select_nth_unstable(rank).1;
    (most - usual) as f64 > TAIL * range
}
