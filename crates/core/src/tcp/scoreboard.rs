//! What has been sent and not yet acknowledged, and what is known of it.
//!
//! Segments lie in a ring in sequence order and are numbered from the connection's start, so a number stays valid while the
//! ring moves. Every mark is set and cleared once, and every scan only moves forward, so the work per ACK is amortised O(1) plus a
//! binary search over the SACKed ranges, whatever the window and however many segments are missing.

use super::ranges::RangeSet;
use crate::units::Time;
use std::collections::VecDeque;

/// A segment's number since the connection began.
pub type Index = u64;

#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub seq: u64,
    pub len: u32,
    /// Times it has been sent.
    pub sends: u16,
    marks: u8,
    /// When it was sent last.
    pub sent_at: Time,
}

const SACKED: u8 = 1;
const LOST: u8 = 2;
/// A retransmission of it is in flight.
const RESENT: u8 = 4;

impl Sent {
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len)
    }
    pub fn is_sacked(&self) -> bool {
        self.marks & SACKED != 0
    }
    pub fn is_lost(&self) -> bool {
        self.marks & LOST != 0
    }
    pub fn is_resent(&self) -> bool {
        self.marks & RESENT != 0
    }
}

/// What a cumulative ACK took off the board.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    pub segments: u32,
    /// Those of them that had been SACKed before.
    pub sacked_before: u32,
    pub bytes: u64,
    /// When the first and the last of the segments left that were sent once and had not been SACKed (Karn).
    pub first_sent: Option<Time>,
    pub last_sent: Option<Time>,
    /// One of them had been sent more than once.
    pub resent: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    ring: VecDeque<Sent>,
    /// Number of the ring's first segment.
    base: Index,
    sacked: RangeSet,
    sacked_out: u32,
    lost_out: u32,
    resent_out: u32,
    /// Times a segment was taken for lost.
    losses: u64,
    /// The segment sent last of those reported to have arrived since `take_newest_arrival`, and when it was sent.
    newest_arrival: Option<(Time, Index)>,
    /// The lowest of the segments sent once that have arrived since `take_lowest_arrival`.
    lowest_arrival: Index,
    highest_sacked: Option<Index>,
    /// Segments below have been looked at for loss.
    scanned: Index,
    /// SACKed segments on the board below `scanned`.
    sacked_below_scan: u32,
    /// No segment below is lost and not yet resent.
    resend_from: Index,
    /// Retransmissions in flight, in the order of sending, with the sequence number next to be sent then.
    resends: VecDeque<(Index, u64)>,
}

impl Scoreboard {
    pub fn len(&self) -> u32 {
        self.ring.len() as u32
    }
    pub fn is_empty(&self) -> bool {
        self.ring.is_empty()
    }
    pub fn sacked_out(&self) -> u32 {
        self.sacked_out
    }
    pub fn lost_out(&self) -> u32 {
        self.lost_out
    }
    /// Retransmissions in flight.
    pub fn resent_out(&self) -> u32 {
        self.resent_out
    }
    /// Something is lost and has not been resent since.
    pub fn unsent_losses(&self) -> bool {
        self.lost_out > self.resent_out
    }
    pub fn losses(&self) -> u64 {
        self.losses
    }
    /// Of the segments reported to have arrived since the last call, the one that was sent last.
    pub fn take_newest_arrival(&mut self) -> Option<Index> {
        self.newest_arrival.take().map(|(_, index)| index)
    }
    /// The same without taking it, with the time it was sent.
    pub fn newest_arrival(&self) -> Option<(Time, Index)> {
        self.newest_arrival
    }
    /// Of the segments sent once and reported to have arrived since the last call, the lowest.
    pub fn take_lowest_arrival(&mut self) -> Index {
        std::mem::replace(&mut self.lowest_arrival, Index::MAX)
    }
    /// RFC 6675's pipe and Linux's packets in flight: sent, not SACKed, not lost, and every retransmission of the lost.
    pub fn in_flight(&self) -> u32 {
        (self.len() + self.resent_out).saturating_sub(self.sacked_out + self.lost_out)
    }
    pub fn get(&self, index: Index) -> Option<&Sent> {
        self.ring.get(usize::try_from(index.checked_sub(self.base)?).ok()?)
    }
    pub fn first(&self) -> Option<&Sent> {
        self.ring.front()
    }
    pub fn first_index(&self) -> Index {
        self.base
    }
    pub fn end_index(&self) -> Index {
        self.base + self.ring.len() as u64
    }
    /// Segments from the first to the highest SACKed one: Linux's fackets_out.
    pub fn forward_acked(&self) -> u32 {
        self.highest_sacked.map_or(0, |h| (h + 1).saturating_sub(self.base) as u32)
    }
    pub fn highest_sacked_end(&self) -> Option<u64> {
        self.highest_sacked.and_then(|h| self.get(h)).map(Sent::end)
    }

    /// A segment goes out for the first time.
    pub fn push(&mut self, seq: u64, len: u32, now: Time) {
        self.ring.push_back(Sent { seq, len, sends: 1, marks: 0, sent_at: now });
    }

    /// Everything below `ack` has arrived.
    pub fn ack_to(&mut self, ack: u64) -> Acked {
        let mut acked = Acked::default();
        while let Some(front) = self.ring.front_mut() {
            if front.end() > ack {
                // An ACK inside a segment: the rest of it is still out.
                let cut = ack.saturating_sub(front.seq) as u32;
                front.seq += u64::from(cut);
                front.len -= cut;
                acked.bytes += u64::from(cut);
                break;
            }
            let sent = *front;
            self.ring.pop_front();
            self.forget(&sent);
            if !sent.is_sacked() {
                self.newest_arrival = self.newest_arrival.max(Some((sent.sent_at, self.base)));
            }
            self.base += 1;
            acked.segments += 1;
            acked.bytes += u64::from(sent.len);
            acked.sacked_before += u32::from(sent.is_sacked());
            if sent.sends > 1 {
                acked.resent = true;
            } else if !sent.is_sacked() {
                if acked.first_sent.is_none() {
                    acked.first_sent = Some(sent.sent_at);
                    self.lowest_arrival = self.lowest_arrival.min(self.base - 1);
                }
                acked.last_sent = Some(sent.sent_at);
            }
        }
        while self.resends.front().is_some_and(|&(index, _)| index < self.base) {
            self.resends.pop_front();
        }
        self.scanned = self.scanned.max(self.base);
        self.resend_from = self.resend_from.max(self.base);
        if self.highest_sacked.is_some_and(|h| h < self.base) {
            self.highest_sacked = None;
        }
        self.sacked.remove_below(ack);
        acked
    }

    /// Takes a leaving segment's marks out of the counts.
    fn forget(&mut self, sent: &Sent) {
        self.sacked_out -= u32::from(sent.is_sacked());
        self.lost_out -= u32::from(sent.is_lost());
        self.resent_out -= u32::from(sent.is_resent());
        if sent.is_sacked() && self.base < self.scanned {
            self.sacked_below_scan -= 1;
        }
    }

    /// A SACK block. Returns how many segments it newly reports.
    pub fn sack(&mut self, start: u64, end: u64) -> u32 {
        let Some(first) = self.ring.front().map(|s| s.seq) else { return 0 };
        let (start, end) = (start.max(first), end.min(self.ring.back().map_or(first, Sent::end)));
        if start >= end || self.sacked.containing(start).is_some_and(|r| r.1 >= end) {
            return 0;
        }
        let mut fresh: [(u64, u64); 8] = [(0, 0); 8];
        let mut parts = 0;
        let mut more = Vec::new();
        self.sacked.insert(start, end, |s, e| {
            if parts < fresh.len() {
                fresh[parts] = (s, e);
                parts += 1;
            } else {
                more.push((s, e));
            }
        });
        let before = self.sacked_out;
        for &(s, e) in fresh[..parts].iter().chain(&more) {
            self.mark_sacked(s, e);
        }
        self.sacked_out - before
    }

    /// Marks the segments that [start, end) completes. A segment reported in two halves is complete when both are known.
    fn mark_sacked(&mut self, start: u64, end: u64) {
        let mut at = self.position(start);
        while let Some(sent) = self.ring.get_mut(at) {
            if sent.seq >= end {
                break;
            }
            let index = self.base + at as u64;
            let whole =
                (start <= sent.seq && sent.end() <= end) || self.sacked.containing(sent.seq).is_some_and(|r| r.1 >= sent.end());
            if whole && !sent.is_sacked() {
                self.lost_out -= u32::from(sent.is_lost());
                self.resent_out -= u32::from(sent.is_resent());
                sent.marks = SACKED;
                if sent.sends == 1 {
                    self.lowest_arrival = self.lowest_arrival.min(index);
                }
                self.newest_arrival = self.newest_arrival.max(Some((sent.sent_at, index)));
                self.sacked_out += 1;
                self.sacked_below_scan += u32::from(index < self.scanned);
                self.highest_sacked = Some(self.highest_sacked.map_or(index, |h| h.max(index)));
            }
            at += 1;
        }
    }

    /// Where in the ring the segment that holds `seq` lies. Segments are mostly of one size, so a guess mostly hits.
    fn position(&self, seq: u64) -> usize {
        let Some(first) = self.ring.front() else { return 0 };
        let last = self.ring.len() - 1;
        let size = u64::from(self.ring[last / 2].len.max(1));
        let guess = ((seq.saturating_sub(first.seq)) / size).min(last as u64) as usize;
        let hit = self.ring[guess];
        if hit.seq <= seq && seq < hit.end() { guess } else { self.ring.partition_point(|s| s.end() <= seq) }
    }

    /// RFC 6675, IsLost: `threshold` or more segments above it have been SACKed.
    pub fn mark_lost_below_sacks(&mut self, threshold: u32) {
        if self.sacked_out < threshold {
            return;
        }
        while self.scanned < self.end_index() {
            let sacked = self.get(self.scanned).is_some_and(Sent::is_sacked);
            let above = self.sacked_out - self.sacked_below_scan - u32::from(sacked);
            if above < threshold {
                return;
            }
            self.scan_one(sacked);
        }
    }

    /// FACK: everything `reordering` or more segments below the forward-most SACK is lost (Mathis and Mahdavi 1996).
    pub fn mark_lost_below_forward_ack(&mut self, reordering: u32) {
        let Some(highest) = self.highest_sacked else { return };
        while self.scanned + u64::from(reordering) <= highest {
            let sacked = self.get(self.scanned).is_some_and(Sent::is_sacked);
            self.scan_one(sacked);
        }
    }

    fn scan_one(&mut self, sacked: bool) {
        if sacked {
            self.sacked_below_scan += 1;
        } else if self.get(self.scanned).is_some_and(|s| !s.is_lost()) {
            // One that is known to be lost may have been resent: that retransmission is still in flight.
            self.mark_lost(self.scanned);
        }
        self.scanned += 1;
    }

    /// Marks one segment lost; a retransmission of it in flight is given up.
    pub fn mark_lost(&mut self, index: Index) {
        let Some(at) = index.checked_sub(self.base).and_then(|i| usize::try_from(i).ok()) else { return };
        let Some(sent) = self.ring.get_mut(at).filter(|s| !s.is_sacked()) else { return };
        self.resent_out -= u32::from(sent.is_resent());
        self.lost_out += u32::from(!sent.is_lost());
        self.losses += u64::from(!sent.is_lost() || sent.is_resent());
        sent.marks = LOST;
        self.resend_from = self.resend_from.min(index);
    }

    /// After a timeout nothing is taken to be in flight (RFC 6675, section 5.1; without SACK: go back N).
    pub fn mark_all_lost(&mut self) {
        for index in self.base..self.end_index() {
            self.mark_lost(index);
        }
        self.resends.clear();
    }

    /// They were only late: what is lost and has not been sent again is in flight.
    pub fn forgive_losses(&mut self) {
        for sent in self.ring.iter_mut().filter(|s| s.is_lost() && !s.is_resent()) {
            sent.marks = 0;
            self.lost_out -= 1;
        }
        (self.scanned, self.sacked_below_scan) = (self.base, 0);
    }

    /// The first segment that is lost and has not been resent since.
    pub fn next_lost(&mut self) -> Option<Index> {
        if self.lost_out == self.resent_out {
            return None;
        }
        while let Some(sent) = self.get(self.resend_from) {
            if sent.is_lost() && !sent.is_resent() {
                return Some(self.resend_from);
            }
            self.resend_from += 1;
        }
        None
    }

    /// A segment goes out again; `next` is the sequence number that new data would have.
    pub fn on_resend(&mut self, index: Index, next: u64, now: Time) {
        let Some(at) = index.checked_sub(self.base).and_then(|i| usize::try_from(i).ok()) else { return };
        let Some(sent) = self.ring.get_mut(at) else { return };
        self.lost_out += u32::from(!sent.is_lost());
        self.resent_out += u32::from(!sent.is_resent());
        sent.marks = LOST | RESENT;
        sent.sends = sent.sends.saturating_add(1);
        sent.sent_at = now;
        self.resends.push_back((index, next));
    }

    /// A retransmission is lost when data sent after it has been SACKed (the kernel of 2.6 with FACK; Mathis and Mahdavi 1996).
    pub fn mark_lost_resends(&mut self) {
        let Some(reached) = self.highest_sacked_end() else { return };
        while let Some(&(index, next)) = self.resends.front() {
            let waiting = self.get(index).is_some_and(Sent::is_resent);
            if waiting && reached <= next {
                return;
            }
            self.resends.pop_front();
            if waiting {
                self.mark_lost(index);
            }
        }
    }

    /// RFC 6675, NextSeg rule 3: a segment below the highest SACKed one that is neither SACKed nor resent.
    pub fn next_hole(&self, from: Index) -> Option<Index> {
        let highest = self.highest_sacked?;
        (from.max(self.base)..highest).find(|&i| self.get(i).is_some_and(|s| !s.is_sacked() && !s.is_resent()))
    }
}

#[cfg(test)]
#[path = "scoreboard_tests.rs"]
mod tests;
