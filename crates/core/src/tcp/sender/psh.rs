//! TSO bursts and PSH: Linux hands its interface bursts of segments and sets PSH on the last
//! segment of each.

use crate::tcp::config::{Push, TcpConfig};
use crate::tcp::tso::TsoAutosize;
use crate::units::Span;

/// A burst is not deferred when nothing has been sent for this long, or when the next ACK is due later
/// (`tcp_tso_should_defer()`, since 6.18; before, later than half an RTT).
pub const MAX_DEFER: Span = Span::from_ms(1);

/// Position in the TSO burst under way.
#[derive(Clone, Copy, Debug, Default)]
pub struct TsoBurst {
    /// Paced segments that may still follow back to back.
    left: u32,
    /// Segments sent since the last PSH.
    since_psh: u32,
}

impl TsoBurst {
    #[inline]
    pub fn in_progress(self) -> bool {
        self.left > 0
    }

    /// No segment has been sent since the last PSH.
    #[inline]
    pub fn is_new(self) -> bool {
        self.since_psh == 0
    }

    /// Sending stops: a burst that the windows cut short is sent as it is.
    #[inline]
    pub fn end(&mut self) {
        *self = TsoBurst::default();
    }

    /// A retransmission is sent alone and ends the count towards PSH.
    pub fn restart_psh(&mut self) {
        self.since_psh = 0;
    }

    /// A paced segment was sent. `size` is the length of a new burst, at least 1; None paces
    /// segment by segment.
    pub fn on_paced_send(&mut self, size: impl FnOnce() -> Option<u32>) {
        self.left = if self.left == 0 { size().map_or(0, |segments| segments - 1) } else { self.left - 1 };
    }

    /// Counts a segment of new data and returns whether it carries PSH. `last` marks the last byte
    /// written so far. `ends_burst` is asked only of bursts of two or more segments. Half of `cwnd`
    /// bounds a burst, so that at least two are in flight (`tcp_cwnd_test()`).
    #[inline]
    pub fn sets_psh(&mut self, last: bool, cwnd: f64, ends_burst: impl FnOnce(TsoBurst) -> bool) -> bool {
        self.since_psh += 1;
        let max = (cwnd as u32 / 2).max(1);
        let push = last || (self.since_psh > 1 && (self.since_psh >= max || ends_burst(*self)));
        if push || max == 1 {
            self.since_psh = 0;
        }
        push
    }

    /// The burst has reached the size that the interface takes at once. Pacing counts bursts
    /// itself.
    pub fn is_full(self, paced: bool, autosize: Option<TsoAutosize>, burst: impl FnOnce(TsoAutosize) -> u32) -> bool {
        if paced {
            return self.left == 0;
        }
        autosize.is_some_and(|tso| self.since_psh >= tso.min_segments && self.since_psh >= burst(tso))
    }
}

/// A burst shorter than the autosize may wait for the next ACK (`tcp_tso_should_defer()`). Paced
/// flows never wait: the pacer sets the times.
#[inline]
pub fn may_defer(config: &TcpConfig, paced: bool) -> bool {
    config.push == Push::Chunks && !paced
}
