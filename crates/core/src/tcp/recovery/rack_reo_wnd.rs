//! RACK.reo_wnd, the reordering window (RFC 8985, section 6.2, step 4).

use super::RecoveryContext;
use crate::units::Span;

/// RACK.reo_wnd and its inputs.
#[derive(Clone, Debug)]
pub struct RackReoWnd {
    pub seen: bool,
    /// RACK.reo_wnd_mult, in quarters of the minimum RTT.
    quarters: u32,
    /// RACK.reo_wnd_persist: recoveries for which the widened window remains.
    persist: u32,
    /// RACK.dsack_round: D-SACKs up to this sequence number belong to one round.
    round: Option<u64>,
}

/// RACK.reo_wnd_persist after a D-SACK.
const PERSIST: u32 = 16;
/// RACK.reo_wnd starts at a quarter of the minimum RTT.
const SHARE: u64 = 4;
impl Default for RackReoWnd {
    fn default() -> RackReoWnd {
        RackReoWnd { seen: false, quarters: 1, persist: 0, round: None }
    }
}

impl RackReoWnd {
    /// Widens the window after a D-SACK; a recovery without one counts towards narrowing it.
    /// `leaving`: a recovery ends. `una`, `next`: snd.una and snd.nxt.
    pub fn adapt(&mut self, dsack: bool, leaving: bool, una: u64, next: u64) {
        self.round = self.round.filter(|&round| una < round);
        if dsack && self.round.is_none() {
            self.round = Some(next);
            self.quarters = self.quarters.saturating_add(1);
            self.persist = PERSIST;
        } else if leaving {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.quarters = 1;
            }
        }
    }

    /// RACK.reo_wnd; zero if no reordering has been seen and the losses are evident.
    pub fn window(&self, recovering: bool, ctx: &RecoveryContext<'_>) -> Span {
        if !self.seen && (recovering || ctx.scoreboard.sacked_out() >= ctx.threshold) {
            return Span::ZERO;
        }
        let share = Span(ctx.rtt.min().unwrap_or(Span::ZERO).0 / SHARE);
        share.saturating_mul(u64::from(self.quarters)).min(ctx.rtt.srtt().unwrap_or(Span::ZERO))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 6.2, step 4: by a quarter of the minimum RTT for each round with a D-SACK, for 16 recoveries.
    #[test]
    fn window_widens_once_a_round_and_narrows_after_sixteen_recoveries_without_a_dsack() {
        let mut reo_wnd = RackReoWnd::default();
        for (una, quarters) in [(1, 2), (1000, 2), (1001, 3)] {
            reo_wnd.adapt(true, false, una, una + 1000);
            assert_eq!(reo_wnd.quarters, quarters, "at {una}");
        }
        for recovery in 1..=15 {
            reo_wnd.adapt(false, true, 3001, 4001);
            reo_wnd.adapt(false, false, 3001, 4001);
            assert_eq!(reo_wnd.quarters, 3, "recovery {recovery}");
        }
        reo_wnd.adapt(false, true, 3001, 4001);
        assert_eq!(reo_wnd.quarters, 1);
    }
}
