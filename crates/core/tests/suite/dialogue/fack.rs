//! Forward acknowledgement (Mathis and Mahdavi 1996).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::Fack;
use ackclock_core::tcp::TcpConfig;

fn twenty() -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, ..tcp(Fack) });
    d.expects_new(0.1, 1..20_001);
    d
}

/// Section 4.1: one ACK whose SACK is more than three segments ahead suffices.
#[test]
fn forward_ack_over_three_segments_ahead_starts_a_recovery() {
    let mut d = twenty();
    d.at(0.2).sack(1, &[3001..4001]);
    d.expects(0.2).retransmitted(1..1001);
    d.window_is(10.0, 10.0);
}

/// Section 4.1: three segments may be reordering. Section 3: awnd falls by the segments below the
/// forward ACK.
#[test]
fn forward_ack_three_segments_ahead_starts_no_recovery() {
    let mut d = twenty();
    d.at(0.2).sack(1, &[2001..3001]);
    d.expects_new(0.2, 20_001..23_001);
    d.sends_nothing_until(0.2);
    d.window_is(20.0, f64::INFINITY);
}

/// Section 3: awnd = snd.nxt - snd.fack + retran_data; free room is used for holes first.
#[test]
fn every_hole_below_the_forward_ack_is_retransmitted() {
    let mut d = twenty();
    // Segments 1, 3 and 5 are lost; the forward ACK is 14 ahead, so six are in flight, and four
    // more fill the window of ten.
    d.at(0.2).sack(1, &[1001..2001, 3001..4001, 5001..14_001]);
    d.expects(0.2).retransmitted(1..1001);
    d.expects(0.2).retransmitted(2001..3001);
    d.expects(0.2).retransmitted(4001..5001);
    d.expects(0.2).data(20_001..21_001);
    d.sends_nothing_until(0.25);
    d.at(0.3).ack(20_001);
    d.window_is(10.0, 10.0);
}

/// Section 4.3: losses of segments sent before the reduction cause no second one.
#[test]
fn losses_of_a_window_reduce_it_once() {
    let mut d = twenty();
    d.at(0.2).sack(1, &[4001..5001]);
    d.expects(0.2).retransmitted(1..1001);
    d.at(0.25).sack(1, &[4001..5001, 10_001..20_001]);
    d.at(0.3).sack(1001, &[4001..5001, 10_001..20_001]);
    assert_eq!(d.endpoint.sender_stats(time(0.3)).window_cuts, 1);
    d.window_is(10.0, 10.0);
}
