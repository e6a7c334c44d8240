//! Metrics that a connection reuses from the one before it to the same peer.

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::tcp::RecoveryKind::Sack;
use ackclock_core::tcp::{MetricsCache, SharedPathMetrics, TcpConfig};
use ackclock_core::units::Time;

fn config(metrics_cache: MetricsCache) -> TcpConfig {
    TcpConfig { metrics_cache, byte_counting: 65_535, ..tcp(Sack) }
}

/// Twenty segments: the first ten have a loss, which leaves an ssthresh of five; the rest have an
/// RTT of 200 ms, the last with the FIN.
fn first_connection(path_metrics: &SharedPathMetrics, cache: MetricsCache) {
    let mut d = Dialogue::client_with(config(cache), BulkSource::new(20_000, Time::NEVER));
    d.endpoint.use_path_metrics(path_metrics.clone());
    d.expects(0.0).syn();
    d.at(0.1).syn_ack();
    d.expects_new(0.1, 1..10_001);
    d.at(0.2).sack(1, &[1001..4001]);
    d.expects(0.2).retransmitted(1..1001);
    d.at(0.3).ack(10_001);
    d.window_is(5.0, 5.0);
    d.at(0.5).ack(15_001);
    d.at(0.7).ack(20_002);
    // Congestion avoidance has begun, so ssthresh is saved; it is more than half of six.
    d.window_is(6.0, 5.0);
    assert!(d.endpoint.finished());
}

/// The SYN's RTT of 100 ms, and ten segments; the rest depends on the first connection.
fn second_connection(path_metrics: &SharedPathMetrics, cache: MetricsCache) -> Dialogue {
    let mut d = Dialogue::client(config(cache));
    d.endpoint.use_path_metrics(path_metrics.clone());
    d.expects(0.0).syn();
    d.at(0.1).syn_ack();
    d.expects_new(0.1, 1..10_001);
    d
}

/// Samples of 100, 200 and 200 ms: SRTT 100, 112.5, 123.4375 ms, RTTVAR 50, 62.5, 68.75 ms. Without
/// cached metrics the saved variance is the RTT itself (tcp_update_metrics()). So 5 * 123.4375 or
/// 123.4375 + 2 * 123.4375 ms, in whole ms; else 100 + 4 * 50.
#[test]
fn ssthresh_and_rto_come_from_the_metrics_cache() {
    for (cache, ssthresh, rto) in
        [(MetricsCache::Full, 5.0, 0.618), (MetricsCache::Rtt, f64::INFINITY, 0.371), (MetricsCache::Off, f64::INFINITY, 0.3)]
    {
        let path_metrics = SharedPathMetrics::default();
        first_connection(&path_metrics, cache);
        let mut d = second_connection(&path_metrics, cache);
        d.window_is(10.0, ssthresh);
        d.expects(0.1 + rto).retransmitted(1..1001);
    }
}

/// A variant's own initial ssthresh is set after the cached one (bictcp_init()).
#[test]
fn configured_ssthresh_overrides_the_metrics_cache() {
    let path_metrics = SharedPathMetrics::default();
    first_connection(&path_metrics, MetricsCache::Full);
    let mut d = Dialogue::client(TcpConfig { initial_ssthresh: 100.0, ..config(MetricsCache::Full) });
    d.endpoint.use_path_metrics(path_metrics);
    d.at(0.1).syn_ack();
    d.window_is(10.0, 100.0);
}

/// A connection that ends with unacknowledged data saves nothing.
#[test]
fn unfinished_connection_saves_no_metrics() {
    let path_metrics = SharedPathMetrics::default();
    let mut d = Dialogue::client_with(config(MetricsCache::Full), BulkSource::new(20_000, Time::NEVER));
    d.endpoint.use_path_metrics(path_metrics.clone());
    d.at(0.1).syn_ack();
    d.at(0.2).ack(10_001);
    assert_eq!(path_metrics.metrics().rtt, None);
}
