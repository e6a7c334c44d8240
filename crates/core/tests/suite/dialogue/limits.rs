//! Limits of the sender beside cwnd: the receive window and the send buffer.

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::tcp::RecoveryKind::{NewReno, Sack};
use ackclock_core::tcp::{SendLimit, TcpConfig, WindowRule};
use ackclock_core::units::{Span, Time};

fn endless() -> BulkSource {
    BulkSource::new(u64::MAX, Time::NEVER)
}

#[test]
fn send_buffer_limits_unacknowledged_data() {
    let mut d = Dialogue::sender(TcpConfig { send_buffer: 5000, ..tcp(NewReno) });
    d.expects_new(0.1, 1..5001);
    d.at(0.2).ack(1001);
    d.expects(0.2).data(5001..6001);
    d.sends_nothing_until(0.3);
    let stats = d.endpoint.sender_stats(time(0.3));
    assert_eq!(stats.limited[SendLimit::SendBuffer as usize], Span::from_ms(200));
    assert_eq!(stats.limited.iter().map(|s| s.0).sum::<u64>(), Span::from_ms(200).0, "shares add up from the handshake on");
}

#[test]
fn send_buffer_below_a_segment_makes_small_segments() {
    let mut d = Dialogue::sender(TcpConfig { send_buffer: 700, ..tcp(NewReno) });
    d.expects(0.1).data(1..701);
    d.at(0.2).ack(701);
    d.expects(0.2).data(701..1401);
}

/// RFC 9293, section 3.8.6.2.1: a small segment waits unless it is half of the largest window.
#[test]
fn receive_window_limits_the_sender_without_silly_segments() {
    let mut d = Dialogue::sender_with(tcp(NewReno), endless(), 3500);
    d.expects_new(0.1, 1..3001);
    d.at(0.2).ack(1001);
    d.expects(0.2).data(3001..4001);
    d.sends_nothing_until(0.3);
    assert_eq!(d.endpoint.sender_stats(time(0.3)).limited[SendLimit::ReceiveWindow as usize], Span::from_ms(200));
}

/// RFC 9293, section 3.8.6.2.1, condition (3).
#[test]
fn receive_buffer_below_a_segment_lets_data_pass() {
    let mut d = Dialogue::sender_with(tcp(NewReno), endless(), 900);
    d.expects(0.1).data(1..901);
    d.at(0.2).ack_with_window(901, 300);
    d.sends_nothing_until(0.3);
    d.at(0.3).ack_with_window(901, 450);
    d.expects(0.3).data(901..1351);
}

/// RFC 9293, section 3.8.6.1: the first probe after an RTO, the next ones at growing intervals.
#[test]
fn zero_window_is_probed_until_it_opens() {
    let mut d = Dialogue::sender_with(tcp(NewReno), endless(), 3000);
    d.expects_new(0.1, 1..3001);
    d.at(0.2).ack_with_window(3001, 0);
    // The RTO is 250 ms now.
    for at in [0.45, 0.95, 1.95] {
        let probe = d.expects(at).0;
        assert_eq!((probe.seq, probe.payload), (3000, 0), "just below the window");
        d.at(at + 0.1).ack_with_window(3001, 0);
    }
    d.at(2.2).ack_with_window(3001, 3000);
    d.expects_new(2.2, 3001..6001);
    let stats = d.endpoint.sender_stats(time(2.2));
    assert_eq!((stats.timeouts, stats.window_cuts), (0, 0), "a peer that is slow is not a network that is");
}

/// Host key `window_rule`: RFC 9293 counts sequence space, ns-2 the flight.
#[test]
fn window_rule_counts_sequence_space_or_flight_above_a_hole() {
    for (window_rule, more) in [(WindowRule::Sequence, 0), (WindowRule::InFlight, 2)] {
        let config = TcpConfig { initial_window: 20.0, window_rule, ..tcp(Sack) };
        let mut d = Dialogue::sender_with(config, endless(), 10_000);
        d.expects_new(0.1, 1..10_001);
        d.at(0.2).sack(1, &[1001..3001]);
        d.expects_new(0.2, 10_001..10_001 + more * 1000);
        d.sends_nothing_until(0.25);
    }
}

/// cwnd and recoveries count as limits, too.
#[test]
fn time_is_attributed_to_the_limit_of_the_sender() {
    let mut d = Dialogue::sender_with(tcp(Sack), BulkSource::new(20_000, Time::NEVER), 65_535);
    d.at(0.2).sack(1, &[1001..10_001]);
    d.at(0.3).ack(14_001);
    d.at(0.4).ack(19_001);
    let stats = d.endpoint.sender_stats(time(0.5));
    let ms = |limit: SendLimit| stats.limited[limit as usize].as_millis();
    assert_eq!(
        [ms(SendLimit::Cwnd), ms(SendLimit::Recovery), ms(SendLimit::Application)],
        [200.0, 100.0, 100.0],
        "{:?}",
        stats.limited
    );
}
