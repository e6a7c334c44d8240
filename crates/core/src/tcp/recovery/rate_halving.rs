//! Linux 2.6's recovery: FACK finds the losses, and the window falls by one on every second ACK until it is halved
//! (Mathis, Semke and Mahdavi's rate-halving draft, 1999; how 2.6.22 does it is described in `docs/models/rate-halving.md`).

use super::{AckFacts, Recovery, Repair, Resend};
use crate::tcp::cc::{AnyCc, CongestionControl, Signal};
use crate::tcp::scoreboard::Scoreboard;

#[derive(Clone, Debug, Default)]
pub struct RateHalving {
    episode: Option<Episode>,
    /// After a timeout, no fast recovery before everything sent by then is acknowledged.
    not_before: u64,
    dupacks: u32,
}

/// A window on its way down.
#[derive(Clone, Copy, Debug)]
pub struct Episode {
    until: u64,
    /// The window in force, whole segments.
    window: f64,
    odd: bool,
}

impl Episode {
    pub fn begin(until: u64, window: f64) -> Episode {
        Episode { until, window, odd: false }
    }
    pub fn window(&self) -> f64 {
        self.window
    }
}

/// A window is never more than this above what is in flight once an ACK is doubtful, so that no burst follows.
const MAX_BURST: f64 = 3.0;

impl RateHalving {
    fn enter(&mut self, repair: &mut Repair<'_>) {
        let window = libm::floor(repair.cc.cwnd());
        repair.cut(Signal::Duplicates, window);
        repair.stats.fast_retransmits += 1;
        if repair.board.lost_out() == 0 {
            repair.board.mark_lost(repair.board.first_index());
        }
        self.episode = Some(Episode::begin(repair.next, window));
    }

    /// One segment less on every second ACK, down to where the variant lets it, and never far above what is in flight.
    pub(super) fn fall(episode: &mut Episode, repair: &Repair<'_>) {
        if episode.odd && episode.window > repair.cc.halving_floor() {
            episode.window -= 1.0;
        }
        episode.odd = !episode.odd;
        episode.window = episode.window.min(f64::from(repair.board.in_flight()) + 1.0);
    }

    fn leave(&mut self, episode: Episode, repair: &mut Repair<'_>) {
        self.episode = None;
        self.dupacks = 0;
        repair.cc.on_recovered(repair.now, episode.window.min(repair.cc.ssthresh()));
        Self::moderate(repair);
    }

    /// Doubtful ACKs outside a recovery, and its last: the window follows what is in flight.
    fn moderate(repair: &mut Repair<'_>) {
        let most = f64::from(repair.board.in_flight()) + MAX_BURST;
        if repair.cc.cwnd() > most {
            repair.cc.on_recovered(repair.now, most);
        }
    }
}

impl Recovery for RateHalving {
    fn on_ack(&mut self, ack: &AckFacts, repair: &mut Repair<'_>) -> bool {
        if repair.board.sacked_out() > 0 {
            repair.board.mark_lost_below_forward_ack(repair.threshold);
            repair.board.mark_lost_resends();
        }
        self.dupacks = if ack.advanced { 0 } else { self.dupacks + u32::from(ack.duplicate) };
        if let Some(mut episode) = self.episode {
            if repair.una >= episode.until {
                self.leave(episode, repair);
            } else {
                Self::fall(&mut episode, repair);
                self.episode = Some(episode);
            }
            return false;
        }
        if repair.una < self.not_before {
            Self::moderate(repair);
            return ack.advanced;
        }
        let lost = repair.board.lost_out() > 0 || self.dupacks >= repair.threshold || ack.late;
        if lost && !repair.board.is_empty() {
            self.enter(repair);
            if let Some(episode) = &mut self.episode {
                Self::fall(episode, repair);
            }
            return false;
        }
        if repair.board.sacked_out() > 0 {
            Self::moderate(repair);
        }
        ack.advanced
    }

    #[inline]
    fn on_clean_ack(&mut self, una: u64) -> bool {
        self.dupacks = 0;
        self.episode.is_none() && una >= self.not_before
    }

    fn on_timeout(&mut self, repair: &mut Repair<'_>) {
        *self = RateHalving { not_before: repair.next, ..RateHalving::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        self.episode.map_or_else(|| cc.cwnd(), |e| e.window)
    }

    fn next_resend(&mut self, board: &mut Scoreboard) -> Option<Resend> {
        board.next_lost().map(Resend::IfRoom)
    }

    fn active(&self) -> bool {
        self.episode.is_some()
    }

    /// The kernel sets the threshold once a window: a timeout inside a recovery leaves it.
    fn holds_threshold(&self) -> bool {
        self.active()
    }

    fn reported_window(&self, cc: &AnyCc) -> f64 {
        self.window(cc)
    }
}
