//! Recovery by SACK (RFC 6675).

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::packet::SynOptions;
use ackclock_core::tcp::RecoveryKind::Sack;
use ackclock_core::tcp::TcpConfig;
use ackclock_core::units::Time;

/// Twenty segments in flight.
fn twenty() -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, ..tcp(Sack) });
    d.expects_new(0.1, 1..20_001);
    d
}

/// RFC 6675, section 5, step 4, and NextSeg: three SACKed segments above a hole make it lost; the
/// pipe falls to the new window.
#[test]
fn three_sacked_segments_start_a_recovery_limited_by_the_pipe() {
    let mut d = twenty();
    d.at(0.20).sack(1, &[1001..2001]);
    d.expects(0.20).data(20_001..21_001);
    d.at(0.21).sack(1, &[1001..3001]);
    d.expects(0.21).data(21_001..22_001);
    d.at(0.22).sack(1, &[1001..4001]);
    d.expects(0.22).retransmitted(1..1001);
    // 22 sent, 3 SACKed, 1 lost, 1 retransmitted: a pipe of 19 for a window of 10 (limited transmit
    // does not count).
    d.window_is(10.0, 10.0);
    for n in 5..=13 {
        d.at(0.23).sack(1, &[1001..n * 1000 + 1]);
    }
    d.sends_nothing_until(0.24);
    d.at(0.25).sack(1, &[1001..14_001]);
    d.expects(0.25).data(22_001..23_001);
    d.at(0.3).ack(22_001);
    d.window_is(10.0, 10.0);
    d.expects_new(0.3, 23_001..32_001);
}

/// RFC 6675, section 5: (2) IsLost alone suffices, even with a single ACK.
#[test]
fn one_ack_with_three_sacked_segments_starts_a_recovery() {
    let mut d = twenty();
    d.at(0.2).sack(1, &[1001..4001]);
    d.expects(0.2).retransmitted(1..1001);
    d.window_is(10.0, 10.0);
}

/// RFC 6675, section 2: new SACK information counts in any ACK.
#[test]
fn advancing_ack_may_start_a_recovery() {
    let mut d = twenty();
    d.at(0.2).sack(1001, &[2001..5001]);
    d.expects(0.2).retransmitted(1001..2001);
    assert_eq!(d.endpoint.sender_stats(time(0.2)).fast_retransmits, 1);
}

/// RFC 6675, NextSeg rule 1: every hole is retransmitted once in the first RTT, as far as the pipe
/// allows.
#[test]
fn several_holes_are_repaired_in_one_rtt() {
    let mut d = twenty();
    // Segments 1, 3 and 5 are lost.
    d.at(0.2).sack(1, &[1001..2001, 3001..4001, 5001..20_001]);
    d.expects(0.2).retransmitted(1..1001);
    d.expects(0.2).retransmitted(2001..3001);
    d.expects(0.2).retransmitted(4001..5001);
    // A pipe of three: seven new segments fill the window of ten.
    d.expects_new(0.2, 20_001..27_001);
    d.sends_nothing_until(0.29);
    d.at(0.3).sack(2001, &[3001..4001, 5001..20_001]);
    d.expects(0.3).data(27_001..28_001);
    d.sends_nothing_until(0.31);
}

/// RFC 6675 does not detect lost retransmissions: the RTO does.
#[test]
fn lost_retransmission_waits_for_the_rto() {
    let mut d = twenty();
    d.at(0.2).sack(1, &[1001..20_001]);
    d.expects(0.2).retransmitted(1..1001);
    d.expects_new(0.2, 20_001..29_001);
    d.at(0.3).sack(1, &[1001..29_001]);
    d.expects_new(0.3, 29_001..38_001);
    d.sends_nothing_until(0.39);
    d.expects(0.4).retransmitted(1..1001);
}

/// RFC 6675, section 5, step 4.1 and section 5.1: losses above RecoveryPoint belong to another
/// window.
#[test]
fn loss_above_the_recovery_point_reduces_the_window_again() {
    let mut d = twenty();
    d.at(0.2).sack(1, &[1001..20_001]);
    d.expects(0.2).retransmitted(1..1001);
    d.expects_new(0.2, 20_001..29_001);
    d.at(0.3).ack(20_001);
    d.expects(0.3).data(29_001..30_001);
    d.at(0.31).sack(20_001, &[21_001..24_001]);
    d.expects(0.31).retransmitted(20_001..21_001);
    assert_eq!(d.endpoint.sender_stats(time(0.31)).window_cuts, 2);
    d.window_is(5.0, 5.0);
}

/// RFC 6675, NextSeg rule 4: without new data the last segment is retransmitted once.
#[test]
fn end_of_a_transfer_is_rescued() {
    let config = TcpConfig { initial_window: 20.0, ..tcp(Sack) };
    let mut d = Dialogue::sender_with(config, BulkSource::new(20_000, Time::NEVER), 65_535);
    d.expects_new(0.1, 1..20_001);
    // The first and the last segment are lost.
    d.at(0.2).sack(1, &[1001..19_001]);
    d.expects(0.2).retransmitted(1..1001);
    d.expects(0.2).retransmitted(19_001..20_001).fin();
    d.sends_nothing_until(0.29);
    d.at(0.3).ack(20_002);
    assert!(d.endpoint.finished());
}

/// RFC 6675, section 1: without SACK NewReno replaces it.
#[test]
fn newreno_is_used_when_the_peer_has_no_sack() {
    let mut d = Dialogue::client(TcpConfig { limited_transmit: false, ..tcp(Sack) });
    d.expects(0.0).syn();
    d.at(0.1).syn_with(true, Some(SynOptions { sack_permitted: false, ..OPTIONS }), None);
    d.expects_new(0.1, 1..10_001);
    d.at(0.2).acks(1, 3);
    d.expects(0.2).retransmitted(1..1001);
    d.at(0.3).ack(4001);
    d.expects(0.3).retransmitted(4001..5001);
}

/// RFC 2018, section 8, and RFC 2883: old and invalid blocks have no effect.
#[test]
fn sack_blocks_of_old_or_unsent_data_are_ignored() {
    let mut d = twenty();
    d.at(0.2).ack(5001);
    d.expects_new(0.2, 20_001..26_001);
    d.at(0.2).sack(5001, &[1..1001, 500_001..900_001]);
    d.at(0.2).sack(5001, &[4_294_000_000..4_294_001_000]);
    d.sends_nothing_until(0.21);
    d.window_is(21.0, f64::INFINITY);
}
