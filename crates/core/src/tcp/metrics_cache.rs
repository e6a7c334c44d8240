//! Per-destination metrics that a host caches for later connections to the same peer: Linux's
//! `tcp_update_metrics`, `tcp_init_metrics` (2.4 to 3.5 in the routing cache, since 3.6 in a table
//! of their own).

use super::cc::CongestionWindow;
use super::rtt::RttEstimator;
use crate::units::{Span, Time};
use serde::{Deserialize, Serialize};
use std::sync::{Arc, Mutex, PoisonError};

/// Which cached metrics a new connection uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum MetricsCache {
    #[default]
    Off,
    /// The first RTO is at least what the cached RTT requires (Linux since 3.9; the only metric if
    /// `tcp_no_ssthresh_metrics_save` is 1).
    Rtt,
    /// ssthresh, RTT and its variance (Linux 2.6).
    Full,
}

/// State of a connection at its end. The window is in segments.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionOutcome {
    pub window: CongestionWindow,
    /// No loss is being repaired (Linux: TCP_CA_Open).
    pub open: bool,
    /// SRTT and RTTVAR; None while an RTO is backed off, or without a sample.
    pub rtt: Option<(Span, Span)>,
}

/// Metrics of a path. ssthresh is in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PathMetrics {
    pub rtt: Option<Span>,
    pub rtt_var: Span,
    pub ssthresh: Option<f64>,
    /// Payload of a segment that the path's MTU allows, and until when that counts.
    pub segment: Option<(u32, Time)>,
}

/// A router's report counts this long (`route.mtu_expires` of ip-sysctl.rst).
pub const MTU_EXPIRES: Span = Span::from_secs(600);

/// Weights of a smaller RTT and of a smaller variance (`m >> 3`, `>> 2`).
const RTT_SHARE: u64 = 8;
const VARIANCE_SHARE: u64 = 4;

/// A larger value replaces `old`; a smaller one moves it by 1/`share` of the difference.
fn rise_at_once(old: Span, new: Span, share: u64) -> Span {
    if new >= old { new } else { old - Span((old - new).0 / share) }
}

impl PathMetrics {
    /// Updates the metrics at the end of a connection.
    pub fn update(&mut self, outcome: &ConnectionOutcome) {
        let Some((srtt, rtt_var)) = outcome.rtt else {
            self.rtt = None;
            return;
        };
        // Without a cached RTT the difference is the RTT itself, as in the kernel.
        let cached = self.rtt.unwrap_or(Span::ZERO);
        let difference = Span(cached.0.abs_diff(srtt.0));
        self.rtt = Some(rise_at_once(cached, srtt, RTT_SHARE));
        self.rtt_var = rise_at_once(self.rtt_var, rtt_var.max(difference), VARIANCE_SHARE);
        self.update_ssthresh(outcome);
    }

    fn update_ssthresh(&mut self, outcome: &ConnectionOutcome) {
        let CongestionWindow { cwnd, ssthresh } = outcome.window;
        let half = libm::floor(cwnd / 2.0);
        if ssthresh.is_infinite() {
            // Slow start never ended: it can only raise a cached ssthresh.
            self.ssthresh = self.ssthresh.map(|cached| cached.max(half));
        } else if cwnd > ssthresh && outcome.open {
            self.ssthresh = Some(half.max(ssthresh));
        } else {
            self.ssthresh = self.ssthresh.map(|cached| cached.max(ssthresh));
        }
    }

    /// Initial ssthresh of a connection whose host configures `own`. A finite `own` is the
    /// variant's and overrides the cache (`bictcp_init()` overwrites what `tcp_init_metrics()`
    /// set).
    pub fn ssthresh_or(&self, cache: MetricsCache, own: f64) -> f64 {
        self.ssthresh.filter(|_| cache == MetricsCache::Full && own.is_infinite()).unwrap_or(own)
    }

    /// Seeds the RTT estimator of a new connection.
    pub fn seed(&self, cache: MetricsCache, estimator: &mut RttEstimator) {
        let Some(rtt) = self.rtt else { return };
        match cache {
            MetricsCache::Off => {}
            MetricsCache::Rtt => estimator.seed_rto(rtt),
            MetricsCache::Full => estimator.seed_estimates(rtt, self.rtt_var),
        }
    }
}

/// Metrics that the connections between two hosts share at one of them.
#[derive(Clone, Debug, Default)]
pub struct SharedPathMetrics(Arc<Mutex<PathMetrics>>);

impl SharedPathMetrics {
    pub fn metrics(&self) -> PathMetrics {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Segments of this path have at most `payload` bytes.
    pub fn limit_segment(&self, now: Time, payload: u32) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).segment = Some((payload, now + MTU_EXPIRES));
    }

    /// Payload of a segment that the path's MTU allows, if it is known.
    pub fn segment(&self, now: Time) -> Option<u32> {
        self.metrics().segment.filter(|&(_, expires)| now < expires).map(|(payload, _)| payload)
    }

    pub fn update(&self, outcome: &ConnectionOutcome) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).update(outcome);
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

    /// By hand: 100, then 200 at once, then 200 - 80/8 = 190. The variance is the larger of
    /// difference and measurement, and falls by a quarter of the difference: 100, 100 (difference
    /// 100), 80 from 100: 95.
    #[test]
    fn cached_rtt_rises_at_once_and_falls_by_an_eighth() {
        let mut metrics = PathMetrics::default();
        for (srtt, var, rtt_known, var_known) in [(100, 5, 100, 100), (200, 5, 200, 100), (120, 5, 190, 95)] {
            metrics.update(&outcome(10.0, f64::INFINITY, true, srtt, var));
            assert_eq!((metrics.rtt, metrics.rtt_var), (Some(Span::from_ms(rtt_known)), Span::from_ms(var_known)));
        }
    }

    #[test]
    fn ssthresh_is_cached_once_slow_start_has_ended() {
        let inf = f64::INFINITY;
        // (cwnd, ssthresh, open, cached before, cached after).
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
            metrics.update(&outcome(cwnd, ssthresh, open, 100, 10));
            assert_eq!(metrics.ssthresh, after, "{cwnd} {ssthresh} {open} {before:?}");
        }
    }

    #[test]
    fn connection_without_samples_clears_the_cached_rtt() {
        let mut metrics = PathMetrics::default();
        metrics.update(&outcome(40.0, 16.0, true, 100, 10));
        metrics.update(&ConnectionOutcome { window: CongestionWindow { cwnd: 1.0, ssthresh: 2.0 }, open: true, rtt: None });
        assert_eq!((metrics.rtt, metrics.ssthresh), (None, Some(20.0)));
    }

    #[test]
    fn cached_ssthresh_applies_only_with_the_full_cache_and_no_configured_one() {
        let metrics = PathMetrics { ssthresh: Some(20.0), ..PathMetrics::default() };
        for (cache, own, given) in [
            (MetricsCache::Full, f64::INFINITY, 20.0),
            (MetricsCache::Full, 100.0, 100.0),
            (MetricsCache::Rtt, f64::INFINITY, f64::INFINITY),
            (MetricsCache::Off, f64::INFINITY, f64::INFINITY),
        ] {
            assert_eq!(metrics.ssthresh_or(cache, own), given, "{cache:?}");
        }
    }
}
