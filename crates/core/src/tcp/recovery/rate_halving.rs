//! Linux 2.6's recovery: losses by FACK, and the window falls by one segment on every second ACK
//! until it is halved (Mathis, Semke and Mahdavi's rate-halving draft, 1999; 2.6.22 in
//! `docs/models/rate-halving.md`).

use super::{AckInfo, Recovery, RecoveryContext, Retransmit};
use crate::tcp::cc::{AnyCc, CongestionControl, CongestionSignal};
use crate::tcp::scoreboard::Scoreboard;

#[derive(Clone, Debug, Default)]
pub struct RateHalving {
    episode: Option<HalvingEpisode>,
    /// snd.nxt at the last RTO: no fast recovery starts below it.
    not_before: u64,
    dupacks: u32,
}

/// A window that is being halved.
#[derive(Clone, Copy, Debug)]
pub struct HalvingEpisode {
    recovery_point: u64,
    /// The window in force, in whole segments.
    window: f64,
    odd: bool,
}

impl HalvingEpisode {
    pub fn begin(recovery_point: u64, window: f64) -> HalvingEpisode {
        HalvingEpisode { recovery_point, window, odd: false }
    }
    pub fn window(&self) -> f64 {
        self.window
    }
}

/// On a dubious ACK (Linux's term) the window is at most this many segments above the flight, so
/// that no burst follows.
const MAX_BURST: f64 = 3.0;

impl RateHalving {
    fn enter(&mut self, ctx: &mut RecoveryContext<'_>) {
        let window = libm::floor(ctx.cc.cwnd());
        ctx.cut(CongestionSignal::Duplicates, window);
        ctx.stats.fast_retransmits += 1;
        if ctx.scoreboard.lost_out() == 0 {
            ctx.scoreboard.mark_lost(ctx.scoreboard.first_index());
        }
        self.episode = Some(HalvingEpisode::begin(ctx.next, window));
    }

    /// Reduces the window by one segment on every second ACK, to no less than the variant's floor
    /// and at most one segment above the flight.
    pub(super) fn fall(episode: &mut HalvingEpisode, ctx: &RecoveryContext<'_>) {
        if episode.odd && episode.window > ctx.cc.halving_floor() {
            episode.window -= 1.0;
        }
        episode.odd = !episode.odd;
        episode.window = episode.window.min(f64::from(ctx.scoreboard.in_flight()) + 1.0);
    }

    fn leave(&mut self, episode: HalvingEpisode, ctx: &mut RecoveryContext<'_>) {
        self.episode = None;
        self.dupacks = 0;
        ctx.cc.on_recovered(ctx.now, episode.window.min(ctx.cc.ssthresh()));
        Self::moderate(ctx);
    }

    /// On dubious ACKs outside a recovery, and on its last: cwnd moderation (Linux).
    fn moderate(ctx: &mut RecoveryContext<'_>) {
        let max_cwnd = f64::from(ctx.scoreboard.in_flight()) + MAX_BURST;
        if ctx.cc.cwnd() > max_cwnd {
            ctx.cc.on_recovered(ctx.now, max_cwnd);
        }
    }
}

impl Recovery for RateHalving {
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        if ctx.scoreboard.sacked_out() > 0 {
            ctx.scoreboard.mark_lost_below_forward_ack(ctx.threshold);
            ctx.scoreboard.mark_lost_retransmissions();
        }
        self.dupacks = if ack.advanced { 0 } else { self.dupacks + u32::from(ack.duplicate) };
        if let Some(mut episode) = self.episode {
            if ctx.una >= episode.recovery_point {
                self.leave(episode, ctx);
            } else {
                Self::fall(&mut episode, ctx);
                self.episode = Some(episode);
            }
            return false;
        }
        if ctx.una < self.not_before {
            Self::moderate(ctx);
            return ack.advanced;
        }
        let lost = ctx.scoreboard.lost_out() > 0 || self.dupacks >= ctx.threshold || ack.fine_timer_expired;
        if lost && !ctx.scoreboard.is_empty() {
            self.enter(ctx);
            if let Some(episode) = &mut self.episode {
                Self::fall(episode, ctx);
            }
            return false;
        }
        if ctx.scoreboard.sacked_out() > 0 {
            Self::moderate(ctx);
        }
        ack.advanced
    }

    #[inline]
    fn on_clean_ack(&mut self, una: u64) -> bool {
        self.dupacks = 0;
        self.episode.is_none() && una >= self.not_before
    }

    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        *self = RateHalving { not_before: ctx.next, ..RateHalving::default() };
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        self.episode.map_or_else(|| cc.cwnd(), |e| e.window)
    }

    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
        scoreboard.next_lost().map(Retransmit::IfRoom)
    }

    fn active(&self) -> bool {
        self.episode.is_some()
    }

    /// The kernel sets ssthresh once per window: an RTO inside a recovery leaves it unchanged.
    fn holds_threshold(&self) -> bool {
        self.active()
    }

    fn reported_window(&self, cc: &AnyCc) -> f64 {
        self.window(cc)
    }
}
