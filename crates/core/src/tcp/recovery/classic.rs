//! Reno's fast retransmit and fast recovery (RFC 5681, section 3.2), left at the first ACK of new data: the recovery of `asymmetry`.

use super::{AckFacts, LIMITED_TRANSMIT, Recovery, Repair, Resend};
use crate::tcp::cc::{AnyCc, CongestionControl, Signal};
use crate::tcp::scoreboard::{Index, Scoreboard};

#[derive(Clone, Debug, Default)]
pub struct Classic {
    dupacks: u32,
    /// New segments that the first duplicate ACKs allow beyond the window (RFC 3042).
    allowance: u32,
    /// Segments that are known to have left since the retransmission, while it lasts.
    inflation: Option<u32>,
    /// No second cut for a loss in a window that has been cut for already (the guard that `asymmetry` switches on).
    recover: u64,
    resend: Option<Index>,
}

impl Classic {
    /// No second cut for what a timeout or an earlier recovery is repairing.
    fn may_enter(&self, repair: &Repair<'_>) -> bool {
        repair.una > self.recover && repair.board.lost_out() == 0 && !repair.board.is_empty()
    }

    fn enter(&mut self, repair: &mut Repair<'_>) {
        self.recover = repair.next;
        repair.cut(Signal::Duplicates, repair.flight());
        repair.stats.fast_retransmits += 1;
        self.allowance = 0;
        self.resend = Some(repair.board.first_index());
        self.inflation = Some(self.dupacks);
    }
}

impl Recovery for Classic {
    fn on_ack(&mut self, ack: &AckFacts, repair: &mut Repair<'_>) -> bool {
        if ack.advanced {
            self.dupacks = 0;
            self.allowance = 0;
            self.resend = None;
            // RFC 5681, section 3.2, step 6: deflate.
            let was_active = self.inflation.take().is_some();
            if was_active {
                repair.cc.on_recovered(repair.now, repair.cc.ssthresh());
            }
            if ack.enough && !was_active && self.may_enter(repair) {
                // What it newly acknowledges was all that had come before the gap.
                self.dupacks = repair.threshold;
                self.enter(repair);
                return false;
            }
            return !was_active;
        }
        if ack.duplicate {
            let before = self.dupacks;
            self.dupacks = if ack.enough { (before + 1).max(repair.threshold) } else { before + 1 };
            if let Some(inflation) = &mut self.inflation {
                *inflation += 1;
            } else if (self.dupacks == repair.threshold || ack.late) && repair.una > self.recover && repair.board.lost_out() == 0
            {
                self.enter(repair);
            } else if repair.limited_transmit {
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
        (self.dupacks, self.allowance, self.resend) = (0, 0, None);
        true
    }

    fn on_timeout(&mut self, repair: &mut Repair<'_>) {
        *self = Classic { recover: repair.next, ..Classic::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        cc.cwnd() + f64::from(self.inflation.unwrap_or(self.allowance))
    }

    fn in_flight(&self, board: &Scoreboard) -> u32 {
        // Inflation counts departures, so everything not acknowledged counts as in flight.
        if self.active() { board.len() } else { board.in_flight() }
    }

    fn next_resend(&mut self, board: &mut Scoreboard) -> Option<Resend> {
        match self.resend.take() {
            Some(index) => Some(Resend::Now(index)),
            None if !self.active() => board.next_lost().map(Resend::IfRoom),
            None => None,
        }
    }

    fn active(&self) -> bool {
        self.inflation.is_some()
    }
}
