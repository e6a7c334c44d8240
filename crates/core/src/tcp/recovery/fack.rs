//! Forward acknowledgement (Mathis and Mahdavi 1996): the forward-most SACK shows which segments
//! have left the network, so the flight is known exactly and kept at the window.

use super::{AckInfo, Recovery, RecoveryContext, Retransmit};
use crate::tcp::cc::{AnyCc, CongestionControl, CongestionSignal};
use crate::tcp::scoreboard::Scoreboard;

#[derive(Clone, Debug, Default)]
pub struct Fack {
    dupacks: u32,
    /// snd.nxt at the start of the recovery.
    recovery_point: Option<u64>,
    /// snd.nxt at the last RTO: no recovery starts below it.
    not_before: u64,
    /// The retransmission that starts the recovery is pending.
    first: bool,
}

/// Every unSACKed segment below the forward-most SACK counts as lost.
const ALL_BELOW: u32 = 1;

/// Section 3: awnd = snd.nxt - snd.fack + retran_data, in segments.
fn awnd(scoreboard: &Scoreboard) -> u32 {
    (scoreboard.len() + scoreboard.retrans_out()).saturating_sub(scoreboard.forward_acked())
}

impl Fack {
    fn enter(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.recovery_point = Some(ctx.next);
        ctx.cut(CongestionSignal::Duplicates, ctx.flight());
        ctx.stats.fast_retransmits += 1;
        // Duplicate ACKs without SACK information: the first segment is lost.
        ctx.scoreboard.mark_lost(ctx.scoreboard.first_index());
        self.first = true;
    }
}

impl Recovery for Fack {
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        self.dupacks = if ack.advanced { u32::from(ack.sacked > 0) } else { self.dupacks + u32::from(ack.duplicate) };
        if let Some(recovery_point) = self.recovery_point {
            if ctx.una < recovery_point {
                ctx.scoreboard.mark_lost_below_forward_ack(ALL_BELOW);
            } else {
                self.recovery_point = None;
                self.first = false;
                ctx.cc.on_recovered(ctx.now, ctx.cc.cwnd());
            }
            return false;
        }
        // Section 4.1: (snd.fack - snd.una) > 3 MSS, or three duplicates.
        let lost = ctx.scoreboard.forward_acked() > ctx.threshold || self.dupacks >= ctx.threshold || ack.fine_timer_expired;
        if lost && ctx.una >= self.not_before && !ctx.scoreboard.is_empty() {
            self.enter(ctx);
            ctx.scoreboard.mark_lost_below_forward_ack(ALL_BELOW);
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
        *self = Fack { not_before: ctx.next, ..Fack::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        cc.cwnd()
    }

    /// After an RTO the scoreboard counts less than awnd, as every segment is marked lost.
    fn in_flight(&self, scoreboard: &Scoreboard) -> u32 {
        awnd(scoreboard).min(scoreboard.in_flight())
    }

    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
        let index = scoreboard.next_lost()?;
        Some(if std::mem::take(&mut self.first) { Retransmit::Now(index) } else { Retransmit::IfRoom(index) })
    }

    fn active(&self) -> bool {
        self.recovery_point.is_some()
    }
}
