//! Proportional rate reduction (RFC 9937, section 6.2).

use crate::dialogue::script::*;
use ackclock_core::tcp::RecoveryKind::{Linux, Prr};
use ackclock_core::tcp::{TcpConfig, Variant};

/// Of twenty segments the first twelve are lost, and three SACKs arrive: far fewer are in flight than
/// ssthresh, ten.
fn many_lost() -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, ..tcp(Prr) });
    d.expects_new(0.1, 1..20_001);
    for end in [13_001, 14_001, 15_001] {
        d.at(0.2).sack(1, &[12_001..end]);
    }
    d.run_until(0.21);
    d
}

/// SafeACK: an ACK that advances and detects no loss releases one segment more than was delivered, as in slow
/// start. A SACK releases what it delivers.
#[test]
fn prr_sends_one_segment_more_when_the_ack_advances_without_further_loss() {
    let mut by_sack = many_lost();
    by_sack.at(0.22).sack(1, &[12_001..16_001]);
    assert_eq!(by_sack.all_sent().len(), 1);
    let mut by_partial_ack = many_lost();
    by_partial_ack.at(0.3).sack(1001, &[12_001..15_001]);
    assert_eq!(by_partial_ack.all_sent().len(), 2);
}

/// Section 6.2: prr_out is CEIL(prr_delivered * ssthresh / RecoverFS) while more than ssthresh is in flight.
/// DeliveredData of section 6 counts a segment once: what SACK reported is not delivered again by the ACK number.
/// Of twenty segments the first and the fourteenth are lost; two SACKs release new data before the third.
#[test]
fn prr_sends_in_proportion_to_the_segments_delivered() {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, ..tcp(Prr) });
    d.expects_new(0.1, 1..20_001);
    d.at(0.2).sack(1, &[1001..2001]);
    d.at(0.2).sack(1, &[1001..3001]);
    d.expects_new(0.2, 20_001..22_001);
    let mut sent = 0;
    for delivered in 1..=10 {
        d.at(0.2).sack(1, &[1001..(delivered + 3) * SEGMENT + 1]);
        sent += d.all_sent().len() as u64;
        assert_eq!(sent, (delivered * 10).div_ceil(20), "{delivered} delivered");
    }
    d.at(0.3).ack(13_001);
    assert_eq!(sent + d.all_sent().len() as u64, 6);
}

/// ACKs of two segments at 0.2 and 10 us later let `variant` estimate 200,000 segments per second. The sixth
/// segment is lost and acknowledged with all others at 0.4. The window before the recovery, the highest in it, and
/// the one after it without the segments that its last ACK delivered.
fn windows_of_a_recovery(variant: Variant) -> (f64, f64, f64) {
    let mut d = Dialogue::sender(TcpConfig { variant, ..tcp(Linux) });
    d.expects_new(0.1, 1..10_001);
    d.at(0.2).ack(2001);
    d.at(0.20001).ack(4001);
    d.at(0.3).ack(5001);
    let before = d.cwnd();
    let mut highest = 0.0_f64;
    for segment in 7..=20 {
        d.at(0.3 + segment as f64 / 1000.0).sack(5001, &[6001..segment * SEGMENT + 1]);
        highest = highest.max(d.cwnd());
    }
    let end = d.all_sent().iter().map(|segment| segment.seq).max().unwrap_or(0) + SEGMENT;
    d.at(0.4).ack(end);
    (before, highest, d.cwnd() - ((end - 20_001) / SEGMENT + 1) as f64)
}

/// The kernel takes the window to which a reduction leads from `ssthresh()` of the congestion control. That of
/// BIAD and Westwood is never above the window before, whatever their estimate of the BDP.
#[test]
fn reduction_of_linux_keeps_the_window_when_the_estimated_bdp_is_above_it() {
    for variant in [Variant::Biad, Variant::Westwood] {
        let (before, highest, after) = windows_of_a_recovery(variant);
        assert!(highest <= before && after <= before, "{variant:?}: {before}, {highest} and {after}");
    }
    let (before, highest, after) = windows_of_a_recovery(Variant::Reno);
    assert!(highest <= before && after <= before / 2.0, "{before}, {highest} and {after}");
}
