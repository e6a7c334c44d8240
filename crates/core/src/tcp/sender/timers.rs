//! The retransmission timer (RFC 6298), the timer of the recovery, and zero window probes (RFC
//! 9293, section 3.8.6.1).

use super::write_queue::BurstPlan;
use super::{NONE, Sender};
use crate::tcp::cc::{Congestion, CongestionControl, CongestionSignal, LOSS_WINDOW};
use crate::tcp::info::CaState;
use crate::tcp::recovery::{Outstanding, Recovery};
use crate::tcp::scoreboard::Acked;
use crate::tcp::stats::SendLimit;
use crate::tcp::timer_wheel::TimerWheel;
use crate::units::{Span, Time};

/// The interval of zero window probes stops doubling here.
const MAX_PROBE_BACKOFF: u32 = 16;

impl Sender {
    /// RFC 6298, (5.2) and (5.3), unless the recovery keeps the timer running (RFC 6582, section
    /// 4).
    #[inline(always)]
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

    /// Runs the timers that have expired.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.recovery_timer {
            self.on_recovery_timer(now);
        }
        if now >= self.rto_at {
            self.on_timeout(now);
        }
    }

    fn on_recovery_timer(&mut self, now: Time) {
        let (recovery, mut ctx) = self.recovery_context(now);
        if recovery.on_timer(&mut ctx) {
            self.rto_at = now + self.rtt.rto();
        }
        self.take_cwr_flag();
        self.report_losses(now);
        if self.follows_state {
            self.report_state(now);
        }
    }

    /// RFC 6298, (5.4) to (5.6), and RFC 5681, section 3.1.
    fn on_timeout(&mut self, now: Time) {
        if self.scoreboard.is_empty() {
            self.rto_at = Time::NEVER;
            return;
        }
        self.stats.timeouts += 1;
        if self.mtu_search.is_some() {
            self.search_mtu_on_timeout(now);
        }
        if self.recovery.linux().is_some() {
            return self.on_linux_timeout(now);
        }
        self.save_for_undo();
        // A second timeout of the same segment leaves ssthresh unchanged (RFC 5681, below equation
        // (4)).
        let already_reduced = self.ecn.as_ref().is_some_and(|ecn| ecn.already_reduced(&self.cc));
        if self.timeouts_in_a_row > 0 || self.recovery.holds_threshold() || already_reduced {
            self.cc.on_recovered(now, LOSS_WINDOW);
        } else {
            self.stats.window_cuts += 1;
            let flight = f64::from(self.scoreboard.len()).min(libm::floor(self.reported_window()));
            self.cc.on_congestion(&Congestion { now, signal: CongestionSignal::Timeout, flight });
        }
        if let Some(cwv) = &mut self.window_cut.cwv {
            cwv.reset();
        }
        self.timeouts_in_a_row += 1;
        self.rto_recovery_point = self.next;
        self.timed_out = true;
        if let Some(ecn) = &mut self.ecn {
            ecn.on_rto();
        }
        self.scoreboard.mark_all_lost();
        self.report_losses(now);
        let (recovery, mut ctx) = self.recovery_context(now);
        recovery.on_timeout(&mut ctx);
        self.rtt.back_off();
        self.rto_at = now + self.rtt.rto();
        self.report_loss_state(now);
    }

    /// An RTO is reported to a congestion control that follows the state, each one
    /// (`tcp_enter_loss()`).
    fn report_loss_state(&mut self, now: Time) {
        if self.follows_state {
            self.known_state = CaState::Loss;
            let ack = self.cc_ack(now, &Acked::default(), None);
            self.cc.on_state(CaState::Loss, &ack);
        }
    }

    /// `tcp_retransmit_timer()`: Linux's recovery reduces the window.
    fn on_linux_timeout(&mut self, now: Time) {
        if let Some(cwv) = &mut self.window_cut.cwv {
            cwv.reset();
        }
        self.timeouts_in_a_row += 1;
        self.rto_recovery_point = self.next;
        self.timed_out = true;
        let (recovery, mut ctx) = self.recovery_context(now);
        recovery.on_timeout(&mut ctx);
        self.report_losses(now);
        self.report_loss_state(now);
        self.take_cwr_flag();
        self.rtt.back_off();
        let (recovery, mut ctx) = self.recovery_context(now);
        if let Some(linux) = recovery.linux_mut() {
            linux.restart_after_rto(&mut ctx);
        }
    }

    /// Starts F-RTO, and saves the congestion control at the first of several timeouts. Runs before
    /// anything is marked lost.
    fn save_for_undo(&mut self) {
        let Some(undo) = &mut self.window_cut.undo else { return };
        let first = self.timeouts_in_a_row == 0;
        let ambiguous = self.recovery.active() || self.una < self.rto_recovery_point || self.scoreboard.lost_out() > 0;
        let retransmitted_to = self.una + self.scoreboard.first().map_or(0, |s| u64::from(s.len));
        undo.frto.on_rto(ambiguous, first, (self.next, retransmitted_to));
        if first {
            let retrans_out = self.scoreboard.retrans_out();
            undo.save(&self.cc, Outstanding { una: self.una, next: self.next, retrans_out }, true);
        }
    }

    /// Starts the persist timer when the window is closed and nothing is in flight.
    #[inline]
    pub(super) fn check_window_closed(&mut self, now: Time, limit: SendLimit) {
        if !self.scoreboard.is_empty() || self.probe_at != Time::NEVER {
            return;
        }
        if self.persists {
            self.start_persist_timer(now, limit);
        } else if limit == SendLimit::ReceiveWindow {
            self.probe_at = self.next_probe(now);
        }
    }

    #[inline(always)]
    pub(super) fn check_probe(&mut self, now: Time) {
        if self.probe_at != Time::NEVER || self.probes > 0 {
            self.end_probes(now);
        }
    }

    /// The window has opened, or the probe due now has been answered.
    #[inline(never)]
    fn end_probes(&mut self, now: Time) {
        if self.persists {
            return;
        }
        if self.usable_window(self.recovery.in_flight(&self.scoreboard)) > 0 {
            self.probe_at = Time::NEVER;
            self.probes = 0;
        } else if self.probe_at <= now {
            self.probe_at = Time::NEVER;
        }
    }

    /// The sequence number of a zero window probe that is due: just below the window, so that the
    /// peer must answer.
    pub fn probe_due(&mut self, now: Time) -> Option<u64> {
        if self.probe_at > now {
            return None;
        }
        self.probes += 1;
        if self.persists {
            self.probe_backoff = (self.probe_backoff + 1).min(MAX_PROBE_BACKOFF);
            self.probe_at = self.wheel().expiry(now, self.probe_interval());
        } else {
            self.probe_at = self.next_probe(now);
        }
        Some(self.una - 1)
    }

    /// Nothing is in flight: data waits, whatever holds it (`tcp_check_probe_timer()`).
    #[inline(never)]
    fn start_persist_timer(&mut self, now: Time, limit: SendLimit) {
        let waits = limit == SendLimit::ReceiveWindow || (limit == SendLimit::Application && self.waiting_end().is_some());
        if waits {
            self.probe_at = self.wheel().expiry(now, self.probe_base());
        }
    }

    fn wheel(&self) -> TimerWheel {
        TimerWheel::new(&self.config)
    }

    /// The RTO, at least its minimum (`tcp_probe0_base()`).
    fn probe_base(&self) -> Span {
        self.rtt.rto().max(self.config.rto_min)
    }

    /// `tcp_probe0_when()`.
    fn probe_interval(&self) -> Span {
        let ratio = self.config.rto_max.0 / self.config.rto_min.0.max(1);
        let doublings = self.probe_backoff.min(ratio.checked_ilog2().unwrap_or(0) + 1);
        self.probe_base().saturating_mul(1 << doublings).min(self.config.rto_max)
    }

    /// End of the first packet that waits; the next sequence number if only a FIN waits.
    fn waiting_end(&self) -> Option<u64> {
        self.writes.as_ref().and_then(|writes| writes.first_end(self.next))
    }

    /// An ACK while nothing is in flight: a window that takes the first packet ends the probes, another
    /// starts the interval again (`tcp_ack_probe()`).
    #[cold]
    pub(super) fn on_ack_of_probe(&mut self, now: Time) {
        self.probes = 0;
        match self.waiting_end() {
            Some(end) if end > self.right_edge => self.probe_at = self.wheel().expiry(now, self.probe_interval()),
            _ => {
                self.probe_at = Time::NEVER;
                self.probe_backoff = 0;
            }
        }
    }

    /// The persist timer has expired and the window takes some data: that is sent, however little, up
    /// to the end of the first packet (`tcp_write_wakeup()`).
    pub(super) fn persist_burst(&self, now: Time, closing: bool) -> Option<BurstPlan> {
        let usable = self.right_edge.saturating_sub(self.next);
        if self.probe_at > now || usable == 0 || !self.persists {
            return None;
        }
        let packet = self.writes.as_ref()?.next_packet(self.next)?;
        let segment = self.segment_now();
        let len = (packet.end - self.next).min(usable).min(u64::from(segment));
        let end = self.next + len;
        let fin = closing && packet.last && end == packet.end && len < usable;
        let plan = BurstPlan { end, push: true, written_push: true, fin, segment };
        Some(plan)
    }

    /// The interval doubles with each probe.
    fn next_probe(&self, now: Time) -> Time {
        now + self.rtt.rto().saturating_mul(1 << self.probes.min(MAX_PROBE_BACKOFF)).min(self.config.rto_max)
    }

    #[inline]
    pub fn due(&self) -> Time {
        let due = self.rto_at.min(self.probe_at).min(self.recovery_timer);
        if self.limit == SendLimit::Pacing { self.pacer.map_or(due, |p| due.min(p.next())) } else { due }
    }
}
