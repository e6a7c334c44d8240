//! Slow start up to and including ssthresh. RFC 5681, section 3.1, allows either rule when cwnd
//! equals ssthresh; Linux before 4.3 uses slow start (`snd_cwnd <= snd_ssthresh`), so its window is
//! one segment higher after every reduction.

use super::{Ack, CongestionWindow, SlowStartRule};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inclusive;

impl SlowStartRule for Inclusive {
    fn applies(&self, window: &CongestionWindow) -> bool {
        window.cwnd <= window.ssthresh
    }

    fn open(&mut self, ack: &Ack, window: &mut CongestionWindow) -> f64 {
        let opened = (window.cwnd + ack.growth_credit).min((window.ssthresh + 1.0).max(window.cwnd));
        let used = opened - window.cwnd;
        window.cwnd = opened;
        ack.growth_credit - used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_start_grows_once_more_at_ssthresh() {
        let mut window = CongestionWindow { cwnd: 9.0, ssthresh: 10.0 };
        let ack = Ack { growth_credit: 1.0, acked: 1, cwnd_limited: true, ..Ack::default() };
        let mut opened = Vec::new();
        while Inclusive.applies(&window) {
            assert_eq!(Inclusive.open(&ack, &mut window), 0.0);
            opened.push(window.cwnd);
        }
        assert_eq!(opened, [10.0, 11.0]);
    }
}
