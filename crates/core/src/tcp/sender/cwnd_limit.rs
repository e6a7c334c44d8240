//! Whether cwnd limits the sender, over a window of data (Linux since 3.16: `tcp_cwnd_validate()`,
//! `tcp_is_cwnd_limited()`). RFC 7661, section 3, has the reasons: a window that was used in part
//! may be validated, too.

/// Segments of flight that slow start may double.
const SLOW_START_GROWTH: f64 = 2.0;

/// Use of cwnd in the last window of data.
#[derive(Clone, Copy, Debug, Default)]
pub struct CwndLimit {
    /// cwnd was full in this window.
    full: bool,
    /// Maximum of segments outstanding in this window, if cwnd was not full.
    max_outstanding: u32,
    /// snd.nxt when the values were taken: the window ends when it is acknowledged.
    end: u64,
    /// snd.nxt at the last call.
    next: u64,
}

/// The sender when it stops sending.
#[derive(Clone, Copy, Debug)]
pub struct SentBurst {
    /// cwnd is full.
    pub full: bool,
    /// Data waits to be sent for the first time: without it cwnd is not validated
    /// (`tcp_push_pending_frames()`).
    pub asked: bool,
    /// Segments outstanding.
    pub outstanding: u32,
    /// snd.una and snd.nxt.
    pub una: u64,
    pub next: u64,
}

impl CwndLimit {
    /// Nothing more is sent now. Has no effect if nothing was sent and cwnd is not full.
    #[inline]
    pub fn on_burst(&mut self, burst: SentBurst) {
        let sent = burst.next != self.next;
        self.next = burst.next;
        if !(sent || burst.full && burst.asked) {
            return;
        }
        let over = burst.una >= self.end;
        if over || burst.full || (!self.full && burst.outstanding > self.max_outstanding) {
            *self = CwndLimit { full: burst.full, max_outstanding: burst.outstanding, end: burst.next, next: burst.next };
        }
    }

    /// cwnd was full; or, in slow start, it is below twice the segments that were outstanding.
    #[inline]
    pub fn limits(&self, cwnd: f64, ssthresh: f64) -> bool {
        self.full || (cwnd < ssthresh && cwnd < SLOW_START_GROWTH * f64::from(self.max_outstanding))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn burst(full: bool, outstanding: u32, una: u64, next: u64) -> SentBurst {
        SentBurst { full, asked: full, outstanding, una, next }
    }

    #[test]
    fn slow_start_grows_to_twice_the_outstanding_segments() {
        let mut limit = CwndLimit::default();
        limit.on_burst(burst(false, 9, 1, 9001));
        assert!(limit.limits(17.0, f64::INFINITY));
        assert!(!limit.limits(18.0, f64::INFINITY));
        assert!(!limit.limits(10.0, 10.0), "congestion avoidance needs a full window");
    }

    #[test]
    fn full_window_counts_until_its_data_is_acknowledged() {
        let mut limit = CwndLimit::default();
        limit.on_burst(burst(true, 10, 1, 10_001));
        limit.on_burst(burst(false, 6, 5001, 11_001));
        assert!(limit.limits(10.0, 5.0));
        limit.on_burst(burst(false, 2, 10_001, 12_001));
        assert!(!limit.limits(10.0, 5.0));
    }

    #[test]
    fn full_window_counts_only_while_data_waits() {
        let mut limit = CwndLimit::default();
        limit.on_burst(burst(false, 9, 1, 9001));
        limit.on_burst(SentBurst { asked: false, ..burst(true, 5, 2001, 9001) });
        assert!(!limit.limits(5.0, 5.0), "retransmissions fill cwnd, and no data waits");
        limit.on_burst(burst(true, 5, 2001, 9001));
        assert!(limit.limits(5.0, 5.0));
    }

    #[test]
    fn ack_that_releases_nothing_leaves_the_maximum() {
        let mut limit = CwndLimit::default();
        limit.on_burst(burst(false, 8, 1, 8001));
        limit.on_burst(burst(false, 0, 8001, 8001));
        assert!(limit.limits(15.0, f64::INFINITY));
    }
}
