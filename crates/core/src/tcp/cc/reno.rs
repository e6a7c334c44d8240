//! Reno (RFC 5681): growth of one segment per RTT, half the window after a loss.

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnAgreement, window_methods};

#[derive(Clone, Debug)]
pub struct Reno {
    window: CongestionWindow,
    slow_start: SlowStart,
    /// Credit towards the next segment of growth.
    counted: f64,
    /// Share of the window that a mark leaves: a half, or more (RFC 8511 proposes 0.8).
    beta_ecn: f64,
}

/// RFC 5681, equation (4).
const BETA: f64 = 0.5;

impl Reno {
    pub fn new(window: CongestionWindow, slow_start: SlowStart) -> Reno {
        Reno { window, slow_start, counted: 0.0, beta_ecn: BETA }
    }
}

/// One segment per window of credit: RFC 3465, section 2.1, which RFC 5681, section 3.1, prefers to
/// 1/cwnd per ACK, whose growth is a few per cent below one segment per RTT.
pub fn reno_increase(window: &mut CongestionWindow, counted: &mut f64, credit: f64) {
    *counted += credit;
    let round = libm::floor(window.cwnd);
    if *counted >= round {
        *counted -= round;
        window.cwnd += 1.0;
    }
}

/// RFC 5681, equation (4).
pub fn reno_ssthresh(flight: f64) -> f64 {
    flight * BETA
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, ack: &Ack) {
        let credit = self.slow_start.credit_left(ack, &mut self.window);
        if credit > 0.0 {
            reno_increase(&mut self.window, &mut self.counted, credit);
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let left = if congestion.signal == CongestionSignal::Ecn {
            congestion.flight * self.beta_ecn
        } else {
            reno_ssthresh(congestion.flight)
        };
        self.window.cut_to(libm::floor(left), congestion.signal);
        self.counted = 0.0;
    }

    fn on_ecn_negotiated(&mut self, agreement: &EcnAgreement) {
        self.beta_ecn = agreement.beta.unwrap_or(BETA);
    }

    window_methods!();
    /// Half of ssthresh (Linux 2.6).
    fn halving_floor(&self) -> f64 {
        libm::floor(self.window.ssthresh / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::LOSS_WINDOW;
    use super::super::slow_start::ClassicSlowStart;
    use super::*;
    use crate::units::Time;

    fn reno(cwnd: f64, ssthresh: f64) -> Reno {
        Reno::new(CongestionWindow { cwnd, ssthresh }, SlowStart::Classic(ClassicSlowStart))
    }

    fn ack(credit: f64) -> Ack {
        Ack { growth_credit: credit, acked: 1, cwnd_limited: true, ..Ack::default() }
    }

    #[test]
    fn slow_start_doubles_and_congestion_avoidance_adds_one_per_rtt() {
        let mut cc = reno(10.0, 20.0);
        for _ in 0..10 {
            cc.on_ack(&ack(1.0));
        }
        assert_eq!(cc.cwnd(), 20.0);
        for _ in 0..20 {
            cc.on_ack(&ack(1.0));
        }
        assert_eq!(cc.cwnd(), 21.0);
    }

    #[test]
    fn ack_of_two_segments_is_split_at_ssthresh() {
        let mut cc = reno(19.0, 20.0);
        cc.on_ack(&ack(2.0));
        assert_eq!((cc.cwnd(), cc.counted), (20.0, 1.0));
    }

    #[test]
    fn loss_halves_the_flight_and_timeout_leaves_one() {
        for (flight, signal, ssthresh, cwnd) in [
            (101.0, CongestionSignal::Duplicates, 50.0, 50.0),
            (3.0, CongestionSignal::Duplicates, 2.0, 2.0),
            (40.0, CongestionSignal::Timeout, 20.0, LOSS_WINDOW),
        ] {
            let mut cc = reno(101.0, f64::INFINITY);
            cc.on_congestion(&Congestion { now: Time::ZERO, signal, flight });
            assert_eq!((cc.ssthresh(), cc.cwnd()), (ssthresh, cwnd), "{flight} {signal:?}");
        }
    }

    #[test]
    fn window_does_not_grow_when_it_is_not_the_limit() {
        let mut cc = reno(10.0, 5.0);
        cc.on_ack(&Ack { cwnd_limited: false, ..ack(1.0) });
        assert_eq!(cc.cwnd(), 10.0);
    }
}
