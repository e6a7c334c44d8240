//! The timestamps option (RFC 7323): the clock it tells, and what is made of an echo.

use super::endpoint::TcpEndpoint;
use crate::packet::Segment;
use crate::units::{Span, Time};

/// The timestamp clock ticks once a millisecond (RFC 7323, section 5.4, allows 1 ms to 1 s).
const TIMESTAMP_TICK: Span = Span::from_ms(1);

pub(super) fn timestamp(now: Time) -> u32 {
    (now.0 / TIMESTAMP_TICK.0) as u32
}

impl TcpEndpoint {
    /// RFC 7323, sections 4.1 and 4.3: what the echo says, and what to echo.
    pub(super) fn take_timestamps(&mut self, now: Time, segment: &Segment) -> Option<Span> {
        let stamps = segment.timestamps.filter(|_| self.timestamps)?;
        let newer = stamps.value.wrapping_sub(self.ts_recent) as i32 >= 0;
        if newer && segment.seq <= self.last_ack_sent {
            self.ts_recent = stamps.value;
        }
        // An echo from the future is nobody's.
        let ticks = timestamp(now).wrapping_sub(stamps.echo) as i32;
        (stamps.echo != 0 && ticks >= 0).then(|| TIMESTAMP_TICK.saturating_mul(ticks.max(1) as u64))
    }
}
