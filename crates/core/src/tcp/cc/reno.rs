//! Reno (RFC 5681): one segment a round trip, half on loss.

use super::slow_start::SlowStart;
use super::{Ack, Congestion, CongestionControl, CongestionSignal, CongestionWindow, EcnAgreement, window_methods};

#[derive(Clone, Debug)]
pub struct Reno {
    window: CongestionWindow,
    slow_start: SlowStart,
    /// Credit towards the next segment.
    counted: f64,
    /// What a mark leaves: a half, as a loss does, or more (RFC 8511, which proposes 0.8).
    beta_ecn: f64,
}

/// RFC 5681, equation (4).
const BETA: f64 = 0.5;

impl Reno {
    pub fn new(window: CongestionWindow, slow_start: SlowStart) -> Reno {
        Reno { window, slow_start, counted: 0.0, beta_ecn: BETA }
    }
}

/// One segment for every window's worth of credit: RFC 3465, section 2.1, which RFC 5681, section 3.1, prefers to adding 1/cwnd per
/// ACK, as that falls a few per cent short of one a round trip.
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
    /// Half the threshold (Linux 2.6).
    fn halving_floor(&self) -> f64 {
        libm::floor(self.window.ssthresh / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::LOSS_WINDOW;
    use super::super::slow_start::Classic;
    use super::*;
    use crate::units::Time;

    fn reno(cwnd: f64, ssthresh: f64) -> Reno {
        Reno::new(CongestionWindow { cwnd, ssthresh }, SlowStart::Classic(Classic))
    }

    fn ack(credit: f64) -> Ack {
        Ack { growth_credit: credit, acked: 1, cwnd_limited: true, ..Ack::default() }
    }

    #[test]
    fn slow_start_doubles_and_congestion_avoidance_adds_one_a_round() {
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
    fn an_ack_of_two_that_crosses_the_threshold_is_split() {
        let mut cc = reno(19.0, 20.0);
        cc.on_ack(&ack(2.0));
        assert_eq!((cc.cwnd(), cc.counted), (20.0, 1.0));
    }

    #[test]
    fn a_loss_halves_what_is_in_flight_and_a_timeout_leaves_one() {
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
    fn a_window_that_was_not_the_limit_does_not_grow() {
        let mut cc = reno(10.0, 5.0);
        cc.on_ack(&Ack { cwnd_limited: false, ..ack(1.0) });
        assert_eq!(cc.cwnd(), 10.0);
    }
}
