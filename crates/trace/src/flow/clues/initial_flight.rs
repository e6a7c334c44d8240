//! Initial window of a sender that a remote capture sees: what it sent before its timestamps echo
//! anything newer than its first data packet does (RFC 7323, section 4.3). At the sender the first ACK
//! shows it.

use super::super::rules::RULES;
use super::super::seq::{seq_diff, seq_lt};
use crate::compact::compact;
use crate::decode::Segment;

#[derive(Debug, Clone, Copy, Default)]
pub struct InitialFlight {
    first_seq: u32,
    echo: u32,
    /// Full segments; zero if not known.
    segments: u8,
    state: State,
}

compact!(InitialFlight { first_seq, echo, segments, state });

/// A number, so that it is stored as one.
type State = u8;
const BEFORE: State = 0;
const COUNTING: State = 1;
const OVER: State = 2;

impl InitialFlight {
    #[inline]
    pub fn is_over(&self) -> bool {
        self.state == OVER
    }

    /// A packet with payload, before it is placed: `una` and `nxt` are SND.UNA and SND.NXT, `full` is a full
    /// segment, and `is_app_limited` whether the application had no more data than was sent before.
    pub fn on_packet(&mut self, s: &Segment<'_>, (una, nxt): (u32, u32), full: u32, is_app_limited: bool) {
        let Some(timestamps) = s.options.timestamps else { return self.state = OVER };
        if self.state == BEFORE {
            // Its first segments may be lost before the capture.
            *self = InitialFlight { first_seq: una, echo: timestamps.echo, segments: 0, state: COUNTING };
        } else if timestamps.echo != self.echo {
            let sent = seq_diff(self.first_seq, s.seq).max(0) as u32;
            // What a retransmission follows was not all captured.
            let is_known = !is_app_limited && !seq_lt(s.seq, nxt);
            self.segments = if is_known { sent.div_ceil(full.max(1)).min(u8::MAX.into()) as u8 } else { 0 };
            self.state = OVER;
        }
    }

    /// It was that of a stack older than RFC 6928.
    pub fn is_small(&self) -> bool {
        (RULES.small_initial_window.0..=RULES.small_initial_window.1).contains(&self.segments)
    }
}
