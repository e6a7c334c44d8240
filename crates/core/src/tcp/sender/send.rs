//! What goes out next, and what is noted when it does.

use super::fast_path::FastPoll;
use super::frto::FrtoStep;
use super::{STREAM_START, Sender, Transmit};
use crate::app::Socket;
use crate::packet::RetransmitReason;
use crate::tcp::config::RtoRestart;
use crate::tcp::recovery::{Recovery, Resend};
use crate::tcp::scoreboard::Index;
use crate::tcp::stats::Limit;
use crate::units::Time;

/// What the repair of losses has to say about what goes out next.
enum NextRepair {
    Resend(Index),
    Wait,
}

impl Sender {
    /// Nothing to send, nothing in flight: an end that only receives.
    #[inline]
    pub fn is_quiet(&self, socket: &Socket) -> bool {
        self.limit == Limit::Application && self.is_all_acked() && socket.written <= socket.sent && !socket.closed
    }

    /// The next piece to send, if the windows allow one, and whether it is known to be the last for now.
    #[inline]
    pub fn poll(&mut self, now: Time, socket: &mut Socket) -> Option<(Transmit, bool)> {
        if self.fast_path {
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
        if self.tsq_bytes.is_some() && self.queue_is_full() {
            let limit = self.limit_when_full(socket);
            self.stop(now, limit);
            return None;
        }
        if let Some(Resend::Now(index)) = self.forced_resend() {
            if self.config.rto.restart == RtoRestart::Recovery {
                self.rto_at = now + self.rtt.rto();
            }
            return Some((self.resend(now, index, socket), false));
        }
        match self.next_piece(now, socket) {
            Ok(transmit) => {
                socket.sent = self.next.min(self.fin) - STREAM_START;
                Some((transmit, self.is_last(now, socket)))
            }
            Err(limit) => {
                self.stop(now, limit);
                None
            }
        }
    }

    /// After a piece: nothing may follow it. Mostly so, as each ACK lets one segment go, and asking here is cheaper than being asked
    /// again; where more than windows decide, it leaves that to `poll`.
    #[inline]
    fn is_last(&mut self, now: Time, socket: &Socket) -> bool {
        // What watches sends may have a probe to send where no window lets it.
        let more_decide =
            self.pacer.is_some() || self.tsq_bytes.is_some() || self.fine_timer.is_some() || self.recovery.wants_sends();
        if more_decide || self.recovery.active() || self.scoreboard.lost_out() > 0 {
            return false;
        }
        let in_flight = self.recovery.in_flight(&self.scoreboard);
        let limit = match self.new_piece(socket, in_flight) {
            Ok(_) if self.room(in_flight) => return false,
            Ok(_) => Limit::Cwnd,
            Err(limit) => limit,
        };
        self.stop(now, limit);
        true
    }

    /// Nothing goes out now, for this reason.
    #[inline]
    pub(super) fn stop(&mut self, now: Time, limit: Limit) {
        // A chunk that the windows cut short goes out as it is.
        (self.tso_burst, self.psh_segments) = (0, 0);
        if limit == Limit::Application
            && let Some(delivery_rate) = &mut self.delivery_rate
        {
            delivery_rate.on_app_limited(self.scoreboard.in_flight());
        }
        if self.usage.is_some() {
            self.validate_window(now, limit);
        }
        self.note_limit(now, limit);
        self.check_window_closed(now, limit);
    }

    #[inline]
    fn forced_resend(&mut self) -> Option<Resend> {
        if !self.recovery.active() {
            return self.fine_timer.as_mut()?.take_due().map(Resend::Now);
        }
        match self.recovery.next_resend(&mut self.scoreboard)? {
            resend @ Resend::Now(_) => Some(resend),
            Resend::IfRoom(_) => None,
        }
    }

    #[inline]
    fn next_piece(&mut self, now: Time, socket: &Socket) -> Result<Transmit, Limit> {
        let mut in_flight = self.recovery.in_flight(&self.scoreboard);
        let room = self.room(in_flight);
        if self.pacer.is_some() && room && self.is_pacing_limited(now, socket) {
            return Err(Limit::Pacing);
        }
        if self.scoreboard.lost_out() > 0 {
            match self.next_repair(socket) {
                Some(NextRepair::Resend(index)) if room => return Ok(self.resend(now, index, socket)),
                // What holds back a retransmission is the window, whatever would hold back new data.
                Some(_) => return Err(self.window_limit()),
                None => in_flight = self.recovery.in_flight(&self.scoreboard),
            }
        }
        match self.new_piece(socket, in_flight) {
            Ok(_) if room && self.psh_segments == 0 && self.should_defer(now, socket, in_flight) => Err(self.window_limit()),
            Ok((payload, fin)) if room => Ok(self.send_new(now, payload, fin, socket)),
            Ok(_) => Err(self.window_limit()),
            Err(limit) => {
                if room && let Some(index) = self.recovery.next_rescue(&mut self.scoreboard) {
                    // Within a recovery it is the segment at the end that is rescued; else a probe.
                    let reason = if self.recovery.active() { RetransmitReason::Fast } else { RetransmitReason::Probe };
                    return Ok(Transmit { reason, ..self.resend(now, index, socket) });
                }
                Err(limit)
            }
        }
    }

    /// Whose window it is that is full.
    pub(super) fn window_limit(&self) -> Limit {
        if self.recovery.active() { Limit::Recovery } else { Limit::Cwnd }
    }

    /// What comes before new data when something is lost.
    #[inline(never)]
    fn next_repair(&mut self, socket: &Socket) -> Option<NextRepair> {
        match self.frto_step(socket) {
            FrtoStep::New => None,
            FrtoStep::Wait => Some(NextRepair::Wait),
            FrtoStep::Recover => self.recovery.next_resend(&mut self.scoreboard).map(|resend| match resend {
                Resend::IfRoom(index) => NextRepair::Resend(index),
                Resend::Now(_) => NextRepair::Wait,
            }),
        }
    }

    #[inline]
    fn send_new(&mut self, now: Time, payload: u32, fin: bool, socket: &Socket) -> Transmit {
        if self.limit == Limit::Application && self.scoreboard.is_empty() {
            self.end_idle(now);
        }
        let seq = self.next;
        let space = payload + u32::from(fin);
        if fin {
            self.fin = seq + u64::from(payload);
        }
        self.scoreboard.push(seq, space, now);
        self.next += u64::from(space);
        self.note_send(now, false, self.scoreboard.end_index() - 1);
        self.stats.first_data.get_or_insert(now);
        self.timed_out = false;
        let push = payload > 0 && self.sets_psh(socket, |sender| sender.can_send_next(socket));
        Transmit { seq, payload, fin, push, retransmission: false, reason: RetransmitReason::No }
    }

    /// A segment of new data could go right after the one that has gone.
    fn can_send_next(&self, socket: &Socket) -> bool {
        let in_flight = self.recovery.in_flight(&self.scoreboard);
        self.room(in_flight) && self.new_piece(socket, in_flight).is_ok()
    }

    fn resend(&mut self, now: Time, index: Index, socket: &Socket) -> Transmit {
        self.scoreboard.on_resend(index, self.next, now);
        if let Some(undo) = &mut self.undo {
            undo.on_resend(now);
        }
        if let Some(timer) = &mut self.fine_timer {
            timer.on_resend();
        }
        self.note_send(now, true, index);
        if index == self.scoreboard.first_index() && self.config.rto.restart.by_head() {
            self.rto_at = now + self.rtt.rto();
        }
        let (seq, len) = self.scoreboard.get(index).map_or((self.una, 0), |s| (s.seq, s.len));
        let fin = self.fin < seq + u64::from(len);
        let reason = self.retransmit_reason();
        let payload = len - u32::from(fin);
        let push = payload > 0 && self.sets_psh_on_retransmit(socket, seq + u64::from(payload));
        Transmit { seq, payload, fin, push, retransmission: true, reason }
    }

    /// What a retransmission that goes out now is for.
    fn retransmit_reason(&mut self) -> RetransmitReason {
        if std::mem::take(&mut self.timed_out) {
            RetransmitReason::Timeout
        } else if self.una < self.rto_recovery_point {
            RetransmitReason::AfterTimeout
        } else {
            RetransmitReason::Fast
        }
    }

    #[inline]
    fn note_send(&mut self, now: Time, retransmission: bool, index: Index) {
        if self.delivery_rate.is_some() {
            self.record_send(now, index);
        }
        if self.pacer.is_some() {
            self.pace(now);
        }
        if self.tsq_bytes.is_some() {
            self.enqueue(index);
        }
        self.stats.retransmitted_segments += u64::from(retransmission);
        self.count_send(now);
        if self.recovery.wants_sends() {
            let (recovery, mut ctx) = self.recovery_context(now);
            recovery.on_sent(index, retransmission, &mut ctx);
        }
    }

    /// A segment goes out: what meters and timers make of it.
    #[inline]
    pub(super) fn count_send(&mut self, now: Time) {
        self.stats.segments_sent += 1;
        if let (Some(last), Some(srtt)) = (self.last_send, self.rtt.srtt()) {
            self.stats.idle = self.stats.idle + ((now - last) - srtt);
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
}
