//! Receive buffer autotuning: the bytes that the application reads per RTT determine the buffer's
//! growth.

use super::round_trip::RoundTrip;
use super::{ReceiveTuning, WindowGrowth};
use crate::tcp::sender::STREAM_START;
use crate::tcp::timestamps::TimestampEcho;
use crate::units::Time;

/// Segments by which the window grows per in-order segment.
const OPENING_SEGMENTS: u64 = 2;
/// Segments that `Lead` adds for data that arrives before the growth takes effect.
const LEAD_SEGMENTS: u64 = 16;
/// Segments that count as read before the first measurement: an initial window (RFC 6928), or the
/// initial receive window if that is smaller.
const LEAD_START: u64 = 10;

/// State of a receive buffer. Sizes are in bytes of window.
#[derive(Clone, Debug)]
pub struct RcvBufTuner {
    /// The window that the buffer allows, and its maximum.
    buffer: u64,
    limit: u64,
    /// `rcv_ssthresh` of the kernel: the maximum to advertise now.
    rcv_ssthresh: u64,
    rtt: RoundTrip,
    /// Start of the measurement in progress, and the bytes read before it.
    since: Option<Time>,
    read_before: u64,
    /// Bytes read since the connection began.
    read: u64,
    /// rcv.nxt after the last segment.
    next: u64,
    growth: WindowGrowth,
    /// Maximum of bytes read per RTT, and the size of the first segment, for `Lead` and `Near`.
    max_read: u64,
    segment: u64,
    /// Out-of-order bytes above rcv.nxt.
    ahead: u64,
    tuning: ReceiveTuning,
}

impl RcvBufTuner {
    /// `unit` is the smallest window that the scale can express.
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
            next: STREAM_START,
        }
    }

    /// The window of an empty buffer.
    pub fn buffer(&self) -> u64 {
        self.buffer
    }
    /// The maximum to advertise now.
    pub fn rcv_ssthresh(&self) -> u64 {
        self.rcv_ssthresh
    }

    /// Data arrived. `next` is rcv.nxt, `edge` the end of the last advertised window.
    pub fn on_data(&mut self, now: Time, echo: TimestampEcho, next: u64, edge: u64) {
        let unread = self.next > STREAM_START + self.read;
        self.next = next;
        match echo.rtt() {
            Some(rtt) if self.growth == WindowGrowth::Near => self.rtt.first_echo(rtt, echo.value(), unread),
            Some(rtt) => self.rtt.echo(rtt),
            None if !self.rtt.is_by_echo() => self.rtt.arrival(now, next, edge),
            None => {}
        }
    }

    /// Out-of-order data reaches `ahead` bytes above rcv.nxt.
    pub fn on_out_of_order(&mut self, ahead: u64) {
        self.ahead = ahead;
        if self.growth == WindowGrowth::Near && ahead > 0 {
            self.buffer = self.buffer.max((2 * self.max_read + ahead).min(self.limit));
        }
    }

    /// An in-order segment arrived. Returns whether it opened the window: then Linux acknowledges
    /// it at once (`tcp_grow_window()`, in 2.6 and 6), so that the sender gets the room soon.
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

    /// The first segment shows the share of payload (`scaling_ratio`). The advertised window
    /// stands.
    fn on_first_segment(&mut self, segment: u32) {
        if self.tuning.overhead.is_some() {
            let sized = self.tuning.by_size(segment);
            self.buffer = u64::from(sized.window(sized.start)).max(self.rcv_ssthresh);
            self.limit = u64::from(sized.window(sized.limit)).max(self.buffer);
        }
    }

    /// The buffer for `copied` bytes read in an RTT.
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

    /// The application has read `read` bytes in total: once per RTT the buffer grows. `Near`
    /// measures when the first of several segments has been read (`tcp_rcv_space_adjust()`) and
    /// subtracts the segments behind it.
    pub fn on_read(&mut self, now: Time, read: u64) {
        let first = if self.growth == WindowGrowth::Near { read.min(self.read + self.segment) } else { read };
        let waiting = read - first;
        self.read = read;
        let read = first;
        let Some(since) = self.since else {
            (self.since, self.read_before) = (Some(now), read);
            return;
        };
        if self.rtt.time().is_none_or(|rtt| now - since < rtt) {
            return;
        }
        let target = self.target((read - self.read_before).saturating_sub(waiting));
        self.buffer = self.buffer.max(target.min(self.limit));
        (self.since, self.read_before) = (Some(now), read);
    }
}

#[cfg(test)]
mod tests;
