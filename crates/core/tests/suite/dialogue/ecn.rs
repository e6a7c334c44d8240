//! Explicit congestion notification: RFC 3168, and the DCTCP receiver of RFC 8257.

use crate::dialogue::script::*;
use ackclock_core::packet::{Ecn, Flags};
use ackclock_core::tcp::RecoveryKind::{NewReno, Prr, RateHalving, Sack};
use ackclock_core::tcp::{DelayedAck, EcnMode, EcnPackets, RecoveryKind, TcpConfig, Variant};
use ackclock_core::units::Span;

fn ecn(recovery: RecoveryKind) -> TcpConfig {
    TcpConfig { ecn: EcnMode::Classic, ..tcp(recovery) }
}

const ECE_CWR: Flags = Flags::ECE.with(Flags::CWR);

/// A sender in the first window of congestion avoidance: twenty segments in flight, and the peer
/// echoes marks.
fn sender(config: TcpConfig) -> Dialogue {
    let mut d = Dialogue::client(TcpConfig { initial_window: 20.0, ..config });
    d.expects(0.0).syn().has_flags(ECE_CWR);
    d.at(0.1).syn_ack_with_flags(Flags::ECE);
    d.expects_new(0.1, 1..20_001);
    d
}

fn delayed(config: TcpConfig) -> Dialogue {
    let delayed_ack = Some(DelayedAck::new(2, Span::from_ms(40)));
    let mut d = Dialogue::server(TcpConfig { delayed_ack, ..config }, None);
    d.at(0.0).syn_with_flags(ECE_CWR);
    d.expects(0.0).syn().has_flags(Flags::ECE).lacks_flags(Flags::CWR);
    d.at(0.1).ack(1);
    d
}

/// RFC 3168, section 6.1.1.
#[test]
fn ecn_is_used_when_both_ends_negotiate_it() {
    for (own, peer, capable) in [
        (EcnMode::Classic, Flags::ECE, true),
        (EcnMode::Classic, Flags::NONE, false),
        // Some hosts reflect the flags.
        (EcnMode::Classic, ECE_CWR, false),
        (EcnMode::Off, Flags::NONE, false),
    ] {
        let mut d = Dialogue::client(TcpConfig { ecn: own, ..tcp(NewReno) });
        d.expects(0.0).syn().with_codepoint(Ecn::NotEct);
        d.at(0.1).syn_ack_with_flags(peer);
        let codepoint = if capable { Ecn::Ect0 } else { Ecn::NotEct };
        d.expects(0.1).data(1..1001).with_codepoint(codepoint);
    }
}

#[test]
fn server_without_ecn_rejects_the_offer() {
    let mut d = Dialogue::server(tcp(NewReno), None);
    d.at(0.0).syn_with_flags(ECE_CWR);
    d.expects(0.0).syn().lacks_flags(ECE_CWR);
}

/// RFC 3168, section 6.1.1.1.
#[test]
fn syn_is_retransmitted_without_ecn_when_ecn_syns_are_lost() {
    let mut d = Dialogue::client(ecn(NewReno));
    for (at, flags) in [(0.0, ECE_CWR), (1.0, ECE_CWR), (3.0, Flags::NONE)] {
        let segment = d.expects(at).syn().has_flags(flags);
        if flags == Flags::NONE {
            segment.lacks_flags(ECE_CWR);
        }
    }
}

/// RFC 3168, sections 6.1.4 and 6.1.5: neither pure ACKs nor retransmissions.
#[test]
fn only_new_data_is_ecn_capable_by_default() {
    for (packets, codepoint) in [(EcnPackets::Data, Ecn::NotEct), (EcnPackets::All, Ecn::Ect0)] {
        let mut d = sender(TcpConfig { ecn_packets: packets, ..ecn(NewReno) });
        d.at(0.2).acks(1, 3);
        d.expects(0.2).retransmitted(1..1001).with_codepoint(codepoint);
        let mut d = delayed(TcpConfig { ecn_packets: packets, ..ecn(NewReno) });
        d.at(0.1).data(1..1001);
        d.expects(0.14).ack(1001).with_codepoint(codepoint);
    }
}

/// RFC 3168, section 6.1.3.
#[test]
fn receiver_sends_ece_until_cwr_arrives() {
    let mut d = delayed(ecn(NewReno));
    d.at(0.10).data(1..1001);
    d.at(0.11).marked_data(1001..2001);
    d.expects(0.11).ack(2001).has_flags(Flags::ECE);
    d.at(0.12).data(2001..3001);
    d.at(0.13).data(3001..4001);
    d.expects(0.13).ack(4001).has_flags(Flags::ECE);
    d.at(0.14).data_with_flags(4001..5001, Flags::CWR);
    d.at(0.15).data(5001..6001);
    d.expects(0.15).ack(6001).lacks_flags(Flags::ECE);
    assert_eq!(d.endpoint.receiver_stats().marked_segments, 1);
}

/// RFC 3168, section 6.1.2: half of 20 once per window; the next new data carries CWR.
#[test]
fn ece_halves_the_window_once_per_rtt() {
    for recovery in [NewReno, Sack] {
        let mut d = sender(ecn(recovery));
        d.at(0.2).ack_with_flags(1001, Flags::ECE);
        d.window_is(10.0, 10.0);
        for n in 2..=9 {
            d.at(0.2).ack_with_flags(n * 1000 + 1, Flags::ECE);
            d.sends_nothing_until(0.2);
        }
        // Ten in flight, and the window is ten: from here each ACK releases one.
        d.at(0.21).ack_with_flags(10_001, Flags::ECE);
        d.sends_nothing_until(0.21);
        d.at(0.21).ack_with_flags(11_001, Flags::ECE);
        d.expects(0.21).data(20_001..21_001).has_flags(Flags::CWR);
        d.at(0.21).ack_with_flags(12_001, Flags::ECE);
        d.expects(0.21).data(21_001..22_001).lacks_flags(Flags::CWR);
        // ECE may still arrive when the whole flight is acknowledged.
        d.at(0.22).ack_with_flags(20_001, Flags::ECE);
        d.window_is(10.0, 10.0);
        let stats = d.endpoint.sender_stats(time(0.22));
        assert_eq!((stats.window_cuts, stats.ecn_cuts, stats.retransmitted_segments), (1, 1, 0));
        d.at(0.31).ack_with_flags(21_001, Flags::ECE);
        d.window_is(5.0, 5.0);
    }
}

#[test]
fn window_does_not_grow_during_cwr() {
    let mut d = sender(ecn(Sack));
    d.at(0.2).ack_with_flags(1001, Flags::ECE);
    d.at(0.2).ack(20_001);
    d.window_is(10.0, 10.0);
    d.expects_new(0.2, 20_001..30_001);
    d.at(0.3).ack(30_001);
    d.window_is(10.0, 10.0);
    d.round(0.4, 1);
    assert!(d.cwnd() >= 11.0, "{}", d.cwnd());
}

/// RFC 9937 reduces the window with deliveries: one segment sent per two ACKs.
#[test]
fn prr_reduces_the_window_in_proportion_after_a_mark() {
    let mut d = sender(ecn(Prr));
    let mut sent = 0;
    for n in 1..=20 {
        d.at(0.2).ack_with_flags(n * 1000 + 1, Flags::ECE);
        let before = d.endpoint.sender_stats(time(0.2)).segments_sent;
        assert!(before >= 20 + sent && before <= 20 + n.div_ceil(2), "{before} sent after {n} ACKs");
        sent = before - 20;
    }
    assert_eq!(sent, 10, "half of what was in flight");
    d.window_is(10.0, 10.0);
}

/// Linux 2.6's CWR state: one segment less on every second ACK.
#[test]
fn rate_halving_reduces_the_window_by_one_per_two_acks_after_a_mark() {
    let mut d = sender(ecn(RateHalving));
    d.at(0.2).ack_with_flags(1001, Flags::ECE);
    for n in 2..=20 {
        d.at(0.2).ack_with_flags(n * 1000 + 1, Flags::ECE);
        let expected = 20.0 - ((n as f64 - 1.0) / 2.0).ceil();
        assert!((d.cwnd() - expected).abs() <= 1.0, "{} after {n} ACKs, not {expected}", d.cwnd());
    }
    d.at(0.3).ack(21_001);
    d.window_is(10.0, 10.0);
}

/// RFC 3168, section 6.1.2: one reduction per window; a reduction for a loss is confirmed with CWR,
/// too.
#[test]
fn loss_does_not_reduce_a_window_already_reduced_for_a_mark() {
    let mut d = sender(ecn(NewReno));
    d.at(0.2).ack_with_flags(1001, Flags::ECE);
    for _ in 0..3 {
        d.at(0.2).ack_with_flags(1001, Flags::ECE);
    }
    d.expects(0.2).retransmitted(1001..2001);
    let stats = d.endpoint.sender_stats(time(0.2));
    assert_eq!((stats.window_cuts, stats.fast_retransmits), (1, 1));
    assert_eq!(d.endpoint.sample().ssthresh_bytes, 10_000.0);
}

#[test]
fn mark_does_not_reduce_a_window_already_reduced_for_a_loss() {
    let mut d = sender(ecn(NewReno));
    d.at(0.2).acks(1, 3);
    d.expects(0.2).retransmitted(1..1001);
    d.at(0.3).ack_with_flags(20_001, Flags::ECE);
    d.expects(0.3).data(20_001..21_001).has_flags(Flags::CWR);
    assert_eq!(d.endpoint.sender_stats(time(0.3)).window_cuts, 1);
}

/// RFC 8511: a mark comes from a short queue, so 0.8 of the window remains; a half after a loss.
#[test]
fn abe_leaves_more_after_a_mark_than_after_a_loss() {
    let mut d = sender(TcpConfig { ecn_beta: Some(0.8), ..ecn(NewReno) });
    d.at(0.2).ack_with_flags(1001, Flags::ECE);
    d.window_is(16.0, 16.0);
    let mut d = sender(TcpConfig { ecn_beta: Some(0.8), ..ecn(NewReno) });
    d.at(0.2).acks(1, 3);
    assert_eq!(d.endpoint.sample().ssthresh_bytes, 10_000.0);
    let mut d = sender(TcpConfig { ecn_beta: Some(0.85), variant: Variant::Cubic, ..ecn(Sack) });
    d.at(0.2).ack_with_flags(1001, Flags::ECE);
    d.window_is(17.0, 17.0);
}
