//! What has been sent and not yet acknowledged, and what is known of it.
//!
//! Segments lie in a ring in sequence order and are numbered from the connection's start, so a number stays valid while the
//! ring moves. Every mark is set and cleared once, and every scan only moves forward, so the work per ACK is amortised O(1) plus a
//! binary search over the SACKed ranges, whatever the window and however many segments are missing.

mod losses;
mod sack;
mod segment;
#[cfg(test)]
mod tests;

pub use segment::SentSegment;

use super::ranges::RangeSet;
use crate::ring::Ring;
use crate::units::Time;
use std::collections::VecDeque;

/// A segment's number since the connection began.
pub type Index = u64;

/// What a cumulative ACK took off the board.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    pub segments: u32,
    /// Those of them that had been SACKed before.
    pub sacked_before: u32,
    /// When the first and the last of the segments left that were sent once and had not been SACKed (Karn).
    pub first_sent: Option<Time>,
    pub last_sent: Option<Time>,
    /// One of them had been sent more than once.
    pub resent: bool,
}

/// What every ACK needs comes first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Scoreboard {
    ring: Ring<SentSegment>,
    /// Number of the ring's first segment.
    base: Index,
    sacked_out: u32,
    lost_out: u32,
    resent_out: u32,
    /// Somebody asks what has arrived.
    notes_arrivals: bool,
    sacked: RangeSet,
    /// Times a segment was taken for lost.
    losses: u64,
    /// The segments taken for lost since `take_lost`, in that order; kept for congestion controls that watch deliveries.
    lost_log: Option<Vec<Index>>,
    /// The segment sent last of those reported to have arrived since `take_newest_arrival`, and when it was sent.
    newest_arrival: Option<(Time, Index)>,
    /// The lowest of the segments sent once that have arrived since `take_lowest_arrival`.
    lowest_arrival: Index,
    highest_sacked: Option<Index>,
    /// When the first left of the segments sent once that SACK has reported since `take_first_sacked`.
    first_sacked: Option<Time>,
    /// Segments below have been looked at for loss. It may lag behind `base`, and so may `resend_from` and `highest_sacked`: they are
    /// brought up where they are used, as most ACKs find nothing lost.
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
    /// Nothing on it has been SACKed or taken for lost.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.sacked_out == 0 && self.lost_out == 0
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
    /// When the first left of the segments sent once that SACK has newly reported since the last call.
    pub fn take_first_sacked(&mut self) -> Option<Time> {
        self.first_sacked.take()
    }
    /// RFC 6675's pipe and Linux's packets in flight: sent, not SACKed, not lost, and every retransmission of the lost.
    pub fn in_flight(&self) -> u32 {
        (self.len() + self.resent_out).saturating_sub(self.sacked_out + self.lost_out)
    }
    pub fn get(&self, index: Index) -> Option<&SentSegment> {
        self.ring.get(usize::try_from(index.checked_sub(self.base)?).ok()?)
    }
    pub fn first(&self) -> Option<&SentSegment> {
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
        self.highest_sacked.and_then(|h| self.get(h)).map(SentSegment::end)
    }

    /// A segment goes out for the first time.
    #[inline]
    pub fn push(&mut self, seq: u64, len: u32, now: Time) {
        self.ring.push_back(SentSegment { seq, len, sends: 1, marks: 0, sent_at: now });
    }

    /// Everything below `ack` has arrived.
    #[inline]
    pub fn ack_to(&mut self, ack: u64) -> Acked {
        let mut acked = Acked::default();
        while let Some(&sent) = self.ring.front() {
            if sent.end() > ack {
                self.cut_first(ack);
                break;
            }
            self.ring.take_front();
            if sent.is_marked() {
                self.forget(&sent);
            }
            let (once, before) = (sent.sends == 1, sent.is_sacked());
            if self.notes_arrivals && !before {
                self.note_arrival(&sent, self.base);
            }
            if once && !before {
                acked.first_sent = acked.first_sent.or(Some(sent.sent_at));
                acked.last_sent = Some(sent.sent_at);
            }
            self.base += 1;
            acked.segments += 1;
            acked.sacked_before += u32::from(before);
            acked.resent |= !once;
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
        }
        acked
    }

    /// An ACK inside a segment: the rest of it is still out.
    #[inline]
    fn cut_first(&mut self, ack: u64) {
        if let Some(front) = self.ring.get_mut(0).filter(|front| front.seq < ack) {
            front.len -= (ack - front.seq) as u32;
            front.seq = ack;
        }
    }

    /// From now on it notes what arrives, for `newest_arrival` and `take_lowest_arrival`.
    pub fn note_arrivals(&mut self) {
        self.notes_arrivals = true;
    }

    /// Of what has arrived, the segment that was sent last, and the lowest of those that were sent once.
    #[inline]
    fn note_arrival(&mut self, sent: &SentSegment, index: Index) {
        if self.newest_arrival.is_none_or(|newest| newest < (sent.sent_at, index)) {
            self.newest_arrival = Some((sent.sent_at, index));
        }
        if sent.sends == 1 {
            self.lowest_arrival = self.lowest_arrival.min(index);
        }
    }

    /// Takes a leaving segment's marks out of the counts.
    #[inline(never)]
    fn forget(&mut self, sent: &SentSegment) {
        self.sacked_out -= u32::from(sent.is_sacked());
        self.lost_out -= u32::from(sent.is_lost());
        self.resent_out -= u32::from(sent.is_resent());
        if sent.is_sacked() && self.base < self.scanned {
            self.sacked_below_scan -= 1;
        }
        // Retransmissions of what left before go, too: it had no marks any more.
        while self.resends.front().is_some_and(|&(index, _)| index <= self.base) {
            self.resends.pop_front();
        }
    }
}
