//! Processing of SACK blocks.

use super::segment::{RETRANSMITTED, SACKED};
use super::{Scoreboard, SentSegment};

impl Scoreboard {
    /// Applies a SACK block. Returns the number of segments that it newly reports.
    pub fn sack(&mut self, start: u64, end: u64) -> u32 {
        let Some(first) = self.ring.front().map(|s| s.seq) else { return 0 };
        let (start, end) = (start.max(first), end.min(self.ring.back().map_or(first, SentSegment::end)));
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

    /// Marks the segments that [start, end) completes. A segment reported in two parts is complete
    /// when both are known.
    fn mark_sacked(&mut self, start: u64, end: u64) {
        let mut at = self.position(start);
        while let Some(sent) = self.ring.get_mut(at) {
            if sent.seq >= end {
                break;
            }
            let index = self.base + at as u64;
            let complete =
                (start <= sent.seq && sent.end() <= end) || self.sacked.containing(sent.seq).is_some_and(|r| r.1 >= sent.end());
            if complete && !sent.is_sacked() {
                self.lost_out -= u32::from(sent.is_lost());
                // A retransmission whose loss an undo has unmarked stays in flight, as in Linux.
                let in_flight = if sent.is_lost() { 0 } else { sent.marks & RETRANSMITTED };
                self.retrans_out -= u32::from(sent.is_retransmitted() && in_flight == 0);
                sent.marks = SACKED | in_flight;
                let sent = *sent;
                if self.logs_deliveries {
                    self.log_delivery(&sent, index, true, false);
                }
                if sent.sends == 1 {
                    let (first, last) = self.sacked_once.unwrap_or((sent.sent_at, sent.sent_at));
                    self.sacked_once = Some((first.min(sent.sent_at), last.max(sent.sent_at)));
                }
                if self.notes_arrivals {
                    let higher = self.last_arrival.filter(|last| last.index > index);
                    self.note_arrival(&sent, index);
                    self.last_arrival = higher.or(self.last_arrival);
                }
                self.sacked_out += 1;
                self.sacked_below_scan += u32::from(index < self.scanned);
                self.highest_sacked = Some(self.highest_sacked.map_or(index, |h| h.max(index)));
            }
            at += 1;
        }
    }

    /// Position in the ring of the segment that contains `seq`. A guess by the segment size is
    /// mostly right.
    fn position(&self, seq: u64) -> usize {
        let last = self.ring.len().saturating_sub(1);
        let (Some(first), Some(middle)) = (self.ring.front(), self.ring.get(last / 2)) else { return 0 };
        let guess = (seq.saturating_sub(first.seq) / u64::from(middle.len.max(1))).min(last as u64) as usize;
        let hit = self.ring.get(guess).is_some_and(|s| s.seq <= seq && seq < s.end());
        if hit { guess } else { self.ring.partition_point(0..self.ring.len(), |s| s.end() <= seq) }
    }
}
