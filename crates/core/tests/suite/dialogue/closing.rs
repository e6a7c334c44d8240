//! Connection termination, and bidirectional data.

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::endpoint::Endpoint;
use ackclock_core::packet::{Flags, Segment};
use ackclock_core::tcp::RecoveryKind::{self, Classic, NewReno, Sack};
use ackclock_core::tcp::{DelayedAck, TcpConfig};
use ackclock_core::units::{Span, Time};

fn transfer(bytes: u64) -> Dialogue {
    Dialogue::sender_with(tcp(Sack), BulkSource::new(bytes, Time::NEVER), 65_535)
}

/// RFC 9293, section 3.10.4.
#[test]
fn fin_is_sent_on_the_last_segment() {
    let mut d = transfer(2500);
    d.expects(0.1).data(1..1001).no_fin();
    d.expects(0.1).data(1001..2001).no_fin();
    d.expects(0.1).data(2001..2501).fin();
    d.at(0.2).ack(2501);
    assert!(!d.endpoint.finished(), "the FIN itself is still out");
    d.at(0.2).ack(2502);
    assert!(d.endpoint.finished());
    assert_eq!(d.endpoint.sender_stats(time(0.2)).acked_bytes, 2500);
}

/// RFC 6298, (5.4): a FIN takes sequence space and is retransmitted like data.
#[test]
fn lost_fin_is_retransmitted() {
    let mut d = transfer(1000);
    d.expects(0.1).data(1..1001).fin();
    d.at(0.2).ack(1001);
    // Half acknowledged: the FIN is left. The ACK is of a part of a segment, so without a sample
    // the RTO is 300 ms.
    let fin = d.expects(0.5).fin().0;
    assert_eq!((fin.seq, fin.payload, fin.retransmission), (1001, 0, true));
    d.at(0.6).ack(1002);
    assert!(d.endpoint.finished());
    assert_eq!(d.endpoint.due(), Time::NEVER);
}

#[test]
fn fin_follows_sent_data_when_the_application_stops() {
    let mut d =
        Dialogue::sender_with(TcpConfig { initial_window: 2.0, ..tcp(Sack) }, BulkSource::new(u64::MAX, time(0.25)), 65_535);
    d.expects_new(0.1, 1..2001);
    d.sends_nothing_until(0.29);
    d.at(0.3).ack(1001);
    let fin = d.expects(0.3).fin().0;
    assert_eq!((fin.seq, fin.payload), (2001, 0));
    d.at(0.4).ack(2002);
    assert!(d.endpoint.finished());
}

/// RFC 9293, section 3.6, case 2: the other end has no data and closes with its ACK; both FINs may
/// be lost.
#[test]
fn fin_is_acknowledged_at_once_and_answered_with_a_fin() {
    let delayed_ack = Some(DelayedAck::new(2, Span::from_ms(40)));
    let mut d = Dialogue::receiver(TcpConfig { delayed_ack, ..tcp(NewReno) }, None);
    d.at(0.2).fin(1..1001);
    d.expects(0.2).fin().acknowledging(1002);
    d.expects(0.5).fin().acknowledging(1002);
    d.at(0.6).fin(1..1001);
    d.expects(0.6).ack(1002);
    d.at(0.7).segment(Segment { seq: 1002, ack: 2, window: 65_535, flags: Flags::ACK, ..Segment::default() });
    assert!(d.endpoint.finished());
    let stats = d.endpoint.receiver_stats();
    assert_eq!((stats.in_order_bytes, stats.finished), (1000, Some(time(0.2))));
}

/// RFC 9293, section 3.10.7.4: data above a hole is stored, a FIN too.
#[test]
fn fin_above_a_hole_is_not_acknowledged() {
    let mut d = Dialogue::receiver(tcp(Sack), None);
    d.at(0.2).fin(1001..1501);
    d.expects(0.2).ack(1).sacks(&[1001..1502]).no_fin();
    assert_eq!(d.endpoint.receiver_stats().finished, None);
    d.at(0.3).data(1..1001);
    d.expects(0.3).fin().acknowledging(1502);
    assert_eq!(d.endpoint.receiver_stats().in_order_bytes, 1500);
}

/// RFC 1122, section 4.2.3.2: data carries an ACK, which then needs no segment of its own.
#[test]
fn acks_are_sent_on_data_in_bidirectional_transfer() {
    let delayed_ack = Some(DelayedAck::new(2, Span::from_ms(40)));
    let mut d = Dialogue::sender(TcpConfig { initial_window: 1.0, delayed_ack, ..tcp(NewReno) });
    d.expects(0.1).data(1..1001).acknowledging(1);
    let data = Segment { seq: 1, ack: 1, payload: 500, window: 65_535, flags: Flags::ACK, len: 540, ..Segment::default() };
    d.at(0.19).segment(data);
    d.at(0.2).ack(1001);
    d.expects(0.2).data(1001..2001).acknowledging(501);
    d.expects(0.2).data(2001..3001).acknowledging(501);
    d.sends_nothing_until(0.3);
    // Data that repeats an ACK number is no duplicate ACK (RFC 5681, section 2).
    for n in 1..5 {
        d.at(0.3).segment(Segment { seq: n * 500 + 1, ack: 1001, ..data });
    }
    d.expects(0.3).ack(1501);
    d.expects(0.3).ack(2501);
    d.sends_nothing_until(0.3);
}

/// A connection may end inside a recovery.
#[test]
fn transfer_that_ends_in_recovery_finishes() {
    for recovery in RecoveryKind::ALL {
        let mut d = Dialogue::sender_with(tcp(*recovery), BulkSource::new(10_000, Time::NEVER), 65_535);
        d.expects_new(0.1, 1..10_001);
        if d.endpoint.sample().flight_bytes == 10_001 && matches!(recovery, Classic | NewReno) {
            d.at(0.2).acks(1, 3);
        } else {
            d.at(0.2).sack(1, &[1001..10_002]);
        }
        d.expects(0.2).retransmitted(1..1001);
        d.at(0.3).ack(10_002);
        assert!(d.endpoint.finished());
        d.sends_nothing_until(100.0);
    }
}
