//! NewReno (RFC 6582): fast recovery lasts until everything sent before it is acknowledged; each
//! partial ACK shows the next hole.

use super::{AckInfo, LIMITED_TRANSMIT, Recovery, RecoveryContext, Retransmit};
use crate::tcp::cc::{AnyCc, CongestionControl, CongestionSignal, LOSS_WINDOW};
use crate::tcp::config::NewRenoExit;
use crate::tcp::scoreboard::{Index, Scoreboard};

#[derive(Clone, Debug, Default)]
pub struct NewReno {
    dupacks: u32,
    /// Segments of new data that the first duplicate ACKs allow beyond cwnd (RFC 3042).
    allowance: u32,
    fast_recovery: Option<FastRecovery>,
    /// "recover" of RFC 6582, section 3.2: duplicate ACKs of data retransmitted after an RTO start
    /// no fast retransmit.
    recover: u64,
    retransmit: Option<Index>,
}

#[derive(Clone, Copy, Debug)]
struct FastRecovery {
    /// Segments by which the window exceeds ssthresh; negative if partial ACKs deflated it by more
    /// than duplicates had added.
    inflation: i64,
    partial_acks: u32,
}

impl NewReno {
    /// No second reduction for losses that an RTO or an earlier recovery repairs.
    fn may_enter(&self, ctx: &RecoveryContext<'_>) -> bool {
        ctx.una > self.recover && ctx.scoreboard.lost_out() == 0 && !ctx.scoreboard.is_empty()
    }

    /// Section 3.2, step 2.
    fn enter(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.recover = ctx.next;
        ctx.cut(CongestionSignal::Duplicates, ctx.flight());
        ctx.stats.fast_retransmits += 1;
        self.allowance = 0;
        self.retransmit = Some(ctx.scoreboard.first_index());
        self.fast_recovery = Some(FastRecovery { inflation: i64::from(self.dupacks), partial_acks: 0 });
    }

    /// Section 3.2, step 3: a full ACK ends the recovery, a partial ACK shows the next hole.
    fn on_new_data(&mut self, fast_recovery: FastRecovery, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) {
        if ctx.una >= self.recover {
            let flight = f64::from(ctx.scoreboard.len().max(1)) + 1.0;
            let window = match ctx.newreno_exit {
                NewRenoExit::Flight => ctx.cc.ssthresh().min(flight),
                NewRenoExit::Threshold => ctx.cc.ssthresh(),
            };
            ctx.cc.on_recovered(ctx.now, window);
            self.fast_recovery = None;
        } else {
            // A partial ACK deflates by the segments acknowledged and adds one back.
            let inflation = fast_recovery.inflation - i64::from(ack.acked) + i64::from(ack.acked > 0);
            self.fast_recovery = Some(FastRecovery { inflation, partial_acks: fast_recovery.partial_acks + 1 });
            self.retransmit = Some(ctx.scoreboard.first_index());
        }
    }
}

impl Recovery for NewReno {
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        if ack.advanced {
            self.dupacks = 0;
            self.allowance = 0;
            if ack.dupthresh_reached && self.fast_recovery.is_none() && self.may_enter(ctx) {
                // The segments that the ACK newly acknowledges had arrived before the gap.
                self.dupacks = ctx.threshold;
                self.enter(ctx);
                return false;
            }
            let Some(fast_recovery) = self.fast_recovery else { return true };
            self.on_new_data(fast_recovery, ack, ctx);
            return false;
        }
        if ack.duplicate {
            let before = self.dupacks;
            self.dupacks = if ack.dupthresh_reached { (before + 1).max(ctx.threshold) } else { before + 1 };
            if let Some(fast_recovery) = &mut self.fast_recovery {
                fast_recovery.inflation += 1;
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
        (self.dupacks, self.allowance) = (0, 0);
        self.fast_recovery.is_none()
    }

    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        *self = NewReno { recover: ctx.next, ..NewReno::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        let beyond = self.fast_recovery.map_or(i64::from(self.allowance), |e| e.inflation);
        (cc.cwnd() + beyond as f64).max(LOSS_WINDOW)
    }

    fn in_flight(&self, scoreboard: &Scoreboard) -> u32 {
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
        self.fast_recovery.is_some()
    }

    /// The impatient variant of section 4: only the first partial ACK restarts the timer.
    fn restarts_timer(&self) -> bool {
        self.fast_recovery.is_none_or(|e| e.partial_acks <= 1)
    }
}
