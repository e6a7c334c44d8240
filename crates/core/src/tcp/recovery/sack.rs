//! SACK recovery (RFC 6675): the scoreboard marks losses, and the pipe is kept at the reduced
//! window.

use super::{AckInfo, Recovery, RecoveryContext, Retransmit};
use crate::tcp::cc::{AnyCc, CongestionControl, CongestionSignal};
use crate::tcp::scoreboard::{Index, Scoreboard};

#[derive(Clone, Debug, Default)]
pub struct Sack {
    dupacks: u32,
    /// RecoveryPoint, while in recovery.
    recovery_point: Option<u64>,
    /// snd.nxt at the last RTO: no recovery starts below it.
    not_before: u64,
    /// The retransmission that starts the recovery.
    retransmit: Option<Index>,
    /// Where rule 3 of NextSeg continues.
    rule_3_from: Index,
    rescued: bool,
}

impl Sack {
    /// RFC 6675, section 5, step 4.
    fn enter(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.recovery_point = Some(ctx.next);
        self.rescued = false;
        self.rule_3_from = ctx.scoreboard.first_index();
        ctx.cut(CongestionSignal::Duplicates, ctx.flight());
        ctx.stats.fast_retransmits += 1;
        // Duplicate ACKs without SACK information: the first segment is lost.
        ctx.scoreboard.mark_lost(ctx.scoreboard.first_index());
        self.retransmit = ctx.scoreboard.next_lost();
    }
}

impl Recovery for Sack {
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        ctx.scoreboard.mark_lost_below_sacks(ctx.threshold);
        // RFC 6675, section 2: an ACK that advances and carries new SACK information is a
        // duplicate, too.
        self.dupacks = if ack.advanced { u32::from(ack.sacked > 0) } else { self.dupacks + u32::from(ack.duplicate) };
        if let Some(recovery_point) = self.recovery_point {
            if ctx.una >= recovery_point {
                self.recovery_point = None;
                self.retransmit = None;
                ctx.cc.on_recovered(ctx.now, ctx.cc.ssthresh());
            }
            return false;
        }
        let lost = self.dupacks >= ctx.threshold || ack.fine_timer_expired || (ack.sacked > 0 && ctx.scoreboard.lost_out() > 0);
        if lost && ctx.una >= self.not_before && !ctx.scoreboard.is_empty() {
            self.enter(ctx);
            return false;
        }
        ack.advanced
    }

    #[inline]
    fn on_clean_ack(&mut self, _una: u64) -> bool {
        self.dupacks = 0;
        self.recovery_point.is_none()
    }

    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        *self = Sack { not_before: ctx.next, ..Sack::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        cc.cwnd()
    }

    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
        match self.retransmit.take() {
            Some(index) => Some(Retransmit::Now(index)),
            None => scoreboard.next_lost().map(Retransmit::IfRoom),
        }
    }

    /// NextSeg rule 3, then the rescue retransmission of rule 4, once per recovery.
    fn next_rescue(&mut self, scoreboard: &mut Scoreboard) -> Option<Index> {
        self.recovery_point?;
        if let Some(hole) = scoreboard.next_hole(self.rule_3_from) {
            self.rule_3_from = hole + 1;
            return Some(hole);
        }
        let last = (scoreboard.first_index() + u64::from(scoreboard.len())).checked_sub(1)?;
        let due = !self.rescued && scoreboard.get(last).is_some_and(|s| !s.is_sacked() && !s.is_retransmitted());
        self.rescued |= due;
        due.then_some(last)
    }

    fn active(&self) -> bool {
        self.recovery_point.is_some()
    }
}
