//! Growth of the window per round.

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::tcp::RecoveryKind::Sack;
use ackclock_core::tcp::{TcpConfig, Variant};
use ackclock_core::units::Time;

/// RFC 5681, equation (2), and RFC 3465, section 2.2: growth by an ACK of several segments.
#[test]
fn slow_start_counts_acks_or_bytes_up_to_the_limit() {
    for (byte_counting, per_ack, windows) in [
        (0, 1, [20.0, 40.0]),
        (0, 2, [15.0, 23.0]),
        (1, 2, [15.0, 23.0]),
        (2, 2, [20.0, 40.0]),
        (2, 5, [14.0, 20.0]),
        (65_535, 5, [20.0, 40.0]),
    ] {
        let mut d = Dialogue::sender(TcpConfig { byte_counting, ..tcp(Sack) });
        for (n, window) in windows.into_iter().enumerate() {
            d.round(0.2 + 0.1 * n as f64, per_ack);
            assert_eq!(d.cwnd(), window, "limit {byte_counting}, {per_ack} segments an ACK, round {n}");
        }
    }
}

/// RFC 5681, section 3.1: one segment per RTT, half of that with delayed ACKs counted one by one.
#[test]
fn congestion_avoidance_adds_one_segment_per_rtt() {
    for window in [4.0, 10.0, 50.0] {
        for (byte_counting, per_ack, rounds) in [(0, 1, 6), (2, 2, 6), (0, 2, 12)] {
            let config = TcpConfig { initial_window: window, initial_ssthresh: window, byte_counting, ..tcp(Sack) };
            let mut d = Dialogue::sender(config);
            for n in 0..rounds {
                d.round(0.2 + 0.1 * f64::from(n), per_ack);
            }
            assert!((d.cwnd() - window - 6.0).abs() <= 1.0, "from {window}, {per_ack} segments an ACK: {}", d.cwnd());
        }
    }
}

/// RFC 5681, section 3.1: slow start ends at ssthresh, and the rest of the round counts towards the
/// next segment.
#[test]
fn slow_start_ends_at_ssthresh() {
    let mut d = Dialogue::sender(TcpConfig { initial_ssthresh: 16.0, ..tcp(Sack) });
    for (at, window) in [(0.2, 16.0), (0.3, 17.0), (0.4, 18.0)] {
        d.round(at, 1);
        d.window_is(window, 16.0);
    }
}

/// RFC 7661, section 3: an unused window does not grow.
#[test]
fn window_does_not_grow_when_application_limited() {
    let mut d = Dialogue::sender_with(tcp(Sack), BulkSource::new(15_000, Time::NEVER), 65_535);
    d.round(0.2, 1);
    // Three ACKs release the last five segments.
    assert_eq!(d.cwnd(), 13.0);
    let mut d = Dialogue::sender_with(tcp(Sack), BulkSource::new(u64::MAX, Time::NEVER), 10_000);
    d.round(0.2, 1);
    assert_eq!(d.cwnd(), 10.0);
}

/// RFC 9438, section 4.2: after a loss at 100 segments the window follows 0.4*(t - K)^3 + 100 with
/// K = cbrt(30/0.4).
#[test]
fn cubic_follows_its_curve_through_w_max() {
    let config = TcpConfig { variant: Variant::Cubic, initial_window: 100.0, byte_counting: 2, ..tcp(Sack) };
    let mut d = Dialogue::sender(config);
    d.window = 10_000_000;
    // The SYN's window allows 65 segments, the next ACK the rest.
    d.at(0.15).ack(1);
    d.at(0.2).sack(1, &[1001..100_001]);
    d.window_is(70.0, 70.0);
    let begin = 0.3;
    let k = (30.0_f64 / 0.4).cbrt();
    // Later a Reno flow is faster (section 4.3).
    for n in 0..55 {
        let t = 0.1 * f64::from(n);
        d.round(begin + t, 1);
        // The first round ends the recovery; the curve starts at the first ACK after it.
        if n > 0 {
            let curve = 0.4 * (t - k).powi(3) + 100.0;
            assert!((d.cwnd() / curve - 1.0).abs() < 0.02, "after {t:.1} s {} and not {curve}", d.cwnd());
        }
    }
    assert!(d.cwnd() > 100.0);
}
