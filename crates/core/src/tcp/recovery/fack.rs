//! Forward acknowledgement (Mathis and Mahdavi 1996): the forward-most SACK tells what has left the network, so what is in flight is
//! known exactly and the window is kept by it.

use super::{AckFacts, Recovery, Repair, Resend};
use crate::tcp::cc::{AnyCc, CongestionControl, Signal};
use crate::tcp::scoreboard::Scoreboard;

#[derive(Clone, Debug, Default)]
pub struct Fack {
    dupacks: u32,
    /// `snd.nxt` when the recovery began, while it lasts.
    until: Option<u64>,
    /// After a timeout, no recovery before everything sent by then is acknowledged.
    not_before: u64,
    /// The retransmission that starts the recovery is still to go.
    first: bool,
}

/// Below the forward-most SACK everything that has not arrived is taken to have left.
const ALL_BELOW: u32 = 1;

/// Section 3: awnd = snd.nxt - snd.fack + retran_data, in segments.
fn awnd(board: &Scoreboard) -> u32 {
    (board.len() + board.resent_out()).saturating_sub(board.forward_acked())
}

impl Fack {
    fn enter(&mut self, repair: &mut Repair<'_>) {
        self.until = Some(repair.next);
        repair.cut(Signal::Duplicates, repair.flight());
        repair.stats.fast_retransmits += 1;
        // Duplicates without SACK information: the first segment is the lost one.
        repair.board.mark_lost(repair.board.first_index());
        self.first = true;
    }
}

impl Recovery for Fack {
    fn on_ack(&mut self, ack: &AckFacts, repair: &mut Repair<'_>) -> bool {
        self.dupacks = if ack.advanced { u32::from(ack.sacked > 0) } else { self.dupacks + u32::from(ack.duplicate) };
        if let Some(until) = self.until {
            if repair.una < until {
                repair.board.mark_lost_below_forward_ack(ALL_BELOW);
            } else {
                self.until = None;
                self.first = false;
                repair.cc.on_recovered(repair.now, repair.cc.cwnd());
            }
            return false;
        }
        // Section 4.1: (snd.fack - snd.una) > 3 MSS, or three duplicates.
        let lost = repair.board.forward_acked() > repair.threshold || self.dupacks >= repair.threshold || ack.late;
        if lost && repair.una >= self.not_before && !repair.board.is_empty() {
            self.enter(repair);
            repair.board.mark_lost_below_forward_ack(ALL_BELOW);
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
        *self = Fack { not_before: repair.next, ..Fack::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        cc.cwnd()
    }

    /// After a timeout the board counts less than awnd, as all it holds is lost.
    fn in_flight(&self, board: &Scoreboard) -> u32 {
        awnd(board).min(board.in_flight())
    }

    fn next_resend(&mut self, board: &mut Scoreboard) -> Option<Resend> {
        let index = board.next_lost()?;
        Some(if std::mem::take(&mut self.first) { Resend::Now(index) } else { Resend::IfRoom(index) })
    }

    fn active(&self) -> bool {
        self.until.is_some()
    }
}
