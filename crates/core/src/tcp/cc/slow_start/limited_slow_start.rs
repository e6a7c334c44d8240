//! Limited slow start (RFC 3742): growth of at most half of `max_ssthresh` segments per RTT, which
//! avoids large bursts of loss.

use super::{Ack, CongestionWindow, SlowStartRule, grow};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limited {
    /// In segments; section 2 recommends 100.
    max_ssthresh: f64,
}

impl Limited {
    pub const RFC3742: Limited = Limited { max_ssthresh: 100.0 };
}

/// Section 2: K = int(cwnd/(0.5 max_ssthresh)), and an ACK earns 1/K segment.
pub fn limited_share(cwnd: f64, max_ssthresh: f64) -> f64 {
    if cwnd <= max_ssthresh { 1.0 } else { 1.0 / libm::floor(cwnd / (0.5 * max_ssthresh)) }
}

impl SlowStartRule for Limited {
    fn open(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64 {
        grow(ack.growth_credit, limited_share(window.cwnd, self.max_ssthresh), window)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::rounds;
    use super::*;
    use crate::units::Span;

    #[test]
    fn growth_shares_match_the_rfc() {
        for (cwnd, k) in [(100.0, 1.0), (101.0, 2.0), (149.0, 2.0), (150.0, 3.0), (1000.0, 20.0)] {
            assert_eq!(limited_share(cwnd, 100.0), 1.0 / k, "{cwnd}");
        }
    }

    #[test]
    fn growth_above_100_segments_is_about_fifty_per_rtt() {
        let (windows, _) = rounds(&mut Limited::RFC3742.clone(), 100.0, 8, |_| Span::from_ms(100));
        for pair in windows[1..].windows(2) {
            let growth = pair[1] - pair[0];
            assert!((40.0..=60.0).contains(&growth), "{windows:?}");
        }
    }
}
