//! The figures of one direction between the captures.

use super::bursts::Bursts;
use super::losses::Fate;
use super::stream::Stream;
use super::verdict::Verdict;
use super::{Bucket, Buffer, Placed, buffer, verdict};

#[derive(Debug)]
pub struct Way {
    /// It goes from the first capture to the second.
    pub onward: bool,
    /// Nanoseconds under the symmetric offset, sorted.
    pub delays: Vec<i64>,
    /// Each packet by the sender's capture: time and delay; no delay for the lost.
    pub course: Vec<(i64, Option<i64>)>,
    /// Packets that left within the other capture's time.
    pub sent: u64,
    /// Time by the capture near the sender, sequence number, payload of each lost packet, in order.
    pub lost: Vec<(i64, u32, u32)>,
    pub uncaptured: u64,
    pub unseen_at_sender: u64,
    pub duplicated: u64,
    pub bursts: Bursts,
    pub verdict: Verdict,
    pub buffer: Buffer,
    /// In all flows that way together.
    pub bucket: Option<Bucket>,
}

impl Way {
    /// `number` is the direction's place among those that made the stream.
    pub fn of(placed: &Placed<'_>, stream: &Stream, number: usize) -> Way {
        let Placed { sent, losses, onward, marked } = placed;
        let fates = &losses.fates;
        let count = |fate: Fate| fates.iter().filter(|f| **f == fate).count() as u64;
        let mut delays: Vec<i64> = fates.iter().filter_map(|f| if let Fate::Arrived(d) = f { Some(*d) } else { None }).collect();
        delays.sort_unstable();
        let course = sent.iter().zip(fates).filter_map(|(m, f)| match f {
            Fate::Arrived(d) => Some((m.at, Some(*d))),
            Fate::Lost => Some((m.at, None)),
            Fate::Uncaptured | Fate::Beyond => None,
        });
        let course = course.collect();
        let with_fate = || sent.iter().zip(fates);
        let verdict = verdict::judge(sent, fates, stream, stream.met(number));
        Way {
            onward: *onward,
            sent: fates.len() as u64 - count(Fate::Beyond),
            lost: with_fate().filter(|(_, f)| **f == Fate::Lost).map(|(m, _)| (m.at, m.seq, m.payload)).collect(),
            uncaptured: count(Fate::Uncaptured),
            unseen_at_sender: losses.unseen_at_sender,
            duplicated: losses.duplicated,
            bursts: Bursts::of(with_fate().filter(|(_, f)| **f != Fate::Beyond).map(|(m, f)| (m.at, *f == Fate::Lost))),
            buffer: buffer::estimate(sent, fates, &verdict, stream, *marked),
            bucket: stream.bucket,
            verdict,
            delays,
            course,
        }
    }
}
