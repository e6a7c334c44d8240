//! A source that writes to its connection in on periods at a rate, and nothing in off periods.

use super::{Application, Socket, UdpSource};
use crate::units::Time;

/// Writes what a source of datagrams would send, when it would.
#[derive(Clone, Debug)]
pub struct StreamSource {
    source: UdpSource,
    /// Of each datagram.
    payload: u64,
    stop: Time,
    written: u64,
}

impl StreamSource {
    /// `payload`: bytes of each write. Closes at `stop`.
    pub fn new(source: UdpSource, payload: u64, stop: Time) -> StreamSource {
        StreamSource { source, payload, stop, written: 0 }
    }
}

impl Application for StreamSource {
    fn act(&mut self, now: Time, socket: &mut Socket) {
        while self.source.take(now) {
            self.written += self.payload;
        }
        socket.written = self.written;
        if now >= self.stop {
            (socket.closed, self.stop) = (true, Time::NEVER);
        }
    }

    fn due(&self) -> Time {
        self.source.next_due().min(self.stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::Pattern;
    use crate::units::{Rate, Span};

    #[test]
    fn writes_follow_the_rate_and_end_at_the_stop() {
        let stop = Time::ZERO + Span::from_ms(5);
        let source = UdpSource::new(Rate::from_bps(8_000_000), 1000, Pattern::Constant, Time::ZERO, stop);
        let mut app = StreamSource::new(source, 972, stop);
        let mut socket = Socket::default();
        app.act(Time::ZERO, &mut socket);
        assert_eq!((socket.written, app.due(), socket.closed), (972, Time::ZERO + Span::from_ms(1), false));
        app.act(Time::ZERO + Span::from_ms(4), &mut socket);
        assert_eq!((socket.written, app.due()), (5 * 972, stop));
        app.act(stop, &mut socket);
        assert_eq!((socket.written, socket.closed, app.due()), (5 * 972, true, Time::NEVER));
    }
}
