//! What a host remembers of a path when a connection over it ends, for the next one to the same peer: Linux's per-destination metrics
//! (`tcp_update_metrics`, `tcp_init_metrics`; 2.4 to 3.5 in the routing cache, since 3.6 in a table of their own).

use super::cc::CongestionWindow;
use super::rtt::RttEstimator;
use crate::units::Span;
use std::sync::{Arc, Mutex, PoisonError};

/// How much of what is remembered a new connection takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum MetricsCache {
    #[default]
    Off,
    /// The first timeout is not below what the path's round trip calls for (Linux since 3.9, and all of it since
    /// `tcp_no_ssthresh_metrics_save` is 1).
    Rtt,
    /// Threshold, round trip and its variance (Linux 2.6).
    Full,
}

/// What one connection leaves behind. The window is in segments.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionOutcome {
    pub window: CongestionWindow,
    /// Nothing is being repaired, and no timeout's losses are.
    pub open: bool,
    /// Smoothed round trip and its variance; none while a timeout is not answered or nothing was measured.
    pub rtt: Option<(Span, Span)>,
}

/// What is known of a path. Thresholds in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathMetrics {
    pub rtt: Option<Span>,
    pub rtt_var: Span,
    pub ssthresh: Option<f64>,
}

/// Shares of the way that a shorter round trip and a smaller variance are believed (`m >> 3`, `>> 2`).
const RTT_SHARE: u64 = 8;
const VARIANCE_SHARE: u64 = 4;

/// `old` moved down towards `new` by a share of the way, or up to it at once.
fn cautious(old: Span, new: Span, share: u64) -> Span {
    if new >= old { new } else { old - Span((old - new).0 / share) }
}

impl PathMetrics {
    /// A connection has ended.
    pub fn learn(&mut self, outcome: &ConnectionOutcome) {
        let Some((srtt, rtt_var)) = outcome.rtt else {
            self.rtt = None;
            return;
        };
        // Before anything is known the distance is the round trip itself, as the kernel has it.
        let known = self.rtt.unwrap_or(Span::ZERO);
        let distance = Span(known.0.abs_diff(srtt.0));
        self.rtt = Some(cautious(known, srtt, RTT_SHARE));
        self.rtt_var = cautious(self.rtt_var, rtt_var.max(distance), VARIANCE_SHARE);
        self.learn_threshold(outcome);
    }

    fn learn_threshold(&mut self, outcome: &ConnectionOutcome) {
        let CongestionWindow { cwnd, ssthresh } = outcome.window;
        let half = libm::floor(cwnd / 2.0);
        if ssthresh.is_infinite() {
            // The first slow start never ended: it only shows that a threshold is too low.
            self.ssthresh = self.ssthresh.map(|known| known.max(half));
        } else if cwnd > ssthresh && outcome.open {
            self.ssthresh = Some(half.max(ssthresh));
        } else {
            self.ssthresh = self.ssthresh.map(|known| known.max(ssthresh));
        }
    }

    /// The threshold with which a connection starts whose host says `own`: a host's finite one is its variant's and is set last
    /// (`bictcp_init()` overwrites what `tcp_init_metrics()` found).
    pub fn threshold(&self, cache: MetricsCache, own: f64) -> f64 {
        self.ssthresh.filter(|_| cache == MetricsCache::Full && own.is_infinite()).unwrap_or(own)
    }

    /// A connection's timer begins with what the path is known for.
    pub fn seed(&self, cache: MetricsCache, estimator: &mut RttEstimator) {
        let Some(rtt) = self.rtt else { return };
        match cache {
            MetricsCache::Off => {}
            MetricsCache::Rtt => estimator.expect(rtt),
            MetricsCache::Full => estimator.recall(rtt, self.rtt_var),
        }
    }
}

/// What the connections between two hosts share at one of them.
#[derive(Clone, Debug, Default)]
pub struct SharedPathMetrics(Arc<Mutex<PathMetrics>>);

impl SharedPathMetrics {
    pub fn metrics(&self) -> PathMetrics {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn learn(&self, outcome: &ConnectionOutcome) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).learn(outcome);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(cwnd: f64, ssthresh: f64, open: bool, srtt_ms: u64, var_ms: u64) -> ConnectionOutcome {
        ConnectionOutcome {
            window: CongestionWindow { cwnd, ssthresh },
            open,
            rtt: Some((Span::from_ms(srtt_ms), Span::from_ms(var_ms))),
        }
    }

    /// By hand: 100, then 200 at once, then 200 - 80/8 = 190; the variance is the distance or the measured one, whichever is more,
    /// and falls by a quarter of the way: 100, 100 (distance 100), 80 from 100: 95.
    #[test]
    fn a_longer_round_trip_is_believed_at_once_and_a_shorter_one_by_an_eighth() {
        let mut metrics = PathMetrics::default();
        for (srtt, var, rtt_known, var_known) in [(100, 5, 100, 100), (200, 5, 200, 100), (120, 5, 190, 95)] {
            metrics.learn(&outcome(10.0, f64::INFINITY, true, srtt, var));
            assert_eq!((metrics.rtt, metrics.rtt_var), (Some(Span::from_ms(rtt_known)), Span::from_ms(var_known)));
        }
    }

    #[test]
    fn a_threshold_is_kept_once_a_slow_start_has_ended() {
        let inf = f64::INFINITY;
        // (cwnd, ssthresh, open, what was known, what is).
        for (cwnd, ssthresh, open, before, after) in [
            (40.0, inf, true, None, None),
            (40.0, inf, true, Some(10.0), Some(20.0)),
            (40.0, inf, true, Some(30.0), Some(30.0)),
            (40.0, 16.0, true, None, Some(20.0)),
            (40.0, 30.0, true, Some(90.0), Some(30.0)),
            (10.0, 16.0, true, None, None),
            (16.0, 16.0, true, None, None),
            (10.0, 16.0, true, Some(8.0), Some(16.0)),
            (40.0, 16.0, false, Some(30.0), Some(30.0)),
        ] {
            let mut metrics = PathMetrics { ssthresh: before, ..PathMetrics::default() };
            metrics.learn(&outcome(cwnd, ssthresh, open, 100, 10));
            assert_eq!(metrics.ssthresh, after, "{cwnd} {ssthresh} {open} {before:?}");
        }
    }

    #[test]
    fn a_connection_that_measured_nothing_makes_the_round_trip_unknown() {
        let mut metrics = PathMetrics::default();
        metrics.learn(&outcome(40.0, 16.0, true, 100, 10));
        metrics.learn(&ConnectionOutcome { window: CongestionWindow { cwnd: 1.0, ssthresh: 2.0 }, open: true, rtt: None });
        assert_eq!((metrics.rtt, metrics.ssthresh), (None, Some(20.0)));
    }

    #[test]
    fn only_the_full_cache_gives_a_threshold_and_only_to_a_host_without_one() {
        let metrics = PathMetrics { ssthresh: Some(20.0), ..PathMetrics::default() };
        for (cache, own, given) in [
            (MetricsCache::Full, f64::INFINITY, 20.0),
            (MetricsCache::Full, 100.0, 100.0),
            (MetricsCache::Rtt, f64::INFINITY, f64::INFINITY),
            (MetricsCache::Off, f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(metrics.threshold(cache, own), given, "{cache:?}");
        }
    }
}
