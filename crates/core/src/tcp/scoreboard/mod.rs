//! The scoreboard: segments sent and not cumulatively acknowledged, with their SACK and loss state
//! (RFC 6675).
//!
//! Segments lie in a ring in sequence order and have an index since the connection began, which
//! stays valid while the ring moves. Every mark is set and cleared once, and every scan moves
//! forward only, so the work per ACK is amortised O(1) plus a binary search over the SACKed ranges,
//! whatever the window and the number of losses.

mod losses;
mod resegment;
mod sack;
mod segment;
#[cfg(test)]
mod tests;

pub use segment::SentSegment;

use super::ranges::RangeSet;
use crate::ring::Ring;
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// Index of a segment since the connection began.
pub type Index = u64;

/// The segments that an ACK number newly acknowledges.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acked {
    pub segments: u32,
    /// The part of them that had been SACKed before.
    pub sacked_before: u32,
    /// Send times of the first and the last that were sent once and not SACKed (Karn).
    pub first_sent: Option<Time>,
    pub last_sent: Option<Time>,
    /// One of them had been sent more than once.
    pub retransmitted: bool,
}

impl Acked {
    /// RTT of the last one; none if the ACK may have waited for a retransmission (Karn).
    #[inline]
    pub fn rtt(&self, now: Time) -> Option<Span> {
        self.last_sent.filter(|_| !self.retransmitted).map(|sent| now - sent)
    }
}

/// A delivered segment.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    pub index: Index,
    /// Time of the last transmission.
    pub sent_at: Time,
    pub retransmitted: bool,
}

/// A segment that an ACK newly reports, for Linux's recovery.
#[derive(Clone, Copy, Debug)]
pub struct Delivery {
    pub index: Index,
    pub seq: u64,
    pub end: u64,
    /// Time of the last transmission.
    pub sent_at: Time,
    /// It was sent more than once.
    pub retransmitted: bool,
    /// SACK reports it, not the ACK number.
    pub by_sack: bool,
    /// It had been SACKed before.
    pub was_sacked: bool,
}

/// Fields of every ACK come first.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub struct Scoreboard {
    ring: Ring<SentSegment>,
    /// Index of the ring's first segment.
    base: Index,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    /// Deliveries are recorded or logged.
    records: bool,
    /// Deliveries are recorded, for `newest_arrival` and `lowest_arrival`.
    notes_arrivals: bool,
    /// Deliveries are logged, for `take_deliveries`.
    logs_deliveries: bool,
    deliveries: Vec<Delivery>,
    sacked: RangeSet,
    /// Number of loss marks set.
    losses: u64,
    /// Segments marked lost since `take_lost`, in order, for congestion controls that use delivery
    /// rates.
    lost_log: Option<Vec<Index>>,
    /// Of the segments delivered since `take_newest_arrival`, the one sent last, with its send
    /// time.
    newest_arrival: Option<(Time, Index)>,
    /// The last segment delivered since `take_last_arrival`.
    last_arrival: Option<Arrival>,
    /// The lowest of the segments sent once and delivered since `take_lowest_arrival`.
    lowest_arrival: Index,
    highest_sacked: Option<Index>,
    /// Earliest and latest send time of the segments sent once and SACKed since `take_sacked_once`.
    sacked_once: Option<(Time, Time)>,
    /// Segments below this index have been checked for loss. It may lag behind `base`, as
    /// `retransmit_from` and `highest_sacked` may: they are updated where they are used, as most ACKs
    /// find nothing lost.
    scanned: Index,
    /// SACKed segments below `scanned`.
    sacked_below_scan: u32,
    /// No segment below is lost and not yet retransmitted.
    retransmit_from: Index,
    /// Retransmissions in flight, in the order of sending, with snd.nxt at the time.
    retransmissions: VecDeque<(Index, u64)>,
}

impl Scoreboard {
    /// Bytes at its beginning that each ACK needs.
    pub const HOT_BYTES: usize = std::mem::offset_of!(Scoreboard, deliveries);

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
    pub fn retrans_out(&self) -> u32 {
        self.retrans_out
    }
    /// A lost segment has not been retransmitted since.
    pub fn unsent_losses(&self) -> bool {
        self.lost_out > self.retrans_out
    }
    /// No segment is SACKed or lost.
    #[inline]
    pub fn is_clean(&self) -> bool {
        self.sacked_out == 0 && self.lost_out == 0
    }
    pub fn losses(&self) -> u64 {
        self.losses
    }
    /// Of the segments delivered since the last call, the one sent last.
    pub fn take_newest_arrival(&mut self) -> Option<Index> {
        self.newest_arrival.take().map(|(_, index)| index)
    }
    /// The same with its send time; kept only for `take_newest_arrival`, if delivery rates are sampled.
    pub fn newest_arrival_of_ack(&mut self) -> Option<(Time, Index)> {
        if self.lost_log.is_some() { self.newest_arrival } else { self.newest_arrival.take() }
    }
    /// The last segment delivered since the last call: the highest one that the ACK number covers, or
    /// else the highest one newly SACKed. It is the last one of `tcp_clean_rtx_queue()` and
    /// `tcp_sacktag_write_queue()`.
    pub fn take_last_arrival(&mut self) -> Option<Arrival> {
        self.last_arrival.take()
    }
    /// The lowest of the segments sent once and delivered since the last call.
    pub fn take_lowest_arrival(&mut self) -> Index {
        std::mem::replace(&mut self.lowest_arrival, Index::MAX)
    }
    /// Earliest and latest send time of the segments sent once and newly SACKed since the last call.
    pub fn take_sacked_once(&mut self) -> Option<(Time, Time)> {
        self.sacked_once.take()
    }
    /// RFC 6675's pipe, Linux's packets in flight: sent, not SACKed, not lost, and retransmissions
    /// of lost segments.
    pub fn in_flight(&self) -> u32 {
        (self.len() + self.retrans_out).saturating_sub(self.sacked_out + self.lost_out)
    }
    pub fn get(&self, index: Index) -> Option<&SentSegment> {
        self.ring.get(usize::try_from(index.checked_sub(self.base)?).ok()?)
    }
    /// The segment that contains `seq` has been sent more than once.
    pub fn was_retransmitted(&self, seq: u64) -> bool {
        let at = self.ring.partition_point(0..self.ring.len(), |sent| sent.end() <= seq);
        self.ring.get(at).is_some_and(|sent| sent.seq <= seq && sent.sends > 1)
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
    /// Segments up to the highest SACKed one: Linux's fackets_out.
    pub fn forward_acked(&self) -> u32 {
        self.highest_sacked.map_or(0, |h| (h + 1).saturating_sub(self.base) as u32)
    }
    /// The end of the highest segment that is SACKed now, or `una` (`tcp_highest_sack_seq()`).
    pub fn forward_ack(&self, una: u64) -> u64 {
        self.highest_sacked_end().filter(|_| self.sacked_out() > 0).unwrap_or(una).max(una)
    }
    pub fn highest_sacked_end(&self) -> Option<u64> {
        self.highest_sacked.and_then(|h| self.get(h)).map(SentSegment::end)
    }

    /// A segment is sent for the first time.
    #[inline]
    pub fn push(&mut self, seq: u64, len: u32, now: Time) {
        self.ring.push_back(SentSegment { seq, len, sends: 1, marks: 0, packet: 0, sent_at: now });
    }

    /// How the last segment left: with the next one in a packet, and with PSH by the application's
    /// write.
    #[inline]
    pub fn note_packet(&mut self, joined: bool, pushed: bool) {
        let at = self.ring.len().wrapping_sub(1);
        if let Some(last) = self.ring.get_mut(at) {
            last.packet = if joined { segment::JOINED } else { 0 } | if pushed { segment::PUSHED } else { 0 };
        }
    }

    /// The packet of this segment ends with it.
    pub fn end_packet(&mut self, index: Index) {
        let base = self.base;
        let at = index.checked_sub(base).and_then(|at| usize::try_from(at).ok());
        if let Some(segment) = at.and_then(|at| self.ring.get_mut(at)) {
            segment.packet &= !segment::JOINED;
        }
    }

    /// The ACK number advances to `ack`.
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
                self.remove_marks(&sent);
            }
            let (once, before) = (sent.sends == 1, sent.is_sacked());
            if self.notes_arrivals && !before {
                self.note_arrival(&sent, self.base);
            }
            if self.logs_deliveries {
                self.log_delivery(&sent, self.base, false, before);
            }
            if once && !before {
                acked.first_sent = acked.first_sent.or(Some(sent.sent_at));
                acked.last_sent = Some(sent.sent_at);
            }
            self.base += 1;
            acked.segments += 1;
            acked.sacked_before += u32::from(before);
            acked.retransmitted |= !once;
        }
        if !self.sacked.is_empty() {
            self.sacked.remove_below(ack);
        }
        acked
    }

    /// As [`Scoreboard::ack_to`], when nothing is SACKed or lost.
    #[inline(always)]
    pub fn ack_clean_to(&mut self, ack: u64) -> Acked {
        let mut acked = Acked::default();
        while let Some(sent) = self.ring.front() {
            if sent.end() > ack {
                self.cut_first(ack);
                break;
            }
            let (sent_at, once) = (sent.sent_at, sent.sends == 1);
            if self.records {
                self.record_front();
            }
            self.ring.take_front();
            self.base += 1;
            acked.segments += 1;
            if once {
                acked.first_sent = acked.first_sent.or(Some(sent_at));
                acked.last_sent = Some(sent_at);
            } else {
                acked.retransmitted = true;
            }
        }
        acked
    }

    /// Records the delivery of the first segment.
    #[inline(never)]
    fn record_front(&mut self) {
        let Some(&sent) = self.ring.front() else { return };
        if self.notes_arrivals {
            self.note_arrival(&sent, self.base);
        }
        if self.logs_deliveries {
            self.log_delivery(&sent, self.base, false, false);
        }
    }

    /// An ACK inside a segment: the rest stays on the scoreboard.
    #[inline]
    fn cut_first(&mut self, ack: u64) {
        if let Some(front) = self.ring.get_mut(0).filter(|front| front.seq < ack) {
            front.len -= (ack - front.seq) as u32;
            front.seq = ack;
        }
    }

    /// Records deliveries from here on.
    pub fn note_arrivals(&mut self) {
        self.notes_arrivals = true;
        self.records = true;
    }

    /// Logs each delivery from here on.
    pub fn log_deliveries(&mut self) {
        self.logs_deliveries = true;
        self.records = true;
    }

    #[inline(never)]
    fn log_delivery(&mut self, sent: &SentSegment, index: Index, by_sack: bool, was_sacked: bool) {
        let (seq, end, sent_at, retransmitted) = (sent.seq, sent.end(), sent.sent_at, sent.sends > 1);
        self.deliveries.push(Delivery { index, seq, end, sent_at, retransmitted, by_sack, was_sacked });
    }

    /// The deliveries since the last call, in the order in which they were reported;
    /// `return_deliveries` gives the emptied vector back.
    #[inline]
    pub fn take_deliveries(&mut self) -> Vec<Delivery> {
        std::mem::take(&mut self.deliveries)
    }
    #[inline]
    pub fn return_deliveries(&mut self, emptied: Vec<Delivery>) {
        self.deliveries = emptied;
    }

    /// Updates the newest, the lowest and the last delivered segment.
    #[inline]
    fn note_arrival(&mut self, sent: &SentSegment, index: Index) {
        if self.newest_arrival.is_none_or(|newest| newest < (sent.sent_at, index)) {
            self.newest_arrival = Some((sent.sent_at, index));
        }
        if sent.sends == 1 {
            self.lowest_arrival = self.lowest_arrival.min(index);
        }
        self.last_arrival = Some(Arrival { index, sent_at: sent.sent_at, retransmitted: sent.sends > 1 });
    }

    /// Removes the marks of an acknowledged segment from the counts.
    #[inline(never)]
    fn remove_marks(&mut self, sent: &SentSegment) {
        self.sacked_out -= u32::from(sent.is_sacked());
        self.lost_out -= u32::from(sent.is_lost());
        self.retrans_out -= u32::from(sent.is_retransmitted());
        if sent.is_sacked() && self.base < self.scanned {
            self.sacked_below_scan -= 1;
        }
        // Retransmissions of segments acknowledged before are removed, too: those had no marks any
        // more.
        while self.retransmissions.front().is_some_and(|&(index, _)| index <= self.base) {
            self.retransmissions.pop_front();
        }
    }
}
