//! RACK-TLP: what a timestamp echo shows, and when a tail loss probe is due (RFC 8985).

use crate::dialogue::script::*;
use ackclock_core::app::BulkSource;
use ackclock_core::packet::{Flags, SackBlocks, Segment, Timestamps};
use ackclock_core::tcp::RecoveryKind::{self, Linux, Rack};
use ackclock_core::tcp::TcpConfig;
use ackclock_core::units::{Span, Time};
use std::ops::Range;

/// An ACK with timestamps; the sender's timestamps count milliseconds.
fn ack(d: &mut Dialogue, seconds: f64, ack: u64, block: Option<Range<u64>>, echo: u32) {
    let mut sack = SackBlocks::default();
    if let Some(block) = block {
        sack.push(block.start, block.end);
    }
    let timestamps = Some(Timestamps { value: 1, echo });
    let window = d.window;
    d.at(seconds).segment(Segment { seq: 1, ack, window, sack, timestamps, flags: Flags::ACK, ..Segment::default() });
}

/// Ten segments are sent at 0.1. The first and the last six are lost. The retransmission of the first
/// leaves at 0.2009, with a timestamp of 200 ms, and its ACK has this echo.
fn retransmission_echoed(echo: u32) -> Dialogue {
    let mut d = Dialogue::client(TcpConfig { timestamps: true, rto_min: Span::from_secs(1), ..tcp(Rack) });
    d.expects(0.0).syn();
    d.at(0.1).syn_with(true, Some(OPTIONS), Some(Timestamps { value: 1, echo: 0 }));
    d.run_until(0.1);
    for end in [2001, 3001, 4001] {
        ack(&mut d, 0.2009, 1, Some(1001..end), 100);
    }
    d.run_until(0.3);
    ack(&mut d, 0.3011, 4001, None, echo);
    d
}

/// Section 6.2, step 2: the echo is at most a tick older than the retransmission, which was delivered. What
/// was sent before it is lost.
#[test]
fn rack_marks_earlier_segments_lost_when_the_echo_is_of_the_retransmission_by_its_tick() {
    let mut d = retransmission_echoed(200);
    d.expects(0.3011).retransmitted(4001..5001);
}

/// The echo is of the first transmission: the retransmission shows nothing.
#[test]
fn rack_marks_nothing_lost_when_the_echo_is_older_than_the_retransmission() {
    let retransmits = |echo| retransmission_echoed(echo).all_sent().iter().any(|segment| segment.seq == 4001);
    assert!(retransmits(200));
    assert!(!retransmits(199));
    assert!(!retransmits(100));
}

/// So many segments are sent at 0.1; the RTO is not due before 0.4. Time of the first segment after that.
fn probe_after(recovery: RecoveryKind, segments: u32, rto_min: Span) -> Dialogue {
    let initial_window = f64::from(segments);
    let config = TcpConfig { initial_window, tail_loss_probe: true, rto_min, ..tcp(recovery) };
    let mut d = Dialogue::sender(config);
    d.expects_new(0.1, 1..u64::from(segments) * SEGMENT + 1);
    d
}

/// Section 7.2: 2 SRTT, and TLP.max_ack_delay of 200 ms if one segment is outstanding.
#[test]
fn probe_of_a_lone_segment_waits_for_a_delayed_ack() {
    let mut lone = probe_after(Rack, 1, Span::from_secs(1));
    lone.sends_nothing_until(0.499);
    lone.expects(0.5).data(1001..2001);
    let mut two = probe_after(Rack, 2, Span::from_secs(1));
    two.sends_nothing_until(0.299);
    two.expects(0.3).data(2001..3001);
}

/// Linux adds its minimum RTO for a lone segment, and two milliseconds otherwise (`tcp_schedule_loss_probe()`).
#[test]
fn probe_of_linux_waits_for_its_minimum_rto_when_one_segment_is_outstanding() {
    let mut lone = probe_after(Linux, 1, Span::from_ms(40));
    lone.sends_nothing_until(0.339);
    lone.expects(0.34).data(1001..2001);
    let mut two = probe_after(Linux, 2, Span::from_ms(40));
    two.sends_nothing_until(0.301);
    two.expects(0.302).data(2001..3001);
}

/// The peer's window holds two segments, which are sent at 0.1: the probe retransmits the second at 0.3. The ACK
/// of both at 0.35 releases two more.
fn probe_that_retransmits() -> Dialogue {
    let config = TcpConfig { tail_loss_probe: true, rto_min: Span::from_secs(1), ..tcp(Rack) };
    let mut d = Dialogue::sender_with(config, BulkSource::new(u64::MAX, Time::NEVER), 2000);
    d.expects_new(0.1, 1..2001);
    d.expects(0.3).retransmitted(1001..2001);
    d.at(0.35).ack(2001);
    d.expects_new(0.35, 2001..4001);
    d
}

/// Section 7.4.2: one of the two copies was lost if an ACK beyond TLP.end_seq arrives first.
#[test]
fn probe_reduces_the_window_when_later_data_is_acknowledged_without_a_sign_of_the_second_copy() {
    let mut d = probe_that_retransmits();
    d.at(0.45).ack(4001);
    assert_eq!(d.endpoint.sender_stats(time(0.46)).window_cuts, 1);
}

/// Section 7.4.2: a D-SACK, or a duplicate ACK without SACK blocks, shows that both copies arrived.
#[test]
fn probe_reduces_nothing_when_both_copies_arrived() {
    for by_dsack in [false, true] {
        let mut d = probe_that_retransmits();
        if by_dsack {
            d.at(0.36).sack(2001, &[1001..2001])
        } else {
            d.at(0.36).ack(2001)
        }
        d.at(0.45).ack(4001);
        assert_eq!(d.endpoint.sender_stats(time(0.46)).window_cuts, 0, "D-SACK: {by_dsack}");
    }
}
