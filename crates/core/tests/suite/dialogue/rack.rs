//! RACK-TLP (RFC 8985). The RTT is 100 ms, so the reordering window is 25 ms and the probe is due
//! after 200 ms.

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::tcp::RecoveryKind::Rack;
use ackclock_core::tcp::TcpConfig;
use ackclock_core::units::{Span, Time};

fn config() -> TcpConfig {
    TcpConfig { initial_window: 20.0, rto_min: Span::from_ms(500), ..tcp(Rack) }
}

fn twenty() -> Dialogue {
    let mut d = Dialogue::sender(config());
    d.expects_new(0.1, 1..20_001);
    d
}

/// All twenty segments of a stream are in flight; the last carries the FIN.
fn last_twenty() -> Dialogue {
    let mut d = Dialogue::sender_with(config(), BulkSource::new(20_000, Time::NEVER), 65_535);
    d.expects_new(0.1, 1..20_001);
    d
}

/// Section 6.2, step 4: with three SACKed segments and no reordering seen the reordering window is
/// zero.
#[test]
fn rack_starts_a_recovery_at_three_sacked_segments() {
    let mut d = twenty();
    d.at(0.2).sack(1, &[1001..4001]);
    d.expects(0.2).retransmitted(1..1001);
    assert_eq!(d.endpoint.sender_stats(time(0.2)).fast_retransmits, 1);
}

/// Section 6.2, step 5: with fewer SACKed segments, a segment is lost a quarter of the minimum RTT
/// after its own RTT.
#[test]
fn rack_waits_for_reordering_at_one_sacked_segment() {
    let mut d = last_twenty();
    d.at(0.2).ack(18_001);
    d.at(0.2).sack(18_001, &[19_001..20_002]);
    d.sends_nothing_until(0.2249);
    d.expects(0.225).retransmitted(18_001..19_001);
}

/// Section 6.2, steps 3 and 4: once reordering was seen, three SACKed segments do not suffice.
#[test]
fn rack_waits_when_reordering_was_seen() {
    let mut d = last_twenty();
    d.at(0.2).sack(1, &[1001..2001]);
    d.at(0.2).ack(2001);
    d.at(0.21).sack(2001, &[3001..10_001]);
    // Sent at 0.1, delivered after 110 ms: at 0.1 + 110 + 25 ms.
    d.sends_nothing_until(0.2349);
    d.expects(0.235).retransmitted(2001..3001);
}

/// Section 6.2, step 4: each round with a D-SACK widens the window by a quarter of the RTT.
#[test]
fn dsack_widens_the_reordering_window() {
    let mut d = last_twenty();
    d.at(0.2).sack(1, &[1001..2001]);
    d.at(0.2).ack(2001);
    d.at(0.2).sack(2001, &[1..1001]);
    d.at(0.21).sack(2001, &[3001..10_001]);
    d.sends_nothing_until(0.2599);
    d.expects(0.26).retransmitted(2001..3001);
}

/// Section 3.3: a lost retransmission is detected like any loss, without an RTO.
#[test]
fn rack_detects_a_lost_retransmission() {
    let mut d = twenty();
    d.at(0.2).sack(1, &[1001..20_001]);
    d.expects(0.2).retransmitted(1..1001);
    d.expects_new(0.2, 20_001..29_001);
    d.at(0.3).sack(1, &[1001..29_001]);
    d.expects(0.3).retransmitted(1..1001);
    assert_eq!(d.endpoint.sender_stats(time(0.3)).timeouts, 0);
}

/// Sections 7.2 and 7.3: the last segment is retransmitted two RTTs after it was sent; then the RTO
/// follows.
#[test]
fn tlp_probes_the_tail_once() {
    let mut d = last_twenty();
    d.expects(0.3).retransmitted(19_001..20_001);
    d.sends_nothing_until(0.79);
    d.expects(0.8).retransmitted(1..1001);
    let stats = d.endpoint.sender_stats(time(0.8));
    assert_eq!((stats.timeouts, stats.window_cuts), (1, 1));
}

/// Section 7.3: new data is preferred, and may exceed the window.
#[test]
fn tlp_probes_with_new_data_if_any() {
    let mut d = twenty();
    d.expects(0.3).data(20_001..21_001);
    d.sends_nothing_until(0.31);
}

/// Sections 7.1 and 6.2: the SACK of the probe shows that the tail is lost.
#[test]
fn tlp_reveals_a_lost_tail() {
    let mut d = last_twenty();
    d.at(0.2).ack(15_001);
    d.expects(0.4).retransmitted(19_001..20_001);
    d.at(0.5).sack(15_001, &[19_001..20_002]);
    // The others were sent 400 ms ago, so their reordering window has passed.
    d.expects(0.5).retransmitted(15_001..16_001);
    assert_eq!(d.endpoint.sender_stats(time(0.5)).timeouts, 0);
}

/// Section 7.4.2: the probe has repaired the loss, which reduces the window.
#[test]
fn loss_repaired_by_tlp_reduces_the_window() {
    let mut d = Dialogue::sender_with(config(), BulkSource::new(u64::MAX, Time::NEVER), 20_000);
    d.expects_new(0.1, 1..20_001);
    d.expects(0.3).retransmitted(19_001..20_001);
    d.at(0.4).ack(20_001);
    d.expects_new(0.4, 20_001..40_001);
    d.at(0.5).ack(21_001);
    // Half of the 19 in flight.
    d.window_is(9.0, 9.0);
    assert_eq!(d.endpoint.sender_stats(time(0.5)).window_cuts, 1);
}

/// Section 7.4.2: the peer had received the original.
#[test]
fn spurious_tlp_does_not_reduce_the_window() {
    let mut d = Dialogue::sender_with(config(), BulkSource::new(u64::MAX, Time::NEVER), 20_000);
    d.expects_new(0.1, 1..20_001);
    d.expects(0.3).retransmitted(19_001..20_001);
    d.at(0.4).ack(20_001);
    d.expects_new(0.4, 20_001..40_001);
    d.at(0.41).sack(20_001, &[19_001..20_001]);
    d.at(0.5).ack(21_001);
    assert_eq!(d.endpoint.sender_stats(time(0.5)).window_cuts, 0);
}
