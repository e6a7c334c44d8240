//! Transmission outside the fast path: which segment is sent next, and what is recorded of it.

use super::cwnd_limit::SentBurst;
use super::fast_path::FastPoll;
use super::frto::FrtoStep;
use super::idle_restart::window_after_idle;
use super::path_mtu::ProbeStep;
use super::write_queue::BurstPlan;
use super::{NONE, RetransmitBurst, STREAM_START, Sender, Transmit, psh};
use crate::app::Socket;
use crate::packet::RetransmitReason;
use crate::tcp::cc::{CongestionControl, CongestionWindow};
use crate::tcp::config::{Push, RtoRestart};
use crate::tcp::info::CaState;
use crate::tcp::linux_rules::LinuxRule;
use crate::tcp::recovery::{Recovery, Retransmit};
use crate::tcp::scoreboard::Index;
use crate::tcp::stats::SendLimit;
use crate::units::{Span, Time};

/// A segment, and the result of `can_send_next` after it, if it was asked for.
type NextPiece = (Transmit, Option<Result<(), SendLimit>>);

/// Segments at the start of a connection that are not paced.
const UNPACED_SEGMENTS: u64 = 10;

/// What the recovery of losses sends next.
enum NextRepair {
    Retransmit(Index),
    Wait,
}

impl Sender {
    /// Nothing to send and nothing in flight: a pure receiver.
    #[inline]
    pub fn is_quiet(&self, socket: &Socket) -> bool {
        self.limit == SendLimit::Application && self.is_all_acked() && socket.written <= socket.sent && !socket.closed
    }

    /// The next segment that may be sent now, and whether it is known to be the last.
    #[inline]
    pub fn poll(&mut self, now: Time, socket: &mut Socket) -> Option<(Transmit, bool)> {
        if self.fast_path && !self.in_packets {
            match self.poll_fast(now, socket) {
                FastPoll::Send(piece, last) => return Some((piece, last)),
                FastPoll::Nothing => return None,
                FastPoll::Unclear => {}
            }
        }
        self.poll_slow(now, socket)
    }

    #[inline(never)]
    fn poll_slow(&mut self, now: Time, socket: &mut Socket) -> Option<(Transmit, bool)> {
        if self.fast_path && self.in_packets {
            match self.poll_packets(now, socket) {
                FastPoll::Send(piece, last) => return Some((piece, last)),
                FastPoll::Nothing => return None,
                FastPoll::Unclear => {}
            }
        }
        if self.tsq.is_some() && self.tsq_is_full() {
            let limit = self.limit_behind_tsq(now, socket);
            self.stop(now, limit, socket);
            return None;
        }
        if let Some(Retransmit::Now(index)) = self.forced_retransmit() {
            if self.config.rto_restart == RtoRestart::Recovery {
                self.rto_at = now + self.rtt.rto();
            }
            return Some((self.retransmit(now, index, socket), false));
        }
        match self.next_piece(now, socket) {
            Ok((transmit, next)) => {
                socket.sent = self.next.min(self.fin) - STREAM_START;
                Some((transmit, self.is_last(now, socket, next)))
            }
            Err(limit) => {
                self.stop(now, limit, socket);
                None
            }
        }
    }

    /// After a segment: nothing can follow it. Usually true, as each ACK releases one segment, and
    /// cheaper here than in another `poll`. Returns false where more than windows and buffers limit
    /// transmission. `next`: the result of `can_send_next`, if it is known.
    #[inline]
    fn is_last(&mut self, now: Time, socket: &Socket, next: Option<Result<(), SendLimit>>) -> bool {
        // A tail loss probe, which no window limits, ends with the transmission of a segment. Where Linux's packets
        // divide what is sent, only `next_burst` knows what follows: it divides what is written first.
        let other_limits = self.pacer.is_some() || self.tsq.is_some() || self.fine_timer.is_some() || self.in_packets;
        if other_limits || self.recovery.active() || self.scoreboard.lost_out() > 0 {
            return false;
        }
        match next.unwrap_or_else(|| self.can_send_next(now, socket)) {
            Ok(()) => false,
            Err(limit) => {
                self.stop(now, limit, socket);
                true
            }
        }
    }

    /// Nothing can be sent now; `limit` is the reason.
    #[inline]
    pub(super) fn stop(&mut self, now: Time, limit: SendLimit, socket: &Socket) {
        self.burst.end();
        if limit == SendLimit::Application
            && let Some(delivery_rate) = &mut self.delivery_rate
        {
            delivery_rate.on_app_limited(self.scoreboard.in_flight());
        }
        if self.cwnd_limit.is_some() {
            self.note_cwnd_use(limit, socket);
        }
        if self.usage.is_some() {
            self.validate_window(now, limit);
        }
        self.note_limit(now, limit);
        self.check_window_closed(now, limit);
    }

    #[inline(never)]
    fn note_cwnd_use(&mut self, limit: SendLimit, socket: &Socket) {
        let asked = socket.written.saturating_add(STREAM_START) > self.next;
        let full = limit == SendLimit::Cwnd || !self.room(self.recovery.in_flight(&self.scoreboard));
        let burst = SentBurst { full, asked, outstanding: self.scoreboard.len(), una: self.una, next: self.next };
        if let Some(limit) = &mut self.cwnd_limit {
            limit.on_burst(burst);
        }
    }

    /// RFC 2861, section 3.2. A full send buffer does not count as unused window.
    #[inline(never)]
    fn validate_window(&mut self, now: Time, limit: SendLimit) {
        let unused =
            matches!(limit, SendLimit::Application | SendLimit::ReceiveWindow) && !self.is_repairing() && !self.cwnd_was_limit();
        let flight = f64::from(self.scoreboard.in_flight());
        let Some(usage) = &mut self.usage else { return };
        let sent = usage.has_sent(self.next);
        if !unused {
            return usage.restart(now);
        }
        if !sent {
            return;
        }
        let window = CongestionWindow { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        let reduced = usage.on_unused(now, flight, self.rtt.rto(), self.config.initial_window, window);
        if let Some(window) = reduced.filter(|_| self.cc.pacing_rate().is_none()) {
            self.cc.on_restart(now, window);
        }
    }

    /// Nothing is in flight, and neither cwnd nor pacing held data back: the application or the peer's
    /// window did (RFC 5681, section 4.1).
    #[inline]
    pub(super) fn was_idle(&self) -> bool {
        matches!(self.limit, SendLimit::Application | SendLimit::ReceiveWindow) && self.scoreboard.is_empty()
    }

    /// New data after an idle period.
    #[inline(never)]
    fn end_idle(&mut self, now: Time) {
        let Some(last) = self.last_send else { return };
        let idle = now - last;
        self.cc.on_idle(now, idle);
        if let Some(cwv) = &mut self.window_cut.cwv {
            cwv.on_idle(now, last, self.rtt.srtt().unwrap_or(Span::ZERO));
            cwv.expire(now, &mut self.cc, self.config.initial_window);
            return;
        }
        let rto = self.rtt.rto();
        if idle <= rto || self.cc.pacing_rate().is_some() {
            return;
        }
        let window = CongestionWindow { cwnd: self.cc.cwnd(), ssthresh: self.cc.ssthresh() };
        if let Some(window) = window_after_idle(self.config.idle_restart, window, self.config.initial_window, idle, rto) {
            if self.config.linux_rules.has(LinuxRule::IdleRestartValidates)
                && let Some(usage) = &mut self.usage
            {
                usage.restart(now);
            }
            self.cc.on_restart(now, window);
        }
    }

    #[inline]
    fn forced_retransmit(&mut self) -> Option<Retransmit> {
        if !self.recovery.active() {
            return self.fine_timer.as_mut()?.take_due().map(Retransmit::Now);
        }
        match self.recovery.next_retransmit(&mut self.scoreboard)? {
            retransmit @ Retransmit::Now(_) => Some(retransmit),
            Retransmit::IfRoom(_) => None,
        }
    }

    #[inline]
    fn next_piece(&mut self, now: Time, socket: &Socket) -> Result<NextPiece, SendLimit> {
        let mut in_flight = self.recovery.in_flight(&self.scoreboard);
        let room = self.room(in_flight);
        if self.pacer.is_some() && room && self.is_pacing_limited(now, socket) {
            return Err(SendLimit::Pacing);
        }
        if self.scoreboard.lost_out() > 0 {
            if self.mtu_search.is_some() {
                self.give_up_mtu_probe(now);
            }
            match self.next_repair(now, socket) {
                Some(NextRepair::Retransmit(index)) if room => return Ok((self.retransmit(now, index, socket), None)),
                // Only the window limits a retransmission.
                Some(_) => return Err(self.window_limit()),
                None => in_flight = self.recovery.in_flight(&self.scoreboard),
            }
        }
        match if self.mtu_search.is_some() { self.mtu_probe_step(socket, in_flight) } else { None } {
            Some(ProbeStep::Wait) => return Err(self.window_limit()),
            Some(ProbeStep::Send(size)) => {
                self.begin_mtu_probe(now, size);
                return Ok(self.send_new(now, size, false, socket));
            }
            None => {}
        }
        if self.in_packets {
            return self.next_of_packets(now, socket, in_flight, room);
        }
        match self.new_piece(now, socket, in_flight) {
            Ok(_) if room && self.burst.is_new() && self.should_defer(now, socket, in_flight) => {
                Err(self.deferral_limit(in_flight))
            }
            Ok((payload, fin)) if room => Ok(self.send_new(now, payload, fin, socket)),
            Ok(_) => Err(self.window_limit()),
            Err(limit) if room => self.rescue(now, socket).ok_or(limit),
            Err(limit) => Err(limit),
        }
    }

    /// A rescue retransmission in a recovery (RFC 6675), else a tail loss probe.
    fn rescue(&mut self, now: Time, socket: &Socket) -> Option<NextPiece> {
        let index = self.recovery.next_rescue(&mut self.scoreboard)?;
        let reason = if self.recovery.active() { RetransmitReason::Fast } else { RetransmitReason::Probe };
        let probe = self.recovery.linux().is_some_and(|linux| linux.probes());
        Some((Transmit { reason, ..self.send_again(now, index, socket, probe) }, None))
    }

    /// As `next_piece`, where Linux's packets divide what is sent.
    #[inline(never)]
    fn next_of_packets(&mut self, now: Time, socket: &Socket, in_flight: u32, room: bool) -> Result<NextPiece, SendLimit> {
        if !self.is_in_burst() {
            if self.probe_at <= now
                && let Some(plan) = self.persist_burst(now, socket.closed && self.fin == NONE)
            {
                (self.probes, self.probe_backoff) = (0, 0);
                if self.was_idle() {
                    self.end_idle(now);
                }
                let next = self.next;
                if let Some(writes) = &mut self.writes {
                    writes.begin_probe(next, plan);
                }
                let (payload, fin) = self.next_of_burst(&plan);
                // Nagle's algorithm does not count a small segment of `tcp_write_wakeup()`.
                let small_end = self.small_end;
                let piece = self.send_new(now, payload, fin, socket);
                self.small_end = small_end;
                return Ok(piece);
            }
            let mut plan = match self.next_burst(now, socket, in_flight) {
                Ok(plan) => plan,
                Err(limit) if room => return self.rescue(now, socket).ok_or(limit),
                Err(limit) => return Err(limit),
            };
            if self.is_pacing_limited(now, socket) {
                return Err(SendLimit::Pacing);
            }
            if !room {
                return Err(self.window_limit());
            }
            if self.was_idle() {
                self.end_idle(now);
                plan = self.plan_burst(now, socket, in_flight)?;
            }
            self.begin_burst(plan);
        }
        let plan = self.writes.as_ref().map_or_else(Default::default, |writes| writes.burst);
        let (payload, fin) = self.next_of_burst(&plan);
        Ok(self.send_new(now, payload, fin, socket))
    }

    /// The limit to report when cwnd is full.
    pub(super) fn window_limit(&self) -> SendLimit {
        if self.recovery.active() { SendLimit::Recovery } else { SendLimit::Cwnd }
    }

    /// What is sent before new data while something is lost.
    #[inline(never)]
    fn next_repair(&mut self, now: Time, socket: &Socket) -> Option<NextRepair> {
        if self.recovery.linux().is_some_and(|linux| linux.sends_new_data_first()) {
            if self.new_piece(now, socket, self.recovery.in_flight(&self.scoreboard)).is_ok() {
                return None;
            }
            if let Some(linux) = self.recovery.linux_mut().filter(|linux| linux.high_seq() >= self.next) {
                linux.end_frto();
            }
        }
        match self.frto_step(now, socket) {
            FrtoStep::New => None,
            FrtoStep::Wait => Some(NextRepair::Wait),
            FrtoStep::Recover => self.recovery.next_retransmit(&mut self.scoreboard).map(|retransmit| match retransmit {
                Retransmit::IfRoom(index) => NextRepair::Retransmit(index),
                Retransmit::Now(_) => NextRepair::Wait,
            }),
        }
    }

    fn frto_step(&mut self, now: Time, socket: &Socket) -> FrtoStep {
        let Some(mut frto) = self.window_cut.undo.as_deref().map(|undo| undo.frto) else { return FrtoStep::Recover };
        let has_new_data = || self.new_piece(now, socket, self.recovery.in_flight(&self.scoreboard)).is_ok();
        let step = frto.next_step(self.next, u64::from(self.segment), has_new_data);
        if let Some(undo) = &mut self.window_cut.undo {
            undo.frto = frto;
        }
        step
    }

    #[inline]
    fn send_new(&mut self, now: Time, payload: u32, fin: bool, socket: &Socket) -> NextPiece {
        if !self.in_packets && self.was_idle() {
            self.end_idle(now);
        }
        let seq = self.next;
        let seq_len = payload + u32::from(fin);
        if fin {
            self.fin = seq + u64::from(payload);
        }
        self.scoreboard.push(seq, seq_len, now);
        self.next += u64::from(seq_len);
        let packets_push = self.finish_segment(payload);
        if !self.in_packets && payload < self.segment {
            self.small_end = self.next;
        }
        self.note_send(now, false, self.scoreboard.end_index() - 1);
        self.stats.first_data.get_or_insert(now);
        self.timed_out = false;
        let mut next = None;
        let mut more = |sender: &Sender| next.insert(sender.can_send_next(now, socket)).is_ok();
        let push = if self.in_packets { packets_push } else { payload > 0 && self.sets_psh(socket, &mut more) };
        (Transmit { seq, payload, fin, push, retransmission: false, reason: RetransmitReason::No }, next)
    }

    /// Whether a segment of new data could follow at once, or the limit that prevents it.
    pub(super) fn can_send_next(&self, now: Time, socket: &Socket) -> Result<(), SendLimit> {
        let in_flight = self.recovery.in_flight(&self.scoreboard);
        match self.new_piece(now, socket, in_flight) {
            Ok(_) if self.room(in_flight) || self.is_in_burst() => Ok(()),
            Ok(_) => Err(self.window_limit()),
            Err(limit) => Err(limit),
        }
    }

    fn retransmit(&mut self, now: Time, index: Index, socket: &Socket) -> Transmit {
        self.send_again(now, index, socket, false)
    }

    /// `probe`: a tail loss probe of Linux, which the scoreboard does not count.
    fn send_again(&mut self, now: Time, index: Index, socket: &Socket, probe: bool) -> Transmit {
        if probe {
            self.scoreboard.on_probe(index, now);
        } else {
            self.scoreboard.on_retransmit(index, self.next, now);
        }
        if let Some(undo) = &mut self.window_cut.undo {
            undo.on_retransmission(now);
        }
        if let Some(timer) = &mut self.fine_timer {
            timer.on_retransmission();
        }
        self.note_send(now, true, index);
        let by_head = self.config.rto_restart.by_head() && self.recovery.linux().is_none();
        if index == self.scoreboard.first_index() && by_head {
            self.rto_at = now + self.rtt.rto();
        }
        let (seq, len) = self.scoreboard.get(index).map_or((self.una, 0), |s| (s.seq, s.len));
        let fin = self.fin < seq + u64::from(len);
        let reason = self.retransmit_reason();
        let payload = len - u32::from(fin);
        let push = payload > 0
            && match self.in_packets {
                true => self.packet_sets_psh(now, index),
                false => self.sets_psh_on_retransmit(socket, seq + u64::from(payload)),
            };
        Transmit { seq, payload, fin, push, retransmission: true, reason }
    }

    fn retransmit_reason(&mut self) -> RetransmitReason {
        if std::mem::take(&mut self.timed_out) {
            RetransmitReason::Timeout
        } else if self.is_after_timeout() {
            RetransmitReason::AfterTimeout
        } else {
            RetransmitReason::Fast
        }
    }

    /// Linux enters Recovery from Loss when a retransmission is lost: what the timeout marked and is
    /// sent then still follows the timeout. A state before Recovery says that the timeout was undone.
    fn is_after_timeout(&self) -> bool {
        let undone = self.recovery.linux().is_some_and(|linux| linux.ca_state() < CaState::Recovery);
        self.una < self.rto_recovery_point && !undone
    }

    #[inline]
    fn note_send(&mut self, now: Time, retransmission: bool, index: Index) {
        if self.delivery_rate.is_some() {
            self.record_send(now, index);
        }
        if self.pacer.is_some() {
            self.pace(now);
        }
        if self.tsq.is_some() {
            self.enqueue(index);
        }
        self.stats.retransmitted_segments += u64::from(retransmission);
        self.count_send(now);
        if self.recovery.wants_sends() {
            let (recovery, mut ctx) = self.recovery_context(now);
            recovery.on_sent(index, retransmission, &mut ctx);
        }
    }

    /// Updates counters and timers for a segment that is sent.
    #[inline]
    pub(super) fn count_send(&mut self, now: Time) {
        self.stats.segments_sent += 1;
        if let (Some(last), Some(srtt)) = (self.last_send, self.rtt.srtt()) {
            self.stats.idle = self.stats.idle + ((now - last) - srtt);
        }
        // Data on an idle path (`tcp_event_data_sent()`).
        if self.follows_state
            && self.scoreboard.in_flight() == 1
            && let Some(last) = self.last_send
        {
            self.cc.on_transmit_start(now, last);
        }
        self.last_send = Some(now);
        if self.rto_at == Time::NEVER {
            self.rto_at = now + self.rtt.rto();
        }
        self.probe_at = Time::NEVER;
    }

    #[inline(never)]
    pub(super) fn record_send(&mut self, now: Time, index: Index) {
        if let Some(delivery_rate) = &mut self.delivery_rate {
            delivery_rate.on_send(now, index, self.scoreboard.in_flight(), self.scoreboard.losses());
        }
    }

    /// With this burst less than an initial window has been sent, which is not paced
    /// (`tcp_update_skb_after_send()`, after sch_fq).
    fn is_in_first_window(&self, burst: &BurstPlan) -> bool {
        let left = burst.end.saturating_sub(self.next).div_ceil(u64::from(burst.segment.max(1)));
        self.stats.segments_sent + 1 + left < UNPACED_SEGMENTS
    }

    /// Sets the time of the next segment, and the size of a new burst.
    #[inline(never)]
    pub(super) fn pace(&mut self, now: Time) {
        if self.in_packets && self.writes.as_ref().is_some_and(|writes| self.is_in_first_window(&writes.burst)) {
            return;
        }
        let rate = self.rate();
        if let (Some(pacer), Some(rate)) = (&mut self.pacer, rate) {
            pacer.on_send(now, rate);
            if self.in_packets {
                return;
            }
            self.burst.on_paced_send(|| self.config.tso.map(|tso| tso.burst(rate, self.segment)));
        }
    }

    /// A segment enters the host's queue.
    #[inline(never)]
    fn enqueue(&mut self, index: Index) {
        let bytes = self.scoreboard.get(index).map_or(0, |segment| u64::from(segment.len));
        if let Some(tsq) = &mut self.tsq {
            tsq.on_enqueued(bytes);
        }
    }

    /// The host's queue has no room for a full segment. A burst under way is not interrupted.
    #[inline(never)]
    fn tsq_is_full(&self) -> bool {
        let (Some(tsq), Some(autosize)) = (self.tsq, self.config.tsq) else { return false };
        // Before the first RTT sample there is no rate, and only `max_bytes` limits.
        let segment = u64::from(self.segment);
        let limit = u64::from(autosize.burst(self.rate_or_infinite(), self.segment)) * segment;
        !self.burst.in_progress() && !self.is_in_burst() && tsq.is_full(segment, limit)
    }

    /// The limit to report while TSQ holds back segments: the limit that applies anyway, or else
    /// the send buffer, in which the data wait.
    fn limit_behind_tsq(&self, now: Time, socket: &Socket) -> SendLimit {
        let in_flight = self.recovery.in_flight(&self.scoreboard);
        match self.new_piece(now, socket, in_flight) {
            Err(limit) if !self.scoreboard.unsent_losses() => limit,
            _ if !self.room(in_flight) => self.window_limit(),
            _ => SendLimit::SendBuffer,
        }
    }

    /// Whether the segment of new data just sent carries PSH. `more`: the windows allow another full
    /// segment at once.
    #[inline]
    pub(super) fn sets_psh(&mut self, socket: &Socket, more: impl FnOnce(&Sender) -> bool) -> bool {
        self.config.push == Push::Every || self.burst_sets_psh(socket, more)
    }

    /// Out of line, which keeps the fast path of hosts that set PSH on every segment short.
    #[inline(never)]
    fn burst_sets_psh(&mut self, socket: &Socket, more: impl FnOnce(&Sender) -> bool) -> bool {
        let last = self.next.saturating_sub(STREAM_START) >= socket.written;
        let mut burst = self.burst;
        let push = burst.sets_psh(last, self.window(), |burst| {
            let paced = self.pacer.is_some();
            let is_full = || burst.is_full(paced, self.config.tso, |tso| tso.burst(self.rate_or_infinite(), self.segment));
            // The length of a paced burst is known, that of others follows from the rate.
            (paced && is_full()) || !more(self) || is_full()
        });
        self.burst = burst;
        push
    }

    /// Segments of a packet of which nothing has arrived are retransmitted together, as far as the
    /// window allows; then the last of them carries PSH (`tcp_retransmit_skb()`). Alone, a segment
    /// carries the PSH of the application's write (`tcp_fragment()`).
    #[inline(never)]
    fn packet_sets_psh(&mut self, now: Time, index: Index) -> bool {
        let Some(segment) = self.scoreboard.get(index).copied() else { return false };
        let RetransmitBurst { next, end, at } = self.retransmit_burst;
        let continues = at == now && segment.seq == next && segment.seq < end;
        let end = if continues { end } else { self.divide_packet(index) };
        self.retransmit_burst = RetransmitBurst { next: segment.end(), end, at: now };
        segment.end() >= end && (continues || segment.is_pushed())
    }

    /// End of the retransmissions that leave as a packet with this one, which has just been counted. The
    /// packet that they are of is divided around them.
    fn divide_packet(&mut self, index: Index) -> u64 {
        let Some(first) = self.scoreboard.get(index) else { return 0 };
        let (mut at, mut end, mut joined) = (index, first.end(), first.is_joined());
        let room = (self.window() as u32).saturating_sub(self.recovery.in_flight(&self.scoreboard));
        let mut left = room.min(self.burst_segments().saturating_sub(1));
        while joined && left > 0 {
            let Some(next) = self.scoreboard.get(at + 1).filter(|next| next.is_lost() && !next.is_retransmitted()) else { break };
            (at, end, joined) = (at + 1, next.end(), next.is_joined());
            left -= 1;
        }
        self.scoreboard.end_packet(at);
        if let Some(before) = index.checked_sub(1) {
            self.scoreboard.end_packet(before);
        }
        end
    }

    /// A retransmission is sent alone, so it carries PSH only as the last segment of the stream.
    /// (Linux retransmits a burst of which nothing arrived as a whole; here each segment is
    /// retransmitted by itself.)
    fn sets_psh_on_retransmit(&mut self, socket: &Socket, end: u64) -> bool {
        self.burst.restart_psh();
        self.config.push == Push::Every || end.saturating_sub(STREAM_START) >= socket.written
    }

    /// Linux defers a burst shorter than the autosize if the next ACK is due soon
    /// (`tcp_tso_should_defer()`).
    #[inline]
    pub(super) fn should_defer(&self, now: Time, socket: &Socket, in_flight: u32) -> bool {
        let recent = self.last_send.is_some_and(|last| now < last + psh::MAX_DEFER);
        recent && psh::may_defer(&self.config, self.pacer.is_some()) && self.burst_can_grow(now, socket, in_flight)
    }

    /// The limit of a deferred burst: the peer's window where it leaves no more room than cwnd
    /// (`is_rwnd_limited` of `tcp_tso_should_defer()`), so that cwnd does not grow for it.
    #[inline(never)]
    pub(super) fn deferral_limit(&self, in_flight: u32) -> SendLimit {
        let room = (self.window() as u64).saturating_sub(u64::from(in_flight)) * u64::from(self.segment);
        if self.usable_window(in_flight) <= room { SendLimit::ReceiveWindow } else { self.window_limit() }
    }

    /// No recovery, less room than a burst and than a third of the window, more data than room, and
    /// the oldest segment's ACK is due within a millisecond and half an RTT.
    fn burst_can_grow(&self, now: Time, socket: &Socket, in_flight: u32) -> bool {
        let (Some(tso), Some(srtt)) = (self.config.tso, self.rtt.srtt()) else { return false };
        if self.recovery.active() {
            return false;
        }
        let (segment, window) = (u64::from(self.segment), self.window() as u64);
        // In bytes, as a third of a small window is no whole number of segments.
        let third = (window * segment).min(self.peer_window) / u64::from(self.config.tso_win_divisor.max(1));
        let peer = self.usable_window(in_flight) / segment;
        let room = window.saturating_sub(u64::from(in_flight)).min(peer);
        let buffered = self.una.saturating_add(self.send_buffer);
        let left = socket.written.saturating_add(STREAM_START).min(buffered).saturating_sub(self.next);
        let oldest = self.scoreboard.first().map(|oldest| now - oldest.sent_at);
        room * segment < third
            && left > room * segment
            && oldest.is_some_and(|age| age + Span(srtt.0 / 2).min(psh::MAX_DEFER) >= srtt)
            && room < u64::from(tso.burst(self.rate_or_infinite(), self.segment))
    }
}
