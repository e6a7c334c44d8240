//! Reno: `tcp_reno_cong_avoid()` and `tcp_reno_ssthresh()`.

use super::{Cut, Event, LinuxControl, LinuxWindow, MIN_WINDOW};
use crate::tcp::cc::{CongestionSignal, EcnAgreement};

#[derive(Clone, Debug, Default)]
pub struct RenoControl {
    /// Share of the window that a mark leaves, where the host has that of RFC 8511.
    beta_ecn: Option<f64>,
}

impl LinuxControl for RenoControl {
    #[inline]
    fn cong_avoid(&mut self, window: &mut LinuxWindow, event: &Event<'_>) {
        window.reno_cong_avoid(event.ack);
    }

    fn ssthresh(&mut self, _window: &LinuxWindow, cut: &Cut) -> u32 {
        match self.beta_ecn {
            Some(beta) if cut.signal == CongestionSignal::Ecn => ((f64::from(cut.flight) * beta) as u32).max(MIN_WINDOW),
            _ => cut.half(),
        }
    }

    fn on_ecn_negotiated(&mut self, agreement: &EcnAgreement) {
        self.beta_ecn = agreement.beta;
    }
}
