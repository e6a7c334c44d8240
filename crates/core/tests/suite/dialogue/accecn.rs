//! Accurate ECN (RFC 9768), and DCTCP's feedback (RFC 8257, section 3.2).

use crate::dialogue::script::*;
use ackclock_core::packet::{AccEcn, Ecn, Flags, RareOption, Segment, U24};
use ackclock_core::tcp::RecoveryKind::{NewReno, Sack};
use ackclock_core::tcp::ecn::{ace, ace_flags};
use ackclock_core::tcp::{DelayedAck, EcnMode, TcpConfig, Variant};
use ackclock_core::units::Span;

const ALL: Flags = Flags::AE.with(Flags::CWR).with(Flags::ECE);
const CE_CWR: Flags = Flags::ECE.with(Flags::CWR);

fn accurate(variant: Variant) -> TcpConfig {
    TcpConfig { ecn: EcnMode::Accurate, variant, initial_window: 20.0, ..tcp(Sack) }
}

fn delayed(config: TcpConfig, offer: Flags) -> Dialogue {
    let delayed_ack = Some(DelayedAck::new(2, Span::from_ms(40)));
    let mut d = Dialogue::server(TcpConfig { delayed_ack, ..config }, None);
    d.at(0.0).syn_with_flags(offer);
    d.expects(0.0).syn();
    d.at(0.1).ack_with_flags(1, ace_flags(0b010));
    d
}

/// Checks the count of marks in an ACK: the ACE field, and the option's bytes.
fn counted(d: &mut Dialogue, at: f64, ack: u64, packets: u8, bytes: Option<u64>) {
    let rare_option = bytes.map_or(RareOption::None, |n| RareOption::AccEcn(AccEcn { ce: U24::new(n), ..AccEcn::default() }));
    let flags = Flags::ACK.with(ace_flags(packets));
    d.at(at).segment(Segment { seq: 1, ack, window: 65_535, flags, rare_option, ..Segment::default() });
}

/// RFC 9768, table 2: the SYN-ACK reports the SYN's codepoint.
#[test]
fn syn_ack_reports_the_syns_codepoint_or_falls_back() {
    for (offer, ecn, answer) in [
        (ALL, Ecn::NotEct, 0b010),
        (ALL, Ecn::Ect1, 0b011),
        (ALL, Ecn::Ect0, 0b100),
        (ALL, Ecn::Ce, 0b110),
        (CE_CWR, Ecn::NotEct, 0b001),
        (Flags::NONE, Ecn::NotEct, 0b000),
    ] {
        let mut d = Dialogue::server(accurate(Variant::Reno), None);
        d.at(0.0)
            .segment_as(ecn, Segment { flags: Flags::SYN.with(offer), window: 65_535, syn: Some(OPTIONS), ..Segment::default() });
        let segment = d.expects(0.0).syn();
        assert_eq!(ace(segment.0.flags), answer, "{offer:?} {ecn:?}");
    }
}

/// RFC 9768, tables 2 and 3: the first segment after the handshake reports the SYN-ACK's codepoint;
/// the counter starts at five.
#[test]
fn first_segment_reports_the_syn_acks_codepoint() {
    let mut d = Dialogue::client(accurate(Variant::Reno));
    d.expects(0.0).syn().has_flags(ALL);
    d.at(0.1).syn_ack_with_flags(ace_flags(0b010));
    let first = d.expects(0.1).data(1..1001).with_codepoint(Ecn::Ect0);
    assert_eq!(ace(first.0.flags), 0b010);
    let second = d.expects(0.1).data(1001..2001);
    assert_eq!(ace(second.0.flags), 5);
}

#[test]
fn reflected_syn_flags_disable_ecn() {
    let mut d = Dialogue::client(accurate(Variant::Reno));
    d.expects(0.0).syn();
    d.at(0.1).syn_ack_with_flags(ALL);
    d.expects(0.1).data(1..1001).with_codepoint(Ecn::NotEct);
}

/// RFC 9768, sections 3.2.2.5.1 and 3.2.3: an ACK at the first mark and at every second one; the
/// option when a counter has changed.
#[test]
fn receiver_counts_marks_and_acknowledges_the_first_at_once() {
    let mut d = delayed(accurate(Variant::Reno), ALL);
    d.at(0.10).segment_as(Ecn::Ect0, data(1..1001));
    d.at(0.11).segment_as(Ecn::Ce, data(1001..2001));
    counts(&mut d, 0.11, 2001, 6, 1000);
    d.at(0.12).segment_as(Ecn::Ce, data(2001..3001));
    d.at(0.13).segment_as(Ecn::Ce, data(3001..4001));
    counts(&mut d, 0.13, 4001, 0, 3000);
    d.at(0.14).segment_as(Ecn::Ect0, data(4001..5001));
    d.at(0.15).segment_as(Ecn::Ect0, data(5001..6001));
    counts(&mut d, 0.15, 6001, 0, 3000);
}

fn data(bytes: std::ops::Range<u64>) -> Segment {
    Segment { seq: bytes.start, ack: 1, payload: 1000, flags: Flags::ACK, len: 1040, window: 1_000_000, ..Segment::default() }
}

fn counts(d: &mut Dialogue, at: f64, ack: u64, packets: u8, bytes: u32) {
    let segment = d.expects(at).ack(ack);
    assert_eq!(ace(segment.0.flags), packets);
    let RareOption::AccEcn(option) = segment.0.rare_option else { panic!("no option: {:?}", segment.0) };
    assert_eq!((option.ce.ahead_of(0), segment.0.len), (bytes, 52));
}

/// The first mark of a connection halves the window; alpha is then 15/16 of one and 1/16 of each
/// round's share.
#[test]
fn dctcp_window_follows_the_share_counted_by_accecn() {
    let mut d = Dialogue::client(accurate(Variant::Dctcp));
    d.expects(0.0).syn();
    d.at(0.1).syn_ack_with_flags(ace_flags(0b010));
    d.expects_new(0.1, 1..20_001);
    // An RTT without a mark, 20 to 40 in slow start: alpha is 15/16 from its first ACK on.
    for n in 1..=20 {
        counted(&mut d, 0.2, n * 1000 + 1, 5, None);
    }
    d.window_is(40.0, f64::INFINITY);
    d.expects_new(0.2, 20_001..60_001);
    // The next ACK ends a window of twenty with one mark (section 3.3, steps 1 to 6) and reduces by
    // half of alpha.
    counted(&mut d, 0.3, 21_001, 6, Some(1000));
    let alpha: f64 = 15.0 / 16.0 * 15.0 / 16.0 + 1.0 / 16.0 * 1.0 / 20.0;
    assert!((d.cwnd() - 40.0 * (1.0 - alpha / 2.0)).abs() < 1e-9, "{}", d.cwnd());
    // A second mark in the same window does not.
    counted(&mut d, 0.3, 22_001, 7, Some(2000));
    assert!((d.cwnd() - 40.0 * (1.0 - alpha / 2.0)).abs() < 1e-9, "{}", d.cwnd());
}

/// Prague sends ECT(1) for L4S marking; without AccECN it must not (RFC 9331, section 4.1).
#[test]
fn prague_sends_ect1_only_with_accecn() {
    for (answer, codepoint) in [(0b010, Ecn::Ect1), (0b001, Ecn::Ect0), (0b000, Ecn::NotEct)] {
        let mut d = Dialogue::client(accurate(Variant::Prague));
        d.expects(0.0).syn();
        d.at(0.1).syn_ack_with_flags(ace_flags(answer));
        d.expects(0.1).data(1..1001).with_codepoint(codepoint);
    }
}

/// RFC 8257, section 3.2, figure 1: when the CE state changes, earlier data is acknowledged with
/// the old state.
#[test]
fn dctcp_receiver_reports_the_ce_state_of_each_segment() {
    let mut d = delayed(TcpConfig { ecn: EcnMode::Classic, variant: Variant::Dctcp, ..tcp(NewReno) }, CE_CWR);
    d.at(0.10).data(1..1001);
    d.at(0.11).marked_data(1001..2001);
    d.expects(0.11).ack(1001).lacks_flags(Flags::ECE);
    d.expects(0.11).ack(2001).has_flags(Flags::ECE);
    d.at(0.12).marked_data(2001..3001);
    d.at(0.13).marked_data(3001..4001);
    d.expects(0.13).ack(4001).has_flags(Flags::ECE);
    // CWR has no effect.
    d.at(0.14).data_with_flags(4001..5001, Flags::CWR);
    d.expects(0.14).ack(5001).lacks_flags(Flags::ECE);
    d.sends_nothing_until(1.0);
}
