//! The recovery of ns-2's Agent/TCP/Linux, where it differs from Linux 2.6's (`rate_halving.rs`). The
//! windows and sends are those of ns-2.35 with the same segments lost.

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::{RateHalving, TcpLinux};
use ackclock_core::tcp::{RecoveryKind, TcpConfig, Variant};

/// Twenty segments in flight.
fn with_twenty(recovery: RecoveryKind, variant: Variant) -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { variant, initial_window: 20.0, ..tcp(recovery) });
    d.expects_new(0.1, 1..20_001);
    d
}

/// The first segment is lost and four are SACKed.
fn in_recovery() -> Dialogue {
    let mut d = with_twenty(TcpLinux, Variant::Reno);
    for n in 2..=4 {
        d.at(0.2).sack(1, &[1001..n * 1000 + 1]);
    }
    d.expects_new(0.2, 20_001..23_001);
    d.at(0.2).sack(1, &[1001..5001]);
    d.expects(0.2).retransmitted(1..1001);
    d
}

#[test]
fn tcp_linux_sends_one_segment_per_two_acks() {
    let mut d = in_recovery();
    let mut next = 23_001;
    for n in 6..=21 {
        d.at(0.21).sack(1, &[1001..n * 1000 + 1]);
        if n % 2 == 1 {
            d.expects(0.21).data(next..next + 1000);
            next += 1000;
        }
        d.sends_nothing_until(0.21);
    }
}

#[test]
fn tcp_linux_ends_at_ssthresh_without_a_burst() {
    let mut d = in_recovery();
    d.at(0.3).ack(23_001);
    d.window_is(3.0, 10.0);
    d.expects_new(0.3, 23_001..26_001);
    d.sends_nothing_until(0.3);
}

/// BIC has no `min_cwnd`: the flight stays at its ssthresh where the marks of nine losses leave ten in
/// flight. The kernel's window is one above the flight.
#[test]
fn flight_keeps_the_floor_when_a_burst_is_lost() {
    for (recovery, retransmitted) in [(TcpLinux, 5), (RateHalving, 1)] {
        let mut d = with_twenty(recovery, Variant::Bic);
        d.at(0.2).sack(1, &[12_001..13_001]);
        for n in 0..retransmitted {
            d.expects(0.2).retransmitted(n * 1000 + 1..n * 1000 + 1001);
        }
        d.sends_nothing_until(0.2);
    }
}

/// enter_loss() halves whatever the state.
#[test]
fn timeout_in_a_recovery_of_tcp_linux_reduces_again() {
    let mut d = in_recovery();
    d.expects(0.4).retransmitted(1..1001);
    let stats = d.endpoint.sender_stats(time(0.4));
    assert_eq!((stats.timeouts, stats.window_cuts), (1, 2));
}
