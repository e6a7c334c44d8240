//! The window between a mark and the end of the flight in which it came ("CWR", congestion window reduced): nothing is lost, so nothing
//! is repaired, but the window comes down in the way in which the host's recovery brings it down.

use super::prr::Reduction;
use super::rate_halving::Episode;
use super::{AckFacts, AnyRecovery, RateHalving, Repair};
use crate::tcp::cc::{AnyCc, CongestionControl, MarkUse};
use crate::units::{Span, Time};

#[derive(Clone, Debug)]
pub struct Cwr {
    /// First byte that had not been sent when it began.
    until: u64,
    /// Nor is it over before.
    earliest: Time,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    /// RFC 3168, section 6.1.2: the window is the new one at once, and nothing is sent until the flight fits.
    AtOnce,
    /// As proportional rate reduction does for losses (Linux 3.2 and later).
    Proportional(Reduction),
    /// Linux 2.6's CWR state: one segment less on every second ACK.
    Halving(Episode),
}

impl Cwr {
    /// The congestion control has been told, and has cut its window from `before`.
    pub fn begin(recovery: &AnyRecovery, before: f64, ack: &AckFacts, repair: &Repair<'_>) -> Cwr {
        let spacing = match repair.cc.marks() {
            MarkUse::Scalable { spacing } => spacing,
            _ => Span::ZERO,
        };
        let own_way = repair.cc.pacing_rate().is_some();
        let way = match recovery {
            _ if own_way => Way::AtOnce,
            AnyRecovery::Prr(_) | AnyRecovery::Rack(_) => Way::Proportional(Reduction::start(ack, repair)),
            AnyRecovery::RateHalving(_) => {
                // tcp_enter_cwr: no more than one above what is in flight.
                let window = libm::floor(before).min(f64::from(repair.board.in_flight()) + 1.0);
                Way::Halving(Episode::begin(repair.next, window))
            }
            _ => Way::AtOnce,
        };
        Cwr { until: repair.next, earliest: repair.now + spacing, way }
    }

    /// It lasts until something sent after it began has been acknowledged, as the receiver echoes the mark until that has come.
    pub fn over(&self, una: u64, now: Time) -> bool {
        una > self.until && now >= self.earliest
    }

    pub fn on_ack(&mut self, ack: &AckFacts, repair: &Repair<'_>) {
        match &mut self.way {
            Way::AtOnce => {}
            Way::Proportional(reduction) => reduction.on_ack(ack, repair),
            Way::Halving(episode) => RateHalving::fall(episode, repair),
        }
    }

    /// Segments that may be in flight now.
    pub fn window(&self, cc: &AnyCc) -> f64 {
        match &self.way {
            Way::AtOnce => cc.cwnd(),
            Way::Proportional(reduction) => reduction.window(cc),
            Way::Halving(episode) => episode.window(),
        }
    }

    /// Where it leaves the window.
    pub fn leave(&self, repair: &mut Repair<'_>) {
        if let Way::Halving(episode) = &self.way {
            repair.cc.on_recovered(repair.now, episode.window().min(repair.cc.ssthresh()));
        }
    }
}
