//! `Mac/Multihop`, the packet-radio MAC that the authors of the asymmetry paper left in ns-2
//! (mac-multihop.cc): a reading of the paper beside the medium's own rules, and the one that its
//! figures may come from.
//!
//! A node has a MAC for each neighbor, and is busy while one of them polls or expects a frame. An
//! exchange is RTS, one turnaround, CTS, frame. Nothing turns around before the RTS nor before the
//! frame, and the sender's node is free from the start of its own frame on: it may answer an RTS, or
//! poll another neighbor, while it sends.

use super::{ExchangePhase, PacketRadio};
use crate::element::Output;
use crate::units::Time;

impl PacketRadio {
    /// A phase of a neighbor queue has ended.
    pub(super) fn step_multihop(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        let (from, to) = (self.neighbors[number].from, self.neighbors[number].to);
        match self.neighbors[number].phase {
            // `PollTimeoutHandler`
            ExchangePhase::Idle => self.poll(number, now, out),
            ExchangePhase::Rts { start } => self.answer(number, now, start),
            // `BackoffHandler`
            ExchangePhase::NoAnswer { .. } => {
                self.stop_using(number, now);
                self.radios[from].busy = false;
                let uniform = self.backoffs.uniform();
                self.neighbors[number].back_off(now, uniform, &self.config);
            }
            // `PollAckHandler`
            ExchangePhase::Cts => {
                self.radios[from].busy = false;
                let neighbor = &mut self.neighbors[number];
                neighbor.backoff = None;
                let air = neighbor.frame.map_or(self.config.rts(), |frame| frame.air);
                neighbor.enter(ExchangePhase::Frame, now + air);
            }
            ExchangePhase::Frame => {
                self.frame_received(number, now);
                self.radios[to].busy = false;
                self.stop_using(number, now);
                self.neighbors[number].frame = None;
                self.poll(number, now, out);
            }
            // Phases of the medium's own rules.
            ExchangePhase::Turning | ExchangePhase::Answering | ExchangePhase::LinkAck | ExchangePhase::AwaitAck { .. } => {
                self.neighbors[number].enter(ExchangePhase::Idle, Time::NEVER);
            }
        }
    }

    /// A packet has arrived: a MAC without a frame polls at once.
    pub(super) fn poll_first(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        if self.neighbors[number].phase == ExchangePhase::Idle && self.neighbors[number].due == Time::NEVER {
            self.poll(number, now, out);
        }
    }

    /// `MultihopMac::poll`: sends an RTS for the next frame, unless the node is busy. The wait for
    /// the CTS and the back-off after it pass in both cases.
    fn poll(&mut self, number: usize, now: Time, out: &mut Output<'_>) {
        self.neighbors[number].enter(ExchangePhase::Idle, Time::NEVER);
        if !self.neighbors[number].load(now, &mut self.queues, &self.config, out) {
            return;
        }
        let from = self.neighbors[number].from;
        if self.radios[from].busy {
            let unheard = now + self.config.cts_timeout();
            return self.neighbors[number].back_off(unheard, self.backoffs.uniform(), &self.config);
        }
        self.radios[from].busy = true;
        self.start_using(number, now);
        self.count_control(number);
        self.neighbors[number].enter(ExchangePhase::Rts { start: now }, now + self.config.rts());
    }

    /// `PollHandler`: the RTS has arrived, and a node without another exchange replies with CTS.
    fn answer(&mut self, number: usize, now: Time, start: Time) {
        let to = self.neighbors[number].to;
        if self.radios[to].busy {
            let unheard = (start + self.config.cts_timeout()).max(now);
            return self.neighbors[number].enter(ExchangePhase::NoAnswer { listening: unheard }, unheard);
        }
        self.radios[to].busy = true;
        self.count_control(number);
        self.neighbors[number].enter(ExchangePhase::Cts, now + self.config.turnaround() + self.config.cts());
    }
}
