//! The receive window in force while it limits the sender.

use crate::units::{Span, Time};

/// The advertised window and the smoothed RTT over the time in which the receive window limits the
/// sender. A tuned window grows: what was advertised last did not limit what was sent before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LimitingWindow {
    /// Until when the sums count.
    until: Time,
    /// In force since then.
    window: u64,
    srtt: Span,
    time: Span,
    /// Sums over `time`, in byte picoseconds and square picoseconds.
    windows: u128,
    rtts: u128,
}

impl LimitingWindow {
    /// From `now` on `window` bytes limit the sender, on a path of this RTT.
    pub fn begin(&mut self, now: Time, window: u64, srtt: Span) {
        (self.until, self.window, self.srtt) = (now, window, srtt);
    }

    /// A window of `window` bytes on a path of this RTT is in force: what it limits continues.
    #[inline]
    pub fn continues(&self, window: u64, srtt: Span) -> bool {
        self.window == window && self.srtt == srtt
    }

    /// The window of the last [`begin`](Self::begin) limited the sender until `now`.
    pub fn extend(&mut self, now: Time) {
        let span = now - self.until;
        self.windows += u128::from(self.window) * u128::from(span.0);
        self.rtts += u128::from(self.srtt.0) * u128::from(span.0);
        self.time = self.time + span;
        self.until = now;
    }

    /// A measurement window begins at `now`.
    pub fn restart(&mut self, now: Time) {
        *self = LimitingWindow { until: now, window: self.window, srtt: self.srtt, ..LimitingWindow::default() };
    }

    /// The mean over the limited time, in bytes; none if the window never limited.
    pub fn mean_bytes(&self) -> Option<u64> {
        self.mean(self.windows)
    }

    /// The mean over the limited time; none if the window never limited.
    pub fn mean_rtt(&self) -> Option<Span> {
        self.mean(self.rtts).map(Span)
    }

    fn mean(&self, sum: u128) -> Option<u64> {
        sum.checked_div(u128::from(self.time.0)).map(|mean| u64::try_from(mean).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000_000;

    fn at(seconds: u64) -> Time {
        Time(seconds * SECOND)
    }

    // finding("A18")
    #[test]
    fn mean_window_is_that_of_the_limited_time_when_the_window_grows() {
        let mut window = LimitingWindow::default();
        window.begin(at(1), 10_000, Span(SECOND));
        window.extend(at(4));
        window.begin(at(6), 50_000, Span(3 * SECOND));
        window.extend(at(7));
        // 3 s of 10 kB and 1 s of 50 kB; the 2 s between do not count.
        assert_eq!(window.mean_bytes(), Some(20_000));
        assert_eq!(window.mean_rtt(), Some(Span(3 * SECOND / 2)));
    }

    #[test]
    fn mean_window_is_none_when_the_window_never_limited() {
        let mut window = LimitingWindow::default();
        assert_eq!((window.mean_bytes(), window.mean_rtt()), (None, None));
        window.begin(at(1), 10_000, Span(SECOND));
        window.extend(at(1));
        assert_eq!(window.mean_bytes(), None);
    }

    #[test]
    fn window_in_force_continues_when_the_meters_restart() {
        let mut window = LimitingWindow::default();
        window.begin(at(0), 10_000, Span(SECOND));
        window.extend(at(2));
        window.begin(at(2), 30_000, Span(SECOND));
        window.restart(at(3));
        assert_eq!(window.mean_bytes(), None);
        window.extend(at(4));
        assert_eq!(window.mean_bytes(), Some(30_000));
    }
}
