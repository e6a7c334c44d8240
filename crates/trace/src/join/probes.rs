//! Datagrams whose fates are known from their numbers, judged as captures' packets are.

use super::Placed;
use super::bursts::Bursts;
use super::losses::{Fate, Losses};
use super::marks::Mark;
use super::stream::Stream;
use super::verdict::{self, Verdict};
use super::{Buffer, buffer};
use crate::decode::Flags;

/// One direction's losses and what they say of the path.
pub struct Judged {
    pub verdict: Verdict,
    pub buffer: Buffer,
    pub bursts: Bursts,
}

/// Datagrams of `ip_len` bytes in the order of sending: when each left, in nanoseconds, and what became of it.
pub fn judge_probes(sent: &[(i64, Fate)], ip_len: u32) -> Judged {
    let mark = |&(at, _): &(i64, Fate)| Mark { print: 0, at, seq: 0, ack: 0, payload: ip_len, ip_len, ip_id: 0, flags: Flags(0) };
    let marks: Vec<Mark> = sent.iter().map(mark).collect();
    let losses = Losses { fates: sent.iter().map(|s| s.1).collect(), unseen_at_sender: 0, duplicated: 0 };
    let placed = Placed { sent: &marks, losses, onward: true, marked: false };
    let stream = Stream::of(std::iter::once(&placed));
    let fates = &placed.losses.fates;
    let verdict = verdict::judge(&marks, fates, &stream, stream.met(0));
    let buffer = buffer::estimate(&marks, fates, &verdict, &stream, false);
    Judged { verdict, buffer, bursts: Bursts::of(sent.iter().map(|(at, fate)| (*at, *fate == Fate::Lost))) }
}
