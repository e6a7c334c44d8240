//! Where the capture stands, seen from the data of one end.

use super::half::Half;
use crate::flow::classify::SegmentKind;

/// What the flow knows about where the capture stands, for the data of one end.
#[derive(Debug, Clone, Copy, Default)]
pub struct View {
    /// Shortest time from a packet towards this sender to its answer, nanoseconds: nearly zero where the capture is at its end.
    pub turn: Option<i64>,
    /// The same, smoothed, as queues stand now.
    pub turn_now: Option<i64>,
    pub sack: bool,
    /// ACKs without data that have come from the other end.
    pub acks: u32,
    /// The other end's SYN has come again.
    pub syn_again: bool,
}

/// A turn shorter than this and half of the rest, or a tenth of the whole: the capture is at the sender's end.
const AT_SENDER: i64 = 2_000_000;

impl View {
    /// For the data of `half`; `other` is the opposite direction.
    pub fn of(half: &Half, other: &Half) -> View {
        let turn = match (other.rtt.min(), other.timestamp_rtt.min()) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b).or_else(|| other.trouble.as_ref().and_then(|t| t.syn_turn)),
        };
        View {
            turn,
            turn_now: other.timestamp_rtt.smoothed().map(|(smoothed, _)| smoothed),
            syn_again: other.trouble.as_ref().is_some_and(|t| t.tally.count(SegmentKind::Handshake) > 0),
            acks: other.counts.pure_acks,
            sack: half.choices.allow_sack() && other.choices.allow_sack(),
        }
    }
}

impl View {
    /// The longer of the shortest turn and that of queues as they stand now; zero before the first.
    pub fn longest_turn(&self) -> i64 {
        self.turn_now.into_iter().chain(self.turn).max().unwrap_or(0)
    }
}

impl Half {
    /// The least time from what passes here to what its ACK causes.
    pub(super) fn least_around(&self, view: &View) -> i64 {
        self.rtt.min().unwrap_or(0) + if self.at_sender(view) { 0 } else { view.turn.unwrap_or(0) }
    }

    /// The capture stands at this sender's end.
    pub(super) fn at_sender(&self, view: &View) -> bool {
        let whole = self.rtt.min().unwrap_or(0);
        match view.turn {
            Some(turn) => turn <= AT_SENDER.min(whole / 2).max((turn + whole) / 10),
            None => whole > AT_SENDER,
        }
    }
}
