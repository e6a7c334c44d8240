//! NewReno (RFC 6582): fast recovery lasts until everything sent before it is acknowledged; each partial ACK shows the next hole.

use super::{AckFacts, LIMITED_TRANSMIT, Recovery, Repair, Resend};
use crate::tcp::cc::{AnyCc, CongestionControl, LOSS_WINDOW, Signal};
use crate::tcp::config::NewRenoExit;
use crate::tcp::scoreboard::{Index, Scoreboard};

#[derive(Clone, Debug, Default)]
pub struct NewReno {
    dupacks: u32,
    /// New segments that the first duplicate ACKs allow beyond the window (RFC 3042).
    allowance: u32,
    episode: Option<Episode>,
    /// "recover" of RFC 6582, section 3.2: no fast retransmit for duplicates of what a timeout resent.
    recover: u64,
    resend: Option<Index>,
}

#[derive(Clone, Copy, Debug)]
struct Episode {
    /// Segments by which the window stands above ssthresh; below it when partial ACKs took more than duplicates had brought.
    inflation: i64,
    partial_acks: u32,
}

impl NewReno {
    /// No second cut for what a timeout or an earlier recovery is repairing.
    fn may_enter(&self, repair: &Repair<'_>) -> bool {
        repair.una > self.recover && repair.board.lost_out() == 0 && !repair.board.is_empty()
    }

    /// Section 3.2, step 2.
    fn enter(&mut self, repair: &mut Repair<'_>) {
        self.recover = repair.next;
        repair.cut(Signal::Duplicates, repair.flight());
        repair.stats.fast_retransmits += 1;
        self.allowance = 0;
        self.resend = Some(repair.board.first_index());
        self.episode = Some(Episode { inflation: i64::from(self.dupacks), partial_acks: 0 });
    }

    /// Section 3.2, step 3: a full ACK ends it, a partial one shows the next hole.
    fn on_new_data(&mut self, episode: Episode, ack: &AckFacts, repair: &mut Repair<'_>) {
        if repair.una >= self.recover {
            let flight = f64::from(repair.board.len().max(1)) + 1.0;
            let window = match repair.newreno_exit {
                NewRenoExit::Flight => repair.cc.ssthresh().min(flight),
                NewRenoExit::Threshold => repair.cc.ssthresh(),
            };
            repair.cc.on_recovered(repair.now, window);
            self.episode = None;
        } else {
            // Deflate by what was acknowledged and add one back, as the retransmission it shows leaves.
            let inflation = episode.inflation - i64::from(ack.acked) + i64::from(ack.acked > 0);
            self.episode = Some(Episode { inflation, partial_acks: episode.partial_acks + 1 });
            self.resend = Some(repair.board.first_index());
        }
    }
}

impl Recovery for NewReno {
    fn on_ack(&mut self, ack: &AckFacts, repair: &mut Repair<'_>) -> bool {
        if ack.advanced {
            self.dupacks = 0;
            self.allowance = 0;
            if ack.enough && self.episode.is_none() && self.may_enter(repair) {
                // What it newly acknowledges was all that had come before the gap.
                self.dupacks = repair.threshold;
                self.enter(repair);
                return false;
            }
            let Some(episode) = self.episode else { return true };
            self.on_new_data(episode, ack, repair);
            return false;
        }
        if ack.duplicate {
            let before = self.dupacks;
            self.dupacks = if ack.enough { (before + 1).max(repair.threshold) } else { before + 1 };
            if let Some(episode) = &mut self.episode {
                episode.inflation += 1;
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
        (self.dupacks, self.allowance) = (0, 0);
        self.episode.is_none()
    }

    fn on_timeout(&mut self, repair: &mut Repair<'_>) {
        *self = NewReno { recover: repair.next, ..NewReno::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        let beyond = self.episode.map_or(i64::from(self.allowance), |e| e.inflation);
        (cc.cwnd() + beyond as f64).max(LOSS_WINDOW)
    }

    fn in_flight(&self, board: &Scoreboard) -> u32 {
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
        self.episode.is_some()
    }

    /// The impatient variant of section 4: only the first partial ACK restarts the timer.
    fn restarts_timer(&self) -> bool {
        self.episode.is_none_or(|e| e.partial_acks <= 1)
    }
}
