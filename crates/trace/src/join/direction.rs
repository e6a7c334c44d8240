//! Results for one direction of a flow between the captures.

use super::aggregate::Aggregate;
use super::fate::Fate;
use super::fingerprint::PacketFingerprint;
use super::loss_attribution::LossAttribution;
use super::loss_bursts::LossBursts;
use super::policed_path::PolicedPath;
use super::size_limit::{self, SizeLimit, SizedPacket};
use super::stalls::LinkStall;
use super::{BufferEstimate, MatchedDirection, TokenBucketEstimate, bottleneck_buffer, loss_attribution};
use crate::decode::Flags;
use crate::flow::seq_diff;

#[derive(Debug)]
pub struct JoinedDirection {
    /// The packets pass the first capture point before the second.
    pub first_to_second: bool,
    /// One-way delays in nanoseconds under the symmetric offset, sorted.
    pub delays: Vec<i64>,
    /// Time at the sender's capture and delay of each packet; no delay for lost packets.
    pub timeline: Vec<(i64, Option<i64>)>,
    /// Packets that were sent while the other capture ran.
    pub sent: u64,
    /// Time at the sender's capture, sequence number and payload of each lost packet, in order.
    pub lost: Vec<(i64, u32, u32)>,
    pub uncaptured: u64,
    pub missing_at_sender: u64,
    pub duplicated: u64,
    pub bursts: LossBursts,
    pub attribution: LossAttribution,
    pub buffer: BufferEstimate,
    /// Token bucket on the path of all flows in this direction.
    pub token_bucket: Option<TokenBucketEstimate>,
    /// Stalls of the path of all flows in this direction, nanoseconds after its first packet.
    pub stalls: Vec<LinkStall>,
}

impl JoinedDirection {
    /// `number` is the index of the direction in `aggregate` and in `policed`.
    pub fn of(matched: &MatchedDirection<'_>, aggregate: &Aggregate, policed: &PolicedPath, number: usize) -> JoinedDirection {
        let MatchedDirection { sent, fates, first_to_second, marked } = matched;
        let (missing_at_sender, duplicated, fates) = (fates.missing_at_sender, fates.duplicated, &fates.fates);
        let count = |fate: Fate| fates.iter().filter(|f| **f == fate).count() as u64;
        let mut delays: Vec<i64> = fates.iter().filter_map(Fate::delay).collect();
        delays.sort_unstable();
        let packets = || sent.iter().zip(fates);
        let origin = sent.first().map_or(0, |packet| packet.at);
        let timeline = packets().filter_map(|(p, fate)| match fate {
            Fate::Arrived(delay) => Some((p.at, Some(*delay))),
            Fate::Lost => Some((p.at, None)),
            Fate::Uncaptured | Fate::OutsideCapture => None,
        });
        let timeline = timeline.collect();
        let in_capture = packets().filter(|(_, fate)| **fate != Fate::OutsideCapture);
        let attribution = loss_attribution::attribute(sent, fates, aggregate, number);
        let attribution = match size_limit(sent, fates) {
            Some(limit) => attribution.limited(limit),
            None => attribution.policed(fates, aggregate, policed, number),
        };
        JoinedDirection {
            first_to_second: *first_to_second,
            sent: fates.len() as u64 - count(Fate::OutsideCapture),
            lost: packets().filter(|(_, fate)| **fate == Fate::Lost).map(|(p, _)| (p.at, p.seq, p.payload)).collect(),
            uncaptured: count(Fate::Uncaptured),
            missing_at_sender,
            duplicated,
            bursts: LossBursts::of(in_capture.map(|(p, fate)| (p.at, *fate == Fate::Lost))),
            buffer: bottleneck_buffer::estimate(sent, fates, &attribution, aggregate, number, *marked),
            token_bucket: aggregate.token_bucket,
            stalls: aggregate.stalls.iter().map(|s| LinkStall { start: s.start - origin, end: s.end - origin }).collect(),
            attribution,
            delays,
            timeline,
        }
    }
}

/// The size above which no packet of a flow's direction arrived. The path carries what arrived last. Where the
/// receiver's capture has nothing more, the segment that the sender repeats to the end is lost: all its copies are.
fn size_limit(sent: &[PacketFingerprint], fates: &[Fate]) -> Option<SizeLimit> {
    let is_lost = |fate: &&Fate| matches!(fate, Fate::Lost | Fate::OutsideCapture);
    if fates.iter().filter(is_lost).count() < size_limit::MIN_LOST as usize {
        return None;
    }
    let (mut next, repeated) = (sent.first()?.seq, sent.last()?.seq);
    let sized = |(packet, fate): (&PacketFingerprint, &Fate)| {
        // A datagram has no number that shows what was sent before.
        let is_repeat = !packet.flags.has(Flags::ACK) || seq_diff(next, packet.seq) < 0;
        let end = packet.seq.wrapping_add(packet.payload);
        next = if seq_diff(next, end) > 0 { end } else { next };
        let is_last = packet.flags.has(Flags::ACK) && packet.payload > 0 && packet.seq == repeated;
        let is_lost = match fate {
            Fate::OutsideCapture => is_last.then_some(true),
            fate => Some(*fate == Fate::Lost),
        };
        SizedPacket { at: packet.at, len: packet.ip_len, is_lost, is_repeat }
    };
    let packets: Vec<SizedPacket> = sent.iter().zip(fates).map(sized).collect();
    let alive_until = packets.iter().rev().find(|packet| packet.is_lost == Some(false))?.at;
    size_limit::find(&packets, alive_until)
}
