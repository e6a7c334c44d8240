//! Loss marking, and the order of retransmissions.

use super::segment::{LOST, RETRANSMITTED};
use super::{Index, Scoreboard, SentSegment};
use crate::units::Time;

impl Scoreboard {
    /// Logs segments marked lost from here on.
    pub fn log_losses(&mut self) {
        self.lost_log.get_or_insert_default();
    }

    /// Hands over the segments marked lost since the last call, in order.
    pub fn take_lost(&mut self, into: &mut Vec<Index>) {
        if let Some(log) = &mut self.lost_log {
            std::mem::swap(log, into);
            log.clear();
        }
    }

    /// RFC 6675, IsLost: `threshold` or more segments above it have been SACKed.
    pub fn mark_lost_below_sacks(&mut self, threshold: u32) {
        if self.sacked_out < threshold {
            return;
        }
        self.scanned = self.scanned.max(self.base);
        while self.scanned < self.end_index() {
            let sacked = self.get(self.scanned).is_some_and(SentSegment::is_sacked);
            let above = self.sacked_out - self.sacked_below_scan - u32::from(sacked);
            if above < threshold {
                return;
            }
            self.scan_one(sacked);
        }
    }

    /// FACK: every segment at least `reordering` segments below the forward-most SACK is lost
    /// (Mathis and Mahdavi 1996).
    pub fn mark_lost_below_forward_ack(&mut self, reordering: u32) {
        let Some(highest) = self.highest_sacked else { return };
        self.scanned = self.scanned.max(self.base);
        while self.scanned + u64::from(reordering) <= highest {
            let sacked = self.get(self.scanned).is_some_and(SentSegment::is_sacked);
            self.scan_one(sacked);
        }
    }

    fn scan_one(&mut self, sacked: bool) {
        if sacked {
            self.sacked_below_scan += 1;
        } else if self.get(self.scanned).is_some_and(|s| !s.is_lost()) {
            // A lost segment may have been retransmitted: that retransmission is still in flight.
            self.mark_lost(self.scanned);
        }
        self.scanned += 1;
    }

    /// Marks a segment lost, and its retransmission in flight too.
    pub fn mark_lost(&mut self, index: Index) {
        let Some(at) = index.checked_sub(self.base).and_then(|i| usize::try_from(i).ok()) else { return };
        let Some(sent) = self.ring.get_mut(at).filter(|s| !s.is_sacked()) else { return };
        self.retrans_out -= u32::from(sent.is_retransmitted());
        self.lost_out += u32::from(!sent.is_lost());
        if !sent.is_lost() || sent.is_retransmitted() {
            self.losses += 1;
            if let Some(log) = &mut self.lost_log {
                log.push(index);
            }
        }
        sent.marks = LOST;
        self.retransmit_from = self.retransmit_from.min(index);
    }

    /// After an RTO nothing counts as in flight (RFC 6675, section 5.1; without SACK: go-back-N).
    pub fn mark_all_lost(&mut self) {
        for index in self.base..self.end_index() {
            self.mark_lost(index);
        }
        self.retransmissions.clear();
    }

    /// A spurious RTO: lost segments that have not been retransmitted are in flight.
    pub fn unmark_losses(&mut self) {
        for at in 0..self.ring.len() {
            if let Some(sent) = self.ring.get_mut(at).filter(|s| s.is_lost() && !s.is_retransmitted()) {
                sent.marks = 0;
                self.lost_out -= 1;
            }
        }
        (self.scanned, self.sacked_below_scan) = (self.base, 0);
    }

    /// An undo in Linux: nothing is lost, and retransmissions stay in flight.
    pub fn unmark_every_loss(&mut self) {
        for at in 0..self.ring.len() {
            if let Some(sent) = self.ring.get_mut(at) {
                sent.marks &= !LOST;
            }
        }
        self.lost_out = 0;
        (self.scanned, self.sacked_below_scan) = (self.base, 0);
    }

    /// A tail loss probe of Linux: counted neither as lost nor as a retransmission in flight.
    pub fn on_probe(&mut self, index: Index, now: Time) {
        let Some(at) = index.checked_sub(self.base).and_then(|i| usize::try_from(i).ok()) else { return };
        let Some(sent) = self.ring.get_mut(at) else { return };
        sent.sends = sent.sends.saturating_add(1);
        sent.sent_at = now;
    }

    /// The first lost segment that has not been retransmitted since.
    pub fn next_lost(&mut self) -> Option<Index> {
        if self.lost_out == self.retrans_out {
            return None;
        }
        self.retransmit_from = self.retransmit_from.max(self.base);
        while let Some(sent) = self.get(self.retransmit_from) {
            if sent.is_lost() && !sent.is_retransmitted() {
                return Some(self.retransmit_from);
            }
            self.retransmit_from += 1;
        }
        None
    }

    /// A segment is retransmitted; `next` is snd.nxt.
    pub fn on_retransmit(&mut self, index: Index, next: u64, now: Time) {
        let Some(at) = index.checked_sub(self.base).and_then(|i| usize::try_from(i).ok()) else { return };
        let Some(sent) = self.ring.get_mut(at) else { return };
        self.lost_out += u32::from(!sent.is_lost());
        self.retrans_out += u32::from(!sent.is_retransmitted());
        sent.marks = LOST | RETRANSMITTED;
        sent.sends = sent.sends.saturating_add(1);
        sent.sent_at = now;
        self.retransmissions.push_back((index, next));
    }

    /// A retransmission is lost when data sent after it has been SACKed (Linux 2.6 with FACK;
    /// Mathis and Mahdavi 1996).
    pub fn mark_lost_retransmissions(&mut self) {
        let Some(reached) = self.highest_sacked_end() else { return };
        while let Some(&(index, next)) = self.retransmissions.front() {
            let waiting = self.get(index).is_some_and(SentSegment::is_retransmitted);
            if waiting && reached <= next {
                return;
            }
            self.retransmissions.pop_front();
            if waiting {
                self.mark_lost(index);
            }
        }
    }

    /// RFC 6675, NextSeg rule 3: a segment below the highest SACKed one that is neither SACKed nor
    /// retransmitted.
    pub fn next_hole(&self, from: Index) -> Option<Index> {
        let highest = self.highest_sacked?;
        (from.max(self.base)..highest).find(|&i| self.get(i).is_some_and(|s| !s.is_sacked() && !s.is_retransmitted()))
    }
}
