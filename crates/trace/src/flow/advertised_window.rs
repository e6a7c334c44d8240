//! The window that a receiver advertises.

use crate::compact::compact;
use crate::decode::{Flags, Segment};

#[derive(Debug, Clone, Copy, Default)]
pub struct AdvertisedWindow {
    sum: u64,
    min: u32,
    max: u32,
    count: u32,
    zero_windows: u32,
    /// The last one, bytes.
    last: u32,
    /// Scale of the next one (RFC 7323, section 2).
    shift: u8,
}

compact!(AdvertisedWindow { sum, min, max, count, zero_windows, last, shift });

impl AdvertisedWindow {
    pub(super) fn set_shift(&mut self, shift: u8) {
        self.shift = shift;
    }

    /// A packet of the receiver. Returns true if it does not change the window.
    #[inline]
    pub(super) fn on_packet(&mut self, s: &Segment<'_>) -> bool {
        // The window of a RST has no meaning.
        if s.flags.has(Flags::RST) {
            return true;
        }
        let previous = self.last;
        if s.flags.has(Flags::SYN) {
            self.last = u32::from(s.window);
            return self.last == previous;
        }
        let window = u32::from(s.window) << self.shift;
        self.min = if self.count == 0 { window } else { self.min.min(window) };
        self.max = self.max.max(window);
        self.sum += u64::from(window);
        self.count = self.count.saturating_add(1);
        self.zero_windows += u32::from(window == 0 && previous != 0);
        self.last = window;
        window == previous
    }

    /// The window of the last packet, bytes.
    #[inline]
    pub fn last(&self) -> u32 {
        self.last
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

    /// Number of times that the window became zero.
    pub fn zero_windows(&self) -> u32 {
        self.zero_windows
    }
}
