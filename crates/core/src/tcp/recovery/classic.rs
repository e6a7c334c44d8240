//! Reno's fast retransmit and fast recovery (RFC 5681, section 3.2), left at the first ACK of new
//! data: the recovery of `asymmetry`.

use super::{AckInfo, LIMITED_TRANSMIT, Recovery, RecoveryContext, Retransmit};
use crate::tcp::cc::{AnyCc, CongestionControl, CongestionSignal};
use crate::tcp::scoreboard::{Index, Scoreboard};

#[derive(Clone, Debug, Default)]
pub struct ClassicRecovery {
    dupacks: u32,
    /// Segments of new data that the first duplicate ACKs allow beyond cwnd (RFC 3042).
    allowance: u32,
    /// Segments that have left the network since the retransmission, during fast recovery.
    inflation: Option<u32>,
    /// snd.nxt at the last reduction: losses below it do not reduce the window again (`asymmetry`,
    /// the guard against multiple fast retransmits).
    recover: u64,
    retransmit: Option<Index>,
}

impl ClassicRecovery {
    /// No second reduction for losses that an RTO or an earlier recovery repairs.
    fn may_enter(&self, ctx: &RecoveryContext<'_>) -> bool {
        ctx.una > self.recover && ctx.scoreboard.lost_out() == 0 && !ctx.scoreboard.is_empty()
    }

    fn enter(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.recover = ctx.next;
        ctx.cut(CongestionSignal::Duplicates, ctx.flight());
        ctx.stats.fast_retransmits += 1;
        self.allowance = 0;
        self.retransmit = Some(ctx.scoreboard.first_index());
        self.inflation = Some(self.dupacks);
    }
}

impl Recovery for ClassicRecovery {
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        if ack.advanced {
            self.dupacks = 0;
            self.allowance = 0;
            self.retransmit = None;
            // RFC 5681, section 3.2, step 6: deflate.
            let was_active = self.inflation.take().is_some();
            if was_active {
                ctx.cc.on_recovered(ctx.now, ctx.cc.ssthresh());
            }
            if ack.dupthresh_reached && !was_active && self.may_enter(ctx) {
                // The segments that the ACK newly acknowledges had arrived before the gap.
                self.dupacks = ctx.threshold;
                self.enter(ctx);
                return false;
            }
            return !was_active;
        }
        if ack.duplicate {
            let before = self.dupacks;
            self.dupacks = if ack.dupthresh_reached { (before + 1).max(ctx.threshold) } else { before + 1 };
            if let Some(inflation) = &mut self.inflation {
                *inflation += 1;
            } else if (self.dupacks == ctx.threshold || ack.fine_timer_expired)
                && ctx.una > self.recover
                && ctx.scoreboard.lost_out() == 0
            {
                self.enter(ctx);
            } else if ctx.limited_transmit {
                self.allowance = self.dupacks.min(LIMITED_TRANSMIT);
            }
        }
        false
    }

    #[inline]
    fn on_clean_ack(&mut self, _una: u64) -> bool {
        if self.inflation.is_some() {
            return false;
        }
        (self.dupacks, self.allowance, self.retransmit) = (0, 0, None);
        true
    }

    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        *self = ClassicRecovery { recover: ctx.next, ..ClassicRecovery::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        cc.cwnd() + f64::from(self.inflation.unwrap_or(self.allowance))
    }

    fn in_flight(&self, scoreboard: &Scoreboard) -> u32 {
        // Inflation counts departures, so everything not acknowledged is in flight.
        if self.active() { scoreboard.len() } else { scoreboard.in_flight() }
    }

    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
        match self.retransmit.take() {
            Some(index) => Some(Retransmit::Now(index)),
            None if !self.active() => scoreboard.next_lost().map(Retransmit::IfRoom),
            None => None,
        }
    }

    fn active(&self) -> bool {
        self.inflation.is_some()
    }
}
