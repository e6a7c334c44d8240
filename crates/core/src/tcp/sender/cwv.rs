//! New Congestion Window Validation (RFC 7661): pipeACK decides whether cwnd is validated. A
//! validated window may grow; one that is not is kept for minutes, but a loss reduces the window to
//! what was in use, not to what was allowed.

use crate::tcp::cc::{AnyCc, Congestion, CongestionControl, CongestionWindow};
use crate::units::{Span, Time};
use std::collections::VecDeque;

/// Section 4.2: pipeACK is the maximum over this many RTTs, and over at least a second.
const SAMPLED_RTTS: u64 = 3;
const MIN_SAMPLED: Span = Span::from_secs(1);
/// Section 4.3: the window is validated while this share of it is acknowledged in an RTT.
const VALIDATED_SHARE: f64 = 0.5;
/// Section 4.4.3: the non-validated period (NVP), and the share of cwnd that ssthresh keeps at its
/// end.
const NONVALIDATED_PERIOD: Span = Span::from_secs(300);
const SSTHRESH_SHARE: f64 = 0.75;

/// State of RFC 7661. Amounts are in segments.
#[derive(Clone, Debug, Default)]
pub struct CwndValidation {
    /// Samples of pipeACK with their times, in decreasing order: a sample below a later one can
    /// never be the maximum.
    samples: VecDeque<(Time, u32)>,
    /// Start of the sample under way, and the segments that it has acknowledged.
    since: Option<Time>,
    acked: u32,
    nonvalidated_since: Option<Time>,
    cut: Option<NonvalidatedCut>,
    /// Losses were being repaired when the last ACK arrived.
    repairing: bool,
}

/// A recovery that began in the non-validated phase.
#[derive(Clone, Copy, Debug)]
struct NonvalidatedCut {
    /// max(pipeACK, LossFlightSize), and the share of it that the variant keeps.
    used: f64,
    share: f64,
    /// Segments retransmitted since the connection began, at the reduction.
    retransmitted: u64,
}

/// How long a sample of pipeACK counts.
fn sample_lifetime(srtt: Span) -> Span {
    srtt.saturating_mul(SAMPLED_RTTS).max(MIN_SAMPLED)
}

impl CwndValidation {
    /// pipeACK (section 4.2). None before the first sample and after a recovery: then every window
    /// counts as validated.
    pub fn pipe_ack(&self) -> Option<f64> {
        self.samples.front().map(|&(_, acked)| f64::from(acked))
    }

    /// An ACK of `acked` segments, before the recovery processes it. Nothing is sampled while
    /// losses are repaired.
    pub fn before_recovery(&mut self, now: Time, acked: u32, srtt: Span, repairing: bool) {
        if !repairing {
            self.on_ack(now, acked, srtt);
        }
        self.repairing = repairing;
    }

    /// The recovery has processed the ACK. `recovering`: it goes on.
    pub fn after_recovery(&mut self, now: Time, recovering: bool, cc: &mut AnyCc, retransmitted: u64) {
        if self.repairing && !recovering {
            self.on_recovered(now, cc, retransmitted);
        }
    }

    fn on_ack(&mut self, now: Time, acked: u32, srtt: Span) {
        let since = *self.since.get_or_insert(now);
        self.acked += acked;
        if now - since >= srtt {
            while self.samples.back().is_some_and(|&(_, older)| older <= self.acked) {
                self.samples.pop_back();
            }
            self.samples.push_back((now, self.acked));
            (self.since, self.acked) = (Some(now), 0);
        }
        while self.samples.len() > 1 && self.samples.front().is_some_and(|&(at, _)| now - at > sample_lifetime(srtt)) {
            self.samples.pop_front();
        }
    }

    /// Section 4.3: whether the window is validated.
    pub fn validated(&mut self, now: Time, cwnd: f64) -> bool {
        let validated = self.pipe_ack().is_none_or(|used| used >= VALIDATED_SHARE * cwnd);
        if validated {
            self.nonvalidated_since = None;
        } else {
            self.nonvalidated_since.get_or_insert(now);
        }
        validated
    }

    /// Nothing has been sent since `last`. A pause longer than a sample's lifetime makes pipeACK
    /// zero, and the window has not been validated since `last`.
    pub fn on_idle(&mut self, now: Time, last: Time, srtt: Span) {
        if now - last > sample_lifetime(srtt) && self.since.is_some() {
            self.samples.clear();
            self.samples.push_back((now, 0));
            self.nonvalidated_since.get_or_insert(last);
            (self.since, self.acked) = (Some(now), 0);
        }
    }

    /// Section 4.4.3: at the end of the NVP cwnd is halved, and ssthresh keeps three quarters of
    /// it.
    pub fn expire(&mut self, now: Time, cc: &mut AnyCc, initial: f64) {
        if self.nonvalidated_since.is_none_or(|since| now - since < NONVALIDATED_PERIOD) {
            return;
        }
        self.nonvalidated_since = Some(now);
        let (cwnd, ssthresh) = (cc.cwnd(), cc.ssthresh());
        let halved = libm::floor(cwnd / 2.0).max(initial).min(cwnd);
        cc.on_restart(now, CongestionWindow { cwnd: halved, ssthresh: ssthresh.max(SSTHRESH_SHARE * cwnd) });
    }

    /// Section 4.4.1: congestion reduces the window; one that is not validated is first set to
    /// max(pipeACK, LossFlightSize).
    pub fn cut(&mut self, cc: &mut AnyCc, congestion: &Congestion, retransmitted: u64) {
        let (now, cwnd) = (congestion.now, cc.cwnd());
        if self.validated(now, cwnd) {
            return cc.on_congestion(congestion);
        }
        let used = self.pipe_ack().unwrap_or(0.0).max(congestion.flight);
        if used < cwnd {
            cc.on_restart(now, CongestionWindow { cwnd: used, ssthresh: cc.ssthresh() });
        }
        cc.on_congestion(&Congestion { flight: used, ..*congestion });
        self.cut = Some(NonvalidatedCut { used, share: cc.cwnd() / used.max(1.0), retransmitted });
    }

    /// Section 4.4.1, end of the recovery: cwnd and ssthresh become (max(pipeACK, LossFlightSize) -
    /// R) * the variant's share, at least a segment. R is the number of segments retransmitted in
    /// the recovery. pipeACK is undefined again.
    fn on_recovered(&mut self, now: Time, cc: &mut AnyCc, retransmitted: u64) {
        self.clear_samples();
        if let Some(cut) = self.cut.take() {
            let validated = (cut.used - (retransmitted - cut.retransmitted) as f64) * cut.share;
            let window = libm::floor(validated).max(1.0).min(cc.cwnd());
            cc.on_restart(now, CongestionWindow { cwnd: window, ssthresh: window.max(2.0) });
        }
    }

    fn clear_samples(&mut self) {
        self.samples.clear();
        (self.since, self.acked, self.nonvalidated_since) = (None, 0, None);
    }

    /// An RTO, or a reduction that no recovery follows.
    pub fn reset(&mut self) {
        self.cut = None;
        self.clear_samples();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::cc::Variant;
    use crate::tcp::cc::slow_start::{ClassicSlowStart, SlowStart};

    const RTT: Span = Span::from_ms(100);

    fn after(ms: u64) -> Time {
        Time::ZERO + Span::from_ms(ms)
    }

    fn reno(cwnd: f64, ssthresh: f64) -> AnyCc {
        Variant::Reno.build(CongestionWindow { cwnd, ssthresh }, SlowStart::Classic(ClassicSlowStart))
    }

    /// `counts` segments acknowledged in RTTs of 100 ms, from `begin` (ms).
    fn rounds(cwv: &mut CwndValidation, begin: u64, counts: &[u32]) {
        for (round, &count) in (0..).zip(counts) {
            let at = begin + 100 * round;
            cwv.on_ack(after(at), 0, RTT);
            cwv.on_ack(after(at + 50), count, RTT);
        }
        cwv.on_ack(after(begin + 100 * counts.len() as u64), 0, RTT);
    }

    /// Section 4.2: undefined, then the maximum of the last second.
    #[test]
    fn pipe_ack_is_the_maximum_over_three_rtts_and_a_second() {
        let mut cwv = CwndValidation::default();
        assert_eq!(cwv.pipe_ack(), None);
        rounds(&mut cwv, 0, &[4, 9, 5, 6]);
        assert_eq!(cwv.pipe_ack(), Some(9.0));
        rounds(&mut cwv, 400, &[2; 9]);
        assert_eq!(cwv.pipe_ack(), Some(6.0), "9 is older than a second, 6 is not");
    }

    /// Section 4.3: half of the window.
    #[test]
    fn window_is_validated_while_half_of_it_is_acknowledged_per_rtt() {
        let mut cwv = CwndValidation::default();
        assert!(cwv.validated(after(0), 1000.0), "before the first sample");
        rounds(&mut cwv, 0, &[10]);
        assert!(cwv.validated(after(100), 20.0));
        assert!(!cwv.validated(after(100), 20.1));
    }

    /// Section 4.4.3: cwnd halved, ssthresh at three quarters.
    #[test]
    fn nonvalidated_window_is_halved_after_five_minutes() {
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

    /// Nothing was acknowledged in the last second, so pipeACK is zero, not undefined.
    #[test]
    fn window_is_not_validated_after_idle() {
        let mut cwv = CwndValidation::default();
        rounds(&mut cwv, 0, &[30]);
        assert!(cwv.validated(after(100), 32.0));
        cwv.on_idle(after(5000), after(100), RTT);
        assert!(!cwv.validated(after(5000), 32.0));
    }
}
