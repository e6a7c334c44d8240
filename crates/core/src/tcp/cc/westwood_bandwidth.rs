//! Westwood's bandwidth estimates: what the ACKs say the path delivers.

use super::Ack;
use crate::units::{Span, Time};

/// The filter of Casetti, Gerla, Mascolo, Sanadidi and Wang, "TCP Westwood: bandwidth estimation for enhanced transport over wireless
/// links", Mobicom 2001.
#[derive(Clone, Debug)]
pub struct PerAckFilter {
    /// 1/tau is the filter's cut-off frequency (section 3.2).
    tau: f64,
    /// Silence longer than tau/m counts as samples of zero, one each tau/m; m is at least 2.
    m: f64,
    last: Option<Time>,
    /// Segments that came at the very time of the last ACK.
    pending: f64,
    sample: f64,
    estimate: f64,
}

/// Zero samples beyond this many change nothing: 0.6^64 of the estimate is left.
const MAX_ZERO_SAMPLES: u32 = 64;

/// Section 3.2: alpha_k = (2 tau - D)/(2 tau + D).
pub fn tustin_weight(tau: f64, interval: f64) -> f64 {
    (2.0 * tau - interval) / (2.0 * tau + interval)
}

impl PerAckFilter {
    /// tau of a second, as in the paper's simulations; m of 2.
    pub const PAPER: PerAckFilter = PerAckFilter { tau: 1.0, m: 2.0, last: None, pending: 0.0, sample: 0.0, estimate: 0.0 };

    /// BWE_k = alpha_k BWE_(k-1) + (1 - alpha_k) (b_k + b_(k-1))/2.
    fn take(&mut self, sample: f64, interval: f64) {
        let weight = tustin_weight(self.tau, interval);
        self.estimate = weight * self.estimate + (1.0 - weight) * (sample + self.sample) / 2.0;
        self.sample = sample;
    }

    pub fn see(&mut self, now: Time, segments: f64) {
        let Some(last) = self.last else {
            self.last = Some(now);
            return;
        };
        self.pending += segments;
        let mut interval = (now - last).as_secs();
        if interval <= 0.0 {
            return;
        }
        let rate = self.pending / interval;
        let longest = self.tau / self.m;
        let mut zeros = 0;
        while interval > longest && zeros < MAX_ZERO_SAMPLES {
            self.take(0.0, longest);
            interval -= longest;
            zeros += 1;
        }
        self.take(rate, interval.min(longest));
        (self.last, self.pending) = (Some(now), 0.0);
    }

    /// Segments a second.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }
}

/// Westwood+ as Linux has it (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New Reno, and Vegas TCP
/// congestion control", CCR 34(2), 2004): one sample a round trip, so that squeezed ACKs do not inflate it.
#[derive(Clone, Debug)]
pub struct PerRoundFilter {
    /// No sample in less than this (`TCP_WESTWOOD_RTT_MIN`).
    shortest: Span,
    /// What stays of the old value in each of two cascaded filters.
    keep: f64,
    since: Option<Time>,
    segments: f64,
    first: f64,
    estimate: f64,
}

impl PerRoundFilter {
    pub const LINUX: PerRoundFilter =
        PerRoundFilter { shortest: Span::from_ms(50), keep: 7.0 / 8.0, since: None, segments: 0.0, first: 0.0, estimate: 0.0 };

    pub fn see(&mut self, now: Time, segments: f64, rtt: Span) {
        let since = *self.since.get_or_insert(now);
        let elapsed = now - since;
        if elapsed > rtt.max(self.shortest) {
            self.take(self.segments / elapsed.as_secs());
            (self.since, self.segments) = (Some(now), 0.0);
        }
        self.segments += segments;
    }

    fn take(&mut self, sample: f64) {
        if self.first == 0.0 && self.estimate == 0.0 {
            (self.first, self.estimate) = (sample, sample);
            return;
        }
        self.first = self.keep * self.first + (1.0 - self.keep) * sample;
        self.estimate = self.keep * self.estimate + (1.0 - self.keep) * self.first;
    }

    /// Segments a second.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }
}

/// Either estimate, with the smallest round-trip time that turns it into a window.
#[derive(Clone, Debug)]
pub struct BdpEstimate {
    filter: BandwidthFilter,
    smallest: Option<Span>,
    latest: Option<Span>,
}

#[derive(Clone, Debug)]
enum BandwidthFilter {
    Ack(PerAckFilter),
    RoundCounter(PerRoundFilter),
}

impl BdpEstimate {
    pub fn by_ack() -> BdpEstimate {
        BdpEstimate { filter: BandwidthFilter::Ack(PerAckFilter::PAPER), smallest: None, latest: None }
    }

    pub fn by_round() -> BdpEstimate {
        BdpEstimate { filter: BandwidthFilter::RoundCounter(PerRoundFilter::LINUX), smallest: None, latest: None }
    }

    pub fn see(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.smallest = Some(self.smallest.map_or(rtt, |s| s.min(rtt)));
            self.latest = Some(rtt);
        }
        let segments = f64::from(ack.delivered);
        match &mut self.filter {
            BandwidthFilter::Ack(filter) => filter.see(ack.now, segments),
            BandwidthFilter::RoundCounter(filter) => filter.see(ack.now, segments, self.latest.unwrap_or(Span::ZERO)),
        }
    }

    /// BWE*RTTmin: the segments that the path itself holds.
    pub fn holds(&self) -> f64 {
        let bandwidth = match &self.filter {
            BandwidthFilter::Ack(filter) => filter.estimate(),
            BandwidthFilter::RoundCounter(filter) => filter.estimate(),
        };
        bandwidth * self.smallest.map_or(0.0, Span::as_secs)
    }

    /// The path may have changed: the next sample is the smallest round trip.
    pub fn forget_smallest(&mut self) {
        self.smallest = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ACKs of a segment each, `gap` ms apart.
    fn steady(gap: u64, n: u64, mut see: impl FnMut(Time)) {
        for i in 0..n {
            see(Time::ZERO + Span::from_ms(1 + gap * i));
        }
    }

    #[test]
    fn the_weight_is_19_of_21_for_intervals_of_a_tenth_of_tau() {
        assert!((tustin_weight(1.0, 0.1) - 19.0 / 21.0).abs() < 1e-12);
        assert_eq!(tustin_weight(1.0, 0.0), 1.0);
    }

    #[test]
    fn both_filters_settle_at_the_rate_of_a_steady_stream() {
        let mut by_ack = PerAckFilter::PAPER;
        steady(10, 2000, |now| by_ack.see(now, 1.0));
        assert!((by_ack.estimate() - 100.0).abs() < 0.1, "{}", by_ack.estimate());
        let mut by_round = PerRoundFilter::LINUX;
        steady(10, 2000, |now| by_round.see(now, 1.0, Span::from_ms(100)));
        assert!((by_round.estimate() - 100.0).abs() < 1.0, "{}", by_round.estimate());
    }

    #[test]
    fn the_step_answer_of_the_first_filter_is_its_closed_form() {
        let mut filter = PerAckFilter::PAPER;
        steady(100, 11, |now| filter.see(now, 1.0));
        // The first sample is averaged with the zero before it: (1 - w)*5, then nine more of 10.
        let w = 19.0 / 21.0;
        let expected = 10.0 - libm::pow(w, 9.0) * (10.0 - (1.0 - w) * 5.0);
        assert!((filter.estimate() - expected).abs() < 1e-9, "{} {expected}", filter.estimate());
    }

    #[test]
    fn silence_counts_as_zeros() {
        let mut filter = PerAckFilter::PAPER;
        steady(10, 2000, |now| filter.see(now, 1.0));
        filter.see(Time::ZERO + Span::from_secs(30), 1.0);
        assert!(filter.estimate() < 0.2, "{}", filter.estimate());
    }
}
