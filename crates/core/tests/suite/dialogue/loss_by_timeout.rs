//! An RTO's effect on window and transmission (RFC 5681, section 3.1; RFC 6298, section 5).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::{self, Classic, NewReno, Sack};
use ackclock_core::tcp::TcpConfig;

/// RFC 5681, section 3.1: equation (4), the loss window, and slow start over the previous flight.
#[test]
fn timeout_starts_go_back_n_from_one_segment() {
    for recovery in [Classic, NewReno, Sack] {
        let mut d = Dialogue::sender(tcp(recovery));
        d.expects_new(0.1, 1..10_001);
        d.expects(0.4).retransmitted(1..1001);
        d.window_is(1.0, 5.0);
        d.at(0.5).ack(1001);
        d.expects(0.5).retransmitted(1001..2001);
        d.expects(0.5).retransmitted(2001..3001);
        d.window_is(2.0, 5.0);
        d.at(0.6).ack(2001);
        d.at(0.6).ack(3001);
        for n in 3..7 {
            d.expects(0.6).retransmitted(n * 1000 + 1..n * 1000 + 1001);
        }
        d.window_is(4.0, 5.0);
        d.sends_nothing_until(0.7);
    }
}

/// RFC 5681, section 3.1: "ssthresh is held constant" when a segment times out again.
#[test]
fn second_timeout_of_a_segment_keeps_ssthresh() {
    let mut d = Dialogue::sender(tcp(NewReno));
    d.expects_new(0.1, 1..10_001);
    for at in [0.4, 1.0, 2.2] {
        d.expects(at).retransmitted(1..1001);
        d.window_is(1.0, 5.0);
    }
    let stats = d.endpoint.sender_stats(time(2.2));
    assert_eq!((stats.timeouts, stats.window_cuts), (3, 1));
}

/// RFC 5681, equation (4): another segment's RTO reduces ssthresh again, by its FlightSize.
#[test]
fn timeout_after_progress_reduces_ssthresh_again() {
    let mut d = Dialogue::sender(tcp(NewReno));
    d.expects_new(0.1, 1..10_001);
    d.expects(0.4).retransmitted(1..1001);
    d.at(0.5).ack(1001);
    d.expects(0.5).retransmitted(1001..2001);
    d.expects(0.5).retransmitted(2001..3001);
    d.expects(1.1).retransmitted(1001..2001);
    d.window_is(1.0, 2.0);
}

/// A receive window that is full of lost data limits new data, not the retransmissions.
#[test]
fn slow_start_after_a_timeout_grows_with_a_full_receive_window() {
    let mut d =
        Dialogue::sender_with(tcp(NewReno), ackclock_core::app::BulkSource::new(u64::MAX, ackclock_core::Time::NEVER), 10_000);
    d.expects_new(0.1, 1..10_001);
    d.expects(0.4).retransmitted(1..1001);
    d.at(0.5).ack(1001);
    d.expects(0.5).retransmitted(1001..2001);
    d.expects(0.5).retransmitted(2001..3001);
    d.window_is(2.0, 5.0);
}

/// RFC 3465, section 2.3, and RFC 5681, section 3.1: an ACK after a retransmission may cover
/// segments that arrived before.
#[test]
fn ack_earns_one_segment_after_a_timeout() {
    for byte_counting in [1, 2, 65_535] {
        let mut d = Dialogue::sender(TcpConfig { byte_counting, ..tcp(NewReno) });
        d.expects_new(0.1, 1..10_001);
        d.expects(0.4).retransmitted(1..1001);
        d.at(0.5).ack(6001);
        d.expects(0.5).retransmitted(6001..7001);
        d.expects(0.5).retransmitted(7001..8001);
        d.window_is(2.0, 5.0);
    }
}

/// RFC 6582, section 4: duplicates caused by unnecessary retransmissions start no fast retransmit.
#[test]
fn duplicate_acks_after_a_timeout_start_no_fast_retransmit() {
    for recovery in [Classic, NewReno] {
        let mut d = Dialogue::sender(TcpConfig { limited_transmit: false, ..tcp(recovery) });
        d.expects_new(0.1, 1..10_001);
        d.expects(0.4).retransmitted(1..1001);
        // The originals were only delayed.
        d.at(0.5).ack(10_001);
        d.expects_new(0.5, 10_001..12_001);
        d.at(0.6).acks(10_001, 5);
        d.sends_nothing_until(0.6);
        assert_eq!(d.endpoint.sender_stats(time(0.6)).fast_retransmits, 0);
    }
}

/// RFC 6675, section 5.1: SACKed segments stay SACKed, all others are retransmitted; no recovery
/// starts before all are acknowledged.
#[test]
fn timeout_retransmits_only_unsacked_segments() {
    let mut d = Dialogue::sender(tcp(Sack));
    d.expects_new(0.1, 1..10_001);
    d.at(0.2).sack(1, &[1001..3001]);
    d.expects(0.2).data(10_001..11_001);
    d.expects(0.2).data(11_001..12_001);
    d.expects(0.4).retransmitted(1..1001);
    d.window_is(1.0, 5.0);
    d.at(0.5).ack(3001);
    d.expects(0.5).retransmitted(3001..4001);
    d.expects(0.5).retransmitted(4001..5001);
    // Late SACKs of originals must not retransmit segments in flight once more.
    d.at(0.51).sack(3001, &[5001..9001]);
    let stats = d.endpoint.sender_stats(time(0.51));
    assert_eq!((stats.fast_retransmits, stats.window_cuts), (0, 1));
    d.sends_nothing_until(0.51);
    d.at(0.6).sack(5001, &[5001..9001]);
}

/// RFC 6298, (5.4): an RTO in a recovery ends it.
#[test]
fn timeout_in_a_recovery_ends_it_and_leaves_one_segment() {
    for recovery in [RecoveryKind::Classic, NewReno, Sack] {
        let mut d = Dialogue::sender(tcp(recovery));
        d.expects_new(0.1, 1..10_001);
        if recovery == Sack {
            d.at(0.2).sack(1, &[1001..4001]);
        } else {
            d.at(0.2).acks(1, 3);
        }
        d.expects(0.2).retransmitted(1..1001);
        d.expects(0.4).retransmitted(1..1001);
        assert_eq!(d.cwnd(), 1.0);
        let stats = d.endpoint.sender_stats(time(0.4));
        assert_eq!((stats.fast_retransmits, stats.timeouts, stats.window_cuts), (1, 1, 2));
        d.at(0.5).ack(10_001);
        assert_eq!(d.cwnd(), 2.0);
    }
}
