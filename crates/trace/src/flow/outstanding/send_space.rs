//! Send sequence space of one direction (RFC 9293, section 3.3.1), as captured.

use super::super::rules::RULES;
use super::super::seq::{seq_diff, seq_lt};
use crate::compact::compact;

#[derive(Debug, Clone, Copy, Default)]
pub struct SendSpace {
    nxt: u32,
    una: u32,
    sacked: u32,
    is_known: bool,
    /// A zero-window probe carried the byte at SND.NXT, which the receiver may have accepted.
    is_probed: bool,
}

compact!(SendSpace { nxt, una, sacked, is_known, is_probed });

/// Position of a segment in the space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// It begins at SND.NXT.
    Next,
    /// It begins above SND.NXT: this number of bytes is missing.
    AfterGap(u32),
    /// It begins so far above SND.NXT that the space starts again.
    Elsewhere,
    /// It begins below SND.NXT.
    Old,
}

impl SendSpace {
    /// The first segment or ACK sets the origin.
    #[inline]
    pub fn begin_at(&mut self, seq: u32) {
        if !self.is_known {
            (self.nxt, self.una, self.is_known) = (seq, seq, true);
        }
    }

    #[inline]
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// SND.UNA: the lowest sequence number that is not acknowledged.
    #[inline]
    pub fn una(&self) -> u32 {
        self.una
    }

    /// SND.NXT: one above the highest sequence number sent.
    #[inline]
    pub fn nxt(&self) -> u32 {
        self.nxt
    }

    /// All that was sent is acknowledged.
    #[inline]
    pub fn is_all_acked(&self) -> bool {
        self.una == self.nxt
    }

    /// From SND.UNA to SND.NXT; zero beyond 2 GiB, which only a capture of one direction shows.
    #[inline]
    pub fn outstanding(&self) -> u32 {
        seq_diff(self.una, self.nxt).max(0) as u32
    }

    /// Bytes sent and neither acknowledged nor SACKed.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.outstanding().saturating_sub(self.sacked)
    }

    /// How far an ACK is above SND.UNA.
    #[inline]
    pub fn advance_by(&self, ack: u32) -> i32 {
        seq_diff(self.una, ack)
    }

    #[inline]
    pub fn place(&self, seq: u32) -> Placement {
        match seq_diff(self.nxt, seq) {
            0 => Placement::Next,
            behind if behind < 0 => Placement::Old,
            jump if jump >= RULES.max_window => Placement::Elsewhere,
            gap => Placement::AfterGap(gap as u32),
        }
    }

    #[inline]
    pub fn on_sent(&mut self, end: u32) {
        self.nxt = end;
    }

    /// A zero-window probe carries the byte at SND.NXT.
    pub fn on_probe(&mut self) {
        self.is_probed = true;
    }

    #[inline]
    pub fn on_sacked(&mut self, len: u32) {
        self.sacked += len;
    }

    /// A SACKed range is acknowledged.
    #[inline]
    pub fn on_sacked_range_acked(&mut self, len: u32) {
        self.sacked -= len.min(self.sacked);
    }

    /// Nothing is outstanding.
    #[inline]
    pub fn clear_sacked(&mut self) {
        self.sacked = 0;
    }

    /// The first ACK, with nothing outstanding: the capture began after the data below it.
    pub fn acked_before_capture(&mut self, ack: u32) {
        self.una = ack;
    }

    /// An advancing ACK. Returns the number of acknowledged bytes that were not captured.
    #[inline]
    pub fn on_acked(&mut self, ack: u32) -> u32 {
        self.una = ack;
        if !seq_lt(self.nxt, ack) {
            return 0;
        }
        let uncaptured = seq_diff(self.nxt, ack) as u32;
        self.nxt = ack;
        uncaptured - u32::from(std::mem::take(&mut self.is_probed))
    }

    /// The space starts again at `seq`.
    pub fn restart_at(&mut self, seq: u32) {
        (self.nxt, self.una, self.sacked) = (seq, seq, 0);
    }
}
