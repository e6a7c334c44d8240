//! The receiver: ACKs, SACK blocks and windows.

use crate::dialogue::script::*;
use ackclock_core::packet::Timestamps;
use ackclock_core::tcp::RecoveryKind::{NewReno, Sack};
use ackclock_core::tcp::{DelayedAck, SackCompression, TcpConfig};
use ackclock_core::units::{Rate, Span};

fn delayed(segments: u32) -> TcpConfig {
    TcpConfig { delayed_ack: Some(DelayedAck::new(segments, Span::from_ms(40))), ..tcp(NewReno) }
}

/// RFC 9293, section 3.10.7.4: an unacceptable segment is answered.
#[test]
fn duplicate_segment_is_acknowledged_at_once() {
    let mut d = Dialogue::receiver(delayed(2), None);
    d.at(0.2).data(1..1001);
    d.expects(0.24).ack(1001);
    d.at(0.3).data(1..1001);
    d.expects(0.3).ack(1001);
    assert_eq!(d.endpoint.receiver_stats().duplicates, 1);
}

/// RFC 9293, section 3.8.6.2.2, and RFC 1122, section 4.2.3.3.
#[test]
fn window_closed_by_a_slow_reader_reopens_with_an_update() {
    let mut d = Dialogue::receiver(TcpConfig { receive_buffer: 4000, ..tcp(NewReno) }, Some(Rate::from_bps(8000)));
    // A thousand bytes per second: the first segment is read until 1.2.
    d.at(0.2).data(1..1001);
    d.expects(0.2).ack(1001).window(4000);
    for (n, window) in [(1, 3000), (2, 2000), (3, 1000), (4, 0)] {
        d.at(0.2).data(n * 1000 + 1..n * 1000 + 1001);
        d.expects(0.2).ack(n * 1000 + 1001).window(window);
    }
    d.sends_nothing_until(1.19);
    d.expects(1.2).ack(5001).window(4000);
}

/// A receiver with timestamps whose data shows an RTT of `rtt` ms, and which may compress
/// `segments` ACKs.
fn compressing(rtt: u32, segments: u32) -> Dialogue {
    let sack_compression = Some(SackCompression { segments, share: 0.05, longest: Span::from_ms(1) });
    let mut d = Dialogue::server(TcpConfig { sack_compression, timestamps: true, ..tcp(Sack) }, None);
    d.at(0.0).syn_with(false, Some(OPTIONS), Some(Timestamps { value: 1, echo: 0 }));
    d.expects(0.0).syn();
    d.at(0.1).data_with_timestamps(1..1001, Some(Timestamps { value: 2, echo: 100 - rtt }));
    d.expects(0.1).ack(1001);
    d
}

fn out_of_order(d: &mut Dialogue, seconds: f64, n: u64) {
    d.at(seconds).data_with_timestamps(n * 1000 + 1..n * 1000 + 1001, Some(Timestamps { value: 2, echo: 0 }));
}

/// ip-sysctl.rst, tcp_comp_sack_delay_ns: 5 % of 10 ms; the first three duplicates are sent at
/// once.
#[test]
fn sack_compression_delays_acks_after_three_duplicates() {
    let mut d = compressing(10, 44);
    for n in 2..5 {
        out_of_order(&mut d, 0.2, n);
        d.expects(0.2).ack(1001).sacks(&[2001..n * 1000 + 1001]);
    }
    out_of_order(&mut d, 0.2, 5);
    out_of_order(&mut d, 0.2002, 6);
    d.sends_nothing_until(0.2004);
    d.expects(0.2005).ack(1001).sacks(&[2001..7001]);
    d.sends_nothing_until(0.3);
}

/// The delay is at most that of the sysctl; a filled hole is acknowledged at once.
#[test]
fn sack_compression_delay_is_at_most_a_millisecond() {
    let mut d = compressing(90, 44);
    for n in 2..5 {
        out_of_order(&mut d, 0.2, n);
        d.expects(0.2).ack(1001);
    }
    out_of_order(&mut d, 0.2, 5);
    d.expects(0.201).ack(1001).sacks(&[2001..6001]);
    out_of_order(&mut d, 0.3, 6);
    d.at(0.3001).data(1001..2001);
    d.expects(0.3001).ack(7001);
    d.sends_nothing_until(0.4);
}

/// tcp_comp_sack_nr.
#[test]
fn sack_compression_replaces_at_most_the_allowed_acks() {
    let mut d = compressing(90, 2);
    for n in 2..5 {
        out_of_order(&mut d, 0.2, n);
        d.expects(0.2).ack(1001);
    }
    out_of_order(&mut d, 0.2, 5);
    out_of_order(&mut d, 0.2, 6);
    out_of_order(&mut d, 0.2001, 7);
    d.expects(0.2001).ack(1001).sacks(&[2001..8001]);
}

/// Linux's ping-pong mode: a host that has answered with data delays its ACKs, quick ACKs included;
/// a duplicate segment ends it.
#[test]
fn ping_pong_delays_acks_until_a_duplicate_arrives() {
    for (ping_pong, half_request) in [(false, 0.3), (true, 0.34)] {
        let delayed_ack = Some(DelayedAck::new(2, Span::from_ms(40)));
        let config = TcpConfig { delayed_ack, quick_acks: 8, ping_pong, ..tcp(NewReno) };
        let mut d = Dialogue::answering(config, 2000, 1000);
        d.at(0.2).data(1..1001);
        d.expects(0.2).ack(1001);
        d.at(0.21).data(1001..2001);
        d.expects(0.21).data(1..1001);
        d.at(0.3).ack_and_data(1001, 2001..3001);
        d.expects(half_request).ack(3001);
        d.at(0.4).ack_and_data(1001, 2001..3001);
        d.expects(0.4).ack(3001);
        d.at(0.5).ack_and_data(1001, 3001..3501);
        d.expects(0.5).ack(3501);
    }
}
