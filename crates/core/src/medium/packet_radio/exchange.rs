//! Exchange of one frame, phase by phase: turnaround, RTS, turnaround, CTS, turnaround, frame, and,
//! without piggybacking, turnaround, link ACK.

use super::{ExchangePhase, PacketRadio, RelayArrival};
use crate::element::{DropReason, Output};
use crate::units::Time;

impl PacketRadio {
    /// A phase of a neighbor queue has ended.
    pub(super) fn step(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        match self.neighbors[number].phase {
            // The back-off is over. A busy radio tries again when it is free.
            ExchangePhase::Idle => {
                self.neighbors[number].due = Time::NEVER;
                self.try_start(self.neighbors[number].from, now, out);
            }
            ExchangePhase::Turning => self.send_rts(number, now),
            ExchangePhase::Rts { start } => self.rts_sent(number, now, start),
            ExchangePhase::NoAnswer { listening } => {
                let uniform = self.backoffs.uniform();
                self.neighbors[number].back_off(now, uniform, &self.config);
                self.stop_using(number, now);
                self.set_receiving(self.neighbors[number].from, listening);
                self.release(self.neighbors[number].from, now, out);
            }
            ExchangePhase::Cts => {
                let neighbor = &mut self.neighbors[number];
                neighbor.backoff = None;
                neighbor.ready = now;
                let air = neighbor.frame.map_or(self.config.rts(), |frame| frame.air);
                neighbor.enter(ExchangePhase::Frame, now + self.config.turnaround() + air);
            }
            ExchangePhase::Frame => self.frame_end(number, now, out),
            ExchangePhase::Answering => self.send_link_ack(number, now),
            ExchangePhase::LinkAck => self.complete(number, now, out),
            ExchangePhase::AwaitAck { .. } => {
                self.neighbors[number].due = Time::NEVER;
                if !self.radios[self.neighbors[number].from].busy {
                    self.ack_timed_out(number, now, out);
                    self.try_start(self.neighbors[number].from, now, out);
                }
            }
        }
    }

    /// A free radio starts an exchange if one of its neighbor queues has a frame and is not in
    /// back-off.
    pub(super) fn try_start(&mut self, radio: usize, now: Time, out: &mut Output<'_>) {
        if self.radios[radio].busy {
            return self.defer(radio, now);
        }
        let n = self.radios[radio].neighbors.len();
        for step in 0..n {
            let index = (self.radios[radio].next + step) % n;
            let number = self.radios[radio].neighbors[index];
            let neighbor = &mut self.neighbors[number];
            let may = neighbor.phase == ExchangePhase::Idle && neighbor.ready <= now && neighbor.has_work(&self.queues);
            if may && neighbor.load(now, &mut self.queues, &self.config, out) {
                self.radios[radio].next = (index + 1) % n;
                self.start(number, now);
                return self.defer(radio, now);
            }
        }
        if self.radios[radio].sending {
            self.set_receiving(radio, now + self.config.to_receive);
        }
    }

    /// Defers the other neighbor queues of a busy radio: they back off as after an unanswered RTS,
    /// or wait until the radio is free.
    fn defer(&mut self, radio: usize, now: Time) {
        if !self.config.defer_by_backoff {
            return;
        }
        let unheard = now + self.config.cts_timeout();
        for index in 0..self.radios[radio].neighbors.len() {
            let neighbor = &mut self.neighbors[self.radios[radio].neighbors[index]];
            if neighbor.phase == ExchangePhase::Idle && neighbor.ready <= now && neighbor.has_work(&self.queues) {
                neighbor.back_off(unheard, self.backoffs.uniform(), &self.config);
            }
        }
    }

    fn start(&mut self, number: usize, now: Time) {
        let radio = &mut self.radios[self.neighbors[number].from];
        radio.busy = true;
        self.start_using(number, now);
        if self.radios[self.neighbors[number].from].sending {
            self.send_rts(number, now);
        } else {
            let turned = self.radios[self.neighbors[number].from].listening_since.max(now) + self.config.to_send;
            self.neighbors[number].enter(ExchangePhase::Turning, turned);
        }
    }

    fn send_rts(&mut self, number: usize, now: Time) {
        self.radios[self.neighbors[number].from].sending = true;
        self.count_control(number);
        self.neighbors[number].enter(ExchangePhase::Rts { start: now }, now + self.config.rts());
    }

    /// The RTS has been sent. A peer that is listening and free replies with CTS.
    fn rts_sent(&mut self, number: usize, now: Time, start: Time) {
        let config = &self.config;
        let peer = &mut self.radios[self.neighbors[number].to];
        let grants = !peer.busy && !peer.sending && peer.listening_since <= start;
        let cts = now + config.turnaround() + config.cts();
        let refused = config.nack_cts && peer.busy;
        if grants {
            peer.busy = true;
            self.count_control(number);
            self.neighbors[number].enter(ExchangePhase::Cts, cts);
        } else {
            let until = if refused { cts } else { (start + config.cts_timeout()).max(now) };
            let listening = now + config.to_receive;
            if refused {
                self.count_control(number);
            }
            self.neighbors[number].enter(ExchangePhase::NoAnswer { listening }, until);
        }
    }

    fn frame_end(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        let to = self.neighbors[number].to;
        let Some(frame) = &self.neighbors[number].frame else { return };
        let share = self.config.frame_error[frame.stream.direction as usize];
        if share > 0.0 && self.errors.chance(share) {
            return self.damaged(number, now, out);
        }
        self.frame_received(number, now);
        if self.config.piggyback {
            self.complete(number, now, out);
        } else {
            self.radios[to].sending = true;
            self.neighbors[number].enter(ExchangePhase::Answering, now + self.config.turnaround());
        }
    }

    /// The peer has received the frame: its packet leaves that radio after the link latency.
    pub(super) fn frame_received(&mut self, number: usize, now: Time) {
        let position = self.neighbors[number].position;
        let Some(frame) = &mut self.neighbors[number].frame else { return };
        let (stream, air) = (frame.stream, frame.air);
        if let Some(packet) = frame.packet.take() {
            if self.topology.entry(stream) == number {
                self.queues.add_sending(stream.direction, air);
            }
            if self.topology.neighbor_from(position, stream).is_none() {
                self.queues.of(stream).leave_channel();
            }
            let at = now + self.config.latency;
            self.arriving.push_back(RelayArrival { at, stream, position, packet });
        }
    }

    /// The frame was damaged, so the peer does not acknowledge it; the radio waits for the link ACK
    /// until its timeout.
    fn damaged(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        let (from, to) = (self.neighbors[number].from, self.neighbors[number].to);
        let deadline = now + self.config.ack_timeout;
        self.neighbors[number].enter(ExchangePhase::AwaitAck { deadline }, deadline);
        self.stop_using(number, now);
        self.set_receiving(from, now + self.config.to_receive);
        self.release(to, now, out);
        self.release(from, now, out);
    }

    /// The peer has turned to sending: the link ACK is a frame of its own.
    fn send_link_ack(&mut self, number: usize, now: Time) {
        self.set_receiving(self.neighbors[number].from, now);
        self.count_control(number);
        self.neighbors[number].enter(ExchangePhase::LinkAck, now + self.config.air(self.config.ack_bytes));
    }

    /// The exchange is complete. The radio that is set to sending goes first, since it needs no
    /// turnaround: with piggybacked link ACKs (on the peer's next frame, even a CTS) the sender of
    /// the frame, otherwise the peer that sent the link ACK.
    fn complete(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        let (from, to) = (self.neighbors[number].from, self.neighbors[number].to);
        self.stop_using(number, now);
        self.neighbors[number].frame = None;
        self.neighbors[number].enter(ExchangePhase::Idle, Time::NEVER);
        let (first, second) = if self.radios[from].sending { (from, to) } else { (to, from) };
        self.release(first, now, out);
        self.release(second, now, out);
    }

    /// The link ACK timed out: the frame is retransmitted, or its packet is dropped.
    fn ack_timed_out(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        let neighbor = &mut self.neighbors[number];
        neighbor.enter(ExchangePhase::Idle, Time::NEVER);
        neighbor.ready = now;
        let Some(frame) = &mut neighbor.frame else { return };
        frame.failures += 1;
        if frame.failures >= self.config.tries {
            let (stream, packet) = (frame.stream, frame.packet.take());
            neighbor.frame = None;
            if let Some(packet) = packet {
                self.queues.of(stream).drop(packet, DropReason::Loss, out);
            }
        }
    }

    /// A radio is free again: link ACK timeouts that expired meanwhile take effect, and the radio
    /// may start an exchange.
    fn release(&mut self, radio: usize, now: Time, out: &mut Output<'_>) {
        self.radios[radio].busy = false;
        for index in 0..self.radios[radio].neighbors.len() {
            let number = self.radios[radio].neighbors[index];
            if let ExchangePhase::AwaitAck { deadline } = self.neighbors[number].phase
                && deadline <= now
            {
                self.ack_timed_out(number, now, out);
            }
        }
        self.try_start(radio, now, out);
    }

    /// A radio is set to receiving, from `since` on.
    fn set_receiving(&mut self, radio: usize, since: Time) {
        self.radios[radio].sending = false;
        self.radios[radio].listening_since = since;
    }

    pub(super) fn count_control(&mut self, number: usize) {
        if let Some(frame) = self.neighbors[number].frame {
            self.queues.of(frame.stream).count_control(1);
        }
    }

    pub(super) fn start_using(&mut self, number: usize, now: Time) {
        self.set_using(number, now, true);
    }
    pub(super) fn stop_using(&mut self, number: usize, now: Time) {
        self.set_using(number, now, false);
    }

    /// A stream occupies the medium while its first link is in an exchange, so the shares of a
    /// direction add up to at most 1.
    fn set_using(&mut self, number: usize, now: Time, using: bool) {
        let Some(frame) = self.neighbors[number].frame else { return };
        if self.topology.entry(frame.stream) == number {
            self.queues.of(frame.stream).set_sending(now, using);
        }
    }
}
