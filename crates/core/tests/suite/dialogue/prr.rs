//! Proportional rate reduction (RFC 9937).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::Prr;
use ackclock_core::tcp::{TcpConfig, Variant};

/// Twenty segments in flight, the first lost, three SACKed: a recovery from 20 to 10.
fn in_recovery(variant: Variant) -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { variant, initial_window: 20.0, ..tcp(Prr) });
    d.expects_new(0.1, 1..20_001);
    d.at(0.2).sack(1, &[1001..4001]);
    d.expects(0.2).retransmitted(1..1001);
    d
}

/// Section 6.2: CEIL(prr_delivered * ssthresh / RecoverFS) - prr_out; 3 * 10 / 20 is 2 at once,
/// then one per second delivery.
#[test]
fn prr_sends_in_proportion_to_deliveries() {
    let mut d = in_recovery(Variant::Reno);
    d.expects(0.2).data(20_001..21_001);
    let mut next = 21_001;
    for n in 4..=19 {
        d.at(0.21).sack(1, &[1001..n * 1000 + 1001]);
        // At 17 the pipe has reached the target; from there each delivery releases one segment.
        if (n < 17 && n % 2 == 1) || n > 17 {
            d.expects(0.21).data(next..next + 1000);
            next += 1000;
        }
        d.sends_nothing_until(0.21);
    }
    // 19 delivered, ten sent: the pipe is at the target.
    assert_eq!(next, 29_001);
    d.window_is(10.0, 10.0);
    d.at(0.3).ack(21_001);
    d.window_is(10.0, 10.0);
}

/// Section 6.2: the proportion is the variant's: CUBIC sends 14 of 20.
#[test]
fn prr_proportion_follows_the_variants_ssthresh() {
    let mut d = in_recovery(Variant::Cubic);
    // 3 * 14 / 20 is 2.1.
    d.expects_new(0.2, 20_001..22_001);
    d.at(0.21).sack(1, &[1001..20_001]);
    // The pipe is 3 with a target of 14; 19 delivered and 3 sent, so 11 fill it.
    d.expects_new(0.21, 22_001..33_001);
    d.sends_nothing_until(0.21);
}

/// Section 6.2, the conservative bound: with most of the window lost, at most the deliveries are
/// sent.
#[test]
fn prr_sends_at_most_the_deliveries_under_heavy_loss() {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, ..tcp(Prr) });
    d.expects_new(0.1, 1..20_001);
    // Segments 1 to 15 are lost.
    for n in 16..=17 {
        d.at(0.2).sack(1, &[15_001..n * 1000 + 1]);
        d.expects(0.2).data((n + 4) * 1000 + 1..(n + 5) * 1000 + 1);
    }
    d.at(0.2).sack(1, &[15_001..18_001]);
    d.expects(0.2).retransmitted(1..1001);
    d.sends_nothing_until(0.2);
    d.at(0.21).sack(1, &[15_001..19_001]);
    d.expects(0.21).retransmitted(1001..2001);
    d.sends_nothing_until(0.25);
}

/// Section 6.2, SafeACK: an ACK that advances without further loss grows the window like slow
/// start.
#[test]
fn prr_safe_ack_sends_one_segment_more() {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, ..tcp(Prr) });
    d.expects_new(0.1, 1..20_001);
    d.at(0.2).sack(1, &[15_001..18_001]);
    // RecoverFS 20, three delivered; the pipe of 2 is below 10, so three are sent.
    for n in 0..3 {
        d.expects(0.2).retransmitted(n * 1000 + 1..n * 1000 + 1001);
    }
    d.sends_nothing_until(0.29);
    d.at(0.3).sack(1001, &[15_001..18_001]);
    d.expects(0.3).retransmitted(3001..4001);
    d.expects(0.3).retransmitted(4001..5001);
    d.sends_nothing_until(0.3);
}
