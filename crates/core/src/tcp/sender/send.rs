//! What goes out next, and what is noted when it does.

use super::calm::Turn;
use super::frto;
use super::{STREAM_START, Sender, Transmit};
use crate::app::Socket;
use crate::packet::RetransmitReason;
use crate::tcp::config::RtoRestart;
use crate::tcp::recovery::{Recovery, Resend};
use crate::tcp::scoreboard::Index;
use crate::tcp::stats::Limit;
use crate::units::Time;

/// What the repair of losses has to say about what goes out next.
enum Repair {
    Resend(Index),
    Wait,
}

impl Sender {
    /// Nothing to send, nothing in flight: an end that only receives.
    #[inline]
    pub fn is_quiet(&self, socket: &Socket) -> bool {
        self.limit == Limit::Application && self.all_through() && socket.written <= socket.sent && !socket.closed
    }

    /// The next piece to send, if the windows allow one, and whether it is known to be the last for now.
    #[inline]
    pub fn poll(&mut self, now: Time, socket: &mut Socket) -> Option<(Transmit, bool)> {
        if self.calm {
            match self.poll_calm(now, socket) {
                Turn::Send(piece, last) => return Some((piece, last)),
                Turn::Nothing => return None,
                Turn::Unclear => {}
            }
        }
        self.poll_with_care(now, socket)
    }

    #[inline(never)]
    fn poll_with_care(&mut self, now: Time, socket: &mut Socket) -> Option<(Transmit, bool)> {
        if self.queued.is_some() && self.queue_is_full() {
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
            self.pacer.is_some() || self.queued.is_some() || self.fine_timer.is_some() || self.recovery.watches_sends();
        if more_decide || self.recovery.active() || self.board.lost_out() > 0 {
            return false;
        }
        let in_flight = self.recovery.in_flight(&self.board);
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
        (self.chunk, self.pushing) = (0, 0);
        if limit == Limit::Application
            && let Some(deliveries) = &mut self.deliveries
        {
            deliveries.on_app_limited(self.board.in_flight());
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
        match self.recovery.next_resend(&mut self.board)? {
            resend @ Resend::Now(_) => Some(resend),
            Resend::IfRoom(_) => None,
        }
    }

    #[inline]
    fn next_piece(&mut self, now: Time, socket: &Socket) -> Result<Transmit, Limit> {
        let mut in_flight = self.recovery.in_flight(&self.board);
        let room = self.room(in_flight);
        if self.pacer.is_some() && room && self.must_wait(now, socket) {
            return Err(Limit::Pacing);
        }
        if self.board.lost_out() > 0 {
            match self.next_repair(socket) {
                Some(Repair::Resend(index)) if room => return Ok(self.resend(now, index, socket)),
                // What holds back a retransmission is the window, whatever would hold back new data.
                Some(_) => return Err(self.window_limit()),
                None => in_flight = self.recovery.in_flight(&self.board),
            }
        }
        match self.new_piece(socket, in_flight) {
            Ok(_) if room && self.pushing == 0 && self.waits_for_a_chunk(now, socket, in_flight) => Err(self.window_limit()),
            Ok((payload, fin)) if room => Ok(self.send_new(now, payload, fin, socket)),
            Ok(_) => Err(self.window_limit()),
            Err(limit) => {
                if room && let Some(index) = self.recovery.last_resort(&mut self.board) {
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
    fn next_repair(&mut self, socket: &Socket) -> Option<Repair> {
        match self.frto_turn(socket) {
            frto::Turn::New => None,
            frto::Turn::Wait => Some(Repair::Wait),
            frto::Turn::Repair => self.recovery.next_resend(&mut self.board).map(|resend| match resend {
                Resend::IfRoom(index) => Repair::Resend(index),
                Resend::Now(_) => Repair::Wait,
            }),
        }
    }

    #[inline]
    fn send_new(&mut self, now: Time, payload: u32, fin: bool, socket: &Socket) -> Transmit {
        if self.limit == Limit::Application && self.board.is_empty() {
            self.end_idle(now);
        }
        let seq = self.next;
        let space = payload + u32::from(fin);
        if fin {
            self.fin = seq + u64::from(payload);
        }
        self.board.push(seq, space, now);
        self.next += u64::from(space);
        self.note_send(now, false, self.board.end_index() - 1);
        self.stats.first_data.get_or_insert(now);
        self.timed_out = false;
        let push = payload > 0 && self.pushes(socket, |sender| sender.may_follow(socket));
        Transmit { seq, payload, fin, push, retransmission: false, reason: RetransmitReason::No }
    }

    /// A segment of new data could go right after the one that has gone.
    fn may_follow(&self, socket: &Socket) -> bool {
        let in_flight = self.recovery.in_flight(&self.board);
        self.room(in_flight) && self.new_piece(socket, in_flight).is_ok()
    }

    fn resend(&mut self, now: Time, index: Index, socket: &Socket) -> Transmit {
        self.board.on_resend(index, self.next, now);
        if let Some(undo) = &mut self.undo {
            undo.on_resend(now);
        }
        if let Some(timer) = &mut self.fine_timer {
            timer.on_resend();
        }
        self.note_send(now, true, index);
        if index == self.board.first_index() && self.config.rto.restart.by_head() {
            self.rto_at = now + self.rtt.rto();
        }
        let (seq, len) = self.board.get(index).map_or((self.una, 0), |s| (s.seq, s.len));
        let fin = self.fin < seq + u64::from(len);
        let reason = self.repairs();
        let payload = len - u32::from(fin);
        let push = payload > 0 && self.pushes_again(socket, seq + u64::from(payload));
        Transmit { seq, payload, fin, push, retransmission: true, reason }
    }

    /// What a retransmission that goes out now is for.
    fn repairs(&mut self) -> RetransmitReason {
        if std::mem::take(&mut self.timed_out) {
            RetransmitReason::Timeout
        } else if self.una < self.timed_out_to {
            RetransmitReason::AfterTimeout
        } else {
            RetransmitReason::Fast
        }
    }

    #[inline]
    fn note_send(&mut self, now: Time, retransmission: bool, index: Index) {
        if self.deliveries.is_some() {
            self.note_departure(now, index);
        }
        if self.pacer.is_some() {
            self.pace(now);
        }
        if self.queued.is_some() {
            self.enqueue(index);
        }
        self.stats.retransmitted_segments += u64::from(retransmission);
        self.count_send(now);
        if self.recovery.watches_sends() {
            let (recovery, mut repair) = self.split(now);
            recovery.on_sent(index, retransmission, &mut repair);
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
    pub(super) fn note_departure(&mut self, now: Time, index: Index) {
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.on_send(now, index, self.board.in_flight(), self.board.losses());
        }
    }
}
