//! The slow path of an ACK: scoreboard, recovery, ECN, undo and congestion control.

use super::Sender;
use super::undo::{UndoVerdict, dsack_block};
use crate::packet::{Flags, Segment};
use crate::tcp::cc::{Ack, CongestionControl, EcnResponse};
use crate::tcp::config::RtoRestart;
use crate::tcp::delivery_rate::AckDelivery;
use crate::tcp::ecn::MarkReport;
use crate::tcp::info::CaState;
use crate::tcp::pacer::Pacer;
use crate::tcp::recovery::{AckInfo, AnyRecovery, LinuxAck, LinuxRecovery, Recovery, RecoveryContext};
use crate::tcp::scoreboard::Acked;
use crate::tcp::stats::SendLimit;
use crate::tcp::timestamps::TimestampEcho;
use crate::units::{Span, Time};

impl Sender {
    /// The window of a segment that is newer than the last one read: RFC 9293, section 3.10.7.4
    /// (SND.WL1, SND.WL2). Of segments with the same numbers a reordered one may be older, so only a
    /// larger window or a closed one counts (4.4BSD; Linux, `tcp_may_update_window()`). The right
    /// edge moves left where the peer shrinks its window (section 3.8.6). Returns whether the window
    /// was read.
    #[inline(always)]
    pub(super) fn update_window(&mut self, segment: &Segment) -> bool {
        let window = u64::from(segment.window);
        let newer = segment.ack > self.una || segment.seq > self.window_seq;
        let updates = newer || (segment.seq == self.window_seq && (window > self.peer_window || window == 0));
        if updates {
            self.window_seq = segment.seq;
            self.set_window(segment.ack, window);
        }
        updates
    }

    #[inline(always)]
    pub(super) fn set_window(&mut self, ack: u64, window: u64) {
        self.peer_window = window;
        if window > self.largest_window {
            self.largest_window = window;
            self.bound_segment();
        }
        self.right_edge = ack + window;
    }

    /// RFC 5961, section 5.2 (RFC 9293, section 3.10.7.4): an ACK number is acceptable from the
    /// largest window below snd.una to snd.nxt.
    #[inline]
    pub fn accepts_ack(&self, ack: u64) -> bool {
        ack <= self.next && (ack >= self.una || self.accepts_old_ack(ack))
    }

    #[cold]
    fn accepts_old_ack(&self, ack: u64) -> bool {
        ack.saturating_add(self.largest_window) >= self.una
    }

    /// Processes an ACK, on the fast path if it acknowledges new data and there is no SACK, loss or
    /// mark.
    #[inline(always)]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        let acceptable = segment.ack <= self.next && segment.ack >= self.una;
        if acceptable && !self.is_redundant(segment) {
            match self.in_packets {
                true => self.on_ack_in_packets(now, segment, echo),
                false => self.on_ack(now, segment, echo),
            }
        } else if segment.ack < self.una && !segment.sack.is_empty() {
            self.on_overtaken_ack(now, segment, echo);
        }
    }

    /// An ACK that a later one has overtaken: its SACK blocks count, its ACK number and window do not
    /// (RFC 6675, section 2; Linux, `tcp_ack()`, `old_ack`).
    #[cold]
    #[inline(never)]
    fn on_overtaken_ack(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        let mut linux = self.linux_ack(segment, echo);
        (linux.old, linux.has_blocks) = (true, true);
        let (sacked, dsack) = self.apply_sack(segment);
        self.scoreboard.take_sacked_once();
        if sacked == 0 && !dsack && self.recovery.linux().is_none() {
            return;
        }
        let duplicate = sacked > 0 && self.config.recovery.uses_sack();
        let info = AckInfo { sacked, duplicate, dsack, echo: echo.rtt(), linux, ..AckInfo::default() };
        if self.window_cut.undo.is_some() {
            self.check_undo(now, segment, &info);
        }
        let (recovery, mut ctx) = self.recovery_context(now);
        recovery.on_ack(&info, &mut ctx);
        self.take_cwr_flag();
        if let Some(cwv) = &mut self.window_cut.cwv {
            cwv.after_recovery(now, self.recovery.active(), &mut self.cc, self.stats.retransmitted_segments);
        }
        if self.delivery_rate.is_some() {
            self.sample_delivery_rate(now, &Acked::default(), &info);
        }
    }

    /// An acceptable ACK. Out of line, as a receiver of data has few.
    #[inline(never)]
    fn on_ack(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        let plain = !segment.dupacks_seen && segment.sack.is_empty();
        let clean = segment.ack > self.una && plain && self.scoreboard.is_clean();
        let fast = clean && !self.needs_slow_path && !self.window_cut.can_undo() && self.known_state == CaState::Open;
        #[cfg(any(test, feature = "slow-path"))]
        let fast = fast && crate::shortcuts::take();
        if fast && self.recovery.on_clean_ack(segment.ack) {
            self.fast_path_ack(now, segment, echo);
        } else {
            self.slow_path_ack(now, segment, echo);
        }
        if self.mtu_search.is_some() {
            self.check_mtu_probe(now);
        }
        if self.reported_mtu.is_some() {
            self.forget_reported_mtu(now);
        }
    }

    /// As `on_ack`, where Linux's packets divide what is sent.
    #[inline(never)]
    fn on_ack_in_packets(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        let idle = self.persists && self.scoreboard.is_empty();
        self.on_ack(now, segment, echo);
        if idle {
            self.on_ack_of_probe(now);
        }
        if let Some(writes) = &mut self.writes {
            writes.holds_more = false;
        }
    }

    #[inline(never)]
    fn slow_path_ack(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        let flight_before = self.scoreboard.len();
        let same_window = u64::from(segment.window) == self.peer_window;
        let mut linux = self.linux_ack(segment, echo);
        let updated = self.update_window(segment);
        let (sacked, dsack) = if segment.sack.is_empty() { (0, false) } else { self.apply_sack(segment) };
        let sacked_once = if sacked > 0 { self.scoreboard.take_sacked_once() } else { None };
        let advanced = segment.ack > self.una;
        let acked = if advanced { self.scoreboard.ack_to(segment.ack) } else { Acked::default() };
        if advanced {
            self.advance(now, segment.ack, &acked, echo, sacked_once);
        }
        let (sacked_rtt, timed_by_sack) = self.sample_sacked_rtt(now, advanced, sacked_once);
        let data = segment.payload > 0 || segment.flags.any(Flags::SYN.with(Flags::FIN));
        (linux.not_duplicate, linux.timed_by_sack) = (updated || data, timed_by_sack);
        let pure = segment.payload == 0 && !segment.flags.any(Flags::SYN.with(Flags::FIN));
        let duplicate = !advanced && flight_before > 0 && (sacked > 0 || (pure && same_window && segment.sack.is_empty()));
        let mut info = AckInfo {
            advanced,
            acked: acked.segments,
            sacked_before: acked.sacked_before,
            sacked,
            duplicate,
            dupthresh_reached: segment.dupacks_seen && self.config.dupack_marking,
            dsack,
            echo: echo.rtt(),
            rtt: self.cc_rtt(now, &acked, sacked_rtt, echo.rtt().filter(|_| advanced)),
            fine_timer_expired: false,
            linux,
        };
        if let Some(timer) = &mut self.fine_timer {
            info.fine_timer_expired = timer.on_ack(now, &info, &mut self.scoreboard, &self.rtt);
        }
        if self.follows_state {
            let ack = Ack { timestamps: segment.timestamps, ..self.cc_ack(now, &acked, info.rtt) };
            self.cc.on_acked(&ack);
        }
        if self.window_cut.undo.is_some() {
            self.check_undo(now, segment, &info);
        }
        let marks =
            if self.ecn.is_some() { self.on_ecn_feedback(now, segment, &acked, &info, echo) } else { MarkReport::default() };
        // Linux's recovery reduces the window for marks, too, but where marks let it grow on.
        let scalable = matches!(self.cc.ecn_response(), EcnResponse::Scalable { .. });
        info.linux.ece = marks.seen && !scalable;
        let repairing = self.is_repairing();
        if let Some(cwv) = &mut self.window_cut.cwv {
            let srtt = self.rtt.srtt().unwrap_or(Span::ZERO);
            cwv.before_recovery(now, acked.segments, srtt, repairing);
            if !repairing {
                cwv.validated(now, self.cc.cwnd());
                cwv.expire(now, &mut self.cc, self.config.initial_window);
            }
        }
        let (recovery, mut ctx) = self.recovery_context(now);
        let mut grow = recovery.on_ack(&info, &mut ctx);
        if self.recovery.linux_mut().is_some_and(LinuxRecovery::take_mtu_probe_loss) {
            self.on_mtu_probe_lost(now);
        }
        if let Some(cwv) = &mut self.window_cut.cwv {
            cwv.after_recovery(now, self.recovery.active(), &mut self.cc, self.stats.retransmitted_segments);
        }
        if self.ecn.is_some() && (scalable || self.recovery.linux().is_none()) {
            grow &= self.respond_to_marks(now, marks, &info);
        }
        self.take_cwr_flag();
        if self.delivery_rate.is_some() {
            self.sample_delivery_rate(now, &acked, &info);
        }
        if self.follows_state {
            self.report_state(now);
        }
        if grow {
            let mut ack = self.cc_ack(now, &acked, info.rtt);
            if let Some(cwv) = &mut self.window_cut.cwv {
                ack.cwnd_limited = cwv.validated(now, self.cc.cwnd());
            }
            self.cc.on_ack(&ack);
        }
        if advanced {
            self.tune_send_buffer();
        }
        if advanced || self.config.rto_restart == RtoRestart::EveryAck {
            self.restart_timer(now);
        }
        self.check_probe(now);
    }

    /// Reports the state of the recovery to a congestion control that follows it, if it is another
    /// one (`tcp_set_ca_state()`).
    pub(super) fn report_state(&mut self, now: Time) {
        let state = self.ca_state();
        if std::mem::replace(&mut self.known_state, state) != state {
            let ack = self.cc_ack(now, &Acked::default(), None);
            self.cc.on_state(state, &ack);
        }
    }

    /// Applies the SACK blocks. Returns the number of segments that they newly report, and whether
    /// the first is a D-SACK.
    fn apply_sack(&mut self, segment: &Segment) -> (u32, bool) {
        let sacked = segment.sack.near(segment.ack).map(|(s, e)| self.scoreboard.sack(s, e)).sum();
        (sacked, dsack_block(segment).is_some())
    }

    /// A segment sent once that SACK newly reports gives an RTT sample if the ACK number does not
    /// advance (Linux: `sack_rtt_us`). Returns the RTT of the last such segment,
    /// and whether one of them was sent before the oldest segment was last sent.
    fn sample_sacked_rtt(&mut self, now: Time, advanced: bool, sacked_once: Option<(Time, Time)>) -> (Option<Span>, bool) {
        let Some((sent, last)) = sacked_once else { return (None, false) };
        if advanced {
            return (Some(now - last), false);
        }
        if self.config.sack_rtt {
            self.rtt.note_min(now - last);
            self.on_rtt(now - sent);
            if self.rtt.follows_linux() {
                self.rtt.reset_backoff();
            }
        }
        let before_oldest = self.scoreboard.first().is_some_and(|oldest| sent < oldest.sent_at);
        if before_oldest && self.config.rto_restart == RtoRestart::HeadAndSack {
            self.restart_timer(now);
        }
        (Some(now - last), before_oldest)
    }

    /// What Linux's recovery needs of an ACK, before the ACK changes anything.
    #[inline]
    fn linux_ack(&self, segment: &Segment, echo: TimestampEcho) -> LinuxAck {
        if self.recovery.linux().is_none() {
            return LinuxAck::default();
        }
        let dsack_range = dsack_block(segment);
        let retransmitted = |(start, _)| self.scoreboard.was_retransmitted(start);
        LinuxAck {
            had_outstanding: !self.scoreboard.is_empty(),
            prior_una: self.una,
            prior_fack: self.scoreboard.forward_ack(self.una),
            losses_before: self.scoreboard.losses(),
            echo_value: echo.value(),
            has_blocks: !segment.sack.is_empty(),
            dsack_range,
            dsack_retransmitted: dsack_range.is_some_and(retransmitted),
            ..LinuxAck::default()
        }
    }

    /// Linux's recovery has reduced the window, or undone it: the next data carries CWR, or not.
    #[inline]
    pub(super) fn take_cwr_flag(&mut self) {
        if let Some(ecn) = &mut self.ecn
            && let Some(pending) = self.recovery.linux_mut().and_then(|linux| linux.take_cwr_flag())
        {
            ecn.set_cwr_pending(pending);
        }
    }

    /// The RTT that the congestion control gets: of the last segment sent once that the ACK number
    /// newly covers. Where SACK gives samples, that of the last one newly SACKed comes first, and
    /// the echo of an ACK that covers a retransmission last (Linux, `tcp_clean_rtx_queue()` and
    /// `tcp_ack_update_rtt()`: `ca_rtt_us`).
    fn cc_rtt(&self, now: Time, acked: &Acked, sacked: Option<Span>, echo: Option<Span>) -> Option<Span> {
        let by_number = acked.rtt(now);
        if self.config.sack_rtt { sacked.or(by_number).or(echo) } else { by_number }
    }

    #[inline(always)]
    pub(super) fn on_rtt(&mut self, rtt: Span) {
        self.rtt.sample_in_round(rtt, (self.una, self.next));
        if let Some(pacer) = &mut self.pacer {
            pacer.on_rtt(rtt);
        }
    }

    /// Nothing is in flight, the window is unchanged and there is no D-SACK, which may undo a
    /// reduction: most segments that a pure receiver gets are such.
    fn is_redundant(&self, segment: &Segment) -> bool {
        self.is_all_acked()
            && self.probe_at == Time::NEVER
            && u64::from(segment.window) == self.peer_window
            && segment.sack.is_empty()
    }

    /// The recovery, and the state of the sender that it may use. Ends the fast path.
    pub(super) fn recovery_context(&mut self, now: Time) -> (&mut AnyRecovery, RecoveryContext<'_>) {
        self.fast_path = false;
        let already_reduced = self.ecn.as_ref().is_some_and(|ecn| ecn.already_reduced(&self.cc));
        let mtu_probe = self.mtu_probe_start();
        let ctx = RecoveryContext {
            now,
            mtu_probe,
            scoreboard: &mut self.scoreboard,
            cc: &mut self.cc,
            stats: &mut self.stats,
            una: self.una,
            next: self.next,
            threshold: self.config.dupack_threshold,
            newreno_exit: self.config.newreno_exit,
            limited_transmit: self.config.limited_transmit,
            tail_loss_probe: self.config.tail_loss_probe,
            rtt: &self.rtt,
            rto_at: &mut self.rto_at,
            segment: self.segment,
            timer: &mut self.recovery_timer,
            window_cut: &mut self.window_cut,
            already_reduced,
        };
        (&mut self.recovery, ctx)
    }

    /// snd.una advances to `ack`, which acknowledges `acked`.
    #[inline(always)]
    pub(super) fn advance(&mut self, now: Time, ack: u64, acked: &Acked, echo: TimestampEcho, sacked_once: Option<(Time, Time)>) {
        self.una = ack;
        self.timeouts_in_a_row = 0;
        // Karn: the other segments of an ACK that covers a retransmission may have waited for it at
        // the receiver.
        let once = if acked.retransmitted { None } else { acked.last_sent.zip(acked.first_sent) };
        if let Some((last, _)) = once {
            self.stats.rtt.add(now - last);
        }
        // The RTO includes the delay of an ACK, so the estimator takes the first segment's RTT (RFC
        // 7323, section 4.1).
        let first = match self.rtt.follows_linux() {
            true => self.first_rtt(now, once, sacked_once, echo),
            false => once.map(|(_, first)| now - first),
        };
        if let Some(rtt) = first.or_else(|| echo.rtt()) {
            self.on_rtt(rtt);
            self.rtt.reset_backoff();
            self.probe_backoff = 0;
        }
    }

    /// The RTT of the first segment that an ACK reports, by Linux's rules; that of the last one
    /// (`ca_rtt_us`) counts for the minimum. `once`, `sacked_once`: when segments that were sent once
    /// were sent, the last and the first that the ACK number covers, the first and the last SACKed.
    #[inline(never)]
    fn first_rtt(
        &mut self,
        now: Time,
        once: Option<(Time, Time)>,
        sacked_once: Option<(Time, Time)>,
        echo: TimestampEcho,
    ) -> Option<Span> {
        let sacked_once = sacked_once.filter(|_| self.config.sack_rtt);
        let last = sacked_once.map(|(_, last)| now - last).or(once.map(|(last, _)| now - last));
        let first = once.map(|(_, first)| now - first).or(sacked_once.map(|(first, _)| now - first));
        if let Some(rtt) = last.or(first).or_else(|| echo.rtt()) {
            self.rtt.note_min(rtt);
        }
        first
    }

    /// Undoes the last reduction if this ACK shows that it was spurious.
    fn check_undo(&mut self, now: Time, segment: &Segment, info: &AckInfo) {
        let outstanding = (self.una, self.next);
        let Some(undo) = &mut self.window_cut.undo else { return };
        match undo.on_ack(now, segment, info, outstanding) {
            UndoVerdict::Open => {}
            UndoVerdict::Genuine(window) => self.cc.on_recovered(now, window),
            UndoVerdict::Spurious => {
                let Some((before, timeout)) = undo.take_saved() else { return };
                if !self.cc.undo() {
                    self.cc = before;
                }
                let (recovery, mut ctx) = self.recovery_context(now);
                recovery.abandon(&mut ctx);
                if timeout {
                    self.scoreboard.unmark_losses();
                    self.rto_recovery_point = 0;
                    self.rtt.reset_backoff();
                }
            }
        }
    }

    /// The ECN feedback of an ACK; a congestion control that counts marks gets it at once.
    #[inline(never)]
    fn on_ecn_feedback(
        &mut self,
        now: Time,
        segment: &Segment,
        acked: &Acked,
        info: &AckInfo,
        echo: TimestampEcho,
    ) -> MarkReport {
        let delivered = info.delivered();
        let Some(ecn) = &mut self.ecn else { return MarkReport::default() };
        // Before any data the field has the handshake's feedback (RFC 9768, section 3.2.2.1).
        let newer = echo.is_newer() && self.scoreboard.end_index() > 0;
        let marks = ecn.on_ack(segment, delivered, self.segment, delivered > 0 || newer);
        if self.cc.ecn_response() != EcnResponse::Cut {
            let mut ack = self.cc_ack(now, acked, info.rtt);
            (ack.delivered, ack.marked) = (delivered, marks.segments);
            ack.recovering = self.is_repairing();
            self.cc.on_marks(&ack);
        }
        marks
    }

    /// Returns whether ECN lets the window grow on this ACK.
    #[inline(never)]
    fn respond_to_marks(&mut self, now: Time, marks: MarkReport, info: &AckInfo) -> bool {
        let Some(mut ecn) = self.ecn.take() else { return true };
        let repairing = self.is_repairing();
        let (recovery, mut ctx) = self.recovery_context(now);
        let grow = ecn.respond(marks, info, repairing, recovery, &mut ctx);
        self.ecn = Some(ecn);
        grow
    }

    /// An ACK as the congestion control gets it, with the RTT of `cc_rtt`.
    #[inline(always)]
    pub(super) fn cc_ack(&self, now: Time, acked: &Acked, rtt: Option<Span>) -> Ack {
        // RFC 3465, section 2.3: one segment per ACK after an RTO, as an ACK may cover what had
        // arrived before.
        let after_rto = self.una <= self.rto_recovery_point;
        let max_credit = if after_rto { self.config.byte_counting.min(1) } else { self.config.byte_counting };
        let growth_credit = if max_credit == 0 {
            1.0
        } else if let Some(linux) = self.recovery.linux() {
            f64::from(linux.delivered().min(self.config.byte_counting))
        } else {
            f64::from((acked.segments - acked.sacked_before).min(max_credit))
        };
        Ack {
            now,
            growth_credit,
            acked: acked.segments,
            in_flight: self.scoreboard.in_flight(),
            rtt,
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            cwnd_limited: self.window_limited(acked),
            acked_total: self.scoreboard.first_index(),
            sent: self.scoreboard.end_index(),
            ..Ack::default()
        }
    }

    /// cwnd limited the sender. A paced sender fills its window late, so half of it in use counts
    /// (RFC 7661, section 4.1).
    #[inline(always)]
    pub(super) fn window_limited(&self, acked: &Acked) -> bool {
        match self.limit {
            SendLimit::Cwnd => true,
            SendLimit::Pacing => self.uses_half_window(acked.segments),
            _ => self.cwnd_was_limit(),
        }
    }

    /// `acked`: segments that the ACK number newly covers.
    #[inline(never)]
    fn uses_half_window(&self, acked: u32) -> bool {
        2.0 * f64::from(self.scoreboard.in_flight() + acked) >= self.cc.cwnd()
    }

    /// As `CwndLimit` has it, where the host uses it.
    #[inline(always)]
    pub(super) fn cwnd_was_limit(&self) -> bool {
        self.cwnd_limit.is_some() && self.cwnd_limits()
    }

    #[inline(never)]
    fn cwnd_limits(&self) -> bool {
        self.cwnd_limit.is_some_and(|limit| limit.limits(self.cc.cwnd(), self.cc.ssthresh()))
    }

    /// Reports each segment marked lost since the last call to a congestion control that uses
    /// delivery rates.
    #[inline(never)]
    pub(super) fn report_losses(&mut self, now: Time) {
        let Some(delivery_rate) = &mut self.delivery_rate else { return };
        let mut lost = std::mem::take(&mut self.lost);
        self.scoreboard.take_lost(&mut lost);
        for index in lost.drain(..) {
            if let Some(loss) = delivery_rate.on_loss(index) {
                self.cc.on_loss(now, &loss);
            }
        }
        self.lost = lost;
    }

    /// Reports losses and deliveries of this ACK to a congestion control that uses delivery rates.
    #[inline(never)]
    fn sample_delivery_rate(&mut self, now: Time, acked: &Acked, info: &AckInfo) {
        self.report_losses(now);
        let mut ack = self.cc_ack(now, acked, info.rtt);
        ack.recovering = self.is_repairing();
        self.update_delivery_rate(&mut ack, acked, info);
    }

    /// Adds the delivery rate sample to `ack` and reports it to the congestion control.
    #[inline]
    pub(super) fn update_delivery_rate(&mut self, ack: &mut Ack, acked: &Acked, info: &AckInfo) {
        let Some(delivery_rate) = &mut self.delivery_rate else { return };
        let delivery = AckDelivery {
            acked: acked.segments - acked.sacked_before,
            sacked: info.sacked,
            blind_duplicate: info.duplicate && info.sacked == 0,
            newest: self.scoreboard.take_newest_arrival(),
            base: self.scoreboard.first_index(),
            losses: self.scoreboard.losses(),
        };
        let delivered = delivery_rate.on_ack(ack.now, &delivery);
        ack.next_departure = self.pacer.map_or(Time::ZERO, Pacer::next);
        (ack.delivered, ack.lost, ack.rate) = (delivered.segments, delivered.lost, delivered.rate);
        if ack.delivered > 0 || ack.lost > 0 {
            self.cc.on_delivery(ack);
        }
    }
}
