//! For every congestion control: undo of a spurious reduction restores window and ssthresh, with
//! any detection.

use crate::dialogue::script::*;
use ackclock_core::packet::{Flags, Segment, Timestamps};
use ackclock_core::tcp::RecoveryKind::Sack;
use ackclock_core::tcp::{FrtoKind, TcpConfig, Variant};

/// Twenty segments were sent at 0.1, in congestion avoidance; the RTO is 300 ms.
fn config(variant: Variant) -> TcpConfig {
    TcpConfig { variant, initial_window: 20.0, initial_ssthresh: 20.0, ..tcp(Sack) }
}

/// cwnd and ssthresh, in segments.
fn window(d: &Dialogue) -> (f64, f64) {
    let sample = d.endpoint.sample();
    (sample.cwnd_bytes / SEGMENT as f64, sample.ssthresh_bytes / SEGMENT as f64)
}

/// Checks that the window was reduced and is restored: the ACK that triggers the undo may add a
/// segment for each of the few that it covers.
fn check(variant: Variant, how: &str, before: (f64, f64), cut: (f64, f64), after: (f64, f64)) {
    let name = variant.name();
    // BBR responds to a loss with its model, not with ssthresh.
    let paced = matches!(variant, Variant::Bbr | Variant::Bbr3);
    assert!(paced || cut.0 < before.0, "{name}, {how}: no cut, {cut:?}");
    assert!(after.0 >= before.0 && after.0 <= before.0 + 5.0, "{name}, {how}: {after:?}, before {before:?}");
    assert_eq!(after.1, before.1, "{name}, {how}: threshold");
}

/// RFC 3708: the only retransmission was a duplicate.
#[test]
fn dsack_undoes_the_reduction_of_any_variant() {
    for &variant in Variant::ALL {
        let mut d = Dialogue::sender(TcpConfig { undo: true, ..config(variant) });
        let before = window(&d);
        d.at(0.2).sack(1, &[1001..4001]);
        let cut = window(&d);
        d.at(0.201).sack(4001, &[1..1001]);
        check(variant, "D-SACK", before, cut, window(&d));
    }
}

/// RFC 3522: the ACK after the RTO at 0.4 echoes the original of 0.1.
#[test]
fn eifel_undoes_the_reduction_of_any_variant() {
    for &variant in Variant::ALL {
        let mut d = Dialogue::client(TcpConfig { eifel: true, timestamps: true, ..config(variant) });
        let timestamps = |echo| Some(Timestamps { value: 5, echo });
        d.at(0.1).syn_with(true, Some(OPTIONS), timestamps(0));
        let before = window(&d);
        d.run_until(0.44);
        let cut = window(&d);
        d.at(0.45).segment(Segment {
            seq: 1,
            ack: 1001,
            window: 65_535,
            flags: Flags::ACK,
            timestamps: timestamps(100),
            ..Segment::default()
        });
        check(variant, "Eifel", before, cut, window(&d));
    }
}

/// RFC 5682, section 2.1: after the RTO two ACKs advance over data that was not retransmitted.
#[test]
fn frto_undoes_the_reduction_of_any_variant() {
    for &variant in Variant::ALL {
        let mut d = Dialogue::sender(TcpConfig { frto: FrtoKind::Basic, ..config(variant) });
        let before = window(&d);
        d.run_until(0.44);
        let cut = window(&d);
        d.at(0.45).ack(1001);
        // A paced segment is sent later.
        d.run_until(0.6);
        d.at(0.6).ack(2001);
        check(variant, "F-RTO", before, cut, window(&d));
    }
}

/// RFC 3708: a needed retransmission keeps the reduction.
#[test]
fn genuine_loss_keeps_the_reduction_of_any_variant() {
    for &variant in Variant::ALL.iter().filter(|v| !matches!(v, Variant::Bbr | Variant::Bbr3)) {
        let mut d = Dialogue::sender(TcpConfig { undo: true, eifel: true, frto: FrtoKind::Sack, ..config(variant) });
        let before = window(&d);
        d.at(0.2).sack(1, &[1001..4001]);
        d.at(0.3).ack(20_001);
        let after = window(&d);
        assert!(after.0 < before.0 && after.1 < before.0, "{}: {after:?}", variant.name());
    }
}
