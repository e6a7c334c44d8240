//! Congestion window reduced (CWR): the window from an ECN mark to the end of the flight in which
//! it arrived. Nothing is lost or repaired; the window falls as the host's recovery lets it fall.

use super::prr::Reduction;
use super::rate_halving::HalvingEpisode;
use super::{AckInfo, AnyRecovery, RateHalving, RecoveryContext};
use crate::tcp::cc::{AnyCc, CongestionControl, EcnResponse};
use crate::units::{Span, Time};

#[derive(Clone, Debug)]
pub struct Cwr {
    /// snd.nxt at the start.
    recovery_point: u64,
    /// CWR does not end before this time.
    earliest: Time,
    reduction: CwrReduction,
}

#[derive(Clone, Debug)]
enum CwrReduction {
    /// RFC 3168, section 6.1.2: the window falls at once, and nothing is sent until the flight
    /// fits.
    AtOnce,
    /// Proportional rate reduction, as for losses (Linux since 3.2).
    Proportional(Reduction),
    /// Linux 2.6's CWR state: the window falls by one segment on every second ACK.
    Halving(HalvingEpisode),
}

impl Cwr {
    /// The congestion control has reduced its window from `before`.
    pub fn begin(recovery: &AnyRecovery, before: f64, ack: &AckInfo, ctx: &RecoveryContext<'_>) -> Cwr {
        let spacing = match ctx.cc.ecn_response() {
            EcnResponse::Scalable { spacing } => spacing,
            _ => Span::ZERO,
        };
        let controls_window = ctx.cc.pacing_rate().is_some();
        let reduction = match recovery {
            _ if controls_window => CwrReduction::AtOnce,
            AnyRecovery::Prr(_) | AnyRecovery::Rack(_) => CwrReduction::Proportional(Reduction::start(ack, ctx)),
            AnyRecovery::RateHalving(_) => {
                // tcp_enter_cwr: at most one segment above the flight.
                let window = libm::floor(before).min(f64::from(ctx.scoreboard.in_flight()) + 1.0);
                CwrReduction::Halving(HalvingEpisode::begin(ctx.next, window))
            }
            _ => CwrReduction::AtOnce,
        };
        Cwr { recovery_point: ctx.next, earliest: ctx.now + spacing, reduction }
    }

    /// CWR lasts until data sent after its start is acknowledged: until then the receiver echoes
    /// the mark.
    pub fn over(&self, una: u64, now: Time) -> bool {
        una > self.recovery_point && now >= self.earliest
    }

    pub fn on_ack(&mut self, ack: &AckInfo, ctx: &RecoveryContext<'_>) {
        match &mut self.reduction {
            CwrReduction::AtOnce => {}
            CwrReduction::Proportional(reduction) => reduction.on_ack(ack, ctx),
            CwrReduction::Halving(episode) => RateHalving::fall(episode, ctx),
        }
    }

    /// The window in force, in segments.
    pub fn window(&self, cc: &AnyCc) -> f64 {
        match &self.reduction {
            CwrReduction::AtOnce => cc.cwnd(),
            CwrReduction::Proportional(reduction) => reduction.window(cc),
            CwrReduction::Halving(episode) => episode.window(),
        }
    }

    /// Sets the window at the end of CWR.
    pub fn leave(&self, ctx: &mut RecoveryContext<'_>) {
        if let CwrReduction::Halving(episode) = &self.reduction {
            ctx.cc.on_recovered(ctx.now, episode.window().min(ctx.cc.ssthresh()));
        }
    }
}
