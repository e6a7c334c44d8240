//! Fate of each packet of a direction between the captures.

use super::MatchedPair;
use super::clock_relation::ClockRelation;
use super::fingerprint::PacketFingerprint;
use crate::decode::Flags;
use std::collections::HashSet;

/// Fate of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Arrived with this delay, nanoseconds under the symmetric offset.
    Arrived(i64),
    Lost,
    /// Arrived, as the receiver's ACK shows, but missing in the capture at the receiver.
    Uncaptured,
    /// Sent before the other capture began or after it ended.
    OutsideCapture,
}

impl Fate {
    /// The delay of a packet that arrived.
    pub fn delay(&self) -> Option<i64> {
        if let Fate::Arrived(delay) = self { Some(*delay) } else { None }
    }
}

/// Fates in the order of the sender's capture, and counts of packets that only the receiver's
/// capture has.
#[derive(Debug, Clone)]
pub struct PacketFates {
    pub fates: Vec<Fate>,
    /// Captured near the receiver only: the capture at the sender dropped them.
    pub missing_at_sender: u64,
    /// Captured twice near the receiver, sent once.
    pub duplicated: u64,
}

/// The records of one direction in both captures.
pub struct DirectionView<'a> {
    /// The direction's packets in the capture nearer the sender.
    pub sent: &'a [PacketFingerprint],
    /// The direction's packets in the capture nearer the receiver.
    pub received: &'a [PacketFingerprint],
    /// The receiver's packets in the same capture.
    pub replies: &'a [PacketFingerprint],
    pub pairs: &'a [MatchedPair],
    /// First and last time of that capture.
    pub span: (i64, i64),
    pub clock: &'a ClockRelation,
    pub first_to_second: bool,
    /// Departure of the last packet of any flow of the path that arrived.
    pub last_arrived: i64,
}

pub fn determine(view: &DirectionView<'_>) -> PacketFates {
    let mut fates = vec![Fate::Lost; view.sent.len()];
    let mut matched = vec![false; view.received.len()];
    let (mut min, mut max) = (i64::MAX, 0);
    for &(x, y) in view.pairs {
        let (left, arrived) = (view.sent[x as usize].at, view.received[y as usize].at);
        let delay =
            if view.first_to_second { view.clock.delay(left, arrived) } else { view.clock.delay(arrived, left).saturating_neg() };
        (min, max) = (min.min(delay), max.max(delay));
        fates[x as usize] = Fate::Arrived(delay);
        matched[y as usize] = true;
    }
    let last_arrived =
        view.pairs.iter().map(|pair| view.sent[pair.0 as usize].at).max().unwrap_or(i64::MIN).max(view.last_arrived);
    let arrivals = Arrivals::of(view);
    let mut explained = HashSet::new();
    for (packet, fate) in view.sent.iter().zip(&mut fates).rev().filter(|(_, fate)| **fate == Fate::Lost) {
        let departure = view.clock.convert(packet.at, view.first_to_second);
        // A packet that was sent later and arrived shows that there was time.
        let ended = departure.saturating_add(max) > view.span.1 && packet.at >= last_arrived;
        if ended || departure.saturating_add(min) < view.span.0 {
            *fate = Fate::OutsideCapture;
        } else if packet.payload > 0 && arrivals.was_acked_uncaptured(packet, departure) && explained.insert(packet.seq) {
            // Of several copies the last one: a single copy explains the ACK.
            *fate = Fate::Uncaptured;
        }
    }
    let (missing_at_sender, duplicated) = only_received(view, &matched);
    PacketFates { fates, missing_at_sender, duplicated }
}

/// Data captured near the receiver, and the receiver's ACKs, in unwrapped sequence numbers.
struct Arrivals {
    origin: u32,
    /// First byte, end and time of each data packet, sorted.
    data: Vec<(i64, i64, i64)>,
    max_len: i64,
    /// Time and number of each ACK that advances.
    acks: Vec<(i64, i64)>,
    /// Highest sequence number captured.
    highest: i64,
}

impl Arrivals {
    fn of(view: &DirectionView<'_>) -> Arrivals {
        let origin = view.sent.first().map_or(0, |m| m.seq);
        let mut at = 0;
        let mut data: Vec<(i64, i64, i64)> = Vec::new();
        for m in view.received {
            at = unwrap_seq(at, origin, m.seq);
            if m.payload > 0 {
                data.push((at, at + i64::from(m.payload), m.at));
            }
        }
        data.sort_unstable();
        let max_len = data.iter().map(|d| d.1 - d.0).max().unwrap_or(0);
        let (mut at, mut top, mut acks) = (0, i64::MIN, Vec::new());
        for m in view.replies.iter().filter(|m| m.flags.has(Flags::ACK)) {
            at = unwrap_seq(at, origin, m.ack);
            if at > top {
                top = at;
                acks.push((m.at, top));
            }
        }
        let highest = data.last().map_or(0, |d| d.0);
        Arrivals { origin, data, max_len, acks, highest }
    }

    /// True if the receiver acknowledged the packet's bytes after its departure, and before its
    /// capture had all of them.
    fn was_acked_uncaptured(&self, packet: &PacketFingerprint, departure: i64) -> bool {
        let start = self.position(packet, departure);
        let end = start + i64::from(packet.payload);
        let Some(&(acked_at, _)) = self.acks.get(self.acks.partition_point(|a| a.1 < end)) else { return false };
        if acked_at < departure {
            return false;
        }
        let from = self.data.partition_point(|d| d.0 < start - self.max_len);
        let captured: i64 = self.data[from..]
            .iter()
            .take_while(|d| d.0 < end)
            .filter(|d| d.2 <= acked_at)
            .map(|d| (d.1.min(end) - d.0.max(start)).max(0))
            .sum();
        captured < i64::from(packet.payload)
    }

    /// The unwrapped sequence number of a packet: the one nearest to the highest ACK at its
    /// departure.
    fn position(&self, packet: &PacketFingerprint, departure: i64) -> i64 {
        let acked = self.acks.partition_point(|a| a.0 <= departure).checked_sub(1).map_or(0, |i| self.acks[i].1);
        unwrap_seq(acked.min(self.highest.max(0)), self.origin, packet.seq)
    }
}

/// Unwraps a sequence number to the value nearest to `near`.
pub fn unwrap_seq(near: i64, origin: u32, number: u32) -> i64 {
    let wrapped = (near as u32).wrapping_add(origin);
    near + i64::from(number.wrapping_sub(wrapped) as i32)
}

/// Number of packets that only the receiver's capture has: dropped by the sender's capture, and
/// duplicated by the network.
fn only_received(view: &DirectionView<'_>, matched: &[bool]) -> (u64, u64) {
    let sent: HashSet<(u64, u16)> = view.sent.iter().map(|m| (m.hash, m.ip_id)).collect();
    let (Some(first), Some(last)) = (view.pairs.iter().map(|p| p.1).min(), view.pairs.iter().map(|p| p.1).max()) else {
        return (0, 0);
    };
    let within = view.received.iter().zip(matched).take(last as usize).skip(first as usize);
    let is_copy = |m: &&PacketFingerprint| sent.contains(&(m.hash, m.ip_id));
    let unmatched: Vec<&PacketFingerprint> = within.filter(|(_, matched)| !**matched).map(|(m, _)| m).collect();
    let duplicated = unmatched.iter().filter(|m| is_copy(m)).count() as u64;
    (unmatched.len() as u64 - duplicated, duplicated)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn packet(number: u32, at: i64) -> PacketFingerprint {
        PacketFingerprint { hash: u64::from(number), at, seq: number, ack: 0, payload: 1, ip_len: 41, ip_id: 0, flags: Flags(0) }
    }

    // finding("C5")
    #[test]
    fn loss_before_a_packet_that_arrives_counts_although_the_capture_ends_soon() {
        // A packet every 10 ms. The third one takes 100 ms, the others 20 ms; the eighth and the last
        // are missing in the capture at the receiver, which ends 20 ms after the ninth was sent.
        let sent: Vec<PacketFingerprint> = (0..10).map(|i| packet(i, i64::from(i) * 10 * MS)).collect();
        let arrives = |p: &PacketFingerprint| p.at + if p.seq == 2 { 100 * MS } else { 20 * MS };
        let arrived: Vec<u32> = (0..10).filter(|i| ![7, 9].contains(i)).collect();
        let received: Vec<PacketFingerprint> =
            arrived.iter().map(|&i| PacketFingerprint { at: arrives(&sent[i as usize]), ..sent[i as usize] }).collect();
        let pairs: Vec<MatchedPair> = arrived.iter().copied().zip(0..).collect();
        let clock = ClockRelation::known(0, 0.0, None);
        let view = DirectionView {
            sent: &sent,
            received: &received,
            replies: &[],
            pairs: &pairs,
            span: (20 * MS, 120 * MS),
            clock: &clock,
            first_to_second: true,
            last_arrived: i64::MIN,
        };
        let PacketFates { fates, .. } = determine(&view);
        assert_eq!(fates[7], Fate::Lost);
        assert_eq!(fates[9], Fate::OutsideCapture, "it may have arrived after the capture");
    }
}
