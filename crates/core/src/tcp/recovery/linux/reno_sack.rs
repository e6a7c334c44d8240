//! Without SACK each duplicate ACK counts as a SACKed segment, whichever it is
//! (`tcp_add_reno_sack()`, `tcp_remove_reno_sacks()`).

use crate::tcp::scoreboard::Scoreboard;

#[derive(Clone, Copy, Debug, Default)]
pub struct RenoSack {
    pub sacked_out: u32,
}

impl RenoSack {
    /// `tcp_reset_reno_sack()`; has no effect with SACK.
    pub fn reset(&mut self, sack: bool) {
        if !sack {
            self.sacked_out = 0;
        }
    }

    /// Counts duplicate ACKs. Returns the segments that they deliver, and whether there are more than
    /// holes allow, which is reordering.
    pub fn add(&mut self, dupacks: u32, scoreboard: &Scoreboard) -> (u32, bool) {
        let before = self.sacked_out;
        self.sacked_out += dupacks;
        let reordered = self.limit(scoreboard);
        (self.sacked_out.saturating_sub(before), reordered)
    }

    /// The ACK number covers `acked` segments: one was a hole, the others had been counted. Returns
    /// the segments that it delivers, and whether the rest is reordering.
    pub fn remove(&mut self, acked: u32, scoreboard: &Scoreboard) -> (u32, bool) {
        let delivered = acked.saturating_sub(self.sacked_out).max(1);
        self.sacked_out = if acked > self.sacked_out { 0 } else { self.sacked_out + 1 - acked };
        (delivered, self.limit(scoreboard))
    }

    /// `tcp_limit_reno_sacked()`.
    fn limit(&mut self, scoreboard: &Scoreboard) -> bool {
        let holes = scoreboard.lost_out().max(1).min(scoreboard.len());
        if self.sacked_out + holes <= scoreboard.len() {
            return false;
        }
        self.sacked_out = scoreboard.len() - holes;
        true
    }
}
