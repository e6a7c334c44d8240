//! Fast retransmit and fast recovery by duplicate ACKs alone: Reno (RFC 5681, section 3.2) and
//! NewReno (RFC 6582).

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::tcp::RecoveryKind::{self, Classic, NewReno};
use ackclock_core::tcp::{NewRenoExit, TcpConfig};
use ackclock_core::units::Time;

/// Ten segments in flight, the first (and others by the test) lost, three duplicate ACKs at 0.2.
fn in_recovery(config: TcpConfig) -> Dialogue {
    let mut d = Dialogue::sender(config);
    d.expects_new(0.1, 1..10_001);
    d.at(0.2).acks(1, 2);
    d.sends_nothing_until(0.2);
    d.at(0.2).ack(1);
    d.expects(0.2).retransmitted(1..1001);
    d.window_is(5.0, 5.0);
    d
}

fn plain(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig { limited_transmit: false, ..tcp(recovery) }
}

/// RFC 5681, section 3.2, steps 2 to 6: half of FlightSize; each further duplicate inflates by one.
#[test]
fn third_duplicate_ack_retransmits_and_later_ones_release_new_segments() {
    for recovery in [Classic, NewReno] {
        let mut d = in_recovery(plain(recovery));
        // 5 + 3, then 9 and 10: ten in flight. The sixth duplicate makes room for the eleventh
        // segment.
        d.at(0.21).acks(1, 2);
        d.sends_nothing_until(0.21);
        d.at(0.22).acks(1, 4);
        d.expects_new(0.22, 10_001..14_001);
        d.sends_nothing_until(0.29);
        // A full ACK deflates: four in flight, so one is sent.
        d.at(0.3).ack(10_001);
        d.expects(0.3).data(14_001..15_001);
        d.sends_nothing_until(0.3);
        d.window_is(5.0, 5.0);
    }
}

/// RFC 3042, and RFC 5681, section 3.2, step 2: its segments do not count in FlightSize.
#[test]
fn limited_transmit_sends_new_data_on_the_first_two_duplicates() {
    for recovery in [Classic, NewReno] {
        let mut d = Dialogue::sender(TcpConfig { limited_transmit: true, ..tcp(recovery) });
        d.expects_new(0.1, 1..10_001);
        d.at(0.2).ack(1);
        d.expects(0.2).data(10_001..11_001);
        d.at(0.21).ack(1);
        d.expects(0.21).data(11_001..12_001);
        d.window_is(10.0, f64::INFINITY);
        d.at(0.22).ack(1);
        d.expects(0.22).retransmitted(1..1001);
        d.window_is(5.0, 5.0);
    }
}

/// RFC 5681, section 2: a duplicate ACK has no payload and the same window.
#[test]
fn ack_that_changes_the_window_is_no_duplicate() {
    let mut d = Dialogue::sender(plain(NewReno));
    d.expects_new(0.1, 1..10_001);
    for window in [900_000, 800_000, 700_000, 600_000] {
        d.at(0.2).ack_with_window(1, window);
    }
    d.sends_nothing_until(0.3);
}

/// RFC 5681, section 3.2, step 6, without RFC 6582: the second loss of a window waits for the RTO.
#[test]
fn reno_leaves_recovery_at_the_first_new_ack() {
    let mut d = in_recovery(plain(Classic));
    d.at(0.22).acks(1, 5);
    d.expects_new(0.22, 10_001..13_001);
    d.at(0.3).ack(5001);
    d.window_is(5.0, 5.0);
    d.sends_nothing_until(0.3);
    d.at(0.31).acks(5001, 4);
    d.sends_nothing_until(0.5);
    // Without a sample since the handshake the RTO is 300 ms from the last new ACK.
    d.expects(0.6).retransmitted(5001..6001);
}

/// RFC 6582, section 3.2, step 3, partial acknowledgments.
#[test]
fn newreno_retransmits_on_partial_acks_and_leaves_at_the_full_ack() {
    let mut d = in_recovery(plain(NewReno));
    // Segments 1, 6 and 8 of ten are lost: seven duplicates release one new segment.
    d.at(0.21).acks(1, 4);
    d.expects_new(0.21, 10_001..12_001);
    d.at(0.3).ack(5001);
    d.expects(0.3).retransmitted(5001..6001);
    // 5 + 7 duplicates, less 5 and plus 1, is 8 for seven in flight: one more.
    d.expects(0.3).data(12_001..13_001);
    d.sends_nothing_until(0.31);
    d.at(0.4).ack(7001);
    d.expects(0.4).retransmitted(7001..8001);
    d.expects(0.4).data(13_001..14_001);
    assert_eq!(d.endpoint.sender_stats(time(0.4)).window_cuts, 1);
    d.at(0.5).ack(12_001);
    d.window_is(5.0, 5.0);
    d.expects_new(0.5, 14_001..17_001);
    d.sends_nothing_until(0.5);
}

/// RFC 6582, section 3.2, step 3, full acknowledgments: both options.
#[test]
fn newreno_exit_window_is_ssthresh_or_flight_plus_one() {
    for (newreno_exit, cwnd) in [(NewRenoExit::Threshold, 5.0), (NewRenoExit::Flight, 2.0)] {
        let mut d = in_recovery(TcpConfig { newreno_exit, ..plain(NewReno) });
        d.at(0.3).ack(10_001);
        assert_eq!(d.cwnd(), cwnd, "{newreno_exit:?}: nothing is in flight, and one segment is always allowed");
    }
}

/// RFC 6582, section 3.2, step 3: a partial ACK deflates by more than lost duplicates had inflated.
#[test]
fn partial_ack_after_lost_duplicates_releases_no_burst() {
    let mut d = in_recovery(plain(NewReno));
    d.at(0.3).ack(9001);
    d.expects(0.3).retransmitted(9001..10_001);
    // 5 + 3 - 9 + 1 is 0: with one in flight no new segment is sent.
    d.sends_nothing_until(0.31);
}

/// RFC 6582, section 4: the impatient variant.
#[test]
fn only_the_first_partial_ack_restarts_the_rto() {
    let mut d = in_recovery(plain(NewReno));
    d.at(0.3).ack(2001);
    d.expects(0.3).retransmitted(2001..3001);
    d.at(0.4).ack(3001);
    d.expects(0.4).retransmitted(3001..4001);
    d.at(0.5).ack(4001);
    d.expects(0.5).retransmitted(4001..5001);
    d.expects(0.5).data(10_001..11_001);
    d.expects(0.6).retransmitted(4001..5001);
    assert_eq!(d.endpoint.sender_stats(time(0.6)).timeouts, 1);
}

/// RFC 6582, section 3.2, step 1 and section 4.1: an ACK that covers at most "recover" starts no
/// recovery.
#[test]
fn first_segment_after_a_recovery_is_not_fast_retransmitted() {
    let mut d = in_recovery(plain(NewReno));
    d.at(0.22).acks(1, 6);
    d.expects_new(0.22, 10_001..14_001);
    d.at(0.3).ack(10_001);
    d.expects(0.3).data(14_001..15_001);
    d.at(0.32).acks(10_001, 3);
    d.sends_nothing_until(0.4);
}

/// A connection may end inside a recovery.
#[test]
fn transfer_that_ends_in_recovery_finishes() {
    for recovery in RecoveryKind::ALL {
        let mut d = Dialogue::sender_with(tcp(*recovery), BulkSource::new(10_000, Time::NEVER), 65_535);
        d.expects_new(0.1, 1..10_001);
        if d.endpoint.sample().flight_bytes == 10_001 && matches!(recovery, Classic | NewReno) {
            d.at(0.2).acks(1, 3);
        } else {
            d.at(0.2).sack(1, &[1001..10_002]);
        }
        d.expects(0.2).retransmitted(1..1001);
        d.at(0.3).ack(10_002);
        assert!(d.endpoint.finished());
        d.sends_nothing_until(100.0);
    }
}
