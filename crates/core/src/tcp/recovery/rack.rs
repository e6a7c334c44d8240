//! RACK-TLP (RFC 8985): a segment is lost when a segment sent later has been delivered and the
//! reordering window has passed. The window falls by PRR. The tail loss probe is in `tlp.rs`.

use super::prr::Reduction;
use super::rack_reo_wnd::RackReoWnd;
use super::tlp::Tlp;
use super::{AckInfo, Recovery, RecoveryContext, Retransmit};
use crate::tcp::cc::{AnyCc, CongestionControl, CongestionSignal};
use crate::tcp::scoreboard::{Index, Scoreboard, SentSegment};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// Boxed: larger than every other recovery.
#[derive(Clone, Debug, Default)]
pub struct Rack(Box<RackState>);

#[derive(Clone, Debug)]
struct RackState {
    /// All transmissions in the order of sending; delivered and lost segments leave at the front.
    sent: VecDeque<XmitRecord>,
    /// RACK.xmit_ts and, for RACK.end_seq, the segment's index: of the delivered segments, the one
    /// sent last.
    newest: (Time, Index),
    /// RACK.rtt: the RTT of the segment delivered last, and when that was sent.
    rtt: Span,
    rtt_sent_at: Time,
    /// RACK.fack: one above the highest delivered segment.
    forward: Index,
    reo_wnd: RackReoWnd,
    /// Largest distance of a late delivery from the highest one, in segments.
    reordering: u32,
    /// When the reordering window of a segment sent before `newest` ends.
    deadline: Option<Time>,
    recovery_point: Option<u64>,
    /// No recovery begins below this sequence number: an RTO or an undo has set the window for it.
    not_before: u64,
    /// The repair after an RTO lasts until snd.una reaches `not_before`.
    after_rto: bool,
    reduction: Option<Reduction>,
    tlp: Tlp,
    /// When the tail loss probe is due; `Time::NEVER`: none is pending.
    probe_at: Time,
}

impl Default for RackState {
    fn default() -> RackState {
        RackState {
            sent: VecDeque::new(),
            newest: (Time::ZERO, 0),
            rtt: Span::ZERO,
            rtt_sent_at: Time::ZERO,
            forward: 0,
            reo_wnd: RackReoWnd::default(),
            reordering: 0,
            deadline: None,
            recovery_point: None,
            not_before: 0,
            after_rto: false,
            reduction: None,
            tlp: Tlp::default(),
            probe_at: Time::NEVER,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct XmitRecord {
    at: Time,
    index: Index,
    retransmission: bool,
}

/// The granularity of a timestamp echo.
const ECHO_TICK: Span = Span::from_ms(1);

impl RackState {
    /// Section 6.2, steps 1 to 3: the deliveries that this ACK reports.
    fn update_rack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) {
        let lowest = ctx.scoreboard.take_lowest_arrival();
        if lowest < self.forward {
            self.reo_wnd.seen = true;
            self.reordering = self.reordering.max(u32::try_from(self.forward - lowest).unwrap_or(u32::MAX));
        }
        self.forward = self.forward.max(ctx.scoreboard.first_index() + u64::from(ctx.scoreboard.forward_acked()));
        let min = ctx.rtt.min();
        let first = ctx.scoreboard.first_index();
        // The original may have been delivered, not the retransmission. The echo shows it only of
        // segments that the ACK number covers: an ACK of data out of order echoes the last segment
        // in order (RFC 7323, section 4.3; Linux, `tcp_skb_spurious_retrans()`).
        let is_too_early = |sent_at: Time, index: Index| {
            let rtt = ctx.now - sent_at;
            min.is_some_and(|min| rtt < min) || (index < first && ack.echo.is_some_and(|echo| echo > rtt + ECHO_TICK))
        };
        if let Some(last) = ctx.scoreboard.take_last_arrival()
            && !(last.retransmitted && is_too_early(last.sent_at, last.index))
        {
            (self.rtt, self.rtt_sent_at) = (ctx.now - last.sent_at, last.sent_at);
        }
        let Some(newest) = ctx.scoreboard.newest_arrival_of_ack().filter(|&n| n > self.newest) else { return };
        if is_too_early(newest.0, newest.1) && self.was_retransmission(newest) {
            return;
        }
        self.newest = newest;
    }

    fn was_retransmission(&self, (at, index): (Time, Index)) -> bool {
        let from = self.sent.partition_point(|t| t.at < at);
        self.sent.range(from..).take_while(|t| t.at == at).find(|t| t.index == index).is_none_or(|t| t.retransmission)
    }

    /// Section 6.2, step 5: marks segments lost and sets the deadline of the last one sent before
    /// `newest`: one timer suffices for all.
    fn detect(&mut self, ctx: &mut RecoveryContext<'_>) {
        let wait = self.rtt + self.reo_wnd.window(self.recovery_point.is_some() || ctx.una < self.not_before, ctx);
        self.deadline = None;
        while let Some(&XmitRecord { at, index, .. }) = self.sent.front() {
            if ctx.scoreboard.get(index).is_some_and(|s| is_outstanding(s, at)) {
                if (at, index) >= self.newest {
                    return;
                }
                if at + wait > ctx.now {
                    self.deadline = Some(self.last_before_newest(ctx.scoreboard) + wait);
                    return;
                }
                ctx.scoreboard.mark_lost(index);
            }
            self.sent.pop_front();
        }
    }

    /// When the last outstanding segment before `newest` was sent. If that gave RACK.rtt, its own time
    /// does: the deadline then is the end of the reordering window from now on.
    fn last_before_newest(&self, scoreboard: &Scoreboard) -> Time {
        if self.rtt_sent_at == self.newest.0 {
            return self.newest.0;
        }
        let end = self.sent.partition_point(|t| t.at <= self.newest.0);
        let is_before =
            |t: &&XmitRecord| (t.at, t.index) < self.newest && scoreboard.get(t.index).is_some_and(|s| is_outstanding(s, t.at));
        self.sent.range(..end).rev().find(is_before).map_or(self.newest.0, |t| t.at)
    }

    fn enter(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) {
        self.recovery_point = Some(ctx.next);
        self.tlp.reset();
        ctx.cut(CongestionSignal::Duplicates, ctx.flight());
        ctx.stats.fast_retransmits += 1;
        self.reduction = Some(Reduction::start(ack, ctx));
    }

    fn may_enter(&self, ctx: &RecoveryContext<'_>) -> bool {
        ctx.scoreboard.unsent_losses() && self.recovery_point.is_none() && ctx.una >= self.not_before
    }

    /// Ends a recovery, or the repair after an RTO, when all that was sent before it is acknowledged.
    /// Returns whether this ACK has ended one.
    fn leave(&mut self, ctx: &mut RecoveryContext<'_>) -> bool {
        if self.recovery_point.is_some_and(|recovery_point| ctx.una >= recovery_point) {
            (self.recovery_point, self.reduction) = (None, None);
            ctx.cc.on_recovered(ctx.now, ctx.cc.cwnd());
            return true;
        }
        let repaired = self.after_rto && ctx.una >= self.not_before;
        self.after_rto &= !repaired;
        repaired
    }

    /// One timer serves the reordering window, or else the tail loss probe.
    fn arm(&mut self, rto_at: Time, ctx: &mut RecoveryContext<'_>) {
        let open = self.recovery_point.is_none() && ctx.una >= self.not_before;
        self.probe_at = if open && self.deadline.is_none() { self.tlp.due(rto_at, ctx) } else { Time::NEVER };
        *ctx.timer = self.deadline.unwrap_or(self.probe_at);
    }
}

/// This is the last transmission of the segment, neither delivered nor marked lost.
fn is_outstanding(sent: &SentSegment, at: Time) -> bool {
    sent.sent_at == at && !sent.is_sacked() && (!sent.is_lost() || sent.is_retransmitted())
}

impl Recovery for Rack {
    fn on_ack(&mut self, ack: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        let state = &mut *self.0;
        state.update_rack(ack, ctx);
        let leaving = state.recovery_point.is_some_and(|recovery_point| ctx.una >= recovery_point);
        state.reo_wnd.adapt(ack.dsack, leaving, ctx.una, ctx.next);
        state.detect(ctx);
        let tail_lost = state.tlp.on_ack(ack, ctx);
        // A loss above the recovery point starts the next recovery on the ACK that ends this one,
        // even if it has been retransmitted (Linux, `tcp_time_to_recover()`).
        let lost_above = state.leave(ctx) && ctx.scoreboard.lost_out() > 0;
        let mut grow = false;
        if let Some(reduction) = &mut state.reduction {
            reduction.on_ack(ack, ctx);
        } else if lost_above || state.may_enter(ctx) {
            state.enter(ack, ctx);
        } else if tail_lost {
            // Section 7.4.2: the probe has repaired a loss, which reduces the window like any
            // other.
            ctx.stats.fast_retransmits += 1;
            ctx.cut(CongestionSignal::Duplicates, ctx.flight());
            ctx.cc.on_recovered(ctx.now, ctx.cc.cwnd());
        } else {
            grow = ack.advanced;
        }
        // An ACK that advances restarts the retransmission timer.
        let rto_at = if ack.advanced { ctx.now + ctx.rtt.rto() } else { *ctx.rto_at };
        let probe_at = std::mem::replace(&mut state.probe_at, Time::NEVER);
        state.arm(rto_at, ctx);
        // Section 7.2: the probe's timer restarts when new data is sent or acknowledged.
        if !ack.advanced && probe_at != Time::NEVER && state.probe_at != Time::NEVER {
            (*ctx.timer, state.probe_at) = (probe_at, probe_at);
        }
        grow
    }

    /// The sender calls `on_ack` as well.
    #[inline]
    fn on_clean_ack(&mut self, _una: u64) -> bool {
        self.0.recovery_point.is_none()
    }

    fn on_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        let state = &mut *self.0;
        (state.not_before, state.after_rto) = (ctx.next, true);
        (state.recovery_point, state.reduction, state.deadline) = (None, None, None);
        state.sent.clear();
        state.tlp.reset();
        (*ctx.timer, state.probe_at) = (Time::NEVER, Time::NEVER);
    }

    fn on_timer(&mut self, ctx: &mut RecoveryContext<'_>) -> bool {
        let state = &mut *self.0;
        let probes = state.deadline.is_none();
        (*ctx.timer, state.probe_at) = (Time::NEVER, Time::NEVER);
        if probes {
            state.tlp.probe(ctx);
            return true;
        }
        state.detect(ctx);
        if state.may_enter(ctx) {
            state.enter(&AckInfo::default(), ctx);
        } else if let Some(reduction) = &mut state.reduction {
            reduction.on_timer(ctx);
        }
        state.arm(*ctx.rto_at, ctx);
        false
    }

    /// Keeps the transmissions in flight, and notes that reordering was seen.
    fn abandon(&mut self, ctx: &mut RecoveryContext<'_>) {
        let state = &mut *self.0;
        (state.recovery_point, state.reduction) = (None, None);
        (state.not_before, state.after_rto) = (ctx.next, false);
        state.reo_wnd.seen = true;
        state.tlp.reset();
    }

    fn wants_sends(&self) -> bool {
        true
    }

    fn on_sent(&mut self, index: Index, retransmission: bool, ctx: &mut RecoveryContext<'_>) {
        let state = &mut *self.0;
        state.sent.push_back(XmitRecord { at: ctx.now, index, retransmission });
        state.tlp.on_sent(retransmission, ctx);
        if !retransmission {
            state.arm(*ctx.rto_at, ctx);
        }
    }

    fn window(&self, cc: &AnyCc) -> f64 {
        match &self.0.reduction {
            None if self.0.tlp.window() == 0.0 => cc.cwnd(),
            None => cc.cwnd().max(self.0.tlp.window()),
            Some(reduction) => reduction.window(cc),
        }
    }

    fn next_retransmit(&mut self, scoreboard: &mut Scoreboard) -> Option<Retransmit> {
        scoreboard.next_lost().map(Retransmit::IfRoom)
    }

    /// Section 7.3: without new data the probe retransmits the last segment.
    fn next_rescue(&mut self, scoreboard: &mut Scoreboard) -> Option<Index> {
        self.0.tlp.probe_index(scoreboard)
    }

    fn is_probing(&self) -> bool {
        self.0.tlp.window() > 0.0
    }

    fn active(&self) -> bool {
        self.0.recovery_point.is_some()
    }

    fn reordering(&self) -> Option<u32> {
        Some(self.0.reordering)
    }

    fn reported_window(&self, cc: &AnyCc) -> f64 {
        self.0.reduction.map_or_else(|| cc.cwnd(), |r| r.window(cc))
    }
}
