//! The window between a mark and the end of the flight in which it came ("CWR", congestion window reduced): nothing is lost, so nothing
//! is repaired, but the window comes down in the way in which the host's recovery brings it down.

use super::prr::Reduction;
use super::rate_halving::HalvingEpisode;
use super::{AckInfo, AnyRecovery, RateHalving, RecoveryContext};
use crate::tcp::cc::{AnyCc, CongestionControl, EcnResponse};
use crate::units::{Span, Time};

#[derive(Clone, Debug)]
pub struct Cwr {
    /// First byte that had not been sent when it began.
    until: u64,
    /// Nor is it over before.
    earliest: Time,
    reduction: CwrReduction,
}

#[derive(Clone, Debug)]
enum CwrReduction {
    /// RFC 3168, section 6.1.2: the window is the new one at once, and nothing is sent until the flight fits.
    AtOnce,
    /// As proportional rate reduction does for losses (Linux 3.2 and later).
    Proportional(Reduction),
    /// Linux 2.6's CWR state: one segment less on every second ACK.
    Halving(HalvingEpisode),
}

impl Cwr {
    /// The congestion control has been told, and has cut its window from `before`.
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
                // tcp_enter_cwr: no more than one above what is in flight.
                let window = libm::floor(before).min(f64::from(ctx.scoreboard.in_flight()) + 1.0);
                CwrReduction::Halving(HalvingEpisode::begin(ctx.next, window))
            }
            _ => CwrReduction::AtOnce,
        };
        Cwr { until: ctx.next, earliest: ctx.now + spacing, reduction }
    }

    /// It lasts until something sent after it began has been acknowledged, as the receiver echoes the mark until that has come.
    pub fn over(&self, una: u64, now: Time) -> bool {
        una > self.until && now >= self.earliest
    }

    pub fn on_ack(&mut self, ack: &AckInfo, ctx: &RecoveryContext<'_>) {
        match &mut self.reduction {
            CwrReduction::AtOnce => {}
            CwrReduction::Proportional(reduction) => reduction.on_ack(ack, ctx),
            CwrReduction::Halving(episode) => RateHalving::fall(episode, ctx),
        }
    }

    /// Segments that may be in flight now.
    pub fn window(&self, cc: &AnyCc) -> f64 {
        match &self.reduction {
            CwrReduction::AtOnce => cc.cwnd(),
            CwrReduction::Proportional(reduction) => reduction.window(cc),
            CwrReduction::Halving(episode) => episode.window(),
        }
    }

    /// Where it leaves the window.
    pub fn leave(&self, ctx: &mut RecoveryContext<'_>) {
        if let CwrReduction::Halving(episode) = &self.reduction {
            ctx.cc.on_recovered(ctx.now, episode.window().min(ctx.cc.ssthresh()));
        }
    }
}
