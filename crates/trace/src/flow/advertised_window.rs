//! The window that a receiver advertises.

use super::opt_time::OptTime;
use crate::compact::compact;
use crate::decode::{Flags, Segment};

#[derive(Debug, Default)]
pub struct AdvertisedWindow {
    sum: u64,
    min: u32,
    max: u32,
    count: u32,
    /// The last one, bytes.
    last: u32,
    /// None before the first zero window.
    closed: Option<Box<ZeroWindowTimes>>,
}

compact!(AdvertisedWindow { sum, min, max, count, last, closed });

/// The times with a window of zero, nanoseconds.
#[derive(Debug, Clone, Copy, Default)]
pub struct ZeroWindowTimes {
    /// Since when the window is zero; none if it is open.
    pub since: OptTime,
    /// Of the times that are over.
    pub total: i64,
    pub longest: i64,
    /// Number of times that the window became zero.
    pub times: u32,
    /// Packets that advertised a window of zero.
    pub acks: u32,
}

compact!(ZeroWindowTimes { since, total, longest, times, acks });

impl AdvertisedWindow {
    /// A packet of the receiver, with the scale of its window (RFC 7323, section 2). Returns true if it
    /// does not change the window.
    #[inline]
    pub(super) fn on_packet(&mut self, now: i64, s: &Segment<'_>, shift: u8) -> bool {
        // The window of a RST has no meaning.
        if s.flags.has(Flags::RST) {
            return true;
        }
        let previous = self.last;
        if s.flags.has(Flags::SYN) {
            self.last = u32::from(s.window);
            return self.last == previous;
        }
        let window = u32::from(s.window) << shift;
        if window != previous || self.count == 0 {
            self.min = if self.count == 0 { window } else { self.min.min(window) };
            self.max = self.max.max(window);
            self.last = window;
        }
        self.sum += u64::from(window);
        self.count = self.count.saturating_add(1);
        if window == 0 || previous == 0 {
            self.update_closed(now, window);
        }
        window == previous
    }

    #[cold]
    fn update_closed(&mut self, now: i64, window: u32) {
        if window == 0 {
            let closed = self.closed.get_or_insert_default();
            closed.acks = closed.acks.saturating_add(1);
            closed.times = closed.times.saturating_add(u32::from(!closed.since.is_some()));
            closed.since.set_once(now);
        } else if let Some(closed) = &mut self.closed
            && let Some(since) = closed.since.get()
        {
            closed.total = closed.total.saturating_add(now - since);
            closed.longest = closed.longest.max(now - since);
            closed.since.clear();
        }
    }

    /// The window of the last packet, bytes.
    #[inline]
    pub fn last(&self) -> u32 {
        self.last
    }

    /// The last packet advertised a window of zero. False before the first one.
    #[inline]
    pub fn is_closed(&self) -> bool {
        self.last == 0 && self.count > 0
    }

    /// Minimum in bytes; none before the first.
    pub fn min(&self) -> Option<u32> {
        (self.count > 0).then_some(self.min)
    }

    pub fn max(&self) -> Option<u32> {
        (self.count > 0).then_some(self.max)
    }

    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / f64::from(self.count))
    }

    /// The times with a window of zero; none if it never was.
    pub fn closed(&self) -> Option<&ZeroWindowTimes> {
        self.closed.as_deref()
    }

    /// Heap memory in bytes.
    pub fn memory(&self) -> usize {
        self.closed.as_ref().map_or(0, |_| size_of::<ZeroWindowTimes>())
    }
}
