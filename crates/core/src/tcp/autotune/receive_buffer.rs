//! A receive buffer at work: what the application reads in a round trip says how far it grows.

use super::{ReceiveTuning, WindowGrowth};
use crate::tcp::timestamps::TimestampEcho;
use crate::units::{Span, Time};

/// Gains of the round-trip estimate by timestamps: 1/8, as for SRTT.
const RTT_GAIN: u64 = 8;
/// By how many segments the window opens for one that arrives.
const OPENING_SEGMENTS: u64 = 2;
/// Segments that `Lead` leaves for what arrives before the growth is seen.
const LEAD_SEGMENTS: u64 = 16;
/// And segments that count as read before there was a measurement: an initial window (RFC 6928), or the opening where that is less.
const LEAD_START: u64 = 10;

/// A receive buffer at work.
#[derive(Clone, Debug)]
pub struct RcvBufTuner {
    /// The window that the buffer allows, and the most it may ever allow.
    buffer: u64,
    limit: u64,
    /// How far the window has opened (the kernel's `rcv_ssthresh`).
    rcv_ssthresh: u64,
    rtt: RoundTrip,
    /// Start of the measurement under way, and what the application had read then.
    since: Option<Time>,
    read_before: u64,
    /// All that has been read.
    read: u64,
    growth: WindowGrowth,
    /// The most that was read in a round trip, and the size of what arrives: what `Lead` goes by.
    max_read: u64,
    segment: u64,
    /// What reaches beyond a gap.
    ahead: u64,
    tuning: ReceiveTuning,
}

/// The round trip as a receiver can see it.
#[derive(Clone, Copy, Debug, Default)]
struct RoundTrip {
    time: Option<Span>,
    by_echo: bool,
    /// The echo that was timed last.
    echoed: u32,
    /// When the window of the measurement under way began, and its end.
    window: Option<(Time, u64)>,
}

impl RoundTrip {
    /// A data segment's timestamp echoes the ACK that allowed it: smoothed, as it includes the sender's own waits.
    fn echo(&mut self, rtt: Span) {
        let old = self.time.filter(|_| self.by_echo).unwrap_or(rtt);
        self.by_echo = true;
        self.time = Some(Span(old.0 - old.0 / RTT_GAIN + rtt.0 / RTT_GAIN));
    }

    /// Likewise, but a shorter one counts at once, and the first segment that an ACK let go times it: those behind waited for each other.
    fn first_echo(&mut self, rtt: Span, timestamp: u32) {
        if self.by_echo && timestamp == self.echoed {
            return;
        }
        self.echoed = timestamp;
        match self.time.filter(|_| self.by_echo) {
            Some(min) if rtt >= min => self.echo(rtt),
            _ => (self.time, self.by_echo) = (Some(rtt), true),
        }
    }

    /// Without timestamps: what lies beyond a window's edge was sent after a later ACK, so it takes a round trip; the fastest counts.
    fn arrival(&mut self, now: Time, next: u64, edge: u64) {
        if let Some((since, end)) = self.window {
            if next <= end {
                return;
            }
            let took = now - since;
            self.time = Some(self.time.map_or(took, |min| min.min(took)));
        }
        self.window = Some((now, edge));
    }
}

impl RcvBufTuner {
    /// `unit` is the smallest window that can be said, given the scale: less would be said as none.
    pub fn new(tuning: ReceiveTuning, unit: u64) -> RcvBufTuner {
        let buffer = u64::from(tuning.window(tuning.start)).max(unit);
        RcvBufTuner {
            buffer,
            limit: u64::from(tuning.window(tuning.limit)).max(buffer),
            rcv_ssthresh: u64::from(tuning.opening).clamp(unit, buffer),
            growth: tuning.growth,
            max_read: u64::from(tuning.opening).clamp(unit, buffer),
            segment: 0,
            ahead: 0,
            tuning,
            rtt: RoundTrip::default(),
            since: None,
            read_before: 0,
            read: 0,
        }
    }

    /// The window that the buffer has room for when it is empty.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }
    /// The most to advertise now.
    pub fn rcv_ssthresh(&self) -> u64 {
        self.rcv_ssthresh
    }

    /// Data came. `next` is the first byte missing, `edge` that of the window last advertised.
    pub fn on_data(&mut self, now: Time, echo: TimestampEcho, next: u64, edge: u64) {
        match echo.rtt() {
            Some(rtt) if self.growth == WindowGrowth::Near => self.rtt.first_echo(rtt, echo.value()),
            Some(rtt) => self.rtt.echo(rtt),
            None if !self.rtt.by_echo => self.rtt.arrival(now, next, edge),
            None => {}
        }
    }

    /// Data came out of order, as far as `ahead` bytes beyond what is missing.
    pub fn on_out_of_order(&mut self, ahead: u64) {
        self.ahead = ahead;
        if self.growth == WindowGrowth::Near && ahead > 0 {
            self.buffer = self.buffer.max((2 * self.max_read + ahead).min(self.limit));
        }
    }

    /// A segment came in order. Whether it opened the window: Linux then acknowledges it at once (`tcp_grow_window()`, in 2.6 and in 6
    /// alike), so that the sender soon hears of the room.
    pub fn on_in_order(&mut self, segment: u32) -> bool {
        if self.segment == 0 {
            self.segment = u64::from(segment);
            self.max_read = self.max_read.min(LEAD_START * self.segment);
            self.on_first_segment(segment);
        }
        let before = self.rcv_ssthresh;
        self.rcv_ssthresh = (before + OPENING_SEGMENTS * u64::from(segment)).min(self.buffer.max(before));
        self.rcv_ssthresh > before
    }

    /// The first segment shows how much of the buffer is payload (`scaling_ratio`). What has been promised stands.
    fn on_first_segment(&mut self, segment: u32) {
        if self.tuning.overhead.is_some() {
            let sized = self.tuning.by_size(segment);
            self.buffer = u64::from(sized.window(sized.start)).max(self.rcv_ssthresh);
            self.limit = u64::from(sized.window(sized.limit)).max(self.buffer);
        }
    }

    /// The buffer that goes with what was read in a round trip.
    fn target(&mut self, copied: u64) -> u64 {
        match self.growth {
            WindowGrowth::Double => 2 * copied,
            _ if copied <= self.max_read => 0,
            growth => {
                let cushion = if growth == WindowGrowth::Lead { LEAD_SEGMENTS * self.segment } else { 0 };
                let target = 2 * copied + cushion;
                let more = u128::from(target) * u128::from(copied - self.max_read) / u128::from(self.max_read.max(1));
                self.max_read = copied;
                let ahead = if growth == WindowGrowth::Near { self.ahead } else { 0 };
                target.saturating_add(u64::try_from(2 * more).unwrap_or(u64::MAX)).saturating_add(ahead)
            }
        }
    }

    /// The application has read so much in all: once a round trip, the buffer grows with what was read in it. `Near` measures when the first of
    /// several segments has been read (`tcp_rcv_space_adjust()`), and takes off what waits behind it.
    pub fn on_read(&mut self, now: Time, read: u64) {
        let first = if self.growth == WindowGrowth::Near { read.min(self.read + self.segment) } else { read };
        let waiting = read - first;
        self.read = read;
        let read = first;
        let Some(since) = self.since else {
            (self.since, self.read_before) = (Some(now), read);
            return;
        };
        if self.rtt.time.is_none_or(|rtt| now - since < rtt) {
            return;
        }
        let target = self.target((read - self.read_before).saturating_sub(waiting));
        self.buffer = self.buffer.max(target.min(self.limit));
        (self.since, self.read_before) = (Some(now), read);
    }
}

#[cfg(test)]
mod tests;
