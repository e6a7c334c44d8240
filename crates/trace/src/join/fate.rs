//! What became of each packet of a direction between the captures.

use super::Pair;
use super::clock_relation::ClockRelation;
use super::fingerprint::PacketFingerprint;
use crate::decode::Flags;
use std::collections::HashSet;

/// One packet's fate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// After this many nanoseconds, under the symmetric offset.
    Arrived(i64),
    Lost,
    /// It arrived, as the receiver's ACK shows, but the capture there has no record of it.
    Uncaptured,
    /// The other capture had not begun or was over.
    Beyond,
}

/// Fates in the order of the sender's capture, and what only the receiver's capture has.
#[derive(Debug, Clone)]
pub struct Fates {
    pub fates: Vec<Fate>,
    /// Captured near the receiver only, so the other capture dropped it.
    pub unseen_at_sender: u64,
    /// Captured twice near the receiver and sent once.
    pub duplicated: u64,
}

/// What two captures have of one direction. `got` is the list nearer the receiver, `answers` what the receiver sent, in the same capture,
/// and `span` that capture's first and last time.
pub struct DirectionView<'a> {
    pub sent: &'a [PacketFingerprint],
    pub got: &'a [PacketFingerprint],
    pub answers: &'a [PacketFingerprint],
    pub pairs: &'a [Pair],
    pub span: (i64, i64),
    pub clock: &'a ClockRelation,
    pub first_to_second: bool,
}

pub fn determine(seen: &DirectionView<'_>) -> Fates {
    let mut fates = vec![Fate::Lost; seen.sent.len()];
    let mut matched = vec![false; seen.got.len()];
    let (mut least, mut most) = (i64::MAX, 0);
    for &(x, y) in seen.pairs {
        let (left, arrived) = (seen.sent[x as usize].at, seen.got[y as usize].at);
        let delay =
            if seen.first_to_second { seen.clock.delay(left, arrived) } else { seen.clock.delay(arrived, left).saturating_neg() };
        (least, most) = (least.min(delay), most.max(delay));
        fates[x as usize] = Fate::Arrived(delay);
        matched[y as usize] = true;
    }
    let arrivals = Arrivals::of(seen);
    let mut explained = HashSet::new();
    for (mark, fate) in seen.sent.iter().zip(&mut fates).rev().filter(|(_, fate)| **fate == Fate::Lost) {
        let left = seen.clock.across(mark.at, seen.first_to_second);
        if left.saturating_add(most) > seen.span.1 || left.saturating_add(least) < seen.span.0 {
            *fate = Fate::Beyond;
        } else if mark.payload > 0 && arrivals.acknowledged_unseen(mark, left) && explained.insert(mark.seq) {
            // Of several copies the last: one is enough to explain the ACK.
            *fate = Fate::Uncaptured;
        }
    }
    let (unseen_at_sender, duplicated) = only_received(seen, &matched);
    Fates { fates, unseen_at_sender, duplicated }
}

/// What has arrived near the receiver, and what the receiver has acknowledged.
struct Arrivals {
    origin: u32,
    /// First byte, end, time; in that order.
    data: Vec<(i64, i64, i64)>,
    longest: i64,
    /// Time, and the highest number acknowledged until then.
    acks: Vec<(i64, i64)>,
    /// Each sent packet's place, by its number on the wire, needs the course of all of them.
    highest: i64,
}

impl Arrivals {
    fn of(seen: &DirectionView<'_>) -> Arrivals {
        let origin = seen.sent.first().map_or(0, |m| m.seq);
        let mut at = 0;
        let mut data: Vec<(i64, i64, i64)> = Vec::new();
        for m in seen.got {
            at = unwrapped(at, origin, m.seq);
            if m.payload > 0 {
                data.push((at, at + i64::from(m.payload), m.at));
            }
        }
        data.sort_unstable();
        let longest = data.iter().map(|d| d.1 - d.0).max().unwrap_or(0);
        let (mut at, mut top, mut acks) = (0, i64::MIN, Vec::new());
        for m in seen.answers.iter().filter(|m| m.flags.has(Flags::ACK)) {
            at = unwrapped(at, origin, m.ack);
            if at > top {
                top = at;
                acks.push((m.at, top));
            }
        }
        let highest = data.last().map_or(0, |d| d.0);
        Arrivals { origin, data, longest, acks, highest }
    }

    /// The receiver acknowledged these bytes after this packet left, and before any copy of them had passed its capture.
    fn acknowledged_unseen(&self, mark: &PacketFingerprint, left: i64) -> bool {
        let start = self.near(mark, left);
        let end = start + i64::from(mark.payload);
        let Some(&(acked_at, _)) = self.acks.get(self.acks.partition_point(|a| a.1 < end)) else { return false };
        if acked_at < left {
            return false;
        }
        let from = self.data.partition_point(|d| d.0 < start - self.longest);
        let seen: i64 = self.data[from..]
            .iter()
            .take_while(|d| d.0 < end)
            .filter(|d| d.2 <= acked_at)
            .map(|d| (d.1.min(end) - d.0.max(start)).max(0))
            .sum();
        seen < i64::from(mark.payload)
    }

    /// A number's place in the whole stream: the one nearest to what was acknowledged when it left.
    fn near(&self, mark: &PacketFingerprint, left: i64) -> i64 {
        let known = self.acks.partition_point(|a| a.0 <= left).checked_sub(1).map_or(0, |i| self.acks[i].1);
        unwrapped(known.min(self.highest.max(0)), self.origin, mark.seq)
    }
}

/// A sequence number on a line without wraps, nearest to where the stream has been.
fn unwrapped(near: i64, origin: u32, number: u32) -> i64 {
    let wrapped = (near as u32).wrapping_add(origin);
    near + i64::from(number.wrapping_sub(wrapped) as i32)
}

/// What only the receiver's capture has: dropped by the sender's capture, or a copy that the network made.
fn only_received(seen: &DirectionView<'_>, matched: &[bool]) -> (u64, u64) {
    let sent: HashSet<(u64, u16)> = seen.sent.iter().map(|m| (m.hash, m.ip_id)).collect();
    let (Some(first), Some(last)) = (seen.pairs.iter().map(|p| p.1).min(), seen.pairs.iter().map(|p| p.1).max()) else {
        return (0, 0);
    };
    let within = seen.got.iter().zip(matched).take(last as usize).skip(first as usize);
    let copies = |m: &&PacketFingerprint| sent.contains(&(m.hash, m.ip_id));
    let alone: Vec<&PacketFingerprint> = within.filter(|(_, matched)| !**matched).map(|(m, _)| m).collect();
    let duplicated = alone.iter().filter(|m| copies(m)).count() as u64;
    (alone.len() as u64 - duplicated, duplicated)
}
