//! Rounds (RTTs) by sequence: a round ends when data sent after its start is acknowledged.

use super::Ack;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RoundCounter {
    /// Segments sent at the start of the round: it ends with the ACK of a later one.
    end: u64,
}

impl RoundCounter {
    /// Before the connection: the first ACK ends the round.
    pub const START: RoundCounter = RoundCounter { end: 0 };

    /// Returns whether this ACK ends the round; then the next one starts.
    pub fn over(&mut self, ack: &Ack) -> bool {
        let over = ack.acked_total > self.end;
        if over {
            self.end = ack.sent;
        }
        over
    }

    /// Starts a round.
    pub fn restart(&mut self, ack: &Ack) {
        self.end = ack.sent;
    }
}
