//! The state machine (`tcp_ack()`, `tcp_fastretrans_alert()`): what an ACK, a timeout and a
//! transmission mean in each of the states Open, Disorder, CWR, Recovery and Loss.

use super::deliveries::Deliveries;
use super::loss_probe::LossProbe;
use super::rack::{self, Rack};
use super::reduction::Reduction;
use super::reno_sack::RenoSack;
use super::reordering::Reordering;
use super::timer::{self, Pending, Timer};
use super::undo::UndoState;
use crate::tcp::cc::{AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow};
use crate::tcp::info::CaState;
use crate::tcp::recovery::{AckInfo, LinuxAck, Outstanding, RecoveryContext};
use crate::tcp::scoreboard::{Index, Scoreboard};
use crate::tcp::timer_wheel::TimerWheel;
use crate::units::{Span, Time};

/// The sysctls that it follows.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// tcp_reordering.
    pub threshold: u32,
    pub undo_by_dsack: bool,
    pub undo_by_echo: bool,
    pub frto: bool,
    pub tail_loss_probe: bool,
    pub rto_min: Span,
    pub wheel: TimerWheel,
    /// SACK was negotiated.
    pub sack: bool,
}

/// What `tcp_xmit_recovery()` sends after an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rexmit {
    #[default]
    None,
    Lost,
    /// F-RTO: new data before retransmissions.
    New,
}

#[derive(Clone, Debug)]
pub struct State {
    pub settings: Settings,
    pub ca_state: CaState,
    /// snd.nxt when the state began: the end of Recovery, CWR and Loss.
    pub high_seq: u64,
    pub rack: Rack,
    pub reduction: Reduction,
    pub undo: UndoState,
    pub reno: RenoSack,
    pub timer: Timer,
    /// RTOs since snd.una last advanced.
    pub retransmits: u32,
    /// F-RTO is undecided.
    pub frto: bool,
    pub rexmit: Rexmit,
    pub reordering: Reordering,
    /// `tp->dsack_dups`: segments that D-SACKs reported.
    pub dsack_duplicates: u64,
    /// The growth that this ACK earns: segments newly delivered.
    pub delivered: u32,
    /// A CWR flag is due on the next data (true), or no longer (false).
    pub cwr_flag: Option<bool>,
    pub probe: LossProbe,
    /// The oldest segment is lost, and is the probe of the path MTU.
    pub mtu_probe_lost: bool,
}

impl Default for State {
    fn default() -> State {
        State {
            settings: Settings {
                threshold: 3,
                undo_by_dsack: true,
                undo_by_echo: true,
                frto: true,
                tail_loss_probe: true,
                rto_min: Span::from_ms(200),
                wheel: TimerWheel::default(),
                sack: true,
            },
            ca_state: CaState::Open,
            high_seq: 0,
            rack: Rack::default(),
            reduction: Reduction::default(),
            undo: UndoState::default(),
            reno: RenoSack::default(),
            timer: Timer::default(),
            retransmits: 0,
            frto: false,
            rexmit: Rexmit::None,
            reordering: Reordering::new(3),
            dsack_duplicates: 0,
            delivered: 0,
            cwr_flag: None,
            probe: LossProbe::default(),
            mtu_probe_lost: false,
        }
    }
}

/// The window as the kernel counts it, in whole segments.
fn whole(window: f64) -> u32 {
    if window >= f64::from(u32::MAX) { u32::MAX } else { window as u32 }
}

impl State {
    pub(super) fn in_flight(&self, scoreboard: &Scoreboard) -> u32 {
        scoreboard.in_flight().saturating_sub(self.reno.sacked_out)
    }

    pub(super) fn in_reduction(&self) -> bool {
        matches!(self.ca_state, CaState::Cwr | CaState::Recovery)
    }

    pub(super) fn sacked_out(&self, scoreboard: &Scoreboard) -> u32 {
        scoreboard.sacked_out() + self.reno.sacked_out
    }

    /// `tcp_any_retrans_done()`.
    pub(super) fn any_retransmission(&self, scoreboard: &Scoreboard) -> bool {
        scoreboard.retrans_out() > 0 || scoreboard.first().is_some_and(|head| head.sends > 1)
    }

    /// `tcp_retrans_stamp_cleanup()`: the time of the first retransmission, unless one is outstanding.
    fn forget_retransmission_time(&mut self, scoreboard: &Scoreboard) {
        if !self.any_retransmission(scoreboard) {
            self.undo.retransmission_time = None;
        }
    }

    /// `tcp_init_cwnd_reduction()`. The window itself changes with the next delivery.
    pub(super) fn init_reduction(&mut self, signal: CongestionSignal, ctx: &mut RecoveryContext<'_>) {
        self.high_seq = ctx.next;
        self.probe.forget();
        let cwnd = ctx.cc.cwnd();
        ctx.stats.window_cuts += 1;
        let congestion = Congestion { now: ctx.now, signal, flight: f64::from(whole(cwnd)) };
        if signal == CongestionSignal::Ecn {
            ctx.stats.ecn_cuts += 1;
            ctx.window_cut.cut_for_mark(ctx.cc, &congestion);
        } else {
            let retrans_out = ctx.scoreboard.retrans_out();
            let outstanding = Outstanding { una: ctx.una, next: ctx.next, retrans_out };
            ctx.window_cut.cut_for_loss(ctx.cc, &congestion, outstanding, ctx.stats.retransmitted_segments);
        }
        let target = ctx.cc.cwnd();
        if !ctx.cc.controls_recovery() {
            ctx.cc.set_cwnd(ctx.now, cwnd);
        }
        self.reduction.start(whole(cwnd), target);
        self.cwr_flag = Some(true);
    }

    /// `tcp_end_cwnd_reduction()`.
    pub(super) fn end_reduction(&mut self, ctx: &mut RecoveryContext<'_>) {
        if ctx.cc.controls_recovery() {
            return ctx.cc.on_recovered(ctx.now, ctx.cc.cwnd());
        }
        let ends = self.ca_state == CaState::Cwr || self.undo.marker.is_some();
        let ssthresh = ctx.cc.ssthresh();
        let cwnd = if ends && ssthresh.is_finite() { self.reduction.target(ssthresh) } else { ctx.cc.cwnd() };
        ctx.cc.on_recovered(ctx.now, cwnd);
    }

    /// `tcp_enter_cwr()`.
    pub(super) fn enter_cwr(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.undo.prior_ssthresh = None;
        if !matches!(self.ca_state, CaState::Open | CaState::Disorder) {
            return;
        }
        self.undo.marker = None;
        self.init_reduction(CongestionSignal::Ecn, ctx);
        self.ca_state = CaState::Cwr;
    }

    /// `tcp_enter_recovery()`.
    pub(super) fn enter_recovery(&mut self, ece: bool, ctx: &mut RecoveryContext<'_>) {
        self.forget_retransmission_time(ctx.scoreboard);
        self.undo.prior_ssthresh = None;
        self.init_undo(ctx);
        if !self.in_reduction() {
            self.undo.prior_ssthresh = (!ece).then(|| self.current_ssthresh(ctx.cc));
            self.init_reduction(CongestionSignal::Duplicates, ctx);
        }
        ctx.stats.fast_retransmits += 1;
        self.ca_state = CaState::Recovery;
    }

    /// `tcp_current_ssthresh()`.
    pub(super) fn current_ssthresh(&self, cc: &AnyCc) -> f64 {
        let cwnd = whole(cc.cwnd());
        if self.in_reduction() { cc.ssthresh() } else { cc.ssthresh().max(f64::from((cwnd >> 1) + (cwnd >> 2))) }
    }

    pub(super) fn init_undo(&mut self, ctx: &RecoveryContext<'_>) {
        let probe = u32::from(self.probe.has_retransmitted());
        self.undo.begin(ctx.una, ctx.scoreboard.retrans_out() + probe);
    }

    /// `tcp_enter_loss()`.
    pub(super) fn enter_loss(&mut self, ctx: &mut RecoveryContext<'_>) {
        let new_recovery = self.ca_state < CaState::Recovery;
        self.mark_lost_at_timeout(ctx);
        let again = self.ca_state == CaState::Loss && self.retransmits == 0;
        if self.ca_state <= CaState::Disorder || self.high_seq <= ctx.una || again {
            self.undo.prior_ssthresh = Some(self.current_ssthresh(ctx.cc));
            self.reduction.prior_cwnd = whole(ctx.cc.cwnd());
            ctx.stats.window_cuts += 1;
            let flight = f64::from(whole(ctx.cc.cwnd()));
            ctx.cc.on_congestion(&Congestion { now: ctx.now, signal: CongestionSignal::Timeout, flight });
            self.init_undo(ctx);
        }
        let window = f64::from(self.in_flight(ctx.scoreboard) + 1);
        if ctx.cc.controls_recovery() {
            ctx.cc.on_recovered(ctx.now, window)
        } else {
            ctx.cc.set_cwnd(ctx.now, window)
        }
        let sacked = self.sacked_out(ctx.scoreboard);
        if self.ca_state <= CaState::Disorder && sacked >= self.settings.threshold {
            self.reordering.metric = self.reordering.metric.min(self.settings.threshold);
        }
        self.ca_state = CaState::Loss;
        self.high_seq = ctx.next;
        self.probe.forget();
        self.probe.cancel();
        self.cwr_flag = Some(true);
        self.frto = self.settings.frto && (new_recovery || self.retransmits > 0);
        self.retransmits += 1;
        self.rexmit = Rexmit::Lost;
    }

    /// `tcp_simple_retransmit()`: what is too long is retransmitted in state Loss. The path has not become
    /// worse, so cwnd stays, in segments.
    pub(super) fn on_mtu_reduced(&mut self, ctx: &mut RecoveryContext<'_>) {
        if self.ca_state != CaState::Loss {
            let ssthresh = self.current_ssthresh(ctx.cc);
            if ssthresh != ctx.cc.ssthresh() && !ctx.cc.controls_recovery() {
                ctx.cc.on_restart(ctx.now, CongestionWindow { cwnd: ctx.cc.cwnd(), ssthresh });
            }
            self.high_seq = ctx.next;
            (self.undo.prior_ssthresh, self.undo.marker) = (None, None);
            self.frto = false;
            self.ca_state = CaState::Loss;
        }
        self.rexmit = Rexmit::Lost;
    }

    /// `tcp_timeout_mark_lost()`: what was sent recently counts as in flight still.
    pub(super) fn mark_lost_at_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        self.reno.sacked_out = 0;
        let first = ctx.scoreboard.first_index();
        for index in first..ctx.scoreboard.end_index() {
            let Some(sent) = ctx.scoreboard.get(index) else { continue };
            if index != first && !self.rack.has_expired(sent.sent_at, Span::ZERO, ctx.now) {
                continue;
            }
            ctx.scoreboard.mark_lost(index);
        }
    }

    /// `tcp_try_keep_open()`.
    pub(super) fn try_keep_open(&mut self, ctx: &RecoveryContext<'_>) {
        let left_out = self.sacked_out(ctx.scoreboard) + ctx.scoreboard.lost_out();
        let state = if left_out > 0 || self.any_retransmission(ctx.scoreboard) { CaState::Disorder } else { CaState::Open };
        if self.ca_state != state {
            self.ca_state = state;
            self.high_seq = ctx.next;
        }
    }

    /// `tcp_try_to_open()`.
    pub(super) fn try_to_open(&mut self, ece: bool, ctx: &mut RecoveryContext<'_>) {
        self.forget_retransmission_time(ctx.scoreboard);
        if ece {
            self.enter_cwr(ctx);
        }
        if self.ca_state != CaState::Cwr {
            self.try_keep_open(ctx);
        }
    }

    /// `tcp_undo_cwnd_reduction()`.
    pub(super) fn undo_reduction(&mut self, unmark: bool, ctx: &mut RecoveryContext<'_>) {
        if unmark {
            ctx.scoreboard.unmark_every_loss();
        }
        if let Some(prior) = self.undo.prior_ssthresh {
            let ssthresh = ctx.cc.ssthresh();
            if !ctx.cc.undo() {
                let cwnd = ctx.cc.cwnd().max(f64::from(self.reduction.prior_cwnd));
                ctx.cc.on_restart(ctx.now, CongestionWindow { cwnd, ssthresh: ssthresh.max(prior) });
            }
            if prior > ssthresh {
                self.cwr_flag = Some(false);
            }
        }
        self.undo.marker = None;
        // RACK looks at the losses again.
        self.rack.advanced = true;
    }

    /// `tcp_is_non_sack_preventing_reopen()`: without SACK the state is held until data above
    /// high_seq is acknowledged (RFC 6582, section 4).
    pub(super) fn holds_without_sack(&mut self, ctx: &RecoveryContext<'_>) -> bool {
        if self.settings.sack || ctx.una != self.high_seq {
            return false;
        }
        self.forget_retransmission_time(ctx.scoreboard);
        true
    }

    /// `tcp_try_undo_recovery()`. Returns whether the state is held.
    pub(super) fn try_undo_recovery(&mut self, ack: &LinuxAck, ctx: &mut RecoveryContext<'_>) -> bool {
        if self.undo.may_undo(ack, &self.settings) {
            self.undo_reduction(false, ctx);
        } else {
            self.rack.persist = self.rack.persist.saturating_sub(1);
        }
        if self.holds_without_sack(ctx) {
            return true;
        }
        self.ca_state = CaState::Open;
        false
    }

    /// `tcp_try_undo_dsack()`.
    pub(super) fn try_undo_dsack(&mut self, ctx: &mut RecoveryContext<'_>) -> bool {
        if self.undo.marker.is_none() || self.undo.retransmissions != Some(0) || !self.settings.undo_by_dsack {
            return false;
        }
        self.rack.persist = (self.rack.persist + 1).min(rack::PERSIST);
        self.undo_reduction(false, ctx);
        true
    }

    /// `tcp_try_undo_loss()`.
    pub(super) fn try_undo_loss(&mut self, frto: bool, ack: &LinuxAck, ctx: &mut RecoveryContext<'_>) -> bool {
        if !frto && !self.undo.may_undo(ack, &self.settings) {
            return false;
        }
        self.undo_reduction(true, ctx);
        self.retransmits = 0;
        if self.holds_without_sack(ctx) {
            return true;
        }
        if frto || self.settings.sack {
            self.ca_state = CaState::Open;
        }
        true
    }

    /// `tcp_try_undo_partial()`. Returns whether nothing more is done with the ACK.
    pub(super) fn try_undo_partial(&mut self, ack: &LinuxAck, ctx: &mut RecoveryContext<'_>) -> bool {
        if self.undo.marker.is_none() || !self.undo.packet_delayed(ack, &self.settings) {
            return false;
        }
        self.reordering.check_sack(ack.prior_una, ctx.scoreboard.forward_ack(ctx.una), ctx.segment);
        if ctx.scoreboard.retrans_out() > 0 {
            return true;
        }
        self.forget_retransmission_time(ctx.scoreboard);
        self.undo_reduction(true, ctx);
        self.try_keep_open(ctx);
        false
    }

    /// `tcp_identify_packet_loss()`. Returns whether a retransmission was found lost; a reordering
    /// timer that it sets replaces the one that the ACK would set.
    pub(super) fn identify_losses(&mut self, advanced: bool, set_timer: &mut bool, ctx: &mut RecoveryContext<'_>) -> bool {
        if ctx.scoreboard.is_empty() {
            return false;
        }
        if !self.settings.sack {
            let starts = self.ca_state < CaState::Recovery && self.reno.sacked_out >= self.reordering.metric;
            if starts || (self.ca_state == CaState::Recovery && advanced) {
                let first = ctx.scoreboard.first_index();
                if ctx.scoreboard.first().is_some_and(|head| !head.is_lost()) {
                    ctx.scoreboard.mark_lost(first);
                }
            }
            return false;
        }
        let before = ctx.scoreboard.retrans_out();
        if self.rack.advanced {
            self.rack.advanced = false;
            if self.detect_by_rack(ctx) {
                *set_timer = false;
            }
        }
        ctx.scoreboard.retrans_out() < before
    }

    /// `tcp_rack_detect_loss()`, and the reordering timer. Returns whether it was set.
    pub(super) fn detect_by_rack(&mut self, ctx: &mut RecoveryContext<'_>) -> bool {
        let reo_wnd = self.reo_wnd(ctx);
        let Some(wait) = self.rack.detect(reo_wnd, ctx) else { return false };
        let at = self.settings.wheel.expiry(ctx.now, wait + timer::MIN_TIMEOUT);
        self.timer.set(Pending::Reordering, at, ctx);
        true
    }

    /// `tcp_rack_reo_wnd()`.
    pub(super) fn reo_wnd(&self, ctx: &RecoveryContext<'_>) -> Span {
        let dupthresh = self.reordering.metric;
        if !self.reordering.seen && (self.ca_state >= CaState::Recovery || self.sacked_out(ctx.scoreboard) >= dupthresh) {
            return Span::ZERO;
        }
        let quarter = Span(ctx.rtt.min().unwrap_or(Span::ZERO).0 / 4);
        quarter.saturating_mul(u64::from(self.rack.steps)).min(ctx.rtt.srtt().unwrap_or(Span::ZERO))
    }

    /// `tcp_fastretrans_alert()`.
    pub(super) fn alert(&mut self, ack: &LinuxAck, deliveries: &Deliveries, set_timer: &mut bool, ctx: &mut RecoveryContext<'_>) {
        if ack.ece {
            self.undo.prior_ssthresh = None;
        }
        if self.ca_state == CaState::Open {
            self.undo.retransmission_time = None;
        } else if ctx.una >= self.high_seq {
            match self.ca_state {
                // CWR is held until data above high_seq is acknowledged, so that the flag arrives.
                CaState::Cwr if ctx.una != self.high_seq => {
                    self.end_reduction(ctx);
                    self.ca_state = CaState::Open;
                }
                CaState::Recovery => {
                    self.reno.reset(self.settings.sack);
                    if self.try_undo_recovery(ack, ctx) {
                        return;
                    }
                    self.end_reduction(ctx);
                }
                _ => {}
            }
        }
        match self.ca_state {
            CaState::Recovery => {
                if !ack.advanced {
                    self.add_reno_sack(ack.dupacks, ctx);
                } else if self.try_undo_partial(ack, ctx) {
                    return;
                }
                if self.try_undo_dsack(ctx) {
                    self.try_to_open(ack.ece, ctx);
                }
                self.identify_losses(ack.advanced, set_timer, ctx);
                if self.ca_state != CaState::Recovery {
                    if ctx.scoreboard.lost_out() == 0 {
                        return;
                    }
                    self.enter_recovery(ack.ece, ctx);
                }
            }
            CaState::Loss => {
                self.process_loss(ack, deliveries, ctx);
                let retransmission_lost = self.identify_losses(ack.advanced, set_timer, ctx);
                if self.ca_state != CaState::Open && !retransmission_lost {
                    return;
                }
                if !self.alert_open(ack, set_timer, ctx) {
                    return;
                }
            }
            _ => {
                if !self.alert_open(ack, set_timer, ctx) {
                    return;
                }
            }
        }
        self.rexmit = Rexmit::Lost;
    }

    /// Returns whether a recovery starts.
    pub(super) fn alert_open(&mut self, ack: &LinuxAck, set_timer: &mut bool, ctx: &mut RecoveryContext<'_>) -> bool {
        if !self.settings.sack {
            if ack.advanced {
                self.reno.reset(false);
            }
            self.add_reno_sack(ack.dupacks, ctx);
        }
        if self.ca_state <= CaState::Disorder {
            self.try_undo_dsack(ctx);
        }
        self.identify_losses(ack.advanced, set_timer, ctx);
        if ctx.scoreboard.lost_out() == 0 {
            self.try_to_open(ack.ece, ctx);
            return false;
        }
        // No congestion: the sender divides it (`tcp_mtup_probe_failed()`).
        if self.ca_state < CaState::Cwr && ctx.mtu_probe == Some(ctx.una) {
            self.mtu_probe_lost = true;
            return false;
        }
        self.enter_recovery(ack.ece, ctx);
        true
    }

    /// `tcp_process_loss()`, with F-RTO (RFC 5682, section 3.1).
    pub(super) fn process_loss(&mut self, ack: &LinuxAck, deliveries: &Deliveries, ctx: &mut RecoveryContext<'_>) {
        let recovered = ctx.una >= self.high_seq;
        if ack.advanced && self.try_undo_loss(false, ack, ctx) {
            return;
        }
        if self.frto {
            // Step 3 (b): data that was never retransmitted has arrived.
            if deliveries.original && self.try_undo_loss(true, ack, ctx) {
                return;
            }
            if ctx.next > self.high_seq {
                if deliveries.sacked || ack.dupacks > 0 {
                    self.frto = false;
                }
            } else if ack.advanced && !recovered {
                self.high_seq = ctx.next;
                self.rexmit = Rexmit::New;
                return;
            }
        }
        if recovered {
            self.try_undo_recovery(ack, ctx);
            return;
        }
        if !self.settings.sack {
            if ctx.next > self.high_seq && ack.dupacks > 0 {
                self.add_reno_sack(ack.dupacks, ctx);
            } else if ack.advanced {
                self.reno.reset(false);
            }
        }
        self.rexmit = Rexmit::Lost;
    }

    /// `tcp_add_reno_sack()`.
    pub(super) fn add_reno_sack(&mut self, dupacks: u32, ctx: &RecoveryContext<'_>) {
        if self.settings.sack || dupacks == 0 {
            return;
        }
        let (delivered, reordered) = self.reno.add(dupacks, ctx.scoreboard);
        self.delivered += delivered;
        if reordered {
            self.reordering.set_without_sack(ctx.scoreboard.len());
        }
    }

    /// The probe has repaired a loss (`tcp_process_tlp_ack()`).
    fn reduce_after_probe(&mut self, ctx: &mut RecoveryContext<'_>) {
        ctx.stats.fast_retransmits += 1;
        self.init_reduction(CongestionSignal::Duplicates, ctx);
        self.ca_state = CaState::Cwr;
        self.end_reduction(ctx);
        self.try_keep_open(ctx);
    }

    /// The D-SACK of an ACK (`tcp_check_dsack()`, `tcp_dsack_seen()`, `tcp_sacktag_one()`).
    pub(super) fn on_dsack(&mut self, (start, end): (u64, u64), ack: &mut LinuxAck, ctx: &RecoveryContext<'_>) {
        let len = end - start;
        let segments = len.div_ceil(u64::from(ctx.segment.max(1))).max(1);
        let probe = len <= u64::from(ctx.segment) && self.probe.ends_at(end);
        self.dsack_duplicates += segments;
        ack.dsack_of_probe = probe;
        if self.dsack_duplicates > ctx.stats.retransmitted_segments {
            return;
        }
        if self.reordering.seen && !probe {
            self.rack.dsack_seen = true;
        }
        ack.dsack = true;
        if self.undo.marker.is_none_or(|marker| end <= marker) {
            return;
        }
        let Some(left) = self.undo.retransmissions.filter(|&left| left > 0) else { return };
        if end <= ack.prior_una {
            self.undo.retransmissions = Some(left.saturating_sub(segments as u32));
        } else if ack.dsack_retransmitted {
            self.undo.retransmissions = Some(left - 1);
        }
    }

    /// `tcp_may_raise_cwnd()`.
    pub(super) fn may_raise_cwnd(&self, deliveries: &Deliveries) -> bool {
        deliveries.acked || (deliveries.sacked && self.reordering.metric > self.settings.threshold)
    }

    /// `tcp_cwnd_reduction()`.
    pub(super) fn reduce(&mut self, delivered: u32, newly_lost: u64, advanced: bool, ctx: &mut RecoveryContext<'_>) {
        if ctx.cc.controls_recovery() {
            return;
        }
        let in_flight = self.in_flight(ctx.scoreboard);
        let target = whole(self.reduction.target(ctx.cc.ssthresh()));
        if let Some(cwnd) = self.reduction.on_delivery(delivered, in_flight, target, advanced && newly_lost == 0) {
            ctx.cc.set_cwnd(ctx.now, f64::from(cwnd));
        }
    }

    /// `tcp_set_xmit_timer()` and `tcp_rearm_rto()`.
    pub(super) fn set_timer(&mut self, ctx: &mut RecoveryContext<'_>) {
        if ctx.scoreboard.is_empty() {
            return self.timer.clear(ctx);
        }
        if !self.schedule_probe(true, ctx) {
            self.rearm_rto(ctx);
        }
    }

    pub(super) fn rearm_rto(&mut self, ctx: &mut RecoveryContext<'_>) {
        let at = match self.timer.pending {
            Pending::Reordering | Pending::Probe => self.rto_of_head(ctx),
            _ => return self.timer.set_rto(self.settings.wheel, ctx),
        };
        let at = self.settings.wheel.expiry(ctx.now, at - ctx.now);
        self.timer.set(Pending::Rto, at, ctx);
    }

    /// When the RTO of the oldest segment expires, but not before now.
    pub(super) fn rto_of_head(&self, ctx: &RecoveryContext<'_>) -> Time {
        let sent = ctx.scoreboard.first().map_or(ctx.now, |head| head.sent_at);
        (sent + ctx.rtt.rto()).max(ctx.now)
    }

    /// `tcp_schedule_loss_probe()` (RFC 8985, section 7.2). `advancing`: the RTO starts now.
    pub(super) fn schedule_probe(&mut self, advancing: bool, ctx: &mut RecoveryContext<'_>) -> bool {
        let open = matches!(self.ca_state, CaState::Open | CaState::Cwr);
        if !self.settings.tail_loss_probe || !self.settings.sack || !open || ctx.scoreboard.is_empty() {
            return false;
        }
        let pto = match ctx.rtt.srtt() {
            Some(srtt) => {
                let lone = ctx.scoreboard.len() == 1;
                srtt.saturating_mul(2) + if lone { self.settings.rto_min } else { timer::MIN_TIMEOUT }
            }
            None => timer::INITIAL_TIMEOUT,
        };
        let rto_at = if advancing { ctx.now + ctx.rtt.rto() } else { self.rto_of_head(ctx) };
        let wait = if rto_at > ctx.now { pto.min(rto_at - ctx.now) } else { pto };
        let at = self.settings.wheel.expiry(ctx.now, wait);
        self.timer.set(Pending::Probe, at, ctx);
        true
    }

    /// `tcp_send_loss_probe()`.
    pub(super) fn send_probe(&mut self, ctx: &mut RecoveryContext<'_>) {
        if self.probe.is_outstanding() {
            return self.rearm_rto(ctx);
        }
        self.probe.become_due(self.in_flight(ctx.scoreboard));
        self.timer.set_rto(self.settings.wheel, ctx);
    }

    /// `tcp_rack_reo_timeout()`.
    pub(super) fn on_reordering_timeout(&mut self, ctx: &mut RecoveryContext<'_>) {
        let before = self.in_flight(ctx.scoreboard);
        let losses = ctx.scoreboard.losses();
        let reo_wnd = self.reo_wnd(ctx);
        self.rack.detect(reo_wnd, ctx);
        if before != self.in_flight(ctx.scoreboard) {
            if self.ca_state != CaState::Recovery {
                self.enter_recovery(false, ctx);
                self.reduce(1, ctx.scoreboard.losses() - losses, false, ctx);
            }
            self.rexmit = Rexmit::Lost;
        }
        self.rearm_rto(ctx);
    }

    /// `tcp_ack()`. Returns whether the congestion control may grow the window.
    pub fn on_ack(&mut self, info: &AckInfo, ctx: &mut RecoveryContext<'_>) -> bool {
        let mut ack = info.linux;
        ack.advanced = info.advanced;
        let losses = ack.losses_before;
        self.delivered = 0;
        self.rexmit = Rexmit::None;
        if let Some(range) = ack.dsack_range {
            self.on_dsack(range, &mut ack, ctx);
        }
        let deliveries = self.take_deliveries(&ack, ctx);
        let mut set_timer = false;
        if ack.old {
            if ack.has_blocks {
                self.alert(&ack, &deliveries, &mut set_timer, ctx);
            }
            return false;
        }
        if info.advanced {
            self.retransmits = 0;
            self.probe.cancel();
        }
        if !ack.had_outstanding {
            if ack.dsack {
                self.alert(&ack, &deliveries, &mut set_timer, ctx);
            }
            return false;
        }
        if !self.settings.sack && info.acked > 0 {
            let (delivered, reordered) = self.reno.remove(info.acked, ctx.scoreboard);
            self.delivered += delivered;
            if reordered {
                self.reordering.set_without_sack(ctx.scoreboard.len() + info.acked);
            }
        }
        set_timer |= deliveries.acked || ack.timed_by_sack;
        ack.not_duplicate |= deliveries.acked;
        if let Some(prior_delivered) = deliveries.prior_delivered {
            self.rack.update_reo_wnd(prior_delivered);
        }
        if self.probe.on_ack(ctx.una, &ack, deliveries.sacked) {
            self.reduce_after_probe(ctx);
        }
        let congestion = deliveries.sacked || ack.ece || ack.dsack;
        if !ack.not_duplicate || congestion || self.ca_state != CaState::Open {
            ack.dupacks = u32::from(!info.advanced && !ack.not_duplicate && !ack.dsack);
            self.alert(&ack, &deliveries, &mut set_timer, ctx);
        }
        if set_timer {
            self.set_timer(ctx);
        }
        if self.in_reduction() {
            let newly_lost = ctx.scoreboard.losses() - losses;
            self.reduce(self.delivered, newly_lost, info.advanced, ctx);
            return false;
        }
        self.may_raise_cwnd(&deliveries)
    }

    /// A segment was sent (`tcp_event_new_data_sent()`, `tcp_retransmit_skb()`).
    pub fn on_sent(&mut self, index: Index, retransmission: bool, ctx: &mut RecoveryContext<'_>) {
        self.rack.on_sent(index, ctx.now);
        let probe = self.probe.on_sent(ctx.next, retransmission);
        if self.in_reduction() && !probe {
            self.reduction.out += 1;
        }
        if retransmission {
            if !probe {
                self.undo.on_retransmission(ctx.now);
                let head = index == ctx.scoreboard.first_index();
                if head && self.timer.pending != Pending::Reordering {
                    self.timer.set_rto(self.settings.wheel, ctx);
                }
            }
            return self.timer.apply(ctx);
        }
        // The probe's timer would replace the RTO.
        if probe || !self.schedule_probe(false, ctx) {
            if ctx.scoreboard.len() == 1 {
                self.timer.set_rto(self.settings.wheel, ctx);
            } else if matches!(self.timer.pending, Pending::Probe | Pending::None) {
                self.rearm_rto(ctx);
            }
        }
        self.timer.apply(ctx);
    }
}
