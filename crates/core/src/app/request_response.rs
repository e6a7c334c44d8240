//! Sequential requests and responses on one connection, as in HTTP over a persistent connection.

use super::{Application, Socket};
use crate::rng::Rng;
use crate::units::{Span, Time};

/// Sends a request, reads the whole response, waits for the think time, and repeats.
#[derive(Clone, Debug)]
pub struct Requester {
    request: u64,
    response: u64,
    exchanges: u32,
    /// Minimum and maximum think time between a response and the next request; drawn uniformly.
    think: (Span, Span),
    rng: Rng,
    requested: u32,
    /// Completion time of each response.
    response_times: Vec<Time>,
    /// Time of each request after the first.
    later_requests: Vec<Time>,
    next: Time,
}

/// Responds to each request once it has arrived in full. Closes when the requester has closed.
#[derive(Clone, Debug)]
pub struct Responder {
    request: u64,
    response: u64,
}

impl Requester {
    /// Makes `exchanges` requests of `request` bytes for `response` bytes each, then closes.
    pub fn new(request: u64, response: u64, exchanges: u32, think: (Span, Span), rng: Rng) -> Requester {
        Requester {
            request,
            response,
            exchanges,
            think,
            rng,
            requested: 0,
            response_times: Vec::new(),
            later_requests: Vec::new(),
            next: Time::ZERO,
        }
    }

    /// Times of the requests after the first. The first request is sent when the connection opens.
    pub fn later_request_times(&self) -> &[Time] {
        &self.later_requests
    }

    pub fn response_times(&self) -> &[Time] {
        &self.response_times
    }
}

impl Application for Requester {
    fn act(&mut self, now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let waits = self.response_times.len() < self.requested as usize;
        if waits && socket.arrived >= self.response.saturating_mul(u64::from(self.requested)) {
            self.response_times.push(now);
            self.next = if self.requested < self.exchanges {
                now + self.rng.uniform_span(self.think.0, self.think.1)
            } else {
                Time::NEVER
            };
            socket.closed = self.requested == self.exchanges;
        }
        if self.next <= now {
            if self.requested > 0 {
                self.later_requests.push(now);
            }
            self.requested += 1;
            socket.written = self.request.saturating_mul(u64::from(self.requested));
            self.next = Time::NEVER;
        }
    }

    fn due(&self) -> Time {
        self.next
    }
}

impl Responder {
    /// Sizes in bytes, as configured at the requester; `request` is above 0.
    pub fn new(request: u64, response: u64) -> Responder {
        Responder { request, response }
    }
}

impl Application for Responder {
    fn act(&mut self, _now: Time, socket: &mut Socket) {
        socket.read = socket.arrived;
        let requested = socket.arrived.checked_div(self.request).unwrap_or(0);
        socket.written = self.response.saturating_mul(requested);
        socket.closed = socket.peer_closed;
    }

    fn due(&self) -> Time {
        Time::NEVER
    }
}
