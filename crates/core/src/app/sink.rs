//! Receiving application: reads at once or at a limited rate, and closes when the sender has
//! closed.

use super::{Application, Socket};
use crate::units::{Rate, Span, Time};

#[derive(Clone, Debug)]
pub struct Sink {
    rate: Option<Rate>,
    /// The reads so far occupy the reader until this time.
    busy_until: Time,
    due: Time,
}

/// Read size of a rate-limited reader, as of a program with a fixed buffer.
const CHUNK: u64 = 4096;

impl Sink {
    /// Without a `rate` it reads at once.
    pub fn new(rate: Option<Rate>) -> Sink {
        Sink { rate, busy_until: Time::ZERO, due: Time::NEVER }
    }

    #[inline(never)]
    fn read_slowly(&mut self, now: Time, rate: Rate, socket: &mut Socket) {
        while socket.read < socket.arrived && self.busy_until <= now {
            let chunk = CHUNK.min(socket.arrived - socket.read);
            socket.read += chunk;
            let took: Span = rate.time_to_send(chunk as u32);
            self.busy_until = self.busy_until.max(now) + took;
        }
        self.due = if socket.read < socket.arrived { self.busy_until } else { Time::NEVER };
    }
}

impl Application for Sink {
    #[inline]
    fn act(&mut self, now: Time, socket: &mut Socket) {
        match self.rate {
            None => socket.read = socket.arrived,
            Some(rate) => self.read_slowly(now, rate, socket),
        }
        socket.closed = socket.peer_closed;
    }

    #[inline]
    fn due(&self) -> Time {
        self.due
    }
}
