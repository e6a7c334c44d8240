//! The retransmission timer and the probing of a closed window.

use super::{NONE, Sender};
use crate::tcp::cc::{Congestion, CongestionControl, CongestionSignal, LOSS_WINDOW};
use crate::tcp::recovery::Recovery;
use crate::tcp::stats::Limit;
use crate::units::Time;

impl Sender {
    /// RFC 6298, (5.2) and (5.3), unless the recovery holds the timer (RFC 6582, section 4).
    #[inline]
    pub(super) fn restart_timer(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.rto_at = Time::NEVER;
            if self.fin != NONE {
                self.save_path_metrics();
            }
        } else if self.recovery.restarts_timer() {
            self.rto_at = now + self.rtt.rto();
        }
    }

    /// A timer may have gone off.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.repair_at {
            self.on_repair_timer(now);
        }
        if now >= self.rto_at {
            self.on_timeout(now);
        }
    }

    fn on_repair_timer(&mut self, now: Time) {
        let (recovery, mut ctx) = self.recovery_context(now);
        if recovery.on_timer(&mut ctx) {
            self.rto_at = now + self.rtt.rto();
        }
        self.report_losses(now);
    }

    /// RFC 6298, (5.4) to (5.6), and RFC 5681, section 3.1.
    fn on_timeout(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.rto_at = Time::NEVER;
            return;
        }
        self.stats.timeouts += 1;
        self.start_frto();
        if self.timeouts_in_a_row == 0
            && let Some(undo) = &mut self.undo
        {
            undo.save(&self.cc, (self.una, self.next), true);
        }
        // A segment that times out again holds ssthresh where it is (RFC 5681, below equation (4)).
        if self.timeouts_in_a_row > 0 || self.recovery.holds_threshold() || self.in_cwr() {
            self.cc.on_recovered(now, LOSS_WINDOW);
        } else {
            self.stats.window_cuts += 1;
            let flight = f64::from(self.scoreboard.len()).min(libm::floor(self.reported_window()));
            self.cc.on_congestion(&Congestion { now, signal: CongestionSignal::Timeout, flight });
        }
        if let Some(cwv) = &mut self.cwv {
            cwv.reset();
        }
        self.timeouts_in_a_row += 1;
        self.rto_recovery_point = self.next;
        self.timed_out = true;
        self.end_cwr();
        self.scoreboard.mark_all_lost();
        self.report_losses(now);
        let (recovery, mut ctx) = self.recovery_context(now);
        recovery.on_timeout(&mut ctx);
        self.rtt.back_off();
        self.rto_at = now + self.rtt.rto();
    }

    /// RFC 9293, section 3.8.6.1: a closed window with nothing in flight is probed, at growing intervals.
    #[inline]
    pub(super) fn check_window_closed(&mut self, now: Time, limit: Limit) {
        if limit == Limit::ReceiveWindow && self.scoreboard.is_empty() && self.probe_at == Time::NEVER {
            self.probe_at = now + self.rtt.rto().saturating_mul(1 << self.probes.min(16)).min(self.config.rto.max);
        }
    }

    #[inline]
    pub(super) fn check_probe(&mut self, now: Time) {
        if self.probe_at == Time::NEVER && self.probes == 0 {
            return;
        }
        if self.usable_window(self.recovery.in_flight(&self.scoreboard)) > 0 {
            self.probe_at = Time::NEVER;
            self.probes = 0;
        } else if self.probe_at <= now {
            self.probe_at = Time::NEVER;
        }
    }

    /// A window probe is due: a segment without payload just below the window, which the peer must answer.
    pub fn probe_due(&mut self, now: Time) -> Option<u64> {
        if self.probe_at > now {
            return None;
        }
        self.probes += 1;
        self.probe_at = now + self.rtt.rto().saturating_mul(1 << self.probes.min(16)).min(self.config.rto.max);
        Some(self.una - 1)
    }

    #[inline]
    pub fn due(&self) -> Time {
        let due = self.rto_at.min(self.probe_at).min(self.repair_at);
        if self.limit == Limit::Pacing { self.pacer.map_or(due, |p| due.min(p.next())) } else { due }
    }
}
