//! One radio's route to one peer: what waits for it, the frame that is to be sent, and how far its exchange has come.

use super::RadioConfig;
use crate::element::Output;
use crate::medium::{StationQueues, Stream};
use crate::packet::Packet;
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// How far the exchange of a frame has come. Each ends at the neighbor's due time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExchangePhase {
    /// Nothing to send, waiting for its own radio, or backing off.
    Idle,
    /// The radio turns to send.
    Turning,
    Rts {
        start: Time,
    },
    /// The RTS was not heard, or is not answered.
    NoAnswer {
        listening: Time,
    },
    /// The peer turns to send, and grants.
    Cts,
    /// The radio turns to send again, and sends the frame.
    Frame,
    /// The peer has the frame and turns to send.
    Answering,
    /// The link ACK travels alone.
    LinkAck,
    /// The frame was damaged, so that no link ACK will come; both radios may do other things.
    AwaitAck {
        deadline: Time,
    },
}

/// The frame that is being sent, until its link ACK comes.
#[derive(Clone, Copy, Debug)]
pub struct PendingFrame {
    pub stream: Stream,
    /// None once the peer has it.
    pub packet: Option<Packet>,
    /// Time on the air.
    pub air: Span,
    /// Times it has been sent without an answer.
    pub failures: u32,
}

#[derive(Clone, Debug)]
pub struct NeighborQueue {
    /// Radios.
    pub from: usize,
    pub to: usize,
    /// How many hops from the gateway the receiving radio is.
    pub position: u32,
    /// The queues that come into the medium here, whose next is next, and what other radios sent.
    pub entries: Vec<Stream>,
    next: usize,
    relayed: VecDeque<(Stream, Packet)>,
    pub frame: Option<PendingFrame>,
    pub phase: ExchangePhase,
    pub due: Time,
    /// It backs off until then.
    pub ready: Time,
    /// The last step of the back-off without a success since.
    pub backoff: Option<Span>,
}

impl NeighborQueue {
    pub fn new(from: usize, to: usize, position: u32) -> NeighborQueue {
        NeighborQueue {
            from,
            to,
            position,
            entries: Vec::new(),
            next: 0,
            relayed: VecDeque::new(),
            frame: None,
            phase: ExchangePhase::Idle,
            due: Time::NEVER,
            ready: Time::ZERO,
            backoff: None,
        }
    }

    pub fn enter(&mut self, phase: ExchangePhase, due: Time) {
        self.phase = phase;
        self.due = due;
    }

    /// Packets that it has taken out of a stream's queue and the peer does not have.
    pub fn packets(&self) -> u64 {
        self.relayed.len() as u64 + u64::from(self.frame.is_some_and(|f| f.packet.is_some()))
    }

    /// A packet from the radio before waits here; false if there is no room.
    pub fn relay(&mut self, stream: Stream, packet: Packet, limit: u64) -> bool {
        let room = (self.relayed.len() as u64) < limit || self.is_free();
        if room {
            self.relayed.push_back((stream, packet));
        }
        room
    }

    fn is_free(&self) -> bool {
        self.frame.is_none() && self.relayed.is_empty()
    }

    /// A packet that comes now would be the next frame.
    pub fn takes_at_once(&self, queues: &StationQueues) -> bool {
        self.is_free() && !self.some_wait(queues)
    }

    fn some_wait(&self, queues: &StationQueues) -> bool {
        self.entries.iter().any(|&stream| queues.waiting_in(stream) > 0)
    }

    pub fn has_work(&self, queues: &StationQueues) -> bool {
        self.frame.is_some() || !self.relayed.is_empty() || self.some_wait(queues)
    }

    pub fn set_frame(&mut self, stream: Stream, packet: Packet, config: &RadioConfig) {
        let air = config.air(u32::from(packet.len) + config.header_bytes);
        self.frame = Some(PendingFrame { stream, packet: Some(packet), air, failures: 0 });
    }

    /// Makes the next waiting packet the frame to send, unless there is one. False if nothing is left to send.
    pub fn load(&mut self, now: Time, queues: &mut StationQueues, config: &RadioConfig, out: &mut Output<'_>) -> bool {
        if self.frame.is_none() {
            let next = self.relayed.pop_front().or_else(|| self.next_entry(now, queues, out));
            if let Some((stream, packet)) = next {
                self.set_frame(stream, packet, config);
            }
        }
        self.frame.is_some()
    }

    /// StationQueues take turns. A queue may drop all that it holds instead of giving a packet.
    fn next_entry(&mut self, now: Time, queues: &mut StationQueues, out: &mut Output<'_>) -> Option<(Stream, Packet)> {
        for _ in 0..self.entries.len() {
            let stream = self.entries[self.next];
            self.next = (self.next + 1) % self.entries.len();
            if queues.waiting_in(stream) > 0
                && let Some(packet) = queues.of(stream).dequeue(now, out)
            {
                return Some((stream, packet));
            }
        }
        None
    }

    /// Random exponential back-off: the wait is 2 * base + (1 + U) * step, U uniform in [0, 1), and the step doubles from twice the base
    /// until a success. The cap bounds the longest wait and leaves the chance in it: radios that all waited as long would meet for ever.
    pub fn back_off(&mut self, now: Time, uniform: f64, config: &RadioConfig) {
        let min = config.backoff_base.saturating_mul(2);
        let max = Span(config.backoff_cap.0.saturating_sub(min.0) / 2);
        let step = self.backoff.unwrap_or(config.backoff_base).saturating_mul(2).min(max);
        self.backoff = Some(step);
        self.ready = now + min + Span::from_secs_f64((1.0 + uniform) * step.as_secs());
        self.enter(ExchangePhase::Idle, self.ready);
    }
}
