//! Round trips, counted by what had been sent when each began.

use super::Ack;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundCounter {
    /// Segments sent when it began: it is over when one sent later is acknowledged.
    end: u64,
}

impl RoundCounter {
    /// Before the connection: the first ACK ends it.
    pub const START: RoundCounter = RoundCounter { end: 0 };

    /// Whether this ACK ends the round; then the next one begins.
    pub fn over(&mut self, ack: &Ack) -> bool {
        let over = ack.acked_total > self.end;
        if over {
            self.end = ack.sent;
        }
        over
    }

    /// A round begins here, whatever was before.
    pub fn restart(&mut self, ack: &Ack) {
        self.end = ack.sent;
    }
}
