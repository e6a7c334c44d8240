//! Out-of-order data and the SACK blocks that report it.

use super::Receiver;
use crate::packet::{SackBlocks, Segment};
use crate::tcp::config::WindowRule;
use crate::units::Time;

/// Blocks that Linux keeps (`TCP_NUM_SACKS`).
const LINUX_BLOCKS: usize = 4;

impl Receiver {
    /// Stores the segment if there is room, and acknowledges it.
    #[inline(never)]
    pub(super) fn keep_out_of_order(&mut self, now: Time, segment: &Segment, end: u64) {
        // RFC 5681, section 4.2: at once, so that duplicate ACKs reach the sender.
        match self
            .sack_compressor
            .as_mut()
            .filter(|_| self.quick_acks == 0)
            .and_then(|sack_compressor| sack_compressor.wait(now, self.next))
        {
            Some(at) => self.ack_at = self.ack_at.min(at),
            None => self.ack_now = true,
        }
        self.out_of_order_segments += 1;
        let room = self.next + u64::from(self.config.receive_buffer);
        if self.config.window_rule == WindowRule::Sequence && end > room {
            return;
        }
        self.store_out_of_order(segment, end);
    }

    /// Adds the segment to what SACK reports.
    pub(super) fn store_out_of_order(&mut self, segment: &Segment, end: u64) {
        self.note_duplicate_part(segment.seq, end);
        let mut new = false;
        self.out_of_order.insert(segment.seq, end, |_, _| new = true);
        if new {
            self.stats.unique_ip_bytes += u64::from(segment.len);
        } else {
            self.stats.duplicates += 1;
        }
        let (start, end) = self.out_of_order.containing(segment.seq).unwrap_or((segment.seq, end));
        self.recent.retain(|&at| at < start || at >= end);
        self.recent.insert(0, segment.seq);
        self.recent.truncate(if self.follows_linux { LINUX_BLOCKS } else { 16 });
    }

    /// RFC 2883, section 4: a D-SACK reports one contiguous range, here the first part of
    /// [start, end) that has arrived before: below rcv.nxt, or out of order. Linux reports a part
    /// that only begins above rcv.nxt as well (`tcp_ofo_queue()`).
    pub(super) fn note_duplicate_part(&mut self, start: u64, end: u64) {
        if !self.config.dsack {
            return;
        }
        let below = (start < self.next).then_some((start, self.next));
        let part = below.or_else(|| self.out_of_order.first_overlap(start, end));
        self.duplicate_range = part.or(self.duplicate_range);
    }

    /// rcv.nxt once all data below `end` has arrived; removes stored data below it.
    pub(super) fn filled_to(&mut self, end: u64) -> u64 {
        let beyond = self.out_of_order.containing(end).or(self.out_of_order.first().filter(|r| r.0 <= end));
        let next = beyond.map_or(end, |(_, filled_to)| end.max(filled_to));
        self.out_of_order.remove_below(next);
        self.recent.retain(|&at| at >= next);
        next
    }

    /// There are SACK blocks to report.
    #[inline]
    pub fn has_blocks(&self) -> bool {
        self.duplicate_range.is_some() || !self.out_of_order.is_empty()
    }

    /// RFC 2883, section 4: the duplicate range first, then the blocks.
    #[cold]
    pub fn blocks(&mut self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let duplicate_range = self.duplicate_range.take();
        let held = self.recent.iter().filter_map(|&at| self.out_of_order.containing(at));
        for (start, end) in duplicate_range.into_iter().chain(held).take(self.max_blocks()) {
            blocks.push(start, end);
        }
        blocks
    }

    /// Number of blocks in the next segment.
    #[inline]
    pub fn block_count(&self) -> u32 {
        if !self.has_blocks() {
            return 0;
        }
        let held = self.recent.len().min(self.out_of_order.len());
        (held + usize::from(self.duplicate_range.is_some())).min(self.max_blocks()) as u32
    }

    /// The options' space is for four blocks, or for three beside timestamps. Linux goes by what was
    /// negotiated (`tcp_established_options()`).
    fn max_blocks(&self) -> usize {
        let configured = self.config.max_sack_blocks();
        if self.follows_linux && self.header_bytes == self.config.header { configured.max(LINUX_BLOCKS) } else { configured }
    }
}
