//! The receiver: ACKs, SACK blocks and windows.

use crate::dialogue::script::*;
use ackclock_core::packet::Timestamps;
use ackclock_core::tcp::RecoveryKind::{NewReno, Sack};
use ackclock_core::tcp::{DelayedAck, SackCompression, TcpConfig};
use ackclock_core::units::{Rate, Span};
use std::ops::Range;

fn delayed(segments: u32) -> TcpConfig {
    TcpConfig { delayed_ack: Some(DelayedAck::new(segments, Span::from_ms(40))), ..tcp(NewReno) }
}

#[test]
fn every_segment_is_acknowledged_without_delayed_acks() {
    let mut d = Dialogue::receiver(tcp(NewReno), None);
    for n in 0..3 {
        d.at(0.1).data(n * 1000 + 1..n * 1000 + 1001);
        d.expects(0.1).ack(n * 1000 + 1001);
    }
}

/// RFC 1122, section 4.2.3.2.
#[test]
fn delayed_ack_is_sent_per_two_segments_or_by_the_timer() {
    let mut d = Dialogue::receiver(delayed(2), None);
    d.at(0.200).data(1..1001);
    d.sends_nothing_until(0.210);
    d.at(0.210).data(1001..2001);
    d.expects(0.210).ack(2001);
    d.at(0.220).data(2001..3001);
    d.sends_nothing_until(0.259);
    d.expects(0.260).ack(3001);
    d.sends_nothing_until(5.0);
}

/// RFC 1122, section 4.2.3.2: the timer starts with the first unacknowledged segment.
#[test]
fn delayed_ack_of_four_segments_keeps_the_timer() {
    let mut d = Dialogue::receiver(delayed(4), None);
    for (at, n) in [(0.20, 0), (0.21, 1), (0.22, 2)] {
        d.at(at).data(n * 1000 + 1..n * 1000 + 1001);
    }
    d.expects(0.24).ack(3001);
    for n in 3..7 {
        d.at(0.3).data(n * 1000 + 1..n * 1000 + 1001);
    }
    d.expects(0.3).ack(7001);
}

/// RFC 5681, section 4.2.
#[test]
fn segments_above_and_in_a_gap_are_acknowledged_at_once() {
    let mut d = Dialogue::receiver(delayed(2), None);
    d.at(0.20).data(2001..3001);
    d.expects(0.20).ack(1);
    d.at(0.21).data(4001..5001);
    d.expects(0.21).ack(1);
    d.at(0.22).data(1..1001);
    d.expects(0.22).ack(1001);
    d.at(0.23).data(1001..2001);
    d.expects(0.23).ack(3001);
    d.at(0.24).data(3001..4001);
    d.expects(0.24).ack(5001);
    d.at(0.25).data(5001..6001);
    d.sends_nothing_until(0.289);
    d.expects(0.29).ack(6001);
}

/// Host key `immediate_ack_on_fill = false`.
#[test]
fn ack_of_a_filled_gap_may_be_delayed() {
    let mut d = Dialogue::receiver(TcpConfig { immediate_ack_on_fill: false, ..delayed(2) }, None);
    d.at(0.2).data(1001..2001);
    d.expects(0.2).ack(1);
    d.at(0.3).data(1..1001);
    d.expects(0.34).ack(2001);
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

/// RFC 2018, section 4: eight segments of 500 bytes, some of them lost. Sequence numbers are the
/// RFC's less 4999.
fn segment_of_rfc_2018(left_edge: u64) -> Range<u64> {
    left_edge - 4999..left_edge - 4499
}

fn block(start: u64, end: u64) -> Range<u64> {
    start - 4999..end - 4999
}

/// RFC 2018, section 4, case 1.
#[test]
fn no_sack_is_sent_when_the_last_segments_are_lost() {
    let mut d = Dialogue::receiver(tcp(Sack), None);
    for left in [5000, 5500, 6000, 6500] {
        d.at(0.2).data(segment_of_rfc_2018(left));
        d.expects(0.2).ack(left - 4499).sacks(&[]);
    }
}

/// RFC 2018, section 4, case 2.
#[test]
fn one_sack_block_grows_when_the_first_segment_is_lost() {
    let mut d = Dialogue::receiver(tcp(Sack), None);
    for left in [5500, 6000, 6500, 7000, 7500, 8000, 8500] {
        d.at(0.2).data(segment_of_rfc_2018(left));
        d.expects(0.2).ack(1).sacks(&[block(5500, left + 500)]);
    }
}

/// RFC 2018, section 4, case 3.
#[test]
fn newest_sack_block_comes_first() {
    let mut d = Dialogue::receiver(tcp(Sack), None);
    let first = block(6000, 6500);
    let second = block(7000, 7500);
    let third = block(8000, 8500);
    for (left, ack, blocks) in [
        (5000, 501, vec![]),
        (6000, 501, vec![first.clone()]),
        (7000, 501, vec![second.clone(), first.clone()]),
        (8000, 501, vec![third.clone(), second, first]),
        // Then the fourth segment arrives, and then the second.
        (6500, 501, vec![block(6000, 7500), third.clone()]),
        (5500, 2501, vec![third]),
    ] {
        d.at(0.2).data(segment_of_rfc_2018(left));
        d.expects(0.2).ack(ack).sacks(&blocks);
    }
}

/// RFC 2018, section 3: four blocks, three beside timestamps.
#[test]
fn sack_carries_the_blocks_that_fit() {
    for (timestamps, fit) in [(false, 4), (true, 3)] {
        let mut d = Dialogue::server(TcpConfig { timestamps, ..tcp(Sack) }, None);
        d.at(0.0).syn_with(false, Some(OPTIONS), timestamps.then_some(Timestamps { value: 1, echo: 0 }));
        d.expects(0.0).syn();
        d.at(0.1).ack(1);
        for n in 1..7 {
            d.at(0.2).data(n * 2000 + 1..n * 2000 + 1001);
            assert_eq!(d.expects(0.2).0.sack.len(), fit.min(n as usize));
        }
    }
}

/// RFC 2018, section 4: earlier blocks are repeated after the newest one, however long that grows.
#[test]
fn growing_sack_block_keeps_the_others() {
    let mut d = Dialogue::receiver(tcp(Sack), None);
    d.at(0.2).data(1001..2001);
    d.expects(0.2).ack(1);
    for n in 3..60 {
        d.at(0.2).data(n * 1000 + 1..n * 1000 + 1001);
        d.expects(0.2).ack(1).sacks(&[3001..n * 1000 + 1001, 1001..2001]);
    }
}

/// RFC 9293, section 3.8.6: data beyond the buffer is dropped, and the window never shrinks.
#[test]
fn segment_beyond_the_buffer_is_acknowledged_and_dropped() {
    let mut d = Dialogue::receiver(TcpConfig { receive_buffer: 3000, ..tcp(Sack) }, None);
    d.at(0.2).data(3001..4001);
    d.expects(0.2).ack(1).sacks(&[]).window(3000);
    d.at(0.2).data(2001..3001);
    d.expects(0.2).ack(1).sacks(&[2001..3001]).window(3000);
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

/// RFC 9293, section 3.8.6.2.2: the edge moves by a segment or half the buffer, or not at all.
#[test]
fn small_read_does_not_move_the_window() {
    let mut d = Dialogue::receiver(TcpConfig { receive_buffer: 2000, ..tcp(NewReno) }, Some(Rate::from_bps(8000)));
    d.at(0.20).data(1..101);
    d.expects(0.20).ack(101).window(2000);
    d.at(0.21).data(101..401);
    d.expects(0.21).ack(401).window(1700);
    // At 0.3 it reads 300 bytes, too few for a window update.
    d.at(0.31).data(401..1401);
    d.expects(0.31).ack(1401).window(700);
    d.at(0.32).data(1401..2101);
    d.expects(0.32).ack(2101).window(0);
    d.expects(0.6).ack(2101).window(2000);
}

/// RFC 9293, section 3.8.6.1: a probe has an old sequence number, which must be answered.
#[test]
fn window_probe_is_answered_with_the_window() {
    let mut d = Dialogue::receiver(TcpConfig { receive_buffer: 2000, ..tcp(NewReno) }, None);
    d.at(0.2).data(1..1001);
    d.expects(0.2).ack(1001);
    d.at(3.0).data(1000..1000);
    d.expects(3.0).ack(1001).window(2000);
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
