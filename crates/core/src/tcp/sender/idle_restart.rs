//! Restart after idle (RFC 5681, section 4.1; RFC 2861, section 3.1) and validation of a window
//! that the application does not fill (RFC 2861, section 3.2).

use crate::tcp::cc::CongestionWindow;
use crate::tcp::config::IdleRestart;
use crate::units::{Span, Time};

/// RFC 2861, section 3.2: ssthresh keeps three quarters of a window that is given up.
const SSTHRESH_SHARE: f64 = 0.75;

/// W_used of RFC 2861: the largest flight since the window was last full, in segments.
#[derive(Clone, Copy, Debug, Default)]
pub struct CwndUsage {
    used: f64,
    since: Time,
    /// snd.nxt at the last call.
    next: u64,
}

impl CwndUsage {
    /// The window was full, or losses are being repaired: the period starts now.
    pub fn restart(&mut self, now: Time) {
        (self.used, self.since) = (0.0, now);
    }

    /// Segments were sent since the last call. The window is validated when they are (RFC 2861,
    /// section 3.2; Linux, `tcp_write_xmit()`), not while a sender waits.
    pub fn has_sent(&mut self, next: u64) -> bool {
        std::mem::replace(&mut self.next, next) != next
    }

    /// Sending stopped although the window had room. After one RTO of that, cwnd moves half way to
    /// what was used of it (RFC 2861, section 3.2).
    pub fn on_unused(
        &mut self,
        now: Time,
        flight: f64,
        rto: Span,
        min_cwnd: f64,
        window: CongestionWindow,
    ) -> Option<CongestionWindow> {
        self.used = self.used.max(flight);
        if now - self.since < rto {
            return None;
        }
        let used = self.used.max(min_cwnd);
        self.restart(now);
        (used < window.cwnd).then(|| CongestionWindow {
            cwnd: libm::floor((window.cwnd + used) / 2.0),
            ssthresh: window.ssthresh.max(SSTHRESH_SHARE * window.cwnd),
        })
    }
}

/// The window after an idle period longer than the RTO; None leaves it unchanged. `restart` is the
/// restart window.
pub fn window_after_idle(
    rule: IdleRestart,
    window: CongestionWindow,
    restart: f64,
    idle: Span,
    rto: Span,
) -> Option<CongestionWindow> {
    match rule {
        IdleRestart::Off => None,
        IdleRestart::Restart => Some(CongestionWindow { cwnd: restart.min(window.cwnd), ..window }),
        IdleRestart::Decay => Some(decayed(window, restart, idle, rto)),
    }
}

/// RFC 2861, section 3.1: cwnd is halved for each RTO without a segment, down to the restart
/// window.
fn decayed(window: CongestionWindow, restart: f64, idle: Span, rto: Span) -> CongestionWindow {
    let ssthresh = window.ssthresh.max(SSTHRESH_SHARE * window.cwnd);
    let min_cwnd = restart.min(window.cwnd);
    let halvings = (idle.0 / rto.0.max(1)).min(64);
    let cwnd = (0..halvings).fold(window.cwnd, |cwnd, _| libm::floor(cwnd / 2.0).max(min_cwnd));
    CongestionWindow { cwnd, ssthresh }
}

#[cfg(test)]
mod tests;
