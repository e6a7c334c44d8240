//! Recovery by SACK (RFC 6675): the scoreboard says what is lost, and the pipe is kept at the cut window.

use super::{AckFacts, Recovery, Repair, Resend};
use crate::tcp::cc::{AnyCc, CongestionControl, Signal};
use crate::tcp::scoreboard::{Index, Scoreboard};

#[derive(Clone, Debug, Default)]
pub struct Sack {
    dupacks: u32,
    /// RecoveryPoint, while in recovery.
    until: Option<u64>,
    /// After a timeout or a recovery, no new one before everything sent by then is acknowledged.
    not_before: u64,
    /// The retransmission that starts the recovery.
    resend: Option<Index>,
    /// Where rule 3 of NextSeg goes on looking.
    holes_from: Index,
    rescued: bool,
}

impl Sack {
    /// RFC 6675, section 5, step 4.
    fn enter(&mut self, repair: &mut Repair<'_>) {
        self.until = Some(repair.next);
        self.rescued = false;
        self.holes_from = repair.board.first_index();
        repair.cut(Signal::Duplicates, repair.flight());
        repair.stats.fast_retransmits += 1;
        // Without SACK information (duplicates alone) the first segment is the lost one.
        repair.board.mark_lost(repair.board.first_index());
        self.resend = repair.board.next_lost();
    }
}

impl Recovery for Sack {
    fn on_ack(&mut self, ack: &AckFacts, repair: &mut Repair<'_>) -> bool {
        repair.board.mark_lost_below_sacks(repair.threshold);
        // RFC 6675, section 2: new SACK information makes a duplicate of an ACK that advances, too.
        self.dupacks = if ack.advanced { u32::from(ack.sacked > 0) } else { self.dupacks + u32::from(ack.duplicate) };
        if let Some(until) = self.until {
            if repair.una >= until {
                self.until = None;
                self.resend = None;
                repair.cc.on_recovered(repair.now, repair.cc.ssthresh());
            }
            return false;
        }
        let lost = self.dupacks >= repair.threshold || ack.late || (ack.sacked > 0 && repair.board.lost_out() > 0);
        if lost && repair.una >= self.not_before && !repair.board.is_empty() {
            self.enter(repair);
            return false;
        }
        ack.advanced
    }

    #[inline]
    fn on_clean_ack(&mut self, _una: u64) -> bool {
        self.dupacks = 0;
        self.until.is_none()
    }

    fn on_timeout(&mut self, repair: &mut Repair<'_>) {
        *self = Sack { not_before: repair.next, ..Sack::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        cc.cwnd()
    }

    fn next_resend(&mut self, board: &mut Scoreboard) -> Option<Resend> {
        match self.resend.take() {
            Some(index) => Some(Resend::Now(index)),
            None => board.next_lost().map(Resend::IfRoom),
        }
    }

    /// NextSeg rule 3, then the rescue retransmission of rule 4, once a recovery.
    fn last_resort(&mut self, board: &mut Scoreboard) -> Option<Index> {
        self.until?;
        if let Some(hole) = board.next_hole(self.holes_from) {
            self.holes_from = hole + 1;
            return Some(hole);
        }
        let last = (board.first_index() + u64::from(board.len())).checked_sub(1)?;
        let due = !self.rescued && board.get(last).is_some_and(|s| !s.is_sacked() && !s.is_resent());
        self.rescued |= due;
        due.then_some(last)
    }

    fn active(&self) -> bool {
        self.until.is_some()
    }
}
