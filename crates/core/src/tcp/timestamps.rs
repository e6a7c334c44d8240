//! The timestamps option (RFC 7323): our clock, and RTT by echo.

use super::endpoint::TcpEndpoint;
use crate::packet::Segment;
use crate::units::{Span, Time};

/// Granularity of the timestamp clock (RFC 7323, section 5.4, allows 1 ms to 1 s).
const TIMESTAMP_TICK: Span = Span::from_ms(1);

pub(super) fn timestamp(now: Time) -> u32 {
    (now.0 / TIMESTAMP_TICK.0) as u32
}

/// The timestamp echo of a segment. Its RTT is computed on demand: a receiver of one-way data never
/// needs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimestampEcho {
    now: Time,
    /// TSecr; 0: no echo.
    value: u32,
    /// TSval is newer than any before.
    newer: bool,
}

impl TimestampEcho {
    /// RFC 7323, section 4.1. An echo from the future is invalid.
    #[inline]
    pub fn rtt(self) -> Option<Span> {
        let ticks = timestamp(self.now).wrapping_sub(self.value) as i32;
        (self.value != 0 && ticks >= 0).then(|| TIMESTAMP_TICK.saturating_mul(ticks.max(1) as u64))
    }

    /// An echo of `value`, this long after it was sent.
    #[cfg(test)]
    pub fn aged(value: u32, rtt: Span) -> TimestampEcho {
        TimestampEcho { now: Time::ZERO + TIMESTAMP_TICK.saturating_mul(u64::from(value)) + rtt, value, newer: false }
    }

    /// The segment was sent later than any before it.
    pub fn is_newer(self) -> bool {
        self.newer
    }

    /// TSecr; 0 if there is no echo.
    #[inline]
    pub fn value(self) -> u32 {
        self.value
    }
}

impl TcpEndpoint {
    /// RFC 7323, section 4.3: updates TS.Recent, and returns the echo.
    #[inline]
    pub(super) fn take_timestamps(&mut self, now: Time, segment: &Segment) -> TimestampEcho {
        let Some(option) = segment.timestamps.filter(|_| self.timestamps) else { return TimestampEcho::default() };
        let ahead = option.value.wrapping_sub(self.ts_recent) as i32;
        if ahead >= 0 && segment.seq <= self.last_ack_sent {
            self.ts_recent = option.value;
        }
        TimestampEcho { now, value: option.echo, newer: ahead > 0 }
    }
}
