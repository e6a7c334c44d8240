//! How much reordering RACK allows for (RFC 8985, section 6.2, step 4).

use super::RecoveryContext;
use crate::units::Span;

/// RACK.reo_wnd and what it is made of.
#[derive(Clone, Debug)]
pub struct RackReoWnd {
    pub seen: bool,
    /// RACK.reo_wnd_mult, in quarters of the smallest round trip.
    quarters: u32,
    /// RACK.reo_wnd_persist: recoveries that the widened window still lasts.
    persist: u32,
    /// RACK.dsack_round: D-SACKs up to here tell of the same round.
    round: Option<u64>,
}

/// RACK.reo_wnd_persist after a D-SACK.
const PERSIST: u32 = 16;
/// RACK.reo_wnd starts at a quarter of the smallest round trip.
const SHARE: u64 = 4;
impl Default for RackReoWnd {
    fn default() -> RackReoWnd {
        RackReoWnd { seen: false, quarters: 1, persist: 0, round: None }
    }
}

impl RackReoWnd {
    /// A retransmission was for nothing: a segment was only late. A recovery without such news shortens the memory of it.
    pub fn adapt(&mut self, dsack: bool, leaving: bool, ctx: &RecoveryContext<'_>) {
        self.round = self.round.filter(|&round| ctx.una < round);
        if dsack && self.round.is_none() {
            self.round = Some(ctx.next);
            self.quarters = self.quarters.saturating_add(1);
            self.persist = PERSIST;
        } else if leaving {
            self.persist = self.persist.saturating_sub(1);
            if self.persist == 0 {
                self.quarters = 1;
            }
        }
    }

    /// RACK.reo_wnd; nothing while reordering is unknown and the losses are plain.
    pub fn window(&self, recovering: bool, ctx: &RecoveryContext<'_>) -> Span {
        if !self.seen && (recovering || ctx.scoreboard.sacked_out() >= ctx.threshold) {
            return Span::ZERO;
        }
        let share = Span(ctx.rtt.min().unwrap_or(Span::ZERO).0 / SHARE);
        share.saturating_mul(u64::from(self.quarters)).min(ctx.rtt.srtt().unwrap_or(Span::ZERO))
    }
}
