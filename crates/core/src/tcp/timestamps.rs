//! The timestamps option (RFC 7323): the clock it tells, and what is made of an echo.

use super::endpoint::TcpEndpoint;
use crate::packet::Segment;
use crate::units::{Span, Time};

/// The timestamp clock ticks once a millisecond (RFC 7323, section 5.4, allows 1 ms to 1 s).
const TIMESTAMP_TICK: Span = Span::from_ms(1);

pub(super) fn timestamp(now: Time) -> u32 {
    (now.0 / TIMESTAMP_TICK.0) as u32
}

/// The echo on a segment. What round trip it tells is worked out where it matters: data that comes one way tells its receiver nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimestampEcho {
    now: Time,
    /// 0 is no echo.
    value: u32,
}

impl TimestampEcho {
    /// RFC 7323, section 4.1. An echo from the future is nobody's.
    #[inline]
    pub fn rtt(self) -> Option<Span> {
        let ticks = timestamp(self.now).wrapping_sub(self.value) as i32;
        (self.value != 0 && ticks >= 0).then(|| TIMESTAMP_TICK.saturating_mul(ticks.max(1) as u64))
    }

    /// An echo of `stamp`, this long after it was sent.
    #[cfg(test)]
    pub fn aged(value: u32, rtt: Span) -> TimestampEcho {
        TimestampEcho { now: Time::ZERO + TIMESTAMP_TICK.saturating_mul(u64::from(value)) + rtt, value }
    }

    /// Our timestamp that came back; 0 if none did.
    #[inline]
    pub fn value(self) -> u32 {
        self.value
    }
}

impl TcpEndpoint {
    /// RFC 7323, section 4.3: what to echo; and what is echoed.
    #[inline]
    pub(super) fn take_timestamps(&mut self, now: Time, segment: &Segment) -> TimestampEcho {
        let Some(option) = segment.timestamps.filter(|_| self.timestamps) else { return TimestampEcho::default() };
        let newer = option.value.wrapping_sub(self.ts_recent) as i32 >= 0;
        if newer && segment.seq <= self.last_ack_sent {
            self.ts_recent = option.value;
        }
        TimestampEcho { now, value: option.echo }
    }
}
