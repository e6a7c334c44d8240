//! Linux 2.6: losses by FACK, and the window falls by one on every second ACK (Mathis, Semke and
//! Mahdavi 1999).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::RateHalving;
use ackclock_core::tcp::{TcpConfig, Variant};

/// Twenty segments in flight, the first lost, three SACKed, so two more sent.
fn in_recovery(variant: Variant) -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { variant, initial_window: 20.0, ..tcp(RateHalving) });
    d.expects_new(0.1, 1..20_001);
    d.at(0.2).sack(1, &[1001..2001]);
    d.at(0.2).sack(1, &[1001..3001]);
    d.expects_new(0.2, 20_001..22_001);
    d.at(0.2).sack(1, &[1001..4001]);
    d.expects(0.2).retransmitted(1..1001);
    d
}

#[test]
fn rate_halving_sends_one_segment_per_two_acks() {
    let mut d = in_recovery(Variant::Reno);
    d.window_is(19.0, 10.0);
    let mut next = 22_001;
    for n in 4..=21 {
        d.at(0.21).sack(1, &[1001..n * 1000 + 1001]);
        if n % 2 == 1 {
            d.expects(0.21).data(next..next + 1000);
            next += 1000;
        }
        d.sends_nothing_until(0.21);
    }
    // 19, less one for every second of 18 ACKs.
    d.window_is(10.0, 10.0);
    d.at(0.3).ack(22_001);
    d.window_is(10.0, 10.0);
}

/// tcp_complete_cwr: at most ssthresh, less after many ACKs; tcp_moderate_cwnd: at most three above
/// the flight.
#[test]
fn rate_halving_ends_at_ssthresh_without_a_burst() {
    let mut d = in_recovery(Variant::Reno);
    d.at(0.3).ack(22_001);
    d.window_is(3.0, 10.0);
    d.expects_new(0.3, 22_001..25_001);
    d.sends_nothing_until(0.3);
}

/// Mathis and Mahdavi 1996: every segment at least three below the forward-most SACK is lost.
#[test]
fn sack_far_ahead_marks_all_holes_below_lost() {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, ..tcp(RateHalving) });
    d.expects_new(0.1, 1..20_001);
    d.at(0.2).sack(1, &[10_001..11_001]);
    // 20 sent, 1 SACKed, 8 lost: 11 in flight, and the window is at most one above.
    d.expects(0.2).retransmitted(1..1001);
    d.sends_nothing_until(0.2);
    d.window_is(12.0, 10.0);
}

/// Data sent after a retransmission was delivered, so the retransmission is lost.
#[test]
fn lost_retransmission_is_repaired_without_a_timeout() {
    let mut d = in_recovery(Variant::Reno);
    d.at(0.21).sack(1, &[1001..5001]);
    d.at(0.21).sack(1, &[1001..6001]);
    d.expects(0.21).data(22_001..23_001);
    d.at(0.30).sack(1, &[1001..22_001]);
    d.expects(0.30).data(23_001..24_001);
    d.at(0.31).sack(1, &[1001..23_001]);
    d.expects(0.31).retransmitted(1..1001);
    assert_eq!(d.endpoint.sender_stats(time(0.31)).timeouts, 0);
}

/// tcp_enter_loss: ssthresh is set once for the losses of a window.
#[test]
fn timeout_in_a_recovery_keeps_ssthresh() {
    let mut d = in_recovery(Variant::Reno);
    d.expects(0.4).retransmitted(1..1001);
    d.window_is(1.0, 10.0);
    let stats = d.endpoint.sender_stats(time(0.4));
    assert_eq!((stats.timeouts, stats.window_cuts), (1, 1));
}

/// tcp_cwnd_min: Reno's window may fall to half of ssthresh, CUBIC's to ssthresh.
#[test]
fn cubic_window_stays_at_or_above_its_ssthresh() {
    let mut d = in_recovery(Variant::Cubic);
    for n in 4..=21 {
        d.at(0.21).sack(1, &[1001..n * 1000 + 1001]);
    }
    d.window_is(14.0, 14.0);
}
