//! D-SACK (RFC 2883), and undo of spurious reductions (RFC 3708, RFC 3522, RFC 4015).

use crate::dialogue::script::*;
use ackclock_core::packet::{Flags, Segment, Timestamps};
use ackclock_core::tcp::RecoveryKind::{self, Sack};
use ackclock_core::tcp::{FrtoKind, TcpConfig};

fn twenty(recovery: RecoveryKind) -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { initial_window: 20.0, undo: true, ..tcp(recovery) });
    d.expects_new(0.1, 1..20_001);
    d
}

/// RFC 2883, section 4.1: below the ACK; reported once.
#[test]
fn dsack_block_comes_first() {
    let mut d = Dialogue::receiver(TcpConfig { dsack: true, ..tcp(Sack) }, None);
    d.at(0.2).data(1..1001);
    d.expects(0.2).ack(1001);
    d.at(0.21).data(1..1001);
    d.expects(0.21).ack(1001).sacks(&[1..1001]);
    d.at(0.22).data(2001..3001);
    d.expects(0.22).ack(1001).sacks(&[2001..3001]);
}

/// RFC 2883, section 4.2: above the ACK, before the block that contains it.
#[test]
fn dsack_of_out_of_order_data_precedes_its_block() {
    let mut d = Dialogue::receiver(TcpConfig { dsack: true, ..tcp(Sack) }, None);
    d.at(0.2).data(1001..2001);
    d.at(0.2).data(2001..3001);
    d.expects(0.2).ack(1).sacks(&[1001..2001]);
    d.expects(0.2).ack(1).sacks(&[1001..3001]);
    d.at(0.21).data(2001..3001);
    d.expects(0.21).ack(1).sacks(&[2001..3001, 1001..3001]);
}

/// RFC 3708: every retransmission was a duplicate, so window and ssthresh are restored, with any
/// recovery.
#[test]
fn undo_follows_when_every_retransmission_is_dsacked() {
    for recovery in RecoveryKind::ALL.iter().copied().filter(|r| r.uses_sack()) {
        let mut d = twenty(recovery);
        d.at(0.2).sack(1, &[1001..4001]);
        d.at(0.201).sack(4001, &[1..1001]);
        assert!(d.cwnd() >= 17.0, "{recovery:?} {}", d.cwnd());
        assert_eq!(d.endpoint.sample().ssthresh_bytes, f64::INFINITY, "{recovery:?}");
    }
}

/// RFC 3708: one retransmission that was needed keeps the reduction.
#[test]
fn no_undo_while_a_retransmission_is_not_dsacked() {
    let mut d = twenty(Sack);
    d.at(0.2).sack(1, &[1001..2001, 3001..7001]);
    d.expects(0.2).retransmitted(1..1001);
    d.at(0.21).sack(1, &[1001..2001, 3001..20_001]);
    d.expects(0.21).retransmitted(2001..3001);
    d.at(0.3).sack(20_001, &[1..1001]);
    d.window_is(10.0, 10.0);
}

/// RFC 3522, section 3.2: the echo precedes the retransmission, so the RTO was spurious.
#[test]
fn timeout_is_undone_when_the_echo_precedes_the_retransmission() {
    for (echo, spurious) in [(100, true), (401, false)] {
        let mut d = Dialogue::client(TcpConfig { eifel: true, timestamps: true, ..tcp(Sack) });
        let timestamps = |echo| Some(Timestamps { value: 5, echo });
        d.expects(0.0).syn();
        d.at(0.1).syn_with(true, Some(OPTIONS), timestamps(0));
        d.expects_new(0.1, 1..10_001);
        d.expects(0.4).retransmitted(1..1001);
        d.at(0.45).segment(Segment {
            seq: 1,
            ack: 1001,
            window: 65_535,
            flags: Flags::ACK,
            timestamps: timestamps(echo),
            ..Segment::default()
        });
        let restored = d.cwnd() >= 10.0 && d.endpoint.sample().ssthresh_bytes.is_infinite();
        assert_eq!(restored, spurious, "echo {echo}: {}", d.cwnd());
    }
}

/// Each key undoes by its own evidence only.
#[test]
fn old_echo_is_ignored_without_eifel() {
    let mut d = Dialogue::client(TcpConfig { undo: true, timestamps: true, ..tcp(Sack) });
    let timestamps = |echo| Some(Timestamps { value: 5, echo });
    d.expects(0.0).syn();
    d.at(0.1).syn_with(true, Some(OPTIONS), timestamps(0));
    d.expects_new(0.1, 1..10_001);
    d.expects(0.4).retransmitted(1..1001);
    d.at(0.45).segment(Segment {
        seq: 1,
        ack: 1001,
        window: 65_535,
        flags: Flags::ACK,
        timestamps: timestamps(100),
        ..Segment::default()
    });
    assert_eq!(d.cwnd(), 2.0);
}

/// Ten segments were sent at 0.1, and at 0.4 the first is retransmitted: the RTO is 300 ms.
fn timed_out(frto: FrtoKind, recovery: RecoveryKind) -> Dialogue {
    let mut d = Dialogue::sender(TcpConfig { frto, ..tcp(recovery) });
    d.expects_new(0.1, 1..10_001);
    d.expects(0.4).retransmitted(1..1001);
    d
}

/// RFC 5682, section 2.1, steps 2 (b) and 3 (b): two new segments, then the second ACK advances, so
/// the originals were delivered.
#[test]
fn frto_undoes_when_the_second_ack_advances() {
    for (frto, recovery) in [(FrtoKind::Basic, RecoveryKind::NewReno), (FrtoKind::Basic, Sack), (FrtoKind::Sack, Sack)] {
        let mut d = timed_out(frto, recovery);
        d.at(0.45).ack(1001);
        d.expects_new(0.45, 10_001..12_001);
        d.sends_nothing_until(0.46);
        d.at(0.46).ack(2001);
        assert!(d.cwnd() >= 10.0, "{frto:?} {recovery:?}: {}", d.cwnd());
        assert_eq!(d.endpoint.sample().ssthresh_bytes, f64::INFINITY);
        d.expects_new(0.46, 12_001..13_001);
        d.sends_nothing_until(0.5);
    }
}

/// Sections 2.1 and 3.1, step 3 (a): a duplicate without new information, so the data is lost; the
/// window of three has room for one retransmission.
#[test]
fn frto_leaves_three_segments_at_a_duplicate_second_ack() {
    for (frto, recovery) in [(FrtoKind::Basic, RecoveryKind::NewReno), (FrtoKind::Sack, Sack)] {
        let mut d = timed_out(frto, recovery);
        d.at(0.45).ack(1001);
        d.expects_new(0.45, 10_001..12_001);
        d.at(0.55).ack(1001);
        d.window_is(3.0, 5.0);
        d.expects(0.55).retransmitted(1001..2001);
    }
}

/// Section 2.1, step 2 (a): a duplicate as the first ACK, or an ACK of everything, decides nothing:
/// slow start repairs.
#[test]
fn frto_ends_at_a_duplicate_first_ack_without_sack() {
    let mut d = timed_out(FrtoKind::Basic, RecoveryKind::NewReno);
    d.at(0.42).ack(1);
    d.at(0.45).ack(1001);
    d.expects(0.45).retransmitted(1001..2001);
}

/// Section 3.1, step 2: with SACK duplicates are processed, and F-RTO goes on; step 3 (b): a block
/// below `recover` decides it.
#[test]
fn sack_frto_undoes_at_a_sack_of_an_original() {
    let mut d = timed_out(FrtoKind::Sack, Sack);
    d.at(0.42).sack(1, &[9001..10_001]);
    d.at(0.45).sack(1001, &[9001..10_001]);
    d.expects_new(0.45, 10_001..12_001);
    d.at(0.46).sack(1001, &[8001..10_001]);
    assert!(d.cwnd() >= 10.0, "{}", d.cwnd());
}

/// Section 3.1, step 3 (a): the new data was delivered and the old was not.
#[test]
fn sack_frto_leaves_three_segments_at_a_sack_of_new_data() {
    let mut d = timed_out(FrtoKind::Sack, Sack);
    d.at(0.45).ack(1001);
    d.expects_new(0.45, 10_001..12_001);
    d.at(0.55).sack(1001, &[10_001..11_001]);
    d.window_is(3.0, 5.0);
    d.expects(0.55).retransmitted(1001..2001);
    d.expects(0.55).retransmitted(2001..3001);
}

/// Step 1 does not apply to an RTO within the repair of another.
#[test]
fn frto_is_not_used_for_a_second_timeout() {
    let mut d = timed_out(FrtoKind::Basic, RecoveryKind::NewReno);
    d.at(0.42).ack(1);
    d.at(0.45).ack(1001);
    d.expects(0.45).retransmitted(1001..2001);
    d.expects(0.45).retransmitted(2001..3001);
    // An ACK that covers a retransmission gives no sample (Karn), so the backoff stays: 600 ms.
    d.expects(1.05).retransmitted(1001..2001);
    d.at(1.1).ack(2001);
    d.expects(1.1).retransmitted(2001..3001);
}
