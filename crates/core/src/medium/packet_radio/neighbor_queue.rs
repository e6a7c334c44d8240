//! One radio's queue for one peer: queued packets, the current frame, and the phase of its
//! exchange.

use super::RadioConfig;
use crate::element::Output;
use crate::medium::{StationQueues, Stream};
use crate::packet::Packet;
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// Phase of a frame's exchange. Each phase ends at the queue's due time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExchangePhase {
    /// Nothing to send, waiting for its own radio, or in back-off.
    Idle,
    /// The radio turns to sending.
    Turning,
    Rts {
        start: Time,
    },
    /// The RTS was not received, or is not answered.
    NoAnswer {
        listening: Time,
    },
    /// The peer turns to sending and sends the CTS.
    Cts,
    /// The radio returns to sending and sends the frame.
    Frame,
    /// The peer has received the frame and turns to sending.
    Answering,
    /// The peer sends the link ACK.
    LinkAck,
    /// The frame was damaged, so no link ACK follows; both radios may start other exchanges.
    AwaitAck {
        deadline: Time,
    },
}

/// The current frame, until its link ACK.
#[derive(Clone, Copy, Debug)]
pub struct PendingFrame {
    pub stream: Stream,
    /// `None` once the peer has received it.
    pub packet: Option<Packet>,
    /// Air time.
    pub air: Span,
    /// Transmissions without a link ACK.
    pub failures: u32,
}

#[derive(Clone, Debug)]
pub struct NeighborQueue {
    /// Indices of the sending and the receiving radio.
    pub from: usize,
    pub to: usize,
    /// Hops from the gateway to the receiving radio.
    pub position: u32,
    /// Streams that enter the medium here, the next one in round-robin order, and packets from
    /// other radios.
    pub entries: Vec<Stream>,
    next: usize,
    relayed: VecDeque<(Stream, Packet)>,
    pub frame: Option<PendingFrame>,
    pub phase: ExchangePhase,
    pub due: Time,
    /// End of the back-off.
    pub ready: Time,
    /// Step of the last back-off since the last success.
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

    /// Packets dequeued from the streams and not received by the peer.
    pub fn packets(&self) -> u64 {
        self.relayed.len() as u64 + u64::from(self.frame.is_some_and(|f| f.packet.is_some()))
    }

    /// Queues a packet from the previous radio; false if the queue is full.
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

    /// True if a packet that arrives now would be the next frame.
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

    /// Makes the next queued packet the current frame if there is none. False if nothing is left to
    /// send.
    pub fn load(&mut self, now: Time, queues: &mut StationQueues, config: &RadioConfig, out: &mut Output<'_>) -> bool {
        if self.frame.is_none() {
            let next = self.relayed.pop_front().or_else(|| self.next_entry(now, queues, out));
            if let Some((stream, packet)) = next {
                self.set_frame(stream, packet, config);
            }
        }
        self.frame.is_some()
    }

    /// Streams are served by round robin. A queue may drop all packets instead of returning one.
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

    /// Random exponential back-off: the wait is 2 * base + (1 + U) * step, U uniform in [0, 1), and
    /// the step doubles from twice the base until a success. The cap bounds the maximum wait and
    /// keeps it random: equal waits would collide forever.
    pub fn back_off(&mut self, now: Time, uniform: f64, config: &RadioConfig) {
        let min = config.backoff_base.saturating_mul(2);
        let max = Span(config.backoff_cap.0.saturating_sub(min.0) / 2);
        let step = self.backoff.unwrap_or(config.backoff_base).saturating_mul(2).min(max);
        self.backoff = Some(step);
        self.ready = now + min + Span::from_secs_f64((1.0 + uniform) * step.as_secs());
        self.enter(ExchangePhase::Idle, self.ready);
    }
}
