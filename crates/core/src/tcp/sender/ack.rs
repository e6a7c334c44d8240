//! What an ACK means: what it takes off the board, and what recovery and congestion control hear of it.

use super::Sender;
use crate::packet::{Flags, Segment};
use crate::tcp::cc::{Ack, CongestionControl};
use crate::tcp::config::RtoRestart;
use crate::tcp::delivery_rate::AckDelivery;
use crate::tcp::ecn::MarkReport;
use crate::tcp::recovery::{AckInfo, AnyRecovery, Recovery, RecoveryContext};
use crate::tcp::scoreboard::Acked;
use crate::tcp::stats::Limit;
use crate::tcp::timestamps::TimestampEcho;
use crate::units::Time;

impl Sender {
    #[inline]
    pub(super) fn set_window(&mut self, ack: u64, window: u64) {
        self.peer_window = window;
        self.largest_window = self.largest_window.max(window);
        self.right_edge = self.right_edge.max(ack + window);
    }

    /// Takes an ACK in.
    #[inline]
    pub fn on_segment(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        let known = segment.ack <= self.next && segment.ack >= self.una;
        if !known || self.is_redundant(segment) {
            return;
        }
        let says_more = segment.dupacks_seen || !segment.sack.is_empty();
        let clean = segment.ack > self.una && !says_more && self.scoreboard.is_clean() && !self.needs_slow_path;
        if clean && self.recovery.on_clean_ack(segment.ack) {
            self.fast_path_ack(now, segment, echo);
        } else {
            self.slow_path_ack(now, segment, echo);
        }
    }

    #[inline(never)]
    fn slow_path_ack(&mut self, now: Time, segment: &Segment, echo: TimestampEcho) {
        let flight_before = self.scoreboard.len();
        let same_window = u64::from(segment.window) == self.peer_window;
        self.set_window(segment.ack, u64::from(segment.window));
        let (sacked, dsack) = if segment.sack.is_empty() { (0, false) } else { self.apply_sack(segment) };
        let advanced = segment.ack > self.una;
        let acked = if advanced { self.advance(now, segment.ack, echo) } else { Acked::default() };
        if sacked > 0 {
            self.sample_sacked_rtt(now, advanced);
        }
        let bare = segment.payload == 0 && !segment.flags.any(Flags::SYN.with(Flags::FIN));
        let duplicate = !advanced && flight_before > 0 && (sacked > 0 || (bare && same_window && segment.sack.is_empty()));
        let mut info = AckInfo {
            advanced,
            acked: acked.segments,
            sacked_before: acked.sacked_before,
            sacked,
            duplicate,
            dupthresh_reached: segment.dupacks_seen && self.config.dupack_marking,
            dsack,
            echo: echo.rtt(),
            fine_timer_expired: false,
        };
        if self.fine_timer.is_some() {
            info.fine_timer_expired = self.check_fine_timer(now, &info);
        }
        if self.undo.is_some() {
            self.check_undo(now, segment, &info);
        }
        let marks = if self.ecn.is_some() { self.on_ecn_feedback(now, segment, &acked, &info) } else { MarkReport::default() };
        if self.cwv.is_some() {
            self.cwv_on_ack(now, &acked);
        }
        let (recovery, mut ctx) = self.recovery_context(now);
        let mut grow = recovery.on_ack(&info, &mut ctx);
        if self.cwv.is_some() {
            self.cwv_after_recovery(now);
        }
        if self.ecn.is_some() {
            grow = self.respond_to_marks(now, marks, &info, grow);
        }
        if self.delivery_rate.is_some() {
            self.sample_delivery_rate(now, &acked, &info);
        }
        if grow {
            let mut ack = self.cc_ack(now, &acked);
            if let Some(cwv) = &mut self.cwv {
                ack.cwnd_limited = cwv.validated(now, self.cc.cwnd());
            }
            self.cc.on_ack(&ack);
        }
        if advanced {
            self.tune_send_buffer();
        }
        if advanced || self.config.rto.restart == RtoRestart::EveryAck {
            self.restart_timer(now);
        }
        self.check_probe(now);
    }

    /// How many segments the SACK blocks newly report, and whether they tell of one that arrived twice.
    fn apply_sack(&mut self, segment: &Segment) -> (u32, bool) {
        let sacked = segment.sack.near(segment.ack).map(|(s, e)| self.scoreboard.sack(s, e)).sum();
        (sacked, dsack_block(segment).is_some())
    }

    /// A segment sent once that SACK reports has made its round trip too, if the ACK number says nothing (Linux: `sack_rtt_us`).
    fn sample_sacked_rtt(&mut self, now: Time, advanced: bool) {
        let Some(sent) = self.scoreboard.take_first_sacked().filter(|_| !advanced) else { return };
        if self.config.sack_rtt {
            self.rtt.sample(now - sent);
        }
        let before_oldest = self.scoreboard.first().is_some_and(|oldest| sent < oldest.sent_at);
        if before_oldest && self.config.rto.restart == RtoRestart::HeadAndSack {
            self.restart_timer(now);
        }
    }

    /// Nothing is in flight and the window is as it was: what most segments tell an end that only receives.
    fn is_redundant(&self, segment: &Segment) -> bool {
        self.is_all_acked() && self.probe_at == Time::NEVER && u64::from(segment.window) == self.peer_window
    }

    pub(super) fn recovery_context(&mut self, now: Time) -> (&mut AnyRecovery, RecoveryContext<'_>) {
        self.fast_path = false;
        let already_reduced = self.ecn.is_some() && self.in_cwr();
        let ctx = RecoveryContext {
            now,
            scoreboard: &mut self.scoreboard,
            cc: &mut self.cc,
            stats: &mut self.stats,
            una: self.una,
            next: self.next,
            threshold: self.config.dupack_threshold,
            newreno_exit: self.config.newreno_exit,
            limited_transmit: self.config.limited_transmit,
            rtt: &self.rtt,
            rto_at: self.rto_at,
            timer: &mut self.repair_at,
            undo: self.undo.as_deref_mut(),
            cwv: self.cwv.as_deref_mut(),
            already_reduced,
        };
        (&mut self.recovery, ctx)
    }

    /// The cumulative ACK moved.
    #[inline]
    pub(super) fn advance(&mut self, now: Time, ack: u64, echo: TimestampEcho) -> Acked {
        let acked = self.scoreboard.ack_to(ack);
        self.una = ack;
        self.timeouts_in_a_row = 0;
        // Karn: an ACK that covers a retransmission says nothing of the others it covers, which may have waited for it.
        let once = if acked.resent { None } else { acked.last_sent.zip(acked.first_sent) };
        if let Some((last, _)) = once {
            self.stats.rtt.add(now - last);
        }
        // A delayed ACK's wait belongs into the timeout, so the estimator gets the first segment's time (RFC 7323, section 4.1).
        let sample = once.map(|(_, first)| now - first).or_else(|| echo.rtt());
        if let Some(rtt) = sample {
            self.rtt.sample(rtt);
            self.rtt.forget_backoff();
        }
        acked
    }

    /// What the congestion control may know of an ACK.
    #[inline]
    pub(super) fn cc_ack(&self, now: Time, acked: &Acked) -> Ack {
        // RFC 3465, section 2.3: one segment an ACK while a timeout's losses are repaired, as an ACK may cover what arrived before.
        let most = if self.una <= self.rto_recovery_point { self.config.byte_counting.min(1) } else { self.config.byte_counting };
        let growth_credit = if most == 0 { 1.0 } else { f64::from((acked.segments - acked.sacked_before).min(most)) };
        Ack {
            now,
            growth_credit,
            acked: acked.segments,
            in_flight: self.scoreboard.in_flight(),
            rtt: acked.last_sent.filter(|_| !acked.resent).map(|sent| now - sent),
            srtt: self.rtt.srtt(),
            min_rtt: self.rtt.min(),
            cwnd_limited: self.window_limited(acked),
            acked_total: self.scoreboard.first_index(),
            sent: self.scoreboard.end_index(),
            ..Ack::default()
        }
    }

    /// The window held the sender back. One that is paced fills its window late, so half of it in use is enough (RFC 7661,
    /// section 4.1).
    #[inline]
    pub(super) fn window_limited(&self, acked: &Acked) -> bool {
        match self.limit {
            Limit::Cwnd => true,
            Limit::Pacing => 2.0 * f64::from(self.scoreboard.in_flight() + acked.segments) >= self.cc.cwnd(),
            _ => false,
        }
    }

    /// Tells a congestion control that watches deliveries of each segment that was taken for lost since the last call.
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

    /// Tells a congestion control that watches deliveries what arrived and what was lost.
    #[inline(never)]
    fn sample_delivery_rate(&mut self, now: Time, acked: &Acked, info: &AckInfo) {
        self.report_losses(now);
        let mut ack = self.cc_ack(now, acked);
        ack.recovering = self.recovery.active() || self.una <= self.rto_recovery_point;
        self.update_delivery_rate(&mut ack, acked, info);
    }

    /// The same with what else the congestion control may know of this ACK, to which it adds.
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
        (ack.delivered, ack.lost, ack.rate) = (delivered.segments, delivered.lost, delivered.rate);
        if ack.delivered > 0 || ack.lost > 0 {
            self.cc.on_delivery(ack);
        }
    }
}

/// RFC 2883, section 4: the first block tells of a duplicate when it lies below the ACK or inside the second block.
pub(super) fn dsack_block(segment: &Segment) -> Option<(u64, u64)> {
    let mut blocks = segment.sack.near(segment.ack);
    let first = blocks.next().filter(|b| b.0 < b.1)?;
    let inside = first.1 <= segment.ack || blocks.next().is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
    inside.then_some(first)
}
