//! What a window is worth that has not been used: after a pause (RFC 5681, section 4.1, or RFC 2861), and while the application sends
//! less than it allows (RFC 2861, section 3.2). A variant that paces itself has its own measure of the path and keeps it.

use super::Sender;
use crate::tcp::cc::{CongestionControl, CongestionWindow};
use crate::tcp::config::IdleRestart;
use crate::tcp::recovery::Recovery;
use crate::tcp::scoreboard::Acked;
use crate::tcp::stats::Limit;
use crate::units::{Span, Time};

/// RFC 2861, section 3.2: the threshold remembers three quarters of a window that is given up.
const REMEMBERED: f64 = 0.75;

/// How much of the window has been in use since it last was all of it.
#[derive(Clone, Copy, Debug, Default)]
pub struct CwndUsage {
    /// W_used, in segments.
    used: f64,
    since: Time,
}

/// RFC 2861, section 3.1: half for each timeout that passed without a segment, down to the restart window.
fn decayed(window: CongestionWindow, restart: f64, idle: Span, rto: Span) -> CongestionWindow {
    let ssthresh = window.ssthresh.max(REMEMBERED * window.cwnd);
    let least = restart.min(window.cwnd);
    let halvings = (idle.0 / rto.0.max(1)).min(64);
    let cwnd = (0..halvings).fold(window.cwnd, |cwnd, _| libm::floor(cwnd / 2.0).max(least));
    CongestionWindow { cwnd, ssthresh }
}

impl Sender {
    /// Nothing was in flight because the application had nothing to send, and now it has.
    #[inline(never)]
    pub(super) fn end_idle(&mut self, now: Time) {
        let Some(last) = self.last_send else { return };
        let idle = now - last;
        self.cc.on_idle(now, idle);
        if let Some(cwv) = &mut self.cwv {
            cwv.on_pause(now, last, self.rtt.srtt().unwrap_or(Span::ZERO));
            cwv.expire(now, &mut self.cc, self.config.initial_window);
            return;
        }
        let rto = self.rtt.rto();
        if idle <= rto || self.cc.pacing_rate().is_some() {
            return;
        }
        let window = CongestionWindow { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        let restart = self.config.initial_window;
        match self.config.idle_restart {
            IdleRestart::Off => {}
            IdleRestart::Restart => self.cc.on_restart(now, CongestionWindow { cwnd: restart.min(window.cwnd), ..window }),
            IdleRestart::Decay => self.cc.on_restart(now, decayed(window, restart, idle, rto)),
        }
    }

    /// RFC 7661: an ACK of so many segments, before the recovery hears of it.
    #[inline(never)]
    pub(super) fn cwv_on_ack(&mut self, now: Time, acked: &Acked) {
        let repairing = self.recovery.active() || self.una <= self.rto_recovery_point;
        let srtt = self.rtt.srtt().unwrap_or(Span::ZERO);
        let Some(cwv) = &mut self.cwv else { return };
        if !repairing {
            cwv.on_ack(now, acked.segments, srtt);
            cwv.validated(now, self.cc.cwnd());
            cwv.expire(now, &mut self.cc, self.config.initial_window);
        }
        cwv.repairing = repairing;
    }

    /// And after it.
    pub(super) fn cwv_after_recovery(&mut self, now: Time) {
        let Some(cwv) = &mut self.cwv else { return };
        if cwv.repairing && !self.recovery.active() {
            cwv.on_recovered(now, &mut self.cc, self.stats.retransmitted_segments);
        }
    }

    /// Sending stops, held back by `limit`. RFC 2861, section 3.2: a window that has not been full for a timeout goes half way to what
    /// was used of it. A full send buffer is not the application's doing.
    #[inline(never)]
    pub(super) fn validate_window(&mut self, now: Time, limit: Limit) {
        let unused = matches!(limit, Limit::Application | Limit::ReceiveWindow);
        let flight = f64::from(self.scoreboard.in_flight());
        let repairing = self.recovery.active() || self.una <= self.rto_recovery_point;
        let Some(usage) = &mut self.usage else { return };
        if !unused || repairing {
            self.usage = Some(CwndUsage { used: 0.0, since: now });
            return;
        }
        usage.used = usage.used.max(flight);
        if now - usage.since < self.rtt.rto() {
            return;
        }
        let used = usage.used.max(self.config.initial_window);
        self.usage = Some(CwndUsage { used: 0.0, since: now });
        let (cwnd, ssthresh) = (self.cc.cwnd(), self.cc.ssthresh());
        if used < cwnd && self.cc.pacing_rate().is_none() {
            let window = CongestionWindow { cwnd: libm::floor((cwnd + used) / 2.0), ssthresh: ssthresh.max(REMEMBERED * cwnd) };
            self.cc.on_restart(now, window);
        }
    }
}

#[cfg(test)]
mod tests;
