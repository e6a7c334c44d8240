//! Westwood's bandwidth estimators.

use super::Ack;
use crate::units::{Span, Time};

/// The filter of Casetti, Gerla, Mascolo, Sanadidi and Wang, "TCP Westwood: bandwidth estimation
/// for enhanced transport over wireless links", Mobicom 2001.
#[derive(Clone, Debug)]
pub struct PerAckFilter {
    /// 1/tau is the filter's cut-off frequency (section 3.2).
    tau: f64,
    /// A gap longer than tau/m counts as samples of zero, one per tau/m; m is at least 2.
    m: f64,
    last: Option<Time>,
    /// Segments acknowledged at the time of the last ACK.
    pending: f64,
    sample: f64,
    estimate: f64,
}

/// Further zero samples have no effect: 0.6^64 of the estimate is left.
const MAX_ZERO_SAMPLES: u32 = 64;

/// Section 3.2: alpha_k = (2 tau - D)/(2 tau + D).
pub fn tustin_weight(tau: f64, interval: f64) -> f64 {
    (2.0 * tau - interval) / (2.0 * tau + interval)
}

impl PerAckFilter {
    /// tau of one second, as in the paper's simulations; m = 2.
    pub const PAPER: PerAckFilter = PerAckFilter { tau: 1.0, m: 2.0, last: None, pending: 0.0, sample: 0.0, estimate: 0.0 };

    /// BWE_k = alpha_k BWE_(k-1) + (1 - alpha_k) (b_k + b_(k-1))/2.
    fn take(&mut self, sample: f64, interval: f64) {
        let weight = tustin_weight(self.tau, interval);
        self.estimate = weight * self.estimate + (1.0 - weight) * (sample + self.sample) / 2.0;
        self.sample = sample;
    }

    pub fn on_ack(&mut self, now: Time, segments: f64) {
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
        let max_interval = self.tau / self.m;
        let mut zeros = 0;
        while interval > max_interval && zeros < MAX_ZERO_SAMPLES {
            self.take(0.0, max_interval);
            interval -= max_interval;
            zeros += 1;
        }
        self.take(rate, interval.min(max_interval));
        (self.last, self.pending) = (Some(now), 0.0);
    }

    /// Segments per second.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }
}

/// Westwood+ of Linux (Grieco and Mascolo, "Performance evaluation and comparison of Westwood+, New
/// Reno, and Vegas TCP congestion control", CCR 34(2), 2004): one sample per RTT, so ACK
/// compression does not inflate it.
#[derive(Clone, Debug)]
pub struct PerRoundFilter {
    /// Minimum interval of a sample (`TCP_WESTWOOD_RTT_MIN`).
    min_interval: Span,
    /// Weight of the old value in each of two cascaded filters.
    keep: f64,
    since: Option<Time>,
    segments: f64,
    first: f64,
    estimate: f64,
}

impl PerRoundFilter {
    pub const LINUX: PerRoundFilter = PerRoundFilter {
        min_interval: Span::from_ms(50),
        keep: 7.0 / 8.0,
        since: None,
        segments: 0.0,
        first: 0.0,
        estimate: 0.0,
    };

    pub fn on_ack(&mut self, now: Time, segments: f64, rtt: Span) {
        let since = *self.since.get_or_insert(now);
        let elapsed = now - since;
        if elapsed > rtt.max(self.min_interval) {
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

    /// Segments per second.
    pub fn estimate(&self) -> f64 {
        self.estimate
    }
}

/// Either bandwidth estimate, and the minimum RTT that gives the BDP.
#[derive(Clone, Debug)]
pub struct BdpEstimate {
    filter: BandwidthFilter,
    min_rtt: Option<Span>,
    latest: Option<Span>,
}

#[derive(Clone, Debug)]
enum BandwidthFilter {
    Ack(PerAckFilter),
    RoundCounter(PerRoundFilter),
}

impl BdpEstimate {
    pub fn by_ack() -> BdpEstimate {
        BdpEstimate { filter: BandwidthFilter::Ack(PerAckFilter::PAPER), min_rtt: None, latest: None }
    }

    pub fn by_round() -> BdpEstimate {
        BdpEstimate { filter: BandwidthFilter::RoundCounter(PerRoundFilter::LINUX), min_rtt: None, latest: None }
    }

    pub fn on_ack(&mut self, ack: &Ack) {
        if let Some(rtt) = ack.rtt {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |s| s.min(rtt)));
            self.latest = Some(rtt);
        }
        let segments = f64::from(ack.delivered);
        match &mut self.filter {
            BandwidthFilter::Ack(filter) => filter.on_ack(ack.now, segments),
            BandwidthFilter::RoundCounter(filter) => filter.on_ack(ack.now, segments, self.latest.unwrap_or(Span::ZERO)),
        }
    }

    /// BWE*RTTmin: the bandwidth-delay product in segments.
    pub fn bdp(&self) -> f64 {
        let bandwidth = match &self.filter {
            BandwidthFilter::Ack(filter) => filter.estimate(),
            BandwidthFilter::RoundCounter(filter) => filter.estimate(),
        };
        bandwidth * self.min_rtt.map_or(0.0, Span::as_secs)
    }

    /// The path may have changed: the minimum RTT restarts with the next sample.
    pub fn reset_min_rtt(&mut self) {
        self.min_rtt = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ACKs of one segment each, `gap` ms apart.
    fn steady(gap: u64, n: u64, mut on_ack: impl FnMut(Time)) {
        for i in 0..n {
            on_ack(Time::ZERO + Span::from_ms(1 + gap * i));
        }
    }

    #[test]
    fn weight_is_19_of_21_for_intervals_of_a_tenth_of_tau() {
        assert!((tustin_weight(1.0, 0.1) - 19.0 / 21.0).abs() < 1e-12);
        assert_eq!(tustin_weight(1.0, 0.0), 1.0);
    }

    #[test]
    fn filters_converge_to_the_rate_of_a_steady_stream() {
        let mut by_ack = PerAckFilter::PAPER;
        steady(10, 2000, |now| by_ack.on_ack(now, 1.0));
        assert!((by_ack.estimate() - 100.0).abs() < 0.1, "{}", by_ack.estimate());
        let mut by_round = PerRoundFilter::LINUX;
        steady(10, 2000, |now| by_round.on_ack(now, 1.0, Span::from_ms(100)));
        assert!((by_round.estimate() - 100.0).abs() < 1.0, "{}", by_round.estimate());
    }

    #[test]
    fn step_response_of_the_per_ack_filter_matches_its_closed_form() {
        let mut filter = PerAckFilter::PAPER;
        steady(100, 11, |now| filter.on_ack(now, 1.0));
        // The first sample is averaged with the zero before it: (1 - w)*5, then nine of 10.
        let w = 19.0 / 21.0;
        let expected = 10.0 - libm::pow(w, 9.0) * (10.0 - (1.0 - w) * 5.0);
        assert!((filter.estimate() - expected).abs() < 1e-9, "{} {expected}", filter.estimate());
    }

    #[test]
    fn gap_counts_as_zero_samples() {
        let mut filter = PerAckFilter::PAPER;
        steady(10, 2000, |now| filter.on_ack(now, 1.0));
        filter.on_ack(Time::ZERO + Span::from_secs(30), 1.0);
        assert!(filter.estimate() < 0.2, "{}", filter.estimate());
    }
}
