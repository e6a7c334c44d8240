//! The figures of one direction between the captures.

use super::aggregate::Aggregate;
use super::fate::Fate;
use super::loss_attribution::LossAttribution;
use super::loss_bursts::LossBursts;
use super::{BufferEstimate, MatchedDirection, TokenBucketEstimate, bottleneck_buffer, loss_attribution};

#[derive(Debug)]
pub struct JoinedDirection {
    /// It goes from the first capture to the second.
    pub first_to_second: bool,
    /// Nanoseconds under the symmetric offset, sorted.
    pub delays: Vec<i64>,
    /// Each packet by the sender's capture: time and delay; no delay for the lost.
    pub timeline: Vec<(i64, Option<i64>)>,
    /// Packets that left within the other capture's time.
    pub sent: u64,
    /// Time by the capture near the sender, sequence number, payload of each lost packet, in order.
    pub lost: Vec<(i64, u32, u32)>,
    pub uncaptured: u64,
    pub unseen_at_sender: u64,
    pub duplicated: u64,
    pub bursts: LossBursts,
    pub verdict: LossAttribution,
    pub buffer: BufferEstimate,
    /// In all flows that way together.
    pub bucket: Option<TokenBucketEstimate>,
}

impl JoinedDirection {
    /// `number` is the direction's place among those that made the stream.
    pub fn of(placed: &MatchedDirection<'_>, stream: &Aggregate, number: usize) -> JoinedDirection {
        let MatchedDirection { sent, losses, first_to_second, marked } = placed;
        let fates = &losses.fates;
        let count = |fate: Fate| fates.iter().filter(|f| **f == fate).count() as u64;
        let mut delays: Vec<i64> = fates.iter().filter_map(|f| if let Fate::Arrived(d) = f { Some(*d) } else { None }).collect();
        delays.sort_unstable();
        let timeline = sent.iter().zip(fates).filter_map(|(m, f)| match f {
            Fate::Arrived(d) => Some((m.at, Some(*d))),
            Fate::Lost => Some((m.at, None)),
            Fate::Uncaptured | Fate::Beyond => None,
        });
        let timeline = timeline.collect();
        let with_fate = || sent.iter().zip(fates);
        let verdict = loss_attribution::attribute(sent, fates, stream, stream.met(number));
        JoinedDirection {
            first_to_second: *first_to_second,
            sent: fates.len() as u64 - count(Fate::Beyond),
            lost: with_fate().filter(|(_, f)| **f == Fate::Lost).map(|(m, _)| (m.at, m.seq, m.payload)).collect(),
            uncaptured: count(Fate::Uncaptured),
            unseen_at_sender: losses.unseen_at_sender,
            duplicated: losses.duplicated,
            bursts: LossBursts::of(with_fate().filter(|(_, f)| **f != Fate::Beyond).map(|(m, f)| (m.at, *f == Fate::Lost))),
            buffer: bottleneck_buffer::estimate(sent, fates, &verdict, stream, *marked),
            bucket: stream.bucket,
            verdict,
            delays,
            timeline,
        }
    }
}
