//! Requests and answers by turns on one connection, as a browser and a Web server do on a persistent one.

use super::{Application, Socket};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// Asks, reads the whole answer, thinks, and asks again.
#[derive(Clone, Debug)]
pub struct Requester {
    request: u64,
    answer: u64,
    jobs: u32,
    /// Pauses between an answer and the next request, drawn uniformly.
    think: (Span, Span),
    rng: Rng,
    asked: u32,
    /// When each answer was whole.
    answered: Vec<Time>,
    /// When each request but the first was made.
    again: Vec<Time>,
    next: Time,
}

/// Answers each request when all of it has come; closes when the asker has.
#[derive(Clone, Debug)]
pub struct Responder {
    request: u64,
    answer: u64,
}

impl Requester {
    /// `jobs` times `request` bytes for `answer` bytes; it closes after the last.
    pub fn new(request: u64, answer: u64, jobs: u32, think: (Span, Span), rng: Rng) -> Requester {
        Requester { request, answer, jobs, think, rng, asked: 0, answered: Vec::new(), again: Vec::new(), next: Time::ZERO }
    }

    /// When the requests after the first were made. The first is made when the connection is open.
    pub fn asked_again(&self) -> &[Time] {
        &self.again
    }

    pub fn answered(&self) -> &[Time] {
        &self.answered
    }
}

impl Application for Requester {
    fn act(&mut self, now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let waits = self.answered.len() < self.asked as usize;
        if waits && socket.arrived >= self.answer.saturating_mul(u64::from(self.asked)) {
            self.answered.push(now);
            self.next =
                if self.asked < self.jobs { now + self.rng.uniform_span(self.think.0, self.think.1) } else { Time::NEVER };
            socket.closed = self.asked == self.jobs;
        }
        if self.next <= now {
            if self.asked > 0 {
                self.again.push(now);
            }
            self.asked += 1;
            socket.written = self.request.saturating_mul(u64::from(self.asked));
            self.next = Time::NEVER;
        }
    }

    fn due(&self) -> Time {
        self.next
    }
}

impl Responder {
    /// The sizes that the asker has in mind, in bytes; `request` is above 0.
    pub fn new(request: u64, answer: u64) -> Responder {
        Responder { request, answer }
    }
}

impl Application for Responder {
    fn act(&mut self, _now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let asked = socket.arrived.checked_div(self.request).unwrap_or(0);
        socket.written = self.answer.saturating_mul(asked);
        socket.closed = socket.peer_closed;
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}
