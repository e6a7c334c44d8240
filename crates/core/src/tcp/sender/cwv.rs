//! What a window is worth that is not used, by what is acknowledged (RFC 7661): one that was in use of late may grow and is kept for
//! minutes, but a loss cuts what was in use, not what was allowed.

use crate::tcp::cc::{AnyCc, Congestion, CongestionControl, CongestionSignal, CongestionWindow};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// Section 4.2: pipeACK is the largest sample of this many round trips, and of no less than a second.
const SAMPLED_ROUNDS: u64 = 3;
const SAMPLED_LEAST: Span = Span::from_secs(1);
/// Section 4.3: the window is validated while this part of it is acknowledged in a round trip.
const VALIDATED: f64 = 0.5;
/// Section 4.4.3: how long a window that is not validated is kept (NVP), and what is remembered of it then.
const KEPT: Span = Span::from_secs(300);
const REMEMBERED: f64 = 0.75;

/// pipeACK and what hangs on it. Amounts are in segments.
#[derive(Clone, Debug, Default)]
pub struct CwndValidation {
    /// Samples of pipeACK with their times: each larger than those after it, as no other can ever be the largest.
    samples: VecDeque<(Time, u32)>,
    /// The sample under way.
    since: Option<Time>,
    acked: u32,
    /// Since when the window has not been validated.
    nonvalidated_since: Option<Time>,
    cut: Option<NonvalidatedCut>,
    /// Losses were being repaired when the last ACK came.
    pub(super) repairing: bool,
}

/// A recovery that began while the window was not validated.
#[derive(Clone, Copy, Debug)]
struct NonvalidatedCut {
    /// max(pipeACK, LossFlightSize), and the part of it that the variant leaves.
    used: f64,
    left: f64,
    /// Segments that had been sent again before.
    resent: u64,
}

/// How long a sample counts.
fn sampled(srtt: Span) -> Span {
    srtt.saturating_mul(SAMPLED_ROUNDS).max(SAMPLED_LEAST)
}

impl CwndValidation {
    /// Section 4.2: what was acknowledged in a round trip of late; none before the first and after a recovery: then every window counts
    /// as validated.
    pub fn pipe_ack(&self) -> Option<f64> {
        self.samples.front().map(|&(_, acked)| f64::from(acked))
    }

    /// An ACK took `acked` segments off the board. Nothing is sampled while losses are repaired.
    pub fn on_ack(&mut self, now: Time, acked: u32, srtt: Span) {
        let since = *self.since.get_or_insert(now);
        self.acked += acked;
        if now - since >= srtt {
            while self.samples.back().is_some_and(|&(_, older)| older <= self.acked) {
                self.samples.pop_back();
            }
            self.samples.push_back((now, self.acked));
            (self.since, self.acked) = (Some(now), 0);
        }
        while self.samples.len() > 1 && self.samples.front().is_some_and(|&(at, _)| now - at > sampled(srtt)) {
            self.samples.pop_front();
        }
    }

    /// Section 4.3. A pause makes every sample old, whatever came last before it.
    pub fn validated(&mut self, now: Time, cwnd: f64) -> bool {
        let validated = self.pipe_ack().is_none_or(|used| used >= VALIDATED * cwnd);
        if validated {
            self.nonvalidated_since = None;
        } else {
            self.nonvalidated_since.get_or_insert(now);
        }
        validated
    }

    /// Nothing has been sent since `last`: what was sampled before is no measure any more, and the window has been without proof.
    pub fn on_pause(&mut self, now: Time, last: Time, srtt: Span) {
        if now - last > sampled(srtt) && self.since.is_some() {
            self.samples.clear();
            self.samples.push_back((now, 0));
            self.nonvalidated_since.get_or_insert(last);
            (self.since, self.acked) = (Some(now), 0);
        }
    }

    /// Section 4.4.3: a window that has gone without proof for five minutes is halved, and its last size remembered.
    pub fn expire(&mut self, now: Time, cc: &mut AnyCc, initial: f64) {
        if self.nonvalidated_since.is_none_or(|since| now - since < KEPT) {
            return;
        }
        self.nonvalidated_since = Some(now);
        let (cwnd, ssthresh) = (cc.cwnd(), cc.ssthresh());
        let halved = libm::floor(cwnd / 2.0).max(initial).min(cwnd);
        cc.on_restart(now, CongestionWindow { cwnd: halved, ssthresh: ssthresh.max(REMEMBERED * cwnd) });
    }

    /// Section 4.4.1: a loss with `flight` out cuts the window; one that is not validated comes down to what was used of it first.
    pub fn cut(&mut self, now: Time, cc: &mut AnyCc, (signal, flight): (CongestionSignal, f64), resent: u64) {
        let cwnd = cc.cwnd();
        if self.validated(now, cwnd) {
            return cc.on_congestion(&Congestion { now, signal, flight });
        }
        let used = self.pipe_ack().unwrap_or(0.0).max(flight);
        if used < cwnd {
            cc.on_restart(now, CongestionWindow { cwnd: used, ssthresh: cc.ssthresh() });
        }
        cc.on_congestion(&Congestion { now, signal, flight: used });
        self.cut = Some(NonvalidatedCut { used, left: cc.cwnd() / used.max(1.0), resent });
    }

    /// Section 4.4.1: the recovery is over, and `resent` segments have been sent again since the connection began: (max(pipeACK,
    /// LossFlightSize) - R) * what a cut leaves, a segment at least, and the same as threshold. pipeACK is undefined again.
    pub fn on_recovered(&mut self, now: Time, cc: &mut AnyCc, resent: u64) {
        self.discard();
        if let Some(cut) = self.cut.take() {
            let proven = (cut.used - (resent - cut.resent) as f64) * cut.left;
            let window = libm::floor(proven).max(1.0).min(cc.cwnd());
            cc.on_restart(now, CongestionWindow { cwnd: window, ssthresh: window.max(2.0) });
        }
    }

    /// Samples of before a loss or a timeout say nothing any more.
    pub fn discard(&mut self) {
        self.samples.clear();
        (self.since, self.acked, self.nonvalidated_since) = (None, 0, None);
    }

    /// No recovery follows the cut, or a timeout takes its place.
    pub fn reset(&mut self) {
        self.cut = None;
        self.discard();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::cc::Variant;
    use crate::tcp::cc::slow_start::{Classic, SlowStart};

    const RTT: Span = Span::from_ms(100);

    fn after(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn reno(cwnd: f64, ssthresh: f64) -> AnyCc {
        Variant::Reno.build(CongestionWindow { cwnd, ssthresh }, SlowStart::Classic(Classic))
    }

    /// So many segments acknowledged in each round trip of 100 ms, from `begin` on.
    fn rounds(cwv: &mut CwndValidation, begin: u64, counts: &[u32]) {
        for (round, &count) in (0..).zip(counts) {
            let at = begin + 100 * round;
            cwv.on_ack(after(at), 0, RTT);
            cwv.on_ack(after(at + 50), count, RTT);
        }
        cwv.on_ack(after(begin + 100 * counts.len() as u64), 0, RTT);
    }

    /// Section 4.2: undefined, then the largest of the last second.
    #[test]
    fn pipe_ack_is_the_largest_sample_of_a_second_or_three_round_trips() {
        let mut cwv = CwndValidation::default();
        assert_eq!(cwv.pipe_ack(), None);
        rounds(&mut cwv, 0, &[4, 9, 5, 6]);
        assert_eq!(cwv.pipe_ack(), Some(9.0));
        rounds(&mut cwv, 400, &[2; 9]);
        assert_eq!(cwv.pipe_ack(), Some(6.0), "9 is older than a second, 6 is not");
    }

    /// Section 4.3: half of the window.
    #[test]
    fn a_window_is_validated_while_half_of_it_is_acknowledged_in_a_round_trip() {
        let mut cwv = CwndValidation::default();
        assert!(cwv.validated(after(0), 1000.0), "before the first sample");
        rounds(&mut cwv, 0, &[10]);
        assert!(cwv.validated(after(100), 20.0));
        assert!(!cwv.validated(after(100), 20.1));
    }

    /// Section 4.4.3: nothing for five minutes, then half and three quarters.
    #[test]
    fn a_window_without_proof_is_kept_for_five_minutes_and_then_halved() {
        let mut cwv = CwndValidation::default();
        let mut cc = reno(32.0, 10.0);
        rounds(&mut cwv, 0, &[5]);
        assert!(!cwv.validated(after(100), cc.cwnd()));
        cwv.expire(after(300_099), &mut cc, 10.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (32.0, 10.0));
        cwv.expire(after(300_100), &mut cc, 10.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (16.0, 24.0));
        cwv.expire(after(600_100), &mut cc, 10.0);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (10.0, 24.0), "not below the initial window");
    }

    /// A pause: nothing was acknowledged in the last second, so pipeACK is nothing, not undefined.
    #[test]
    fn after_a_pause_the_window_is_not_validated() {
        let mut cwv = CwndValidation::default();
        rounds(&mut cwv, 0, &[30]);
        assert!(cwv.validated(after(100), 32.0));
        cwv.on_pause(after(5000), after(100), RTT);
        assert!(!cwv.validated(after(5000), 32.0));
    }
}
